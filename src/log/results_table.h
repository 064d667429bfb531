// The rows of --results FILE.csv, .tsv and .json: a job with its arguments and its output, as GNU parallel writes them.

#ifndef FAIRPAR_LOG_RESULTS_TABLE_H
#define FAIRPAR_LOG_RESULTS_TABLE_H

#include "log/joblog.h"

enum table_kind { TABLE_CSV, TABLE_TSV, TABLE_JSON };

// Appends the first line of a table of that kind, for so many columns: named V1, V2, … behind the `nnames` that have
// names. Nothing for JSON.
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

#endif
