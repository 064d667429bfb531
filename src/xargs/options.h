// The options of the xargs personality: those of GNU xargs, with its rules and its words.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct xargs_options {
	const char *const *command; // words, in argv; "echo" if there are none
	size_t ncommand;
	struct {
		bool literal;      // -0, -d: items end at `delimiter`, and nothing is special in them
		char delimiter;
		const char *eof;   // -E: ends the input where it is an item, or NULL
		bool run_empty;    // input without items gives one line without arguments (no -r)
	} items;
	struct {
		size_t bytes;      // -s or its default: of a command line, initial arguments and the NULs included; below 4 GiB
		size_t args;       // -n: items in a command line, 0: no limit
		size_t lines;      // -L: lines of input in a command line, 0: no limit
		size_t argc;       // arguments of a command line, the initial ones included
		bool exact;        // -x: with `args` or `lines`, an item beyond `bytes` is an error
	} limits;
	size_t env_bytes;      // of the environment: strings with their NULs
	size_t max_chars;      // the most that -s can be: as POSIX has it, ARG_MAX less the environment and 2048 bytes
	const char *arg_file;  // the file of -a; NULL: stdin, for which -a has "-"
	const char *replace;   // -I, or NULL
	long max_procs;        // -P; 0: as many as possible
	const char *slot_var;  // --process-slot-var, or NULL
	bool open_tty;         // -o
	bool ask;              // -p
	bool verbose;          // -t
	bool show_limits;  // --show-limits
	bool is_done;      // nothing is to be run: exit with `status`
	int status;
	bool is_foreign;       // an option was refused that fairpar has outside of this personality
};

enum { XARGS_FAILURE = 1 }; // exit status of whatever is wrong with xargs itself (POSIX: 1 to 125)

// Parses argv[1…]. `env` is what the jobs get. Prints help, limits, warnings and errors itself; messages begin with
// the name set by diag_set_name(). argv must live as long as the options. Returns whether there is something to run.
bool xargs_parse(struct xargs_options *ret_options, int argc, char *argv[], char *const *env);

// Puts the text in the quotes of the process's locale into the caller's buffer, in place of what is there: ‘text’ where
// the locale is UTF-8, else 'text'. Returns the buffer's string. From any thread; xargs_main() has set the locale.
const char *xargs_quoted(struct buf *buf, const char *text);
