// Parses the words of the command line into struct options.
//
// The words are parsed by hand: getopt_long() accepts any unique prefix of a name, and glibc and musl have different messages
// for a wrong name. The rules are those of getopt: short options can be bundled, a value is in the same word or the next one,
// and "--" or the first word that is no option ends the options. option_store.c stores arguments in the fields that the table
// names, and option_resolve.c sets what follows from all options together.

#include "cli/options.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/sync.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/parser.h"
#include "remote/slurm.h"
#include "slots/jobserver.h"
#include "slots/pool_dir.h"

#include <limits.h>
#include <string.h>

// ---- options ----

static int refuse_name(enum option_match match, const char *shown, const char *names, const char *suggestion) {
	switch (match) {
	case MATCH_FOREIGN: return diag_error("%s is not in fairpar; %s", shown, suggestion);
	case MATCH_AMBIGUOUS: return diag_error("%s may be %s: write the name in full", shown, names);
	case MATCH_SIMILAR: return diag_error("unknown option %s; did you mean --%s?", shown, suggestion);
	default: return diag_error("unknown option %s; 'fairpar --help' lists them all", shown);
	}
}

// Takes the next word as the option's value. If the value may be left out, a word that begins with a dash is no value (Getopt::Long, ":s").
static int read_value(struct parser *parser, bool is_needed) {
	const struct option_info *info = &option_table[parser->id];
	if (!*parser->at && is_needed) {
		return diag_error("--%s needs a value: %s", info->name, info->arg);
	}
	if (is_needed || (*parser->at && (*parser->at)[0] != '-')) {
		parser->value = *parser->at++;
	}
	return 0;
}

// Reads the number of an option such as -l, if it has one: from `rest`, the rest of the word, or as in GNU parallel from the next word: -l5, -l 5.
static void read_number(struct parser *parser, const char *rest) {
	const char *text = *rest ? rest : *parser->at ? *parser->at : "";
	if (*text && text[strspn(text, "0123456789")] == '\0') {
		parser->value = text;
		parser->at += *rest == '\0';
	}
}

// Reads an option with a long name: --name, --name=value or --name value.
static int read_name(struct parser *parser, const char *word) {
	const char *name = word + 2, *value = strchr(name, '='), *suggestion = NULL;
	size_t len = value ? (size_t)(value++ - name) : strlen(name);
	FP_CLEANUP(free_later) char *names = NULL;
	enum option_match match = option_find_long(name, len, &parser->id, &names, &suggestion);
	if (match != MATCH_OPTION) {
		return refuse_name(match, text_show(word, len > 0 ? len + 2 : strlen(word)), names, suggestion);
	}
	enum value_way way = option_value_way(&option_table[parser->id]);
	if (value && way == VALUE_NEVER) {
		return diag_error("--%s takes no value ('%s')", option_table[parser->id].name, text_shows(word));
	}
	parser->value = value;
	if (!value && (way == VALUE_ALWAYS || way == VALUE_MAY_FOLLOW)) {
		return read_value(parser, way == VALUE_ALWAYS);
	}
	if (!value && parser->id == OPT_MAX_LINES) { // the next word may be the number of the option, as with -l and in GNU parallel
		read_number(parser, "");
	}
	return 0;
}

static int refuse_letter(const struct parser *parser, enum option_match match, const char *instead) {
	FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
	if ((unsigned char)*parser->letters >= 0x80) { // one byte of a character of several bytes
		buf_adds(&shown, text_shows(parser->bundle));
	} else {
		buf_printf(&shown, "-%s", text_show(parser->letters, 1));
		if (parser->letters > parser->bundle + 1) {
			buf_printf(&shown, " in '%s'", text_shows(parser->bundle));
		}
	}
	return refuse_name(match, buf_str(&shown), NULL, instead);
}

// Reads one option by its letter, in a word such as -abc, -n5 or -n 5.
static int read_letter(struct parser *parser) {
	const char *instead, *rest = parser->letters + 1;
	char letter = *parser->letters;
	enum option_match match = option_find_short(letter, &parser->id, &instead);
	if (match != MATCH_OPTION) {
		return refuse_letter(parser, match, instead);
	}
	enum value_way way = option_value_way(&option_table[parser->id]);
	bool is_needed = way == VALUE_ALWAYS || (way == VALUE_MAY_FOLLOW && letter < 'a'); // -I needs its value, -i does not
	int result = 0;
	if (way == VALUE_JOINED) {
		read_number(parser, rest);
	} else if (way != VALUE_NEVER && *rest) {
		parser->value = rest;
	} else if (way != VALUE_NEVER) {
		result = read_value(parser, is_needed);
	}
	parser->letters = *rest == '\0' || parser->value ? NULL : rest;
	return result;
}

// True, after a message, for a word such as -dry-run, which would otherwise be read as -d ry-run.
static bool is_name_with_one_dash(const char *word) {
	enum option_id id;
	size_t len = strcspn(word + 1, "=");
	if (!option_is_long_name(word + 1, len, &id)) {
		return false;
	}
	diag_error("%s is read as single letters; did you mean --%.*s?", text_shows(word), (int)len, word + 1);
	return true;
}

static int parse_options(struct parser *parser) {
	while (!parser->done) {
		const char *word = *parser->at;
		if (!parser->letters) {
			if (!word || word[0] != '-' || word[1] == '\0') {
				return 0;
			}
			++parser->at;
			if (strcmp(word, "--") == 0) {
				parser->is_ended = true;
				return 0;
			}
			if (word[1] != '-' && is_name_with_one_dash(word)) {
				return -1;
			}
			parser->bundle = word;
			parser->letters = word[1] != '-' ? word + 1 : NULL;
		}
		parser->value = NULL;
		parser->by_letter = parser->letters != NULL;
		if ((parser->by_letter ? read_letter(parser) : read_name(parser, word)) != 0) {
			return -1;
		}
		const struct option_info *info = &option_table[parser->id];
		parser->bare = option_value_way(info) == VALUE_JOINED && !parser->value && !parser->by_letter ? info->name : NULL;
		parser->options->sem.is_on |= info->group == GROUP_SEMAPHORE && parser->id != OPT_WAIT;
		if (option_store(parser) != 0) {
			return -1;
		}
	}
	return 0;
}

// ---- the command and its items ----

// True if the word is `separator`, or `separator` and a +.
static bool is_this_separator(const char *word, const char *separator) {
	size_t len = strlen(separator);
	return strncmp(word, separator, len) == 0 && (word[len] == '\0' || strcmp(word + len, "+") == 0);
}

static bool is_separator(const struct options *o, const char *word) {
	return is_this_separator(word, o->arg_sep) || is_this_separator(word, o->arg_file_sep);
}

// Skips the words up to the next separator. Returns how many were skipped.
static size_t skip_words(struct parser *parser) {
	char *const *start = parser->at;
	while (*parser->at && !is_separator(parser->options, *parser->at)) {
		++parser->at;
	}
	return (size_t)(parser->at - start);
}

// Reads one of ::: :::: :::+ ::::+ and the words up to the next separator.
static int parse_group(struct parser *parser) {
	struct options *o = parser->options;
	const char *separator = *parser->at++;
	char *const *words = parser->at;
	size_t n = skip_words(parser);
	bool names_files = is_this_separator(separator, o->arg_file_sep);
	bool links = separator[strlen(names_files ? o->arg_file_sep : o->arg_sep)] == '+'; // each new source is linked with the source before it, if there is one
	if (!names_files) {
		bool linked = links && o->nsources > 0;
		*options_add_source(o) = (struct source_config){.kind = FROM_ARGS, .args = words, .nargs = n, .linked = linked};
		return 0;
	}
	if (n == 0) {
		return diag_error("%s needs the name of a file", separator);
	}
	for (size_t i = 0; i < n; ++i) {
		if (options_add_file_source(parser, words[i], links && o->nsources > 0, separator) != 0) {
			return -1;
		}
	}
	return 0;
}

static int parse_command(struct parser *parser) {
	struct options *o = parser->options;
	o->command = parser->at;
	o->ncommand = skip_words(parser);
	if (*parser->at && !parser->at[1]) {
		++parser->at; // as in GNU parallel, a single separator with nothing behind it is ignored
	}
	while (*parser->at) {
		if (parse_group(parser) != 0) {
			return -1;
		}
	}
	return 0;
}

// With a manifest the words behind the options are names of its batches. Options of fairpar may also stand behind these names, because names,
// unlike a command, have no options of their own.
static int parse_names(struct parser *parser) {
	struct options *o = parser->options;
	while (!parser->done && *parser->at) {
		const char *word = *parser->at;
		if (!parser->is_ended && word[0] == '-' && word[1] != '\0') {
			if (parse_options(parser) != 0) {
				return -1;
			}
			continue;
		}
		if (is_separator(o, word)) {
			return diag_error("%s cannot be combined with -f: items belong in the manifest, under the key 'args' of a batch", word);
		}
		if (word[0] == '\0') {
			return diag_error("the name of a batch must not be empty");
		}
		option_add_text(&o->names, &o->nnames, word);
		++parser->at;
	}
	return 0;
}

// Takes all words as the semaphore's command; ':::' among them is most likely a mistake.
static int parse_semaphore_command(struct parser *parser) {
	char *const *words = parser->at;
	size_t n = skip_words(parser);
	if (parser->options->manifest) {
		return diag_error("--manifest cannot be combined with a semaphore, which runs one command");
	}
	if (words[n]) {
		return diag_error("a semaphore runs one command without items: quote '%s' if it is part of the command", words[n]);
	}
	return options_resolve_semaphore(parser->options, words, n);
}

static const char *pool_name(const struct parser *parser) {
	const char *env = parser->options->pool.no_inherit ? NULL : getenv("FAIRPAR_POOL");
	const char *name = parser->options->pool.name;
	return name ? name : env && env[0] ? env : parser->options->given[OPT_POOL] ? "default" : NULL;
}

// Checks the name of a pool or of a run (`kind`); NULL is fine.
static int check_name(const char *kind, const char *name) {
	return !name || pool_dir_is_valid_name(name) ? 0
		: diag_error("a %s cannot be called '%s': a name has at most 64 letters, digits, '.', '_' and '-', and no '.' in front", kind, text_shows(name));
}

// Checks options that are about this run itself: --memory SIZE needs --single, and --weight N and --priority N without a batch need a pool.
static int check_own_settings(const struct options *options) {
	if (options->pool.memory > 0 && !options->pool.single) {
		const char *shown = text_shows(options->pool.memory_text);
		return option_fail(OPT_MEMORY, "must be auto or none, not '%s': --memfree %s starts jobs only while that much is available, and "
		                   "'memory: %s' in a manifest is what each job needs", shown, shown, shown);
	}
	const char *weight = options->pool.weight_text, *text = weight ? weight : options->pool.priority_text;
	if (options->pool.name || !text) {
		return 0;
	}
	return option_fail(weight ? OPT_WEIGHT : OPT_PRIORITY, "must be BATCH=N, not '%s': a number alone is for a run in a pool (--pool)", text);
}

// Checks the options of --single, or of --status for a pool. With --single all words are the command.
static int parse_pool_command(struct parser *parser) {
	struct options *o = parser->options;
	bool single = o->pool.single, has_words = *parser->at;
	if (option_others_check(o, single ? OPT_SINGLE : OPT_STATUS, single ? LIST_WITH_SINGLE : LIST_WITH_STATUS) != 0) {
		return -1;
	}
	if (o->given[OPT_MEMORY] && o->pool.memory == 0) {
		return option_fail(OPT_MEMORY, "must be a size with --single (the memory that its command needs), not '%s'", text_shows(o->pool.memory_text));
	}
	if (o->timeout_percent > 0) {
		return option_fail(OPT_TIMEOUT, "with --single must be a time, not a percentage");
	}
	if (single != has_words) {
		return diag_error("%s", single ? "--single needs a command" : "--status takes no command: it runs nothing");
	}
	o->command = parser->at;
	return o->pool.name ? 0 : diag_error(single ? "--single needs a pool: add --pool" : "--status needs a pool or a run: add --pool, or --run NAME");
}

// Reads a number of seconds, or a time as squeue's %L prints it. *ret_seconds is 0 if there is no end. Returns 0 or -1.
static int read_time_left(const char *text, uint64_t *ret_seconds) {
	long number;
	int64_t seconds;
	*ret_seconds = 0;
	if (parse_number(text, 1, INT_MAX, &number) == 0) {
		*ret_seconds = (uint64_t)number;
	} else if (slurm_seconds(text, &seconds) != 0) {
		return -1;
	} else if (seconds != SLURM_UNLIMITED) {
		*ret_seconds = seconds > 0 ? (uint64_t)seconds : 1;
	}
	return 0;
}

// Checks the options of a worker, whose jobs come from another fairpar. Returns 0, or -1 after a message.
static int check_worker(const struct parser *parser) {
	struct options *o = parser->options;
	if (*parser->at) {
		diag_error("--worker takes no command: it runs the jobs that another fairpar sends");
	} else if (o->worker_left && read_time_left(o->worker_left, &o->worker_seconds) != 0) {
		diag_error("--worker: must be a number of seconds, or a time as Slurm prints it, not '%s'", text_shows(o->worker_left));
	} else {
		return 0;
	}
	return -1;
}

// True under `make -n`, which asks to run nothing (GNU make manual, "POSIX Jobserver Interaction").
static bool make_is_dry_run(const struct options *o) {
	struct jobserver_flags flags;
	jobserver_parse(o->pool.no_inherit ? NULL : getenv("MAKEFLAGS"), &flags);
	jobserver_flags_fini(&flags);
	return flags.dry_run;
}

// Parses the words behind the options, and resolves what all options together mean.
static enum mode parse_rest(struct parser *parser) {
	const struct options *o = parser->options;
	if (o->manifest && !o->sem.is_on && parse_names(parser) != 0) {
		return MODE_ERROR;
	}
	if (parser->done) {
		return MODE_EXIT;
	}
	options_resolve(parser->options);
	if (o->from_log && !o->manifest) { // with a manifest, options_resolve_manifest() refuses --from-log
		int error = option_others_check(o, OPT_FROM_LOG, LIST_WITH_FROM_LOG);
		if (!error && *parser->at) {
			error = diag_error("--from-log takes neither a command nor names of batches: it runs nothing");
		}
		return error ? MODE_ERROR : MODE_FROM_LOG;
	}
	parser->options->pool.name = o->sem.is_on ? NULL : pool_name(parser);
	if (check_name("pool", o->pool.name) != 0 || check_own_settings(o) != 0 || check_name("run", o->control.run) != 0) {
		return MODE_ERROR;
	}
	if (o->sem.is_on) {
		return parse_semaphore_command(parser) == 0 ? MODE_SEM : MODE_ERROR;
	}
	parser->options->control.request = o->manifest ? NOPTIONS : options_request(o);
	if (o->control.request != NOPTIONS) {
		return options_resolve_request(parser->options, parser->at) == 0 ? MODE_ASK : MODE_ERROR;
	}
	if ((o->pool.single || o->pool.status != POOL_SILENT) && !o->manifest) {
		return parse_pool_command(parser) == 0 ? MODE_POOL : MODE_ERROR;
	}
	if (o->given[OPT_WORKER] && !o->manifest) {
		return check_worker(parser) == 0 ? MODE_WORKER : MODE_ERROR;
	}
	parser->options->dry_run |= make_is_dry_run(o);
	if (!o->manifest) {
		return parse_command(parser) == 0 && options_resolve_command(parser) == 0 ? MODE_RUN : MODE_ERROR;
	}
	return options_resolve_manifest(parser->options) != 0 ? MODE_ERROR : o->check || o->given[OPT_LIST] ? MODE_SHOW : MODE_RUN;
}

enum mode options_parse(struct options *ret_options, int argc, char *argv[]) {
	*ret_options = (struct options){
		.argv = argv,
		.arg_sep = ":::",
		.arg_file_sep = "::::",
		.input.delimiter = '\n',
		.max_long = 64,
		.pilots = 8,
		.queue_mem = (size_t)64 << 20,
		.warm = WARM_DEFAULT,
		.attempts = 1,
		.tokens = tokens_default,
		.pool.width = 1,
		.pool.wait = TIME_NEVER,
		.pool.weight = 1,
	};
	struct parser parser = {.options = ret_options, .at = argv + (argc > 0 ? 1 : 0)};
	ret_options->sem.is_on = argc > 0 && strcmp(path_base(argv[0]), "sem") == 0;
	if (parse_options(&parser) != 0) {
		return MODE_ERROR;
	}
	enum mode mode = parser.done ? MODE_EXIT : parse_rest(&parser);
	if (mode == MODE_EXIT) {
		return mode;
	}
	if (!ret_options->given[OPT_TERM_SEQ]) { // a manifest's jobs are larger, and may take longer to clean up
		const char *error, *text = ret_options->manifest ? "TERM,10000,KILL,25" : TERM_SEQ_DEFAULT;
		verify(term_seq_parse(text, &ret_options->term_seq, &error) == 0);
	}
	if (mode == MODE_ERROR || option_files_check(ret_options, NULL, NULL) != 0) {
		return MODE_ERROR;
	}
	option_ineffective_warn(ret_options);
	if ((mode == MODE_RUN && !ret_options->manifest) || mode == MODE_SEM) {
		option_profile_warn(ret_options);
	}
	return mode;
}

void options_fini(struct options *options) {
	arena_fini(&options->texts);
	free(options->batch_files);
	free(options->settings);
	free(options->sources);
	free(options->names);
	free(options->then);
	free(options->env);
	free(options->transferred);
	free(options->returned);
	free(options->basefiles);
	sshlogins_fini(&options->hosts);
	host_sources_free(options->host_sources);
	free(options->reports);
	*options = (struct options){.status = options->status};
}
