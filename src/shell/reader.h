// Parses the shell text of a template, once, and finds for each replacement string in which quotes it stands, and whether a
// shell evaluates what stands there: as arithmetic, as the name of a variable, as a command.
//
// The text is parsed for all Bourne shells at once, since /bin/sh may be any of them. An item is refused where they parse a
// text in different ways, and where one of them evaluates the result of an expansion whatever its quotes are.

#ifndef FAIRPAR_SHELL_READER_H
#define FAIRPAR_SHELL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What an item must be where it stands.
enum need {
	NEED_INTEGER = 1 << 0,   // in arithmetic: an integer
	NEED_NUMBER = 1 << 1,    // for printf %d, [ -eq ]: an integer or a decimal fraction
	NEED_NAME = 1 << 2,      // for printf -v, read: a plain name
	NEED_LINE = 1 << 3,      // in a here-document that expands nothing: one line
	NEED_OTHER_LINE = 1 << 4, // … that cannot be taken for the delimiter
	NEED_NO_TAB = 1 << 5,    // … and does not begin with a tab, which <<- would take away
	NEED_NO_PATTERN = 1 << 6, // on the right side of == in [[ ]], where busybox and others see patterns in spite of quotes
	NEED_DERIVED = 1 << 7,   // a value made of it stands where it would be NEED_INTEGER, NEED_NUMBER or NEED_NAME
	NEED_PROGRAM = 1 << 8,   // as a command's name: none of those by which the shell evaluates the words that follow
};

// The bytes that stand for replacement strings in the text that is read: one for an item, and one for what cannot be code (a
// number of fairpar's own, the command line that an item is).
#define READ_ITEM '\0'
#define READ_NUMBER '\1'

struct read_item {
	size_t at;            // its offset in the text; SIZE_MAX for that of a variable of the environment
	bool is_number;       // a READ_NUMBER, which is allowed everywhere
	bool is_reference;    // $FAIRPAR_ITEM, found by the reader; or of a variable
	bool is_read;         // the reader has come to it
	int column;           // of a reference: 2 for FAIRPAR_ITEM_2; 0: all of the record
	unsigned place;       // enum place of shell/quoting.h
	unsigned needs;       // enum need
	char delimiter[64];   // NEED_OTHER_LINE: what the line must not be
};

// What a byte of the text is: behind a backslash; an operator, or part of one.
enum { READ_ESCAPED = 1, READ_OPERATOR = 2 };

// A text, and what reader_read() finds in it.
struct reading {
	// filled in by the caller, zeroed what it does not need; all but `items` is borrowed
	const char *text;
	size_t len;
	struct read_item *items; // those of the caller in the order of the text, then those that the reader adds; owned
	size_t nitems, items_cap;
	char **variables;        // of the environment, that hold items or parts of them
	size_t nvariables, nwhole; // their number; that of those at the front that hold the whole item
	bool is_multibyte;       // characters of the locale may contain ASCII bytes
	bool is_yen;             // the byte of the backslash is another character in the locale (SHIFT_JIS)
	unsigned char *marks;    // len + 1 elements that the reader sets: READ_ESCAPED, READ_OPERATOR of each byte; or NULL
	unsigned *regions;       // len + 1 elements that the reader sets: the number of the quotes, substitution or here-document
	                         // that each byte stands in, odd for a here-document, else even; or NULL
	// set by the reader
	const char *bash_syntax; // the first that dash and other plain shells do not know, or take for something else: "&>"; or NULL
	size_t bash_at;          // the offset where it begins
	bool is_intricate;       // has places in which an item that needs quotes had better be a variable (shell/quoting.h)
	const char *refusal;     // why an item cannot stand where it does (static text); or NULL
	const char *advice;      // what to do instead (static text)
	size_t refused_at;       // the offset of that item or reference
};

// Parses reading->text. In reading->items the caller has set `at` and `is_number`; the rest of each is set, and references
// are added. It cannot fail: a text that it cannot follow has a refusal if items stand in it.
void reader_read(struct reading *reading);

// Returns what reading.bash_syntax is for a text without items, and the offset where it begins; or NULL.
const char *shell_bash_syntax(const char *text, size_t len, size_t *ret_at);

// Frees the items; the reading can be used again.
void reading_fini(struct reading *reading);

// What a shell does with the value of a variable.
enum variable_kind {
	VARIABLE_PLAIN,       // nothing of its own accord
	VARIABLE_CODE,        // it runs, expands or parses it: BASH_ENV, PS4, IFS
	VARIABLE_INTEGER,     // it evaluates it as arithmetic when it is set: RANDOM, COLUMNS
	VARIABLE_DIRECTORIES, // it searches programs or functions there: PATH
	VARIABLE_PROGRAMS,    // it, or the dynamic loader, takes programs or libraries from it: LD_PRELOAD
};

// Returns what the shell that does most with a variable of that name does. The name may have a subscript. With `is_array` the
// variable is an array, of which zsh has some of its own: functions, aliases, path.
enum variable_kind shell_variable_kind(const char *name, bool is_array);

// True for the name of a builtin of some shell that evaluates its words as code, arithmetic or names: eval, let, read.
bool shell_evaluates_words(const char *name, size_t len);

#endif
