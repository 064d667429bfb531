// Growing byte strings, and memory that is freed all at once.

#include "base/buf.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"

#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

void buf_fini(struct buf *buf) {
	free_later(&buf->data);
	*buf = (struct buf)BUF_INIT;
}

void buf_reset(struct buf *buf) {
	buf->len = 0;
	if (buf->data) {
		buf->data[0] = '\0';
	}
}

void buf_drop(struct buf *buf, size_t n) {
	verify(n <= buf->len);
	if (n > 0) {
		buf->len -= n;
		memmove(buf->data, buf->data + n, buf->len);
		buf->data[buf->len] = '\0';
	}
}

char *buf_reserve(struct buf *buf, size_t more) {
	verify(more < SIZE_MAX - buf->len - 1);
	bool is_new = !buf->data;
	grow_array(&buf->data, &buf->cap, buf->len + more + 1, 1);
	if (is_new) {
		buf->data[0] = '\0';
	}
	return buf->data + buf->len;
}

void buf_add(struct buf *buf, const void *mem, size_t len) {
	*put_bytes(buf_reserve(buf, len), mem, len) = '\0';
	buf->len += len;
}

void buf_adds(struct buf *buf, const char *s) {
	buf_add(buf, s, strlen(s));
}

void buf_addc(struct buf *buf, char c) {
	buf_add(buf, &c, 1);
}

void buf_add_strings(struct buf *buf, char *const *strings, uint32_t *ret_n) {
	for (*ret_n = 0; strings[*ret_n]; ++*ret_n) {
		buf_add(buf, strings[*ret_n], strlen(strings[*ret_n]) + 1);
	}
}

void buf_vprintf(struct buf *buf, const char *format, va_list args) {
	va_list again;
	va_copy(again, args);
	char *end = buf_reserve(buf, 64);
	size_t room = buf->cap - buf->len;
	int n = vsnprintf(end, room, format, args);
	verify(n >= 0);
	if ((size_t)n >= room) {
		end = buf_reserve(buf, (size_t)n);
		vsnprintf(end, (size_t)n + 1, format, again);
	}
	va_end(again);
	buf->len += (size_t)n;
}

void buf_add_number(struct buf *buf, uint64_t number) {
	char digits[20], *end = digits + sizeof(digits), *at = end;
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	buf_add(buf, at, (size_t)(end - at));
}

void buf_printf(struct buf *buf, const char *format, ...) {
	BUF_ADD_ARGUMENTS(buf, format);
}

const char *buf_add_until(struct buf *buf, const char *text, const char *mark) {
	const char *at = strstr(text, mark);
	verify(at);
	buf_add(buf, text, (size_t)(at - text));
	return at + strlen(mark);
}

int error_text(char **ret_error, const char *format, ...) {
	struct buf text = BUF_INIT;
	BUF_ADD_ARGUMENTS(&text, format);
	*ret_error = buf_take(&text);
	return -1;
}

const char *buf_str(const struct buf *buf) {
	return buf->data ? buf->data : "";
}

void buf_move(struct buf *buf, struct buf *from) {
	if (buf->len == 0) {
		struct buf empty = *buf;
		*buf = *from;
		*from = empty;
	} else {
		buf_add(buf, from->data, from->len);
	}
	buf_reset(from);
}

char *buf_take(struct buf *buf) {
	buf_reserve(buf, 0);
	char *data = buf->data;
	*buf = (struct buf)BUF_INIT;
	return data;
}

size_t utf8_decode(const char *mem, size_t len, uint32_t *ret_char) {
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; // by number of bytes: the least character that takes this many bytes
	const unsigned char *s = (const unsigned char *)mem;
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
	if (n == 0 || n > len) {
		return 0;
	}
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7Fu >> n);
	for (size_t i = 1; i < n; ++i) {
		if ((s[i] & 0xC0) != 0x80) {
			return 0;
		}
		c = c << 6 | (s[i] & 0x3F);
	}
	*ret_char = c;
	return c >= least[n] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF) ? n : 0;
}

size_t utf8_length(const char *s, size_t len) {
	uint32_t c;
	return utf8_decode(s, len, &c);
}

// Returns whether the character may be shown as it is. Control characters could change the terminal; characters that turn the direction of text, and
// invisible characters, could make one name look like another (Unicode TR 36).
static bool is_safe(uint32_t c) {
	bool is_control = c < 0x20 || (c >= 0x7F && c < 0xA0);
	return !is_control && !(c >= 0x200B && c <= 0x200F) && !(c >= 0x202A && c <= 0x202E) && !(c >= 0x2060 && c <= 0x2069) &&
	       c != 0xFEFF;
}

void buf_add_escaped(struct buf *buf, const char *mem, size_t len, size_t max) {
	for (size_t i = 0; i < len;) {
		if (i >= max) {
			buf_adds(buf, "...");
			return;
		}
		uint32_t c;
		size_t n = utf8_decode(mem + i, len - i, &c);
		n = n > 0 && is_safe(c) ? n : 0;
		if (n > 0) {
			buf_add(buf, mem + i, n);
		} else if (mem[i] == '\n') {
			buf_adds(buf, "\\n");
		} else if (mem[i] == '\t') {
			buf_adds(buf, "\\t");
		} else {
			buf_printf(buf, "\\x%02X", (unsigned char)mem[i]);
		}
		i += n ? n : 1;
	}
}

void buf_add_for(struct buf *buf, int fd, const char *mem, size_t len) {
	size_t plain = 0;
	while (plain < len && ((mem[plain] >= ' ' && mem[plain] <= '~') || mem[plain] == '\n' || mem[plain] == '\t')) {
		++plain;
	}
	if (plain == len || isatty(fd) != 1) { // isatty() comes last, as it is a system call
		buf_add(buf, mem, len);
		return;
	}
	for (size_t i = 0, n; i < len; i += n + 1) {
		for (n = 0; i + n < len && mem[i + n] != '\n' && mem[i + n] != '\t';) {
			++n;
		}
		buf_add_escaped(buf, mem + i, n, SIZE_MAX);
		buf_add(buf, mem + i + n, i + n < len);
	}
}

int read_to_end(int fd, struct buf *into, size_t most) {
	ssize_t n = 1;
	for (size_t step = 4096; n > 0 && into->len <= most; step *= 2) {
		size_t room = most - into->len; // reads up to one byte more than `most`, to find out whether there are too many bytes
		size_t len = step < room ? step : room + 1;
		n = read_some(fd, buf_reserve(into, len), len);
		into->len += n > 0 ? (size_t)n : 0;
	}
	buf_reserve(into, 0)[0] = '\0';
	return n < 0 ? -1 : result_of(into->len > most ? EFBIG : 0);
}

// ---- memory that is freed all at once ----

enum { FIRST_BLOCK = 1024, BLOCK = 64 * 1024 }; // an arena's blocks double in size up to BLOCK, so a small arena takes little

struct arena_block {
	struct arena_block *next;
	alignas(max_align_t) char data[];
};

// Returns `size` bytes at a multiple of `align`, which are zero: xcalloc() makes the blocks, and no byte is handed out twice. A piece that
// is large compared with the next block gets a block of its own, and what is left of the newest block stays in use.
static char *carve(struct arena *arena, size_t size, size_t align) {
	size_t pad = (size_t)(-(uintptr_t)arena->at % align); // behind a text, the free part begins at any address
	if (pad + size <= arena->left) {
		char *piece = arena->at + pad;
		arena->at = piece + size;
		arena->left -= pad + size;
		return piece;
	}
	size_t next = arena->next > 0 ? arena->next : FIRST_BLOCK;
	size_t bytes = size > next / 4 ? size : next;
	struct arena_block *block = xcalloc(1, sizeof(*block) + bytes); // calloc() does not write to fresh pages, so unused pages take no memory
	if (bytes == size && arena->blocks) {
		block->next = arena->blocks->next;
		arena->blocks->next = block;
		return block->data;
	}
	arena->next = next < BLOCK ? 2 * next : BLOCK;
	block->next = arena->blocks;
	arena->blocks = block;
	arena->at = block->data + size;
	arena->left = bytes - size;
	return block->data;
}

void arena_fini(struct arena *arena) {
	while (arena->blocks) {
		struct arena_block *block = arena->blocks;
		arena->blocks = block->next;
		free(block);
	}
	*arena = (struct arena)ARENA_INIT;
}

void *arena_alloc(struct arena *arena, size_t size) {
	return carve(arena, size > 0 ? size : 1, alignof(max_align_t));
}

char *arena_text(struct arena *arena, const char *text, size_t len) {
	return memcpy(carve(arena, len + 1, 1), text, len);
}
