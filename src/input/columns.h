// Splitting a record into columns: --colsep, --csv and --trim.

#ifndef FAIRPAR_INPUT_COLUMNS_H
#define FAIRPAR_INPUT_COLUMNS_H

#include "input/input.h"

#include "base/buf.h"

#include <regex.h>

// Appends an expression of Perl as a POSIX extended one, as colsep_translate() says. Returns 0, or -1 with the cause
// appended to `error`.
int perl_translate(const char *perl, struct buf *out, struct buf *error);

// Compiles a POSIX extended expression as regcomp() does, with these flags more. Returns 0 and the caller regfree()s it; or
// returns -1 with the cause appended to `error`, and nothing to be freed.
int regex_compile(regex_t *regex, const char *expression, int flags, struct buf *error);

// How lines are split, prepared once.
struct splitter {
	enum { SPLIT_NOT, SPLIT_BYTE, SPLIT_SET, SPLIT_REGEX } kind;
	char byte;               // SPLIT_BYTE
	bool in_set[256];        // SPLIT_SET
	bool joins;              // SPLIT_SET: several of them are one separator (a + stood behind)
	enum input_trim trim;
	bool has_regex;
	regex_t regex;
};

// Prepares for the (translated) expression, or NULL: do not split. Returns 0, or -1 with the message appended to
// `error`.
int splitter_init(struct splitter *splitter, const char *colsep, enum input_trim trim, struct buf *error);
void splitter_fini(struct splitter *splitter);

// Splits the NUL-terminated `text` of `len` bytes. The arguments go where the text was, or into `scratch` (which is
// reset) where the text may not be changed or is not long enough.
struct record splitter_split(const struct splitter *splitter, char *text, size_t len, bool may_change,
                             struct buf *scratch);

// ---- comma-separated values (RFC 4180) ----

// Is a line that ends here still inside quotes, so that its end belongs to a field and the record goes on? `inside` says
// whether it began there.
bool csv_is_open(const char *text, size_t len, char separator, bool inside);

// Splits a record into its fields, without their quotes, which go to `out` (which is reset). A carriage return at its end
// belongs to the line end. Returns NULL, or why it cannot be one (static text).
const char *csv_split(const char *text, size_t len, char separator, enum input_trim trim, struct buf *out,
                      struct record *ret_record);

#endif
