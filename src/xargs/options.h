// The options of the xargs personality: the options of GNU xargs, with the same rules and messages.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct xargs_options {
	const char *const *command; // the words of the command, which are in argv; "echo" if there are none
	size_t ncommand;
	struct {
		bool literal;      // -0, -d: items end at `delimiter`, and nothing is special in them
		char delimiter;
		const char *eof;   // -E: an item that is this text ends the input; or NULL
		bool run_empty;    // input without items gives one command line without arguments (no -r)
	} items;
	struct {
		size_t bytes;      // the most bytes of a command line, with initial arguments and NULs: -s or its default; below 4 GiB
		size_t args;       // -n: items in a command line, 0: no limit
		size_t lines;      // -L: lines of input in a command line, 0: no limit
		size_t argc;       // the most arguments of a command line, with the initial arguments
		bool exact;        // -x: it is an error if as many items as `args` or `lines` asks for do not fit into `bytes`
	} limits;
	size_t env_bytes;      // bytes of the environment: its strings with their NULs
	size_t max_chars;      // the greatest value of -s: ARG_MAX less the environment and 2048 bytes, as in POSIX
	const char *arg_file;  // the file of -a; NULL: stdin, also for -a -
	const char *replace;   // -I, or NULL
	long max_procs;        // -P; 0: as many as possible
	const char *slot_var;  // --process-slot-var, or NULL
	bool open_tty;         // -o
	bool ask;              // -p
	bool verbose;          // -t
	bool show_limits;  // --show-limits
	bool is_done;      // nothing is to be run: exit with `status`
	int status;
	bool is_foreign;       // xargs has refused an option that fairpar has outside of the xargs personality
};

enum { XARGS_FAILURE = 1 }; // exit status for all errors of xargs itself (POSIX: 1 to 125)

// Parses argv[1…]; `env` is the environment of the jobs. Prints help, limits, warnings and errors itself; messages begin with
// the name set by diag_set_name(). argv must live as long as the options. Returns true if commands are to be run.
bool xargs_parse(struct xargs_options *ret_options, int argc, char *argv[], char *const *env);

// Sets the caller's buffer to the text in the quotes of the process's locale: ‘text’ if the locale is UTF-8, else 'text'.
// Returns the buffer's string. From any thread; xargs_main() has set the locale.
const char *xargs_quoted(struct buf *buf, const char *text);
