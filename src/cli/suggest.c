// What may be meant by a name that no option has: one with few edits, one that begins so, or another program's word.

#include "cli/option_table.h"

#include "base/edit_distance.h"
#include "base/units.h"

#include <string.h>

enum { LONGEST = 64 }; // distance(): longer ones are like none

// Words of make, xargs, ninja, CI systems and thread pools, and what fairpar calls it, or does instead.
static const struct { const char *words, *name; enum option_match match; } others[] = {
	{"workers threads parallel parallelism concurrency slots procs processes cores cpus num-jobs max-jobs njobs", "jobs", MATCH_SIMILAR},
	{"ordered order", "keep-order", MATCH_SIMILAR},
	{"print0 null0 zero", "null", MATCH_SIMILAR},
	{"fail-fast failfast bail stop-on-error exit-on-error", "halt", MATCH_SIMILAR},
	{"retry attempts", "retries", MATCH_SIMILAR},
	{"cwd chdir working-dir working-directory directory", "workdir", MATCH_SIMILAR},
	{"input input-file", "arg-file", MATCH_SIMILAR},
	{"output output-dir outdir", "results", MATCH_SIMILAR},
	{"simulate just-print what-if noop no-op", "dry-run", MATCH_SIMILAR},
	{"queue", "batch", MATCH_SIMILAR},
	{"config", "manifest", MATCH_SIMILAR},
	{"no-summary nosummary", "summary=never", MATCH_SIMILAR},
	{"no-progress noprogress no-status", "progress=none", MATCH_SIMILAR},
	{"no-color nocolor no-colour", "set NO_COLOR=1 in the environment", MATCH_FOREIGN},
};

static size_t edits_of_aliases(const char *list, const char *name, size_t len) {
	size_t least = DISTANCE_NEAR + 1;
	size_t alias_len;
	for (const char *alias; (alias = word_next(&list, &alias_len));) {
		size_t edits = alias_len > 2 ? distance(name, len, alias, alias_len) : least; // "cf" is like many
		least = edits < least ? edits : least;
	}
	return least;
}

// True if both have the same letters: two of them have changed places.
static bool has_same_letters(const char *name, size_t len, const char *other) {
	int counts[256] = {0};
	bool same = strlen(other) == len;
	for (size_t i = 0; i < len && same; ++i) {
		++counts[(unsigned char)name[i]];
		--counts[(unsigned char)other[i]];
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
		same = same && counts[i] == 0;
	}
	return same;
}

// One that begins like this, else one with few edits; NULL if there is none.
static const char *find_alike(const char *name, size_t len) {
	const char *suggestion = NULL;
	size_t least = DISTANCE_NEAR + 1;
	for (int id = 0; id < NOPTIONS; ++id) {
		const struct option_info *option = &option_table[id];
		if (len > 1 && strncmp(option->name, name, len) == 0) {
			return option->name;
		}
		size_t edits = distance(name, len, option->name, strlen(option->name));
		size_t others_edits = edits_of_aliases(option->aliases, name, len);
		edits = others_edits < edits ? others_edits : edits;
		bool is_better = edits < least || (edits == least && has_same_letters(name, len, option->name));
		if (is_better && edits <= DISTANCE_NEAR && edits * 2 <= len) { // not by replacing most of it
			least = edits;
			suggestion = option->name;
		}
	}
	return suggestion;
}

// "--j4", "--jobs4": the option, and its value.
static const char *find_joined(const char *name, size_t len) {
	size_t letters = len;
	while (letters > 0 && name[letters - 1] >= '0' && name[letters - 1] <= '9') {
		--letters;
	}
	if (letters == len || letters == 0) {
		return NULL;
	}
	enum option_id id;
	const char *instead;
	bool found = letters == 1 ? option_find_short(name[0], &id, &instead) == MATCH_OPTION : option_is_name(name, letters, &id);
	return found ? option_table[id].name : NULL;
}

enum option_match option_suggest(const char *name, size_t len, const char **ret_suggestion) {
	char plain[LONGEST]; // in small letters, with dashes
	*ret_suggestion = NULL;
	if (len > LONGEST) {
		return MATCH_NONE;
	}
	for (size_t i = 0; i < len; ++i) {
		plain[i] = name[i] == '_' ? '-' : name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
		if (word_is_in(others[i].words, plain, len)) {
			*ret_suggestion = others[i].name;
			return others[i].match;
		}
	}
	enum option_id id;
	size_t no = len > 3 && memcmp(plain, "no-", 3) == 0 ? 3 : len > 2 && memcmp(plain, "no", 2) == 0 ? 2 : 0;
	if (no > 0 && option_is_name(plain + no, len - no, &id)) {
		*ret_suggestion = option_table[id].name;
		return MATCH_NEGATED;
	}
	*ret_suggestion = find_joined(plain, len);
	*ret_suggestion = *ret_suggestion ? *ret_suggestion : find_alike(plain, len);
	return *ret_suggestion ? MATCH_SIMILAR : MATCH_NONE;
}
