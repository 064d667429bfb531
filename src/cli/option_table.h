// The option table as data: names and texts of every option, and the search for the option of a typed name.

#pragma once

#include <stdbool.h>
#include <stddef.h>

// Each reader of the table defines the macros of the rows that it wants; the others are nothing.
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

// One row; see options.def for what the columns hold.
struct option_info {
	const char *name, *aliases, *shorts, *arg;
	const char *spellings;      // more that GNU parallel calls it; NULL: it has no such option
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

// The options of each list, in its order, and NOPTIONS behind the last one.
extern const enum option_id *const option_lists[NLISTS];

// How an option has its value.
enum value_way {
	VALUE_NEVER,
	VALUE_ALWAYS,
	VALUE_JOINED,     // it may be left out, and is given as --name=VALUE only
	VALUE_MAY_FOLLOW, // it may be left out, and is also taken from the next word, if that does not begin with a dash
};

static inline enum value_way option_value_way(const struct option_info *option) {
	const char *arg = option->arg;
	return arg[0] == '\0' ? VALUE_NEVER : arg[0] != '[' ? VALUE_ALWAYS : arg[1] == '=' ? VALUE_JOINED : VALUE_MAY_FOLLOW;
}

enum option_match {
	MATCH_OPTION,    // *ret_id
	MATCH_FOREIGN,   // an option that others have, and fairpar has not: *ret_suggestion says what to do
	MATCH_AMBIGUOUS, // a prefix of several of GNU parallel's names: *ret_names (caller frees) has those that it may be here
	MATCH_SIMILAR,   // none, but *ret_suggestion (static) is similar
	MATCH_NONE,
};

// Finds the option of that long name (`len` bytes, without the dashes): its full name, or one of GNU parallel's other
// spellings and unique prefixes of an option that both have. A prefix of a name that only fairpar has is no match, so
// that a new option can never break a script. What is no name is looked up by option_suggest().
enum option_match option_find_long(const char *name, size_t len, enum option_id *ret_id, char **ret_names,
                                   const char **ret_suggestion);

// True, with the option in *ret_id, if fairpar has one of that name, in full.
bool option_is_name(const char *name, size_t len, enum option_id *ret_id);

// True, with the option in *ret_id, if a word behind a single dash is likely to be that option's name, and not letters: it is the
// whole name, or an alias or spelling that is not short.
bool option_is_long_name(const char *word, size_t len, enum option_id *ret_id);

// Finds the option of that letter: MATCH_OPTION with *ret_id, MATCH_NONE, or MATCH_FOREIGN with what to do instead (static).
enum option_match option_find_short(char letter, enum option_id *ret_id, const char **ret_instead);

// Sets *ret_suggestion (static) to the option that may be meant by a name that none has: the one for that word of another program,
// one that begins so, or the nearest. Returns false, and sets it to NULL, if no option comes near.
bool option_suggest(const char *name, size_t len, const char **ret_suggestion);
