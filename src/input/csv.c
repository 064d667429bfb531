// Comma-separated values as RFC 4180 has them.

#include "input/csv.h"

#include "input/columns.h"

#include <string.h>

bool csv_is_open(const char *text, size_t len, char separator, bool inside) {
	const char *end = text + len;
	while (text < end) {
		const char *stop;
		if (inside || *text == '"') {
			stop = memchr(text + !inside, '"', (size_t)(end - text - !inside));
			if (!stop) {
				return true;
			}
			text = stop + 1;
			inside = text < end && *text == '"'; // doubled
			text += inside;
			if (inside) {
				continue;
			}
		}
		stop = memchr(text, separator, (size_t)(end - text)); // quotes in there open nothing
		text = stop ? stop + 1 : end;
	}
	return inside;
}

// Appends a field in quotes, which begins at `at`. Returns where its separator or its end is, or NULL with the reason.
static const char *add_quoted(const char *at, const char *end, char separator, struct buf *out, const char **ret_bad) {
	for (++at;; ++at) {
		const char *quote = memchr(at, '"', (size_t)(end - at));
		if (!quote) {
			*ret_bad = "a quote in the CSV record is not closed";
			return NULL;
		}
		buf_add(out, at, (size_t)(quote - at));
		at = quote + 1;
		if (at == end || *at == separator) {
			return at;
		}
		if (*at != '"') {
			*ret_bad = "there is text behind a closing quote in the CSV record";
			return NULL;
		}
		buf_addc(out, '"');
	}
}

static const char *add_plain(const char *at, const char *end, char separator, struct buf *out, const char **ret_bad) {
	const char *stop = memchr(at, separator, (size_t)(end - at));
	stop = stop ? stop : end;
	if (memchr(at, '"', (size_t)(stop - at))) {
		*ret_bad = "there is a quote inside a field without quotes in the CSV record";
		return NULL;
	}
	buf_add(out, at, (size_t)(stop - at));
	return stop;
}

const char *csv_split(const char *text, size_t len, char separator, enum input_trim trim, struct buf *out,
                      struct record *ret_record) {
	const char *bad = NULL, *at = text;
	buf_reset(out);
	*ret_record = (struct record){.args = text, .size = len + 1, .nargs = 1};
	len -= len > 0 && text[len - 1] == '\r';
	const char *end = text + len;
	for (uint32_t n = 1;; ++n, ++at) {
		size_t start = out->len;
		at = (at < end && *at == '"' ? add_quoted : add_plain)(at, end, separator, out, &bad);
		if (!at) {
			return bad;
		}
		column_trim(trim, out, start);
		buf_add(out, "", 1);
		if (at == end) {
			*ret_record = (struct record){.args = out->data, .size = out->len, .nargs = n};
			return NULL;
		}
	}
}
