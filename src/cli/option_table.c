// The option table as data: the names and texts of every option. Finds the option that has a typed name. If no option has the name, suggests
// an option: it has this name in another program, or its own name begins with the typed name or is similar to it.

#include "cli/option_table.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/units.h"
#include "manifest/manifest.h"

#include <string.h>

#define GROUP(id, topic, heading) " " topic
static const char topics[] =
#include "cli/options.def"
	;
const char *const option_topics = topics + 1;

#define GROUP(id, topic, heading) " " topic
#define OPTION(id, name, ...) " " name
static const char helps[] =
#include "cli/options.def"
	;
#define OPTION_HELPS (helps + 1)

#define OWN NULL
#define OPTION(id, name, aliases, shorts, arg, spellings, group, value, ...) \
	[id] = {name, aliases, shorts, arg, spellings, group, __VA_ARGS__},
const struct option_info option_table[NOPTIONS] = {
#include "cli/options.def"
};

#define GROUP(id, ...) [id] = {__VA_ARGS__},
const struct option_section option_sections[NGROUPS] = {
#include "cli/options.def"
};

#define LIST(name, ...) (const enum option_id[]){__VA_ARGS__, NOPTIONS},
const enum option_id *const option_lists[NLISTS] = {
#include "cli/options.def"
};

#define FOREIGN(names, letters, instead) {names, letters, instead},
static const struct { const char *names, *letters, *instead; } foreign_table[] = {
#include "cli/options.def"
};
enum { NFOREIGN = sizeof(foreign_table) / sizeof(foreign_table[0]) };

// The letters of all short options of GNU parallel. Getopt::Long accepts them as long options, too: --j 2.
static const char gnu_letters[] = "0BCDEHIJLMNPSTUVWXYadehijklmnopqrstuvx";

// Returns the word of the list that begins with `name`, or NULL.
static const char *find_prefixed_word(const char *list, const char *name, size_t len, size_t *ret_len) {
	const char *word;
	while ((word = word_next(&list, ret_len)) && (*ret_len < len || memcmp(word, name, len) != 0)) {}
	return word;
}

// Returns the first of the option's own names (not GNU parallel's other spellings) that begins with `name`; or NULL.
static const char *find_prefixed(const struct option_info *option, const char *name, size_t len, size_t *ret_len) {
	const char *found = find_prefixed_word(option->name, name, len, ret_len);
	return found ? found : find_prefixed_word(option->aliases, name, len, ret_len);
}

static bool has_spelling(const struct option_info *option, const char *name, size_t len) {
	return option->spellings && word_is_in(option->spellings, name, len);
}

// Finds the option that has the whole name: among fairpar's names, or among the other spellings of GNU parallel.
static bool find_name(const char *name, size_t len, bool in_spellings, enum option_id *ret_id) {
	for (int id = 0; id < NOPTIONS; ++id) {
		const struct option_info *option = &option_table[id];
		if (in_spellings ? has_spelling(option, name, len) : word_is_in(option->name, name, len) || word_is_in(option->aliases, name, len)) {
			*ret_id = (enum option_id)id;
			return true;
		}
	}
	return false;
}

bool option_is_name(const char *name, size_t len, enum option_id *ret_id) {
	return find_name(name, len, /* in_spellings */ false, ret_id);
}

// Finds the option of GNU parallel (which fairpar may lack) with a name that begins with `name`; of several such options, lists those that fairpar has.
static enum option_match find_by_prefix(const char *name, size_t len, enum option_id *ret_id, char **ret_names,
                                        const char **ret_suggestion) {
	FP_CLEANUP(buf_fini) struct buf names = BUF_INIT;
	size_t n = 0, nforeign = 0, word_len;
	for (int id = 0; id < NOPTIONS; ++id) {
		const struct option_info *option = &option_table[id];
		const char *word = find_prefixed(option, name, len, &word_len);
		if (word) {
			buf_printf(&names, "%s--%.*s", names.len > 0 ? ", " : "", (int)word_len, word);
		}
		if (option->spellings && (word || find_prefixed_word(option->spellings, name, len, &word_len))) { // GNU parallel has the option, too
			*ret_id = n++ == 0 ? (enum option_id)id : *ret_id;
		}
	}
	for (size_t i = 0; i < NFOREIGN; ++i) {
		const char *list = foreign_table[i].names;
		for (; (list = find_prefixed_word(list, name, len, &word_len)); list += word_len) {
			*ret_suggestion = nforeign++ == 0 ? foreign_table[i].instead : *ret_suggestion;
		}
	}
	enum option_match match = n + nforeign == 0 ? MATCH_NONE : n + nforeign > 1 && names.len > 0 ? MATCH_AMBIGUOUS
	                        : nforeign > 0 ? MATCH_FOREIGN : MATCH_OPTION;
	if (match == MATCH_AMBIGUOUS) {
		*ret_names = buf_take(&names);
	}
	return match;
}

enum option_match option_find_long(const char *name, size_t len, enum option_id *ret_id, char **ret_names,
                                   const char **ret_suggestion) {
	if (option_is_name(name, len, ret_id)) {
		return MATCH_OPTION;
	}
	if (len == 1 && strchr(gnu_letters, name[0])) {
		return option_find_short(name[0], ret_id, ret_suggestion);
	}
	if (find_name(name, len, /* in_spellings */ true, ret_id)) {
		return MATCH_OPTION;
	}
	for (size_t i = 0; i < NFOREIGN; ++i) {
		if (word_is_in(foreign_table[i].names, name, len)) {
			*ret_suggestion = foreign_table[i].instead;
			return MATCH_FOREIGN;
		}
	}
	enum option_match match = len > 0 ? find_by_prefix(name, len, ret_id, ret_names, ret_suggestion) : MATCH_NONE;
	return match == MATCH_NONE && option_suggest(name, len, ret_suggestion) ? MATCH_SIMILAR : match;
}

bool option_is_long_name(const char *word, size_t len, enum option_id *ret_id) {
	enum { SHORT_NAME = 3, SHORT_ALIAS = 5 };
	if (len < SHORT_NAME || option_is_name(word, len, ret_id)) {
		return len >= SHORT_NAME && (len >= SHORT_ALIAS || strlen(option_table[*ret_id].name) == len);
	}
	return len >= SHORT_ALIAS && find_name(word, len, /* in_spellings */ true, ret_id);
}

enum option_match option_find_short(char letter, enum option_id *ret_id, const char **ret_instead) {
	*ret_instead = NULL;
	for (int id = 0; letter != '\0' && id < NOPTIONS; ++id) {
		if (strchr(option_table[id].shorts, letter) || has_spelling(&option_table[id], &letter, 1)) {
			*ret_id = (enum option_id)id;
			return MATCH_OPTION;
		}
	}
	for (size_t i = 0; letter != '\0' && i < NFOREIGN; ++i) {
		if (strchr(foreign_table[i].letters, letter)) {
			*ret_instead = foreign_table[i].instead;
			return MATCH_FOREIGN;
		}
	}
	*ret_instead = "GNU parallel has removed it, too: leave it out";
	return letter != '\0' && strchr(gnu_letters, letter) ? MATCH_FOREIGN : MATCH_NONE;
}

// ---- suggestions for a name that no option has ----

// Options of make, xargs, ninja, CI systems and thread pools, each with the option of fairpar that means the same.
static const struct { const char *others, *name; } other_programs[] = {
	{"workers threads parallel parallelism concurrency slots procs processes cores cpus num-jobs max-jobs njobs", "jobs"},
	{"ordered order", "keep-order"},
	{"print0 null0 zero", "null"},
	{"fail-fast failfast bail stop-on-error exit-on-error", "halt"},
	{"retry attempts", "retries"},
	{"cwd chdir working-dir working-directory directory", "workdir"},
	{"input input-file", "arg-file"},
	{"output output-dir outdir", "results"},
	{"simulate just-print what-if noop no-op", "dry-run"},
	{"queue", "batch"},
	{"config", "manifest"},
	{"no-summary", "summary=never"},
	{"quite", "quiet"},
	{"no-progress", "progress=none"},
};

bool option_suggest(const char *name, size_t len, const char **ret_suggestion) {
	enum { LONGEST = 64 };
	char plain[LONGEST]; // the name in small letters, with dashes for underscores
	*ret_suggestion = NULL;
	for (size_t i = 0; i < len && i < LONGEST; ++i) {
		plain[i] = name[i] == '_' ? '-' : name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
	}
	for (size_t i = 0; i < sizeof(other_programs) / sizeof(other_programs[0]) && len <= LONGEST; ++i) {
		if (word_is_in(other_programs[i].others, plain, len)) {
			*ret_suggestion = other_programs[i].name;
			return true;
		}
	}
	struct nearest nearest = NEAREST_INIT(plain, len);
	for (int id = 0; id < NOPTIONS && len <= LONGEST; ++id) {
		const struct option_info *option = &option_table[id];
		const char *before = nearest.found, *aliases = option->aliases, *alias;
		size_t alias_len;
		if (len > 1 && strncmp(option->name, plain, len) == 0) {
			*ret_suggestion = option->name;
			return true;
		}
		nearest_offer(&nearest, option->name, strlen(option->name));
		while ((alias = word_next(&aliases, &alias_len))) {
			nearest_offer(&nearest, alias, alias_len);
		}
		*ret_suggestion = nearest.found != before ? option->name : *ret_suggestion;
	}
	return *ret_suggestion != NULL;
}
