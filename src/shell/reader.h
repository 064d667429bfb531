// Parses the shell text of a template, once, and finds the quotes around each replacement string, and whether the string is in arithmetic.
//
// The text is parsed for all Bourne shells at once, since /bin/sh may be any of them: no item may stand behind a construct whose
// quotes two shells read in different ways. The reader does not follow what commands do with their words and with variables.

#pragma once

#include <stdbool.h>
#include <stddef.h>

// What an item must be where it stands.
enum need {
	NEED_INTEGER = 1 << 0,    // in arithmetic: an integer
	NEED_LINE = 1 << 1,       // in a here-document that expands nothing: one line
	NEED_OTHER_LINE = 1 << 2, // in a here-document that expands nothing: a line that cannot be taken for the delimiter
	NEED_NO_TAB = 1 << 3,     // in a here-document: no tab in front, which <<- would take away
	NEED_NO_BACKSLASH = 1 << 4, // in a here-document: no \ at the end of a line: ksh93 joins such a line to the next one inside of $( )
};

// The bytes that stand for replacement strings in the text that is read: READ_ITEM for an item; READ_NUMBER for a value that may
// stand anywhere (a number that fairpar makes, or an item that is itself a command line).
#define READ_ITEM '\0'
#define READ_NUMBER '\1'

struct read_item {
	size_t at;            // its offset in the text
	bool is_number;       // a READ_NUMBER, which is allowed everywhere
	unsigned position;       // enum position of shell/quoting.h
	unsigned needs;       // enum need
	size_t word;          // the offset of the word, or of the operand in a word, that the item is a part of
	char delimiter[64];   // NEED_OTHER_LINE: the delimiter of the here-document, which the line must not be
};

// The marks of a byte of the text: it is quoted by a backslash; it is an operator, or part of an operator.
enum { READ_ESCAPED = 1, READ_OPERATOR = 2 };

// A text, and what reader_read() finds in it.
struct reading {
	// set by the caller, which zeroes the members that it does not need; all pointers are borrowed
	const char *text;
	size_t len;
	struct read_item *items; // in the order of the text; the caller sets `at` and `is_number`, the reader sets the other members
	size_t nitems;
	unsigned char *marks;    // len + 1 elements that the reader sets: READ_ESCAPED, READ_OPERATOR of each byte; or NULL
	unsigned *regions;       // len + 1 elements that the reader sets: the number of the quotes, substitution or here-document
	                         // that each byte stands in, odd for a here-document, else even; or NULL
	// set by the reader
	const char *bash_syntax; // the first construct, such as "&>", that plain shells (dash) do not know or read in another way; or NULL
	size_t bash_at;          // the offset where bash_syntax begins
	bool is_intricate;       // shells may disagree about quotes in this text: a variable holds each item that needs quotes (shell/quoting.h)
	const char *refusal;     // why an item cannot stand where it stands (static text); or NULL
	const char *advice;      // what to do instead (static text)
	size_t refused_at;       // the offset of the item that `refusal` is about
};

// Parses reading->text. Never fails: if the reader cannot follow the text and there are items in it, it sets reading->refusal.
void reader_read(struct reading *reading);

// Returns reading.bash_syntax of a text without items, or NULL; *ret_at is the offset where this syntax begins.
const char *shell_bash_syntax(const char *text, size_t len, size_t *ret_at);
