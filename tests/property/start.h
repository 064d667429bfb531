// Starting fairpar, and shells to compare with, in a directory of their own.

#pragma once

#include "property.h"

// A shell to test with: a program, and the name that fairpar knows it by.
struct shell {
	const char *name;    // for messages
	const char *program; // sought in PATH
	const char *link;    // the name of a link to it, or NULL
	unsigned features;   // HAS_…
	char path[512];      // what --shell is given, once shells_find() has found it
};

// How fairpar gets the command and its items.
enum form { FORM_FILE, FORM_WORDS, FORM_MANIFEST, NFORMS };
extern const char *const form_names[NFORMS];

struct result {
	int status; // as of waitpid(), or -1 if it did not end
	struct text out, err;
	bool canary;    // the file PWN was made
	char stray[64]; // another file that was left, or ""
};

// Makes the directory of the test; fairpar: the program. Aborts if that is impossible.
void start_open(const char *fairpar);
void start_close(void);

// Looks for the shell; false if there is none.
bool start_find(struct shell *shell);

// Runs fairpar with the template and the items on one slot or two. The result's texts are reused.
void start_fairpar(const struct shell *shell, const char *locale, enum form form, unsigned slots, const char *template, char *const *items,
                   unsigned nitems, struct result *result);

// Runs the shell with a command; item: the value of $FAIRPAR_ITEM there, or NULL.
void start_shell(const struct shell *shell, const char *locale, const char *command, const char *item, struct result *result);

// True if fairpar has $FAIRPAR_ITEM.
bool start_has_variable(const struct shell *shell);
