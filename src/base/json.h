// Writing JSON text.

#ifndef FAIRPAR_BASE_JSON_H
#define FAIRPAR_BASE_JSON_H

#include "base/buf.h"

#include <stdbool.h>

// Appends `"key":"value"`. Bytes that are not UTF-8 become U+FFFD, and then `,"key_b64":"…"` follows with the exact bytes,
// for names are bytes and must survive.
void json_add_string(struct buf *buf, const char *key, const char *value, size_t len);

// Appends `"text"` alone. Returns false if some of it became U+FFFD.
bool json_add_text(struct buf *buf, const char *text, size_t len);

// Puts `"text"` to `to`, where room is for JSON_BYTE_MAX bytes for each of its `len`, and for two quotes. Returns the end, and
// whether the text is UTF-8; if not, what is none became U+FFFD.
enum { JSON_BYTE_MAX = 6 };
struct json_end {
	char *at;
	bool exact;
};
struct json_end json_put_text(char *to, const char *text, size_t len);

// The digits of base64 (RFC 4648 §4), and a NUL.
extern const char json_base64[65];

// Puts the bytes as base64 to `to`, where (len + 2) / 3 * 4 bytes are. Returns the end.
char *json_put_base64(char *to, const char *mem, size_t len);

#endif
