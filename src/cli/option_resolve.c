// Sets what follows from all options together, once they are known: for a run, a semaphore, or a request to a run (--add, --wait …).

#include "cli/parser.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "base/units.h"
#include "manifest/manifest.h"
#include "shell/quoting.h"
#include "shell/shell.h"
#include "template/packs.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void options_resolve(struct options *o) {
	const bool *given = o->given;
	o->attempts = o->attempts > 0 ? o->attempts : UINT_MAX;
	o->files = o->files || o->files_nul;
	o->pipe = given[OPT_PIPE_PART] ? PIPE_PART : given[OPT_PIPE] || o->cat ? PIPE_STREAM : PIPE_NOT;
	o->resume = given[OPT_RETRY_FAILED] ? RESUME_RETRY : given[OPT_RESUME_FAILED] ? RESUME_FAILED
	          : given[OPT_RESUME] ? RESUME_SEEN : RESUME_NOT;
}

// ---- items ----

// Hints that a single word of several lines was probably meant as a list of items: GNU parallel makes an item of each line of a word.
static void hint_at_lines(const struct options *o) {
	bool is_single = o->nsources == 1 && o->sources[0].kind == FROM_ARGS && o->sources[0].nargs == 1;
	if (!is_single || o->ncommand == 0 || o->quiet) {
		return;
	}
	size_t n = 1;
	for (const char *at = o->sources[0].args[0]; (at = strchr(at, '\n')) && at[1] != '\0'; ++at) {
		++n;
	}
	if (n > 1) {
		diag_note("hint: this word behind %s is one item with %zu lines: printf '%%s\\n' \"$list\" | fairpar … makes an item of each line",
		          o->arg_sep, n);
	}
}

bool options_words_lost_quotes(char *const *words, size_t n) {
	size_t i = 1;
	while (i < n && !(words[i - 1][0] == '-' && words[i - 1][1] != '\0' && shell_splits(words[i]))) {
		++i;
	}
	return i < n;
}

static void hint_at_quotes(const struct options *o, char *const *words, size_t n) {
	if (!o->quote && !o->quiet && options_words_lost_quotes(words, n)) {
		diag_note(LOST_QUOTES_HINT);
	}
}

// Makes stdin a source of items if no option names another source.
static int resolve_sources(struct options *o) {
	if (o->resume == RESUME_RETRY) { // as in GNU parallel, the command and the items are ignored
		o->ncommand = o->nsources = 0;
		o->shuffle = false;
		return 0;
	}
	if (o->nsources == 0 && o->nbatch_files > 0 && (o->batch || o->batch_by)) {
		return diag_error("--%s has no items: with --batch NAME=FILE, stdin is read only if '--arg-file -' names it",
		                  o->batch ? "batch NAME" : "batch-by");
	}
	if (o->nonall && o->ncommand == 0) {
		return option_fail(OPT_NONALL, "needs a command");
	}
	if (o->nonall && o->nsources == 0) { // one job without arguments
		static char *const nothing[] = {"", NULL};
		*options_add_source(o) = (struct source_config){.kind = FROM_ARGS, .args = nothing, .nargs = 1};
		o->packing.max_args = 0;
		o->given[OPT_MAX_ARGS] = true;
	}
	if (o->nsources > 0 || o->nbatch_files > 0) {
		hint_at_lines(o);
		return 0;
	}
	bool is_terminal = isatty(STDIN_FILENO) == 1;
	if (is_terminal && o->ncommand == 0) {
		FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
		help_concise(&text);
		(void)!write_all(STDERR_FILENO, buf_str(&text), text.len); // if stderr takes no help text, it takes no message either
		return -1;
	}
	if (is_terminal && !o->quiet) {
		diag_warn("reading items from the terminal: end them with Ctrl-D, or give them behind ':::'");
	}
	options_add_source(o);
	return 0;
}

// Resolves --colsep with --csv: which byte separates columns.
static int resolve_csv(struct options *o) {
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	o->input.csv = ',';
	int result = o->colsep_given ? parse_escapes(&bytes, o->colsep_given) : 0;
	if (o->colsep_given && (result != 0 || bytes.len != 1 || strchr("\"\r\n", bytes.data[0]))) {
		result = option_fail(OPT_COLSEP, "must be one byte with --csv, not '%s'", text_shows(o->colsep_given));
	} else if (o->colsep_given) {
		o->input.csv = bytes.data[0];
	}
	return result;
}

// Resolves how items are split and trimmed. As in GNU parallel, --header alone splits at tabs, and --colsep without --trim trims blanks.
static int resolve_items(struct options *o) {
	if (o->resume == RESUME_RETRY) { // the items are the commands of the joblog, as they are
		o->input = (struct input_config){.delimiter = '\n'};
		return 0;
	}
	o->input.delimiter = o->given[OPT_NULL] ? '\0' : o->input.delimiter;
	o->input.end = o->input.end && *o->input.end ? o->input.end : NULL;
	o->input.trim = o->input.trim > TRIM_BOTH || (o->colsep_given && !o->given[OPT_TRIM]) ? TRIM_BOTH : o->input.trim; // the word rl means lr
	const char *colsep = o->colsep_given ? o->colsep_given : o->input.header || o->header_files ? "\\t" : NULL;
	if (o->given[OPT_CSV]) {
		return resolve_csv(o);
	}
	FP_CLEANUP(free_later) char *error = NULL, *translated = colsep ? colsep_translate(colsep, &error) : NULL;
	o->input.colsep = translated ? arena_text(&o->texts, translated, strlen(translated)) : NULL;
	return colsep && !translated ? diag_error("--colsep: %s", error) : 0;
}

// Sets the template of `--workdir ...`, which has the replacement string {#}: a new directory for each job, in the place that GNU
// parallel uses. The directories stay, but --cleanup removes those on other machines.
static int resolve_workdir(struct options *o) {
	char host[HOST_NAME_MAX + 1];
	const char *home = getenv("HOME");
	if (!o->workdir || strcmp(o->workdir, "...") != 0) {
		return 0;
	}
	if (!home || home[0] != '/' || strpbrk(home, "{}")) {
		return diag_error("--workdir ... makes directories below $HOME, which is '%s'", text_shows(home ? home : ""));
	}
	if (gethostname(host, sizeof(host)) != 0) {
		return diag_error("--workdir ... needs the name of this machine: %s", strerror(errno));
	}
	host[sizeof(host) - 1] = '\0';
	FP_CLEANUP(buf_fini) struct buf dir = BUF_INIT;
	buf_printf(&dir, "%s/.parallel/tmp/%.*s-%ld-{#}", home, (int)strcspn(host, ".{}"), host, (long)getpid());
	o->workdir = o->own_workdir = arena_text(&o->texts, dir.data, dir.len);
	return 0;
}

// ---- packing ----

static int check_pack(const struct options *o) {
	const char *error = NULL;
	if (o->given[OPT_MAX_ARGS] && o->packing.max_args == 0) {
		error = "--max-args 0 cannot be combined with --pack: a process would have no items";
	} else if (o->ncommand == 0) {
		error = "--pack needs a command that takes items; here each line is a command";
	} else if (o->halt.percent > 0) {
		error = "--halt with a percentage cannot be combined with --pack: how many processes there will be is not known";
	} else if (o->timeout_percent > 0) {
		error = "--timeout with a percentage cannot be combined with --pack: processes have different numbers of items";
	}
	return error ? diag_error("%s", error) : 0;
}

// Decides which of -n, -N, -L and -l counts, in the same way as GNU parallel's parse_options().
static int resolve_packing(struct options *o) {
	const bool *given = o->given;
	struct packing *packing = &o->packing;
	if (o->resume == RESUME_RETRY) { // --retry-failed runs whole commands, which are not packed
		*packing = (struct packing){.items = 1};
		return 0;
	}
	bool is_list = given[OPT_M] || given[OPT_XARGS], has_n = given[OPT_MAX_REPLACE_ARGS];
	uint32_t items = has_n ? packing->max_replace : packing->max_args;
	packing->spreads = given[OPT_X] || given[OPT_M];
	o->input.joins = given[OPT_LINES] || given[OPT_MAX_LINES];
	if (!has_n && items == 0) {
		uint32_t max_lines = packing->max_lines > 0 ? packing->max_lines : 1;
		items = given[OPT_MAX_LINES] ? max_lines : packing->lines;
	}
	packing->inserts_none = items == 0 && (has_n || given[OPT_MAX_ARGS] || given[OPT_LINES]);
	packing->repeats = given[OPT_X] || has_n || (given[OPT_LINES] && !is_list);
	bool fills = packing->spreads || given[OPT_XARGS];
	packing->items = items > 0 ? items : fills && !packing->inserts_none ? 0 : 1;
	if (packing->by_time) {
		packing->items = packing->max_args;
		return check_pack(o);
	}
	packing->on = fills || packing->items > 1 || packing->inserts_none || packing->chars > 0;
	return 0;
}

// ---- blocks ----

static int resolve_tee(struct options *o) {
	if (o->pipe == PIPE_STREAM) {
		return o->nsources > 0 ? 0 : option_fail(OPT_TEE, "needs items, one for each job, as in --pipe --tee cmd ::: a b");
	}
	if (o->nsources == 0 || o->sources[0].kind != FROM_FILE) {
		return option_fail(OPT_PIPE_PART, "needs a file: name it with --arg-file FILE");
	}
	o->tee_file = o->sources[0].path; // the other sources give items, as in GNU parallel
	memmove(o->sources, o->sources + 1, --o->nsources * sizeof(*o->sources));
	return 0;
}

// Checks that the sources of --pipe-part are files, and that --pipe has no source but stdin.
static int check_block_sources(const struct options *o) {
	if (o->pipe == PIPE_STREAM && o->nsources > 0) {
		return option_fail(option_as_given(o, OPT_PIPE), "cannot be combined with %s: it reads its data from stdin, as in --pipe < FILE",
		                   o->given[OPT_ARG_FILE] ? "--arg-file" : "items");
	}
	for (size_t i = 0; i < o->nsources; ++i) {
		if (o->sources[i].kind != FROM_FILE) {
			return option_fail(OPT_PIPE_PART, "needs regular files; --pipe reads stdin");
		}
	}
	return o->nsources > 0 || o->pipe == PIPE_STREAM ? 0 : option_fail(OPT_PIPE_PART, "needs a file: name it with --arg-file FILE");
}

// Resolves how many records a block has. As in GNU parallel, -N wins over -n, and -L over -l, in whichever order they are given.
static int resolve_records(struct options *o) {
	const struct packing *counts = &o->packing;
	enum option_id records_by = o->given[OPT_MAX_REPLACE_ARGS] ? OPT_MAX_REPLACE_ARGS : OPT_MAX_ARGS;
	enum option_id lines_by = o->given[OPT_LINES] ? OPT_LINES : OPT_MAX_LINES;
	uint32_t max_lines = !o->given[OPT_MAX_LINES] ? 0 : counts->max_lines > 0 ? counts->max_lines : 1;
	o->records = records_by == OPT_MAX_REPLACE_ARGS ? counts->max_replace : counts->max_args;
	o->lines = lines_by == OPT_LINES ? counts->lines : max_lines;
	if (o->pipe == PIPE_PART && (o->records > 0 || o->lines > 0)) {
		return option_fail(o->records > 0 ? records_by : lines_by,
		                   "cannot be combined with --pipe-part, which does not count records; --pipe < FILE does");
	}
	o->records *= o->records > 0 && o->lines > 0 ? o->lines : 1; // if both -N and -L are given, they are multiplied, as in GNU parallel
	return 0;
}

static int resolve_blocks(struct options *o) {
	if (o->ncommand == 0 && !o->tee) { // with --tee the items may be the commands
		return option_fail(option_as_given(o, OPT_PIPE), "needs a command to pipe into, such as 'cat'");
	}
	if (o->nbatch_files > 0) {
		return option_fail(OPT_BATCH, "NAME=FILE cannot be combined with --%s, whose blocks are one batch",
		                   option_table[option_as_given(o, OPT_PIPE)].name);
	}
	if (o->tee) {
		return resolve_tee(o);
	}
	if (o->given[OPT_NULL] && !o->given[OPT_RECEND] && !o->given[OPT_RECSTART]) {
		o->recend = "\\0";
	}
	if (o->block_parts > 0 && o->pipe == PIPE_STREAM) {
		return option_fail(OPT_BLOCK, "-%u is for --pipe-part: the length of stdin is not known", o->block_parts);
	}
	if (o->block == 0 && o->block_parts == 0) {
		o->block = (uint64_t)1 << 20;
		o->block_parts = o->pipe == PIPE_PART ? 10 : 0; // GNU parallel's defaults
	}
	o->input.header = o->header_files = false; // with blocks, --header does not name columns
	return resolve_records(o) != 0 ? -1 : check_block_sources(o);
}

// ---- output ----

// Resolves how output is written, and warns of options that have no effect with --ungroup; GNU parallel accepts these silently.
static void resolve_output(struct options *o) {
	const bool *given = o->given;
	if (o->tty && !given[OPT_GROUP] && !given[OPT_LINE_BUFFER]) {
		o->output = OUTPUT_UNGROUP; // a program such as an editor draws on the terminal itself
	}
	o->keep_order = o->keep_order && !given[OPT_NO_KEEP_ORDER]; // --no-keep-order wins in either order, as in GNU parallel
	o->output_given = o->dry_run || o->tty || given[OPT_GROUP] || given[OPT_LINE_BUFFER] || given[OPT_UNGROUP];
	if (o->dry_run) {
		o->output = OUTPUT_GROUP; // as in GNU parallel: only the command is written
	}
	if (o->output != OUTPUT_UNGROUP) {
		return;
	}
	for (const enum option_id *id = option_lists[LIST_OF_OUTPUT]; *id != NOPTIONS; ++id) {
		if (given[*id] && !o->quiet) {
			diag_warn("--%s has no effect with --ungroup", option_table[*id].name);
		}
	}
	o->keep_order = o->tag = false;
	o->tagstring = NULL;
}

// ---- what is run ----

// Resolves what depends on the machines of the run, once these are known.
static int resolve_machines(struct options *o) {
	o->machines_are_known = true;
	return option_conflicts_check(o) != 0 || options_add_pilots(o) != 0 ? -1 : options_resolve_hosts(o);
}

// Returns the first word of the command, except its name, that is an option of fairpar; or NULL.
static const char *option_behind(const struct options *o) {
	enum option_id id;
	for (size_t i = 1; i < o->ncommand; ++i) {
		const char *word = o->command[i], *name = word + 2;
		if (strncmp(word, "--", 2) == 0 && option_is_name(name, strcspn(name, "="), &id)) {
			return word;
		}
	}
	return NULL;
}

// Refuses a command whose first word is no program, if that word was probably meant for an option, as in --pool gpu --single
// make. Accepts it if another machine may have the program, or $BASH_ENV may define a function of that name.
static int check_first_word(const struct parser *p) {
	const struct options *o = p->options;
	const char *word = o->ncommand > 0 ? o->command[0] : "", *option = option_behind(o);
	bool is_local = !sshlogins_has_remote(&o->hosts) && !o->slurm;
	if ((!p->bare && !option) || o->dry_run || !is_local || getenv("BASH_ENV") || strpbrk(word, " /{") || shell_has_syntax(word, strlen(word)) ||
	    program_find(word)) {
		return 0;
	}
	return p->bare ? diag_error("'%s' is no program: if it is the value of --%s, write --%s=%s", text_shows(word), p->bare, p->bare, text_shows(word))
		: diag_error("'%s' is no program: options of fairpar such as '%s' belong in front of the command", text_shows(word), text_shows(option));
}

// Refuses a manifest in the place of the command.
static int check_manifest(const struct options *o) {
	const char *name = o->ncommand > 0 ? o->command[0] : "", *end = strrchr(name, '.');
	bool is_yaml = end && (strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0);
	if (!is_yaml || access(name, R_OK) != 0 || program_find(name)) {
		return 0;
	}
	return diag_error("'%s' is no program; if it is a manifest, run it by: fairpar -f %s", text_shows(name), text_shows(name));
}

int options_resolve_command(struct parser *p) {
	struct options *o = p->options;
	o->header_files = o->header_text && strcmp(o->header_text, "0") == 0;
	o->input.header = o->header_text && !o->header_files; // the header is one line, whatever --header says, as in GNU parallel without --pipe
	if (o->packing.chars > PACK_CHARS_MAX) {
		diag_warn("--max-chars: taking %d, the largest value possible", PACK_CHARS_MAX);
		o->packing.chars = PACK_CHARS_MAX;
	}
	if (resolve_machines(o) != 0 || check_manifest(o) != 0 || check_first_word(p) != 0 || (o->pipe && resolve_blocks(o) != 0) ||
	    (o->pipe == PIPE_STREAM && option_take_stdin(p, "--pipe") != 0) ||
	    ((!o->pipe || o->tee) && o->pipe != PIPE_STREAM && resolve_sources(o) != 0) || resolve_items(o) != 0 ||
	    resolve_workdir(o) != 0 || (o->given[OPT_SHOW_LIMITS] && options_show_limits(&o->packing) != 0) ||
	    (!o->pipe && resolve_packing(o) != 0)) {
		return -1;
	}
	resolve_output(o);
	hint_at_quotes(o, o->command, o->ncommand);
	return 0;
}

struct manifest *options_load_manifest(struct options *o, bool *ret_unwritten) {
	FP_CLEANUP(buf_fini) struct buf messages = BUF_INIT;
	struct manifest *manifest = manifest_load(o->manifest, &messages);
	// the messages are complete lines; if stderr does not take them, the exit status says that something is wrong
	*ret_unwritten = diag_text(buf_str(&messages), messages.len) != 0;
	buf_reset(&messages);
	bool is_good = manifest != NULL;
	if (is_good && o->nnames > 0 && manifest_select(manifest, o->names, o->nnames, &messages) != 0) {
		diag_error("%s", buf_str(&messages));
		is_good = false;
	}
	if (is_good && manifest->slurm && o->hosts.n == 0 && !o->slurm) { // the key `slurm` of the manifest has no effect if options name machines
		is_good = options_set_slurm(o, manifest->slurm) == 0;
	}
	if (!o->jobs && !o->onall && !o->nonall && is_good && (o->slurm || sshlogins_has_remote(&o->hosts))) {
		o->jobs = manifest->slots; // `slots` of the manifest is the number of slots of each machine
	}
	if (!is_good || resolve_machines(o) != 0) {
		manifest_free(manifest);
		return NULL;
	}
	return manifest;
}

// Refuses options that cannot be combined with -f: for most of them a manifest has a key, by which each batch can have its own value.
int options_resolve_manifest(struct options *o) {
	for (int id = 0; id < NOPTIONS; ++id) {
		if (o->given[id] && *option_table[id].instead) {
			return option_fail((enum option_id)id, "cannot be combined with -f: %s", option_table[id].instead);
		}
	}
	if (option_conflicts_check(o) != 0) {
		return -1;
	}
	resolve_output(o);
	return 0;
}

// ---- semaphores ----

static void join_words(struct options *options, char *const *words, size_t nwords) {
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	for (size_t i = 0; i < nwords; ++i) {
		buf_adds(&line, i > 0 ? " " : "");
		if (options->quote) {
			shell_quote(&line, words[i], strlen(words[i]));
		} else {
			buf_adds(&line, words[i]);
		}
	}
	options->sem.line = arena_text(&options->texts, buf_str(&line), line.len);
}

static int check_semaphore(const struct options *options, size_t nwords) {
	const char *error = NULL;
	if (nwords == 0) {
		error = "a semaphore needs a command to run, or --wait";
	} else if (options->interactive && !options->sem.foreground) {
		error = "--interactive needs --fg: a job in the background cannot ask";
	} else if (options->nsources > 1) {
		error = "a semaphore's command has one standard input: give --arg-file once";
	}
	return error ? diag_error("%s", error) : 0;
}

int options_resolve_semaphore(struct options *o, char *const *words, size_t nwords) {
	struct semaphore_options *sem = &o->sem;
	if (option_conflicts_check(o) != 0) {
		return -1;
	}
	if (!sem->name) { // as in GNU parallel, the name is what tty(1) prints, so that scripts without a terminal share one semaphore
		const char *tty = ttyname(STDIN_FILENO);
		sem->name = tty ? tty : "not a tty";
	}
	if (!sem->waits) {
		if (check_semaphore(o, nwords) != 0) {
			return -1;
		}
		if (o->nsources == 1 && o->sources[0].kind == FROM_FILE) {
			sem->input = o->sources[0].path; // the file of -a is the command's standard input
		}
		join_words(o, words, nwords);
		hint_at_quotes(o, words, nwords);
		bool plain = !o->tag && !o->keep_order && o->output == OUTPUT_GROUP && !o->dry_run;
		// a program that asks questions or draws needs the terminal, and gets it as with --tty
		o->tty = o->tty || (sem->foreground && plain && !sem->input && isatty(STDIN_FILENO) == 1);
		o->nsources = 0;
		*options_add_source(o) = (struct source_config){.kind = FROM_ARGS, .args = &sem->line, .nargs = 1};
		o->input.end = NULL; // options about items and blocks have no effect on the command
		o->input.skip_first = o->tee = false;
		o->pipe = PIPE_NOT; // --pipe has no effect: the command gets stdin without it (GNU parallel's manual asks for --pipe here)
		o->quiet = true; // no messages about the job: the exit status of fairpar is that of the command
		o->exit_scheme = EXIT_FIRST;
	}
	resolve_output(o);
	return 0;
}

// ---- requests to a run in progress ----

// True if --status asks about a pool: an option names one, or neither --run nor the environment names a run.
static bool is_about_pool(const struct options *o) {
	bool in_job = getenv("FAIRPAR_CONTROL") || getenv("FAIRPAR_SOCK");
	return o->given[OPT_POOL] || o->pool.single || (!o->control.run && !in_job);
}

enum option_id options_request(const struct options *o) {
	const enum option_id *id = option_lists[LIST_REQUESTS];
	while (*id != NOPTIONS && !(o->given[*id] && (*id != OPT_STATUS || !is_about_pool(o)))) {
		++id;
	}
	return *id;
}

static int check_ids(enum option_id id, char *const *words) {
	for (; *words; ++words) {
		char *mark; // what follows the number in an ID: "@…", the mark of a run, or ""
		errno = 0;
		if (strspn(*words, "0123456789") == 0 || strtoull(*words, &mark, 10) == 0 || errno != 0 || (*mark && *mark != '@')) {
			return option_fail(id, "takes IDs of jobs, as --add has printed them, not '%s'", text_shows(*words));
		}
	}
	return 0;
}

int options_resolve_request(struct options *o, char *const *words) {
	enum option_id id = o->control.request;
	if (option_others_check(o, id, id == OPT_ADD ? LIST_WITH_ADD : id == OPT_CANCEL ? LIST_WITH_CANCEL : LIST_WITH_WAIT) != 0) {
		return -1;
	}
	o->command = words;
	if (o->nbatch_files > 0) {
		return option_fail(OPT_BATCH, "NAME=FILE cannot be combined with --%s: give a NAME alone", option_table[id].name);
	}
	if (o->timeout_percent > 0) {
		return option_fail(OPT_TIMEOUT, "of an added job must be a time, not a percentage");
	}
	if (id == OPT_ADD) {
		return words[0] ? 0 : option_fail(id, "needs a command");
	}
	if (id == OPT_STATUS) {
		return words[0] ? option_fail(id, "takes no command: it runs nothing") : 0;
	}
	if (id == OPT_CANCEL && (words[0] != NULL) == (o->batch != NULL)) {
		return option_fail(id, "needs %s", words[0] ? "IDs or --batch NAME, not both" : "the IDs of jobs, or --batch NAME");
	}
	return check_ids(id, words);
}
