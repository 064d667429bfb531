// The parts of the property test "items are never code": random commands, hostile items, the runs of fairpar.
//
// Nothing of fairpar is linked: what a command should print follows from how it was built, not from a reader of commands.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A growing string of bytes; data has a NUL behind them once any byte was added.
struct text {
	char *data;
	size_t len, size;
};

void text_add(struct text *text, const char *bytes, size_t len);
void text_adds(struct text *text, const char *string);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(struct text *text);
void text_free(struct text *text);

// The random decisions that make a command, a byte each; behind the end all are 0, the simplest decision. A shorter tape
// makes a smaller command.
struct tape {
	unsigned char bytes[400];
	unsigned len, at;
};

// Takes the next decision: a number below n (> 0).
unsigned tape_pick(struct tape *tape, unsigned n);

// What a shell understands beyond POSIX.
enum {
	HAS_BRACKETS = 1 << 0,    // [[ ]]
	HAS_ARITHMETIC = 1 << 1,  // (( )) and let
	HAS_FOR = 1 << 2,         // for (( ))
	HAS_DOLLAR_SQUARE = 1 << 3, // $[ ]
	HAS_ARRAYS = 1 << 4,      // a[1]=x and a=(x)
	HAS_ANSI_QUOTES = 1 << 5, // $'…'
	HAS_LOCALE_QUOTES = 1 << 6, // $"…"
	HAS_HERE_STRINGS = 1 << 7,
	HAS_PROCESSES = 1 << 8,   // <( )
	HAS_REPLACEMENT = 1 << 9, // ${v/a/b} and ${v:1:2}
	HAS_BRACES = 1 << 10,     // x{a,b}
	HAS_BOTH = 1 << 11,       // &> and >& FILE
	HAS_FUNSUB = 1 << 12,     // ${ command; }
	HAS_PRINT = 1 << 13,      // print is a builtin, and printf may not be
	LACKS_GLOB = 1 << 14,     // a pattern without a match is an error
};

// The kinds of context in which an item stands, to count how often commands with each kind are refused. In a kind with an upper-case
// name the shell evaluates the item, so that only some items are accepted.
#define CONTEXTS(X)                                                                                                    \
	X(PLAIN, "plain word") X(SINGLE, "single quotes") X(DOUBLE, "double quotes") X(SUBSTITUTION, "$( )")           \
	X(BACKTICKS, "backticks") X(ANSI, "$'…'") X(LOCALE, "$\"…\"") X(PARAMETER, "${v:-word}")                       \
	X(NESTED, "quotes in \"${v:-word}\"") X(TRIM, "${v#pattern}") X(REPLACE, "${v/pattern/word}")                  \
	X(BRACES, "{a,b}") X(GLOB, "word with *") X(ESCAPE, "escapes") X(BACKSLASH, "backslash in front") \
	X(DOLLAR, "$ in front") X(ARITHMETIC, "$(( ))") X(SQUARE, "$[ ]") X(SLICE, "${v:offset}")                      \
	X(ASSIGNMENT, "assignment") X(PREFIX, "assignment in front of a command") X(GROUP, "{ }") X(SUBSHELL, "( )")    \
	X(PIPE, "pipe") X(IF, "if") X(LOOP, "for and while") X(FUNCTION, "function") X(SET, "set --") X(CASE, "case word") \
	X(PATTERN, "case pattern") X(BARE_CASE, "case without (") X(HERE, "here-document")                             \
	X(HERE_QUOTED, "quoted here-document") X(HERE_TABS, "<<-") X(HERE_END, "delimiter of a here-document")         \
	X(HERE_STRING, "here-string") X(REDIRECTION, "redirection") X(BOTH, ">& word") X(PROCESS, "<( )")              \
	X(COMMENT, "comment") X(BRACKETS, "[[ ]]") X(REGEX, "[[ =~ ]]") X(TEST, "test")                                \
	X(BRACKETS_NUMBER, "[[ -eq ]]") X(COMMAND_ARITHMETIC, "(( ))") X(FOR, "for (( ))") \
	X(LET, "let") X(SUBSCRIPT, "subscript") X(FUNSUB, "${ }") X(ITEM, "$FAIRPAR_ITEM")                             \
	X(AND_OR, "&& and ||") X(NEGATED, "!") X(SECOND, "two items in a word") X(LINE, "line continuation") \
	X(AMBIGUOUS, "(( that is no arithmetic") X(NAME, "name")

#define CONTEXT_NAME(name, text) CONTEXT_##name,
enum context { CONTEXTS(CONTEXT_NAME) NCONTEXTS };
#undef CONTEXT_NAME

extern const char *const context_names[NCONTEXTS];

// What an item must be for a command to be able to use it.
enum wanted { WANTS_ANY, WANTS_INTEGER };

// A random command, and what it prints.
struct command {
	struct text text;     // the template; items stand where {} is
	struct text expected; // what it prints, with the marks below
	bool contexts[NCONTEXTS];
	enum wanted wanted;
	bool strict;          // with WANTS_INTEGER: every item that is no integer must be refused

	bool names_files;     // items with slashes, and long ones, cannot be used
};

// In the expected output, each of these marks follows a byte \1.
#define MARK_ITEM 'I'
#define MARK_NUMBER 'N' // the item, which is an integer, and 1
#define MARK_OPEN '('   // the beginning of a command substitution, which loses the newlines at its end
#define MARK_CLOSE ')'

// Builds the command of a tape for a shell with these features (HAS_…).
void command_build(struct command *command, struct tape *tape, unsigned features, bool has_variable);
void command_free(struct command *command);

// Appends the output that the command should have for an item. Returns false if this is not known.
bool command_expected(const struct command *command, const char *item, struct text *out);

// True if every context in which an item may stand is one that must never be refused.
bool command_is_harmless(const struct command *command);

// Appends a random item, of any bytes except NUL, mostly of bytes that have a meaning to shells.
void item_random(struct text *item, uint64_t *random, const struct command *command);
bool item_is_integer(const char *item);
bool item_is_decimal(const char *item); // an integer that all shells read alike

// splitmix64 (Steele, Lea and Flood 2014).
uint64_t random_next(uint64_t *state);
unsigned random_below(uint64_t *state, unsigned n);
