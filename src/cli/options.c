// The command line: words into struct options.
//
// The words are taken by hand, not by getopt_long(): that takes any unique prefix of a name, and glibc and musl say
// different things about a wrong one. The rules are getopt's: short options bundle, a value may be in the same word or
// the next one, "--" ends the options, and so does the first word that is none.

#include "cli/options.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/conflicts.h"
#include "cli/help.h"
#include "cli/option_admission.h"
#include "cli/option_blocks.h"
#include "cli/option_items.h"
#include "cli/option_jobs.h"
#include "cli/option_log.h"
#include "cli/option_look.h"
#include "cli/option_output.h"
#include "cli/option_packing.h"
#include "cli/option_profile.h"
#include "cli/option_semaphore.h"
#include "cli/option_status.h"
#include "cli/option_table.h"
#include "cli/option_take.h"
#include "cli/option_values.h"
#include "cli/suggest.h"
#include "engine/fair.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#ifndef FAIRPAR_VERSION
#define FAIRPAR_VERSION "unknown"
#endif

enum { MOST_LONG = 10000 };

struct parser {
	struct options *options;
	char **argv;
	int argc, at;            // the next word
	bool given[NOPTIONS];
	size_t sources_cap, then_cap, batch_files_cap, settings_cap;
	struct item_options items;
	const char *stdin_for;   // what reads stdin, or NULL
	bool is_ended;           // the options, by "--"
	bool done;               // --help and the like: nothing is left to do but to exit with options->status
};

// ---- input ----

// Notes that stdin is read. Only one may: two readers would each get a part of it, by chance.
static int claim_stdin(struct parser *p, const char *reader) {
	if (p->stdin_for) {
		diag_error("stdin can be read only once, not by %s and by %s", p->stdin_for, reader);
		return -1;
	}
	p->stdin_for = reader;
	return 0;
}

static struct source_config *add_source(struct parser *p) {
	struct options *o = p->options;
	grow_array(&o->sources, &p->sources_cap, o->nsources + 1, sizeof(*o->sources));
	o->sources[o->nsources] = (struct source_config){.kind = FROM_STDIN};
	return &o->sources[o->nsources++];
}

static int add_file_source(struct parser *p, const char *path, bool linked, const char *reader) {
	if (*path == '\0') {
		diag_error("%s names a file without a name", reader);
		return -1;
	}
	struct source_config *source = add_source(p);
	source->linked = linked;
	if (strcmp(path, "-") == 0) {
		return claim_stdin(p, reader);
	}
	source->kind = FROM_FILE;
	source->path = path;
	return 0;
}

// ---- batches ----

static int add_batch(struct parser *p, const char *text) {
	struct options *o = p->options;
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	if (len == 0 || (equals && equals[1] == '\0')) {
		return option_fail(OPT_BATCH, "must be NAME or NAME=FILE, not '%s'", text_shows(text));
	}
	if (!equals) {
		if (o->batch && strcmp(o->batch, text) != 0) {
			return option_fail(OPT_BATCH, "names this input's batch twice: '%s' and '%s'", text_shows(o->batch), text_shows(text));
		}
		o->batch = text;
		return 0;
	}
	grow_array(&o->batch_files, &p->batch_files_cap, o->nbatch_files + 1, sizeof(*o->batch_files));
	o->batch_files[o->nbatch_files++] = (struct batch_file){.name = xmemdup(text, len), .path = equals + 1};
	return strcmp(equals + 1, "-") == 0 ? claim_stdin(p, "--batch") : 0;
}

static void add_setting(struct parser *p, enum setting what, const char *pattern, size_t len, long value) {
	struct options *o = p->options;
	grow_array(&o->settings, &p->settings_cap, o->nsettings + 1, sizeof(*o->settings));
	struct batch_setting *setting = &o->settings[o->nsettings++];
	*setting = (struct batch_setting){.what = what, .pattern = xmemdup(pattern, len), .value = value};
}

// B=N; a name may have a "=" of its own, a number has none.
static int add_number_setting(struct parser *p, enum option_id id, enum setting what, const char *text, long least, long most) {
	const char *equals = strrchr(text, '=');
	long value;
	if (!equals || equals == text || option_long(equals + 1, least, most, &value) != 0) {
		return option_fail(id, "must be BATCH=N with N from %ld to %ld, not '%s'", least, most, text_shows(text));
	}
	add_setting(p, what, text, (size_t)(equals - text), value);
	return 0;
}

static int add_switch_setting(struct parser *p, enum option_id id, enum setting what, const char *pattern) {
	if (!pattern) {
		pattern = "*";
	}
	if (*pattern == '\0') {
		return option_fail(id, "must name a batch behind the '='");
	}
	add_setting(p, what, pattern, strlen(pattern), 1);
	return 0;
}

static int set_fair(struct options *o, const char *text) {
	o->fair_given = true;
	o->fair_time = strcmp(text, "time") == 0;
	if (!o->fair_time && strcmp(text, "turns") != 0) {
		return option_fail(OPT_FAIR, "must be turns or time, not '%s'", text_shows(text));
	}
	return 0;
}

static int add_then(struct parser *p, const char *command) {
	struct options *o = p->options;
	grow_array(&o->then, &p->then_cap, o->nthen + 1, sizeof(*o->then));
	return option_take_text(OPT_THEN, command, &o->then[o->nthen++]);
}

static int take_batch_option(struct parser *p, enum option_id id, const char *value) {
	struct options *o = p->options;
	long n = 0;
	int result = 0;
	switch (id) {
	case OPT_BATCH: return add_batch(p, value);
	case OPT_BATCH_BY: return option_take_text(id, value, &o->batch_by);
	case OPT_WEIGHT: return add_number_setting(p, id, SET_WEIGHT, value, 1, FAIR_MOST_WEIGHT);
	case OPT_MAX_PARALLEL: return add_number_setting(p, id, SET_MAX_PARALLEL, value, 1, INT_MAX);
	case OPT_PRIORITY: return add_number_setting(p, id, SET_PRIORITY, value, -INT_MAX, INT_MAX);
	case OPT_LONG_RUNNING: return add_switch_setting(p, id, SET_LONG_RUNNING, value);
	case OPT_PREFER_FAIRNESS: return add_switch_setting(p, id, SET_PREFER_FAIRNESS, value);
	case OPT_FAIR: return set_fair(o, value);
	case OPT_MAX_LONG:
		result = option_take_long(id, value, 1, MOST_LONG, &n);
		o->max_long = (unsigned)n;
		return result;
	case OPT_QUEUE_MEM: return option_take_size(id, value, &o->queue_mem);
	case OPT_THEN: return add_then(p, value);
	default: return option_take_text(id, value, &o->on_failure);
	}
}

// ---- what only prints ----

// Writes the text to stdout; an error there is one of the program.
static int print_and_exit(struct parser *p, struct buf *text) {
	int result = write_all(STDOUT_FILENO, buf_str(text), text->len);
	if (result != 0 && errno != EPIPE) {
		diag_error("cannot write to stdout: %s", strerror(errno));
	}
	buf_fini(text);
	p->done = true;
	return result;
}

static int take_about_option(struct parser *p, enum option_id id, bool by_letter, const char *value) {
	struct buf text = BUF_INIT;
	switch (id) {
	case OPT_HELP:
		if (value && help_topic(&text, value) != 0) {
			return option_fail(id, "has no topic '%s', but %s", text_shows(value), option_topics);
		}
		if (!value) {
			(by_letter ? help_short : help_long)(&text);
		}
		return print_and_exit(p, &text);
	case OPT_VERSION:
		buf_adds(&text, "fairpar " FAIRPAR_VERSION "\nMIT License; there is no warranty, to the extent permitted by law\n");
		return print_and_exit(p, &text);
	case OPT_COMPLETIONS:
		if (completions_print(&text, value) != 0) {
			return option_fail(id, "must be bash, zsh or fish, not '%s'", text_shows(value));
		}
		return print_and_exit(p, &text);
	case OPT_CITATION:
		p->done = true;
		return 0;
	default: // --will-cite and its kin, and --plain, which is looked up in `given`
		return 0;
	}
}

// ---- manifests ----

static int set_manifest(struct parser *p, const char *path) {
	struct options *o = p->options;
	if (o->manifest) {
		return option_fail(OPT_MANIFEST, "names two files, '%s' and '%s': run one, then the other", text_shows(o->manifest),
		            text_shows(path));
	}
	if (option_take_text(OPT_MANIFEST, path, &o->manifest) != 0) {
		return -1;
	}
	return strcmp(path, "-") == 0 ? claim_stdin(p, "--manifest") : 0;
}

static int set_listing(struct options *o, const char *text) {
	o->list = true;
	if (!text) {
		o->listing = MANIFEST_PLAIN;
	} else if (strcmp(text, "names") == 0) {
		o->listing = MANIFEST_NAMES;
	} else if (strcmp(text, "dot") == 0) {
		o->listing = MANIFEST_DOT;
	} else {
		return option_fail(OPT_LIST, "must be alone, =names or =dot, not '=%s'", text_shows(text));
	}
	return 0;
}

static int take_manifest_option(struct parser *p, enum option_id id, const char *value) {
	struct buf text = BUF_INIT;
	switch (id) {
	case OPT_MANIFEST: return set_manifest(p, value);
	case OPT_LIST: return set_listing(p->options, value);
	case OPT_SCHEMA:
		manifest_schema(&text);
		return print_and_exit(p, &text);
	default:
		p->options->check = true;
		return 0;
	}
}

// ---- words ----

static int take_input_option(struct parser *p, enum option_id id, const char *value) {
	if (id == OPT_ARG_FILE) {
		return add_file_source(p, value, /* linked */ false, "--arg-file");
	}
	return item_option_take(p->options, &p->items, id, value);
}

static int take_option(struct parser *p, enum option_id id, bool by_letter, const char *value) {
	p->given[id] = true;
	switch (option_table[id].group) {
	case GROUP_INPUT: return take_input_option(p, id, value);
	case GROUP_REPLACEMENT: return replacement_option_take(p->options, id, value);
	case GROUP_PACKING: return packing_option_take(p->options, id, value, &p->done);
	case GROUP_BATCHES: return take_batch_option(p, id, value);
	case GROUP_MANIFEST: return take_manifest_option(p, id, value);
	case GROUP_PIPE: return block_option_take(p->options, id, value);
	case GROUP_JOBS: return job_option_take(p->options, id, value);
	case GROUP_ADMISSION: return admission_option_take(p->options, id, value);
	case GROUP_OUTPUT:
	case GROUP_OUTCOME: return output_option_take(p->options, id, value);
	case GROUP_SEMAPHORE: return option_semaphore_take(p->options, id, value);
	case GROUP_STATUS: return option_status_take(p->options, id, value);
	case GROUP_LOG: return option_log_take(p->options, id, value);
	case GROUP_LOOK: return option_look_take(p->options, id, value);
	default: return take_about_option(p, id, by_letter, value);
	}
}

static int refuse_name(enum option_match match, const char *shown, char *names, const char *near) {
	switch (match) {
	case MATCH_FOREIGN:
		diag_error("%s is not in fairpar; %s", shown, near);
		break;
	case MATCH_AMBIGUOUS:
		diag_error("%s may be %s: write the name in full", shown, names);
		free(names);
		break;
	case MATCH_NEAR:
		diag_error("unknown option %s; did you mean --%s?", shown, near);
		break;
	case MATCH_NEGATED:
		diag_error("unknown option %s; leave out --%s", shown, near);
		break;
	default:
		diag_error("unknown option %s; 'fairpar --help' lists them all", shown);
		break;
	}
	return -1;
}

// The value in the next word.
static int next_value(struct parser *p, enum option_id id, const char **ret_value) {
	if (p->at == p->argc) {
		return option_fail(id, "needs a value: %s", option_table[id].arg);
	}
	*ret_value = p->argv[p->at++];
	return 0;
}

// Is an optional value in the next word? As of GNU parallel's (Getopt::Long, of type ":s").
static bool value_follows(const struct parser *p, const struct option_info *option) {
	return option_value_may_follow(option) && p->at < p->argc && p->argv[p->at][0] != '-';
}

// The number behind a letter that may have one, in the same word or, as GNU parallel takes it, in the next: -l5, -l 5.
static bool take_number(struct parser *p, const char *rest, const char **ret_value) {
	const char *text = *rest || p->at == p->argc ? rest : p->argv[p->at];
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || text[digits] != '\0') {
		return false;
	}
	p->at += text != rest;
	*ret_value = text;
	return true;
}

// --name, --name=value or --name value
static int take_long_word(struct parser *p, const char *word) {
	const char *name = word + 2, *value = strchr(name, '='), *near = NULL;
	size_t len = value ? (size_t)(value++ - name) : strlen(name);
	char *names = NULL;
	enum option_id id;
	enum option_match match = option_find_long(name, len, &id, &names, &near);
	if (match != MATCH_OPTION) {
		return refuse_name(match, text_show(word, len > 0 ? len + 2 : strlen(word)), names, near);
	}
	const struct option_info *option = &option_table[id];
	if (value && !option_takes_value(option)) {
		enum option_id other;
		if (!option_is_name(name, len, &other) && option_near(name, len, &near) == MATCH_NEAR &&
		    option_is_name(near, strlen(near), &other) && option_takes_value(&option_table[other])) {
			return refuse_name(MATCH_NEAR, text_show(word, len + 2), NULL, near); // not the one that begins so
		}
		return option_fail(id, "takes no value ('%s')", text_shows(word));
	}
	bool must_follow = option_takes_value(option) && !option_value_is_optional(option);
	if (!value && (must_follow || value_follows(p, option)) && next_value(p, id, &value) != 0) {
		return -1;
	}
	if (!value && id == OPT_MAX_LINES) { // as -l does; what else may lack a value is fairpar's own
		(void)take_number(p, "", &value);
	}
	return take_option(p, id, /* by_letter */ false, value);
}

static int refuse_letter(enum option_match match, const char *word, const char *letter, const char *instead) {
	struct buf shown = BUF_INIT;
	if ((unsigned char)*letter >= 0x80) { // a part of one
		buf_adds(&shown, text_shows(word));
	} else {
		buf_printf(&shown, "-%s", text_show(letter, 1));
		if (letter > word + 1) {
			buf_printf(&shown, " in '%s'", text_shows(word));
		}
	}
	refuse_name(match, buf_str(&shown), NULL, instead);
	buf_fini(&shown);
	return -1;
}

// -dry-run would be -d ry-run.
static int refuse_single_dash(const char *word) {
	enum option_id id;
	size_t len = strcspn(word + 1, "=");
	if (!option_is_meant(word + 1, len, &id)) {
		return 0;
	}
	diag_error("%s is read as single letters; did you mean --%.*s?", text_shows(word), (int)len, word + 1);
	return -1;
}

// -abc, -n5 or -n 5
static int take_letters(struct parser *p, const char *word) {
	if (refuse_single_dash(word) != 0) {
		return -1;
	}
	for (const char *letter = word + 1; *letter && !p->done; ++letter) {
		enum option_id id;
		const char *instead;
		enum option_match match = option_find_short(*letter, &id, &instead);
		if (match != MATCH_OPTION) {
			return refuse_letter(match, word, letter, instead);
		}
		const char *value = NULL;
		const struct option_info *option = &option_table[id];
		bool takes_value = option_takes_value(option);
		bool may_lack = option_value_may_follow(option) && *letter >= 'a'; // -i, but not -I
		if (option_value_is_optional(option) && !option_value_may_follow(option)) {
			takes_value = take_number(p, letter + 1, &value);
		} else if (takes_value && letter[1]) {
			value = letter + 1;
		} else if (takes_value && (!may_lack || value_follows(p, option)) && next_value(p, id, &value) != 0) {
			return -1;
		}
		if (take_option(p, id, /* by_letter */ true, value) != 0) {
			return -1;
		}
		if (takes_value) {
			break;
		}
	}
	return 0;
}

static int take_options(struct parser *p) {
	while (p->at < p->argc && !p->done) {
		const char *word = p->argv[p->at];
		if (word[0] != '-' || word[1] == '\0') {
			break;
		}
		++p->at;
		if (strcmp(word, "--") == 0) {
			p->is_ended = true;
			break;
		}
		if ((word[1] == '-' ? take_long_word : take_letters)(p, word) != 0) {
			return -1;
		}
	}
	return 0;
}

// ---- the command and its items ----

// Is the word `separator`, or that with a + behind it?
static bool is_this_separator(const char *word, const char *separator) {
	size_t len = strlen(separator);
	return strncmp(word, separator, len) == 0 && (word[len] == '\0' || strcmp(word + len, "+") == 0);
}

static bool is_separator(const struct parser *p, const char *word) {
	return is_this_separator(word, p->items.arg_sep) || is_this_separator(word, p->items.arg_file_sep);
}

// One of ::: :::: :::+ ::::+ and the words up to the next one.
static int take_group(struct parser *p) {
	const char *separator = p->argv[p->at++];
	int start = p->at;
	while (p->at < p->argc && !is_separator(p, p->argv[p->at])) {
		++p->at;
	}
	bool names_files = is_this_separator(separator, p->items.arg_file_sep);
	size_t len = strlen(names_files ? p->items.arg_file_sep : p->items.arg_sep);
	bool links = separator[len] == '+'; // to the source before it, if there is one
	if (!names_files) {
		// no items, as of an unmatched ::: *.x under nullglob, are no jobs; GNU parallel turns to stdin then
		bool linked = links && p->options->nsources > 0;
		struct source_config *source = add_source(p);
		source->kind = FROM_ARGS;
		source->args = p->argv + start;
		source->nargs = (size_t)(p->at - start);
		source->linked = linked;
		return 0;
	}
	if (start == p->at) {
		diag_error("%s needs the name of a file", separator);
		return -1;
	}
	for (int i = start; i < p->at; ++i) {
		if (add_file_source(p, p->argv[i], links && p->options->nsources > 0, separator) != 0) {
			return -1;
		}
	}
	return 0;
}

static int take_command(struct parser *p) {
	struct options *o = p->options;
	int start = p->at;
	while (p->at < p->argc && !is_separator(p, p->argv[p->at])) {
		++p->at;
	}
	o->command = p->argv + start;
	o->ncommand = (size_t)(p->at - start);
	while (p->at < p->argc) {
		if (take_group(p) != 0) {
			return -1;
		}
	}
	return 0;
}

// With a manifest the words are names of its batches. A name is no command that could have options of its own, so options
// may stand between the names and behind them.
static int take_names(struct parser *p) {
	struct options *o = p->options;
	o->names = xcalloc((size_t)(p->argc - p->at) + 1, sizeof(*o->names));
	while (p->at < p->argc && !p->done) {
		const char *word = p->argv[p->at];
		if (!p->is_ended && word[0] == '-' && word[1] != '\0') {
			if (take_options(p) != 0) {
				return -1;
			}
			continue;
		}
		if (is_separator(p, word)) {
			diag_error("%s cannot be combined with -f: items belong in the manifest, under the key 'args' of a batch", word);
			return -1;
		}
		if (word[0] == '\0') {
			diag_error("the name of a batch must not be empty");
			return -1;
		}
		o->names[o->nnames++] = word;
		++p->at;
	}
	return 0;
}

// ---- what must fit together ----

// Decides whether stdin is a source (DESIGN §15): where nothing else gives items.
static int settle_sources(struct parser *p) {
	struct options *o = p->options;
	bool is_needed = o->nsources == 0 && o->nbatch_files == 0;
	if (o->resume == RESUME_RETRY) { // as in GNU parallel: what else is said of commands and items does not matter
		o->ncommand = o->nsources = 0;
		o->header = false;
		free(o->colsep);
		o->colsep = NULL;
		return 0;
	}
	if (o->nsources == 0 && o->nbatch_files > 0 && (o->batch || o->batch_by)) {
		diag_error("--%s has no items: beside --batch NAME=FILE, stdin is read by '--arg-file -' only",
		           o->batch ? "batch NAME" : "batch-by");
		return -1;
	}
	if (is_needed) {
		bool is_terminal = isatty(STDIN_FILENO) == 1;
		if (is_terminal && o->ncommand == 0) {
			struct buf text = BUF_INIT;
			help_concise(&text);
			int result = write_all(STDERR_FILENO, buf_str(&text), text.len);
			(void)result; // there is nowhere else to say so
			buf_fini(&text);
			return -1;
		}
		if (is_terminal && !o->quiet) {
			diag_warn("reading items from the terminal: end them with Ctrl-D, or give them behind ':::'");
		}
		add_source(p);
	}
	return 0;
}

// What does nothing beside something else: taken, as GNU parallel takes it, but not in silence.
static void settle_output(struct parser *p) {
	struct options *o = p->options;
	if (o->tty && !p->given[OPT_GROUP] && !p->given[OPT_LINE_BUFFER]) {
		o->output = OUTPUT_UNGROUP; // an editor draws on the terminal
	}
	o->keep_order = o->keep_order && !p->given[OPT_NO_KEEP_ORDER]; // in any order, as with GNU parallel
	o->output_given = o->dry_run || o->tty || p->given[OPT_GROUP] || p->given[OPT_LINE_BUFFER] || p->given[OPT_UNGROUP];
	if (o->dry_run) {
		o->output = OUTPUT_GROUP; // as in GNU parallel: there is nothing but the command to write
	}
	if (o->output != OUTPUT_UNGROUP) {
		return;
	}
	static const enum option_id idle[] = {OPT_KEEP_ORDER, OPT_TAG, OPT_TAGSTRING, OPT_COLOR_FAILED};
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); ++i) {
		if (p->given[idle[i]] && !o->quiet) {
			diag_warn("--%s has no effect with --ungroup", option_table[idle[i]].name);
		}
	}
	o->keep_order = o->tag = false;
	free(o->tagstring);
	o->tagstring = NULL;
}

static int settle_blocks(struct parser *p) {
	if (block_options_settle(p->options, p->given) != 0) {
		return -1;
	}
	if (p->options->pipe == PIPE_STREAM) {
		return claim_stdin(p, "--pipe");
	}
	return p->options->tee ? settle_sources(p) : 0;
}

static int settle(struct parser *p) {
	struct options *o = p->options;
	if (option_pairs_check(o, p->given) != 0 || option_log_check(o) != 0 || option_batches_check(o) != 0) {
		return -1;
	}
	if (o->pipe ? settle_blocks(p) != 0 : settle_sources(p) != 0) {
		return -1;
	}
	if (item_options_settle(o, &p->items) != 0) {
		return -1;
	}
	if (o->workdir && strcmp(o->workdir, "...") == 0) {
		o->workdir = o->own_workdir = option_own_workdir();
		if (!o->workdir) {
			return -1;
		}
	}
	if (p->given[OPT_SHOW_LIMITS] && packing_show_limits(&o->packing) != 0) {
		return -1;
	}
	if (!o->pipe && (block_options_refuse(o) != 0 || packing_options_settle(o, p->given) != 0)) {
		return -1;
	}
	settle_output(p);
	return 0;
}

// What is said of all batches on a command line has its place in the manifest, where it can be said of each.
static int settle_manifest(struct parser *p) {
	struct options *o = p->options;
	for (int id = 0; id < NOPTIONS; ++id) {
		if (p->given[id] && !option_goes_with_manifest(&option_table[id])) {
			return option_fail((enum option_id)id, "cannot be combined with -f: %s", option_table[id].instead);
		}
	}
	if (option_pairs_check(o, p->given) != 0 || option_log_check(o) != 0) {
		return -1;
	}
	if (!p->given[OPT_TERM_SEQ]) {
		job_options_default_term_seq(o, "TERM,10000,KILL,25"); // DESIGN §15: such jobs are larger, and have more to put in order
	}
	settle_output(p);
	return 0;
}

// All words are the command; ':::' in it is most likely a mistake.
static enum mode take_sem(struct parser *p) {
	const struct options *o = p->options;
	if (o->manifest) {
		diag_error("--manifest cannot be combined with a semaphore: it runs one command");
		return MODE_ERROR;
	}
	for (int i = p->at; i < p->argc; ++i) {
		if (is_separator(p, p->argv[i])) {
			diag_error("a semaphore runs one command without items: quote '%s' if it is part of it", p->argv[i]);
			return MODE_ERROR;
		}
	}
	if (option_pairs_check(o, p->given) != 0 || option_log_check(o) != 0) {
		return MODE_ERROR;
	}
	if (option_semaphore_settle(p->options, p->argv + p->at, (size_t)(p->argc - p->at)) != 0) {
		return MODE_ERROR;
	}
	settle_output(p);
	return MODE_SEM;
}

// The words behind the options, and what all of them together mean.
static enum mode take_rest(struct parser *p) {
	const struct options *o = p->options;
	if (o->manifest && !o->sem.is_on && take_names(p) != 0) {
		return MODE_ERROR;
	}
	if (p->done) {
		return MODE_EXIT;
	}
	if (option_look_check(o, p->given, p->argc - p->at) != 0) {
		return MODE_ERROR;
	}
	if (o->from_log && !o->manifest) { // with a manifest it is refused below
		return MODE_RETELL;
	}
	if (o->sem.is_on) {
		return take_sem(p);
	}
	if (o->sem.waits) {
		option_fail(OPT_WAIT, "waits for the jobs of a semaphore: name it with --id, or add --semaphore");
		return MODE_ERROR;
	}
	if (!o->manifest) {
		if (o->check || o->list) {
			option_fail(o->check ? OPT_CHECK : OPT_LIST, "needs a manifest: name it with -f FILE");
			return MODE_ERROR;
		}
		return take_command(p) == 0 && settle(p) == 0 ? MODE_RUN : MODE_ERROR;
	}
	if (settle_manifest(p) != 0) {
		return MODE_ERROR;
	}
	return o->check || o->list ? MODE_SHOW : MODE_RUN;
}

enum mode options_parse(struct options *ret_options, int argc, char *argv[]) {
	*ret_options = (struct options){
		.argv = argv,
		.delimiter = '\n',
		.max_long = 64,
		.queue_mem = (size_t)64 << 20,
		.attempts = 1,
		.tokens = tokens_default,
	};
	job_options_default_term_seq(ret_options, "TERM,200,TERM,100,TERM,50,KILL,25");
	struct parser p = {
		.options = ret_options,
		.argv = argv,
		.argc = argc,
		.at = argc > 0 ? 1 : 0,
		.items = ITEM_OPTIONS_INIT,
	};
	ret_options->sem.is_on = argc > 0 && option_semaphore_is_called(argv[0]);
	if (take_options(&p) != 0) {
		return MODE_ERROR;
	}
	enum mode mode = p.done ? MODE_EXIT : take_rest(&p);
	if (mode == MODE_EXIT) {
		return mode;
	}
	if (mode == MODE_ERROR || option_files_check(ret_options) != 0) {
		return MODE_ERROR;
	}
	option_idle_warn(ret_options, p.given);
	if ((mode == MODE_RUN && !ret_options->manifest) || mode == MODE_SEM) {
		option_profile_warn(ret_options, p.given);
	}
	return mode;
}

void options_fini(struct options *options) {
	for (size_t i = 0; i < options->nbatch_files; ++i) {
		free(options->batch_files[i].name);
	}
	for (size_t i = 0; i < options->nsettings; ++i) {
		free(options->settings[i].pattern);
	}
	free(options->batch_files);
	free(options->settings);
	free(options->sources);
	free(options->names);
	free(options->then);
	free(options->colsep);
	free(options->delimiter_text);
	free(options->tagstring);
	free(options->own_workdir);
	free(options->sem.line);
	free(options->reports);
	*options = (struct options){.status = options->status};
}
