// Writing and reading JSON text.

#include "base/json.h"

#include "base/alloc.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void json_add_base64(struct buf *buf, const char *mem, size_t len) {
	const unsigned char *s = (const unsigned char *)mem;
	buf_addc(buf, '"');
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned bits = (unsigned)s[i] << 16 | (left > 1 ? (unsigned)s[i + 1] << 8 : 0) | (left > 2 ? s[i + 2] : 0U);
		buf_addc(buf, base64_digits[bits >> 18]);
		buf_addc(buf, base64_digits[bits >> 12 & 63]);
		buf_addc(buf, left > 1 ? base64_digits[bits >> 6 & 63] : '=');
		buf_addc(buf, left > 2 ? base64_digits[bits & 63] : '=');
	}
	buf_addc(buf, '"');
}

static bool is_plain(char c) {
	return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

bool json_add_text(struct buf *buf, const char *text, size_t len) {
	bool exact = true;
	buf_addc(buf, '"');
	for (size_t i = 0, n; i < len; i += n) {
		for (n = 0; i + n < len && is_plain(text[i + n]);) {
			++n;
		}
		if (n > 0) {
			buf_add(buf, text + i, n);
			continue;
		}
		unsigned char c = (unsigned char)text[i];
		n = c < 0x80 ? 1 : utf8_length(text + i, len - i);
		if (n == 0) {
			buf_adds(buf, "\xEF\xBF\xBD");
			n = 1;
			exact = false;
		} else if (c == '"' || c == '\\' || c == '\n' || c == '\t') {
			buf_addc(buf, '\\');
			buf_addc(buf, c == '\n' ? 'n' : c == '\t' ? 't' : (char)c);
		} else if (c < 0x80) {
			buf_printf(buf, "\\u%04x", c);
		} else {
			buf_add(buf, text + i, n);
		}
	}
	buf_addc(buf, '"');
	return exact;
}

void json_add_string(struct buf *buf, const char *key, const char *value) {
	json_add_bytes(buf, key, value, strlen(value));
}

void json_add_bytes(struct buf *buf, const char *key, const char *value, size_t len) {
	bool is_first = buf->len > 0 && buf->data[buf->len - 1] == '{';
	buf_printf(buf, "%s\"%s\":", is_first ? "" : ",", key);
	json_add_value(buf, key, value, len);
}

void json_add_value(struct buf *buf, const char *key, const char *value, size_t len) {
	if (!json_add_text(buf, value, len)) {
		buf_printf(buf, ",\"%s_b64\":", key);
		json_add_base64(buf, value, len);
	}
}

// ---- reading ----

enum { MAX_DEPTH = 32 };

void json_reader_fini(struct json_reader *reader) {
	free(reader->items);
	*reader = (struct json_reader){0};
}

static bool fail(struct json_reader *reader, const char *error) {
	if (!reader->error) {
		reader->error = error;
	}
	return false;
}

static void skip_blanks(struct json_reader *reader) {
	while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r' || *reader->at == '\n')) {
		++reader->at;
	}
}

static bool accept(struct json_reader *reader, char c) {
	if (reader->at < reader->end && *reader->at == c) {
		++reader->at;
		return true;
	}
	return false;
}

// ---- strings ----

// Returns the number that the four hexadecimal digits at `s` stand for, or -1.
static long hex4(const char *s) {
	const char digits[] = {s[0], s[1], s[2], s[3], '\0'};
	return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

static char *add_utf8(char *to, long c) {
	static const unsigned char leads[] = {0, 0xC0, 0xE0, 0xF0};
	int more = (c >= 0x80) + (c >= 0x800) + (c >= 0x10000); // bytes behind the first
	*to++ = (char)(leads[more] | c >> 6 * more);
	while (more-- > 0) {
		*to++ = (char)(0x80 | (c >> 6 * more & 63));
	}
	return to;
}

// Reads what follows "\u" and writes the character to `to`. The character is never longer than its escape, so it fits. Returns the address behind it.
static char *parse_code(struct json_reader *reader, char *to) {
	long c = reader->end - reader->at >= 4 ? hex4(reader->at) : -1;
	if (c < 0) {
		fail(reader, "a string has \\u without four digits");
		return to;
	}
	reader->at += 4;
	if (c >= 0xD800 && c < 0xDC00 && reader->end - reader->at >= 6 && reader->at[0] == '\\' && reader->at[1] == 'u') {
		long low = hex4(reader->at + 2);
		if (low >= 0xDC00 && low < 0xE000) {
			reader->at += 6;
			return add_utf8(to, 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00));
		}
	}
	if (c >= 0xD800 && c < 0xE000) {
		fail(reader, "a string has half a surrogate pair");
		return to;
	}
	return add_utf8(to, c);
}

// Reads what follows a backslash and writes the character to `to`. Returns the address behind it.
static char *parse_escape(struct json_reader *reader, char *to) {
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	char c = reader->at < reader->end ? *reader->at : '\0';
	const char *letter = c != '\0' ? strchr(letters, c) : NULL;
	if (letter) {
		++reader->at;
		*to++ = meanings[letter - letters];
		return to;
	}
	if (c != 'u') {
		fail(reader, "a string has an unknown escape");
		return to;
	}
	++reader->at;
	return parse_code(reader, to);
}

// Reads a string, which begins at its opening quote, and decodes it in place.
static bool parse_string(struct json_reader *reader, struct json_value *ret_value) {
	if (!accept(reader, '"')) {
		return fail(reader, "a string is missing");
	}
	char *start = reader->at, *to = start;
	while (!reader->error) {
		if (reader->at >= reader->end) {
			return fail(reader, "a string has no end");
		}
		unsigned char c = (unsigned char)*reader->at;
		if (c == '"') {
			++reader->at;
			*to = '\0'; // the NUL stands in place of the closing quote, or before it
			*ret_value = (struct json_value){.kind = JSON_STRING, .text = start, .len = (size_t)(to - start)};
			return true;
		}
		if (c == '\\') {
			++reader->at;
			to = parse_escape(reader, to);
			continue;
		}
		size_t n = c < 0x20 ? 0 : c < 0x80 ? 1 : utf8_length(reader->at, (size_t)(reader->end - reader->at));
		if (n == 0) {
			return fail(reader, c < 0x20 ? "a string has a control character" : "a string is not UTF-8");
		}
		if (to != reader->at) {
			memmove(to, reader->at, n);
		}
		to += n;
		reader->at += n;
	}
	return false;
}

// ---- numbers ----

static bool parse_digits(struct json_reader *reader) {
	char *start = reader->at;
	while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
		++reader->at;
	}
	return reader->at > start;
}

static bool parse_json_number(struct json_reader *reader, struct json_value *ret_value) {
	char *start = reader->at;
	accept(reader, '-');
	bool ok = accept(reader, '0') || parse_digits(reader);
	if (ok && accept(reader, '.')) {
		ok = parse_digits(reader);
	}
	if (ok && (accept(reader, 'e') || accept(reader, 'E'))) {
		if (!accept(reader, '+')) {
			accept(reader, '-');
		}
		ok = parse_digits(reader);
	}
	if (!ok) {
		return fail(reader, "this is no JSON");
	}
	*ret_value = (struct json_value){.kind = JSON_NUMBER, .text = start, .len = (size_t)(reader->at - start)};
	return true;
}

static bool parse_word(struct json_reader *reader, const char *word, enum json_kind kind, struct json_value *ret_value) {
	size_t len = strlen(word);
	if ((size_t)(reader->end - reader->at) < len || memcmp(reader->at, word, len) != 0) {
		return fail(reader, "this is no JSON");
	}
	reader->at += len;
	*ret_value = (struct json_value){.kind = kind};
	return true;
}

// ---- values ----

static bool parse_value(struct json_reader *reader, struct json_value *ret_value, unsigned depth);

static bool parse_list(struct json_reader *reader, struct json_value *ret_value, unsigned depth) {
	size_t first = reader->nitems;
	bool is_plain = true;
	++reader->at;
	skip_blanks(reader);
	if (!accept(reader, ']')) {
		do {
			struct json_value item;
			if (!parse_value(reader, &item, depth + 1)) {
				return false;
			}
			is_plain = is_plain && (item.kind == JSON_STRING || item.kind == JSON_NULL);
			if (is_plain) {
				*NEW_ELEMENT(reader->items, reader->nitems, reader->items_cap) = item;
			}
			skip_blanks(reader);
		} while (accept(reader, ','));
		if (!accept(reader, ']')) {
			return fail(reader, "a list has no end");
		}
	}
	if (!is_plain || depth > 0) {
		reader->nitems = first;
		*ret_value = (struct json_value){.kind = JSON_OTHER};
	} else {
		*ret_value = (struct json_value){.kind = JSON_LIST, .first = first, .len = reader->nitems - first};
	}
	return true;
}

// Reads an object from behind its opening brace.
static bool parse_object(struct json_reader *reader, unsigned depth) {
	skip_blanks(reader);
	if (accept(reader, '}')) {
		return true;
	}
	do {
		struct json_member member;
		skip_blanks(reader);
		if (!parse_string(reader, &member.key)) {
			return false;
		}
		skip_blanks(reader);
		if (!accept(reader, ':')) {
			return fail(reader, "a key has no value");
		}
		if (!parse_value(reader, &member.value, depth)) {
			return false;
		}
		if (depth == 0 && reader->n == JSON_MEMBERS_MAX) {
			return fail(reader, "the object has too many keys");
		}
		if (depth == 0) {
			reader->members[reader->n++] = member;
		}
		skip_blanks(reader);
	} while (accept(reader, ','));
	return accept(reader, '}') || fail(reader, "an object has no end");
}

static bool parse_value(struct json_reader *reader, struct json_value *ret_value, unsigned depth) {
	if (depth > MAX_DEPTH) {
		return fail(reader, "lists or objects are nested too deep");
	}
	skip_blanks(reader);
	switch (reader->at < reader->end ? *reader->at : '\0') {
	case '"': return parse_string(reader, ret_value);
	case 'n': return parse_word(reader, "null", JSON_NULL, ret_value);
	case 't': return parse_word(reader, "true", JSON_TRUE, ret_value);
	case 'f': return parse_word(reader, "false", JSON_FALSE, ret_value);
	case '[': return parse_list(reader, ret_value, depth);
	case '{': break;
	default: return parse_json_number(reader, ret_value);
	}
	++reader->at;
	*ret_value = (struct json_value){.kind = JSON_OTHER};
	return parse_object(reader, depth + 1);
}

int json_read(struct json_reader *reader, char *text, size_t len) {
	reader->at = text;
	reader->end = text + len;
	reader->error = NULL;
	reader->n = reader->nitems = 0;
	skip_blanks(reader);
	if (!accept(reader, '{')) {
		fail(reader, "this is no JSON object");
	} else if (parse_object(reader, 0)) {
		skip_blanks(reader);
		reader->error = reader->at < reader->end ? "more text follows the object" : NULL;
	}
	return reader->error ? -1 : 0;
}

// ---- values as numbers ----

// These functions need not know where the text ends: the byte behind a number, or the NUL behind the whole text, cannot continue a number.

bool json_to_u64(const struct json_value *value, uint64_t *ret_number) {
	const char *at = value->text;
	return value->kind == JSON_NUMBER && read_digits(&at, at + value->len, ret_number) && at == value->text + value->len;
}

bool json_to_ns(const struct json_value *value, uint64_t *ret_ns) {
	struct decimal seconds;
	const char *end = value->kind == JSON_NUMBER ? read_decimal(value->text, MANIFEST_UNITS, &seconds) : NULL;
	if (!end || end != value->text + value->len || seconds.whole > 1000000000 || !(seconds.fraction <= 1)) {
		return false;
	}
	*ret_ns = seconds.whole * 1000000000 + (uint64_t)(seconds.fraction * 1e9 + 0.5);
	return true;
}

bool json_to_double(const struct json_value *value, double *ret_number) {
	*ret_number = value->kind == JSON_NUMBER ? strtod(value->text, NULL) : 0;
	return value->kind == JSON_NUMBER && isfinite(*ret_number);
}

// ---- base64 ----

size_t base64_decode(char *to, const char *text, size_t len) {
	size_t n = 0;
	if (len % 4 != 0) {
		return SIZE_MAX;
	}
	for (size_t i = 0; i < len; i += 4) {
		size_t padding = i + 4 < len ? 0 : text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
		unsigned long bits = 0;
		for (size_t k = 0; k < 4; ++k) {
			const char *digit = k >= 4 - padding ? base64_digits : memchr(base64_digits, text[i + k], 64);
			if (!digit) {
				return SIZE_MAX;
			}
			bits = bits << 6 | (unsigned long)(digit - base64_digits);
		}
		for (size_t k = 0; k < 3 - padding; ++k) {
			to[n++] = (char)(bits >> (16 - 8 * k) & 0xFF);
		}
	}
	return n;
}
