// The records of one source, one after the other: lines of a descriptor, or arguments.

#ifndef FAIRPAR_INPUT_LINES_H
#define FAIRPAR_INPUT_LINES_H

#include "input/input.h"

#include "base/buf.h"
#include "input/line_buffer.h"

// A source being read. All of it is private to lines.c but `config` and `fd`.
struct lines {
	const struct source_config *config; // borrowed
	const struct input_config *rules;   // borrowed: the delimiter; which lines are skipped, continue, or end the source
	int fd;            // to be polled; -1 for arguments, and once it is closed
	bool polls;        // reading may block: poll first
	size_t next_arg;
	bool has_rules;    // some lines may be skipped, continue in the next one, or end the source
	bool skip_first;   // the next line is left out
	bool is_open;      // --csv: a quote is open, and what is before it is in `joined`
	size_t most;       // bytes of lines that come as one record; 0: each is one
	struct buf joined;
	struct line_buffer buffer;
};

// Opens a source of the input, with the rules of the input for its records; `is_first`: it is the first source. Both configs
// are borrowed up to lines_close(). Returns 0; or -1 with the message ("cannot open 'FILE': CAUSE") appended to `error` and
// nothing open.
int lines_open(struct lines *lines, const struct source_config *config, const struct input_config *rules, bool is_first,
               struct buf *error);

// From now on lines_next() gives several lines at once, of at most `most` bytes, where they are at hand: ret_line->n of them.
// Returns false if those of this source come one by one.
bool lines_join(struct lines *lines, size_t most);

// Closes the file, but not stdin, and frees the memory: the source is at its end. It may be called again.
void lines_close(struct lines *lines);

// Reads the next record. Returns INPUT_RECORD with *ret_line, borrowed until the next call, which may be changed unless the
// source is FROM_ARGS; its `bad` says whether it can be an item. Or INPUT_WAIT, if there are no bytes yet and reading would
// block; INPUT_END; or INPUT_ERROR with the message ("cannot read 'FILE': CAUSE") appended to `error`.
enum input_status lines_next(struct lines *lines, struct line *ret_line, struct buf *error);

#endif
