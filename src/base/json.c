// Writing JSON text.

#include "base/json.h"

char *json_put_base64(char *to, const char *mem, size_t len) {
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
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

// Appends the character at `s`. Returns its length, or 0 if it is no UTF-8 (one byte is then replaced).
static size_t add_char(struct buf *buf, const unsigned char *s, size_t len) {
	if (*s == '"' || *s == '\\') {
		buf_addc(buf, '\\');
		buf_addc(buf, (char)*s);
		return 1;
	}
	if (*s < 0x20 || *s == 0x7F) {
		buf_printf(buf, "\\u%04x", *s);
		return 1;
	}
	size_t n = utf8_length((const char *)s, len);
	if (n == 0) {
		buf_adds(buf, "\xEF\xBF\xBD");
		return 0;
	}
	buf_add(buf, s, n);
	return n;
}

bool json_add_text(struct buf *buf, const char *text, size_t len) {
	const unsigned char *s = (const unsigned char *)text;
	bool exact = true;
	buf_addc(buf, '"');
	for (size_t i = 0; i < len;) {
		size_t n = add_char(buf, s + i, len - i);
		exact = exact && n > 0;
		i += n ? n : 1;
	}
	buf_addc(buf, '"');
	return exact;
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
