// What commands of the shell do with their words, and which variables hold an item: where shells evaluate what they get as
// arithmetic, as a name or as a command, whatever its quotes were.

#include "shell/reader_internal.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

#include <string.h>

// ---- variables that shells obey ----

// From the manuals of bash, zsh, ksh93, mksh, yash and dash, and ld.so(8); the integers as bash 5.2, zsh 5.9 and mksh R59 have
// them.
enum variable_kind shell_variable_kind(const char *name, bool is_array) {
	static const char code[] =
		"PS0 PS1 PS2 PS3 PS4 PROMPT PROMPT2 PROMPT3 PROMPT4 RPROMPT RPROMPT2 RPS1 RPS2 SPROMPT PROMPT_COMMAND POST_PROMPT_COMMAND "
		"COMMAND_NOT_FOUND_HANDLER YASH_AFTER_CD MAILPATH ENV BASH_ENV ZDOTDIR FCEDIT NULLCMD READNULLCMD STTY SHELLOPTS BASHOPTS "
		"BASH_ALIASES dis_aliases dis_functions galiases dis_galiases saliases dis_saliases IFS";
	static const char integers[] =
		"RANDOM SRANDOM SECONDS LINENO OPTIND HISTCMD TMOUT MAILCHECK HISTSIZE SAVEHIST COLUMNS LINES UID GID EUID EGID ERRNO "
		"KEYTIMEOUT LISTMAX DIRSTACKSIZE FUNCNEST SHLVL TTYIDLE TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT BASHPID KSHUID KSHGID KSHEGID "
		"PGRP PPID PIPESTATUS USER_ID";
	size_t len = strcspn(name, "[");
	if (len == 0) {
		return VARIABLE_PLAIN;
	}
	if (word_is_in(code, name, len) || strncmp(name, "BASH_FUNC_", 10) == 0 || (is_array && word_is_in("functions aliases", name, len))) {
		return VARIABLE_CODE;
	}
	if (word_is_in("PATH LD_LIBRARY_PATH FPATH BASH_LOADABLES_PATH MODULE_PATH YASH_LOADPATH", name, len)) {
		return VARIABLE_DIRECTORIES;
	}
	bool is_table = is_array && word_is_in("commands path fpath module_path", name, len);
	if (strncmp(name, "LD_", 3) == 0 || word_is_in("BASH_CMDS dis_commands GCONV_PATH", name, len) || is_table) {
		return VARIABLE_PROGRAMS;
	}
	return word_is_in(integers, name, len) ? VARIABLE_INTEGER : VARIABLE_PLAIN;
}

// ---- variables that hold items ----

static bool known_has(const struct reader *r, unsigned kind, const char *name, size_t at) {
	for (size_t i = 0; i < r->nknown; ++i) {
		if (r->known[i].kind == kind && r->known[i].at == at && strncmp(r->known[i].name, name, NAME_LEN - 1) == 0) {
			return true;
		}
	}
	return false;
}

static void copy_name(char *to, const char *from) {
	size_t len = strnlen(from, NAME_LEN - 1);
	memcpy(to, from, len);
	to[len] = '\0';
}

static bool is_stream(const char *name) {
	return name[0] == FLOW_INPUT[0] || name[0] == FLOW_OUTPUT[0];
}

static bool has_flow(const struct reader *r, const char *name, size_t item) {
	size_t len = strcspn(name, "["), i = 0;
	while (i < r->nflows && !(r->flows[i].item == item && strncmp(r->flows[i].name, name, len) == 0 && r->flows[i].name[len] == '\0')) {
		++i;
	}
	return i < r->nflows;
}

// The item goes to a variable.
static void check_variable(struct reader *r, const char *name, size_t item, bool is_derived) {
	if (name[0] == FLOW_UNKNOWN[0]) {
		if (!is_derived || !(r->scope.needs & NEED_NAME)) {
			reader_refuse(r, item, "the name of the variable that gets it is not known before the command runs, and could be PS4 or PATH",
			              "write the name itself");
		}
		return;
	}
	enum variable_kind kind = shell_variable_kind(name, strchr(name, '['));
	char plain[NAME_LEN];
	copy_name(plain, name);
	plain[strcspn(plain, "[")] = '\0';
	if (kind == VARIABLE_INTEGER || (kind == VARIABLE_PLAIN && known_has(r, KNOWN_INTEGER, plain, 0))) {
		r->reading->items[item].needs |= is_derived ? NEED_DERIVED : NEED_INTEGER;
	} else if (kind != VARIABLE_PLAIN && !has_flow(r, name, item)) { // PATH=$PATH:… of a matrix
		reader_refuse(r, item, kind == VARIABLE_CODE ? "shells evaluate the value of the variable that gets it"
		              : "what runs is found by the variable that gets it", kind == VARIABLE_CODE ? "take another one"
		              : "write what it holds, or let the matrix of a manifest choose it");
	}
}

static void add_flow(struct reader *r, const char *to, size_t item, bool is_derived) {
	bool is_any = !is_stream(to) || r->feeds_all || (r->in_function && to[0] == FLOW_OUTPUT[0]);
	struct flow flow = {.item = item, .is_derived = is_derived, .at = reader_place(r, r->at), .statement = is_any ? 0 : r->statement};
	copy_name(flow.name, to);
	for (size_t i = 1; text_is_name(flow.name[0]) && flow.name[i] != '\0'; ++i) { // read 'a[1]', read x?prompt
		flow.name[i] = text_is_name(flow.name[i]) ? flow.name[i] : '\0';
	}
	for (size_t i = 0; i < r->nflows; ++i) {
		struct flow *old = &r->flows[i];
		if (old->item == item && old->is_derived == is_derived && old->statement == flow.statement && strcmp(old->name, flow.name) == 0) {
			old->at = old->at < flow.at ? old->at : flow.at;
			return;
		}
	}
	grow_array(&r->flows, &r->flows_cap, r->nflows + 1, sizeof(r->flows[0]));
	r->flows[r->nflows++] = flow;
}

void flow_add(struct reader *r, const char *to, size_t item, bool is_derived) {
	check_variable(r, to, item, is_derived);
	add_flow(r, to, item, is_derived);
}

// Does it hold something of the name, here?
static bool is_flow_of(const struct reader *r, const struct flow *flow, const char *name) {
	bool is_here = !is_stream(name) || flow->statement == 0 || flow->statement == r->statement || r->in_function;
	return is_here && strcmp(flow->name, name) == 0;
}

void flow_copy(struct reader *r, const char *to, const char *from, bool is_derived) {
	for (size_t i = 0; i < r->nflows; ++i) {
		if (is_flow_of(r, &r->flows[i], from)) {
			flow_add(r, to, r->flows[i].item, is_derived || r->flows[i].is_derived);
		}
	}
}

// Behind a |: what went to the output before it is the input.
static void flow_pipe(struct reader *r) {
	for (size_t i = 0; i < r->nflows; ++i) {
		if (is_flow_of(r, &r->flows[i], FLOW_OUTPUT) && (r->flows[i].statement == 0 || r->flows[i].at <= reader_place(r, r->at))) {
			flow_add(r, FLOW_INPUT, r->flows[i].item, r->flows[i].is_derived);
		}
	}
}

void flow_use(struct reader *r, const char *from) {
	const char *flow = r->scope.flow;
	r->scope.flow = flow ? flow : FLOW_OUTPUT;
	for (size_t i = 0; i < r->nflows; ++i) {
		if (is_flow_of(r, &r->flows[i], from) && (from[0] != FLOW_OUTPUT[0] || r->flows[i].statement == 0)) {
			reader_use(r, r->flows[i].item, true);
		}
	}
	r->scope.flow = flow;
}

void known_add(struct reader *r, unsigned kind, const char *name, size_t at) {
	if (!known_has(r, kind, name, at)) {
		grow_array(&r->known, &r->known_cap, r->nknown + 1, sizeof(r->known[0]));
		r->known[r->nknown] = (struct known_name){.kind = kind, .at = at};
		copy_name(r->known[r->nknown++].name, name);
	}
}

// Adds an item that is no replacement string. Returns its number.
static size_t add_reference(struct reading *reading, struct read_item item) {
	grow_array(&reading->items, &reading->items_cap, reading->nitems + 1, sizeof(reading->items[0]));
	reading->items[reading->nitems] = item;
	reading->items[reading->nitems].is_reference = true;
	return reading->nitems++;
}

// $FAIRPAR_ITEM, $FAIRPAR_ITEM_2. The same place is read twice, and is one item.
static void use_reference(struct reader *r, size_t at, const char *digits, size_t len) {
	int column = 0;
	for (size_t i = 0; i < len && column < 1000000; ++i) {
		column = 10 * column + (digits[i] - '0');
	}
	struct reading *reading = r->reading;
	at = reader_place(r, at);
	size_t i = 0;
	while (i < reading->nitems && !(reading->items[i].is_reference && reading->items[i].at == at)) {
		++i;
	}
	i = i < reading->nitems ? i : add_reference(reading, (struct read_item){.at = at, .column = column});
	reader_use(r, i, r->derives);
}

void reader_variable(struct reader *r, const char *name, bool is_derived) {
	size_t item = add_reference(r->reading, (struct read_item){.at = SIZE_MAX, .is_read = true});
	if (shell_variable_kind(name, false) == VARIABLE_INTEGER) {
		flow_add(r, name, item, is_derived);
	} else {
		add_flow(r, name, item, is_derived); // the others are the manifest's to refuse
	}
}

void reader_name(struct reader *r, size_t at, size_t len, bool is_expanded) {
	static const char own[] = "FAIRPAR_ITEM";
	const char *name = r->text + at;
	if (len == 0 || at + len > r->len) {
		return;
	}
	if (len >= sizeof(own) - 1 && memcmp(name, own, sizeof(own) - 1) == 0) {
		size_t skip = sizeof(own) - 1 + (len > sizeof(own) - 1);
		bool is_column = len > skip && name[skip - 1] == '_' && strspn(name + skip, "0123456789") >= len - skip;
		if (len == sizeof(own) - 1 || is_column) {
			use_reference(r, at, name + skip, len - skip);
		}
		return;
	}
	char text[NAME_LEN] = "@"; // the positional parameters are one
	bool is_positional = is_expanded && (name[0] == '@' || name[0] == '*' || (name[0] >= '1' && name[0] <= '9'));
	if (!is_positional && len < sizeof(text)) {
		memcpy(text, name, len);
		text[len] = '\0';
	}
	if (strcmp(text, "OPTARG") == 0) {
		copy_name(text, "@");
	} else if (strcmp(text, "MATCH") == 0 || strcmp(text, "match") == 0) { // of zsh; .sh.match of ksh
		copy_name(text, "BASH_REMATCH");
	}
	for (size_t i = 0; i < r->reading->nitems && strcmp(text, "_") == 0; ++i) { // the last word of the command before
		if (!r->reading->items[i].is_number && r->reading->items[i].at != SIZE_MAX) {
			reader_use(r, i, true);
		}
	}
	for (size_t i = 0; i < r->nflows; ++i) {
		if (strcmp(r->flows[i].name, text) == 0) {
			reader_use(r, r->flows[i].item, r->derives || r->flows[i].is_derived);
		}
	}
}

void reader_assign(struct reader *r, struct word *word) {
	char *bracket = strchr(word->text, '[');
	size_t len = bracket ? (size_t)(bracket - word->text) : word->len;
	len -= len > 0 && word->text[len - 1] == '+';
	for (size_t i = 0; i < len; ++i) {
		if (!text_is_name(word->text[i])) {
			return;
		}
	}
	if (len == 0 || (word->text[0] >= '0' && word->text[0] <= '9')) {
		return;
	}
	memcpy(word->name, word->text, len);
	word->name[len] = '\0';
	bool is_array = reader_peek(r, 0) == '(' || (r->at > 2 && memchr(r->text + r->at - 3, ']', 2)); // a=( ), a[…]=, a[…]+=
	bool is_integer = shell_variable_kind(word->name, is_array) == VARIABLE_INTEGER || known_has(r, KNOWN_INTEGER, word->name, 0);
	r->scope.needs = (r->scope.needs & ~(unsigned)NEED_NAME) | r->value_needs | (is_integer ? NEED_INTEGER : 0);
	r->group_needs = is_integer ? NEED_INTEGER : r->group_needs;
	word->value = r->at;
	if (is_array && len < sizeof(word->name) - 1) {
		memcpy(word->name + len, "[", 2);
	}
	r->scope.flow = word->name;
}

// ---- commands ----

static enum command_kind find_kind(const char *name, size_t len);

static enum command_kind kind_of(const struct word *word) {
	return word->is_open ? ORDINARY : find_kind(word->text, word->len);
}

bool shell_evaluates_words(const char *name, size_t len) {
	return find_kind(name, len) != ORDINARY && !word_is_in("echo", name, len);
}

void command_named(struct reader *r, struct command_words *command, const struct word *word) {
	bool is_option = command->is_prefixed && word->text[0] == '-';
	enum command_kind kind = kind_of(word);
	if (is_option || kind == PREFIX) {
		command->is_prefixed = true;
		return;
	}
	command->n = 1;
	command->kind = kind;
	command->is_function = !word->is_open && known_has(r, KNOWN_FUNCTION, word->text, 0);
	copy_name(command->first, word->is_open ? "" : word->text);
	command->in_condition = strcmp(command->first, "[[") == 0 && !word->is_quoted;
	if (command->in_condition) {
		reader_note_bash(r, word->start, "[[");
	}
	command->is_integer = kind == DECLARE_INTEGERS;
	command->last_start = word->start;
	command->last[0] = '\0';
	bool is_item = word->has_item && word->len == 0 && r->nuses == command->nuses_before + 1;
	command->name_item = is_item ? r->last_used + 1 : 0;
	command->nuses_named = r->nuses;
	if (kind == READ || kind == MAPFILE) { // without a name
		flow_copy(r, kind == READ ? "REPLY" : "MAPFILE", FLOW_INPUT, kind == MAPFILE);
	}
	if (kind == UNSAFE) {
		reader_doubt(r, "behind this command shells may read in another way", "do without it");
	}
}

static const struct reason operators = {"an item here would be an operator to the test, and some of them evaluate their operands",
                                        "write the operator itself, and one word on each of its sides"};

// ---- what each kind does with a word ----

#define ITEM_AS_VARIABLE "'… \"$FAIRPAR_ITEM\" …', in single quotes"

static void before_integer(struct reader *r, const struct command_words *command) {
	r->scope.needs = command->n > 1 ? 0 : NEED_INTEGER;
}

static void before_names(struct reader *r, const struct command_words *command) {
	if (strcmp(command->last, "-C") == 0) {
		r->scope.ban = (struct reason){"mapfile reads this word as a command", "write " ITEM_AS_VARIABLE};
	}
}

static void before_declare(struct reader *r, const struct command_words *command) {
	r->value_needs = command->is_integer || command->is_special ? NEED_INTEGER : 0;
	r->group_needs = command->is_integer ? NEED_INTEGER : 0;
}

static void before_test(struct reader *r, const struct command_words *command) {
	if (strcmp(command->last, "-v") == 0 || strcmp(command->last, "-R") == 0) {
		r->scope.needs = NEED_NAME;
	} else if (command->is_last_compared || strcmp(command->last, "-t") == 0 ||
	           known_has(r, KNOWN_LEFT_SIDE, "", reader_place(r, r->at))) {
		r->scope.needs = command->in_condition ? NEED_INTEGER : NEED_NUMBER; // [ ] knows no octal numbers
	} else if (command->in_condition && (strcmp(command->last, "==") == 0 || strcmp(command->last, "=") == 0 || strcmp(command->last, "!=") == 0)) {
		r->scope.needs = NEED_NO_PATTERN;
	}
	if (command->in_condition) {
		r->scope.flow = "BASH_REMATCH";
		r->flow_derives = true;
	} else if (command->is_operator_next && command->is_last_open) { // behind what may be -v
		r->scope.ban = operators;
	}
}

// In [ ] an operand is followed by an operator, whatever it looks like.
static void after_test(struct reader *r, struct command_words *command, const struct word *word) {
	const char *text = word->is_open ? "" : word->text;
	bool is_binary = command->in_condition || command->is_operator_next;
	if (command->is_operator_item && strcmp(text, "]") != 0 && !r->reading->refusal) {
		reader_refuse(r, r->last_used, operators.why, operators.advice);
	}
	command->is_operator_item = command->is_operator_next && !command->in_condition && r->nuses > command->nuses_before;
	command->is_last_open = word->is_open;
	command->is_last_compared = is_binary && (word_is_in("-eq -ne -lt -le -gt -ge", text, strlen(text)) || (word->is_open && !command->in_condition));
	if (command->is_last_compared) {
		known_add(r, KNOWN_LEFT_SIDE, "", reader_place(r, command->last_start));
	}
	bool is_unary = !word->is_open && ((text[0] == '-' && word->len == 2) || strcmp(text, "!") == 0 || strcmp(text, "(") == 0);
	command->is_operator_next = !command->in_condition && (command->is_operator_next ? strcmp(text, ")") == 0 : !is_unary);
}

// Is the last word an option with that letter at its end?
static bool is_behind(const struct command_words *command, const char *letters) {
	size_t len = strlen(command->last);
	return len > 1 && strchr("-+", command->last[0]) && strchr(letters, command->last[len - 1]);
}

// printf -v, and print -v of zsh, whose options may stand together
static bool is_behind_v(const struct command_words *command) {
	bool is_print = strcmp(command->first, "print") == 0;
	return !command->has_format && (is_print ? is_behind(command, "v") : strcmp(command->last, "-v") == 0);
}

static void before_printf(struct reader *r, const struct command_words *command) {
	if (is_behind_v(command)) {
		r->scope.needs = NEED_NAME;
		return;
	}
	r->scope.flow = command->target[0] ? command->target : FLOW_OUTPUT;
	if (!command->has_format) {
		r->scope.needs = reader_peek(r, 0) == '-' && reader_peek(r, 1) == 'v' ? NEED_NAME : 0;
	} else {
		bool is_number = command->nformat > 0 && command->format[command->nargs % command->nformat] == 'd';
		// the number of a character: printf %d "'x"
		char first = reader_peek(r, 0), second = reader_peek(r, 1);
		bool is_character = (first == '\\' && (second == '\'' || second == '"')) || (first == '"' && second == '\'');
		r->scope.needs = is_number && !is_character ? NEED_NUMBER : 0;
	}
}

static void before_set(struct reader *r, const struct command_words *command) {
	if (is_behind(command, "A") && command->target[0] == '\0') { // an array
		r->scope.needs = NEED_NAME;
	} else {
		r->scope.flow = command->target[0] ? command->target : "@";
	}
}

static const struct reason sourced = {"the shell reads what comes here as commands", "write " ITEM_AS_VARIABLE};

static void before_source(struct reader *r, const struct command_words *command) {
	(void)command;
	if ((reader_peek(r, 0) == '<' || reader_peek(r, 0) == '=') && reader_peek(r, 1) == '(') {
		r->scope.ban = sourced;
	}
}

static void before_trap(struct reader *r, const struct command_words *command) {
	if (command->has_action) {
		r->scope.needs = NEED_NAME;
	} else {
		r->scope.ban = (struct reason){"trap reads its action as commands, whatever its quotes are", "write " ITEM_AS_VARIABLE};
	}
}

// Takes note of the conversions of a format.
static void read_format(struct command_words *command, const char *at) {
	command->has_format = true;
	while ((at = strchr(at, '%'))) {
		++at;
		at += strspn(at, "-+ #0'");
		for (int i = 0; i < 2; ++i) {
			if (*at == '*') {
				command->format[command->nformat++] = 'd';
				++at;
			}
			at += strspn(at, "0123456789");
			at += *at == '.';
		}
		at += strspn(at, "hlLqjzt");
		if (*at == '\0' || command->nformat >= NAME_LEN - 3) {
			return;
		}
		if (*at != '%') {
			command->format[command->nformat++] = strchr("csbqQPRHn", *at) ? 's' : 'd'; // bash wants a name for %n, and checks it
		}
		++at;
	}
}

static void after_declare(struct reader *r, struct command_words *command, const struct word *word) {
	if ((word->text[0] == '-' || word->text[0] == '+') && !word->is_open) {
		command->is_integer = command->is_integer || strpbrk(word->text, "iEFn");
		command->is_special = command->is_special || strpbrk(word->text, "aAnTCM");
	} else if (command->is_integer && word->text[0] != '\0') {
		char name[NAME_LEN];
		copy_name(name, word->name[0] ? word->name : word->text);
		name[strcspn(name, "[")] = '\0';
		known_add(r, KNOWN_INTEGER, name, 0); // or a reference, by whose value a variable is named
	}
}

// A word that is the name of a variable, or not known before the command runs: then it may be any.
static void set_target(struct command_words *command, const struct word *word, const char *name) {
	copy_name(command->target, word->is_open ? FLOW_UNKNOWN : name);
	size_t len = strlen(command->target);
	if (len < NAME_LEN - 2 && (command->kind == SET || is_behind(command, "aA"))) {
		memcpy(command->target + len, "[", 2);
	}
}

static void after_read(struct reader *r, struct command_words *command, const struct word *word) {
	bool is_mapfile = command->kind == MAPFILE;
	bool is_argument = is_behind(command, is_mapfile ? "dnOsucC" : "dinNptu");
	if (word->text[0] == '-' || (word->is_open && (is_argument || strchr(word->text, '?')))) { // read x?prompt
		return;
	}
	bool is_part = command->target[0] != '\0' || is_mapfile; // the line is split among several
	for (size_t i = 0; i < r->nflows && is_part; ++i) {
		r->flows[i].is_derived = r->flows[i].is_derived || strcmp(r->flows[i].name, command->target) == 0;
	}
	set_target(command, word, word->text);
	flow_copy(r, command->target, FLOW_INPUT, is_part);
}

static void after_printf(struct reader *r, struct command_words *command, const struct word *word) {
	bool is_option = word->text[0] == '-' && !word->is_open;
	if (is_behind_v(command)) {
		set_target(command, word, word->text);
	} else if (!command->has_format && strncmp(word->text, "-v", 2) == 0 && (word->text[2] != '\0' || word->is_open)) {
		set_target(command, word, word->text + 2);
	} else if (command->has_format) {
		++command->nargs;
	} else if (command->kind == PRINT) { // print -f FORMAT
		const char *format = is_option ? strchr(word->text, 'f') : NULL;
		bool is_format = command->last[0] == '-' && strchr(command->last, 'f') == command->last + strlen(command->last) - 1;
		if ((format && format[1] != '\0') || is_format) {
			read_format(command, format ? format + 1 : word->text);
		}
	} else if (!is_option) {
		read_format(command, word->text);
		// a conversion that is not known may be one of numbers
		bool is_unknown = word->is_open && (command->nformat == 0 || r->nuses > command->nuses_before);
		command->nformat = is_unknown ? 1 : command->nformat;
		command->format[0] = is_unknown ? 'd' : command->format[0];
	}
}

static void after_source(struct reader *r, struct command_words *command, const struct word *word) {
	(void)command;
	bool is_input = strncmp(word->text, "/dev/", 5) == 0 || strncmp(word->text, "/proc/", 6) == 0 || strcmp(word->text, "-") == 0;
	if (word->is_open || is_input) {
		struct reason old = r->scope.ban;
		r->scope.ban = sourced;
		flow_use(r, FLOW_INPUT);
		r->scope.ban = old;
	}
}

static void after_set(struct reader *r, struct command_words *command, const struct word *word) {
	(void)r;
	bool is_attached = (word->text[0] == '-' || word->text[0] == '+') && word->text[1] == 'A' && word->len > 2;
	if (is_attached || (is_behind(command, "A") && command->target[0] == '\0')) {
		set_target(command, word, word->text + (is_attached ? 2 : 0));
	}
}

static void after_code(struct reader *r, struct command_words *command, const struct word *word) {
	(void)command;
	reader_code(r, word->start);
}

static void after_alias(struct reader *r, struct command_words *command, const struct word *word) {
	const char *value = memchr(r->text + word->start, '=', r->at - word->start);
	if (value) { // alias x='…'
		reader_code(r, (size_t)(value - r->text) + 1);
	}
	after_code(r, command, word);
}

static void after_trap(struct reader *r, struct command_words *command, const struct word *word) {
	if (!command->has_action) {
		reader_code(r, word->start);
	}
	// $x could be nothing
	command->has_action = command->has_action || word->is_quoted || (!word->is_open && (word->text[0] != '-' || word->len == 1));
}

static void after_options(struct reader *r, struct command_words *command, const struct word *word) {
	(void)command;
	if (strcasestr(word->text, "quotes") || strcasestr(word->text, "subst")) { // rcquotes, NO_RC_QUOTES, promptsubst
		reader_doubt(r, "behind this command shells may read in another way", "do without it");
	}
}

// ---- all of them ----

#define RUN_AGAIN {"this command of the shell runs or expands its words once more", "write " ITEM_AS_VARIABLE}

// The commands of each kind, what their words must be or why none may be an item, and what is done before and behind each.
static const struct {
	const char *names;
	unsigned needs;
	struct reason ban;
	void (*before)(struct reader *r, const struct command_words *command);
	void (*after)(struct reader *r, struct command_words *command, const struct word *word);
} kinds[] = {
	[ORDINARY] = {.names = ""},
	[INTEGERS] = {"let ulimit wait", .needs = NEED_INTEGER},
	[INTEGER] = {"shift exit return break continue logout bye", .before = before_integer},
	[NAMES] = {"getopts unset vared", .needs = NEED_NAME, .before = before_names},
	[READ] = {"read getln", .needs = NEED_NAME, .before = before_names, .after = after_read},
	[MAPFILE] = {"mapfile readarray", .needs = NEED_NAME, .before = before_names, .after = after_read},
	[DECLARE] = {"declare typeset local export readonly", .needs = NEED_NAME, .before = before_declare, .after = after_declare},
	[DECLARE_INTEGERS] = {"nameref integer float", .needs = NEED_NAME, .before = before_declare, .after = after_declare},
	[TEST] = {"[[ [ test", .before = before_test, .after = after_test},
	[PRINTF] = {"printf", .before = before_printf, .after = after_printf},
	[PRINT] = {"print echo", .before = before_printf, .after = after_printf},
	[SET] = {"set", .before = before_set, .after = after_set},
	[CODE] = {"eval", .after = after_code, .ban = {"eval reads its words as commands, whatever their quotes are",
	          "write the command itself in place of eval, or " ITEM_AS_VARIABLE}},
	[COMPLETION] = {"compgen complete bind fc history sched zpty zstyle zformat zparseopts", .ban = RUN_AGAIN},
	[SOURCE] = {". source", .before = before_source, .after = after_source},
	[TRAP] = {"trap", .before = before_trap, .after = after_trap},
	[PREFIX] = {"command - builtin exec time noglob nocorrect", .needs = 0},
	[REPEAT] = {"repeat", .needs = NEED_INTEGER},
	[UNSAFE] = {"alias emulate zmodload", .after = after_alias, .ban = RUN_AGAIN},
	[OPTIONS] = {"setopt unsetopt", .after = after_options},
};

static enum command_kind find_kind(const char *name, size_t len) {
	size_t kind = sizeof(kinds) / sizeof(kinds[0]);
	while (--kind != ORDINARY && !word_is_in(kinds[kind].names, name, len)) {
	}
	return (enum command_kind)kind;
}

void command_before_word(struct reader *r, struct command_words *command, struct word *word) {
	if (command->is_function) {
		r->scope.flow = "@";
	}
	if (command->n > 0 && !r->scope.flow && command->kind == ORDINARY) {
		r->scope.flow = FLOW_OUTPUT; // its output may be made of its words
		r->flow_derives = true;
	}
	if (command->n == 0 || command->kind == ORDINARY) {
		r->value_needs = r->group_needs = 0;
		return;
	}
	r->scope.needs = kinds[command->kind].needs ? kinds[command->kind].needs : r->scope.needs;
	r->scope.ban = kinds[command->kind].ban.why ? kinds[command->kind].ban : r->scope.ban;
	word->may_assign = command->kind == DECLARE || command->kind == DECLARE_INTEGERS;
	if (kinds[command->kind].before) {
		kinds[command->kind].before(r, command);
	}
}

void command_after_word(struct reader *r, struct command_words *command, const struct word *word) {
	++command->n;
	if (command->in_condition && strcmp(word->text, "]]") == 0 && !word->is_quoted) {
		*command = (struct command_words){.n = 0}; // if [[ x ]] { … } of zsh
		return;
	}
	if (command->kind == REPEAT) {
		*command = (struct command_words){.n = 0};
		++r->nesting; // until its done, if it has one
		return;
	}
	if (kinds[command->kind].after) {
		kinds[command->kind].after(r, command, word);
	}
	command->last_start = word->start;
	memset(command->last, 0, sizeof(command->last));
	if (word->len < sizeof(command->last) && !word->is_open) {
		memcpy(command->last, word->text, word->len);
	}
}

void command_end(struct reader *r, struct command_words *command, bool is_piped) {
	if (command->name_item && r->nuses > command->nuses_named) { // items as its words, too
		r->reading->items[command->name_item - 1].needs |= NEED_PROGRAM;
	}
	if (command->n > 0 && command->kind == ORDINARY && !command->has_input && !command->is_fed) {
		flow_use(r, FLOW_INPUT);
	}
	if (command->is_function) {
		flow_use(r, FLOW_OUTPUT);
	}
	if (is_piped) {
		flow_pipe(r);
	}
	*command = (struct command_words){.n = 0};
}
