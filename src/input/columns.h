// Splits a record into columns: --colsep, --csv and --trim.

#pragma once

#include "input/input.h"

#include "base/buf.h"

#include <regex.h>

// Translates a regular expression of Perl into a POSIX extended one, as colsep_translate() does, and appends the result to `out`.
// Returns 0, or -1 with the cause appended to `error`.
int perl_translate(const char *perl, struct buf *out, struct buf *error);

// Compiles a POSIX extended expression with regcomp() and the flags REG_EXTENDED | `flags`. Returns 0, and the caller regfree()s
// the regex; or returns -1 with the cause appended to `error`, and nothing has to be freed.
int regex_compile(regex_t *regex, const char *expression, int flags, struct buf *error);

// A column separator, compiled once for all lines.
struct splitter {
	enum { SPLIT_NOT, SPLIT_BYTE, SPLIT_REGEX } kind;
	char byte;               // SPLIT_BYTE
	enum input_trim trim;
	regex_t regex;           // SPLIT_REGEX
};

// Compiles `colsep`, an expression from colsep_translate(); if `colsep` is NULL, lines are not split. Returns 0, or -1 with the
// cause appended to `error`.
int splitter_init(struct splitter *splitter, const char *colsep, enum input_trim trim, struct buf *error);

// Frees what splitter_init() has compiled.
void splitter_fini(struct splitter *splitter);

// Splits a line of `len` bytes with a NUL behind them. Returns a record of the columns, which are written over `text` if it
// `may_change` and the separator is no regular expression; else into `scratch`, which is emptied first.
struct record splitter_split(const struct splitter *splitter, char *text, size_t len, bool may_change,
                             struct buf *scratch);

// ---- comma-separated values (RFC 4180) ----

// Returns true if the line ends inside quotes, so that the line end is part of a field and the next line belongs to the same record.
// `inside` says that the line begins inside quotes.
bool csv_is_open(const char *text, size_t len, char separator, bool inside);

// Splits a record into its fields, without their quotes; drops a carriage return at the end of the record. Returns NULL, with the fields in
// *ret_record (in the memory of `out`, emptied first); or the reason why the text is no CSV record (static text), with the text in *ret_record.
const char *csv_split(const char *text, size_t len, char separator, enum input_trim trim, struct buf *out,
                      struct record *ret_record);
