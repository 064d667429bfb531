// Starting fairpar, and shells to compare with, in a directory of their own.

#pragma once

#include "property.h"

// A shell to test with: a program, and the name that fairpar knows it by.
struct shell {
	const char *name;    // for messages
	const char *program; // sought in PATH
	const char *link;    // the name of a link to it, or NULL
	unsigned features;   // HAS_…
	char path[512];      // the value for --shell, once shells_find() has found the shell
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

// Makes the directory of the test; `fairpar` is the path of the program. Aborts if the directory cannot be made.
void start_open(const char *fairpar);
void start_close(void);

// Looks for the shell; returns false if it is not installed.
bool start_find(struct shell *shell);

// Runs fairpar with the template and the items on one slot or two. The next call overwrites the texts of the result.
void start_fairpar(const struct shell *shell, const char *locale, enum form form, unsigned slots, const char *template, char *const *items,
                   unsigned nitems, struct result *result);

// Runs the shell with a command; `item` is the value of $FAIRPAR_ITEM, or NULL if it is not set.
void start_shell(const struct shell *shell, const char *locale, const char *command, const char *item, struct result *result);

// True if fairpar sets $FAIRPAR_ITEM.
bool start_has_variable(const struct shell *shell);
