// Spells words and items in shell text so that a shell reads exactly their bytes, whichever quotes an item stands in
// (shell/reader.h). If a template has backticks, ${…}, $'…', a case or a here-document, an item that needs quotes is assigned to
// a variable in front of the command, and "${_itemN}" replaces the item: no shell reads the value of a variable as syntax.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

// The position of an item: one of the first seven values, together with any of the flags below POSITION_KINDS.
enum position {
	POSITION_PLAIN,         // not quoted
	POSITION_SINGLE,        // inside '…'
	POSITION_ANSI,          // inside $'…' of bash and ksh
	POSITION_DOUBLE,        // inside "…"
	POSITION_DOCUMENT,      // in a here-document that is expanded
	POSITION_LITERAL_DOCUMENT, // in a here-document that is not expanded, since its delimiter is quoted
	POSITION_COMMENT,
	POSITION_KINDS = 0xF,
	// the flags
	POSITION_ESCAPED = 1 << 4,   // behind a backslash
	POSITION_DOLLAR = 1 << 5,    // behind a $: the item may name a variable, but must not become other syntax
	POSITION_QUOTED = 1 << 6,    // an item such as `esac` would be a reserved word here: it gets quotes
	POSITION_BACKTICKS = 1 << 7, // inside `…`
	POSITION_VARIABLE = 1 << 8,  // a variable holds an item that needs quotes (because of reading.is_intricate or the locale)
	POSITION_APART = 1 << 9,     // even a plain item is quoted, as it could join the text beside it: $NAME, < or >, [[ ]]
};

// Returns true if no quotes are safe for the item in this position, so that a variable must hold it.
bool quoting_needs_variable(unsigned position, const char *item, size_t len);

// Appends "_itemN='…'; ", which sets variable number `n` to the item. This text goes in front of the command.
void quoting_add_assignment(struct buf *buf, unsigned n, const char *item, size_t len);

// Appends "${_itemN}", with the quotes and escapes that the position needs.
void quoting_add_variable(struct buf *buf, unsigned position, unsigned n);

// Appends the item with the quotes and escapes that the position needs; in POSITION_PLAIN as shell_quote() does. The caller has
// found quoting_needs_variable() to be false. With POSITION_ESCAPED or POSITION_DOLLAR the caller adds an empty item if a record
// has no such argument: else the backslash or the $ would act on the byte behind the replacement string.
void quoting_add(struct buf *buf, unsigned position, const char *item, size_t len);

// Appends the word quoted so that every Bourne shell reads exactly these bytes (newline and any byte but NUL included).
// A word that needs no quotes gets none; the spelling is that of GNU parallel.
void shell_quote(struct buf *buf, const char *word, size_t len);

// Appends several words, each quoted as by shell_quote(), with blanks between. `words`: strings of `size` bytes in all, each with its NUL.
void shell_quote_words(struct buf *buf, const char *words, size_t size);

// Returns true if a shell that reads the word again would split or change it: a blank or an operator is outside of quotes, or only a
// part of the word is in quotes. Returns false if the word seems to be meant as shell code: it begins with an operator (perhaps
// behind {} or a number), or has a $( ) or a backtick.
bool shell_splits(const char *word);

// Returns true if shell_quote() would not change the word: it has at least one byte, and only -_.+/, ASCII letters and digits.
bool shell_is_plain(const char *word, size_t len);

// ---- a text split into words, for execution without a shell ----

struct split {
	size_t n;              // words
	const char *error;     // what is wrong: a quote that is not closed, a backslash at the end, no word at all; static text, or NULL
	const char *syntax;    // the first operator, expansion or `*` that a shell would not take as text: points into the text; or NULL
	size_t syntax_len;
};

// Appends each word of the text and a NUL to `words`. Blanks and newlines separate words; '…', "…" and backslashes are
// taken as a shell takes them (POSIX XCU 2.2); nothing is expanded, and operators are text. Returns 0; or -1 with ret_split->error
// and `words` unchanged.
int words_split(const char *text, struct buf *words, struct split *ret_split);
