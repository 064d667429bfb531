// A reference for comma-separated values (RFC 4180), which reads byte by byte. The unit test and the fuzz target of input/columns.h
// compare with it.

#pragma once

#include "input/columns.h"

#include "test.h"

#include "base/attr.h"

static const char not_closed[] = "a quote in the CSV record is not closed";
static const char behind_quote[] = "there is text behind a closing quote in the CSV record";
static const char inside_plain[] = "there is a quote inside a field without quotes in the CSV record";

enum state { AT_START, IN_PLAIN, IN_QUOTES, BEHIND_QUOTE, BEHIND_TEXT };

struct reference {
	enum state state;
	const char *bad;
	char separator;
};

static void blame(struct reference *r, const char *bad) {
	r->bad = r->bad ? r->bad : bad;
}

// Returns the state after a byte that does not end the record. The bytes of a field, and the NUL behind it, go to `out`.
static enum state step(struct reference *r, char c, struct buf *out) {
	if (r->state == IN_QUOTES || (r->state == BEHIND_QUOTE && c == '"')) {
		bool quote = r->state == IN_QUOTES && c == '"';
		if (!quote) {
			buf_addc(out, c);
		}
		return quote ? BEHIND_QUOTE : IN_QUOTES;
	}
	if (c == r->separator) {
		buf_add(out, "", 1);
		return AT_START;
	}
	if (r->state == AT_START && c == '"') {
		return IN_QUOTES;
	}
	if (r->state == BEHIND_QUOTE || r->state == BEHIND_TEXT) {
		blame(r, behind_quote);
		return BEHIND_TEXT;
	}
	if (c == '"') {
		blame(r, inside_plain);
	}
	buf_addc(out, c);
	return IN_PLAIN;
}

// Returns the length of the record at the beginning of `text`. Its fields, each with a NUL, go to `out`; *ret_bad says why it is malformed.
static size_t next_record(const char *text, size_t len, char separator, struct buf *out, const char **ret_bad) {
	struct reference r = {.state = AT_START, .separator = separator};
	buf_reset(out);
	size_t at = 0;
	for (; at < len && (text[at] != '\n' || r.state == IN_QUOTES); ++at) {
		bool ends = text[at] == '\r' && (at + 1 == len || text[at + 1] == '\n');
		bool line_end = ends && (r.state != IN_QUOTES || at + 1 == len);
		r.state = line_end ? r.state : step(&r, text[at], out);
	}
	if (r.state == IN_QUOTES) {
		blame(&r, not_closed);
	}
	buf_add(out, "", 1);
	*ret_bad = r.bad;
	return at;
}

// ---- what is tested

// Returns the length of the first record, which csv_is_open() tells line by line, as an input uses it.
static size_t cut_record(const char *text, size_t len, char separator) {
	bool inside = false;
	for (size_t at = 0;;) {
		const char *newline = memchr(text + at, '\n', len - at);
		size_t end = newline ? (size_t)(newline - text) : len;
		inside = csv_is_open(text + at, end - at, separator, inside);
		if (!inside || end == len) {
			return end;
		}
		at = end + 1;
	}
}

static size_t count_nuls(const struct buf *buf) {
	size_t n = 0;
	for (size_t i = 0; i < buf->len; ++i) {
		n += buf->data[i] == '\0';
	}
	return n;
}

// Fails unless the tested functions cut and split the text as the reference does.
static void check_text(const char *text, size_t len, char separator) {
	static struct buf expect, out;
	for (size_t at = 0; at <= len;) {
		const char *bad;
		size_t end = at + next_record(text + at, len - at, separator, &expect, &bad);
		check_equal(at + cut_record(text + at, len - at, separator), end);
		char *exact = malloc(end - at + 1); // so that a sanitizer notices a read beyond its end
		memcpy(exact, text + at, end - at);
		exact[end - at] = '\0';
		struct record record;
		const char *found = csv_split(exact, end - at, separator, TRIM_NONE, &out, &record);
		if ((found != NULL) != (bad != NULL) || (found && strcmp(found, bad) != 0)) {
			fprintf(stderr, "# %s: %s, not %s\n", exact, found ? found : "taken", bad ? bad : "taken");
			exit(1);
		}
		if (found) {
			check(record.args == exact && record.size == end - at + 1 && record.nargs == 1);
		} else if (record.size != expect.len || memcmp(record.args, expect.data, expect.len) != 0) {
			fprintf(stderr, "# %s is split at other places\n", exact);
			exit(1);
		} else {
			check_equal(record.nargs, count_nuls(&expect));
		}
		free(exact);
		at = end + 1;
	}
}
