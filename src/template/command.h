// Builds the arguments of execve() from a template, or from a line that is a whole command.

#pragma once

#include "template/template.h"

// The most that execve() takes as one string, its NUL included (Linux, MAX_ARG_STRLEN: 32 pages of 4 KiB).
enum { COMMAND_STRING_MAX = 131072 };

// A command ready to run; reused from job to job by one worker, so its memory is kept.
struct command {
	const char *path;        // program file; borrowed, or in `text`
	char **argv;             // NULL-terminated, points into `words`
	size_t argv_cap;
	struct buf words;
	struct buf text;         // scratch, or why the command cannot be built
	bool by_shell;           // a shell runs it
};

#define COMMAND_INIT {NULL, NULL, 0, BUF_INIT, BUF_INIT, false}

// Frees the memory and makes the command empty.
void command_fini(struct command *command);

// What runs the commands of a job.
struct interpreter {
	const char *shell;       // runs commands with shell syntax; NULL: no shell, all commands are executed directly
	const char *path;        // PATH of the job if it is not fairpar's own; or NULL
	bool is_unnamed;         // the user has not named the shell, and it is sh, dash or ash: bash runs a line with syntax of bash
};

// Builds the command from `text`, which command_text() has made: what a shell runs is expanded only once. Returns 0; or -1 with
// errno E2BIG (an argument is above the system's limit for one string, 128 KiB) or EINVAL with the reason in command->text: a
// line needs bash, and there is no bash. The caller has checked by template_permits() that the items may stand where they do.
//
// With a shell: if the command (the template or, if that is NULL, the record, a command line) has no shell syntax and its
// program exists, that program is executed directly; else the command is `shell -c TEXT`, by bash if the text uses an exported
// function. If the job has its own PATH, the shell searches it for a name without a slash.
//
// Without a shell: the words are those of the template, parsed with TEMPLATE_QUOTE, or, if that is NULL, the record's
// arguments; nothing in them is interpreted. A name without a slash is searched in the job's PATH; if that fails, errno is
// ENOENT (not found) or EACCES (not executable). A name with a slash is left to execve() in the job's directory.
int command_build(struct command *command, const struct template *template, const struct expansion *x,
                  const struct interpreter *by, const struct buf *text);

// Appends the command as -t and --dry-run show it: the text that a shell would run.
void command_text(const struct template *template, const struct expansion *x, const struct interpreter *by,
                  struct buf *buf);
