// The command line: what every option sets, and what is refused with which words.

// What lays out the help is private to its file.
#include "../../src/cli/help.c"

#include "base/sync.h"
#include "base/units.h"
#include "cli/options.h"
#include "cli/option_table.h"
#include "manifest/keys.h"
#include "test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

static struct options o;
static char messages[8192]; // of the last parse, stderr

// Parses the words (NULL-terminated) with stdin from /dev/null; stdout and stderr go to files.
static enum mode parse(const char *first, ...) {
	static char *argv[64];
	int argc = 0;
	argv[argc++] = (char *)(uintptr_t)"fairpar";
	va_list args;
	va_start(args, first);
	for (const char *word = first; word; word = va_arg(args, const char *)) {
		argv[argc++] = (char *)(uintptr_t)word;
	}
	va_end(args);
	argv[argc] = NULL;

	char name[] = "/tmp/fairpar-options-XXXXXX";
	int saved = dup(STDERR_FILENO), file = mkstemp(name), null = open("/dev/null", O_RDONLY);
	check(saved >= 0 && file >= 0 && null >= 0);
	check(unlink(name) == 0 && dup2(file, STDERR_FILENO) >= 0 && dup2(null, STDIN_FILENO) >= 0);
	options_fini(&o);
	enum mode mode = options_parse(&o, argc, argv);
	check(dup2(saved, STDERR_FILENO) >= 0);
	ssize_t n = pread(file, messages, sizeof(messages) - 1, 0);
	check(n >= 0);
	messages[n] = '\0';
	close(saved);
	close(file);
	close(null);
	return mode;
}

#define RUNS(...) do { \
		enum mode mode_ = parse(__VA_ARGS__, NULL); \
		if (mode_ != MODE_RUN || messages[0]) { \
			fprintf(stderr, "# %s:%d: mode %d, says: %s\n", __FILE__, __LINE__, mode_, messages); \
			exit(1); \
		} \
	} while (0)

#define REFUSED(says, ...) do { \
		enum mode mode_ = parse(__VA_ARGS__, NULL); \
		if (mode_ != MODE_ERROR || !strstr(messages, says)) { \
			fprintf(stderr, "# %s:%d: mode %d, says: %s\n", __FILE__, __LINE__, mode_, messages); \
			exit(1); \
		} \
	} while (0)

#define WARNED(says, ...) do { \
		enum mode mode_ = parse(__VA_ARGS__, NULL); \
		if (mode_ != MODE_RUN || !strstr(messages, "warning: " says)) { \
			fprintf(stderr, "# %s:%d: mode %d, says: %s\n", __FILE__, __LINE__, mode_, messages); \
			exit(1); \
		} \
	} while (0)

static void test_defaults(void) {
	RUNS("echo", "{}");
	check_equal(o.ncommand, 2);
	check_string(o.command[1], "{}");
	check_equal(o.nsources, 1);
	check_equal(o.sources[0].kind, FROM_STDIN);
	check_equal(o.input.delimiter, '\n');
	check(!o.input.colsep && !o.input.trim && !o.input.header && !o.batch && !o.batch_by && !o.jobs && !o.shell && !o.tagstring);
	check_equal(o.max_long, 64);
	check_equal(o.queue_mem, 64 << 20);
	check_equal(o.attempts, 1);
	check_equal(o.timeout, 0);
	check_equal(o.delay, 0);
	check_equal(o.output, OUTPUT_GROUP);
	check_equal(o.halt.when, HALT_NEVER);
	check_equal(o.exit_scheme, EXIT_GNU);
	check_equal(o.term_seq.nsteps, 4);
	check_equal(o.term_seq.steps[3].signal, SIGKILL);
}

static void test_stops_at_the_command(void) {
	RUNS("-k", "grep", "-j", "--nope");
	check(o.keep_order && !o.jobs);
	check_equal(o.ncommand, 3);
	RUNS("-k", "--", "-k");
	check_string(o.command[0], "-k");
	RUNS("--");
	check_equal(o.ncommand, 0);
	RUNS("-", "x");
	check_string(o.command[0], "-");
}

static void test_words_of_values(void) {
	RUNS("-kj4", "x");
	check(o.keep_order);
	check_string(o.jobs, "4");
	RUNS("-kj", "5", "x");
	check_string(o.jobs, "5");
	RUNS("--jobs=+1", "x");
	check_string(o.jobs, "+1");
	RUNS("--jobs", "-1", "x");
	check_string(o.jobs, "-1");
	RUNS("-P", "0", "x");
	check_string(o.jobs, "0");
	RUNS("--max-procs", "50%", "x");
	check_string(o.jobs, "50%");
	RUNS("-j1", "-j2", "x");
	check_string(o.jobs, "2");
	RUNS("-d,", "x");
	check_equal(o.input.delimiter, ',');
	REFUSED("--jobs needs a value: N", "-j");
	REFUSED("--jobs needs a value: N", "-kj");
	REFUSED("--batch-by needs a value: TEMPLATE", "--batch-by");
	REFUSED("--null takes no value ('--null=1')", "--null=1", "x");
}

static void test_unknown_names(void) {
	REFUSED("unknown option --jbos; did you mean --jobs?", "--jbos", "x");
	REFUSED("unknown option --keep-oder; did you mean --keep-order?", "--keep-oder", "x");
	REFUSED("unknown option --linebufer; did you mean --line-buffer?", "--linebufer", "x");
	REFUSED("unknown option --prio; did you mean --priority?", "--prio", "x=1");
	REFUSED("unknown option --batch-; did you mean --batch-by?", "--batch-", "x");
	REFUSED("unknown option --zzzzzzzz; 'fairpar --help' lists them all", "--zzzzzzzz", "x");
	REFUSED("unknown option -Z; 'fairpar --help'", "-Z", "x");
	REFUSED("unknown option -Z; 'fairpar --help'", "-Zk", "x");
	REFUSED("unknown option -Z in '-kZ'; 'fairpar --help'", "-kZ", "x");
	REFUSED("unknown option --\\n", "--\n", "x");
	REFUSED("unknown option -\\x", "-\x01", "x");
	REFUSED("unknown option -\u00e4; 'fairpar", "-\u00e4", "x"); // letters have one byte
	REFUSED("unknown option -k\u00e4; 'fairpar", "-k\u00e4", "x");
	REFUSED("unknown option ---; 'fairpar", "---", "x");
	REFUSED("unknown option --=x; 'fairpar", "--=x", "x");
	REFUSED("unknown option --unknown; 'fairpar --help' lists them all", "--unknown", "x");
	REFUSED("unknown option --JOBS; did you mean --jobs?", "--JOBS", "4", "x");
	REFUSED("unknown option --Keep_Order; did you mean --keep-order?", "--Keep_Order", "x");
	REFUSED("unknown option --max-procs4; did you mean --jobs?", "--max-procs4", "x");
	REFUSED("unknown option --workers; did you mean --jobs?", "--workers=4", "x");
	REFUSED("unknown option --fail-fast; did you mean --halt?", "--fail-fast", "x");
	REFUSED("unknown option --ch; did you mean --check?", "--ch", "x");
	REFUSED("unknown option --qx; 'fairpar --help' lists them all", "--qx", "x"); // as near to "cf" as anything
}

static void test_what_is_not_wanted(void) {
	REFUSED("unknown option --no-summary; did you mean --summary=never?", "--no-summary", "x");
	REFUSED("unknown option --no-progress; did you mean --progress=none?", "--no-progress", "x");
}

// -dry-run is -d ry-run, which runs the commands.
static void test_single_dash(void) {
	REFUSED("-dry-run is read as single letters; did you mean --dry-run?", "-dry-run", "x");
	REFUSED("-jobs=4 is read as single letters; did you mean --jobs?", "-jobs=4", "x");
	REFUSED("-keeporder is read as single letters; did you mean --keeporder?", "-keeporder", "x");
	REFUSED("-tag is read as single letters; did you mean --tag?", "-tag", "x");
	RUNS("-rest", "x");
	check_string(o.input.end, "st");
	RUNS("-d", "ry-run", "x");
	RUNS("-tres", "x"); // "res" has three letters, and is no name in full
}

static void test_pipe(void) {
	RUNS("--pipe", "--block", "2k", "--recend", "", "--recstart", "x", "--regexp", "--rrs", "--header", "2", "cat");
	check(o.pipe == PIPE_STREAM && o.block == 2000 && o.nsources == 0 && !o.cat && !o.input.header);
	check(strcmp(o.recend, "") == 0 && strcmp(o.recstart, "x") == 0 && o.regexp && o.remove_rec_sep);
	RUNS("--pipe", "cat");
	check(o.block == 1 << 20 && o.block_parts == 0 && !o.recend && !o.recstart);
	RUNS("--spreadstdin", "--block", "0", "cat");
	check(o.block == 1 << 20);
	RUNS("--fifo", "cat");
	check(o.pipe == PIPE_STREAM && o.cat);
	RUNS("--pipepart", "-a", "file", "--cat", "cat");
	check(o.pipe == PIPE_PART && o.cat && o.nsources == 1 && o.block_parts == 10);
	RUNS("--pipe-part", "-a", "file", "--block", "-2", "cat");
	check(o.block_parts == 2);
	REFUSED("--pipe needs a command to pipe into, such as 'cat'", "--pipe");
	REFUSED("--pipe-part needs a file: name it with --arg-file FILE", "--pipe-part", "cat");
	REFUSED("--pipe-part needs regular files; --pipe reads stdin", "--pipe-part", "-a", "-", "cat");
	REFUSED("--block -1 is for --pipe-part: the length of stdin is not known", "--pipe", "--block", "-1", "cat");
	REFUSED("--block must be a size such as 500k or 64M, not 'x'", "--pipe", "--block", "x", "cat");
	REFUSED("--pipe cannot be combined with items: it reads its data from stdin, as in --pipe < FILE", "--pipe", "cat",
	        ":::", "a");
	REFUSED("--pipe cannot be combined with --arg-file: it reads its data from stdin, as in --pipe < FILE", "--pipe", "-a",
	        "f", "cat");
	REFUSED("--cat cannot be combined with items: it reads its data from stdin", "--cat", "cat", ":::", "a");
	REFUSED("--fifo needs a command to pipe into", "--fifo");
	REFUSED("--cat cannot be combined with --fifo", "--cat", "--fifo", "cat");
	REFUSED("--batch NAME=FILE cannot be combined with --pipe, whose blocks are one batch", "--pipe", "--batch", "a=b",
	        "cat");
	REFUSED("--then cannot be combined with --pipe: join the commands with '&&'", "--pipe", "--then", "x", "cat");
}

static void test_round_robin(void) {
	RUNS("--pipe", "--round-robin", "cat");
	check(o.round_robin && !o.cat);
	RUNS("--pipe", "--roundrobin", "-N3", "cat");
	check(o.round_robin && o.records == 3);
	RUNS("--round", "--fifo", "cat");
	check(o.round_robin && o.cat && o.pipe == PIPE_STREAM);
	REFUSED("--round-robin needs --pipe: it deals out the blocks of --pipe", "--round", "x");
	REFUSED("--retries cannot be combined with --round-robin: a job cannot get data again that it has read", "--pipe",
	        "--round", "--retries", "2", "cat");
	REFUSED("--round-robin cannot be combined with --pipe-part: use --pipe < FILE", "--pipe-part", "-a",
	        "file", "--round", "cat");
	REFUSED("--round-robin cannot be combined with --cat: a job begins before its last block is read; use --fifo",
	        "--cat", "--round", "cat");
}

static void test_tee(void) {
	RUNS("--pipe", "--tee", "--block", "1k", "cat", ":::", "a", "b");
	check(o.tee && o.nsources == 1 && !o.tee_file);
	RUNS("--pipe-part", "--tee", "-a", "file", "cat", ":::", "a", "b");
	check(o.tee && o.nsources == 1);
	check_string(o.tee_file, "file");
	RUNS("--pipe", "--tee", "-C", ",", "-a", "file", "cat");
	check(o.input.colsep && o.nsources == 1);
	REFUSED("--tee needs items, one for each job, as in --pipe --tee cmd ::: a b", "--pipe", "--tee", "cat");
	REFUSED("--tee needs --pipe, which reads the data from stdin, or --pipe-part", "--tee", "cat");
	REFUSED("--recend cannot be combined with --tee: each job gets all data, as it is", "--pipe", "--tee", "--recend",
	        "x", "cat", ":::", "a");
	REFUSED("--round-robin cannot be combined with --tee: each job gets all data, as it is", "--pipe", "--tee",
	        "--round-robin", "cat", ":::", "a");
	REFUSED("--memfree cannot be combined with --tee: a job cannot get data again that it has read", "--pipe", "--tee",
	        "--memfree", "1G", "cat", ":::", "a");
	REFUSED("--pipe-part needs a file: name it with --arg-file FILE", "--pipe-part", "--tee", "cat", ":::", "a");
}

static void test_foreign_names(void) {
	REFUSED("-H is not in fairpar; GNU parallel has removed it, too: leave it out", "-H", "x");
	REFUSED("-T in '-kT1' is not in fairpar; GNU parallel has removed it", "-kT1", "x");
	REFUSED("--rpl is not in fairpar; use --plus", "--rpl", "x");
	REFUSED("--par is not in fairpar; use --plus", "--par", "x");
	REFUSED("--tmpl is not in fairpar; use a command", "--tmpl=a=b", "x");
	REFUSED("--rsync-opts is not in fairpar; files go over the connection", "--rsync-opts", "-v", "x");
	REFUSED("-B is not in fairpar; files go", "-B", "x", "x");
}

static void test_machines(void) {
	RUNS("x");
	check(o.hosts.n == 0 && !o.tokens.elsewhere && !o.jobs);
	RUNS("-S", "4/:", "x");
	check_equal(o.hosts.n, 1);
	check_string(o.jobs, "4");
	RUNS("-S4/:", "-j50%", "x");
	check_string(o.jobs, "2");
	RUNS("-S:", "-j3", "x");
	check_string(o.jobs, "3");
	RUNS("-S", "2/a,u@b:22", "--sshlogin", ":", "--ssh", "ssh -x", "--launch", "env {}", "--at-most-once", "-M", "-j50%", "x");
	check_equal(o.hosts.n, 4);
	check_string(o.hosts.logins[1].name, "u@b:22");
	check_string(o.hosts.logins[3].name, "env");
	check_string(o.ssh, "ssh -x");
	check_string(o.jobs, "50%");
	check(o.at_most_once && o.tokens.elsewhere);
	RUNS("--env", "A,B", "--env", "f", "x");
	check(option_env_has(&o, "A=1") && option_env_has(&o, "B") && option_env_has(&o, "BASH_FUNC_f%%=() { :; }"));
	check(!option_env_has(&o, "C=1") && !option_env_has(&o, "AB=1") && !option_env_has(&o, "BASH_FUNC_ff%%=x"));
	RUNS("--env", "_", "x");
	check(option_env_has(&o, "C=1"));
	REFUSED("--sshlogin '-x': a host that begins with '-'", "-S", "-x", "x");
	REFUSED("--sshlogin names no machine", "-S", ",", "x");
	REFUSED("no machine is in the group 'g' of --sshlogin", "-S", "a,@g", "x");
	REFUSED("--sshloginfile cannot read '/proc/no'", "--slf", "/proc/no", "x");
	REFUSED("stdin can be read only once", "--slf", "-", "-a", "-", "x");
	REFUSED("--launch 'flux' must hold {} once", "--launch", "flux", "x");
	RUNS("-S", "a", "-j", "auto", "x");
	REFUSED("--pool cannot be combined with --sshlogin: slots of a pool or a jobserver are slots of this machine", "--slf", "/dev/null", "-Sa", "--pool", "x");
	REFUSED("--cat cannot be combined with --sshlogin", "-Sa", "--pipe", "--cat", "x");
	REFUSED("--tty cannot be combined with --sshlogin", "-Sa", "--tty", "x");
	RUNS("-S", "a", "--tf", "{}.in", "--transferfile", "lib", "--transfer", "--return", "{}.out", "--trc", "{.}.log", "--bf", "/", "x");
	check(o.ntransferred == 2 && o.nreturned == 2 && o.nbasefiles == 1 && o.transfers_item && o.cleans_up);
	check_string(o.transferred[1], "lib");
	check_string(o.returned[1], "{.}.log");
	RUNS("--transferfile", "{}", "--return", "{}.out", "--cleanup", "--basefile", "none", "x"); // as in GNU parallel: there is no other machine
	REFUSED("--basefile '/proc/no': No such file or directory", "-S", "a", "--basefile", "/proc/no", "x");
	REFUSED("--basefile '../x': '..' in the name would lead out", "-S", "a", "--basefile", "../x", "x");
	REFUSED("--return cannot be combined with --then: a step may run on another machine", "-S", "a", "--return", "y", "--then", "z", "x");
	RUNS("--slurm=-p short -c2", "--slurm-pilots=3", "x");
	check_equal(o.hosts.n, 3);
	check(o.hosts.logins[0].is_pilot && o.hosts.logins[0].cpus == 2);
	check_string(o.hosts.logins[2].name, "slurm-3");
	check(strstr(o.hosts.logins[2].command, "-p short -c2") && strstr(o.hosts.logins[2].command, o.pilot_name));
	RUNS("-S", "a", "--slurm", "-j3", "x");
	check_equal(o.hosts.n, 1 + 8);
	check(!o.hosts.logins[0].is_pilot && o.hosts.logins[1].cpus == 3);
	REFUSED("--slurm takes options of srun, where {} has no meaning", "--slurm={}", "x");
	REFUSED("--slurm-pilots needs --slurm, which starts pilots", "--slurm-pilots=3", "x");
	REFUSED("--at-most-once needs --sshlogin", "--at-most-once", "-S:", "x");
	REFUSED("--sshlogin cannot be combined with --semaphore", "--semaphore", "--id", "i", "-Sa", "x");
}

static void test_prefixes(void) {
	RUNS("--keep", "x");
	check(o.keep_order);
	RUNS("--tagstr", "a", "x");
	check_string(o.tagstring, "a");
	RUNS("--halt-on=2", "x");
	check_equal(o.halt.when, HALT_NOW);
	RUNS("--dry", "x");
	check(o.dry_run);
	RUNS("--maxprocs", "3", "x");
	check_string(o.jobs, "3");
	REFUSED("--ver may be --verbose, --version: write the name in full", "--ver", "x");
	REFUSED("--no may be --no-run-if-empty, --nonall, --noswap, --no-keep-order, --no-inherit, --no-notice: write the name in full", "--no", "x");
	REFUSED("--shel may be --shell-quote, --shell: write the name in full", "--shel", "x");
	REFUSED("--resu may be --resume, --resume-failed, --results: write the name in full", "--resu", "x");
	REFUSED("--rec may be --recend, --recstart: write the name in full", "--rec", "x");
	REFUSED("unknown option --batc", "--batc", "x");
	REFUSED("unknown option --trace-serv", "--trace-serv", "f", "x");
	RUNS("--k", "--j", "2", "x"); // letters, as Getopt::Long takes them
	check(o.keep_order);
	check_string(o.jobs, "2");
	RUNS("--tag", "x"); // a name in full, though others begin with it
	check(o.tag && !o.tagstring);
}

// Every row of the table is taken under each of its names.
static void test_every_name(void) {
	for (int id = 0; id < NOPTIONS; ++id) {
		const struct option_info *option = &option_table[id];
		enum option_id found;
		char *names;
		const char *near;
		check_equal(option_find_long(option->name, strlen(option->name), &found, &names, &near), MATCH_OPTION);
		check_equal(found, id);
		const char *list = option->aliases;
		size_t len;
		for (const char *name; (name = word_next(&list, &len));) {
			check_equal(option_find_long(name, len, &found, &names, &near), MATCH_OPTION);
			check_equal(found, id);
		}
		for (const char *letter = option->shorts; *letter; ++letter) {
			check_equal(option_find_short(*letter, &found, &near), MATCH_OPTION);
			check_equal(found, id);
		}
	}
}

// The column VALUE of each row.
enum test_kind { HAS_NONE = 1, HAS_ONE, MAY_HAVE_ONE, HAS_WORDS, ANY };
#define GIVEN ANY
#define FLAG(...) HAS_NONE
#define SET(...) HAS_NONE
#define TEXT(...) MAY_HAVE_ONE
#define ANY_TEXT(...) MAY_HAVE_ONE
#define TEXTS(...) HAS_ONE
#define NUMBER(...) HAS_ONE
#define COUNT(...) MAY_HAVE_ONE
#define SIZE(...) HAS_ONE
#define TIME(...) HAS_ONE
#define CHOICE(...) HAS_WORDS
#define SETTING(key) ((key) == KEY_LONG_RUNNING || (key) == KEY_PREFER_FAIRNESS ? MAY_HAVE_ONE : HAS_ONE) // without one: true
#define CALL(...) ANY
#define OPTION(id, name, aliases, shorts, arg, spellings, group, value, ...) [id] = value,
static const enum test_kind kinds[NOPTIONS] = {
#include "cli/options.def"
};

// An argument that a row names is stored by its kind, and a kind that stores one has a row which names it.
static void test_every_kind(void) {
	for (int id = 0; id < NOPTIONS; ++id) {
		const struct option_info *option = &option_table[id];
		check(kinds[id] != 0);
		check(kinds[id] == ANY || (option_value_way(option) != VALUE_NEVER) == (kinds[id] != HAS_NONE));
		check(kinds[id] != HAS_ONE || option_value_way(option) <= VALUE_ALWAYS);
		check(kinds[id] != HAS_WORDS || strchr(option->complete, ' '));
	}
}

// The words of a choice stand in the order of its values.
static void test_choices(void) {
	static const struct { const char *option; int values[5]; } choices[] = {
		{"exit-status gnu xargs first max any", {EXIT_GNU, EXIT_XARGS, EXIT_FIRST, EXIT_MAX, EXIT_ANY}},
		{"trim n l r lr rl", {TRIM_NONE, TRIM_LEFT, TRIM_RIGHT, TRIM_BOTH, TRIM_BOTH}},
		{"summary auto always never", {SUMMARY_AUTO, SUMMARY_ALWAYS, SUMMARY_NEVER}},
		{"progress auto tty plain none", {PROGRESS_AUTO, PROGRESS_TTY, PROGRESS_PLAIN, PROGRESS_NONE}},
	};
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); ++i) {
		const char *words = choices[i].option;
		size_t name_len, len;
		const char *name = word_next(&words, &name_len);
		for (int n = 0; word_next(&words, &len); ++n) {
			struct buf word = BUF_INIT;
			buf_printf(&word, "--%.*s=%.*s", (int)name_len, name, (int)len, words - len);
			RUNS(buf_str(&word), "x");
			int value = i == 0 ? (int)o.exit_scheme : i == 1 ? (int)o.input.trim : i == 2 ? (int)o.summary : (int)o.show.progress;
			check_equal(value, choices[i].values[n]);
			buf_fini(&word);
		}
	}
	REFUSED("--exit-status must be gnu, xargs, first, max or any, not 'GNU'", "--exit-status", "GNU", "x");
	REFUSED("--exit-status must be gnu, xargs, first, max or any, not ''", "--exit-status", "", "x");
}

static void test_replacement(void) {
	RUNS("-I", ",,", "--plus", "-q", "x");
	check_string(o.tokens.name[TOKEN_ITEM], ",,");
	check(o.tokens.plus && o.quote);
	RUNS("-i", "-k", "x"); // a value that begins with a dash is none
	check_string(o.tokens.name[TOKEN_ITEM], "{}");
	check(o.keep_order);
	RUNS("-iX", "x");
	check_string(o.tokens.name[TOKEN_ITEM], "X");
	RUNS("-i", "X", "x");
	check_string(o.tokens.name[TOKEN_ITEM], "X");
	RUNS("--replace=X", "x");
	check_string(o.tokens.name[TOKEN_ITEM], "X");
	RUNS("--replace", "X", "x");
	check_string(o.tokens.name[TOKEN_ITEM], "X");
	RUNS("--er=1", "--bnr=2", "--dnr=3", "--bner=4", "--seqreplace=5", "--slotreplace=6", "x");
	for (unsigned i = 0; i < NTOKENS; ++i) {
		check_string(o.tokens.name[i], ((const char *const[]){"{}", "1", "2", "3", "4", "5", "6"})[i]);
	}
	RUNS("--shellquote", "--shell-quote", "x");
	check(o.dry_run);
	check_equal(o.shell_quotes, 2);
	REFUSED("--replace needs a value: [S]", "-I");
}

static void test_items(void) {
	RUNS("-E", "end", "x");
	check_string(o.input.end, "end");
	RUNS("--eof", "end", "x");
	check_string(o.input.end, "end");
	RUNS("-e", "-k", "x");
	check(!o.input.end && o.keep_order);
	RUNS("--trim", "l", "-C,", "x");
	check_equal(o.input.trim, TRIM_LEFT);
	RUNS("-C,", "--trim", "n", "x");
	check_equal(o.input.trim, TRIM_NONE);
	REFUSED("--trim must be n, l, r, lr or rl, not 'x'", "--trim", "x", "x");
	RUNS("--csv", "x");
	check(o.input.csv == ',' && !o.input.trim && !o.input.colsep);
	RUNS("--csv", "-C", "\\t", "x");
	check(o.input.csv == '\t' && o.input.trim == TRIM_BOTH && !o.input.colsep);
	REFUSED("--colsep must be one byte with --csv, not 'ab'", "--csv", "-Cab", "x");
	RUNS("--arg-sep", ",", "x", ",", "a", ":::", ",+", "b");
	check_equal(o.nsources, 2);
	check_equal(o.sources[0].nargs, 2);
	check(o.sources[1].linked);
	RUNS("--arg-file-sep", ",", "x", ",", "a", "b", ":::", "c");
	check_equal(o.nsources, 3);
	RUNS("-r", "--shuf", "--link", "--skip-first-line", "x");
	check(o.input.skip_blank && o.shuffle && o.input.link && o.input.skip_first);
}

static void test_input(void) {
	RUNS("-0", "x");
	check_equal(o.input.delimiter, '\0');
	static const struct { const char *text; char byte; } delimiters[] = {
		{",", ','}, {"\\n", '\n'}, {"\\t", '\t'}, {"\\0", '\0'}, {"\\\\", '\\'}, {"\\054", ','}, {"\\0054", ','},
		{"\\101", 'A'}, {"\\x2c", ','}, {"\\xA", '\n'}, {"\\r", '\r'}, {"\\0377", '\377'}, {"\\7", '\a'},
	};
	for (size_t i = 0; i < sizeof(delimiters) / sizeof(delimiters[0]); ++i) {
		RUNS("-d", delimiters[i].text, "x");
		check_equal(o.input.delimiter, delimiters[i].byte);
	}
	REFUSED("--delimiter must be one byte", "-d", "", "x");
	REFUSED("--delimiter must be one byte", "-d", "a\\0", "x");
	RUNS("-d", "\\r\\n", "x");
	check_string(o.input.delimiter_text, "\r\n");
	RUNS("-d", "ab", "-d", ",", "x");
	check(!o.input.delimiter_text);
	check_equal(o.input.delimiter, ',');
	REFUSED("--delimiter has an unknown escape: '\\q'", "-d", "\\q", "x");
	REFUSED("--delimiter has an unknown escape", "-d", "\\", "x");
	REFUSED("--delimiter has an unknown escape", "-d", "\\x", "x");
	REFUSED("--delimiter has an unknown escape", "-d", "\\777", "x");
	REFUSED("--null cannot be combined with --delimiter", "-0", "-d,", "x");
	RUNS("--header", ":", "x");
	check(o.input.header && o.input.colsep && !o.input.trim);
	RUNS("--header", "1", "-C,", "x");
	check(o.input.header && o.input.trim);
	check_string(o.input.colsep, ",");
	RUNS("--header", "0", "x");
	check(o.header_files && !o.input.header && o.input.colsep);
	REFUSED("--colsep: ", "-C", "(", "x");
	RUNS("-r", "x");
}

static void test_sources(void) {
	RUNS("-a", "f", "--arg-file=g", "x", ":::", "a", "b", "::::", "h", "-", ":::+", "c", "::::+", "i");
	static const struct { int kind; const char *path; bool linked; } expected[] = {
		{FROM_FILE, "f", false}, {FROM_FILE, "g", false}, {FROM_ARGS, NULL, false}, {FROM_FILE, "h", false},
		{FROM_STDIN, NULL, false}, {FROM_ARGS, NULL, true}, {FROM_FILE, "i", true},
	};
	check_equal(o.nsources, 7);
	for (size_t i = 0; i < 7; ++i) {
		check_equal(o.sources[i].kind, expected[i].kind);
		check_equal(o.sources[i].linked, expected[i].linked);
		if (expected[i].path) {
			check_string(o.sources[i].path, expected[i].path);
		}
	}
	check_equal(o.sources[2].nargs, 2);
	check_string(o.sources[2].args[1], "b");
	RUNS(":::", "a", "b");
	check_equal(o.ncommand, 0);
	check_equal(o.nsources, 1);
	RUNS("x", ":::");
	check_equal(o.nsources, 1);
	check_equal(o.sources[0].kind, FROM_STDIN);
	RUNS("x", ":::", "a", ":::");
	check_equal(o.nsources, 2);
	check_equal(o.sources[1].nargs, 0);
	RUNS("x", ":::+", "a");
	check(!o.sources[0].linked);
	RUNS("-a", "-", "x");
	check_equal(o.sources[0].kind, FROM_STDIN);
	REFUSED(":::: needs the name of a file", "x", ":::", "a", "::::");
	REFUSED("needs the name of a file, not an empty text", "-a", "", "x");
	REFUSED("stdin can be read only once, not by --arg-file and by ::::", "-a-", "x", "::::", "-");
	REFUSED("stdin can be read only once, not by --batch and by --batch", "--batch", "a=-", "--batch", "b=-", "x");
}

static void test_batches(void) {
	RUNS("--batch", "docs", "x");
	check_string(o.batch, "docs");
	check_equal(o.nsources, 1);
	RUNS("--batch", "a=f", "--batch=b=g=h", "--batch", "c=-", "x");
	check_equal(o.nbatch_files, 3);
	check_string(o.batch_files[1].name, "b");
	check_string(o.batch_files[1].path, "g=h");
	check_string(o.batch_files[2].path, "-");
	check_equal(o.nsources, 0); // stdin is read where - names it
	RUNS("--batch", "main", "--batch", "a=f", "x", ":::", "1");
	check_equal(o.nsources, 1);
	check_string(o.batch, "main");
	RUNS("--batch-by", "{//}", "x");
	check_string(o.batch_by, "{//}");
	REFUSED("--batch must be NAME or NAME=FILE, not '=f'", "--batch", "=f", "x");
	REFUSED("--batch must be NAME or NAME=FILE, not 'f='", "--batch", "f=", "x");
	REFUSED("--batch must be NAME or NAME=FILE, not ''", "--batch", "", "x");
	REFUSED("--batch names the batch 'a' twice", "--batch", "a=f", "--batch", "a=g", "x");
	REFUSED("--batch names the batch 'a' twice", "--batch", "a=f", "--batch", "a", "x", ":::", "1");
	REFUSED("--batch names this input's batch twice: 'a' and 'b'", "--batch", "a", "--batch", "b", "x");
	REFUSED("--batch a cannot be combined with --batch-by", "--batch", "a", "--batch-by", "{}", "x");
	REFUSED("--batch NAME has no items", "--batch", "a", "--batch", "b=f", "x");
	REFUSED("--batch-by has no items", "--batch-by", "{}", "--batch", "b=f", "x");
	REFUSED("--batch-by must not be empty", "--batch-by", "", "x");
}

static void check_setting(size_t i, enum option_id what, const char *pattern, int64_t value) {
	check(i < o.nsettings);
	check_equal(o.settings[i].option, what);
	check_string(o.settings[i].pattern, pattern);
	check_equal(o.settings[i].value, value);
}

static void test_settings(void) {
	RUNS("--weight", "a=3", "--max-parallel", "*=2", "--priority", "b=c=-1", "--long-running", "--long-running=d",
	     "--prefer-fairness", "--prefer-fairness=e*", "--weight", "a=4", "x");
	check_equal(o.nsettings, 8);
	check_setting(0, OPT_WEIGHT, "a", 3);
	check_setting(1, OPT_MAX_PARALLEL, "*", 2);
	check_setting(2, OPT_PRIORITY, "b=c", -1);
	check_setting(3, OPT_LONG_RUNNING, "*", 1);
	check_setting(4, OPT_LONG_RUNNING, "d", 1);
	check_setting(5, OPT_PREFER_FAIRNESS, "*", 1);
	check_setting(6, OPT_PREFER_FAIRNESS, "e*", 1);
	check_setting(7, OPT_WEIGHT, "a", 4);
	RUNS("--rate", "5/s", "--rate", "api*=30/m", "--rate", "a=b=0.5/h", "--rate", "1000000/s", "x");
	check_equal(o.nsettings, 4);
	check_setting(0, OPT_RATE, "*", 200 * NS_PER_MS);
	check_setting(1, OPT_RATE, "api*", 2000 * (int64_t)NS_PER_MS);
	check_setting(2, OPT_RATE, "a=b", 7200 * (int64_t)NS_PER_S);
	check_setting(3, OPT_RATE, "*", 1000);
	static const char *const wrong[] = {
		"", "5", "a=5", "=5/s", "5/", "/s", "a=", "0/s", "0.0/m", "-1/s", "+1/s", "5/d", "5/sec", "5/S", " 5/s", "5 /s", "5/s ", "1e3/s", "1,5/s",
		".5/s", "5./s", "99999999999/s", "0.0000000001/h", "inf/s", "nan/s",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
		REFUSED("--rate must be a rate such as 5/s, 30/m or 100/h, or BATCH=RATE, not '", "--rate", wrong[i], "x");
	}
	REFUSED("--weight must be BATCH=N with N from 1 to 1000, not 'a=0'", "--weight", "a=0", "x");
	REFUSED("--weight must be BATCH=N", "--weight", "a=1001", "x");
	REFUSED("--weight must be BATCH=N", "--weight", "3", "x");
	REFUSED("--weight must be BATCH=N", "--weight", "=3", "x");
	REFUSED("--weight must be BATCH=N", "--weight", "a= 3", "x");
	REFUSED("--weight must be BATCH=N", "--weight", "a=+3", "x");
	REFUSED("--max-parallel must be BATCH=N", "--max-parallel", "a=0", "x");
	REFUSED("--priority must be BATCH=N", "--priority", "a=9999999999", "x");
	REFUSED("--long-running must name a batch", "--long-running=", "x");
	RUNS("--fair", "time", "--max-long", "7", "--queue-mem", "1.5M", "--then", "a {}", "--then", "b", "--on-failure", "c", "x");
	check(o.fair_time);
	check_equal(o.max_long, 7);
	check_equal(o.queue_mem, 3 << 19);
	check_equal(o.nthen, 2);
	check_string(o.then[1], "b");
	check_string(o.on_failure, "c");
	RUNS("--memory", "none", "x");
	check_equal(o.memory_use, MEMORY_NONE);
	RUNS("--memory=auto", "x");
	check_equal(o.memory_use, MEMORY_AUTO);
	REFUSED("--memory must be auto or none, not '2G'", "--memory", "2G", "x");
	RUNS("--warm", "sh", "x");
	check_equal(o.warm, WARM_SH);
	REFUSED("--warm must be off, auto or sh, not 'all'", "--warm=all", "x");
	REFUSED("--fair must be turns or time, not 'slots'", "--fair", "slots", "x");
	REFUSED("--max-long must be a number from 1 to", "--max-long", "0", "x");
	REFUSED("--then must not be empty", "--then", "", "x");
}

static void test_sizes(void) {
	static const struct { const char *text; size_t bytes; } sizes[] = {
		{"1", 1}, {"10k", 10000}, {"10K", 10240}, {"3m", 3000000}, {"3M", 3 << 20}, {"2g", 2000000000}, {"1G", 1 << 30},
		{".5k", 500},
	};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
		RUNS("--queue-mem", sizes[i].text, "x");
		check_equal(o.queue_mem, sizes[i].bytes);
	}
	static const char *const wrong[] = {"", "0", "x", "k", "1Q", "1kk", "1k ", "-1", "99999999999999T", "1e3", "inf", "."};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
		REFUSED("--queue-mem must be a size such as 500k or 64M", "--queue-mem", wrong[i], "x");
	}
}

static void test_far_off(void) {
	REFUSED("--queue-mem must be a size such as 500k or 64M, not '0', which is too little", "--queue-mem", "0", "x");
	REFUSED("--queue-mem must be a size such as 500k or 64M, not '99999999999999999999', which is too much", "--queue-mem",
	        "99999999999999999999", "x");
	REFUSED("--memfree must be a size such as 500k or 64M, not '99999999999T', which is too much", "--memfree", "99999999999T", "x");
	REFUSED("--block must be a size such as 500k or 64M, not '99999999999T', which is too much", "--pipe", "--block",
	        "99999999999T", "x");
	REFUSED("--max-args must be a number such as 10 or 2k, not '4G', which is too much", "-n", "4G", "x");
	REFUSED("--timeout must be seconds, a time such as 1h30m or 2.5s, or a percentage such as 200%, not '99999999999', which is too much",
	        "--timeout", "99999999999", "x");
	REFUSED("or a percentage such as 200%, not '0%'", "--timeout", "0%", "x");
	REFUSED("(auto may follow), not '99999999999', which is too much", "--delay", "99999999999", "x");
	REFUSED("--total-jobs must be a number from 1 on, not '99999999999999999999', which is too much", "--total-jobs",
	        "99999999999999999999", "x");
	REFUSED("not '1x'\n", "--queue-mem", "1x", "x");
	RUNS("--memfree", "0", "--memsuspend", "0", "x"); // none, as in GNU parallel
	check(o.memfree == 0 && o.memsuspend == 0);
}

static void test_durations(void) {
	static const struct { const char *text; uint64_t ns; } durations[] = {
		{"0", 0}, {"1", NS_PER_S}, {".2", 200000000}, {"0.001", 1000000}, {"90", 90 * NS_PER_S}, {"2.5s", 2500000000},
		{"1m", 60 * NS_PER_S}, {"1M", 60 * NS_PER_S}, {"1h30m", 5400 * NS_PER_S},
		{"1d3.5h16.6m4s", (86400 + 12600 + 996 + 4) * NS_PER_S},
	};
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); ++i) {
		RUNS("--timeout", durations[i].text, "--delay", durations[i].text, "x");
		check_equal(o.timeout, durations[i].ns);
		check_equal(o.delay, durations[i].ns);
	}
	static const char *const wrong[] = {
		"", "x", "-1", "1x", "1m30", "100ms", "s", "1 s", "1e3", "inf", "nan", "0x10", ".", "1..2", "99999999999", "1,5",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
		REFUSED("--timeout must be seconds, a time such as", "--timeout", wrong[i], "x");
	}
	RUNS("--timeout", "150.5%", "--delay", "1.5auto", "x");
	check(o.timeout == 0 && o.timeout_percent == 150.5);
	check(o.delay_auto && o.delay == 1500000000);
	RUNS("--timeout", "150%", "--timeout", "3", "--delay", "auto", "--delay", "2", "x");
	check(o.timeout == 3 * NS_PER_S && o.timeout_percent == 0 && o.delay == 2 * NS_PER_S && !o.delay_auto);
	REFUSED("--timeout must be seconds", "--timeout", "0%", "x");
	REFUSED("--timeout must be seconds", "--timeout", "%", "x");
	REFUSED("--delay must be seconds", "--delay", "1 auto", "x");
}

static void test_jobs(void) {
	REFUSED("--jobs must be N, +N, -N, N%", "-j", "0.5", "x");
	REFUSED("--jobs must be N, +N, -N, N%", "-jautomatic", "x");
	REFUSED("--jobs must be N, +N, -N, N% or the name of a file that holds one of these, or auto, not 'AUTO'", "-jAUTO", "x");
	REFUSED("--jobs auto takes bounds as in auto:2-64", "-jauto:4-2", "x");
	RUNS("-jauto:2-64", "x");
	check_string(o.jobs, "auto:2-64");
	RUNS("--pool", "--pool-slots", "auto", "x");
	check(o.pool.bounds.least == 1 && o.pool.bounds.most == MOST_POOL_SLOTS);
	RUNS("--pool", "--pool-slots", "auto:3-99999", "x");
	check(o.pool.bounds.least == 3 && o.pool.bounds.most == MOST_POOL_SLOTS);
	RUNS("--pool", "--pool-slots", "auto", "--pool-slots", "auto:7-7", "x"); // that is a fixed number
	check(o.pool.bounds.least == 7 && o.pool.bounds.most == 7);
	REFUSED("--pool-slots must be a number from 1 to 4096, or auto, not '0'", "--pool", "--pool-slots", "0", "x");
	REFUSED("--pool-slots auto takes bounds as in auto:2-64", "--pool", "--pool-slots", "auto:4-2", "x");
	RUNS("--retries", "3", "x");
	check_equal(o.attempts, 3);
	RUNS("--retries", "0", "x");
	check_equal(o.attempts, UINT_MAX);
	REFUSED("--retries must be a number", "--retries", "-1", "x");
	RUNS("--nice", "-5", "--shell", "bash", "--dry-run", "-t", "--termseq", "INT,50,KILL,25", "x");
	check_equal(o.nice, -5);
	check_string(o.shell, "bash");
	check(o.dry_run && o.print_commands);
	check_equal(o.term_seq.steps[0].signal, SIGINT);
	REFUSED("--nice must be a number from -20 to 19", "--nice", "20", "x");
	REFUSED("--term-seq cannot be 'FOO,1'", "--term-seq", "FOO,1", "x");
	REFUSED("--shell must not be empty", "--shell=", "x");
}

static void test_output(void) {
	RUNS("--lb", "-k", "--tag", "x");
	check_equal(o.output, OUTPUT_LINE_BUFFER);
	check(o.keep_order && o.tag);
	RUNS("-u", "x");
	check_equal(o.output, OUTPUT_UNGROUP);
	RUNS("-u", "--dry-run", "x");
	check_equal(o.output, OUTPUT_GROUP);
	RUNS("--group", "--tagstring", "a\\tb\\q{}", "x");
	check(o.tag);
	check_string(o.tagstring, "a\tb\\q{}");
	RUNS("--tag", "--tagstring", "", "x");
	check(!o.tag && !o.tagstring);
	REFUSED("--tagstring must not hold NUL", "--tagstring", "a\\0", "x");
	REFUSED("--group cannot be combined with --ungroup", "-u", "--group", "x");
	REFUSED("--group cannot be combined with --line-buffer", "--group", "--lb", "x");
	REFUSED("--ungroup cannot be combined with --line-buffer", "--lb", "-u", "x");
	WARNED("--keep-order has no effect with --ungroup", "-k", "-u", "x");
	check(!o.keep_order);
	WARNED("--tagstring has no effect with --ungroup", "-u", "--tagstring", "a", "x");
	check(!o.tag);
	RUNS("-u", "--tag", "--quiet", "x");
	check(o.quiet);
}

// The rows of EXCLUDES and NEEDS are looked at in the order of options.def, not in that of the command line.
static void test_two_mistakes(void) {
	REFUSED("--group cannot be combined with --ungroup", "--log-output", "-u", "--group", "x");
	REFUSED("--group cannot be combined with --ungroup", "--group", "-u", "--log-output", "x");
	REFUSED("--log-output needs a log", "--log-output", "--pipe", "--colsep", ",", "x");
	REFUSED("--log-output needs a log", "--colsep", ",", "--pipe", "--log-output", "x");
	REFUSED("--colsep cannot be combined with --pipe", "--colsep", ",", "--pipe", "--at-most-once", "x");
	REFUSED("--colsep cannot be combined with --pipe", "--at-most-once", "--pipe", "--colsep", ",", "x");
}

static void test_outcome(void) {
	RUNS("--halt", "now,fail=1", "--exit-status", "first", "--trace-service", "f", "x");
	check_equal(o.halt.when, HALT_NOW);
	check_equal(o.exit_scheme, EXIT_FIRST);
	check_string(o.trace_service, "f");
	check_equal(o.stop_signal, 0);
	RUNS("--stop-signal", "USR1", "x");
	check_equal(o.stop_signal, SIGUSR1);
	RUNS("--stop-signal=sighup", "-f", "m");
	check_equal(o.stop_signal, SIGHUP);
	RUNS("--stop-signal", "15", "x");
	check_equal(o.stop_signal, SIGTERM);
	REFUSED("--stop-signal must be HUP, INT, QUIT, TERM, USR1, USR2, XCPU, URG or PWR, not 'USR3'", "--stop-signal", "USR3", "x");
	REFUSED("PWR, not 'KILL', which has its own meaning", "--stop-signal", "KILL", "x");
	REFUSED("PWR, not 'sigtstp', which has its own meaning", "--stop-signal", "sigtstp", "x");
	REFUSED("PWR, not '17', which has its own meaning", "--stop-signal", "17", "x");
	REFUSED("--stop-signal", "--stop-signal", "USR1", "--single", "x");
	REFUSED("--halt 'sometimes' must be 'never', or begin with", "--halt", "sometimes", "x");
	REFUSED("--exit-status must be gnu, xargs, first, max or any, not 'sum'", "--exit-status", "sum", "x");
}

static void test_manifest(void) {
	RUNS("-f", "m.yaml");
	check_string(o.manifest, "m.yaml");
	check_equal(o.nnames, 0);
	check_equal(o.nsources, 0); // stdin is no source of items then
	check_equal(o.ncommand, 0);
	check(!o.check && !o.given[OPT_LIST] && !o.given[OPT_FAIR] && !o.output_given && !o.given[OPT_HALT]);
	RUNS("-j3", "-kf", "m.yaml", "one", "two");
	check_equal(o.nnames, 2);
	check_string(o.names[0], "one");
	check_string(o.names[1], "two");
	check_string(o.jobs, "3");
	RUNS("--manifest=m.yaml", "--", "-one");
	check_string(o.names[0], "-one");
	RUNS("-f-", "one");
	check_string(o.manifest, "-");
	REFUSED("--manifest needs a value: FILE", "-f");
	REFUSED("--manifest must not be empty", "-f", "");
	REFUSED("--manifest names two files, 'a' and 'b'", "-f", "a", "-f", "b");
	REFUSED("stdin can be read only once, not by --arg-file and by --manifest", "-a-", "-f-");
	RUNS("-f", "m", "one", "-k", "two", "-j", "3", "--", "-three", "-x");
	check_equal(o.nnames, 4);
	check_string(o.names[1], "two");
	check_string(o.names[3], "-x");
	check(o.keep_order);
	check_string(o.jobs, "3");
	REFUSED("unknown option -@", "-f", "m", "one", "-@");
	REFUSED("--manifest names two files, 'm' and 'n'", "-f", "m", "one", "-fn");
	REFUSED("--from-log cannot be combined with -f", "-f", "m", "one", "--from-log", "l");
	REFUSED("--manifest cannot be combined with a semaphore", "-f", "m", "one", "--semaphore");
	REFUSED("the name of a batch must not be empty", "-f", "m", "");
}

static void check_delay(uint64_t first_ns, double factor, uint64_t max_ns) {
	check_equal(o.retry_delay.first_ns, first_ns);
	check(o.retry_delay.factor > factor - 1e-9 && o.retry_delay.factor < factor + 1e-9);
	check_equal(o.retry_delay.max_ns, max_ns);
}

static void test_retry_delay(void) {
	RUNS("--retries", "3", "--retry-delay", "10", "x");
	check_delay(10 * NS_PER_S, 1, 10 * NS_PER_S);
	RUNS("--retries", "3", "--retry-delay", "100ms,1.5", "x");
	check_delay(100 * NS_PER_MS, 1.5, 3600 * NS_PER_S);
	RUNS("--retries", "3", "--retry-delay", "1s,2,1m30s", "x");
	check_delay(NS_PER_S, 2, 90 * NS_PER_S);
	RUNS("--retries", "3", "--retry-delay", "2h", "--retry-delay", ".5,1000,.5", "x");
	check_delay(500 * NS_PER_MS, 1000, 500 * NS_PER_MS);
	RUNS("--retries", "3", "--retry-delay", "0", "x");
	check_delay(0, 1, 0);
	RUNS("--retries", "3", "--retry-delay", "1s,,1m", "x");
	check_delay(NS_PER_S, 2, 60 * NS_PER_S);
	static const char *const wrong[] = {"", "x", "-1", ",2", "1,2,", "1,2,x", "1,2,3,4", "1 s"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
		REFUSED("--retry-delay must be TIME[,FACTOR[,MAX]] with times such as 10, 1h30m or 2.5s, not '", "--retries", "3", "--retry-delay", wrong[i], "x");
	}
	REFUSED("--retry-delay must have a FACTOR from 1 to 1000, not '1,0.5'", "--retries", "3", "--retry-delay", "1,0.5", "x");
	REFUSED("--retry-delay must have a FACTOR from 1 to 1000, not '1,'", "--retries", "3", "--retry-delay", "1,", "x");
	REFUSED("--retry-delay must not have a MAX that is less than its TIME, not '2,2,1'", "--retries", "3", "--retry-delay", "2,2,1", "x");
	REFUSED("--retry-delay must have a MAX where its TIME is more than 1h, not '2h,2'", "--retries", "3", "--retry-delay", "2h,2", "x");
	REFUSED("--retry-delay needs --retries N: without it a job is tried once", "--retry-delay", "1", "x");
	REFUSED("--retry-delay cannot be combined with -f: use the key 'retry_delay' in the manifest", "--retry-delay", "1", "-f", "m");
}

// Every row of the table is taken with -f, or is refused with what to do instead.
static void test_manifest_options(void) {
	static const struct { enum option_id id; const char *value; } values[] = {
		{OPT_TRIM, "l"},
		{OPT_DELIMITER, ","}, {OPT_HEADER, ":"}, {OPT_WEIGHT, "a=1"}, {OPT_MAX_PARALLEL, "a=1"}, {OPT_RATE, "1/s"}, {OPT_PRIORITY, "a=1"},
		{OPT_FAIR, "time"}, {OPT_HALT, "2"}, {OPT_EXIT_STATUS, "max"}, {OPT_TERM_SEQ, "TERM,1"}, {OPT_PACK, "auto"},
		{OPT_MEMORY, "auto"}, {OPT_WARM, "sh"},
		{OPT_REPORT, "r.svg"}, {OPT_SSHLOGINFILE, "/dev/null"}, {OPT_LAUNCH, "env {}"}, {OPT_BASEFILE, "/dev/null"},
	};
	for (int id = 0; id < NOPTIONS; ++id) {
		const struct option_info *option = &option_table[id];
		if (option->group == GROUP_ABOUT || option->group == GROUP_MANIFEST || id == OPT_MAX_LINE_LENGTH ||
		    option->group == GROUP_SEMAPHORE) { // which has its own words for -f
			continue;
		}
		const char *value = "1";
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); ++i) {
			value = (int)values[i].id == id ? values[i].value : value;
		}
		struct buf word = BUF_INIT;
		bool is_joined = option_value_way(option) == VALUE_ALWAYS;
		buf_printf(&word, "--%s%s%s", option->name, is_joined ? "=" : "", is_joined ? value : "");
		if (id == OPT_RESUME || id == OPT_RESUME_FAILED) { // which need it
			RUNS(buf_str(&word), "--joblog=l", "-f", "m");
		} else if (id == OPT_LOG_OUTPUT) {
			RUNS(buf_str(&word), "--log=l", "-f", "m");
		} else if (id == OPT_POOL_SLOTS) {
			RUNS(buf_str(&word), "--pool", "-f", "m");
		} else if (id == OPT_SLURM_PILOTS) { // which needs it
			RUNS(buf_str(&word), "--slurm", "-f", "m");
		} else if (option->group == GROUP_REMOTE && !*option->instead) {
			RUNS(buf_str(&word), "-S", "a", "-f", "m");
		} else if (!*option->instead) {
			RUNS(buf_str(&word), "-f", "m");
		} else {
			struct buf says = BUF_INIT;
			buf_printf(&says, "--%s cannot be combined with -f: %s\n", option->name, option->instead);
			REFUSED(buf_str(&says), "-f", "m", buf_str(&word));
			buf_fini(&says);
		}
		buf_fini(&word);
	}
	REFUSED("--timeout cannot be combined with -f: use the key 'timeout' in the manifest, under 'defaults'",
	        "--timeout", "3", "-f", "m");
	REFUSED("::: cannot be combined with -f: items belong in the manifest", "-f", "m", ":::", "a");
	REFUSED("::::+ cannot be combined with -f", "-f", "m", "one", "::::+", "a");
}

static void test_what_wins(void) {
	RUNS("--fair", "turns", "-f", "m");
	check(o.given[OPT_FAIR] && !o.fair_time);
	RUNS("--halt", "never", "-f", "m");
	check(o.given[OPT_HALT]);
	check_equal(o.halt.when, HALT_NEVER);
	RUNS("--group", "-f", "m");
	check(o.output_given);
	RUNS("--lb", "-f", "m");
	check(o.output_given);
	RUNS("-u", "-f", "m");
	check(o.output_given);
	RUNS("--dry-run", "-f", "m");
	check(o.output_given && o.dry_run);
	RUNS("-f", "m");
	check_equal(o.term_seq.nsteps, 2);
	check_equal(o.term_seq.steps[0].signal, SIGTERM);
	check_equal(o.term_seq.steps[1].signal, SIGKILL);
	RUNS("-f", "m", "--term-seq", "INT,50,TERM,50,KILL,25");
	check_equal(o.term_seq.nsteps, 3);
}

#define SHOWS(...) do { \
		check_equal(parse(__VA_ARGS__, NULL), MODE_SHOW); \
		check_string(messages, ""); \
	} while (0)

static void test_shows(void) {
	SHOWS("--check", "-f", "m");
	check(o.check && !o.given[OPT_LIST]);
	SHOWS("-f", "m", "--list", "one");
	check(o.given[OPT_LIST] && !o.check);
	check_equal(o.listing, MANIFEST_PLAIN);
	check_string(o.names[0], "one"); // an optional value is behind = only
	SHOWS("-f", "m", "--list=names");
	check_equal(o.listing, MANIFEST_NAMES);
	SHOWS("-f", "m", "--list=dot");
	check_equal(o.listing, MANIFEST_DOT);
	REFUSED("--list must be names or dot, not 'x'", "-f", "m", "--list=x");
	REFUSED("--check needs a manifest: name it with -f FILE", "--check", "m");
	REFUSED("--list needs a manifest: name it with -f FILE", "--list");
	REFUSED("--check cannot be combined with --list", "-f", "m", "--check", "--list");
	REFUSED("--check cannot be combined with --dry-run", "-f", "m", "--check", "--dry-run");
	REFUSED("--list cannot be combined with --dry-run", "-f", "m", "--list", "--dry-run");
}

// The words behind the options of a request are not read as items.
static void test_control(void) {
	unsetenv("FAIRPAR_SOCK");
	unsetenv("FAIRPAR_CONTROL");
	unsetenv("FAIRPAR_POOL");
	static const char *const requests[] = {"--add", "--wait", "--wait-any", "--cancel", "--status"};
	RUNS("--run", "ci.1", "x", ":::", "a");
	check_string(o.control.run, "ci.1");
	check_equal(o.control.request, NOPTIONS);
	for (size_t i = 0; i < 5; ++i) {
		check_equal(parse("--run", "r", requests[i], i == 0 || i == 3 ? "7" : NULL, NULL), MODE_ASK);
		check_string(option_table[o.control.request].name, requests[i] + 2);
		REFUSED("--pool cannot be combined with --", "--pool", requests[i % 4], "7");
		REFUSED("cannot be combined with -f", "-f", "m", requests[i % 4]);
		REFUSED("--jobs cannot be combined with --", "--run", "r", requests[i], "-j2");
	}
	check_equal(parse("--add", "--batch", "b", "--timeout", "3", "--retries", "0", "--nice", "2", "--slots-per-job", "2", "--", "-x", ":::", NULL), MODE_ASK);
	check_string(o.command[0], "-x");
	check_string(o.command[1], ":::");
	check_equal(o.attempts, UINT_MAX);
	check_equal(o.pool.width, 2);
	check_equal(parse("--cancel", "--batch", "b", NULL), MODE_ASK);
	check_equal(parse("--wait", "--id", "s", NULL), MODE_SEM);
	REFUSED("--add needs a command", "--add");
	REFUSED("--timeout of an added job must be a time", "--add", "--timeout", "200%", "x");
	REFUSED("--batch NAME=FILE cannot be combined with --add", "--add", "--batch", "b=f", "x");
	REFUSED("--batch cannot be combined with --wait", "--wait", "--batch", "b");
	REFUSED("--wait takes IDs of jobs, as --add has printed them, not 'x'", "--wait", "1", "x");
	REFUSED("--wait-any takes IDs of jobs", "--wait-any", "0");
	REFUSED("--wait takes IDs of jobs", "--wait", "@1");
	REFUSED("--wait takes IDs of jobs", "--wait", "18446744073709551616@1");
	check_equal(parse("--run", "r", "--wait", "18446744073709551615@0a1b", "2@", NULL), MODE_ASK);
	REFUSED("--cancel needs IDs or --batch NAME, not both", "--cancel", "--batch", "b", "3");
	REFUSED("--cancel needs the IDs of jobs, or --batch NAME", "--cancel");
	REFUSED("--status takes no command", "--run", "r", "--status", "x");
	REFUSED("--status needs a pool or a run", "--status");
	REFUSED("a run cannot be called '.r'", "--run", ".r", "x");
	REFUSED("cannot be combined with --add", "--add", "--cancel", "1");
}

static void test_idle(void) {
	WARNED("--report has no effect with --dry-run\n", "--dry-run", "--report", "r.svg", "x");
	WARNED("--trace has no effect with --dry-run\n", "--trace", "t", "-f", "m", "--dry-run");
	WARNED("--joblog, --log, --log-output, --report and --trace have no effect with --dry-run\n", "--report=r.svg", "--trace=t",
	       "--joblog", "j", "--log=l", "--log-output", "--dry-run", "x");
	WARNED("--results has no effect with --shell-quote\n", "--results", "r", "--shell-quote", "x");
	WARNED("--files and --summary have no effect with --dry-run\n", "--files", "--summary", "--dry-run", "x");
	RUNS("--dry-run", "--joblog", "j", "--resume", "x"); // which is read
	RUNS("--dry-run", "--trace-service", "t", "--summary=never", "x"); // which is written
	RUNS("--dry-run", "--log", "l", "--quiet", "x");
	WARNED("--block has no effect without --pipe\n", "--block", "1k", "x");
	WARNED("--recend, --recstart, --regexp and --remove-rec-sep have no effect without --pipe\n", "--recend", "a", "--recstart", "b",
	       "--regexp", "--rrs", "x");
	RUNS("--recend", "a", "--quiet", "x");
	check_equal(parse("--check", "-f", "m", "--report=r.svg", "--joblog=j", NULL), MODE_SHOW);
	check_string(messages, "fairpar: warning: --joblog and --report have no effect with --check\n");
	check_equal(parse("--list=dot", "-f", "m", "--trace-service=t", NULL), MODE_SHOW);
	check_string(messages, "fairpar: warning: --trace-service has no effect with --list\n");
	SHOWS("--check", "-f", "m", "--log=l", "--quiet", "-j3", "-k");
}

static void test_ignored(void) {
	RUNS("--will-cite", "--no-notice", "--gnu", "--willcite", "--nonotice", "--nn", "x");
	check_equal(parse("--citation", "x", NULL), MODE_EXIT);
	check_string(messages, "");
	check_equal(o.status, 0);
}

static void test_only_prints(void) {
	int null = open("/dev/null", O_WRONLY);
	check(null >= 0 && dup2(null, STDOUT_FILENO) >= 0);
	check_equal(parse("--help", NULL), MODE_EXIT);
	check_equal(parse("-kh", "x", NULL), MODE_EXIT);
	check_equal(parse("-V", NULL), MODE_EXIT);
	check_equal(parse("--version", "--nope", NULL), MODE_EXIT);
	check_equal(parse("--completions", "zsh", NULL), MODE_EXIT);
	check_equal(parse("--schema", NULL), MODE_EXIT);
	REFUSED("--completions must be bash, zsh or fish, not 'tcsh'", "--completions", "tcsh");
	int full = open("/dev/full", O_WRONLY);
	check(full >= 0 && dup2(full, STDOUT_FILENO) >= 0);
	REFUSED("cannot write to stdout: No space left on device", "--help");
}

static void test_texts_fit(void) {
	for (int id = 0; id < NOPTIONS; ++id) {
		struct buf line = BUF_INIT;
		add_brief(&line, &option_table[id]);
		check(line.len <= WIDTH + 1);
		check(strlen(option_table[id].text) == 0 || option_table[id].text[strlen(option_table[id].text) - 1] == '.');
		buf_fini(&line);
	}
}

static void test_no_words(void) {
	char *none[] = {NULL};
	options_fini(&o);
	int null = open("/dev/null", O_RDONLY);
	check(null >= 0 && dup2(null, STDIN_FILENO) >= 0);
	check_equal(options_parse(&o, 0, none), MODE_RUN); // execve(2) allows it
	check_equal(o.ncommand, 0);
	options_fini(&o);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("what is not said has its default", test_defaults),
		TEST("options end at the first word that is none, and at --", test_stops_at_the_command),
		TEST("values stand in the same word or the next, and letters bundle", test_words_of_values),
		TEST("an unknown option is refused with the nearest one", test_unknown_names),
		TEST("what is not wanted is left out", test_what_is_not_wanted),
		TEST("a name behind a single dash is not taken for letters", test_single_dash),
		TEST("an option that only GNU parallel has is refused as such", test_foreign_names),
		TEST("machines are read, and what they are not for is refused", test_machines),
		TEST("blocks of data, and what does not go with them", test_pipe),
		TEST("--tee, and what does not go with it", test_tee),
		TEST("--round-robin, and what does not go with it", test_round_robin),
		TEST("only GNU parallel's unique prefixes are taken", test_prefixes),
		TEST("every row of the table is found under each of its names", test_every_name),
		TEST("every row has a kind that fits its argument", test_every_kind),
		TEST("words to choose from are the values that they name", test_choices),
		TEST("delimiters, columns and headers", test_input),
		TEST("which items there are", test_items),
		TEST("what replacement strings are called", test_replacement),
		TEST("sources in their order, and stdin at most once", test_sources),
		TEST("batches by name, by file and by template", test_batches),
		TEST("batch settings with their patterns and ranges", test_settings),
		TEST("sizes", test_sizes),
		TEST("what is far too much is refused as such", test_far_off),
		TEST("durations", test_durations),
		TEST("slots, attempts, niceness and signals", test_jobs),
		TEST("forms of output, and what contradicts itself", test_output),
		TEST("of two mistakes the one that the table has first is said", test_two_mistakes),
		TEST("halt, exit status and trace", test_outcome),
		TEST("a manifest, and the batches asked for", test_manifest),
		TEST("with a manifest, what belongs into it is refused with its key", test_manifest_options),
		TEST("--retry-delay has the bounds of the key of the manifest", test_retry_delay),
		TEST("what is given beside a manifest is known as given", test_what_wins),
		TEST("--check and --list show a manifest", test_shows),
		TEST("a file that will not be written is a warning", test_idle),
		TEST("what is said to a run", test_control),
		TEST("what only silences GNU parallel is taken", test_ignored),
		TEST("--help and its kin only print, and say so when they cannot", test_only_prints),
		TEST("the texts fit the screen", test_texts_fit),
		TEST("an empty argument vector is no crash", test_no_words),
	};
	int status = test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
	options_fini(&o);
	return status;
}
