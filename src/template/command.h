// From a template (or a line that is a whole command) to what execve() wants.

#ifndef FAIRPAR_TEMPLATE_COMMAND_H
#define FAIRPAR_TEMPLATE_COMMAND_H

#include "template/template.h"

// A command ready to run; reused from job to job by one worker, so its memory is kept.
struct command {
	const char *path;        // program file; borrowed, or in `text`
	char **argv;             // NULL-terminated, points into `words`
	size_t argv_cap;
	struct buf words;
	struct buf text;         // scratch
	bool by_shell;           // a shell runs it
};

#define COMMAND_INIT {NULL, NULL, 0, BUF_INIT, BUF_INIT, false}
void command_fini(struct command *command);

// Who reads the commands of a job.
struct interpreter {
	const char *shell;       // runs those with shell syntax; NULL: no shell, all are executed directly
	const char *path;        // PATH of the job where it is not fairpar's own, or NULL
};

// Builds the command. Returns 0, or -1 with errno E2BIG (an argument beyond the limit of the system for one string:
// 128 KiB) or EINVAL (template_permits() says no of a template that was taken for a program's; of others the caller asks).
//
// With a shell: directly where the template (or, with template NULL, the record's line itself) has no shell syntax and
// there is such a program, else `shell -c TEXT` (with bash where an exported function is used). Where the job has a PATH
// of its own, the shell looks for what has no slash.
//
// Without a shell: the words of the template, which was parsed with TEMPLATE_QUOTE; with template NULL the record's
// arguments are the words. Nothing in them is interpreted. A name without a slash is looked for in the job's PATH: errno
// also ENOENT (not found) and EACCES (found, but no program); one with a slash is left to execve() in the job's directory.
int command_build(struct command *command, const struct template *template, const struct expansion *x,
                  const struct interpreter *by);

// Appends the command as text for people, -t and --dry-run: what a shell would be given.
void command_text(const struct template *template, const struct expansion *x, const struct interpreter *by,
                  struct buf *buf);

#endif
