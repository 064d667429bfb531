// The options of the xargs personality: the options of GNU xargs, with the same rules and messages.
//
// getopt_long() reads the options, not fairpar's table, because the rules differ: short options may have optional arguments, long options
// may be abbreviated, and scripts compare the messages. Messages that tests and scripts look at are those of findutils 4.9.

#include "xargs/options.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "cli/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LONG_ONLY = 256, SHOW_LIMITS, SLOT_VAR, HELP, VERSION };

static const char short_options[] = "+0a:d:E:e::I:i::L:l::n:oprs:txP:"; // the + makes getopt_long() stop at the first word that is no option

// The long options, in the order in which the message about an ambiguous abbreviation lists them.
static const struct option long_options[] = {
	{"null", no_argument, NULL, '0'},
	{"arg-file", required_argument, NULL, 'a'},
	{"delimiter", required_argument, NULL, 'd'},
	{"eof", optional_argument, NULL, 'e'},
	{"replace", optional_argument, NULL, 'i'},
	{"max-lines", optional_argument, NULL, 'l'},
	{"max-args", required_argument, NULL, 'n'},
	{"open-tty", no_argument, NULL, 'o'},
	{"interactive", no_argument, NULL, 'p'},
	{"no-run-if-empty", no_argument, NULL, 'r'},
	{"max-chars", required_argument, NULL, 's'},
	{"verbose", no_argument, NULL, 't'},
	{"show-limits", no_argument, NULL, SHOW_LIMITS},
	{"exit", no_argument, NULL, 'x'},
	{"max-procs", required_argument, NULL, 'P'},
	{"process-slot-var", required_argument, NULL, SLOT_VAR},
	{"version", no_argument, NULL, VERSION},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

static const char help_text[] =
"Usage: %s [OPTION]... COMMAND [INITIAL-ARGS]...\n"
"Run COMMAND with arguments INITIAL-ARGS and more arguments read from input.\n"
"\n"
"Mandatory and optional arguments to long options are also\n"
"mandatory or optional for the corresponding short option.\n"
"  -0, --null                   items end with a NUL byte; quotes mean nothing\n"
"  -a, --arg-file=FILE          read items from FILE; stdin is for the commands\n"
"  -d, --delimiter=CHARACTER    items end with CHARACTER, or an escape like \\n,\n"
"                                 \\054, \\x2c; quotes mean nothing then\n"
"  -E END                       an item END ends the input\n"
"  -e, --eof[=END]              as -E; without END no item ends the input\n"
"  -I R                         same as --replace=R\n"
"  -i, --replace[=R]            run a command for each line, which replaces each\n"
"                                 R in INITIAL-ARGS ({} if R is missing)\n"
"  -L, --max-lines=MAX-LINES    at most MAX-LINES non-blank lines a command line\n"
"  -l[MAX-LINES]                as -L; MAX-LINES is 1 if it is missing\n"
"  -n, --max-args=MAX-ARGS      at most MAX-ARGS items per command line\n"
"  -o, --open-tty               give the commands /dev/tty as standard input\n"
"  -P, --max-procs=MAX-PROCS    MAX-PROCS at a time; 0: as many as possible\n"
"  -p, --interactive            ask before each command\n"
"      --process-slot-var=VAR   VAR is the number of the command's slot, from 0\n"
"  -r, --no-run-if-empty        if there are no items, do not run COMMAND\n"
"  -s, --max-chars=MAX-CHARS    at most MAX-CHARS bytes per command line\n"
"      --show-limits            show the limits of command lines\n"
"  -t, --verbose                print each command before it is run\n"
"  -x, --exit                   exit if the size (see -s) is exceeded\n"
"      --help                   display this help and exit\n"
"      --version                output version information and exit\n"
"\n"
"Exit status: 0: all commands succeeded; 123: a command failed; 1: another error.\n"
"With these the run ends at once: 124: a command exited with 255; 125: a signal\n"
"killed a command; 126: COMMAND cannot be run; 127: COMMAND is not found.\n"
"\n"
"SIGUSR1 raises the number of processes at a time by one, SIGUSR2 lowers it.\n"
"This is fairpar as xargs: see fairpar-xargs(1).\n";

const char *xargs_quoted(struct buf *buf, const char *text) {
	bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	buf_reset(buf);
	buf_printf(buf, utf8 ? "\xe2\x80\x98%s\xe2\x80\x99" : "'%s'", text);
	return buf_str(buf);
}

// ---- limits ----

// Returns how many bytes execve(2) takes: a quarter of the stack's limit, at least 128 KiB (ARG_MAX), at most 6 MiB.
static size_t arg_max(void) {
	enum { LEAST = 128 * 1024, MOST = 6 * 1024 * 1024 };
	struct rlimit stack;
	if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur / 4 < LEAST) {
		return LEAST;
	}
	return stack.rlim_cur / 4 > MOST ? MOST : (size_t)stack.rlim_cur / 4;
}

// Returns false if there is no room for a command line.
static bool find_limits(struct xargs_options *options, char *const *env) {
	enum { HEADROOM = 2048, DEFAULT = 128 * 1024 }; // HEADROOM is from POSIX xargs, DEFAULT is GNU's default of -s
	for (; env && *env; ++env) {
		options->env_bytes += strlen(*env) + 1;
	}
	if (options->env_bytes + HEADROOM >= arg_max()) {
		return false;
	}
	options->max_chars = arg_max() - HEADROOM - options->env_bytes;
	options->limits.bytes = options->max_chars < DEFAULT ? options->max_chars : DEFAULT;
	options->limits.argc = options->max_chars / sizeof(char *) - 2;
	return true;
}

static void show_limits(const struct xargs_options *options) {
	fprintf(stderr, "Your environment variables take up %zu bytes\n", options->env_bytes);
	fprintf(stderr, "POSIX upper limit on argument length (this system): %zu\n", options->max_chars);
	fprintf(stderr, "POSIX smallest allowable upper limit on argument length (all systems): %d\n", _POSIX_ARG_MAX);
	fprintf(stderr, "Maximum length of command we could actually use: %zu\n",
	        options->max_chars > options->env_bytes ? options->max_chars - options->env_bytes : 0); // like GNU xargs, subtracts the environment twice
	fprintf(stderr, "Size of command buffer we are actually using: %zu\n", options->limits.bytes);
	fprintf(stderr, "Maximum parallelism (--max-procs must be no greater): %d\n", INT_MAX);
	if (isatty(STDIN_FILENO)) {
		fprintf(stderr, "\nExecution of %s will continue now, and it will try to read its input and run commands; if this "
		        "is not what you wanted to happen, please type the end-of-file keystroke.\n", diag_name());
		if (options->items.run_empty) {
			fprintf(stderr, "Warning: %s will be run at least once.  If you do not want that to happen, then press the "
			        "interrupt keystroke.\n", options->command[0]);
		}
	}
}

// ---- arguments of options ----

static void give_up(struct xargs_options *options) {
	options->is_done = true;
	options->status = XARGS_FAILURE;
}

static void refuse(struct xargs_options *options) {
	fprintf(stderr, "Try '%s --help' for more information.\n", diag_name());
	give_up(options);
}

// Returns the number in `text`, from `min` to `max` (negative: no bound). Refuses a number out of bounds; with `bend` returns the bound instead.
static long parse_number(struct xargs_options *options, const char *text, int key, long min, long max, bool bend) {
	char *end;
	long value = strtol(text, &end, 10);
	if (end == text || *end) {
		diag_note("invalid number \"%s\" for -%c option", text, key);
		refuse(options);
		return min;
	}
	bool below = value < min;
	if (!below && (max < 0 || value <= max)) {
		return value;
	}
	long bound = below ? min : max;
	diag_note("value %s for -%c option should be %s %ld", text, key, below ? ">=" : "<=", bound);
	if (!bend) {
		refuse(options);
	}
	return bound;
}

// Reads the code of a byte, such as \054 or \x2c.
static char parse_code(struct xargs_options *options, const char *text) {
	bool hex = text[1] == 'x';
	char *end;
	unsigned long code = strtoul(text + (hex ? 2 : 1), &end, hex ? 16 : 8);
	if (code > UCHAR_MAX) {
		diag_note("Invalid escape sequence %s in input delimiter specification; character values must not exceed %s.", text,
		          hex ? "ff" : "377");
		give_up(options);
	} else if (*end) {
		diag_note("Invalid escape sequence %s in input delimiter specification; trailing characters %s not recognised.", text,
		          end);
		give_up(options);
	}
	return (char)code;
}

static char parse_delimiter(struct xargs_options *options, const char *text) {
	static const char letters[] = "abfnrtv\\", codes[] = "\a\b\f\n\r\t\v\\";
	if (text[0] && !text[1]) {
		return text[0];
	}
	if (text[0] != '\\') {
		diag_note("Invalid input delimiter specification %s: the delimiter must be either a single character or an escape "
		          "sequence starting with \\.", text);
		give_up(options);
		return '\0';
	}
	if (text[1] == 'x' || (text[1] >= '0' && text[1] <= '9')) {
		return parse_code(options, text);
	}
	const char *letter = strchr(letters, text[1]);
	if (!letter) {
		diag_note("Invalid escape sequence %s in input delimiter specification.", text);
		give_up(options);
		return '\0';
	}
	return codes[letter - letters];
}

// Of -L, -n and -I only the last one given counts: clears the fields of all three, and warns if one of the other two was given before.
// `name` is what the warning calls the new option; `field` is the new option's field, which the caller sets.
static void exclude(struct xargs_options *options, const char *name, const void *field) {
	const struct { const void *field; const char *name; bool is_given; } all[] = {
		{&options->limits.lines, "max-lines", options->limits.lines > 0},
		{&options->limits.args, "max-args", options->limits.args > 0},
		{&options->replace, "replace", options->replace},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
		if (all[i].is_given && all[i].field != field) {
			diag_note("warning: options --%s and %s are mutually exclusive, ignoring previous --%s value", all[i].name, name, all[i].name);
		}
	}
	options->limits.lines = options->limits.args = 0;
	options->replace = NULL;
}

static void set_lines(struct xargs_options *options, int key, const char *value) {
	size_t lines = value ? (size_t)parse_number(options, value, key, 1, -1, false) : 1;
	if (!options->is_done) {
		exclude(options, key == 'L' ? "-L" : "--max-lines/-l", &options->limits.lines);
		options->limits.lines = lines;
	}
}

static void set_args(struct xargs_options *options, const char *value) {
	size_t args = (size_t)parse_number(options, value, 'n', 1, -1, false);
	if (options->is_done || (args == 1 && options->replace)) { // a command line of -I has one item anyway
		return;
	}
	exclude(options, "--max-args/-n", &options->limits.args);
	options->limits.args = args;
}

static void set_option(struct xargs_options *options, int key, const char *value) {
	switch (key) {
	case '0': options->items.literal = true; options->items.delimiter = '\0'; break;
	case 'a': options->arg_file = strcmp(value, "-") == 0 ? NULL : value; break;
	case 'd': options->items.literal = true; options->items.delimiter = parse_delimiter(options, value); break;
	case 'E':
	case 'e': options->items.eof = value && *value ? value : NULL; break;
	case 'I':
	case 'i':
		exclude(options, "--replace/-I/-i", &options->replace);
		options->replace = value ? value : "{}";
		break;
	case 'L':
	case 'l': set_lines(options, key, value); break;
	case 'n': set_args(options, value); break;
	case 'o': options->open_tty = true; break;
	case 'p': options->ask = true; break;
	case 'r': options->items.run_empty = false; break;
	case 's':
		options->limits.bytes = (size_t)parse_number(options, value, 's', 1, (long)options->max_chars, true);
		break;
	case 't': options->verbose = true; break;
	case 'x': options->limits.exact = true; break;
	case 'P': options->max_procs = parse_number(options, value, 'P', 0, INT_MAX, false); break;
	case SHOW_LIMITS: options->show_limits = true; break;
	case SLOT_VAR:
		options->slot_var = value;
		if (strchr(value, '=')) {
			diag_note("option --process-slot-var may not be set to a value which includes `='");
			give_up(options);
		} else if (!*value) {
			diag_note("failed to unset environment variable : %s", strerror(EINVAL));
			give_up(options);
		}
		break;
	case HELP: printf(help_text, diag_name()); options->is_done = true; break;
	case VERSION:
		printf("xargs (fairpar) %s\nThe xargs personality of fairpar, with the options of GNU xargs 4.9.\n", FAIRPAR_VERSION);
		options->is_done = true;
		break;
	default: break;
	}
}

// ---- argv ----

// Returns true if getopt_long() has just refused an option that xargs does not have, but fairpar has outside of the xargs personality.
static bool is_foreign(const char *word) {
	enum option_id id;
	const char *nearest;
	FP_CLEANUP(free_later) char *names = NULL;
	if (optopt != 0) { // an unknown letter, or a known option with a wrong argument
		return optopt < LONG_ONLY && !strchr(short_options, optopt) && option_find_short((char)optopt, &id, &nearest) == MATCH_OPTION;
	}
	size_t len = strcspn(word + 2, "=");
	bool found = option_find_long(word + 2, len, &id, &names, &nearest) == MATCH_OPTION;
	for (const struct option *option = long_options; option->name; ++option) {
		found = found && strncmp(option->name, word + 2, len) != 0; // the word may be an abbreviation of several options
	}
	return found;
}

// Returns the index of the first word that is no option.
static int parse_options(struct xargs_options *options, int argc, char *argv[]) {
	int key;
	optind = 0;
	argv[0] = (char *)(uintptr_t)diag_name(); // the name in the messages that getopt_long() prints itself
	while (!options->is_done && (key = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		if (key == '?') {
			options->is_foreign = is_foreign(argv[optind - 1]);
			refuse(options);
		} else {
			set_option(options, key, optarg);
		}
	}
	return optind;
}

bool xargs_parse(struct xargs_options *ret_options, int argc, char *argv[], char *const *env) {
	static const char *const echo[] = {"echo"};
	*ret_options = (struct xargs_options){.command = echo, .ncommand = 1, .max_procs = 1, .items.run_empty = true};
	if (!find_limits(ret_options, env)) {
		diag_note("environment is too large for exec");
		ret_options->status = XARGS_FAILURE;
		return false;
	}
	int i = parse_options(ret_options, argc, argv);
	if (ret_options->is_done) {
		if (fflush(stdout) != 0 || ferror(stdout)) {
			diag_note("write error: %s", strerror(errno));
			ret_options->status = XARGS_FAILURE;
		}
		return false;
	}
	if (i < argc) {
		ret_options->command = (const char *const *)argv + i;
		ret_options->ncommand = (size_t)(argc - i);
	}
	if (ret_options->items.eof && ret_options->items.literal) {
		diag_note("warning: the -E option has no effect if -0 or -d is used.\n");
	}
	if (ret_options->show_limits) {
		show_limits(ret_options);
	}
	ret_options->limits.exact |= ret_options->replace || ret_options->limits.lines > 0;
	return true;
}
