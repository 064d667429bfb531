// Which command line runs again what failed in a run, by the joblog that it left.
//
// The words are read as options.c reads them, but nothing is checked: they have been good once.

#include "cli/options.h"

#include "cli/parser.h"
#include "shell/quoting.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum use { KEPT, DROPPED, REFUSED }; // of an option; REFUSED: no such line works

enum { ITEMS_MAX = 2000 }; // bytes of a line with items that somebody would copy

struct argv_walk {
	struct option_reader words;
	enum again again;
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
	FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
	buf_add_escaped(&shown, word, strlen(word), SIZE_MAX);
	bool is_same = strcmp(buf_str(&shown), word) == 0;
	buf_adds(line, line->len > 0 ? " " : "");
	if (is_plain_word(word)) {
		buf_adds(line, word);
	} else {
		shell_quote(line, word, strlen(word));
	}
	return is_same;
}

// True for a file that is gone when the line is run: stdin, or what a shell has substituted for <(…).
static bool is_transient(const char *path) {
	return strcmp(path, "-") == 0 || strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/", 6) == 0 ||
	       strcmp(path, "/dev/stdin") == 0;
}

// ---- options ----

// True for what is more than the commands, for what makes other jobs of the same items, and for a joblog that has failed jobs of
// other runs, too.
static bool is_refused(enum again again, enum option_id id, const char *value) {
	return (again == AGAIN_COMMANDS && option_is_listed(LIST_NOT_BY_COMMANDS, id)) ||
	       (again == AGAIN_ITEMS && option_is_listed(LIST_NOT_BY_ITEMS, id)) ||
	       (again != AGAIN_MANIFEST && (option_table[id].group == GROUP_PIPE || (id == OPT_JOBLOG && value && value[0] == '+')));
}

static enum use use_of(struct argv_walk *walk, enum option_id id, const char *value) {
	const char *file = walk->again == AGAIN_ITEMS && id == OPT_BATCH && value ? strchr(value, '=') : NULL;
	walk->has_source = walk->has_source || id == OPT_ARG_FILE || file;
	value = file ? file + 1 : value;
	bool is_of_batch = id == OPT_RATE && value && strchr(value, '='); // commands by themselves are in none
	bool is_dropped = walk->again == AGAIN_COMMANDS ? is_of_batch || !option_is_listed(LIST_OF_COMMANDS, id)
	                : option_is_listed(LIST_OF_ONE_RUN, id) && !(walk->again == AGAIN_ITEMS && id == OPT_HALT);
	if (is_refused(walk->again, id, value)) {
		return REFUSED;
	}
	return is_dropped ? DROPPED : value && is_transient(value) ? REFUSED : KEPT;
}

// Appends the option as it was given, if it stays; a letter apart from those around it. Returns false if it cannot be.
static bool add_option(struct argv_walk *walk, const struct option_word *option) {
	enum use use = use_of(walk, option->id, option->value);
	if (use != KEPT) {
		return use == DROPPED;
	}
	FP_CLEANUP(buf_fini) struct buf word = BUF_INIT;
	if (option->letter != '\0') {
		buf_printf(&word, "-%c%s", option->letter, option->value && !option->is_apart ? option->value : "");
	} else {
		buf_adds(&word, option->word);
	}
	return add_word(walk->line, buf_str(&word)) && (!option->is_apart || add_word(walk->line, option->value));
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
	bool goes_on = walk->again != AGAIN_COMMANDS; // with the words behind the options
	return reading != READ_ERROR && (reading != READ_DASHES || !goes_on || add_word(walk->line, "--"));
}

// The command and its items.
static bool add_command(struct argv_walk *walk) {
	bool names_files = false, ok = true;
	while (ok && *walk->words.at) {
		const char *word = *walk->words.at++;
		size_t colons = strspn(word, ":");
		bool is_separator = (colons == 3 || colons == 4) && (word[colons] == '\0' || strcmp(word + colons, "+") == 0);
		names_files = is_separator ? colons == 4 : names_files;
		walk->has_source = walk->has_source || is_separator;
		ok = !(names_files && is_transient(word)) && add_word(walk->line, word);
	}
	return ok && walk->has_source && walk->line->len <= ITEMS_MAX;
}

static bool add_all(struct argv_walk *walk, const char *joblog) {
	bool ok = !is_transient(joblog) && *walk->words.at && add_word(walk->line, *walk->words.at++);
	buf_adds(walk->line, walk->again == AGAIN_COMMANDS ? " --retry-failed --joblog" : " --resume-failed");
	ok = ok && (walk->again != AGAIN_COMMANDS || add_word(walk->line, joblog)) && add_options(walk);
	while (ok && walk->again == AGAIN_MANIFEST && *walk->words.at) { // names of batches, and options among them
		ok = add_word(walk->line, *walk->words.at++) && (walk->is_ended || add_options(walk));
	}
	return ok && (walk->again != AGAIN_ITEMS || add_command(walk));
}

bool option_add_again(struct buf *buf, char *const *argv, const char *joblog, enum again again) {
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	struct argv_walk walk = {.words = {.at = argv, .is_quiet = true}, .again = again, .line = &line};
	bool ok = add_all(&walk, joblog);
	if (ok) {
		buf_add(buf, line.data, line.len);
	}
	return ok;
}
