// Builds the arguments of execve() from a template, or from a line that is a whole command.

#pragma once

#include "template/template.h"

// The most bytes that execve() takes as one string, with its NUL (Linux, MAX_ARG_STRLEN: 32 pages of 4 KiB).
enum { COMMAND_STRING_MAX = 131072 };

// A command that is ready to run. A worker uses one struct, with its memory, for all of its jobs.
struct command {
	const char *path;        // program file; borrowed, or in `text`
	char **argv;             // NULL-terminated, points into `words`
	size_t argv_cap;
	struct buf words;
	struct buf text;         // memory for `path`, or why the command cannot be built
	bool by_shell;           // a shell runs the command
};

#define COMMAND_INIT {NULL, NULL, 0, BUF_INIT, BUF_INIT, false}

// Frees the memory and makes the command empty.
void command_fini(struct command *command);

// What runs the commands of a job.
struct interpreter {
	const char *shell;       // runs commands with shell syntax; NULL: no shell, all commands are executed directly
	const char *path;        // PATH of the job if it is not fairpar's own; or NULL
	bool is_unnamed;         // the user has named no shell, and `shell` is sh, dash or ash: bash runs a line that has syntax of bash
};

// Builds the command for a job; `text` is what command_text() has appended for it. Returns 0; or -1 with errno E2BIG (an argument
// is above the system's limit for one string, 128 KiB) or EINVAL (a line needs bash, and there is no bash: command->text says
// so). The caller has checked by template_permits() that the items may stand where they do.
//
// With by->shell: the command is the template or, if `template` is NULL, the record as a command line. A command
// without shell syntax whose program exists is executed directly. Any other command is run by `shell -c TEXT`, with bash as the shell if
// the text uses an exported function. If the job has its own PATH, the shell searches that PATH for a name without a slash.
//
// Without by->shell: the words are those of the template (parsed with TEMPLATE_QUOTE) or, if `template` is NULL, the record's
// arguments; the words are not interpreted. A program's name without a slash is searched in the job's PATH; if that fails, errno
// is ENOENT (not found) or EACCES (not executable). A name with a slash is left to execve() in the job's directory.
int command_build(struct command *command, const struct template *template, const struct expansion *x,
                  const struct interpreter *by, const struct buf *text);

// Appends the command as -t and --dry-run show it: the text that a shell would run.
void command_text(const struct template *template, const struct expansion *x, const struct interpreter *by,
                  struct buf *buf);
