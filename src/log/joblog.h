// The rows of the joblog (--joblog): GNU parallel's nine columns, one row for each job that has ended.
//
// Rows are byte for byte as GNU parallel 20221122 writes them, so that GNU parallel and scripts made for it can read them: Host is ":"
// for this machine, Send is 0, Exitval is 0 for a job that a signal killed and -1 after a timeout, a newline in the command is a NUL.

#pragma once

#include "base/buf.h"
#include "job/job.h"

// The first line, its newline included.
#define JOBLOG_HEADER "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"

// What is put behind a line that was cut off, before rows are appended: so resume_load() does not take the line for a row, whatever it holds.
#define JOBLOG_CUT "\t(cut off)"

struct joblog_row {
	uint64_t seq;
	const struct result *result;
	uint64_t start;         // now_ns() time: the start of the last attempt of the job's first step
	uint64_t sent;          // with --pipe: bytes of the block that the job got; else 0
	uint64_t received;      // bytes of the job's output
	const char *command;
	size_t command_len;
	const char *host;       // NULL: this machine
};

// Returns what the column Exitval has for the result.
int joblog_exitval(const struct result *result);

// The column Starttime: seconds since 1970 of a now_ns() time, by the wall clock as it is set now.
double joblog_wall_seconds(uint64_t at);

// The column JobRuntime, in seconds.
double joblog_runtime(const struct joblog_row *row);

// Appends all columns except the command, each with the separator behind it. JobRuntime is padded with blanks to `runtime_width`
// characters.
void joblog_add_numbers(struct buf *buf, const struct joblog_row *row, char separator, int runtime_width);

// Appends the row as text, with its newline.
void joblog_format(const struct joblog_row *row, struct buf *buf);

// ---- results_table.c ----

// The rows of --results FILE.csv, .tsv and .json: a job with its arguments and its output, as GNU parallel writes them.

enum table_kind { TABLE_CSV, TABLE_TSV, TABLE_JSON };

// Appends the first line of a table of that kind, for `ncolumns` columns of arguments: the first `nnames` have these names,
// each further column is called V and its number, such as V3. Appends nothing for JSON.
void table_add_header(struct buf *buf, enum table_kind kind, uint32_t ncolumns, char *const *names, size_t nnames);

struct table_row {
	struct joblog_row log;
	const char *args;           // `nargs` strings one after the other
	uint32_t nargs;
	const struct buf *output[2]; // stdout, stderr
	const char *tag;            // in front of each line of the output, or NULL
	size_t tag_len;
};

// Appends the row of a job with its newline, whatever bytes its output has.
void table_add_row(struct buf *buf, enum table_kind kind, const struct table_row *row);
