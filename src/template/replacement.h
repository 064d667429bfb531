// Replacement strings: their names, and what each makes of an argument.

#ifndef FAIRPAR_TEMPLATE_REPLACEMENT_H
#define FAIRPAR_TEMPLATE_REPLACEMENT_H

#include "base/buf.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

// The seven that GNU parallel always has.
enum token {
	TOKEN_ITEM,                   // {}
	TOKEN_NO_EXTENSION,           // {.}
	TOKEN_BASENAME,               // {/}
	TOKEN_DIRNAME,                // {//}
	TOKEN_BASENAME_NO_EXTENSION,  // {/.}
	TOKEN_SEQ,                    // {#}
	TOKEN_SLOT,                   // {%}
	NTOKENS
};

// Their names: -I, --er, --bnr and the like give others. An argument by its number is named by a token that begins with
// a brace, with the number behind the brace.
struct tokens {
	const char *name[NTOKENS];    // borrowed; not empty
	bool plus;                    // --plus: many more
	bool elsewhere;               // jobs run on other machines, too: {host} is known when one runs
};

extern const struct tokens tokens_default;

// Returns the token whose name stands at `at`, the longest if several do, and the length of that; NTOKENS if there is none. With
// `is_numbered`, `at` is behind the number or the name of an argument ({2/.}): names are compared without their brace, and
// TOKEN_SEQ and TOKEN_SLOT are not looked for.
enum token token_find(const struct tokens *tokens, const char *at, bool is_numbered, size_t *ret_len);

// What is made of an argument.
enum form {
	FORM_WHOLE,
	FORM_NO_EXTENSION,            // in the order of enum token up to here
	FORM_BASENAME,
	FORM_DIRNAME,
	FORM_BASENAME_NO_EXTENSION,
	FORM_DIRECTORY,               // {+/}: what is before the last slash, or nothing
	FORM_EXTENSIONS,              // {+.} {+..} {+...}: the last `n`, or nothing
	FORM_DEFAULT,                 // {:-text}: the text instead of nothing and of 0
	FORM_PART,                    // {:from}, {:from:n}
	FORM_NO_SHORT_PREFIX,         // {#re}
	FORM_NO_PREFIX,               // {##re}
	FORM_NO_SHORT_SUFFIX,         // {%re}
	FORM_NO_SUFFIX,               // {%%re}
	FORM_REPLACE,                 // {/re/text}, {//re/text}; {/#re/text} and {/%re/text} have the # and the % in the expression
	FORM_UPPER,                   // {^re}, {^^re}
	FORM_LOWER,                   // {,re}, {,,re}
};

// A form with what it was given. Read only once parsed, so several threads may use it.
struct replacement {
	struct replacement *next;     // of the template; or NULL
	enum form form;
	size_t from, n;               // n: extensions, or bytes
	bool all;                     // each match, not only the first
	char *text;                   // or NULL; owned
	bool has_regex;
	regex_t regex;
};

struct slice {
	const char *text;
	size_t len;
};

// Returns what the form makes of an argument, which must end with a NUL: a part of it, or of the replacement, or of `scratch`,
// which is used anew, or static text. `given` is the replacement with that form; it may be NULL for those up to
// FORM_BASENAME_NO_EXTENSION.
struct slice form_apply(enum form form, const struct replacement *given, struct slice argument, struct buf *scratch);

#endif
