// The records of one source, one after the other: lines of a descriptor, or arguments.

#ifndef FAIRPAR_PLAN_LINES_H
#define FAIRPAR_PLAN_LINES_H

#include "plan/input.h"

#include "base/buf.h"

// A source being read. Its memory is one buffer, which grows only while a single line needs it.
struct lines {
	const struct source_config *config; // borrowed
	char delimiter;
	int fd;            // -1 for arguments, and once it is closed
	bool polls;        // reading may block: poll first
	bool ended;        // nothing more comes from the descriptor
	bool skipping;     // inside a line that was too long
	bool may_hold_nul; // a NUL is somewhere in the buffer (and no delimiter)
	size_t next_arg;
	char *data;        // `cap` bytes and one more, for the NUL behind a last line without its delimiter
	size_t cap, start, end;
	size_t searched;   // bytes from `start` that hold no delimiter
};

// A line is the reader's own memory, NUL-terminated, valid until the next call; its bytes may be changed by the caller
// unless the source is FROM_ARGS.
struct line {
	char *text;
	size_t len;
	const char *bad;   // why it cannot be a record (static text), or NULL
};

// Opens the source. Returns 0, or -1 with the message appended to `error` and nothing open.
int lines_open(struct lines *lines, const struct source_config *config, char delimiter, struct buf *error);
void lines_close(struct lines *lines);

// Returns INPUT_RECORD (look at line->bad), INPUT_WAIT, INPUT_END, or INPUT_ERROR with the message appended to `error`.
enum input_status lines_next(struct lines *lines, struct line *ret_line, struct buf *error);

#endif
