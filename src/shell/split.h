// Splits a command text into words for execution without a shell.

#pragma once

#include "base/buf.h"

#include <stdbool.h>

// Appends each word of the text and a NUL to `words`. Blanks and newlines separate words; '…', "…" and backslashes are
// taken as a shell takes them (POSIX XCU 2.2); nothing is expanded, and operators are text. Returns 0 and their number,
// at least 1; or -1 with *ret_error (static text: a quote that is not closed, a backslash at the end, no word at all)
// and `words` as it was.
int words_split(const char *text, struct buf *words, size_t *ret_n, const char **ret_error);

// Finds the first operator, expansion or `*` that a shell would not take as text, up to a quote that is not closed. Returns
// true with its place, borrowed from the text, and its length; false if there is none.
bool words_find_syntax(const char *text, const char **ret_at, size_t *ret_len);
