// Numbers and foreign text in plain text, for a terminal that nobody else shall drive.

#ifndef FAIRPAR_REPORT_PLAIN_H
#define FAIRPAR_REPORT_PLAIN_H

#include "base/buf.h"
#include "job/job.h"

#include <stdint.h>

// "420us", "4.2ms", "0.42s", "42.0s", "4m20s", "4h20m", "4d20h": cut off, not rounded.
void plain_add_time(struct buf *buf, uint64_t ns);

// Columns that the text takes on a terminal: UTF-8 without control characters, wide characters two, combining ones none.
// Not by the locale, so that the same text is the same everywhere.
size_t plain_columns(const char *text, size_t len);

// Appends the text, control characters and bytes that are not UTF-8 escaped, in at most so many columns: where it is
// longer, it ends in "..." .
void plain_add_text(struct buf *buf, const char *text, size_t len, size_t columns);

// As plain_add_text(), of a command of several lines the first that is not blank, and "..." for the others.
void plain_add_command(struct buf *buf, const char *command, size_t len, size_t columns);

// Appends a line of a job's output as a terminal would show it: without colours, tabs as blanks, after a carriage return
// only what follows; else as plain_add_text().
void plain_add_output(struct buf *buf, const char *line, size_t len, size_t columns);

// "tests#3"; "#17" by its number in the run in the batch "default"; "tests" for what is no item of it (number 0). The batch
// in at most 60 columns;
void plain_add_job(struct buf *buf, const char *batch, uint64_t number, uint64_t seq);
// or whole.
void plain_add_whole_job(struct buf *buf, const char *batch, uint64_t number, uint64_t seq);

#endif
