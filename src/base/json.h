// Writing and reading JSON text.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Append the member `"key":"value"` to the JSON object at the end of `buf`, which has no closing brace yet; behind a comma unless the member is the
// first one. Bytes that are not UTF-8 become U+FFFD, and then `,"key_b64":"…"` follows with the exact bytes: a file name may have any bytes.
void json_add_string(struct buf *buf, const char *key, const char *value);
void json_add_bytes(struct buf *buf, const char *key, const char *value, size_t len);

// Appends what json_add_bytes() appends behind `"key":`.
void json_add_value(struct buf *buf, const char *key, const char *value, size_t len);

// Appends the text as a JSON string, in quotes. Returns false if some of it became U+FFFD.
bool json_add_text(struct buf *buf, const char *text, size_t len);

// Appends the bytes as base64 (RFC 4648 §4), in quotes.
void json_add_base64(struct buf *buf, const char *mem, size_t len);

// ---- reading: the members of one object, such as a line of a log. The reader is strict (RFC 8259), decodes strings in place,
// and allocates memory only for lists. Nesting is bounded ----

enum json_kind {
	JSON_NONE,    // no such member
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,  // `text` is the number as it is written
	JSON_STRING,  // `text` is decoded, with a NUL behind it; it may hold NULs
	JSON_LIST,    // a list of strings and nulls: `len` elements from reader.items[first] on
	JSON_OTHER,   // an object, or a list with other elements: the reader skips it
};

struct json_value {
	enum json_kind kind;
	const char *text;
	size_t len;
	size_t first;
};

enum { JSON_MEMBERS_MAX = 128 }; // more members than fairpar writes into any object

// A zeroed reader is ready for json_read().
struct json_reader {
	struct json_member {
		struct json_value key, value;
	} members[JSON_MEMBERS_MAX]; // the object's members
	size_t n;
	struct json_value *items; // the elements of the lists among the members
	size_t nitems, items_cap;
	const char *error;       // what is wrong, or NULL
	char *at, *end;          // the part of the text that is not read yet
};

// Frees the list of elements, and zeroes the reader.
void json_reader_fini(struct json_reader *reader);

// Reads the members of the object in `text`; only blanks may stand behind the object. The text is changed and must stay as long as the
// members are used. Returns 0, or -1 with reader->error.
int json_read(struct json_reader *reader, char *text, size_t len) FP_NODISCARD;

// Convert a JSON_NUMBER. Return false, with *ret_… unspecified, if the value is no number or does not fit the type. json_to_ns()
// takes seconds, up to 10^9, without sign or exponent.
bool json_to_u64(const struct json_value *value, uint64_t *ret_number);
bool json_to_ns(const struct json_value *value, uint64_t *ret_ns);
bool json_to_double(const struct json_value *value, double *ret_number);

// Decodes the `len` bytes of base64 at `text` (RFC 4648 §4, with padding) into `to`, which may be `text` itself and has room for
// len / 4 * 3 bytes. Returns the number of decoded bytes, or SIZE_MAX if the text is no base64.
size_t base64_decode(char *to, const char *text, size_t len);
