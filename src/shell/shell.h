// Chooses the shell that runs commands, tells which commands need a shell, and finds programs in PATH.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

// Returns the name of the shell that the user has chosen, borrowed: `option` (of --shell, or NULL), else $FAIRPAR_SHELL, else
// $PARALLEL_SHELL; or NULL. Sets *ret_by to the option or variable that names the shell; if none does, to "PARALLEL_SHELL".
const char *shell_named(const char *option, const char **ret_by);

// Chooses the shell: what shell_named() returns, else $SHELL if its name is sh, dash, bash, ksh or ash, else /bin/sh. Returns its path,
// which the caller frees; or NULL with errno if the shell that was named cannot serve: ENOTSUP (it does not read the quotes of a Bourne
// shell), EMULTIHOP (busybox and toybox, which run as a shell only if they are called sh or the like), else as program_find().
char *shell_choose(const char *option);

// True if the name of the program is that of a shell which may lack what bash has: sh, dash, ash.
bool shell_is_plain_sh(const char *path);

// True if the name is that of a program that reads quotes in another way than a Bourne shell: such a program could run a file name
// that fairpar has quoted as a command.
bool shell_is_foreign(const char *path);

// Returns the value of $SHELL, borrowed, if shell_choose() takes /bin/sh only because of the name of $SHELL, such as zsh or fish; else
// NULL. *ret_can_serve says whether $SHELL could serve if --shell named it: zsh could, fish could not.
const char *shell_passed_over(const char *option, bool *ret_can_serve);

// Finds a program in PATH as execvp() does, and remembers it. Returns the path, borrowed and valid to the end of the process, or
// NULL with errno: ENOENT (not found), EACCES (found, but not executable). A name with a slash is not searched: returns the name
// itself if the file is a program. Any thread may call program_find().
const char *program_find(const char *name);

// As program_find(), for a program that is run without a shell; the name has `len` bytes. A script without #!, which execve() leaves
// to shells (POSIX XCU 2.9.1.6), gives NULL with errno ENOEXEC. A name with a slash is returned unless the file is such a script:
// whether the file exists is found out by execve() in the directory of the job.
const char *program_find_direct(const char *name, size_t len);

// Finds a program in a PATH that is a job's own, and remembers nothing. Puts its path into `ret_file` (emptied before) and
// returns 0; or returns -1 with errno ENOENT or EACCES. Relative elements of the PATH are not searched, for they are
// relative to the job's directory: if no absolute element has the program, the path is in the first relative element, whether
// or not the file exists.
int program_search(const char *path, const char *name, struct buf *ret_file);

// True if a shell must run this command line: shell_has_syntax() is true, or the first word is no program for execve().
bool shell_is_needed(const char *command, size_t len);

// True if the text means something to the shell: metacharacters, a builtin, a keyword, an assignment in front, a
// function exported to bash. `echo`, `true` and `false` do not count as builtins: the programs do the same.
bool shell_has_syntax(const char *command, size_t len);

// True if the environment exports a bash function of that name (NULL: of any name), which only bash can run.
bool shell_function_exists(const char *name, size_t len);

// True if a word of the command line is the name of an exported bash function. Takes no time if no function is exported.
bool shell_uses_function(const char *command, size_t len);
