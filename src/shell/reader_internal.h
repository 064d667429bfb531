// The inside of the reader of shell text, shared by reading.c (the whole), reader.c (quotes and expansions),
// reader_commands.c (lists of commands and here-documents) and reader_words.c (what commands do with their words, and what
// flows through variables).

#ifndef FAIRPAR_SHELL_READER_INTERNAL_H
#define FAIRPAR_SHELL_READER_INTERNAL_H

#include "shell/quoting.h"
#include "shell/reader.h"

enum { READER_DEPTH = 64, NAME_LEN = 64, DOCUMENTS = 8 };

// A name and the item that it may hold.
struct flow {
	char name[NAME_LEN];
	size_t item;
	bool is_derived; // a part of it, or the output of a command that has it
	size_t at;       // of FLOW_OUTPUT: where
	unsigned statement; // of FLOW_INPUT and FLOW_OUTPUT: the one in which it goes there, or 0: any
};

// What is not the name of a variable, but gets items as one does: the standard input and output of the commands of a
// statement, that is of all from one ; or newline to the next that is in no compound command.
#define FLOW_INPUT "<"
#define FLOW_OUTPUT "|"
// A variable whose name comes out of an expansion, or is an item.
#define FLOW_UNKNOWN "?"

// A name of the text: a function, a variable that holds integers; or the place of a left side of -eq.
struct known_name {
	enum { KNOWN_FUNCTION, KNOWN_INTEGER, KNOWN_ASSIGNED, KNOWN_LEFT_SIDE } kind;
	char name[NAME_LEN];
	size_t at;
};

struct document {
	char delimiter[NAME_LEN];
	size_t len;
	bool is_literal, strips_tabs;
	bool feeds_all;       // of exec, or a function
	unsigned statement;   // where it was announced
};

// A word that is being read: its literal bytes without the quotes.
struct word {
	size_t start;         // where it begins in the text
	char text[NAME_LEN];
	size_t len;
	bool is_quoted;       // quotes or backslashes are in it
	bool is_open;         // so are expansions or items, or it is too long
	bool has_item;
	bool may_assign;      // NAME= at its beginning is an assignment
	bool in_array;        // [ at its beginning is a subscript
	char name[NAME_LEN];  // of the variable that it assigns to
	size_t value;         // … and where its value begins
};

// Why an item cannot stand somewhere, and what to do instead; static texts, both NULL where it can.
struct reason {
	const char *why, *advice;
};

// What is in force where the reader is.
struct scope {
	unsigned needs;       // enum need, of what is read
	const char *flow;     // the variable that gets it, or NULL
	struct reason ban;    // why no item may stand here; its references neither
	unsigned region;      // of -X
};

// What a command substitution stands in: its output goes there, and is made of the items among its words.
struct outer {
	struct scope scope;
	const struct outer *next; // or NULL
};

struct reader {
	struct reading *reading;
	const char *text;     // the text being read: the whole, or what is between backticks without its backslashes
	size_t len, at;
	const size_t *map;    // where the bytes of that stand in the whole, or NULL
	unsigned depth;       // nested constructs
	unsigned substitutions; // of these, $(…)
	unsigned in_documents; // of these, here-documents that expand
	unsigned base;        // PLACE_BACKTICKS inside of them
	unsigned quoted;      // PLACE_QUOTED in a word that may be reserved, PLACE_APART in one of [[ ]], or 0
	bool is_nested;       // backticks in backticks
	size_t apart_at;      // an item here would go on with the name before it
	size_t subscript_end; // of $x[…], which has a subscript in zsh; in the whole text
	size_t multibyte_at;  // the first byte that may be half a character, or SIZE_MAX
	size_t continued_at;  // a \ and a newline in the middle of something, or SIZE_MAX
	unsigned value_needs; // of a value behind NAME= (declare -i)
	unsigned group_needs; // … and of words in NAME=( )
	struct scope scope;
	bool derives;         // what is expanded is a part of the variable: ${x#…}
	bool flow_derives;    // what flows is made of it
	const struct outer *outer; // the innermost, or NULL
	struct reason doubt;  // why no place is certain from here on
	struct document documents[DOCUMENTS];
	unsigned ndocuments;
	const struct document *delimiter; // of the document that expands nothing, while that is read
	bool ended_by_esac;   // the list of commands
	unsigned statement;   // from 1
	unsigned nesting;     // compound commands that are open in it: keywords, not parentheses
	bool feeds_all;       // what flows to an input or output may be read in any statement
	bool in_function;     // the statement defines one, which may be called in any
	size_t nuses, last_used; // items that were used, in any way; the last of them
	struct flow *flows;
	size_t nflows, flows_cap;
	struct known_name *known;
	size_t nknown, known_cap;
	unsigned nregions;
	size_t marked;
};

// ---- reader.c ----

static inline char reader_peek(const struct reader *r, size_t n) {
	return r->at + n < r->len ? r->text[r->at + n] : '\n'; // where it ends, a line does
}

static inline bool reader_at_end(const struct reader *r) {
	return r->at >= r->len || r->reading->refusal;
}

static inline size_t reader_place(const struct reader *r, size_t at) {
	return r->map ? r->map[at] : at;
}

bool reader_is_name(char c);

// Notes why no item behind this place can be placed, if it is the first such reason.
void reader_doubt(struct reader *r, const char *why, const char *advice);

// The same, if the byte of the backslash before `next` is another character in the locale.
void reader_doubt_yen(struct reader *r, char next);

// Begins a construct in which nothing of what is outside counts: $( ), a function. Returns the scope around it, for
// reader_leave().
struct scope reader_enter(struct reader *r, bool in_document);

// Ends a construct: what was in force around it is so again.
void reader_leave(struct reader *r, struct scope saved);

// What comes is in that region.
void reader_set_region(struct reader *r, unsigned region);

// Marks the byte here (READ_OPERATOR) for -X.
void reader_mark(struct reader *r, unsigned mark);

// Notes the item here, and goes on behind it. Returns false if the byte is no item.
bool reader_item(struct reader *r, unsigned place);

// Item number `i` is used here, or a variable that holds it, or something that is made of it (`is_derived`).
void reader_use(struct reader *r, size_t i, bool is_derived);

// Refuses item number `i`.
void reader_refuse(struct reader *r, size_t i, const char *why, const char *advice);

// Reads the word of eval or trap from `start` up to here once more, as the commands that it stands for.
void reader_code(struct reader *r, size_t start);

// Reads on from a $ or a backtick in a place of that kind, in the word or NULL.
void reader_dollar(struct reader *r, unsigned place, struct word *word);
void reader_backticks(struct reader *r, unsigned place, struct word *word);

// Reads behind the )) or ] or } that ends arithmetic. Returns false if there was another end.
bool reader_arithmetic(struct reader *r, const char *closing);

// Reads a word up to what ends it.
void reader_word(struct reader *r, struct word *word);

// ---- reader_commands.c ----

// Reads commands up to `end`, which is not read: ')', '}'; ';' for those of a case; or 0.
void reader_list(struct reader *r, char end);

// ---- reader_words.c ----

// What a command is to the shell: what it does with its words.
enum command_kind {
	ORDINARY,  // a program, a function
	INTEGERS,  // all of its words are arithmetic
	INTEGER,   // … the first of them
	NAMES,     // … names of variables
	READ,      // … and the variables get what is read
	MAPFILE,   // … in parts
	DECLARE,   // … NAME or NAME=VALUE
	DECLARE_INTEGERS,
	TEST,
	PRINTF,
	PRINT,
	SET,       // the positional parameters
	CODE,      // … are read as commands
	COMPLETION, // … are expanded, or run
	SOURCE,    // the first of them is a file of commands
	TRAP,      // … so is the first of them; names of signals
	PREFIX,    // a command comes
	REPEAT,    // a number, then a command
	UNSAFE,    // it may change how shells read
	OPTIONS,   // … the options …quotes and promptsubst
};

// A command, as far as it has been read.
struct command_words {
	unsigned n;               // words, with its name
	enum command_kind kind;
	char first[NAME_LEN];     // its name
	bool is_function;         // of the text
	bool is_generated;        // its name comes out of an expansion
	bool is_fed;              // stands behind a |
	bool goes_on;             // behind | or && or ||: a newline ends nothing
	bool has_input;           // its standard input is a file's
	bool is_operator_next;    // [: the next word is one
	bool is_operator_item;    // … and the last one was, if another word follows
	bool is_last_open;        // the last word has expansions
	bool is_last_compared;    // … and was one of numbers, or one that is not known
	size_t nuses_before;      // of items, in the words before the last one
	size_t name_item;         // the item that is its name, and 1; or 0
	size_t nuses_named;
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

// Before a word is read: what its items must be, and where they flow.
void command_before_word(struct reader *r, struct command_words *command, struct word *word);
// … and behind it.
void command_after_word(struct reader *r, struct command_words *command, const struct word *word);
// Is it known to be the name of a command that counts?
void command_named(struct reader *r, struct command_words *command, const struct word *word);
// An operator ends the command.
void command_end(struct reader *r, struct command_words *command, bool is_piped);

// The word is NAME or NAME+ before a =: the value that comes flows there.
void reader_assign(struct reader *r, struct word *word);

// A name is expanded (`is_expanded`), or stands where a shell may take it for a variable.
void reader_name(struct reader *r, size_t at, size_t len, bool is_expanded);

// A variable of the environment holds the item, or is made of it.
void reader_variable(struct reader *r, const char *name, bool is_derived);

// Something that is made of the item goes to a variable, whatever assigns it; refuses it, or says what it must be, where
// the shell obeys that variable.
void flow_add(struct reader *r, const char *to, size_t item, bool is_derived);
void flow_copy(struct reader *r, const char *to, const char *from, bool is_derived);
// The command here reads what flows to `from`, and its own output is made of it.
void flow_use(struct reader *r, const char *from);
void known_add(struct reader *r, unsigned kind, const char *name, size_t at);

#endif
