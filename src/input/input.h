// The input of one batch source: records from stdin, files and argument lists, by product or link, split into columns.

#pragma once

#include "input/line_buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One input item: its arguments ({1}, {2}, …, or {} if it is one) as strings, each with its NUL, one after the other.
struct record {
	const char *args;      // borrowed
	size_t size;           // bytes of all of them, the NULs included
	uint32_t nargs;        // at least 1; 0 only for INPUT_HEADER of input without any line
};

// Where records come from. All texts are borrowed.
struct source_config {
	enum { FROM_STDIN, FROM_FILE, FROM_ARGS } kind;
	const char *path;          // FROM_FILE ("-" has become FROM_STDIN)
	char *const *args;         // FROM_ARGS
	size_t nargs;
	bool linked;               // :::+ or ::::+ : goes in step with the source before it
};

// --trim, in the order of its words.
enum input_trim { TRIM_NONE, TRIM_LEFT, TRIM_RIGHT, TRIM_BOTH };

struct input_config {
	const struct source_config *sources; // borrowed for the life of the input
	size_t nsources;           // at least 1
	char delimiter;            // '\n', or what -d and -0 say
	const char *delimiter_text; // a delimiter of several bytes, `delimiter` being the last; or NULL. Borrowed for the life of the input
	const char *colsep;        // extended regular expression (translated), or NULL
	bool header;               // --header : the first record of each source holds the names; implies colsep "\t"
	char csv;                  // the separator of RFC 4180 records, which may go on over several lines; or 0
	const char *end;           // an item equal to this ends its source; or NULL. Borrowed for the life of the input
	bool skip_blank;           // records that are empty or all blanks are left out
	bool skip_first;           // the first line of the first source is left out
	bool joins;                // -L: a line that ends with a blank goes on in the next one
	bool link;                 // --link: all sources in step, shorter ones again from their start
	enum input_trim trim;      // blanks around arguments; with --colsep GNU parallel's default is TRIM_BOTH
};

struct input; // its states are in input.c

// Opens all sources, a FIFO without waiting for its writer. Several sources give the product of their items, the last
// varying fastest; linked ones go in step and stop at the shortest. The first source is streamed, the others are read once
// and kept. A source without items counts as one empty item, unless all are without (as in GNU parallel).
//
// Returns the input, which input_close() frees; or NULL with a message ("cannot open 'FILE': CAUSE") in *ret_error, which
// the caller frees.
struct input *input_open(const struct input_config *config, char **ret_error);

// Closes the sources (not stdin) and frees the input, which may be NULL.
void input_close(struct input *input);

enum input_status {
	INPUT_RECORD,   // *ret_record is the next one, borrowed until the next call; *ret_error is NULL
	INPUT_HEADER,   // *ret_record holds the names; once, before all records, with config.header
	INPUT_BAD,      // *ret_record cannot be an item, *ret_error says why: it has a NUL inside, or is too long
	INPUT_WAIT,     // there are no bytes yet: poll input_fd() for input, then call again
	INPUT_END,      // there are no more records
	INPUT_ERROR,    // reading failed, *ret_error says how; the records before are good; INPUT_END comes next
};

// Reads the next record. Does not block on a pipe, a FIFO or a terminal, for it polls first. *ret_record and *ret_error are
// borrowed until the next call.
enum input_status input_next(struct input *input, struct record *ret_record, const char **ret_error);

// From now on input_next() joins records of one argument each that are at hand together into one record of at most `most`
// bytes; record.nargs says how many they are. Returns false if input_next() goes on to give them one by one.
bool input_join_records(struct input *input, size_t most);

// Reads on to the end and keeps the records for input_next(), in random order with `shuffle`. Returns INPUT_END; or INPUT_WAIT:
// then poll input_fd() and call this again. With config.header, input_next() must have given the names before.
enum input_status input_read_all(struct input *input, bool shuffle);

// Returns the number of records that input_read_all() has kept.
uint64_t input_count(const struct input *input);

// Returns the descriptor to poll after INPUT_WAIT.
int input_fd(const struct input *input);

// Translates a regular expression of Perl into a POSIX extended one and checks it: the escapes \t \n \r \f \v \a \e \s \d \w
// \h \S \D \W \xHH, also inside brackets, and (?:…). Groups only group: unlike with Perl's split() they add no columns.
// Returns the expression, or NULL with a message in *ret_error; the caller frees either.
char *colsep_translate(const char *perl, char **ret_error);

// Calls `found` with each path that the pattern matches in the directory `dir` (NULL: the process's), sorted by bytes, each
// once. A path is spelled as the pattern is: relative to `dir` or absolute, with "./" if the pattern begins so.
//
// In a component of the pattern `*`, `?` and `[…]` are those of glob(7); a dot at the start of a name must be matched
// by a dot, and "." and ".." are not matched by patterns. `**` as a whole component goes through zero or more
// directories, but neither into those that begin with a dot nor through symbolic links; at the end it is `**/*`. A
// pattern with a slash at its end matches directories only, and the paths end with a slash too. Braces are text. The
// process's directory is never changed.
//
// Returns 0, also without a match; or -1 with a message in *ret_error (caller frees; else NULL) if a directory cannot be
// read, so that a file could be missed; then `found` was never called. What vanishes meanwhile is no error.
int glob_expand(const char *dir, const char *pattern, void (*found)(void *arg, const char *path), void *arg,
                char **ret_error);
