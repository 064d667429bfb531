// Writing JSON text.

#include "base/json.h"

#include <string.h>

const char json_base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void json_add_base64(struct buf *buf, const char *mem, size_t len) {
	const char *digits = json_base64;
	const unsigned char *s = (const unsigned char *)mem;
	buf_addc(buf, '"');
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned bits = (unsigned)s[i] << 16 | (left > 1 ? (unsigned)s[i + 1] << 8 : 0) | (left > 2 ? s[i + 2] : 0U);
		buf_addc(buf, digits[bits >> 18]);
		buf_addc(buf, digits[bits >> 12 & 63]);
		buf_addc(buf, left > 1 ? digits[bits >> 6 & 63] : '=');
		buf_addc(buf, left > 2 ? digits[bits & 63] : '=');
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

void json_add_string(struct buf *buf, const char *key, const char *value, size_t len) {
	buf_printf(buf, "\"%s\":", key);
	if (!json_add_text(buf, value, len)) {
		buf_printf(buf, ",\"%s_b64\":", key);
		json_add_base64(buf, value, len);
	}
}
