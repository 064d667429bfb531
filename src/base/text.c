// Writes numbers, and text from outside (items, output, names), for people: no control character of the text reaches a terminal,
// and no part of it is read as HTML or XML.

#include "base/text.h"

#include "base/alloc.h"

#include <stdio.h>

char *path_directory(const char *path) {
	size_t len = (size_t)(path_base(path) - path);
	return len > 0 ? xmemdup(path, len) : xstrdup(".");
}

void text_add_time(struct buf *buf, uint64_t ns) {
	unsigned long long us = ns / 1000, s = us / 1000000;
	if (us < 1000) {
		buf_printf(buf, us > 0 ? "%lluus" : "0s", us);
	} else if (us < 100000) {
		buf_printf(buf, "%llu.%llums", us / 1000, us / 100 % 10);
	} else if (s < 10) {
		buf_printf(buf, "%llu.%02llus", s, us / 10000 % 100);
	} else if (s < 120) {
		buf_printf(buf, "%llu.%llus", s, us / 100000 % 10);
	} else if (s < 7200) {
		buf_printf(buf, "%llum%02llus", s / 60, s % 60);
	} else if (s < 172800) {
		buf_printf(buf, "%lluh%02llum", s / 3600, s / 60 % 60);
	} else {
		buf_printf(buf, "%llud%02lluh", s / 86400, s / 3600 % 24);
	}
}

// ---- columns ----

// Returns the columns of a character: two for Unicode's East Asian Width W and F, none for marks that stand on other characters,
// else one. The tables are not exact. U+FE0F takes a column, since some terminals draw the character before it two columns wide.
static size_t columns_of(uint32_t c) {
	static const struct range { uint32_t first, last; } wide[] = {
		{0x1100, 0x115F}, {0x231A, 0x231B}, {0x2329, 0x232A}, {0x23E9, 0x23EC}, {0x23F0, 0x23F3}, {0x25FD, 0x25FE},
		{0x2614, 0x2615}, {0x2648, 0x2653}, {0x267F, 0x267F}, {0x2693, 0x2693}, {0x26A1, 0x26A1}, {0x26AA, 0x26AB},
		{0x26BD, 0x26BE}, {0x26C4, 0x26C5}, {0x26CE, 0x26CE}, {0x26D4, 0x26D4}, {0x26EA, 0x26EA}, {0x26F2, 0x26F5},
		{0x26FA, 0x26FD}, {0x2705, 0x2705}, {0x270A, 0x270B}, {0x2728, 0x2728}, {0x274C, 0x274E}, {0x2753, 0x2757},
		{0x2795, 0x2797}, {0x27B0, 0x27BF}, {0x2B1B, 0x2B1C}, {0x2B50, 0x2B55}, {0x2E80, 0x303E}, {0x3041, 0xA4CF},
		{0xA960, 0xA97F}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0xFE10, 0xFE19}, {0xFE30, 0xFE6F}, {0xFF00, 0xFF60},
		{0xFFE0, 0xFFE6}, {0x16FE0, 0x1B2FB}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F19A},
		{0x1F200, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F7E0, 0x1F7F0}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD},
	};
	static const struct range none[] = {
		{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},
		{0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064}, {0x20D0, 0x20FF},
		{0x302A, 0x302F}, {0xFE00, 0xFE0E}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
	};
	size_t columns = 1;
	for (size_t i = 0; c >= 0x300 && i < sizeof(wide) / sizeof(wide[0]); ++i) {
		columns = c >= wide[i].first && c <= wide[i].last ? 2 : columns;
	}
	for (size_t i = 0; c >= 0x300 && i < sizeof(none) / sizeof(none[0]); ++i) {
		columns = c >= none[i].first && c <= none[i].last ? 0 : columns;
	}
	return columns;
}

// Returns the length in bytes of the control sequence that the text begins with (ECMA-48 §5.4: ESC [ … and a final byte, mostly a letter), or 0.
static size_t text_sequence(const char *text, size_t len) {
	if (len < 3 || text[0] != '\033' || text[1] != '[') {
		return 0;
	}
	size_t n = 2;
	while (n < len && text[n] >= 0x20 && text[n] <= 0x3F) {
		++n;
	}
	return n < len && text[n] >= 0x40 && text[n] <= 0x7E ? n + 1 : 0;
}

size_t text_step(const char *text, size_t len, size_t *ret_columns) {
	uint32_t c;
	size_t sequence = text_sequence(text, len), n = sequence ? sequence : utf8_decode(text, len, &c);
	*ret_columns = sequence ? 0 : n > 0 ? columns_of(c) : 1;
	return n > 0 ? n : 1;
}

size_t text_columns(const char *text, size_t len) {
	size_t columns = 0, more;
	for (size_t i = 0; i < len; columns += more) {
		i += text_step(text + i, len - i, &more);
	}
	return columns;
}

void text_add_cut(struct buf *buf, const char *text, size_t len, size_t columns) {
	size_t from = buf->len;
	// 4 bytes for each column are enough: a character has at most 4 bytes, and escaping makes no text shorter
	bool is_long = columns < SIZE_MAX / 4 && len > columns * 4;
	buf_add_escaped(buf, text, is_long ? columns * 4 : len, SIZE_MAX);
	if (!is_long && text_columns(buf_str(buf) + from, buf->len - from) <= columns) {
		return;
	}
	size_t room = columns > 3 ? columns - 3 : 0, more;
	size_t at = from;
	for (size_t taken = 0; at < buf->len; taken += more) {
		size_t n = text_step(buf->data + at, buf->len - at, &more);
		if (taken + more > room) {
			break;
		}
		at += n;
	}
	buf->len = at;
	buf_add(buf, "...", columns < 3 ? columns : 3);
}

void text_add_command(struct buf *buf, const char *command, size_t len, size_t columns) {
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	buf_add(&line, command, len);
	const char *from = buf_str(&line) + strspn(buf_str(&line), " \t\n");
	size_t before = (size_t)(from - buf_str(&line)), end = before + strcspn(from, "\n");
	bool goes_on = line.data[end + strspn(line.data + end, " \t\n")] != '\0';
	buf_drop(&line, before);
	line.len = end - before;
	buf_adds(&line, goes_on ? " ..." : "");
	text_add_cut(buf, buf_str(&line), line.len, columns);
}

// ---- output ----

void text_add_output(struct buf *buf, const char *line, size_t len, size_t columns) {
	FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
	while (len > 0 && line[len - 1] == '\r') {
		--len;
	}
	const char *from = len > 0 ? memrchr(line, '\r', len) : NULL;
	if (from) {
		len -= (size_t)(from + 1 - line);
		line = from + 1;
	}
	len = columns < SIZE_MAX / 4 - 1 && len > columns * 4 + 4 ? columns * 4 + 4 : len;
	for (size_t i = 0; i < len;) {
		size_t sequence = text_sequence(line + i, len - i);
		char last = sequence > 0 ? line[i + sequence - 1] : '\0';
		if (last == 'm' || last == 'K') { // colours, and "erase the rest of the line", which programs print with colours
			i += sequence;
			continue;
		}
		if (line[i] == '\t') {
			buf_add(&shown, "        ", 8 - text_columns(buf_str(&shown), shown.len) % 8);
		} else {
			buf_addc(&shown, line[i]);
		}
		++i;
	}
	text_add_cut(buf, buf_str(&shown), shown.len, columns);
}

void text_add_one_line(struct buf *buf, const char *said, size_t len, size_t max) {
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	bool is_between = false;
	for (size_t i = 0; i < len; ++i) {
		bool is_end = said[i] == '\n' || (said[i] == '\r' && (i + 1 == len || said[i + 1] == '\n'));
		if (!is_end) {
			buf_adds(&line, is_between && line.len > 0 ? "; " : "");
			buf_addc(&line, said[i]);
		}
		is_between = is_end;
	}
	buf_add_escaped(buf, buf_str(&line), line.len, max);
}

void text_add_job(struct buf *buf, const char *batch, uint64_t number, uint64_t seq, size_t columns) {
	bool is_default = number > 0 && seq > 0 && strcmp(batch, "default") == 0;
	if (!is_default) {
		text_add_cut(buf, batch, strlen(batch), columns);
	}
	if (number > 0) {
		buf_printf(buf, "#%llu", (unsigned long long)(is_default ? seq : number));
	}
}

// ---- for messages ----

const char *text_show(const char *mem, size_t len) {
	static _Thread_local struct { char text[512]; } shown[4];
	static _Thread_local unsigned next;
	char *text = shown[next++ % 4].text;
	FP_CLEANUP(buf_fini) struct buf buf = BUF_INIT;
	buf_add_escaped(&buf, mem, len, 80);
	snprintf(text, sizeof(shown[0].text), "%s", buf_str(&buf));
	return text;
}

const char *text_shows(const char *s) {
	return text_show(s, strlen(s));
}

// ---- in HTML and XML ----

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

// Appends an ASCII byte as HTML or XML writes it; `tabs`: a tab stays.
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

void markup_add_text(struct buf *buf, const char *text) {
	markup_add_escaped(buf, text, strlen(text));
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
