// How words and items are spelled in shell text so that they stay what they are, by the quotes that an item stands in
// (shell/reader.h). Where a template has backticks, ${…}, $'…', a case or a here-document, an item that needs quotes goes into a
// variable in front of the command, and an expansion stands there instead, which no shell reads as syntax.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

// The position of an item: one of these …
enum position {
	POSITION_PLAIN,         // not quoted
	POSITION_SINGLE,        // inside '…'
	POSITION_ANSI,          // inside $'…' of bash and ksh
	POSITION_DOUBLE,        // inside "…"
	POSITION_DOCUMENT,      // in a here-document that is expanded
	POSITION_LITERAL_DOCUMENT, // in a here-document that is not expanded, since its delimiter is quoted
	POSITION_COMMENT,
	POSITION_KINDS = 0xF,
	// … with any of these
	POSITION_ESCAPED = 1 << 4,   // behind a backslash
	POSITION_DOLLAR = 1 << 5,    // behind a $: a name is a variable, but nothing else may become syntax
	POSITION_QUOTED = 1 << 6,    // an item such as `esac` would be a reserved word here: it gets quotes
	POSITION_BACKTICKS = 1 << 7, // inside `…`
	POSITION_VARIABLE = 1 << 8,  // an item that needs quotes comes out of a variable (reading.is_intricate, or the locale)
	POSITION_APART = 1 << 9,     // behind $NAME, before < or >, in [[ ]]: a plain item is quoted too, or it could join these
};

// True if no spelling in this position is safe for the item, which then has to come out of a variable.
bool quoting_needs_variable(unsigned position, const char *item, size_t len);

// Appends "_itemN='…'; ", which sets variable number `n` to the item. It is to stand in front of the command.
void quoting_add_assignment(struct buf *buf, unsigned n, const char *item, size_t len);

// Appends "${_itemN}", with the quotes and escapes that the position needs.
void quoting_add_variable(struct buf *buf, unsigned position, unsigned n);

// Appends the item as it is spelled in this position; in POSITION_PLAIN as shell_quote() does. Only where quoting_needs_variable() is
// false. With POSITION_ESCAPED or POSITION_DOLLAR the caller adds an empty item where a record has no such argument: else the
// backslash or the $ would act on the byte behind the replacement string.
void quoting_add(struct buf *buf, unsigned position, const char *item, size_t len);

// Appends the word quoted so that every Bourne shell reads exactly these bytes (newline and any byte but NUL included).
// Unquoted where nothing needs it; spelled as GNU parallel spells it.
void shell_quote(struct buf *buf, const char *word, size_t len);

// As shell_quote(), for several words, with blanks between: strings of `size` bytes in all, each with its NUL.
void shell_quote_words(struct buf *buf, const char *words, size_t size);

// True if a shell that reads the word again makes something else of it than one word with its bytes, or with those in its quotes: a
// blank or an operator is outside of quotes, or the quotes are around a part of the word. But false where the word is likely to be
// meant for the shell: it begins with an operator, which {} or a number may stand in front of, or has a $( ) or a backtick.
bool shell_splits(const char *word);

// True if shell_quote() would put the word as it is: not empty, and only of -_.+/ and ASCII letters and digits.
bool shell_is_plain(const char *word, size_t len);

// ---- a text split into words, for execution without a shell ----

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
