// The input of a batch: reads records from stdin, files and argument lists, combines records of several sources, splits records into columns.

#pragma once

#include "base/line_buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One input item: its arguments ({1}, {2}, …; {} if there is only one) as strings one after the other, each with its NUL.
struct record {
	const char *args;      // borrowed
	size_t size;           // bytes of all arguments, with their NULs
	uint32_t nargs;        // at least 1; but 0 in the INPUT_HEADER of an input without lines
};

// Where records come from. All texts are borrowed.
struct source_config {
	enum { FROM_STDIN, FROM_FILE, FROM_ARGS } kind;
	const char *path;          // FROM_FILE; never "-", for which the kind is FROM_STDIN
	char *const *args;         // FROM_ARGS
	size_t nargs;
	bool linked;               // :::+ or ::::+ : the source's items are paired with the items of the source before it
};

// The values of --trim, in the order in which the option's words are listed.
enum input_trim { TRIM_NONE, TRIM_LEFT, TRIM_RIGHT, TRIM_BOTH };

struct input_config {
	const struct source_config *sources; // borrowed for the life of the input
	size_t nsources;           // at least 1
	char delimiter;            // the byte that ends a line: '\n', or what -d or -0 says
	const char *delimiter_text; // a delimiter of several bytes, the last of which is `delimiter`; or NULL. Borrowed for the life of the input
	const char *colsep;        // extended regular expression (translated), or NULL
	bool header;               // --header : the first line of each source holds the names of its columns; colsep is then "\t" by default
	char csv;                  // --csv: the separator of the fields (RFC 4180); a record may have several lines. 0: no CSV
	const char *end;           // an item that equals `end` ends its source; or NULL. Borrowed for the life of the input
	bool skip_blank;           // records that are empty or all blanks are left out
	bool skip_first;           // the first line of the first source is left out
	bool joins;                // -L: a line that ends with a blank is joined with the next line
	bool link;                 // --link: record n has item n of each source; a shorter source starts again at its first item
	enum input_trim trim;      // which blanks around arguments are removed; GNU parallel's default with --colsep is TRIM_BOTH
};

struct input; // defined in input.c

// Opens all sources; does not wait for the writer of a FIFO. Several sources give the product of their items, the last source
// varying fastest. Linked sources are paired item by item, up to the end of the shortest (with config.link, of the longest). The
// first source is streamed, the others are read once and kept. A source without items counts as one empty item, unless no source has items.
//
// Returns the input, which input_close() frees; or NULL with a message ("cannot open 'FILE': CAUSE") in *ret_error, which
// the caller frees.
struct input *input_open(const struct input_config *config, char **ret_error);

// Closes the sources (not stdin) and frees the input, which may be NULL.
void input_close(struct input *input);

enum input_status {
	INPUT_RECORD,   // *ret_record is the next record, borrowed until the next call
	INPUT_HEADER,   // *ret_record holds the names of the columns; returned once with config.header, before all records
	INPUT_BAD,      // *ret_record cannot be an item, and *ret_error says why: a NUL inside, too long, malformed CSV
	INPUT_WAIT,     // there are no bytes yet: poll input_fd() for input, then call again
	INPUT_END,      // there are no more records
	INPUT_ERROR,    // reading failed, and *ret_error says why; the records returned before are good; the next call returns INPUT_END
};

// Reads the next record. Polls before it reads, so that it does not block on a pipe, a FIFO or a terminal. *ret_record and
// *ret_error are borrowed until the next call.
enum input_status input_next(struct input *input, struct record *ret_record, const char **ret_error);

// Makes input_next() return all complete lines that it has read as one record of at most `most` bytes: each line is an argument.
// Returns false if the input cannot do so because its lines are split, skipped, joined or combined: each line then stays a record.
bool input_join_records(struct input *input, size_t most);

// Reads on to the end and keeps the records for input_next(), in random order with `shuffle`. Returns INPUT_END; or INPUT_WAIT if
// the caller has to poll input_fd() and call again. With config.header, input_next() must have returned INPUT_HEADER before.
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
// In a component of the pattern `*`, `?` and `[…]` are those of glob(7); only a dot in the pattern matches a dot at the start of a name, and patterns
// never match "." and "..". `**` as a whole component stands for zero or more directories, but not for directories whose names begin with a dot, nor
// for symbolic links; at the end of the pattern it stands for `**/*`. A pattern with a slash at its end matches directories only, and the paths end
// with a slash too. Braces are text. The process's directory is never changed.
//
// Returns 0, also without a match; or -1 with a message in *ret_error (caller frees; else NULL) if a directory cannot be
// read, so that a file could be missed; then `found` was never called. A file that vanishes meanwhile is no error.
int glob_expand(const char *dir, const char *pattern, void (*found)(void *arg, const char *path), void *arg,
                char **ret_error);
