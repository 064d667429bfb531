// Cuts a stream of bytes that comes in pieces into lines: what is read from a file, and what a job emits.

#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The longest line that can be a record. A longer one is given with line.bad set, and only its beginning is kept.
enum { LINE_BUFFER_MAX = 16 << 20 };

// A line, in the memory of the buffer: it has a NUL behind it, may be changed, and is valid until the next call.
struct line {
	char *text;
	size_t len;
	const char *bad;   // why it cannot be a record (static text; `text` is its beginning), or NULL
	uint32_t n;        // line_buffer_next_lines(): how many lines are in `text`, with a NUL behind each; 0: it is one line
};

// The bytes that are not taken as lines yet, in one buffer. It grows only if a single line, or the bytes added at once, do not fit.
struct line_buffer {
	char delimiter;    // the delimiter; its last byte if it has several (`longer`)
	const char *longer; // a delimiter of several bytes without NUL, borrowed; or NULL
	bool ended;        // no more bytes come: what is left is the last line
	bool skipping;     // inside a line that was too long
	bool may_hold_nul; // a NUL that is no delimiter is somewhere in the buffer
	char *data;        // `cap` bytes and one more, for the NUL behind a last line without its delimiter
	size_t cap, start, end;
	size_t searched;   // bytes from `start` that hold no delimiter
};

#define LINE_BUFFER_INIT(delimiter) {(delimiter), NULL, false, false, false, NULL, 0, 0, 0, 0}
void line_buffer_fini(struct line_buffer *buffer);

// Adds bytes, which are copied. The caller takes all lines before it adds more: then a long line costs its length once,
// and the memory is at most LINE_BUFFER_MAX and what was added at once.
void line_buffer_add(struct line_buffer *buffer, const char *mem, size_t len);

// Reads bytes from the descriptor and adds them; calls line_buffer_end() at the end of file. Returns as read(2), but tries again after EINTR.
ssize_t line_buffer_read(struct line_buffer *buffer, int fd) FP_NODISCARD;

// Says that no more bytes come. What is left, if anything, is then a line without its delimiter.
void line_buffer_end(struct line_buffer *buffer);

// Takes the next complete line; ret_line->bad says whether it can be a record. Returns false if more bytes are needed, or at
// the end.
bool line_buffer_next(struct line_buffer *buffer, struct line *ret_line);

// As line_buffer_next(), but takes at once all good lines that are there, up to `most` bytes with their NULs. If the next line
// is bad, or not complete yet, does the same as line_buffer_next().
bool line_buffer_next_lines(struct line_buffer *buffer, size_t most, struct line *ret_line);

// Replaces each delimiter by a NUL. Returns the number of delimiters.
uint32_t line_buffer_end_lines(char *bytes, size_t len, char delimiter);
