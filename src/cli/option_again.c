// Which command line runs again what failed in a run, by the joblog that it left.
//
// The words are read as options.c reads them, but nothing is checked: they have been good once.

#include "cli/option_again.h"

#include "cli/option_words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum use { KEPT, DROPPED, REFUSED }; // of an option; REFUSED: no such line works

enum { REST_MAX = 2000 }; // bytes of a line with items that somebody would copy

struct argv_walk {
	struct option_reader words;
	bool has_manifest;
	bool is_rest;            // the same command line, for what is not done
	bool has_source;         // items come from what can be read again
	bool is_ended;           // the options, by "--"
	struct buf *line;
};

// ---- words ----

static bool is_plain_word(const char *word) {
	return *word != '\0' && word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	                                    "_@%+=:,./-")] == '\0';
}

// The word behind a blank, as a shell reads it back; false if it holds what cannot be shown and copied.
static bool add_word(struct buf *line, const char *word) {
	struct buf shown = BUF_INIT;
	buf_add_escaped(&shown, word, strlen(word), SIZE_MAX);
	bool is_same = strcmp(buf_str(&shown), word) == 0;
	buf_fini(&shown);
	buf_adds(line, line->len > 0 ? " " : "");
	if (is_plain_word(word)) {
		buf_adds(line, word);
		return true;
	}
	buf_addc(line, '\'');
	for (; *word != '\0'; ++word) {
		if (*word == '\'') {
			buf_adds(line, "'\\''");
		} else {
			buf_addc(line, *word);
		}
	}
	buf_addc(line, '\'');
	return is_same;
}

// A file that is gone when the line is read: stdin, or what a shell has put in the place of <(…).
static bool is_passing(const char *path) {
	return strcmp(path, "-") == 0 || strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/", 6) == 0 ||
	       strcmp(path, "/dev/stdin") == 0;
}

// ---- options ----

static bool is_among(enum option_id id, const enum option_id *ids, size_t n) {
	for (size_t i = 0; i < n; ++i) {
		if (ids[i] == id) {
			return true;
		}
	}
	return false;
}

#define IS_AMONG(id, ids) is_among(id, ids, sizeof(ids) / sizeof((ids)[0]))

// What a manifest's run is told again, but for what it says of a whole run, or writes a file of its own.
static enum use use_with_manifest(enum option_id id, const char *value) {
	static const enum option_id dropped[] = {
		OPT_HALT, OPT_TRACE_SERVICE, OPT_LOG, OPT_LOG_OUTPUT, OPT_REPORT, OPT_TRACE, OPT_RESUME, OPT_RESUME_FAILED,
	};
	if (IS_AMONG(id, dropped)) {
		return DROPPED;
	}
	return value && is_passing(value) ? REFUSED : KEPT;
}

// What matters for commands that are complete; what gets its input from fairpar, or has steps, is more than its command.
static enum use use_without_input(enum option_id id, const char *value) {
	static const enum option_id kept[] = {
		OPT_JOBS, OPT_SHELL, OPT_TIMEOUT, OPT_RETRIES, OPT_NICE, OPT_WORKDIR, OPT_TMPDIR, OPT_SLOT_VAR, OPT_LOAD,
		OPT_MEMFREE, OPT_DELAY, OPT_TTY, OPT_LINE_BUFFER, OPT_UNGROUP, OPT_KEEP_ORDER, OPT_EXIT_STATUS,
	};
	static const enum option_id refused[] = {OPT_THEN, OPT_ON_FAILURE, OPT_DRY_RUN};
	if (IS_AMONG(id, refused) || option_table[id].group == GROUP_PIPE ||
	    (id == OPT_JOBLOG && value && value[0] == '+')) { // which holds what failed in other runs, too
		return REFUSED;
	}
	if (!IS_AMONG(id, kept)) {
		return DROPPED;
	}
	return value && is_passing(value) ? REFUSED : KEPT;
}

// The same command line: what can be read again, and tells the jobs of this run by their rows.
static enum use use_with_input(struct argv_walk *walk, enum option_id id, const char *value) {
	static const enum option_id refused[] = {OPT_RETRY_FAILED, OPT_PACK, OPT_ARG_SEP, OPT_ARG_FILE_SEP};
	const char *file = value && id == OPT_BATCH ? strchr(value, '=') : NULL;
	walk->has_source = walk->has_source || id == OPT_ARG_FILE || file;
	if (IS_AMONG(id, refused) || option_table[id].group == GROUP_PIPE || (id == OPT_JOBLOG && value && value[0] == '+')) {
		return REFUSED;
	}
	return id == OPT_HALT ? KEPT : use_with_manifest(id, file ? file + 1 : value);
}

static enum use use_of(struct argv_walk *walk, enum option_id id, const char *value) {
	if (walk->is_rest) {
		return use_with_input(walk, id, value);
	}
	return walk->has_manifest ? use_with_manifest(id, value) : use_without_input(id, value);
}

// Appends the option as it was given, if it stays; a letter apart from those around it. Returns false if it cannot be.
static bool add_option(struct argv_walk *walk, const struct option_word *option) {
	enum use use = use_of(walk, option->id, option->value);
	if (use != KEPT) {
		return use == DROPPED;
	}
	struct buf word = BUF_INIT;
	if (option->letter != '\0') {
		buf_printf(&word, "-%c%s", option->letter, option->value && !option->is_apart ? option->value : "");
	} else {
		buf_adds(&word, option->word);
	}
	bool ok = add_word(walk->line, buf_str(&word)) && (!option->is_apart || add_word(walk->line, option->value));
	buf_fini(&word);
	return ok;
}

static bool add_options(struct argv_walk *walk) {
	struct option_word option;
	enum option_reading reading;
	while ((reading = option_read(&walk->words, &option)) == READ_OPTION) {
		if (!add_option(walk, &option)) {
			return false;
		}
	}
	walk->is_ended = walk->is_ended || reading == READ_DASHES;
	bool goes_on = walk->has_manifest || walk->is_rest; // with the words behind the options
	return reading != READ_ERROR && (reading != READ_DASHES || !goes_on || add_word(walk->line, "--"));
}

static const char *next_word(struct argv_walk *walk) {
	return *walk->words.at ? *walk->words.at++ : NULL;
}

// The command and its items.
static bool add_command(struct argv_walk *walk) {
	bool names_files = false, ok = true;
	while (ok && *walk->words.at) {
		const char *word = next_word(walk);
		size_t colons = strspn(word, ":");
		bool is_separator = (colons == 3 || colons == 4) && (word[colons] == '\0' || strcmp(word + colons, "+") == 0);
		names_files = is_separator ? colons == 4 : names_files;
		walk->has_source = walk->has_source || is_separator;
		ok = !(names_files && is_passing(word)) && add_word(walk->line, word);
	}
	return ok && walk->has_source && walk->line->len <= REST_MAX;
}

static bool add_all(struct argv_walk *walk, const char *joblog) {
	bool ok = !is_passing(joblog) && *walk->words.at && add_word(walk->line, next_word(walk));
	if (ok && (walk->has_manifest || walk->is_rest)) {
		buf_adds(walk->line, " --resume-failed");
	} else if (ok) {
		buf_adds(walk->line, " --retry-failed --joblog");
		ok = add_word(walk->line, joblog);
	}
	ok = ok && add_options(walk);
	while (ok && walk->has_manifest && *walk->words.at) { // names of batches, and options among them
		ok = add_word(walk->line, next_word(walk)) && (walk->is_ended || add_options(walk));
	}
	return ok && (!walk->is_rest || add_command(walk));
}

static bool add_line(struct buf *buf, struct argv_walk walk, const char *joblog) {
	struct buf line = BUF_INIT;
	walk.line = &line;
	bool ok = add_all(&walk, joblog);
	if (ok) {
		buf_add(buf, line.data, line.len);
	}
	buf_fini(&line);
	return ok;
}

bool option_add_again(struct buf *buf, char *const *argv, const char *joblog, bool has_manifest) {
	return add_line(buf, (struct argv_walk){.words = {.at = argv, .is_quiet = true}, .has_manifest = has_manifest}, joblog);
}

bool option_add_rest(struct buf *buf, char *const *argv, const char *joblog) {
	return add_line(buf, (struct argv_walk){.words = {.at = argv, .is_quiet = true}, .is_rest = true}, joblog);
}
