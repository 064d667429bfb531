// The records of one source, one after the other: lines of a descriptor, or arguments.

#ifndef FAIRPAR_PLAN_LINES_H
#define FAIRPAR_PLAN_LINES_H

#include "plan/input.h"

#include "base/buf.h"
#include "plan/cutter.h"

// A source being read.
struct lines {
	const struct source_config *config; // borrowed
	int fd;            // -1 for arguments, and once it is closed
	bool polls;        // reading may block: poll first
	size_t next_arg;
	struct cutter cutter;
};

// Opens the source. Returns 0, or -1 with the message appended to `error` and nothing open.
int lines_open(struct lines *lines, const struct source_config *config, char delimiter, struct buf *error);
void lines_close(struct lines *lines);

// Returns INPUT_RECORD (look at line->bad), INPUT_WAIT, INPUT_END, or INPUT_ERROR with the message appended to `error`.
// The line may be changed unless the source is FROM_ARGS.
enum input_status lines_next(struct lines *lines, struct line *ret_line, struct buf *error);

#endif
