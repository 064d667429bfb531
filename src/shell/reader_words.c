// What commands of the shell do with their words, and which variables hold an item: where shells evaluate what they get as
// arithmetic, as a name or as a command, whatever its quotes were.

#include "shell/reader_internal.h"

#include "base/alloc.h"

#include <string.h>

// ---- variables that hold items ----

static void copy_name(char *to, const char *from) {
	size_t len = strnlen(from, NAME_LEN - 1);
	memcpy(to, from, len);
	to[len] = '\0';
}

void flow_add(struct reader *r, const char *to, size_t item, bool is_derived) {
	for (size_t i = 0; i < r->nflows; ++i) {
		if (r->flows[i].item == item && r->flows[i].is_derived == is_derived && strcmp(r->flows[i].name, to) == 0) {
			return;
		}
	}
	grow_array(&r->flows, &r->flows_cap, r->nflows + 1, sizeof(r->flows[0]));
	struct flow *flow = &r->flows[r->nflows++];
	*flow = (struct flow){.item = item, .is_derived = is_derived};
	copy_name(flow->name, to);
}

void flow_copy(struct reader *r, const char *to, const char *from, bool is_derived) {
	for (size_t i = 0; i < r->nflows; ++i) {
		if (strcmp(r->flows[i].name, from) == 0) {
			flow_add(r, to, r->flows[i].item, is_derived || r->flows[i].is_derived);
		}
	}
}

static void flow_end(struct reader *r, const char *name) {
	for (size_t i = 0; i < r->nflows; ++i) {
		if (strcmp(r->flows[i].name, name) == 0) {
			r->flows[i] = r->flows[--r->nflows];
			--i;
		}
	}
}

void known_add(struct reader *r, unsigned kind, const char *name, size_t at) {
	if (!known_has(r, kind, name, at)) {
		grow_array(&r->known, &r->known_cap, r->nknown + 1, sizeof(r->known[0]));
		r->known[r->nknown] = (struct known_name){.kind = kind, .at = at};
		copy_name(r->known[r->nknown++].name, name);
	}
}

bool known_has(const struct reader *r, unsigned kind, const char *name, size_t at) {
	for (size_t i = 0; i < r->nknown; ++i) {
		if (r->known[i].kind == kind && r->known[i].at == at && strncmp(r->known[i].name, name, NAME_LEN - 1) == 0) {
			return true;
		}
	}
	return false;
}

// $FAIRPAR_ITEM, $FAIRPAR_ITEM_2. The same place is read twice, and is one item.
static void use_reference(struct reader *r, size_t at, const char *digits, size_t len) {
	int column = 0;
	for (size_t i = 0; i < len && column < 1000000; ++i) {
		column = 10 * column + (digits[i] - '0');
	}
	struct reading *reading = r->reading;
	at = reader_place(r, at);
	for (size_t i = 0; i < reading->nitems; ++i) {
		if (reading->items[i].is_reference && reading->items[i].at == at) {
			reader_use(r, i, r->derives);
			return;
		}
	}
	grow_array(&reading->items, &reading->items_cap, reading->nitems + 1, sizeof(reading->items[0]));
	reading->items[reading->nitems++] = (struct read_item){.at = at, .is_reference = true, .column = column};
	reader_use(r, reading->nitems - 1, r->derives);
}

void reader_variable(struct reader *r, const char *name) {
	struct reading *reading = r->reading;
	grow_array(&reading->items, &reading->items_cap, reading->nitems + 1, sizeof(reading->items[0]));
	reading->items[reading->nitems++] = (struct read_item){.at = SIZE_MAX, .is_reference = true, .is_read = true};
	flow_add(r, name, reading->nitems - 1, true);
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
	for (size_t i = 0; i < r->nflows; ++i) {
		if (strcmp(r->flows[i].name, text) == 0) {
			reader_use(r, r->flows[i].item, r->derives || r->flows[i].is_derived);
		}
	}
}

void reader_assign(struct reader *r, struct word *word) {
	static const char integers[] =
		" RANDOM SRANDOM SECONDS LINENO OPTIND HISTCMD TMOUT MAILCHECK HISTSIZE SAVEHIST COLUMNS LINES UID GID EUID EGID ERRNO "
		"KEYTIMEOUT LISTMAX DIRSTACKSIZE FUNCNEST SHLVL TTYIDLE ";
	char *bracket = strchr(word->text, '[');
	size_t len = bracket ? (size_t)(bracket - word->text) : word->len;
	len -= len > 0 && word->text[len - 1] == '+';
	for (size_t i = 0; i < len; ++i) {
		if (!reader_is_name(word->text[i])) {
			return;
		}
	}
	if (len == 0 || (word->text[0] >= '0' && word->text[0] <= '9')) {
		return;
	}
	memcpy(word->name, word->text, len);
	word->name[len] = '\0';
	char padded[NAME_LEN + 2] = " ";
	memcpy(padded + 1, word->text, len);
	memcpy(padded + 1 + len, " ", 2);
	bool is_integer = strstr(integers, padded) || known_has(r, KNOWN_INTEGER, word->name, 0);
	r->needs = (r->needs & ~(unsigned)NEED_NAME) | r->value_needs | (is_integer ? NEED_INTEGER : 0);
	r->group_needs = is_integer ? NEED_INTEGER : r->group_needs;
	r->cause = reader_place(r, word->start);
	r->flow = word->name;
	static const char evaluated[] = " PS4 PROMPT4 PS1 PS2 PROMPT_COMMAND ENV BASH_ENV SHELLOPTS BASHOPTS IFS ";
	if (strstr(evaluated, padded) || strncmp(word->name, "BASH_FUNC_", 10) == 0) {
		r->ban = "shells evaluate the value of this variable";
		r->ban_advice = "take another one";
	}
}

// ---- commands ----

struct builtin {
	const char *name;
	enum {
		INTEGERS,  // all of its words are arithmetic
		INTEGER,   // … the first of them
		NAMES,     // … names of variables
		READ,      // … and the variables get what is read
		DECLARE,   // … NAME or NAME=VALUE
		DECLARE_INTEGERS,
		TEST,
		PRINTF,
		PRINT,
		SET,       // the positional parameters
		CODE,      // … are read as commands
		TRAP,      // … so is the first of them; names of signals
		PREFIX,    // a command comes
		REPEAT,    // a number, then a command
		UNSAFE,    // it may change how shells read
		OPTIONS,   // … the option …quotes
	} kind;
};

static const struct builtin builtins[] = {
	{"let", INTEGERS}, {"shift", INTEGER}, {"exit", INTEGER}, {"return", INTEGER}, {"break", INTEGER},
	{"continue", INTEGER}, {"ulimit", INTEGERS}, {"logout", INTEGER}, {"mapfile", NAMES}, {"readarray", NAMES}, {"getopts", NAMES}, {"unset", NAMES},
	{"wait", INTEGERS}, {"vared", NAMES}, {"read", READ}, {"declare", DECLARE}, {"typeset", DECLARE}, {"local", DECLARE},
	{"export", DECLARE}, {"readonly", DECLARE}, {"nameref", DECLARE_INTEGERS}, {"integer", DECLARE_INTEGERS},
	{"float", DECLARE_INTEGERS}, {"[[", TEST}, {"[", TEST}, {"test", TEST}, {"printf", PRINTF}, {"print", PRINT},
	{"echo", PRINT}, {"set", SET}, {"eval", CODE}, {"trap", TRAP}, {"command", PREFIX}, {"-", PREFIX}, {"builtin", PREFIX}, {"exec", PREFIX},
	{"time", PREFIX}, {"noglob", PREFIX}, {"nocorrect", PREFIX}, {"repeat", REPEAT}, {"alias", UNSAFE}, {"emulate", UNSAFE},
	{"setopt", OPTIONS}, {"unsetopt", OPTIONS},
};

static const struct builtin *find_builtin(const struct word *word) {
	for (size_t i = 0; !word->is_open && i < sizeof(builtins) / sizeof(builtins[0]); ++i) {
		if (strcmp(builtins[i].name, word->text) == 0) {
			return &builtins[i];
		}
	}
	return NULL;
}

void command_named(struct reader *r, struct command_words *command, const struct word *word) {
	bool is_option = command->is_prefixed && word->text[0] == '-';
	const struct builtin *builtin = find_builtin(word);
	if (is_option || (builtin && builtin->kind == PREFIX)) {
		command->is_prefixed = true;
		return;
	}
	command->n = 1;
	command->builtin = builtin;
	command->is_function = !word->is_open && known_has(r, KNOWN_FUNCTION, word->text, 0);
	copy_name(command->first, word->is_open ? "" : word->text);
	command->in_condition = strcmp(command->first, "[[") == 0 && !word->is_quoted;
	command->is_integer = builtin && builtin->kind == DECLARE_INTEGERS;
	command->last_start = word->start;
	command->last[0] = '\0';
	if (builtin && (builtin->kind == READ || builtin->kind == NAMES)) { // without a name
		flow_copy(r, builtin->kind == READ ? "REPLY" : "MAPFILE", "<", builtin->kind == NAMES);
	}
	if (builtin && builtin->kind == UNSAFE) {
		reader_doubt(r, "behind this command shells may read in another way", "do without it");
	}
}

// [ -eq ] and its kin
static bool is_comparison(const char *text) {
	static const char list[] = " -eq -ne -lt -le -gt -ge ";
	char padded[16];
	size_t len = strlen(text);
	if (len != 3) {
		return false;
	}
	padded[0] = ' ';
	memcpy(padded + 1, text, 3);
	memcpy(padded + 4, " ", 2);
	return strstr(list, padded) != NULL;
}

static void before_test(struct reader *r, const struct command_words *command) {
	if (strcmp(command->last, "-v") == 0 || strcmp(command->last, "-R") == 0) {
		r->needs = NEED_NAME;
	} else if (is_comparison(command->last) || strcmp(command->last, "-t") == 0 ||
	           known_has(r, KNOWN_LEFT_SIDE, "", reader_place(r, r->at))) {
		r->needs = command->in_condition ? NEED_INTEGER : NEED_NUMBER; // [ ] knows no octal numbers
	} else if (command->in_condition && (strcmp(command->last, "==") == 0 || strcmp(command->last, "=") == 0 || strcmp(command->last, "!=") == 0)) {
		r->needs = NEED_NO_PATTERN;
	}
}

static void before_printf(struct reader *r, const struct command_words *command) {
	if (strcmp(command->last, "-v") == 0) {
		r->needs = NEED_NAME;
	} else if (strcmp(command->first, "printf") != 0 || !command->has_format) {
		r->flow = command->target[0] ? command->target : "|";
		r->needs = reader_peek(r, 0) == '-' && reader_peek(r, 1) == 'v' ? NEED_NAME : 0;
	} else {
		r->flow = command->target[0] ? command->target : "|";
		bool is_number = command->nformat > 0 && command->format[command->nargs % command->nformat] == 'd';
		// the number of a character: printf %d "'x"
		bool is_character = reader_peek(r, 0) != '\0' && strchr("\\\"", reader_peek(r, 0)) && reader_peek(r, 1) != '\0' &&
		                    strchr("'\"", reader_peek(r, 1));
		r->needs = is_number && !is_character ? NEED_NUMBER : 0;
	}
}

void command_before(struct reader *r, struct command_words *command, struct word *word) {
	if (command->is_function) {
		r->flow = "@";
	}
	if (command->n > 0 && !r->flow && !(command->builtin && command->builtin->kind != PREFIX)) {
		r->flow = "|"; // its output may be made of its words
		r->flow_derives = true;
	}
	if (command->n == 0 || !command->builtin) {
		r->value_needs = r->group_needs = 0;
		return;
	}
	r->cause = reader_place(r, command->last_start);
	switch (command->builtin->kind) {
	case INTEGERS:
	case INTEGER:
	case REPEAT:
		r->needs = command->builtin->kind == INTEGER && command->n > 1 ? 0 : NEED_INTEGER;
		break;
	case NAMES:
	case READ:
		r->needs = NEED_NAME;
		break;
	case DECLARE:
	case DECLARE_INTEGERS:
		word->may_assign = true;
		r->needs = NEED_NAME;
		r->value_needs = command->is_integer || command->is_special ? NEED_INTEGER : 0;
		r->group_needs = command->is_integer ? NEED_INTEGER : 0;
		break;
	case TEST:
		before_test(r, command);
		break;
	case PRINTF:
	case PRINT:
		before_printf(r, command);
		break;
	case SET:
		r->flow = "@";
		break;
	case CODE:
		r->ban = "eval reads its words as commands, whatever their quotes are";
		r->ban_advice = "write the command itself in place of eval, or '… \"$FAIRPAR_ITEM\" …', in single quotes";
		break;
	case TRAP:
		if (command->has_action) {
			r->needs = NEED_NAME;
		} else {
			r->ban = "trap reads its action as commands, whatever its quotes are";
			r->ban_advice = "write '… \"$FAIRPAR_ITEM\" …', in single quotes";
		}
		break;
	case PREFIX:
	case UNSAFE:
	case OPTIONS:
		break;
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
			command->format[command->nformat++] = strchr("diouxXeEfFgGaA(", *at) ? 'd' : 's';
		}
		++at;
	}
}

static void after_declare(struct reader *r, struct command_words *command, const struct word *word) {
	if ((word->text[0] == '-' || word->text[0] == '+') && !word->is_open) {
		command->is_integer = command->is_integer || strpbrk(word->text, "iEF");
		command->is_special = command->is_special || strpbrk(word->text, "aAnTCM");
	} else if (command->is_integer && word->text[0] != '\0') {
		char name[NAME_LEN];
		copy_name(name, word->name[0] ? word->name : word->text);
		known_add(r, KNOWN_INTEGER, name, 0);
	}
}

static void after_read(struct reader *r, struct command_words *command, const struct word *word) {
	if (word->is_open || word->text[0] == '-') {
		return;
	}
	bool is_part = command->target[0] != '\0'; // the line is split among several
	for (size_t i = 0; i < r->nflows && is_part; ++i) {
		r->flows[i].is_derived = r->flows[i].is_derived || strcmp(r->flows[i].name, command->target) == 0;
	}
	flow_copy(r, word->text, "<", is_part);
	copy_name(command->target, word->text);
}

static void after_printf(struct command_words *command, const struct word *word) {
	if (strcmp(command->last, "-v") == 0) {
		copy_name(command->target, word->is_open ? "" : word->text);
	} else if (command->has_format) {
		++command->nargs;
	} else if (word->text[0] != '-' || word->is_open) {
		read_format(command, word->text);
	}
}

// "rcquotes", "NO_RC_QUOTES"
static bool names_quotes(const char *text) {
	for (; *text; ++text) {
		if (strncasecmp(text, "quotes", 6) == 0) {
			return true;
		}
	}
	return false;
}

void command_after(struct reader *r, struct command_words *command, const struct word *word) {
	++command->n;
	if (command->in_condition && strcmp(word->text, "]]") == 0 && !word->is_quoted) {
		command->in_condition = false;
		command->nparentheses = 0;
	}
	switch (command->builtin ? command->builtin->kind : PREFIX) {
	case READ:
		after_read(r, command, word);
		break;
	case NAMES: // mapfile
		if (!word->is_open && word->text[0] != '-') {
			flow_copy(r, word->text, "<", true);
		}
		break;
	case DECLARE:
	case DECLARE_INTEGERS:
		after_declare(r, command, word);
		break;
	case TEST:
		if (is_comparison(word->text) && !word->is_open) {
			known_add(r, KNOWN_LEFT_SIDE, "", reader_place(r, command->last_start));
		}
		break;
	case PRINTF:
		after_printf(command, word);
		break;
	case TRAP: // $x could be nothing
		command->has_action = command->has_action || word->is_quoted || (!word->is_open && (word->text[0] != '-' || word->len == 1));
		break;
	case REPEAT:
		*command = (struct command_words){.n = 0};
		return;
	case OPTIONS:
		if (names_quotes(word->text)) {
			reader_doubt(r, "behind this command shells may read in another way", "do without it");
		}
		break;
	default:
		break;
	}
	command->last_start = word->start;
	memset(command->last, 0, sizeof(command->last));
	if (word->len < sizeof(command->last) && !word->is_open) {
		memcpy(command->last, word->text, word->len);
	}
}

void command_over(struct reader *r, struct command_words *command, bool is_piped) {
	if (is_piped) {
		flow_copy(r, "<", "|", false);
	}
	flow_end(r, "|");
	*command = (struct command_words){.n = 0};
}
