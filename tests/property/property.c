// Property test: no item is code. Random commands of a shell with random items, run by fairpar with real shells.
//
//	property [--seed=N] [--from=N] [--runs=N] [--shell=NAME] [--locale=NAME] [--all] FAIRPAR
//
// Demanded of each pair of a command and an item: the command prints what it should, with the item byte for byte, or
// fairpar refuses the command or the job with a message; and nothing runs and no file is made that the command does not
// name. A command is tried with a harmless item first; if neither fairpar nor the shell itself then gets the expected
// output, the shell does not know the construct, and only what runs is looked at. --runs is counted in pairs, --from in
// commands: a long test that was interrupted continues at the number that it printed last. Prints TAP, a test for each
// shell. --all goes on after a finding.

#include "start.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NITEMS = 10, NFINDINGS = 400 };

#define KORN (HAS_BRACKETS | HAS_ARITHMETIC | HAS_ARRAYS | HAS_ANSI_QUOTES | HAS_HERE_STRINGS | HAS_REPLACEMENT | HAS_BRACES)
#define BASH (KORN | HAS_FOR | HAS_DOLLAR_SQUARE | HAS_LOCALE_QUOTES | HAS_PROCESSES | HAS_BOTH)
#define ZSH (KORN | HAS_FOR | HAS_DOLLAR_SQUARE | HAS_PROCESSES | HAS_BOTH | LACKS_GLOB)
#define KSH93 (KORN | HAS_FOR | HAS_LOCALE_QUOTES | HAS_PROCESSES | HAS_FUNSUB)

static struct shell shells[] = {
	{"dash", "dash", NULL, 0, ""},
	{"bash", "bash", NULL, BASH, ""},
	{"zsh", "zsh", NULL, ZSH, ""},
	{"ash", "busybox", "ash", HAS_BRACKETS | HAS_ANSI_QUOTES | HAS_REPLACEMENT | HAS_ARITHMETIC, ""},
	{"yash", "yash", NULL, HAS_HERE_STRINGS | HAS_ANSI_QUOTES | HAS_BRACKETS, ""},
	{"mksh", "mksh", NULL, (KORN & ~HAS_BRACES) | HAS_FUNSUB | HAS_PRINT, ""},
	{"ksh93", "ksh93", NULL, KSH93, ""},
	{"sh=bash", "bash", "sh", BASH & ~HAS_PROCESSES, ""},
	{"sh=zsh", "zsh", "sh", KORN | HAS_FOR | HAS_DOLLAR_SQUARE, ""},
	{"sh=ksh93", "ksh93", "sh", KSH93, ""},
	{"sh=busybox", "busybox", "sh", HAS_BRACKETS | HAS_ANSI_QUOTES | HAS_REPLACEMENT, ""},
	{"sh=yash", "yash", "sh", 0, ""},
};
enum { NSHELLS = sizeof(shells) / sizeof(shells[0]) };

static struct locale {
	const char *name, *charset;
	bool is_present;
	unsigned long commands, findings;
} locales[] = {
	{.name = "C", .charset = "C"}, {.name = "C.UTF-8", .charset = "UTF-8"}, {.name = "zh_CN.GBK", .charset = "GBK"},
	{.name = "zh_CN.GB18030", .charset = "GB18030"}, {.name = "ja_JP.SHIFT_JIS", .charset = "SJIS"}, {.name = "zh_TW.BIG5", .charset = "Big5"},
};
enum { NLOCALES = sizeof(locales) / sizeof(locales[0]) };

enum verdict {
	GOOD, RAN_CODE, MADE_FILE, WRONG_DATA, NO_MESSAGE, NO_INTEGER, REFUSED_HARMLESS, CRASHED, HUNG,
};
static const char *const verdict_names[] = {
	"good", "the item ran as code", "the item made a file", "the item arrived otherwise, or broke the command", "a job did nothing, without a message of fairpar",
	"an item was taken where only an integer is", "a harmless command was refused", "fairpar crashed", "it did not end",
};

// A command with its items, and all that is needed to run it again.
struct pair {
	const struct shell *shell;
	struct locale *where;
	const char *locale; // its name
	enum form form;
	struct tape tape;
	struct command command;
	struct text items[NITEMS];
	unsigned nitems;
};

struct tally {
	unsigned long pairs, commands, refused_commands, refused_jobs;
	unsigned long unknown;   // commands that the shell does not know
	unsigned long incapable; // items whose bytes the shell cannot carry, or that it does not end with
	unsigned findings;
};

static struct tally tallies[NSHELLS];
static unsigned long met[NCONTEXTS], refused[NCONTEXTS]; // commands
static bool has_variable;
static struct result result, control;

// The verdict --------------------------------------------------------------------------------------------------------

static char *const *item_strings(const struct pair *pair) {
	static char *strings[NITEMS];
	for (unsigned i = 0; i < pair->nitems; ++i) {
		strings[i] = pair->items[i].data;
	}
	return strings;
}

static bool is_wanted(const struct command *command, const char *item) {
	return command->wanted == WANTS_ANY || item_is_integer(item);
}

static const char *harmless_item(const struct command *command) {
	return command->wanted == WANTS_INTEGER ? "7" : "x";
}

// Does the shell itself, with the item written into the command, print what is expected?
static bool shell_knows(const struct pair *pair) {
	const char *item = harmless_item(&pair->command);
	struct text text = {0}, expected = {0};
	for (const char *at = pair->command.text.data; *at; ++at) {
		size_t len = strncmp(at, "{}", 2) == 0 ? 2 : strncmp(at, "{1}", 3) == 0 || strncmp(at, "{#}", 3) == 0 ? 3 : 0;
		len ? text_adds(&text, len == 3 && at[1] == '#' ? "1" : item) : text_add(&text, at, 1);
		at += len ? len - 1 : 0;
	}
	text_adds(&expected, "H1:\n");
	command_expected(&pair->command, item, &expected);
	text_adds(&expected, ":T\n");
	start_shell(pair->shell, pair->locale, text.data, item, &control);
	bool same = expected.len == control.out.len && memcmp(expected.data, control.out.data, expected.len) == 0;
	text_free(&text);
	text_free(&expected);
	return same;
}

// What one shell cannot do in a context of the command, whatever the quotes are: ksh93 reads [[ x == ']]' ]] otherwise,
// expands braces in the value of a variable, and mistakes a pattern behind bytes that are no characters.
static void add_special(const struct pair *pair, const char *item, struct text *text, struct text *expected) {
	const char *print = pair->shell->features & HAS_PRINT ? "print -rn -- " : "printf %s ";
	if (pair->command.contexts[CONTEXT_GLOB] && !(pair->shell->features & LACKS_GLOB)) {
		text_addf(text, "; f() { %s\"$1\"; }; f \"$v\"*.none", print);
		text_adds(expected, item);
		text_adds(expected, "*.none");
	}
	if (pair->command.contexts[CONTEXT_REPLACE]) { // & is what was found, to bash
		text_addf(text, "; t=t; %s\"${t//t/$(%s\"$v\")}\"", print, print);
		text_adds(expected, item);
	}
	if (pair->command.contexts[CONTEXT_PARAMETER]) { // an empty word is none, to ksh93
		text_addf(text, "; set -- ${nope-\"$v\"} .; %s\"$1\"", print);
		text_adds(expected, item);
	}
	if (pair->command.contexts[CONTEXT_BRACES]) {
		text_addf(text, "; set -- \"\"{\"$v\",}; %s\"$1\"", print);
		text_adds(expected, item);
	}
	if (pair->command.contexts[CONTEXT_BRACKETS] && !strchr(item, '\'')) {
		text_adds(text, "; [[ '");
		text_adds(text, item);
		text_adds(text, "' == '");
		text_adds(text, item);
		text_addf(text, "' ]]; %s=", print);
		text_adds(expected, "=");
	}
}

// ksh93u+m reads past the end of an argument in charsets whose characters may contain ASCII bytes: run ten times,
// `ksh93 -c 'x=$1; set -- "a$x$(printf %s "$x")"; printf %s "$1"' ksh93 ITEM` adds a byte at random in most of them.
static bool has_korn_fault(const struct pair *pair, const char *item) {
	bool is_high = false;
	for (; *item && !is_high; ++item) {
		is_high = *item & 0x80;
	}
	return is_high && pair->shell->features == KSH93 && strcmp(pair->where->charset, "C") != 0 && strcmp(pair->where->charset, "UTF-8") != 0;
}

// Can the shell, in this locale, carry the bytes of the item through a variable, words and a substitution at all?
static bool shell_carries(const struct pair *pair, const char *item) {
	if (has_korn_fault(pair, item)) {
		return false;
	}
	const char *print = pair->shell->features & HAS_PRINT ? "print -rn -- " : "printf %s ";
	struct text text = {0}, expected = {0};
	text_addf(&text, "v=$FAIRPAR_ITEM; %s\"a${v}b$(%s\"$v\"; %s.)\"; for v in \"$v\"; do cat <<E\n$v\nE\ndone", print, print, print);
	text_addf(&text, "; set -- \"$v\"\\\\; %s\"$1\"; set -- \"a$v$(%s\"$v\")\"; %s\"$1\"", print, print, print);
	text_addf(&text, "; case $v in \"$FAIRPAR_ITEM\") %s\"=${v#\"$v\"}\";; esac; case a$v in a\"$v\") %s=; esac", print, print);
	text_adds(&expected, "a");
	text_adds(&expected, item);
	text_adds(&expected, "b");
	text_adds(&expected, item);
	text_adds(&expected, ".");
	text_adds(&expected, item);
	text_adds(&expected, "\n");
	text_adds(&expected, item);
	text_adds(&expected, "\\a");
	text_adds(&expected, item);
	text_adds(&expected, item);
	text_adds(&expected, "==");
	add_special(pair, item, &text, &expected);
	start_shell(pair->shell, pair->locale, text.data, item, &control);
	bool same = expected.len == control.out.len && memcmp(expected.data, control.out.data, expected.len) == 0;
	text_free(&text);
	text_free(&expected);
	return same;
}

static bool has_prefix(const char *at, const char *end, const struct text *prefix) {
	return (size_t)(end - at) >= prefix->len && memcmp(at, prefix->data, prefix->len) == 0;
}

// Where the output of a later job begins, or the end.
static const char *find_later(const struct pair *pair, unsigned i, const char *at, const char *end) {
	for (unsigned j = i + 1; j < pair->nitems; ++j) {
		char head[32];
		int len = snprintf(head, sizeof(head), "H%u:\n", j + 1);
		const char *found = memmem(at, (size_t)(end - at), head, (size_t)len);
		if (found) {
			return found;
		}
	}
	return end;
}

// The verdict on what a job printed; *at is moved behind it.
static enum verdict judge_job(const struct pair *pair, unsigned i, const char **at, const char *end, bool *ret_silent) {
	const char *item = pair->items[i].data;
	struct text expected = {0}, head = {0};
	text_addf(&expected, "H%u:\n", i + 1);
	text_add(&head, expected.data, expected.len);
	bool known = command_expected(&pair->command, item, &expected)
	             && !(pair->command.wanted == WANTS_INTEGER && item_is_integer(item) && !item_is_decimal(item));
	text_adds(&expected, ":T\n");
	enum verdict verdict = GOOD;
	*ret_silent = !has_prefix(*at, end, &head);
	if (!*ret_silent) {
		bool same = known && has_prefix(*at, end, &expected);
		*at = same ? *at + expected.len : find_later(pair, i, *at, end);
		bool may_fail = pair->command.names_files && (strchr(item, '/') || strlen(item) > 200);
		if (pair->command.strict && !is_wanted(&pair->command, item)) {
			verdict = NO_INTEGER;
		} else if (!same && known && !may_fail) {
			verdict = WRONG_DATA;
		}
	}
	text_free(&expected);
	text_free(&head);
	return verdict;
}

// Does fairpar say why it refused the job?
static bool has_message(unsigned job) {
	char head[48];
	snprintf(head, sizeof(head), "#%u: ", job);
	for (const char *line = result.err.data; (line = strstr(line, "fairpar: error: job ")); ++line) {
		const char *number = strchr(line, '#');
		if (number && strncmp(number, head, strlen(head)) == 0) {
			return true;
		}
	}
	return false;
}

// Did the shell not end?
static bool has_lasted(unsigned job) {
	char text[48];
	snprintf(text, sizeof(text), "#%u (timeout)", job);
	return strstr(result.err.data, text) != NULL;
}

// A file that the command names, left by a job that failed on the way?
static bool is_named(const struct pair *pair, const char *stray) {
	bool named = false;
	for (unsigned i = 0; i < pair->nitems; ++i) {
		named |= pair->command.names_files && strstr(stray, pair->items[i].data);
	}
	return named;
}

// Runs the command with its items, the first of which is harmless. *ret_item: which item the verdict is about.
static enum verdict judge(struct pair *pair, unsigned *ret_item, struct tally *tally) {
	unsigned slots = pair->command.names_files ? 1 : 2; // equal items name one file
	start_fairpar(pair->shell, pair->locale, pair->form, slots, pair->command.text.data, item_strings(pair), pair->nitems, &result);
	*ret_item = 0;
	if (result.status < 0) {
		return HUNG;
	} else if (result.canary) {
		return RAN_CODE;
	} else if (result.stray[0] && !is_named(pair, result.stray)) {
		return MADE_FILE;
	} else if (!WIFEXITED(result.status)) {
		return CRASHED;
	}
	if (WEXITSTATUS(result.status) == 255 && result.out.len == 0
	    && (strncmp(result.err.data, "fairpar: error: an item ", 24) == 0 || strstr(result.err.data, ", nothing was run\n"))) {
		tally->refused_commands++;
		bool is_known = strstr(result.err.data, "an expression of GitHub's"); // ${{ in a manifest
		return command_is_harmless(&pair->command) && !is_known ? REFUSED_HARMLESS : GOOD;
	}
	const char *at = result.out.data, *end = at + result.out.len;
	unsigned nsilent = 0;
	for (unsigned i = 0; i < pair->nitems; ++i) {
		bool silent = false;
		*ret_item = i;
		enum verdict verdict = judge_job(pair, i, &at, end, &silent);
		if ((silent || verdict == WRONG_DATA) && has_lasted(i + 1)) {
			tally->incapable++;
			continue;
		}
		if (verdict == WRONG_DATA && i == 0 && !shell_knows(pair)) {
			tally->unknown++;
			return GOOD;
		} else if (verdict == WRONG_DATA && !shell_carries(pair, pair->items[i].data)) {
			tally->incapable++;
		} else if (verdict != GOOD) {
			return verdict;
		}
		if (silent && i == 0 && !shell_knows(pair)) {
			tally->unknown++;
			return GOOD;
		} else if (silent && !shell_carries(pair, pair->items[i].data)) {
			tally->incapable++;
			continue;
		}
		if (silent && !has_message(i + 1)) {
			return NO_MESSAGE;
		}
		nsilent += silent;
		if (silent && i == 0 && command_is_harmless(&pair->command)) {
			return REFUSED_HARMLESS;
		}
	}
	tally->refused_jobs += nsilent;
	return GOOD;
}

// Making a finding small -----------------------------------------------------------------------------------------------

static void rebuild(struct pair *pair) {
	struct command fresh = {0};
	command_free(&pair->command);
	command_build(&fresh, &pair->tape, pair->shell->features, has_variable);
	pair->command = fresh;
}

// Does it still have the same verdict?
static bool still(struct pair *pair, enum verdict verdict) {
	struct tally ignored = {0};
	unsigned item;
	text_clear(&pair->items[0]);
	text_adds(&pair->items[0], harmless_item(&pair->command));
	return judge(pair, &item, &ignored) == verdict;
}

static void keep_one_item(struct pair *pair, enum verdict verdict) {
	unsigned nall = pair->nitems;
	pair->nitems = 2;
	for (unsigned i = 1; i < nall; ++i) {
		struct text second = pair->items[1];
		pair->items[1] = pair->items[i];
		pair->items[i] = second;
		if (still(pair, verdict)) {
			return;
		}
	}
	pair->nitems = nall;
}

// Tries the tape without n bytes, or with one byte made smaller.
static bool try_tape(struct pair *pair, enum verdict verdict, unsigned at, unsigned n, int value) {
	struct tape before = pair->tape;
	if (n > 0) {
		memmove(pair->tape.bytes + at, pair->tape.bytes + at + n, pair->tape.len - at - n);
		pair->tape.len -= n;
	} else {
		pair->tape.bytes[at] = (unsigned char)value;
	}
	rebuild(pair);
	if (still(pair, verdict)) {
		return true;
	}
	pair->tape = before;
	rebuild(pair);
	return false;
}

static void shrink_tape(struct pair *pair, enum verdict verdict) {
	pair->tape.len = pair->tape.at < pair->tape.len ? pair->tape.at : pair->tape.len;
	for (unsigned round = 0; round < 3; ++round) {
		for (unsigned n = 16; n > 0; n /= 2) {
			for (unsigned at = 0; at + n <= pair->tape.len;) {
				at += try_tape(pair, verdict, at, n, 0) ? 0 : n;
			}
		}
		for (unsigned at = 0; at < pair->tape.len; ++at) {
			if (pair->tape.bytes[at] != 0) {
				try_tape(pair, verdict, at, 0, 0);
			}
		}
		unsigned used = pair->tape.at;
		pair->tape.len = used < pair->tape.len ? used : pair->tape.len;
	}
}

static void shrink_item(struct pair *pair, enum verdict verdict) {
	struct text *item = &pair->items[pair->nitems - 1];
	for (size_t n = item->len / 2 + 1; n > 0; n /= 2) {
		for (size_t at = 0; at + n <= item->len;) {
			struct text less = {0};
			text_add(&less, item->data, at);
			text_add(&less, item->data + at + n, item->len - at - n);
			struct text whole = *item;
			*item = less;
			if (still(pair, verdict)) {
				text_free(&whole);
			} else {
				*item = whole;
				text_free(&less);
				at += n;
			}
		}
	}
}

static void shrink(struct pair *pair, enum verdict verdict) {
	keep_one_item(pair, verdict);
	shrink_tape(pair, verdict);
	pair->form = FORM_WORDS;
	if (!still(pair, verdict)) {
		pair->form = FORM_FILE;
	}
	if (!still(pair, verdict)) {
		pair->form = FORM_MANIFEST;
	}
	shrink_item(pair, verdict);
	still(pair, verdict);
}

// Reports --------------------------------------------------------------------------------------------------------------

static void print_quoted(const char *bytes, size_t len) {
	printf("$'");
	for (size_t i = 0; i < len; ++i) {
		unsigned char c = (unsigned char)bytes[i];
		const char *escape = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\\' ? "\\\\" : c == '\'' ? "\\'" : NULL;
		escape ? printf("%s", escape) : c < 32 || c > 126 ? printf("\\%03o", c) : putchar(c);
	}
	printf("'");
}

static void print_bytes(const char *label, const struct text *text) {
	printf("#   %s: ", label);
	print_quoted(text->data, text->len < 700 ? text->len : 700);
	putchar('\n');
}

static void report(const struct pair *pair, enum verdict verdict, uint64_t seed, uint64_t number) {
	printf("# %s: %s (%s, %s, %s; --seed=%llu --from=%llu)\n#   ", pair->shell->name, verdict_names[verdict], pair->locale, form_names[pair->form],
	       pair->shell->path, (unsigned long long)seed, (unsigned long long)number);
	printf("LC_ALL=%s fairpar --shell %s ", pair->locale, pair->shell->name);
	print_quoted(pair->command.text.data, pair->command.text.len);
	printf(" :::");
	for (unsigned i = 0; i < pair->nitems; ++i) {
		putchar(' ');
		print_quoted(pair->items[i].data, pair->items[i].len);
	}
	printf("\n#   contexts:");
	for (unsigned c = 0; c < NCONTEXTS; ++c) {
		if (pair->command.contexts[c]) {
			printf(" [%s]", context_names[c]);
		}
	}
	struct text expected = {0};
	command_expected(&pair->command, pair->items[pair->nitems - 1].data, &expected);
	printf(" status %d %s\n", result.status, result.stray);
	print_bytes("expected", &expected);
	print_bytes("stdout", &result.out);
	print_bytes("stderr", &result.err);
	fflush(stdout);
	text_free(&expected);
}

// What was found before, so that --all does not tell it again.
static struct finding {
	const struct shell *shell;
	enum verdict verdict;
	bool contexts[NCONTEXTS];
} findings[NFINDINGS];
static unsigned nfindings;

static bool is_found_before(const struct pair *pair, enum verdict verdict) {
	for (unsigned i = 0; i < nfindings; ++i) {
		bool same = findings[i].shell == pair->shell && findings[i].verdict == verdict;
		for (unsigned c = 0; c < NCONTEXTS; ++c) {
			same &= pair->command.contexts[c] || !findings[i].contexts[c];
		}
		if (same) {
			return true;
		}
	}
	return false;
}

static void note_finding(const struct pair *pair, enum verdict verdict) {
	if (nfindings < NFINDINGS) {
		findings[nfindings] = (struct finding){.shell = pair->shell, .verdict = verdict};
		memcpy(findings[nfindings].contexts, pair->command.contexts, sizeof(pair->command.contexts));
		findings[nfindings].contexts[CONTEXT_PLAIN] = false; // the command of least effort is everywhere
		++nfindings;
	}
}

// The runs -------------------------------------------------------------------------------------------------------------

static unsigned present[NLOCALES], npresent;

static void make_pair(struct pair *pair, uint64_t *random) {
	pair->where = &locales[present[random_below(random, npresent)]];
	pair->locale = pair->where->name;
	pair->form = random_below(random, 4) ? FORM_FILE : random_below(random, 2) ? FORM_WORDS : FORM_MANIFEST;
	pair->tape.len = sizeof(pair->tape.bytes) >> random_below(random, 7);
	for (unsigned i = 0; i < pair->tape.len; ++i) {
		pair->tape.bytes[i] = (unsigned char)random_next(random);
	}
	rebuild(pair);
	pair->nitems = NITEMS;
	text_adds(&pair->items[0], harmless_item(&pair->command));
	for (unsigned i = 1; i < NITEMS; ++i) {
		text_adds(&pair->items[i], "");
		item_random(&pair->items[i], random, &pair->command);
	}
}

static void free_pair(struct pair *pair) {
	command_free(&pair->command);
	for (unsigned i = 0; i < NITEMS; ++i) {
		text_free(&pair->items[i]);
	}
}

// Returns false after a finding.
static bool run_number(const struct shell *shell, struct tally *tally, uint64_t seed, uint64_t number) {
	uint64_t random = seed * 1000003 + number;
	struct pair pair = {.shell = shell};
	make_pair(&pair, &random);
	unsigned item;
	unsigned long nrefused = tally->refused_commands;
	enum verdict verdict = judge(&pair, &item, tally);
	tally->commands++;
	pair.where->commands++;
	tally->pairs += pair.nitems;
	for (unsigned c = 0; c < NCONTEXTS; ++c) {
		met[c] += pair.command.contexts[c];
		refused[c] += pair.command.contexts[c] * (tally->refused_commands - nrefused);
	}
	if (verdict != GOOD && !is_found_before(&pair, verdict)) {
		tally->findings++;
		pair.where->findings++;
		shrink(&pair, verdict);
		report(&pair, verdict, seed, number);
		note_finding(&pair, verdict);
	}
	free_pair(&pair);
	return verdict == GOOD;
}

static void find_locales(const char *only) {
	for (unsigned i = 0; i < NLOCALES; ++i) {
		locale_t made = newlocale(LC_ALL_MASK, locales[i].name, (locale_t)0);
		locales[i].is_present = made != (locale_t)0;
		if (made && (!only || strcmp(only, locales[i].name) == 0)) {
			present[npresent++] = i;
		}
		if (made) {
			freelocale(made);
		}
	}
}

static void print_refusals(void) {
	for (unsigned c = 0; c < NCONTEXTS; ++c) {
		printf("# refused %6lu of %6lu commands with %s\n", refused[c], met[c], context_names[c]);
	}
}

static void print_shell(unsigned i) {
	const struct tally *t = &tallies[i];
	printf("%sok %u - no item is code in %s", t->findings ? "not " : "", i + 1, shells[i].name);
	if (t->commands == 0) {
		puts(shells[i].path[0] ? " # SKIP not asked for" : " # SKIP it is not installed");
		return;
	}
	printf("\n# %s: %lu pairs, %lu commands, of which %lu refused and %lu unknown to the shell; %lu jobs refused, %lu items that the shell cannot carry\n",
	       shells[i].name, t->pairs, t->commands, t->refused_commands, t->unknown, t->refused_jobs, t->incapable);
}

// Returns true if nothing was found.
static bool print_results(void) {
	bool good = true;
	printf("1..%d\n", (int)NSHELLS + (int)NLOCALES);
	for (unsigned i = 0; i < NSHELLS; ++i) {
		print_shell(i);
		good &= tallies[i].findings == 0;
	}
	for (unsigned i = 0; i < NLOCALES; ++i) {
		const char *skip = locales[i].commands > 0 ? "" : locales[i].is_present ? " # SKIP not asked for" : " # SKIP its locale cannot be made here";
		printf("%sok %u - no item is code in %s%s\n", locales[i].findings ? "not " : "", NSHELLS + i + 1, locales[i].charset, skip);
	}
	return good;
}

struct arguments {
	uint64_t seed, from, runs;
	const char *shell, *locale, *fairpar; // NULL: all; NULL: all
	bool all;
};

// The value of a word --name=VALUE, or NULL.
static const char *value_of(const char *word, const char *name) {
	size_t len = strlen(name);
	return strncmp(word, name, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

static struct arguments take_arguments(char **argv) {
	struct arguments arguments = {.seed = 1, .runs = 4000};
	while (*++argv) {
		const char *seed = value_of(*argv, "--seed"), *from = value_of(*argv, "--from"), *runs = value_of(*argv, "--runs");
		const char *shell = value_of(*argv, "--shell"), *locale = value_of(*argv, "--locale");
		arguments.seed = seed ? strtoull(seed, NULL, 10) : arguments.seed;
		arguments.from = from ? strtoull(from, NULL, 10) : arguments.from;
		arguments.runs = runs ? strtoull(runs, NULL, 10) : arguments.runs;
		arguments.shell = shell ? shell : arguments.shell;
		arguments.locale = locale ? locale : arguments.locale;
		arguments.all |= strcmp(*argv, "--all") == 0;
		arguments.fairpar = **argv == '-' ? arguments.fairpar : *argv;
	}
	return arguments;
}

static void run_numbers(const struct arguments *arguments, const unsigned *chosen, unsigned nchosen) {
	uint64_t pairs = 0, told = 0;
	for (uint64_t number = arguments->from; nchosen > 0 && npresent > 0 && pairs < arguments->runs; ++number, pairs += NITEMS) {
		unsigned i = chosen[number % nchosen];
		if (!run_number(&shells[i], &tallies[i], arguments->seed, number) && !arguments->all) {
			return;
		}
		if (pairs / 2000 > told) {
			told = pairs / 2000;
			fprintf(stderr, "property: %llu of %llu pairs; go on with --from=%llu\n", (unsigned long long)pairs, (unsigned long long)arguments->runs,
			        (unsigned long long)number + 1);
		}
	}
}

int main(int argc, char **argv) {
	struct arguments arguments = take_arguments(argv);
	if (argc < 2 || !arguments.fairpar) {
		fprintf(stderr, "property: error: which fairpar?\n");
		return 255;
	}
	start_open(arguments.fairpar);
	find_locales(arguments.locale);
	unsigned chosen[NSHELLS], nchosen = 0;
	for (unsigned i = 0; i < NSHELLS; ++i) {
		if (start_find(&shells[i]) && (!arguments.shell || strcmp(arguments.shell, shells[i].name) == 0)) {
			chosen[nchosen++] = i;
		}
	}
	has_variable = nchosen > 0 && start_has_variable(&shells[chosen[0]]);
	printf("# --seed=%llu --from=%llu --runs=%llu: %u shells, %u locales\n", (unsigned long long)arguments.seed, (unsigned long long)arguments.from,
	       (unsigned long long)arguments.runs, nchosen, npresent);
	run_numbers(&arguments, chosen, nchosen);
	print_refusals();
	bool good = print_results();
	start_close();
	return !good;
}
