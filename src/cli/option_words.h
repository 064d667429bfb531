// The words of a command line, read as options: the one place that knows how words, letters and values hang together.

#ifndef FAIRPAR_CLI_OPTION_WORDS_H
#define FAIRPAR_CLI_OPTION_WORDS_H

#include "cli/option_table.h"

struct option_reader {
	char *const *at;       // the next word; NULL behind the last one
	const char *letters;   // what is left of a word of letters, which began with …
	const char *bundle;    // … or NULL
	bool is_quiet;         // no message says what is wrong
};

// One option as it was given.
struct option_word {
	enum option_id id;
	const char *word;      // that names it, with the dashes; the whole bundle where it is a letter
	char letter;           // or '\0'
	const char *value;     // or NULL
	bool is_apart;         // the value is a word of its own
};

enum option_reading {
	READ_OPTION,
	READ_END,              // the next word is no option
	READ_DASHES,           // "--" ends the options, and was taken
	READ_ERROR,            // after a message
};

// Reads the next option.
enum option_reading option_read(struct option_reader *reader, struct option_word *ret_option);

#endif
