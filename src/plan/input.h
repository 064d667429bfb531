// The input of one batch source: records from stdin, files and argument lists, by product or link, split into columns.

#ifndef FAIRPAR_PLAN_INPUT_H
#define FAIRPAR_PLAN_INPUT_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One input item: its arguments ({1}, {2}, … or just {}) as NUL-terminated strings one after the other.
struct record {
	const char *args;      // borrowed
	size_t size;           // bytes of all of them, the NULs included
	uint32_t nargs;        // at least 1
};

struct source_config {
	enum { FROM_STDIN, FROM_FILE, FROM_ARGS } kind;
	const char *path;          // FROM_FILE ("-" has become FROM_STDIN)
	char *const *args;         // FROM_ARGS
	size_t nargs;
	bool linked;               // :::+ or ::::+ : goes in step with the source before it
};

struct input_config {
	const struct source_config *sources; // borrowed for the life of the input
	size_t nsources;
	char delimiter;            // '\n', or what -d and -0 say
	const char *colsep;        // extended regular expression (translated), or NULL
	bool header;               // --header : the first record of each source holds the names
	bool trim;                 // blanks around columns (GNU parallel's --trim rl, default with --colsep)
};

struct input; // see the source for the state machine; all its memory is its own

// Opens all its files. Returns NULL with a message ("cannot open 'FILE': CAUSE") in *ret_error, which the caller frees.
struct input *input_open(const struct input_config *config, char **ret_error);
void input_close(struct input *input);

enum input_status {
	INPUT_RECORD,   // *ret_record is the next one, borrowed until the next call
	INPUT_HEADER,   // *ret_record holds the names; once, first, with config.header
	INPUT_BAD,      // a record that cannot be one (NUL inside, too long): *ret_record what is known, *ret_error why
	INPUT_WAIT,     // nothing there yet: poll input_fd() for input, then call again
	INPUT_END,
	INPUT_ERROR,    // reading failed: *ret_error says so; what was read before stays good; then INPUT_END
};

// The next record; never blocks on a pipe, a fifo or a terminal (it polls first). *ret_error is borrowed.
enum input_status input_next(struct input *input, struct record *ret_record, const char **ret_error);

// Descriptor to poll after INPUT_WAIT.
int input_fd(const struct input *input);

// Records it will have given in all, if that is known before the end; else 0.
uint64_t input_total(const struct input *input);

// Translates \t \s \d \w \S \n of Perl into a POSIX extended expression and checks it. The caller frees the result.
// Returns NULL with *ret_error (caller frees).
char *colsep_translate(const char *perl, char **ret_error);

#endif
