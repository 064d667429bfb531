// Splitting a line into columns: --colsep and --trim.

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

// Trims what is in `out` from `start` on.
void column_trim(enum input_trim trim, struct buf *out, size_t start);

// Prepares for the (translated) expression, or NULL: do not split. Returns 0, or -1 with the message appended to
// `error`.
int splitter_init(struct splitter *splitter, const char *colsep, enum input_trim trim, struct buf *error);
void splitter_fini(struct splitter *splitter);

// Splits the NUL-terminated `text` of `len` bytes. The arguments go where the text was, or into `scratch` (which is
// reset) where the text may not be changed or is not long enough.
struct record splitter_split(const struct splitter *splitter, char *text, size_t len, bool may_change,
                             struct buf *scratch);

#endif
