// Replacement strings: their names, and what each makes of an argument.
//
// The results are those of GNU parallel 20221122 (%Global::replace and %Global::plus of its source), byte for byte, but with POSIX
// extended regular expressions instead of Perl's: of several alternatives, Perl takes the first that matches, POSIX the longest.

#include "template/internal.h"

#include "base/alloc.h"
#include "base/text.h"
#include "input/columns.h"

#include <ctype.h>

const struct tokens tokens_default = {.name = {"{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}"}};

// ---- names ----

// The names of --plus in which the user writes no text, number or expression. A name stands for the item in `form`, or for a part of another kind.
static const struct { const char *name; struct part part; size_t n; enum { IF_RISING = 1, IF_UNIQUE } skips; } FIXED[] = {
	{"..}", {.form = FORM_NO_EXTENSION, .kind = ITEM}, .n = 2},
	{"...}", {.form = FORM_NO_EXTENSION, .kind = ITEM}, .n = 3},
	{"/..}", {.form = FORM_BASENAME_NO_EXTENSION, .kind = ITEM}, .n = 2},
	{"/...}", {.form = FORM_BASENAME_NO_EXTENSION, .kind = ITEM}, .n = 3},
	{"+/}", {.form = FORM_DIRECTORY, .kind = ITEM}, .n = 0},
	{"+.}", {.form = FORM_EXTENSIONS, .kind = ITEM}, .n = 1},
	{"+..}", {.form = FORM_EXTENSIONS, .kind = ITEM}, .n = 2},
	{"+...}", {.form = FORM_EXTENSIONS, .kind = ITEM}, .n = 3},
	{"##}", {.kind = TOTAL}, .n = 0},
	{"0#}", {.kind = SEQ, .is_padded = true}, .n = 0},
	{"0%}", {.kind = SLOT, .is_padded = true}, .n = 0},
	{"slot}", {.kind = SLOT}, .n = 0},
	{"choose_k}", {.kind = ITEM}, .skips = IF_RISING}, // the item, if its arguments are in rising order
	{"uniq}", {.kind = ITEM}, .skips = IF_UNIQUE},     // the item, if no two of its arguments are the same
	{"host}", {.kind = HOST}, .n = 0}, // the machine of the job; ":" is the local machine, as in GNU parallel
	{"sshlogin}", {.kind = LOGIN}, .n = 0},
	{"hgrp}", {.kind = LITERAL}, .n = 0}, // for --hostgroups, which fairpar does not have: always empty
	{"agrp}", {.kind = LITERAL}, .n = 0},
};

// Sets the form of the part to `replacement`, a copy of which the template owns from now on.
static void add_replacement(struct template *template, struct part *part, struct replacement replacement) {
	struct replacement *kept = NEW(struct replacement);
	*kept = replacement;
	kept->next = template->replacements;
	template->replacements = kept;
	part->form = kept->form;
	part->replacement = kept;
}

// Parses {:from} and {:from:n}.
static bool parse_numbers(const char *at, struct replacement *replacement) {
	size_t *const numbers[] = {&replacement->from, &replacement->n};
	replacement->form = FORM_PART;
	replacement->n = SIZE_MAX;
	for (size_t i = 0; i < 2; ++i) {
		if (!is_digit(*at)) {
			return false;
		}
		for (*numbers[i] = 0; is_digit(*at); ++at) {
			*numbers[i] = *numbers[i] < 100000000 ? *numbers[i] * 10 + (size_t)(*at - '0') : *numbers[i];
		}
		if (*at == '}') {
			return true;
		}
		if (*at++ != ':') {
			return false;
		}
	}
	return false;
}

// Compiles `before`, the expression `perl` of `len` bytes, and `after` as one expression. Returns 0, or -1 with a message appended to `error`.
static int set_regex(struct replacement *replacement, const char *before, const char *perl, size_t len,
                     const char *after, struct buf *error) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT, cause = BUF_INIT;
	FP_CLEANUP(free_later) char *expression = xmemdup(perl, len);
	buf_adds(&text, before);
	int result = perl_translate(expression, &text, &cause);
	buf_adds(&text, after);
	if (result == 0) {
		result = regex_compile(&replacement->regex, buf_str(&text), 0, &cause);
	}
	replacement->has_regex = result == 0;
	if (result != 0) {
		buf_printf(error, "cannot use '%s' as a regular expression: %s", text_shows(expression), buf_str(&cause));
	}
	return result;
}

// The names of --plus that consist of `prefix` and an expression; with `has_text`, a slash and a text follow. A prefix stands in this table before
// any shorter prefix with which it begins. The first byte of the expression may not be one of `not_first`.
static const struct { const char *prefix, *not_first; bool has_text; enum form form; bool all; const char *before, *after; } EXPRESSIONS[] = {
	{"##", "#", false, FORM_NO_PREFIX, false, "^(", ")"},
	{"#", "#", false, FORM_NO_SHORT_PREFIX, false, "^(", ")$"},
	{"%%", "", false, FORM_NO_SUFFIX, false, "(", ")$"},
	{"%", "", false, FORM_NO_SHORT_SUFFIX, false, "^(", ")$"},
	{"^^", "", false, FORM_UPPER, true, "(", ")"},
	{"^", "", false, FORM_UPPER, false, "^(", ")"},
	{",,", "", false, FORM_LOWER, true, "(", ")"},
	{",", "", false, FORM_LOWER, false, "^(", ")"},
	{"/#", "", true, FORM_REPLACE, true, "^(", ")"},
	{"/%", "", true, FORM_REPLACE, true, "(", ")$"},
	{"//", "", true, FORM_REPLACE, true, "(", ")"},
	{"/", "", true, FORM_REPLACE, false, "(", ")"},
};

static bool parse_expression(const char *at, const char *end, struct replacement *replacement, struct buf *error) {
	for (size_t i = 0; i < sizeof(EXPRESSIONS) / sizeof(EXPRESSIONS[0]); ++i) {
		size_t len = strlen(EXPRESSIONS[i].prefix);
		const char *from = at + len, *to = end;
		if (strncmp(at, EXPRESSIONS[i].prefix, len) != 0 || from >= end || strchr(EXPRESSIONS[i].not_first, *from)) {
			continue;
		}
		if (EXPRESSIONS[i].has_text) {
			to = memchr(from + 1, '/', (size_t)(end - from - 1));
			if (!to) {
				continue;
			}
			replacement->text = xmemdup(to + 1, (size_t)(end - to - 1));
		}
		replacement->form = EXPRESSIONS[i].form;
		replacement->all = EXPRESSIONS[i].all;
		return set_regex(replacement, EXPRESSIONS[i].before, from, (size_t)(to - from), EXPRESSIONS[i].after, error) == 0;
	}
	return false;
}

const char *plus_parse(struct template *template, const struct tokens *tokens, const char *at, struct part *part) {
	for (size_t i = 0; i < sizeof(FIXED) / sizeof(FIXED[0]); ++i) {
		const struct part *fixed = &FIXED[i].part;
		size_t len = strlen(FIXED[i].name);
		if (strncmp(at, FIXED[i].name, len) != 0) {
			continue;
		}
		if (fixed->kind == ITEM) {
			template->chooses |= FIXED[i].skips == IF_RISING;
			template->is_unique |= FIXED[i].skips == IF_UNIQUE;
			add_replacement(template, part, (struct replacement){.form = fixed->form, .n = FIXED[i].n});
		} else if (part->kind == COLUMN) {
			return NULL;
		} else {
			template->traits |= fixed->kind == TOTAL || fixed->kind == SEQ ? TEMPLATE_NEEDS_TOTAL : 0;
			*part = *fixed;
			part->is_elsewhere = tokens->elsewhere;
		}
		return at + len;
	}
	const char *end = strchr(at, '}');
	size_t before = template->error.len;
	struct replacement replacement = {.form = FORM_WHOLE};
	bool is_good = end && at[0] == ':' && at[1] == '-' && end > at + 2;
	if (is_good) {
		replacement.form = FORM_DEFAULT;
		replacement.text = xmemdup(at + 2, (size_t)(end - at - 2));
	} else if (end && at[0] == ':' && at[1] != '-') {
		is_good = parse_numbers(at + 1, &replacement);
	} else if (end && at[0] != ':') {
		is_good = parse_expression(at, end, &replacement, &template->error);
	}
	if (is_good) {
		add_replacement(template, part, replacement);
		return end + 1;
	}
	free(replacement.text);
	return template->error.len > before ? end + 1 : NULL;
}

void replacements_free(struct replacement *replacement) {
	while (replacement) {
		struct replacement *next = replacement->next;
		free(replacement->text);
		if (replacement->has_regex) {
			regfree(&replacement->regex);
		}
		free(replacement);
		replacement = next;
	}
}

// ---- parts of paths ----

// Returns the part of the item behind the last slash.
static struct slice cut_directory(struct slice item) {
	const char *slash = memrchr(item.text, '/', item.len);
	size_t skip = slash ? (size_t)(slash + 1 - item.text) : 0;
	return (struct slice){item.text + skip, item.len - skip};
}

// Returns the offset of the dot where the last `n` extensions begin, or SIZE_MAX if the file name has fewer.
static size_t find_extensions(struct slice item, size_t n) {
	size_t dot = item.len;
	for (; n > 0 && dot != SIZE_MAX; --n) {
		while (dot > 0 && item.text[dot - 1] != '.' && item.text[dot - 1] != '/') {
			--dot;
		}
		dot = dot > 0 && item.text[dot - 1] == '.' ? dot - 1 : SIZE_MAX;
	}
	return dot;
}

// Returns the item without its last `n` extensions; the whole item if its file name has fewer (GNU parallel's {.} is s:\.[^/.]*$::).
static struct slice cut_extensions(struct slice item, size_t n) {
	size_t dot = find_extensions(item, n);
	item.len = dot != SIZE_MAX ? dot : item.len;
	return item;
}

// Returns the last `n` extensions. For `n` 1 the extension may hold slashes, as with GNU parallel's {+.}, which is s:.*\.::.
static struct slice cut_to_extensions(struct slice item, size_t n) {
	const char *dot = memrchr(item.text, '.', item.len);
	size_t at = n > 1 ? find_extensions(item, n) : dot ? (size_t)(dot - item.text) : SIZE_MAX;
	return at == SIZE_MAX ? (struct slice){"", 0} : (struct slice){item.text + at + 1, item.len - at - 1};
}

// Returns the directory of the item, as dirname(1).
static struct slice cut_basename(struct slice item) {
	size_t len = item.len;
	while (len > 0 && item.text[len - 1] == '/') {
		--len;
	}
	while (len > 0 && item.text[len - 1] != '/') {
		--len;
	}
	bool has_slash = len > 0 || (item.len > 0 && item.text[0] == '/');
	while (len > 0 && item.text[len - 1] == '/') {
		--len;
	}
	return len > 0 ? (struct slice){item.text, len} : has_slash ? (struct slice){"/", 1} : (struct slice){".", 1};
}

// ---- expressions ----

// Cuts off, for {#re}, the shortest beginning that the whole expression matches: regexec(3) itself finds only the longest.
static struct slice cut_short_prefix(const regex_t *regex, struct slice item, struct buf *scratch) {
	buf_reset(scratch);
	buf_add(scratch, item.text, item.len);
	char *text = scratch->data;
	for (size_t n = 0; n <= item.len; ++n) {
		char kept = text[n];
		text[n] = '\0';
		bool matches = regexec(regex, text, 0, NULL, 0) == 0;
		text[n] = kept;
		if (matches) {
			return (struct slice){item.text + n, item.len - n};
		}
	}
	return item;
}

static struct slice cut_match(const regex_t *regex, struct slice item, bool is_prefix) {
	regmatch_t match;
	if (regexec(regex, item.text, 1, &match, 0) != 0) {
		return item;
	}
	size_t end = (size_t)match.rm_eo;
	return is_prefix ? (struct slice){item.text + end, item.len - end} : (struct slice){item.text, (size_t)match.rm_so};
}

// Appends the text that replaces a match.
static void add_instead(const struct replacement *replacement, const char *match, size_t len, struct buf *buf) {
	bool upper = replacement->form == FORM_UPPER;
	if (replacement->text) {
		buf_adds(buf, replacement->text);
		return;
	}
	for (size_t i = 0; i < len; ++i) { // changes bytes, as GNU parallel does: only ASCII letters have cases
		unsigned char c = (unsigned char)match[i];
		buf_addc(buf, (char)(c >= 128 ? c : upper ? toupper(c) : tolower(c)));
	}
}

// Replaces matches as Perl's s/// does: after an empty match the search goes on behind the next byte.
static struct slice substitute(const struct replacement *replacement, struct slice item, struct buf *scratch) {
	bool all = replacement->all;
	size_t at = 0;
	buf_reset(scratch);
	buf_reserve(scratch, 0);
	do {
		regmatch_t match;
		if (regexec(&replacement->regex, item.text + at, 1, &match, at > 0 ? REG_NOTBOL : 0) != 0) {
			break;
		}
		size_t start = at + (size_t)match.rm_so, end = at + (size_t)match.rm_eo;
		buf_add(scratch, item.text + at, start - at);
		add_instead(replacement, item.text + start, end - start, scratch);
		if (end == start && end < item.len && all) {
			buf_addc(scratch, item.text[end++]);
		} else if (end == start && all) {
			++end;
		}
		at = end;
	} while (all && at <= item.len);
	if (at < item.len) {
		buf_add(scratch, item.text + at, item.len - at);
	}
	return (struct slice){buf_str(scratch), scratch->len};
}

// ---- all forms ----

struct slice form_apply(enum form form, const struct replacement *given, struct slice argument, struct buf *scratch) {
	size_t n = given ? given->n : 1;
	switch (form) {
	case FORM_WHOLE: return argument;
	case FORM_NO_EXTENSION: return cut_extensions(argument, n);
	case FORM_BASENAME: return cut_directory(argument);
	case FORM_DIRNAME: return cut_basename(argument);
	case FORM_BASENAME_NO_EXTENSION: return cut_extensions(cut_directory(argument), n);
	case FORM_DIRECTORY: {
		const char *slash = memrchr(argument.text, '/', argument.len);
		return (struct slice){argument.text, slash ? (size_t)(slash - argument.text) : 0};
	}
	case FORM_EXTENSIONS: return cut_to_extensions(argument, n);
	case FORM_DEFAULT: {
		bool is_false = argument.len == 0 || (argument.len == 1 && argument.text[0] == '0'); // what Perl takes as false
		return is_false ? (struct slice){given->text, strlen(given->text)} : argument;
	}
	case FORM_PART: {
		size_t from = given->from < argument.len ? given->from : argument.len, rest = argument.len - from;
		return (struct slice){argument.text + from, n < rest ? n : rest};
	}
	case FORM_NO_SHORT_PREFIX: return cut_short_prefix(&given->regex, argument, scratch);
	case FORM_NO_PREFIX: return cut_match(&given->regex, argument, true);
	case FORM_NO_SHORT_SUFFIX:
		for (size_t at = argument.len + 1; at-- > 0;) {
			if (regexec(&given->regex, argument.text + at, 0, NULL, 0) == 0) {
				return (struct slice){argument.text, at};
			}
		}
		return argument;
	case FORM_NO_SUFFIX: return cut_match(&given->regex, argument, false);
	case FORM_REPLACE:
	case FORM_UPPER:
	case FORM_LOWER: return substitute(given, argument, scratch);
	}
	return argument;
}
