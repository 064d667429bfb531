// The inside of the reader of shell text, shared by reader.c (quotes and expansions), reader_commands.c (the whole, lists of
// commands and here-documents) and reader_words.c (what commands do with their words, and what flows through variables).
//
// The reader is a recursive descent over the text. It keeps what is in force at each place (struct scope), and follows where
// items go: into which variables, and into the standard input and output of commands (struct flow). Text behind a construct
// that shells parse in different ways is in doubt: no item may stand there. All functions take the reader `r`, which stands
// at byte r->at, and go on behind what they read; none fails: a refusal is in r->reading, and ends the reading.

#ifndef FAIRPAR_SHELL_READER_INTERNAL_H
#define FAIRPAR_SHELL_READER_INTERNAL_H

#include "shell/quoting.h"
#include "shell/reader.h"

enum { READER_DEPTH = 64, NAME_LEN = 64, DOCUMENTS = 8 };

// The variable `name` may hold an item, or a value that is made of it.
struct flow {
	char name[NAME_LEN];
	size_t item;     // its number in reading->items
	bool is_derived; // the value is a part of the item, or the output of a command that has it among its words
	size_t at;       // of FLOW_OUTPUT: the first place of the whole text from which it goes there
	unsigned statement; // of FLOW_INPUT and FLOW_OUTPUT: the statement in which it goes there; 0: any
};

// In place of the name of a variable: the standard input and output of the commands of a statement. A statement goes from
// one ; or newline to the next that is in no compound command.
#define FLOW_INPUT "<"
#define FLOW_OUTPUT "|"
// In place of the name of a variable that comes out of an expansion, or is an item: it may be any.
#define FLOW_UNKNOWN "?"

// What the text says of a name: it is a function, a variable with the attribute integer. With KNOWN_LEFT_SIDE there is no name:
// the operand at `at` of the whole text is on the left side of an -eq.
struct known_name {
	enum { KNOWN_FUNCTION, KNOWN_INTEGER, KNOWN_LEFT_SIDE } kind;
	char name[NAME_LEN];
	size_t at;
};

// A here-document whose << was read, and whose lines come behind the next newline.
struct document {
	char delimiter[NAME_LEN]; // without its quotes
	size_t len;
	bool is_literal;      // the delimiter was quoted: nothing is expanded
	bool strips_tabs;     // <<-
	bool feeds_all;       // of exec or a function: commands of any statement may read it
	unsigned statement;   // of the <<
};

// A word that is being read: its literal bytes without the quotes.
struct word {
	size_t start;         // where it begins in the text
	char text[NAME_LEN];
	size_t len;
	bool is_quoted;       // quotes or backslashes are in it
	bool is_open;         // `text` is not all of it: expansions or items are in it, or it is too long
	bool has_item;
	bool may_assign;      // NAME= at its beginning is an assignment
	bool in_array;        // [ at its beginning is a subscript
	char name[NAME_LEN];  // of the variable that it assigns to
	size_t value;         // where the value of the assignment begins in the text
};

// Why an item cannot stand somewhere, and what to do instead; static texts, both NULL where it can.
struct reason {
	const char *why, *advice;
};

// What is in force where the reader is.
struct scope {
	unsigned needs;       // enum need: what the items that are read must be
	const char *flow;     // the variable, FLOW_INPUT or FLOW_OUTPUT that gets what is read; or NULL
	struct reason ban;    // why neither an item nor a reference to one may stand here
	unsigned region;      // the number in reading->regions
};

// What a command substitution stands in: its output goes there, and is made of the items among its words.
struct outer {
	struct scope scope;
	const struct outer *next; // or NULL
};

struct reader {
	struct reading *reading;
	const char *text;     // being read: the whole, or without one level of quoting what is between backticks or behind eval
	size_t len, at;
	const size_t *map;    // the offset in the whole text of each byte of `text`; or NULL: they are the same
	unsigned depth;       // constructs that are open
	unsigned substitutions; // of these, $(…)
	unsigned in_documents; // of these, here-documents that expand
	unsigned base;        // PLACE_BACKTICKS inside of backticks
	unsigned quoted;      // PLACE_QUOTED in a word that may be reserved, PLACE_APART in one of [[ ]], or 0
	bool is_nested;       // backticks in backticks
	size_t apart_at;      // behind a $NAME, which an item here would make longer
	size_t subscript_end; // of $x[…], which has a subscript in zsh; in the whole text
	size_t multibyte_at;  // the first byte that may be half a character, or SIZE_MAX
	size_t continued_at;  // a \ and a newline in the middle of something, or SIZE_MAX
	unsigned value_needs; // of a value behind NAME= (declare -i)
	unsigned group_needs; // … and of words in NAME=( )
	struct scope scope;
	bool derives;         // what is expanded is a part of the variable: ${x#…}
	bool flow_derives;    // what scope.flow gets is not the item itself, but made of it
	const struct outer *outer; // the innermost, or NULL
	struct reason doubt;  // why no place is certain from here on
	struct document documents[DOCUMENTS];
	unsigned ndocuments;
	const struct document *delimiter; // the here-document that is read and expands nothing, or NULL
	bool ended_by_esac;   // the last list of commands was, and not by ;;
	unsigned statement;   // from 1
	unsigned nesting;     // compound commands that are open in it: keywords, not parentheses
	bool feeds_all;       // what flows to an input or output may be read in any statement
	bool in_function;     // the statement defines one, which may be called in any
	size_t nuses, last_used; // how often reader_use() was called; the item of the last call
	struct flow *flows;
	size_t nflows, flows_cap;
	struct known_name *known;
	size_t nknown, known_cap;
	unsigned nregions;    // the highest number of a region that was given
	size_t marked;        // bytes of the whole text that have their region
};

// ---- reader.c ----

// Returns the n-th byte from here on; behind the end of the text a newline, since a command ends there.
static inline char reader_peek(const struct reader *r, size_t n) {
	return r->at + n < r->len ? r->text[r->at + n] : '\n';
}

// True at the end of the text, or once an item was refused.
static inline bool reader_at_end(const struct reader *r) {
	return r->at >= r->len || r->reading->refusal;
}

// Returns the offset in the whole text of the byte at offset `at` of r->text.
static inline size_t reader_place(const struct reader *r, size_t at) {
	return r->map ? r->map[at] : at;
}

// Notes that `syntax` (static text) begins at offset `at` of r->text, which bash has and not sh.
static inline void reader_note_bash(struct reader *r, size_t at, const char *syntax) {
	struct reading *reading = r->reading;
	if (!reading->bash_syntax) {
		reading->bash_syntax = syntax;
		reading->bash_at = reader_place(r, at);
	}
}

// From here on it is in doubt how shells parse the text: an item is refused for this reason, if it is the first one.
void reader_doubt(struct reader *r, const char *why, const char *advice);

// Calls reader_doubt() if the backslash before the byte `next` is another character in the locale (SHIFT_JIS), so that it
// might quote nothing.
void reader_doubt_yen(struct reader *r, char next);

// Begins a construct in which nothing of what is outside counts: $( ), a function. Returns the scope around it, for
// reader_leave().
struct scope reader_enter(struct reader *r);

// Ends a construct: what was in force around it is so again.
void reader_leave(struct reader *r, struct scope saved);

// Begins the region of that number, which ends the one before.
void reader_set_region(struct reader *r, unsigned region);

// Adds the mark, READ_ESCAPED or READ_OPERATOR, to reading->marks of the byte here.
void reader_mark(struct reader *r, unsigned mark);

// Sets the place and the needs of the item here, and goes on behind it. Returns false if the byte stands for no item.
bool reader_item(struct reader *r, unsigned place);

// Item number `i` is expanded here: itself, from a variable that holds it, or with `is_derived` as a value that is made of
// it. Adds the needs of the scope to those of the item, lets it flow where the scope says, or refuses it.
void reader_use(struct reader *r, size_t i, bool is_derived);

// Refuses item number `i`, unless one was refused before. The texts are static.
void reader_refuse(struct reader *r, size_t i, const char *why, const char *advice);

// Reads the word of eval or trap from `start` up to here once more, as the commands that it stands for.
void reader_code(struct reader *r, size_t start);

// Read the expansion that begins with the $ or the backtick here, in a place of that kind. `word` is the one that it is a
// part of, or NULL.
void reader_dollar(struct reader *r, unsigned place, struct word *word);
void reader_backticks(struct reader *r, unsigned place, struct word *word);

// Reads arithmetic and its end, `closing`: "))", "]" or "}". Returns false if it ends otherwise.
bool reader_arithmetic(struct reader *r, const char *closing);

// Reads a word, up to the blank or operator that ends it. The caller has set what the word may be; the rest is set.
void reader_word(struct reader *r, struct word *word);

// ---- reader_commands.c ----

// Reads a list of commands up to `end`, which is not read: ')', '}', ';' for the ;; of a case, '\0' for the end of the text.
void reader_list(struct reader *r, char end);

// ---- reader_words.c ----

// What a command is to the shell: what it does with its words.
enum command_kind {
	ORDINARY,  // a program, a function
	INTEGERS,  // all of its words are arithmetic
	INTEGER,   // the first of its words is arithmetic
	NAMES,     // its words are names of variables
	READ,      // its words are names of variables, which get what is read
	MAPFILE,   // as READ, but the variable is an array of the lines
	DECLARE,   // its words are NAME or NAME=VALUE
	DECLARE_INTEGERS,
	TEST,
	PRINTF,
	PRINT,
	SET,       // its words become the positional parameters
	CODE,      // its words are read as commands
	COMPLETION, // its words are expanded, or run
	SOURCE,    // its first word is a file of commands
	TRAP,      // its first word is read as commands, the others are names of signals
	PREFIX,    // its words are another command
	REPEAT,    // a number, then another command
	UNSAFE,    // it may change how shells read text
	OPTIONS,   // as UNSAFE, by the options …quotes and promptsubst
};

// A command, as far as it has been read.
struct command_words {
	unsigned n;               // words so far, with its name; assignments and words of PREFIX do not count
	enum command_kind kind;
	char first[NAME_LEN];     // its name
	bool is_function;         // of the text
	bool is_fed;              // stands behind a |
	bool goes_on;             // behind | or && or ||: a newline ends nothing
	bool has_input;           // its standard input is a file's
	bool is_operator_next;    // [: the next word is one
	bool is_operator_item;    // … and the last one was, if another word follows
	bool is_last_open;        // the last word has expansions
	bool is_last_compared;    // … and was one of numbers, or one that is not known
	size_t nuses_before;      // reader.nuses before the last word
	size_t name_item;         // 1 and the number of the item that is its name; or 0
	size_t nuses_named;       // reader.nuses behind its name
	unsigned nparentheses;    // open in [[
	unsigned nformat, nargs;  // printf: conversions of the format; words behind it
	char format[NAME_LEN];    // printf: 'd' or 's' for each of these
	bool has_format;
	bool has_action;          // trap: what comes are signals
	bool in_condition;        // [[ has not been closed
	bool is_integer;          // declare -i
	bool is_special;          // declare with other options that make more of a value than text
	bool is_prefixed;         // by command, builtin and the like: what comes is no keyword
	char target[NAME_LEN];    // printf -v, set -A, read: the variable
	size_t last_start;        // of the word before
	char last[8];             // that word, if it is short
};

// Called with the word that is the command's name: sets what the command is. After a PREFIX the command has no name yet.
void command_named(struct reader *r, struct command_words *command, const struct word *word);

// Called before another word of the command is read: sets what its items must be and where they flow.
void command_before_word(struct reader *r, struct command_words *command, struct word *word);

// Called when that word was read: takes note of what it says about the words that follow.
void command_after_word(struct reader *r, struct command_words *command, const struct word *word);

// Called at the operator that ends the command, a pipe if `is_piped`: lets its input flow to its output, and empties
// `command` for the next one.
void command_end(struct reader *r, struct command_words *command, bool is_piped);

// Called at the = behind the word, which is an assignment if the word is NAME, NAME+ or NAME[…]: the value flows there.
void reader_assign(struct reader *r, struct word *word);

// Called for the name at offset `at` of r->text, which is expanded (`is_expanded`), or stands where a shell may take it for
// that of a variable: uses the items that the variable may hold.
void reader_name(struct reader *r, size_t at, size_t len, bool is_expanded);

// The variable of the environment holds the item of the job, or with `is_derived` a value that is made of it.
void reader_variable(struct reader *r, const char *name, bool is_derived);

// The item, or with `is_derived` a value that is made of it, goes to the variable `to`. If shells obey that variable, the item
// is refused or gets the needs that follow.
void flow_add(struct reader *r, const char *to, size_t item, bool is_derived);

// All that may be in the variable `from` here goes to the variable `to`.
void flow_copy(struct reader *r, const char *to, const char *from, bool is_derived);

// The command here reads FLOW_INPUT or FLOW_OUTPUT (`from`), and its own output is made of that.
void flow_use(struct reader *r, const char *from);

// Takes note of the name, of that `kind` of struct known_name.
void known_add(struct reader *r, unsigned kind, const char *name, size_t at);

#endif
