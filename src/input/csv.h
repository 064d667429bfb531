// Comma-separated values as RFC 4180 has them.

#ifndef FAIRPAR_INPUT_CSV_H
#define FAIRPAR_INPUT_CSV_H

#include "input/input.h"

#include "base/buf.h"

// Is a line that ends here still inside quotes, so that its end belongs to a field and the record goes on? `inside` says
// whether it began there.
bool csv_is_open(const char *text, size_t len, char separator, bool inside);

// Splits a record into its fields, without their quotes, which go to `out` (which is reset). A carriage return at its end
// belongs to the line end. Returns NULL, or why it cannot be one (static text).
const char *csv_split(const char *text, size_t len, char separator, enum input_trim trim, struct buf *out,
                      struct record *ret_record);

#endif
