// The shell that runs commands with shell syntax: which one, what needs it, and where programs are.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

// Returns the name of the shell that the user has chosen, borrowed: `option` (of --shell, or NULL), else $FAIRPAR_SHELL, else
// $PARALLEL_SHELL; or NULL. Sets *ret_by to the option or variable that names it, or to the last of them (static text).
const char *shell_named(const char *option, const char **ret_by);

// Chooses the shell: what shell_named() returns, else $SHELL if that is a Bourne shell, else /bin/sh. Returns its path, which
// the caller frees; or NULL with errno if the one named cannot serve: ENOTSUP (it does not read the quotes of a Bourne
// shell), EMULTIHOP (busybox and toybox, which run as a shell only under the name of one), else as program_find().
char *shell_choose(const char *option);

// True if the name of the program is that of a shell which may lack what bash has: sh, dash, ash.
bool shell_is_plain_sh(const char *path);

// True if the name is that of a program that reads quotes in another way than a Bourne shell: there a file name that fairpar has
// quoted could run as a command.
bool shell_is_foreign(const char *path);

// Returns the value of $SHELL, borrowed, if shell_choose() does not take it only because it is no Bourne shell; else NULL.
// *ret_can_serve says that it could serve if it were named.
const char *shell_passed_over(const char *option, bool *ret_can_serve);

// Finds a program in PATH as execvp() does; what was found is remembered. Returns its path, borrowed and valid to the end of
// the process, or NULL with errno: ENOENT (not found), EACCES (found, but not executable). A name with a slash is not
// searched: it is returned itself if it is a program. Any thread may call it.
const char *program_find(const char *name);

// As program_find(), for a program that execve() gets, with a name of `len` bytes: errno is ENOEXEC, too, for a script without #!,
// which execve() leaves to shells (POSIX XCU 2.9.1.6). A name with a slash is returned unless it names such a script: whether the
// file is there is left to execve() in the directory of the job.
const char *program_find_direct(const char *name, size_t len);

// Finds a program in a PATH that is a job's own, and remembers nothing. Puts its path into `ret_file` (emptied before) and
// returns 0; or returns -1 with errno ENOENT or EACCES. Relative elements of the PATH are not searched, for they are
// relative to the job's directory: if no absolute one has the program, the path is that of the first relative one, and
// execve() finds the program or not.
int program_search(const char *path, const char *name, struct buf *ret_file);

// True if a shell must run this command line: shell_has_syntax() is true, or the first word is no program for execve().
bool shell_is_needed(const char *command, size_t len);

// True if the text means something to the shell: metacharacters, a builtin, a keyword, an assignment in front, a
// function exported to bash. `echo`, `true` and `false` do not count as builtins: the programs do the same.
bool shell_has_syntax(const char *command, size_t len);

// True if the environment exports a bash function of that name (NULL: of any name): then bash must run it.
bool shell_function_exists(const char *name, size_t len);

// True if a word of the command line is the name of an exported bash function. Costs nothing where none is exported.
bool shell_uses_function(const char *command, size_t len);
