// Growing byte strings, and memory that is freed all at once.

#pragma once

#include "base/attr.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// A string of any bytes, NUL included; `data[len]` is always NUL once there is memory.
struct buf {
	char *data;  // NULL until the first append
	size_t len;  // bytes in use
	size_t cap;  // bytes allocated, the NUL included
};

#define BUF_INIT {NULL, 0, 0}

// Frees the bytes and makes the buffer empty; it may be used again. errno stays. A local buffer that lives as long as its
// block needs no call if it is declared so:  FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
void buf_fini(struct buf *buf);

// Empties the buffer and keeps its memory.
void buf_reset(struct buf *buf);

// Makes room for `more` bytes behind the end (and a NUL) and returns where they go; buf->len is unchanged.
char *buf_reserve(struct buf *buf, size_t more);

// Append `len` bytes, a string, or one byte.
void buf_add(struct buf *buf, const void *mem, size_t len);
void buf_adds(struct buf *buf, const char *s);
void buf_addc(struct buf *buf, char c);

// Appends the strings of a list that ends with NULL, each with its NUL. *ret_n: the number of strings.
void buf_add_strings(struct buf *buf, char *const *strings, uint32_t *ret_n);

// Appends the number in decimal digits, in a fifth of the time of buf_printf().
void buf_add_number(struct buf *buf, uint64_t number);

// Appends what printf(3) makes of the arguments.
void buf_printf(struct buf *buf, const char *format, ...) FP_PRINTF(2, 3);
void buf_vprintf(struct buf *buf, const char *format, va_list args) FP_PRINTF(2, 0);

// Appends what printf(3) makes of `format`, the last named parameter of the function that uses this macro, and of the arguments behind it.
#define BUF_ADD_ARGUMENTS(buf, format) \
	do { va_list arguments; va_start(arguments, format); buf_vprintf(buf, format, arguments); va_end(arguments); } while (0)

// Appends the part of `text` before the first `mark`, which must occur in it. Returns the part behind the mark, within `text`.
// Repeated calls fill in the placeholders of a form, one after the other.
const char *buf_add_until(struct buf *buf, const char *text, const char *mark);

// Returns the bytes as a string, "" for an empty buffer. Borrowed until the next change.
const char *buf_str(const struct buf *buf);

// Appends the bytes of `from`, and empties `from`. If `buf` is empty, it takes over the memory of `from`, and nothing is copied.
void buf_move(struct buf *buf, struct buf *from);

// Hands the bytes (NUL behind them) over to the caller, who frees them; the buffer is empty afterwards.
char *buf_take(struct buf *buf);

// Sets *ret_error to a formatted message, which its receiver frees with free(). Returns -1, for `return error_text(ret_error, …)`.
int error_text(char **ret_error, const char *format, ...) FP_PRINTF(2, 3);

// Removes the first `n` bytes; `n` is at most buf->len.
void buf_drop(struct buf *buf, size_t n);

// Decodes the UTF-8 character (RFC 3629 §4) at the start of the `len` (> 0) bytes. Returns its length in bytes, or 0 if the bytes do not begin with a
// valid character.
size_t utf8_decode(const char *s, size_t len, uint32_t *ret_char);
// As utf8_decode(), but returns only the length.
size_t utf8_length(const char *s, size_t len);

// Appends the bytes for a human reader: control characters, invisible characters and bytes that are not UTF-8 become \n, \t, \xHH; cut after `max`
// bytes, with "...". For messages and, on a terminal, for everything that shows an item: a file name must not control the terminal.
void buf_add_escaped(struct buf *buf, const char *mem, size_t len, size_t max);

// Appends the bytes as they are to be written to `fd`: if `fd` is a terminal, escaped except for newlines and tabs; else unchanged.
void buf_add_for(struct buf *buf, int fd, const char *mem, size_t len);

// Converts the number to the type that buf_printf() takes for %llu: uint64_t is not the same type on every system.
static inline unsigned long long ull(uint64_t n) {
	return n;
}

// Reads the descriptor to its end and appends the bytes to `into`, with a NUL behind them. Returns 0; or -1 with errno: EFBIG
// if `into` would get longer than `most` bytes. What was read before the failure is in `into`.
int read_to_end(int fd, struct buf *into, size_t most) FP_NODISCARD;

// ---- memory that is freed all at once ----

// An allocator that hands out pieces of large blocks.
struct arena {
	struct arena_block *blocks; // the newest first
	char *at;                   // where the free part of the newest block begins
	size_t left;                // bytes of the free part
	size_t next;                // bytes of the next block; 0: there is no block yet
};

#define ARENA_INIT {NULL, NULL, 0, 0}

// Frees all that was handed out and makes the arena empty; it may be used again.
void arena_fini(struct arena *arena);

// Returns `size` zeroed bytes, aligned for any object; never NULL. The arena owns them.
void *arena_alloc(struct arena *arena, size_t size);

// Returns a copy of the `len` bytes with a NUL behind them; the arena owns it.
char *arena_text(struct arena *arena, const char *text, size_t len);
