// What is printed from the option table: the helps and the completions.

#ifndef FAIRPAR_CLI_HELP_H
#define FAIRPAR_CLI_HELP_H

#include "base/buf.h"

// Append the texts of -h (a line for each option of every day), of --help, and of a start without anything to do.
void help_short(struct buf *text);
void help_long(struct buf *text);
void help_concise(struct buf *text);

// Appends the section of --help that the topic names, or returns -1 if there is none.
int help_topic(struct buf *text, const char *topic);

// The topic that may be meant by a name that is none, or NULL.
const char *help_suggest_topic(const char *topic);

// Appends the completion script of the shell: "bash", "zsh" or "fish". Returns 0, or -1 for any other.
int completions_print(struct buf *text, const char *shell) FP_NODISCARD;

#endif
