// Cuts a stream of bytes that arrives in pieces into lines: the bytes of a file, or the output of a job.

#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The longest line that can be a record, in bytes. Of a longer line only the beginning is returned, with line.bad set.
enum { LINE_BUFFER_MAX = 16 << 20 };

// A line, in the memory of the buffer: it has a NUL behind it, may be changed, and is valid until the next call.
struct line {
	char *text;
	size_t len;
	const char *bad;   // why the line cannot be a record (static text; `text` is then its beginning), or NULL
	uint32_t n;        // how many lines line_buffer_next_lines() has put into `text`, with a NUL behind each; 0: `text` is one line
	bool is_cut;       // the bytes have ended without a delimiter behind the line
};

// The bytes that were not taken as lines yet. The memory grows only if a single line, or the bytes added at once, do not fit.
struct line_buffer {
	char delimiter;    // the delimiter, or the last byte of `longer`
	const char *longer; // a delimiter of several bytes without NUL, borrowed; or NULL
	size_t most;       // the most bytes of a line: LINE_BUFFER_MAX, unless the owner sets another limit (line.bad does not name that limit)
	bool ended;        // no more bytes come: what is left is the last line. Set by line_buffer_read(), or by the caller of line_buffer_add()
	bool skipping;     // the bytes up to the next delimiter are dropped: their line was too long
	bool may_hold_nul; // a NUL that is no delimiter is somewhere in the buffer
	char *data;        // `cap` bytes and one more, for the NUL behind a last line without its delimiter
	size_t cap, start, end; // the bytes that were not taken are at `start` to before `end`
	size_t searched;   // how many bytes from `start` on were searched, and hold no delimiter
};

#define LINE_BUFFER_INIT(byte) {.delimiter = (byte), .most = LINE_BUFFER_MAX}
void line_buffer_fini(struct line_buffer *buffer);

// Adds a copy of the bytes. The caller takes all complete lines before it adds more bytes: then each byte is searched for the
// delimiter only once, and the memory is at most `most` plus the bytes added at once.
void line_buffer_add(struct line_buffer *buffer, const char *mem, size_t len);

// Reads bytes from the descriptor and adds them; sets `ended` at the end of file. Returns as read(2), but tries again after EINTR.
ssize_t line_buffer_read(struct line_buffer *buffer, int fd) FP_NODISCARD;

// Takes the next complete line; ret_line->bad says whether it can be a record. Returns false if more bytes are needed, or at
// the end.
bool line_buffer_next(struct line_buffer *buffer, struct line *ret_line);

// As line_buffer_next(), but takes all complete lines of the buffer at once, up to `most` bytes with their NULs. Takes only the next
// line if a line may be bad, the delimiter has several bytes, or the next line is incomplete or longer than `most`.
bool line_buffer_next_lines(struct line_buffer *buffer, size_t most, struct line *ret_line);

// Replaces each delimiter by a NUL. Returns the number of delimiters.
uint32_t line_buffer_end_lines(char *bytes, size_t len, char delimiter);
