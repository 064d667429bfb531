// Puts the arguments of options where the table says, or refuses them with a message.

#ifndef FAIRPAR_CLI_OPTION_STORE_H
#define FAIRPAR_CLI_OPTION_STORE_H

#include "base/attr.h"
#include "cli/option_table.h"
#include "cli/options.h"

// What is known while the words are read.
struct parser {
	struct options *options;
	bool given[NOPTIONS];
	enum option_id id;       // the option that is taken
	bool by_letter;          // it was given as a letter
	const char *stdin_for;   // what reads stdin, or NULL
	bool done;               // --help and the like: nothing is left to do but to exit with options->status
};

// Takes the option with its argument, or NULL where there is none. Returns 0, or -1 after a message.
int option_store(struct parser *parser, enum option_id id, const char *value);

// Finds the text among the words that an option completes to. Returns its index, or -1.
int option_choice(enum option_id id, const char *text);

// Prints "error: --NAME " and the text, and returns -1.
int option_fail(enum option_id id, const char *format, ...) FP_PRINTF(2, 3);

// Appends to an array of texts, whose memory is the caller's.
void option_add_text(const char ***list, size_t *n, const char *text);

#endif
