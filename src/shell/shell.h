// The shell that runs commands with shell syntax: which one, what needs it, and how items are quoted for it.

#ifndef FAIRPAR_SHELL_SHELL_H
#define FAIRPAR_SHELL_SHELL_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

// Who names the shell: `option` (--shell, or NULL), else $FAIRPAR_SHELL or $PARALLEL_SHELL. Returns the name, borrowed, and
// by what it is given; NULL if by none of them.
const char *shell_named(const char *option, const char **ret_by);

// Chooses by DESIGN §4 and §15: what shell_named() says, else $SHELL if it is a Bourne shell, else /bin/sh. Returns a path
// that the caller frees, or NULL with errno when what is named cannot serve: ENOTSUP (it does not read the quotes of a
// Bourne shell), EMULTIHOP (it is many programs in one, and none by that name), else there is no such program.
char *shell_choose(const char *option);

// True for what reads other quotes than those that items get: it could be made to run what a file name says. By its name.
bool shell_is_foreign(const char *path);

// The value of $SHELL, borrowed, if only for its kind shell_choose() has not taken it; else NULL. *ret_can_serve: it could
// be named.
const char *shell_passed_over(const char *option, bool *ret_can_serve);

// Where a program is, searched in PATH as execvp() would (cached; any thread). Returns a borrowed path that stays valid
// for ever, or NULL with errno: ENOENT (nowhere), EACCES (found, but no program). A name with a slash is not searched:
// it is returned itself, if it is a program.
const char *program_find(const char *name);

// The same for a program that is to be executed without a shell: NULL with errno ENOEXEC for a file that execve()
// leaves to shells, a script without #! (POSIX XCU 2.9.1.6). For a name with a slash it only looks at that: whether
// the file is there is left to execve() in the directory of the job, and the name itself is returned.
const char *program_find_direct(const char *name);

// The program of that name in a PATH that is not fairpar's own, searched anew each time, for a job whose directory may be
// another too. Puts the file into `ret_file` (reset before) and returns 0; or returns -1 with errno ENOENT or EACCES.
// Relative elements of the PATH are not looked into, for they are seen from the job's directory: where no absolute one
// has the program, the file is what the first of them would have, for execve() to find or not.
int program_search(const char *path, const char *name, struct buf *ret_file);

// True if a shell must run this command line: what shell_has_syntax() says, or a first word that is no program.
bool shell_is_needed(const char *command, size_t len);

// True if the text means something to the shell: metacharacters, a builtin, a keyword, an assignment in front, a
// function exported to bash. `echo`, `true` and `false` do not count as builtins: the programs do the same.
bool shell_has_syntax(const char *command, size_t len);

// True if the environment exports a bash function of that name (NULL: of any name): then bash must run it.
bool shell_function_exists(const char *name, size_t len);

// True if a word of the command line is such a function. Costs nothing where none is exported.
bool shell_uses_function(const char *command, size_t len);

// True if the word is one of the list, which has blanks between its words.
bool word_is_in(const char *list, const char *word, size_t len);

// Appends one word quoted so that every Bourne shell reads exactly these bytes (newline and any byte but NUL included).
// Unquoted where nothing needs it; spelled as GNU parallel spells it.
void shell_quote(struct buf *buf, const char *word, size_t len);

// True if shell_quote() would put the word as it is: not empty, and only of -_.+/ and ASCII letters and digits.
bool shell_is_plain(const char *word, size_t len);

#endif
