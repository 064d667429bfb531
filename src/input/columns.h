// Splitting a record into columns: --colsep, --csv and --trim.

#pragma once

#include "input/input.h"

#include "base/buf.h"

#include <regex.h>

// Appends a regular expression of Perl to `out` as a POSIX extended one, as colsep_translate() does. Returns 0, or -1 with
// the cause appended to `error`.
int perl_translate(const char *perl, struct buf *out, struct buf *error);

// Compiles a POSIX extended expression as regcomp() does, with `flags` beside REG_EXTENDED. Returns 0 and the caller regfree()s
// it; or returns -1 with the cause appended to `error`, and nothing to be freed.
int regex_compile(regex_t *regex, const char *expression, int flags, struct buf *error);

// A column separator, compiled once for all lines.
struct splitter {
	enum { SPLIT_NOT, SPLIT_BYTE, SPLIT_REGEX } kind;
	char byte;               // SPLIT_BYTE
	enum input_trim trim;
	regex_t regex;           // SPLIT_REGEX
};

// Compiles the separator, which colsep_translate() has made, or NULL: lines are not split. Returns 0, or -1 with the cause
// appended to `error`.
int splitter_init(struct splitter *splitter, const char *colsep, enum input_trim trim, struct buf *error);

// Frees what splitter_init() has compiled.
void splitter_fini(struct splitter *splitter);

// Splits a line, a text of `len` bytes with a NUL behind them. If the text `may_change` and has room for the arguments of
// the returned record, they replace it; else they are put into `scratch`, which is emptied before.
struct record splitter_split(const struct splitter *splitter, char *text, size_t len, bool may_change,
                             struct buf *scratch);

// ---- comma-separated values (RFC 4180) ----

// Returns true if the line ends inside quotes, so that the line end is part of a field and the record goes on. `inside`: the line
// begins inside quotes, too.
bool csv_is_open(const char *text, size_t len, char separator, bool inside);

// Splits a record into its fields, which are put into `out` (emptied before) without their quotes. A carriage return at the
// end of the record is part of the line end. Returns NULL, or the reason why this is no record (static text).
const char *csv_split(const char *text, size_t len, char separator, enum input_trim trim, struct buf *out,
                      struct record *ret_record);
