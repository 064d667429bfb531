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

// The digits of base64 (RFC 4648 §4), and a NUL.
extern const char json_base64[65];

// Appends the bytes as base64, in quotes.
void json_add_base64(struct buf *buf, const char *mem, size_t len);

#endif
