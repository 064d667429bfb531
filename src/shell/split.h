// Splits a command text into words for execution without a shell.

#pragma once

#include "base/buf.h"

#include <stddef.h>

struct split {
	size_t n;              // words
	const char *error;     // a quote that is not closed, a backslash at the end, no word at all; static text, or NULL
	const char *syntax;    // the first operator, expansion or `*` that a shell would not take as text: in the text, or NULL
	size_t syntax_len;
};

// Appends each word of the text and a NUL to `words`. Blanks and newlines separate words; '…', "…" and backslashes are
// taken as a shell takes them (POSIX XCU 2.2); nothing is expanded, and operators are text. Returns 0; or -1 with ret_split->error
// and `words` as it was.
int words_split(const char *text, struct buf *words, struct split *ret_split);
