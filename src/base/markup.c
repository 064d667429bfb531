// Writes numbers, and text that fairpar did not make, into HTML, XML and JSON; text.h does it for plain text.

#include "base/markup.h"

#include "base/text.h"

#include <stdbool.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" // U+FFFD

void markup_add_count(struct buf *buf, uint64_t n) {
	uint64_t thousands = 1;
	while (n / thousands >= 1000) {
		thousands *= 1000;
	}
	buf_printf(buf, "%llu", (unsigned long long)(n / thousands));
	for (; thousands > 1; thousands /= 1000) {
		buf_printf(buf, ",%03llu", (unsigned long long)(n % thousands / (thousands / 1000)));
	}
}

void markup_add_cut(struct buf *buf, const char *text, size_t len, size_t max) {
	if (len <= max) {
		buf_add(buf, text, len);
		return;
	}
	for (size_t back = 0; back < 4 && back < max; ++back) { // a character has at most four bytes
		if (((unsigned char)text[max - back] & 0xC0) != 0x80) {
			max -= back;
			break;
		}
	}
	buf_add(buf, text, max);
	buf_adds(buf, "…");
}

// Appends what stands for an ASCII byte.
static void add_ascii(struct buf *buf, char c, bool tabs) {
	unsigned char byte = (unsigned char)c;
	switch (c) {
	case '&': buf_adds(buf, "&amp;"); break;
	case '<': buf_adds(buf, "&lt;"); break;
	case '>': buf_adds(buf, "&gt;"); break;
	case '"': buf_adds(buf, "&quot;"); break;
	case '\'': buf_adds(buf, "&#39;"); break;
	case '\n': buf_addc(buf, c); break;
	default:
		if (byte == 0x7F) {
			buf_adds(buf, "\xE2\x90\xA1"); // U+2421
		} else if (byte < 0x20 && !(tabs && c == '\t')) {
			const char picture[] = {'\xE2', '\x90', (char)(0x80 + byte)}; // U+2400 on
			buf_add(buf, picture, 3);
		} else {
			buf_addc(buf, c);
		}
	}
}

// True for a character above ASCII that must not stand in a page as it is: C1 controls, U+FFFE and U+FFFF (XML 1.0 §2.2), and
// what turns the direction of the text behind it (UAX #9 §2).
static bool is_bad(uint32_t c) {
	return c < 0xA0 || c == 0xFFFE || c == 0xFFFF || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

static size_t add_char(struct buf *buf, const char *s, size_t len, bool tabs) {
	if ((unsigned char)*s < 0x80) {
		add_ascii(buf, *s, tabs);
		return 1;
	}
	uint32_t c;
	size_t n = utf8_decode(s, len, &c);
	if (n == 0 || is_bad(c)) {
		buf_adds(buf, REPLACEMENT);
		return n ? n : 1;
	}
	buf_add(buf, s, n);
	return n;
}

void markup_add_escaped(struct buf *buf, const char *text, size_t len) {
	for (size_t i = 0; i < len;) {
		i += add_char(buf, text + i, len - i, false);
	}
}

void markup_add_name(struct buf *buf, const char *name, size_t columns) {
	FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
	text_add_cut(&shown, name, strlen(name), columns);
	markup_add_escaped(buf, buf_str(&shown), shown.len);
}

void markup_add_output(struct buf *buf, const char *text, size_t len) {
	for (size_t i = 0; i < len;) {
		size_t n = text_sequence(text + i, len - i);
		i += n ? n : add_char(buf, text + i, len - i, true);
	}
}
