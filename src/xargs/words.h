// Reads items from bytes by the rules of xargs, and packs them into command lines.

#ifndef FAIRPAR_XARGS_WORDS_H
#define FAIRPAR_XARGS_WORDS_H

#include "xargs/packer.h"

struct xargs_words_config {
	bool literal;        // -0, -d: items end at `delimiter`, and nothing is special in them
	char delimiter;
	const char *eof;     // -E: ends the input where it is an item, or NULL; borrowed
	bool run_empty;      // input without items gives one line without arguments (no -r)
};

enum words_status {
	WORDS_MORE,          // all bytes were taken: bring more, or say that the input has ended
	WORDS_LINE,          // a line is done: packer_take() it, and go on with the rest of the bytes
	WORDS_NUL,           // a NUL, which no argument can hold, came for the first time: warn, and go on
	WORDS_END,           // nothing comes any more
	WORDS_ERROR,         // words->error says why; nothing comes any more
};

struct xargs_words {
	struct xargs_words_config config;
	struct packer *packer;  // borrowed
	enum { IN_SPACE, IN_NORMAL, IN_QUOTE, IN_BACKSLASH } state;
	char quote;             // of IN_QUOTE
	char before;            // the byte before, for blanks at the end of a line
	bool first;             // the item is the first of its line of input
	bool seen;              // there is an item, though it may be empty
	bool carried;           // an item waits for the line before it to be taken
	bool line_ends;         // … and it is the last of its line of input
	bool warned;
	bool ended;             // the rest of the input is ignored
	size_t lines;           // lines of input that ended since the last command line (-L)
	size_t nmade;           // command lines so far
	const char *error;      // of WORDS_ERROR, which comes once the pending line was taken: static; or NULL
};

// Begins to read. The items go to the packer, which is borrowed, as are the texts of the configuration.
void xargs_words_init(struct xargs_words *words, const struct xargs_words_config *config, struct packer *packer);

// Takes bytes until the caller has something to do, which the result says. *ret_used of the `len` bytes were taken; after
// WORDS_LINE and WORDS_NUL the caller brings the rest again. `len` 0 says that the input has ended.
enum words_status xargs_words_next(struct xargs_words *words, const char *mem, size_t len, size_t *ret_used);

#endif
