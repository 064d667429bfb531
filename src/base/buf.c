// Growing byte strings.

#include "base/buf.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

void buf_fini(struct buf *buf) {
	free(buf->data);
	*buf = (struct buf)BUF_INIT;
}

void buf_reset(struct buf *buf) {
	buf->len = 0;
	if (buf->data) {
		buf->data[0] = '\0';
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
	char *end = buf_reserve(buf, len);
	if (len > 0) {
		memcpy(end, mem, len);
	}
	end[len] = '\0';
	buf->len += len;
}

void buf_adds(struct buf *buf, const char *s) {
	buf_add(buf, s, strlen(s));
}

void buf_addc(struct buf *buf, char c) {
	buf_add(buf, &c, 1);
}

void buf_vprintf(struct buf *buf, const char *format, va_list args) {
	alloc_check();
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

void buf_printf(struct buf *buf, const char *format, ...) {
	va_list args;
	va_start(args, format);
	buf_vprintf(buf, format, args);
	va_end(args);
}

const char *buf_add_until(struct buf *buf, const char *text, const char *mark) {
	const char *at = strstr(text, mark);
	verify(at);
	buf_add(buf, text, (size_t)(at - text));
	return at + strlen(mark);
}

const char *buf_str(const struct buf *buf) {
	return buf->data ? buf->data : "";
}

char *buf_take(struct buf *buf) {
	if (!buf->data) {
		buf_add(buf, "", 0);
	}
	char *data = buf->data;
	*buf = (struct buf)BUF_INIT;
	return data;
}

size_t utf8_length(const char *mem, size_t len) {
	const unsigned char *s = (const unsigned char *)mem;
	if (s[0] < 0x80) {
		return 1;
	}
	static const struct { unsigned char lo, hi, second_lo, second_hi, length; } forms[] = {
		{0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
		{0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
		{0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
	};
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); ++i) {
		if (s[0] < forms[i].lo || s[0] > forms[i].hi || len < forms[i].length) {
			continue;
		}
		if (s[1] < forms[i].second_lo || s[1] > forms[i].second_hi) {
			return 0;
		}
		for (size_t k = 2; k < forms[i].length; ++k) {
			if (s[k] < 0x80 || s[k] > 0xBF) {
				return 0;
			}
		}
		return forms[i].length;
	}
	return 0;
}

// What turns the direction of text, or is not seen, can make a name look like another one (Unicode TR 36): U+200B to
// U+200F, U+202A to U+202E, U+2060 to U+2069, U+FEFF.
static bool is_deceiving(const char *s, size_t n) {
	const unsigned char *c = (const unsigned char *)s;
	if (n != 3) {
		return false;
	}
	unsigned code = (c[0] & 0x0Fu) << 12 | (c[1] & 0x3Fu) << 6 | (c[2] & 0x3Fu);
	return (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
	       (code >= 0x2060 && code <= 0x2069) || code == 0xFEFF;
}

// The length of the character at `s` if it is safe to show, or 0: control characters drive terminals, U+0080 to U+009F
// (C2 80 to C2 9F) too.
static size_t printable_length(const char *s, size_t len) {
	unsigned char first = (unsigned char)s[0];
	if (first < 0x80) {
		return first >= 0x20 && first != 0x7F;
	}
	size_t n = utf8_length(s, len);
	return (first == 0xC2 && (unsigned char)s[1] < 0xA0) || is_deceiving(s, n) ? 0 : n;
}

void buf_add_escaped(struct buf *buf, const char *mem, size_t len, size_t max) {
	for (size_t i = 0; i < len;) {
		if (i >= max) {
			buf_adds(buf, "...");
			return;
		}
		size_t n = printable_length(mem + i, len - i);
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
	if (isatty(fd) != 1) {
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
