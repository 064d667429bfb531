// The records of one source, one after the other: lines of a descriptor, or arguments.

#ifndef FAIRPAR_INPUT_LINES_H
#define FAIRPAR_INPUT_LINES_H

#include "input/input.h"

#include "base/buf.h"
#include "input/line_buffer.h"

// A source being read.
struct lines {
	const struct source_config *config; // borrowed
	int fd;            // -1 for arguments, and once it is closed
	bool polls;        // reading may block: poll first
	size_t next_arg;
	// set by who opens it; without any of these each record is one
	bool has_rules;
	bool skip_first;   // the next one is none
	bool skip_blank;   // one of nothing but blanks is none
	char csv;          // records with this separator: one with an open quote goes on in the next line; or 0
	const char *end;   // one like this ends the source; or NULL; borrowed
	// of an open quote
	bool is_open;
	struct buf joined;
	struct line_buffer buffer;
};

// Opens the source. Returns 0, or -1 with the message appended to `error` and nothing open.
int lines_open(struct lines *lines, const struct source_config *config, char delimiter, const char *delimiter_text,
               struct buf *error);
void lines_close(struct lines *lines);

// Returns INPUT_RECORD (look at line->bad), INPUT_WAIT, INPUT_END, or INPUT_ERROR with the message appended to `error`.
// The line may be changed unless the source is FROM_ARGS.
enum input_status lines_next(struct lines *lines, struct line *ret_line, struct buf *error);

#endif
