// The words of a command line, read as options: the one place that knows how words, letters and values hang together.

#ifndef FAIRPAR_CLI_OPTION_WORDS_H
#define FAIRPAR_CLI_OPTION_WORDS_H

#include "cli/option_table.h"

// Begin with `at`, and zeros.
struct option_reader {
	char *const *at;       // the next word; NULL behind the last one
	const char *letters;   // of a word such as -kj4 the letters that are still to be read, or NULL
	const char *bundle;    // that word
	bool is_quiet;         // no message says what is wrong
};

// One option as it was given.
struct option_word {
	enum option_id id;
	const char *word;      // its name as given, with the dashes and what follows; the whole bundle where it is a letter
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

// Reads the next option, and its value, into *ret_option; all texts are borrowed from the words. READ_ERROR comes after a message.
enum option_reading option_read(struct option_reader *reader, struct option_word *ret_option);

#endif
