// The option table as data: names and texts of every option, and the search for the option of a typed name.

#pragma once

#include <stdbool.h>
#include <stddef.h>

// Each file that includes the table defines the macros of the rows that it wants; the other rows become nothing.
#define GROUP(id, ...) id,
enum option_group {
#include "cli/options.def"
	NGROUPS
};

#define OPTION(id, ...) id,
enum option_id {
#include "cli/options.def"
	NOPTIONS
};

#define WITH_MANIFEST ""
#define ONE_COMMAND "a semaphore runs one command, not batches"
#define MANIFEST_KEY(name) "use the key '" name "' in the manifest, under 'defaults' for all batches"

// One row of the table. The comment at the top of options.def describes the columns.
struct option_info {
	const char *name, *aliases, *shorts, *arg;
	const char *spellings;      // other names that GNU parallel has for the option; NULL: GNU parallel does not have the option
	enum option_group group;
	const char *complete, *instead, *brief, *text;
};

extern const struct option_info option_table[NOPTIONS];
extern const struct option_section { const char *topic, *heading; } option_sections[NGROUPS];

// The topics of all sections, separated by blanks.
extern const char *const option_topics;

#define LIST(name, ...) LIST_##name,
enum option_list {
#include "cli/options.def"
	NLISTS
};

// The options of each list, in the order of its row, and NOPTIONS behind the last one.
extern const enum option_id *const option_lists[NLISTS];

// How an option gets its value.
enum value_way {
	VALUE_NEVER,
	VALUE_ALWAYS,
	VALUE_JOINED,     // the value may be left out, and is given as --name=VALUE only
	VALUE_MAY_FOLLOW, // the value may be left out; it may be the next word, unless that word begins with a dash
};

static inline enum value_way option_value_way(const struct option_info *option) {
	const char *arg = option->arg;
	return arg[0] == '\0' ? VALUE_NEVER : arg[0] != '[' ? VALUE_ALWAYS : arg[1] == '=' ? VALUE_JOINED : VALUE_MAY_FOLLOW;
}

enum option_match {
	MATCH_OPTION,    // the name is that of *ret_id, an option of fairpar
	MATCH_FOREIGN,   // GNU parallel has such an option, and fairpar does not: *ret_suggestion says what to do instead
	MATCH_AMBIGUOUS, // a prefix of several of GNU parallel's names: *ret_names (caller frees) lists the options of fairpar that may be meant
	MATCH_SIMILAR,   // no option has the name, but *ret_suggestion (static) is a similar one
	MATCH_NONE,
};

// Finds the option that the long name `name` (`len` bytes, without the dashes) means. `name` is a full name that fairpar has; or, for an option that
// GNU parallel has, too, another name of the option there, or a prefix that only one option of GNU parallel has. A prefix of a name that only
// fairpar has is no match, so that a new option can never break a script. For an unknown name, *ret_suggestion is set by option_suggest().
enum option_match option_find_long(const char *name, size_t len, enum option_id *ret_id, char **ret_names,
                                   const char **ret_suggestion);

// True, with the option in *ret_id, if fairpar has an option of that full name.
bool option_is_name(const char *name, size_t len, enum option_id *ret_id);

// True, with the option in *ret_id, if a word behind a single dash was probably meant as the long name of an option, not as
// letters of several options: the word is the main name of an option (3 bytes or more), or another of its names (5 bytes or more).
bool option_is_long_name(const char *word, size_t len, enum option_id *ret_id);

// Finds the option of that letter: MATCH_OPTION with *ret_id, MATCH_NONE, or MATCH_FOREIGN with what to do instead (static).
enum option_match option_find_short(char letter, enum option_id *ret_id, const char **ret_instead);

// For a name that no option has, sets *ret_suggestion (static) to an option that may be meant: another program calls the option by this name, or the
// option's own name begins with this name, or is the most similar to it. Returns false, with *ret_suggestion NULL, if there is no such option.
bool option_suggest(const char *name, size_t len, const char **ret_suggestion);
