// What the writer and the reader of a joblog agree on.

#ifndef FAIRPAR_JOB_JOBLOG_COLUMNS_H
#define FAIRPAR_JOB_JOBLOG_COLUMNS_H

// The first line, its newline included.
#define JOBLOG_HEADER "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"

// Ends a line that was cut off when more is appended: such a line is no row, whatever it looks like.
#define JOBLOG_CUT "\t(cut off)"

#endif
