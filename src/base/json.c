// Writing JSON text.

#include "base/json.h"

#include <stdint.h>
#include <string.h>

const char json_base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *json_put_base64(char *to, const char *mem, size_t len) {
	const char *digits = json_base64;
	const unsigned char *s = (const unsigned char *)mem;
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned bits = (unsigned)s[i] << 16 | (left > 1 ? (unsigned)s[i + 1] << 8 : 0) | (left > 2 ? s[i + 2] : 0U);
		*to++ = digits[bits >> 18];
		*to++ = digits[bits >> 12 & 63];
		*to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[bits & 63] : '=';
	}
	return to;
}

static bool is_plain(char c) {
	return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

// Whether all of eight bytes are plain. The top bit of a byte is set where that is below 0x20, is a quote or a backslash, is
// 0x7F or above; a carry into the next byte comes only from one that is not plain (Warren, Hacker's Delight, 6-1).
static bool are_plain(uint64_t bytes) {
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t quotes = bytes ^ ones * '"', backslashes = bytes ^ ones * '\\';
	uint64_t marks = (bytes - ones * 0x20) | (quotes - ones) | (backslashes - ones) | (bytes + ones) | bytes;
	return !(marks & ones * 0x80);
}

// Copies the plain bytes at the front. Returns how many they are.
static size_t copy_plain(char *to, const char *text, size_t len) {
	size_t n = 0;
	for (uint64_t eight; len - n >= sizeof(eight); n += sizeof(eight)) {
		memcpy(&eight, text + n, sizeof(eight));
		if (!are_plain(eight)) {
			break;
		}
		memcpy(to + n, &eight, sizeof(eight));
	}
	uint32_t four;
	if (len - n >= sizeof(four) && (memcpy(&four, text + n, sizeof(four)), are_plain(four * UINT64_C(0x100000001)))) {
		memcpy(to + n, &four, sizeof(four));
		n += sizeof(four);
	}
	for (; n < len && is_plain(text[n]); ++n) {
		to[n] = text[n];
	}
	return n;
}

struct json_end json_put_text(char *to, const char *text, size_t len) {
	static const char hex[] = "0123456789abcdef";
	bool exact = true;
	*to++ = '"';
	for (size_t i = 0, n;; i += n) {
		n = copy_plain(to, text + i, len - i);
		to += n;
		i += n;
		if (i == len) {
			break;
		}
		unsigned char c = (unsigned char)text[i];
		n = 1;
		if (c == '"' || c == '\\' || c == '\n' || c == '\t') {
			*to++ = '\\';
			*to++ = c == '\n' ? 'n' : c == '\t' ? 't' : (char)c;
		} else if (c < 0x80) {
			memcpy(to, "\\u00", 4);
			to[4] = hex[c >> 4];
			to[5] = hex[c & 15];
			to += JSON_BYTE_MAX;
		} else if ((n = utf8_length(text + i, len - i)) > 0) {
			memcpy(to, text + i, n);
			to += n;
		} else {
			memcpy(to, "\xEF\xBF\xBD", 3);
			to += 3;
			n = 1;
			exact = false;
		}
	}
	*to++ = '"';
	return (struct json_end){to, exact};
}

bool json_add_text(struct buf *buf, const char *text, size_t len) {
	struct json_end end = json_put_text(buf_reserve(buf, len * JSON_BYTE_MAX + 2), text, len);
	*end.at = '\0';
	buf->len = (size_t)(end.at - buf->data);
	return end.exact;
}

void json_add_string(struct buf *buf, const char *key, const char *value, size_t len) {
	buf_printf(buf, "\"%s\":", key);
	if (!json_add_text(buf, value, len)) {
		buf_printf(buf, ",\"%s_b64\":\"", key);
		char *end = json_put_base64(buf_reserve(buf, (len + 2) / 3 * 4), value, len);
		buf->len = (size_t)(end - buf->data);
		buf_addc(buf, '"');
	}
}
