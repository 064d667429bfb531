// Puts a run together and takes it apart again.

#ifndef FAIRPAR_RUN_SETUP_H
#define FAIRPAR_RUN_SETUP_H

#include "run/run.h"

// Opens all that the run needs, for run->options and run->context. Returns 0, or -1 after a message; what was opened by
// then is setup_close()'s to close, too.
int setup_open(struct run *run);

// Ends the jobs that run and closes all but what says how it ended: the publisher, the log, the summary, the status line.
void setup_close(struct run *run);

#endif
