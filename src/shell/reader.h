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
	NEED_INTEGER = 1 << 0,   // arithmetic
	NEED_NUMBER = 1 << 1,    // printf %d, [ -eq ]: an integer or a decimal fraction
	NEED_NAME = 1 << 2,      // printf -v, read: a plain name
	NEED_LINE = 1 << 3,      // in a here-document that expands nothing: one line
	NEED_OTHER_LINE = 1 << 4, // … that may not be the delimiter
	NEED_NO_TAB = 1 << 5,    // … and loses the tabs that it begins with (<<-)
	NEED_DERIVED = 1 << 7,   // a value made of it stands where NEED_INTEGER, NEED_NUMBER or NEED_NAME would be
	NEED_PROGRAM = 1 << 8,   // a command's name: none of those by which the shell evaluates the words that follow
	NEED_NO_PATTERN = 1 << 6, // the right side of == in [[ ]], where busybox and others see patterns in spite of quotes
};

// What stands for replacement strings in the text that is read: an item, and a number of fairpar's own.
#define READ_ITEM '\0'
#define READ_NUMBER '\1'

struct read_item {
	size_t at;            // where it stands in the text
	bool is_number;       // {#}: of fairpar's own, and allowed everywhere
	bool is_reference;    // $FAIRPAR_ITEM: found by the reader
	bool is_read;
	int column;           // of a reference: FAIRPAR_ITEM_2; 0: all of the record
	unsigned place;       // enum place of shell/quoting.h
	unsigned needs;       // enum need
	char delimiter[64];   // NEED_OTHER_LINE: what the line must not be
};

enum { READ_ESCAPED = 1, READ_OPERATOR = 2 };

struct reading {
	const char *text;
	size_t len;
	struct read_item *items; // those of the caller in their order, then the references; owned by the reading
	size_t nitems, items_cap;
	char **variables;        // of the environment that hold items, or parts of them
	size_t nvariables, nwhole; // the first of them hold the whole item
	bool is_multibyte;       // characters of the locale may contain ASCII bytes
	bool is_yen;             // the byte of the backslash is none in the locale (SHIFT_JIS)
	bool is_intricate;       // has places where items had better be variables
	// for each byte, or NULL: what it is, and a number for what it stands in; the caller's
	unsigned char *marks;
	unsigned *regions;       // that of a here-document is odd, all others are even
	// why a replacement string cannot stand where it does; or NULL
	const char *refusal;
	const char *advice;      // what to do instead
	size_t refused_at;
};

// Parses reading->text. The caller has filled in `items` with `at` and `is_number`, the variables and the locale's properties;
// the rest of each item, the references and the refusal are set.
void reader_read(struct reading *reading);

// Frees the items.
void reading_fini(struct reading *reading);

enum variable_kind {
	VARIABLE_PLAIN,
	VARIABLE_CODE,        // shells run its value, expand it or read it as syntax: BASH_ENV, PS4, IFS
	VARIABLE_INTEGER,     // … reckon what it gets: RANDOM, COLUMNS
	VARIABLE_DIRECTORIES, // in which programs and functions are searched: PATH
	VARIABLE_PROGRAMS,    // the loader or the shell takes programs or libraries from it: LD_PRELOAD
};

// What a variable of that name, which may have a subscript, is to some shell. As an array some are more (`is_array`): zsh
// keeps its functions in functions[…], and so on.
enum variable_kind shell_variable_kind(const char *name, bool is_array);

// True for the name of a command of shells that evaluates its words as code, arithmetic or names: eval, let, read.
bool shell_evaluates_words(const char *name, size_t len);

#endif
