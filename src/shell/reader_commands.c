// Reads lists of commands: keywords, redirections, here-documents (POSIX XCU 2.4, 2.7, 2.9, and what bash, zsh and ksh add);
// and the whole text as one.

#include "shell/reader_internal.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

#include <string.h>

static bool is_blank(char c) {
	return c == ' ' || c == '\t';
}

static void skip_blanks(struct reader *r) {
	while (!reader_at_end(r)) {
		if (is_blank(r->text[r->at])) {
			++r->at;
		} else if (r->text[r->at] == '\\' && r->at + 1 < r->len && r->text[r->at + 1] == '\n') {
			reader_doubt_yen(r, '\n');
			r->at += 2;
		} else {
			return;
		}
	}
}

// Reads the next word, as one that is no assignment.
static struct word read_word(struct reader *r) {
	struct word word = {.may_assign = false};
	skip_blanks(r);
	reader_word(r, &word);
	return word;
}

// ---- comments and here-documents ----

static void read_comment(struct reader *r) {
	struct reason old = r->scope.ban;
	if (r->substitutions > 0 && !r->scope.ban.why) {
		r->scope.ban = (struct reason){"shells do not agree where a $( ) ends that has a comment", "leave the comment out"};
	}
	while (!reader_at_end(r) && r->text[r->at] != '\n') {
		if (r->substitutions > 0 && r->text[r->at] != '\0' && strchr("()'\"`", r->text[r->at])) {
			reader_doubt(r, "shells do not agree where a $( ) ends that has this in a comment", "leave the comment out");
		}
		if (!reader_item(r, PLACE_COMMENT)) {
			++r->at;
		}
	}
	r->scope.ban = old;
}

// The word behind <<.
static void read_delimiter(struct reader *r, bool strips_tabs) {
	struct document document = {.strips_tabs = strips_tabs, .feeds_all = r->feeds_all, .statement = r->statement};
	char quote = '\0';
	for (; !reader_at_end(r); ++r->at) {
		char c = r->text[r->at];
		if (quote == '\0' && c != '\0' && strchr(" \t\n;&|()<>", c)) {
			break;
		}
		if (quote != '\0' ? c == quote : c == '\'' || c == '"') {
			quote = quote == '\0' ? c : '\0';
			document.is_literal = true;
		} else if (quote == '\0' && c == '\\') {
			document.is_literal = true;
		} else {
			if (c == READ_ITEM || c == READ_NUMBER || c == '$' || c == '`' || c == '\\' || c == '\n' || (c & 0x80) ||
			    document.len == sizeof(document.delimiter) || r->ndocuments == DOCUMENTS) {
				reader_doubt(r, "this delimiter of a here-document is not followed", "take a word of letters");
				struct reason old = r->scope.ban;
				r->scope.ban = old.why ? old : r->doubt;
				bool was_item = reader_item(r, PLACE_PLAIN);
				r->at -= was_item;
				r->scope.ban = old;
				continue;
			}
			document.delimiter[document.len++] = c;
		}
	}
	if (r->ndocuments < DOCUMENTS) {
		r->documents[r->ndocuments++] = document;
	}
}

// Does the line at `at` end the document? Sets what is behind it.
static bool is_delimiter(struct reader *r, const struct document *document, size_t at, size_t *ret_next) {
	while (document->strips_tabs && at < r->len && r->text[at] == '\t') {
		++at;
	}
	if (r->len - at < document->len || memcmp(r->text + at, document->delimiter, document->len) != 0) {
		return false;
	}
	at += document->len;
	if (at < r->len && r->text[at] == ')' && r->substitutions > 0) {
		reader_doubt(r, "shells do not agree whether this line ends the here-document", "write the ) on a line of its own");
	}
	*ret_next = at < r->len ? at + 1 : at;
	return at >= r->len || r->text[at] == '\n';
}

// Reads lines in which nothing is expanded.
static void read_literal(struct reader *r, const struct document *document, size_t end) {
	bool is_other_line = false; // whatever comes, it cannot be the delimiter
	size_t matched = 0;
	r->delimiter = document;
	for (; r->at < end && !r->reading->refusal; ++r->at) {
		char c = r->text[r->at];
		r->scope.needs = NEED_LINE | (is_other_line ? 0 : NEED_OTHER_LINE | (document->strips_tabs ? NEED_NO_TAB : 0));
		if (reader_item(r, PLACE_LITERAL_DOCUMENT)) {
			matched = document->len; // nobody knows
			--r->at;
		} else if (c == '\n') {
			is_other_line = false;
			matched = 0;
		} else if (matched < document->len && document->delimiter[matched] == c) {
			++matched;
		} else if (matched == 0 ? c != '\t' || !document->strips_tabs : matched < document->len) {
			is_other_line = true;
		}
	}
	r->delimiter = NULL;
}

static void read_expanding(struct reader *r, size_t end) {
	while (r->at < end && !r->reading->refusal) {
		char c = r->text[r->at];
		if (c == '$') {
			reader_dollar(r, PLACE_DOCUMENT, NULL);
		} else if (c == '`') {
			reader_backticks(r, PLACE_DOCUMENT, NULL);
		} else if (c == '\\') {
			reader_doubt_yen(r, reader_peek(r, 1));
			++r->at;
			if (reader_peek(r, 0) == '\n') {
				reader_doubt(r, "shells do not agree about a continued line in a here-document", "write one line");
			}
			if (r->at < end && !reader_item(r, PLACE_DOCUMENT | PLACE_ESCAPED)) {
				++r->at;
			}
		} else if (!reader_item(r, PLACE_DOCUMENT)) {
			++r->at;
		}
	}
}

static void read_document(struct reader *r, const struct document *document) {
	size_t end = r->at, next = r->len;
	while (end < r->len && !is_delimiter(r, document, end, &next)) {
		const char *newline = memchr(r->text + end, '\n', r->len - end);
		end = newline ? (size_t)(newline - r->text) + 1 : r->len;
		next = end;
	}
	struct scope saved = reader_enter(r);
	reader_set_region(r, r->scope.region | 1);
	size_t len = r->len;
	unsigned statement = r->statement;
	bool feeds_all = r->feeds_all;
	r->len = end;
	r->scope.flow = FLOW_INPUT;
	r->statement = document->statement;
	r->feeds_all = document->feeds_all;
	if (document->is_literal && r->map) {
		r->scope.ban = (struct reason){"what stands between backticks is read twice, so that no quote keeps an item in this here-document",
		                               "write $( ) for the backticks"};
	} else if (document->is_literal && r->in_documents > 0) {
		r->scope.ban = (struct reason){"some shells take a \\ at the end of a line away, within a here-document, before they read the one that is inside",
		                               "leave the inner delimiter without quotes"};
	}
	if (document->is_literal) {
		read_literal(r, document, end);
	} else {
		++r->in_documents;
		read_expanding(r, end);
		--r->in_documents;
	}
	r->len = len;
	r->at = r->at > end ? r->at : next;
	r->statement = statement;
	r->feeds_all = feeds_all;
	reader_leave(r, saved);
}

// Reads the here-documents that were announced; the newline before them has been read.
static void read_documents(struct reader *r) {
	unsigned n = r->ndocuments;
	r->ndocuments = 0;
	for (unsigned i = 0; i < n; ++i) {
		struct document document = r->documents[i];
		read_document(r, &document);
	}
}

// ---- redirections ----

// The standard input of the command is a file, unless that is one of the names of the input it had.
static void read_input(struct reader *r, struct command_words *command, size_t start, const struct word *word) {
	bool has_number = start > 0 && (text_is_name(r->text[start - 1]) || r->text[start - 1] == '}');
	bool is_again = strncmp(word->text, "/dev/", 5) == 0 || strncmp(word->text, "/proc/", 6) == 0;
	if (r->text[start] == '<' && is_again && strcmp(word->text, "/dev/null") != 0) {
		flow_use(r, FLOW_INPUT); // $(</dev/stdin)
	} else if (r->text[start] == '<' && !has_number && reader_peek(r, 0) != '&') {
		command->has_input = true;
	}
}

static void read_redirection(struct reader *r, struct command_words *command) {
	size_t start = r->at;
	bool feeds_all = r->feeds_all;
	r->feeds_all = feeds_all || command->is_prefixed; // exec <<E
	struct scope saved = r->scope;
	bool is_document = r->text[r->at] == '<' && reader_peek(r, 1) == '<' && reader_peek(r, 2) != '<';
	bool is_string = r->text[r->at] == '<' && reader_peek(r, 1) == '<' && !is_document;
	r->scope.needs = 0;
	r->scope.flow = is_string ? FLOW_INPUT : NULL;
	if (is_string || r->text[r->at] == '&') {
		reader_note_bash(r, r->at, is_string ? "<<<" : "&>");
	}
	if (is_document) {
		bool strips_tabs = reader_peek(r, 2) == '-';
		r->at += strips_tabs ? 3 : 2;
		skip_blanks(r);
		read_delimiter(r, strips_tabs);
	} else {
		bool is_both = r->text[r->at] == '&';
		char direction = r->text[r->at];
		++r->at;
		while (r->at < r->len && (r->text[r->at] == '<' || r->text[r->at] == '>' || r->text[r->at] == '|') && reader_peek(r, 1) != '(') {
			++r->at;
		}
		bool is_copy = reader_peek(r, 0) == '&' && !is_both;
		if (is_copy) {
			++r->at;
			r->scope.ban = (struct reason){"bash expands twice what stands behind >& and <&, so that an item could be code",
			                               direction == '>' ? "write >{} 2>&1" : "write <{}"};
		}
		skip_blanks(r);
		const struct outer *outer = r->outer;
		r->outer = is_string ? outer : NULL; // the name of a file does not go to the output
		bool is_process = reader_peek(r, 0) == '<' && reader_peek(r, 1) == '('; // < <( )
		r->scope.flow = is_process ? FLOW_INPUT : r->scope.flow;
		struct word word = read_word(r);
		r->outer = outer;
		if (!is_copy && !is_process && !is_string && r->text[start] == '<') {
			read_input(r, command, start, &word);
		}
	}
	if (is_document || is_string) { // the output of the command may be made of it
		flow_copy(r, FLOW_OUTPUT, FLOW_INPUT, true);
	}
	r->feeds_all = feeds_all;
	r->scope = saved;
}

// ---- commands ----

static bool is_word(const struct word *word, const char *list) {
	return !word->is_quoted && !word->is_open && word_is_in(list, word->text, word->len);
}

static void skip_lines(struct reader *r) {
	for (;;) {
		skip_blanks(r);
		if (reader_at_end(r)) {
			return;
		}
		if (r->text[r->at] == '#') {
			read_comment(r);
		} else if (r->text[r->at] == '\n') {
			++r->at;
			read_documents(r);
		} else {
			return;
		}
	}
}

// What stands behind `case`.
static void read_case(struct reader *r) {
	read_word(r);
	skip_lines(r);
	struct word word = read_word(r);
	if (!is_word(&word, "in {")) {
		reader_doubt(r, "this case is not followed", "write: case WORD in (PATTERN) … ;; esac");
		return;
	}
	while (!reader_at_end(r)) {
		skip_lines(r);
		bool is_opened = reader_peek(r, 0) == '(';
		r->at += is_opened && !reader_at_end(r);
		for (bool first = true; !reader_at_end(r); first = false) {
			r->quoted = PLACE_QUOTED;
			word = read_word(r);
			r->quoted = 0;
			if (first && !is_opened && is_word(&word, "esac }")) {
				return;
			}
			skip_blanks(r);
			if (reader_peek(r, 0) != '|' || reader_at_end(r)) {
				break;
			}
			++r->at;
		}
		if (reader_at_end(r) || r->text[r->at] != ')') {
			reader_doubt(r, "this case is not followed", "write: case WORD in (PATTERN) … ;; esac");
			return;
		}
		++r->at;
		if (r->substitutions > 0 && !is_opened) {
			reader_doubt(r, "some shells end the $( ) at the ) of this case's pattern", "open the pattern, too: (PATTERN)");
		}
		r->ended_by_esac = false;
		reader_list(r, ';');
		if (r->ended_by_esac || reader_at_end(r)) {
			r->ended_by_esac = false;
			return;
		}
		r->at += 2;
		r->at += !reader_at_end(r) && strchr("&|", r->text[r->at - 1]) == NULL && reader_peek(r, 0) == '&';
	}
}

// Reads the next word; an empty one where a ( stands.
static struct word read_unless_open(struct reader *r) {
	return reader_peek(r, 0) == '(' ? (struct word){.may_assign = false} : read_word(r);
}

// What stands behind `for` and `select`.
static void read_for(struct reader *r) {
	skip_blanks(r);
	if (reader_peek(r, 0) == '(' && reader_peek(r, 1) == '(') {
		r->scope.needs = NEED_INTEGER;
		r->at += 2;
		if (!reader_arithmetic(r, "))")) {
			reader_doubt(r, "this (( has no ))", "close it");
		}
		r->scope.needs = 0;
		return;
	}
	r->scope.needs = NEED_NAME;
	struct word name = read_word(r);
	r->scope.needs = 0;
	skip_lines(r);
	size_t at = r->at;
	struct word last = {.may_assign = false}, in = read_unless_open(r);
	while (in.len > 0 && !is_word(&in, "in do {") && !reader_at_end(r)) { // zsh takes several names
		last = in;
		flow_copy(r, last.text, "@", false);
		skip_lines(r);
		in = read_unless_open(r);
	}
	if (!is_word(&in, "in") && reader_peek(r, 0) != '(') { // the positional parameters
		r->at = at;
		flow_copy(r, name.text, "@", false);
		return;
	}
	r->scope.flow = name.text;
	while (!reader_at_end(r) && !strchr(";\n)", r->text[r->at] ? r->text[r->at] : 'x')) {
		struct word word = {.may_assign = false};
		skip_blanks(r);
		r->at += reader_peek(r, 0) == '(' || reader_peek(r, 0) == '&' || reader_peek(r, 0) == '|';
		size_t before = r->at;
		reader_word(r, &word);
		skip_blanks(r);
		if (r->at == before && !reader_at_end(r) && strchr("<>", r->text[r->at])) {
			++r->at;
		}
	}
	r->at += reader_peek(r, 0) == ')' && !reader_at_end(r);
	r->scope.flow = NULL;
	flow_copy(r, last.text, name.text, false);
}

// An open parenthesis where a word may begin.
static void read_open(struct reader *r, struct command_words *command) {
	bool is_start = command->n == 0;
	if (is_start && reader_peek(r, 1) == '(') {
		struct scope saved = reader_enter(r);
		r->scope.needs = NEED_INTEGER;
		r->at += 2;
		if (!reader_arithmetic(r, "))")) {
			reader_doubt(r, "(( begins arithmetic in one shell and commands in another", "write ( ( with a blank");
		}
		reader_leave(r, saved);
		return;
	}
	size_t next = 1;
	while (is_blank(reader_peek(r, next))) {
		++next;
	}
	if (!is_start && reader_peek(r, next) == ')') { // name()
		if (command->n == 1) {
			known_add(r, KNOWN_FUNCTION, command->first, 0);
			r->in_function = true;
		}
		r->at += next + 1;
		*command = (struct command_words){.n = 0};
		return;
	}
	struct scope saved = reader_enter(r);
	reader_mark(r, READ_OPERATOR);
	++r->at;
	if (reader_peek(r, 0) == '#' && !is_start) {
		reader_doubt(r, "shells do not agree whether (# begins a comment", "write a blank or a quote between them");
	}
	reader_list(r, ')');
	if (reader_at_end(r) || r->text[r->at] != ')') {
		reader_doubt(r, "a ( before it is not closed", "close it");
	} else {
		reader_mark(r, READ_OPERATOR);
		++r->at;
	}
	reader_leave(r, saved);
}

// A word where a command begins. Returns false at what ends a list.
static bool read_start(struct reader *r, struct command_words *command, const struct word *word, char end) {
	if (!command->is_prefixed) {
		if (is_word(word, "esac") && end == ';') {
			r->ended_by_esac = true;
			return false;
		}
		if (is_word(word, "}") && end == '}') {
			--r->at;
			return false;
		}
		if (is_word(word, "case")) {
			++r->nesting;
			read_case(r);
			--r->nesting;
			return true;
		}
		if (is_word(word, "for select foreach")) {
			++r->nesting;
			flow_copy(r, "REPLY", FLOW_INPUT, true);
			read_for(r);
			return true;
		}
		if (is_word(word, "function")) {
			struct word name = read_word(r);
			known_add(r, KNOWN_FUNCTION, name.text, 0);
			r->in_function = true;
			r->at += reader_peek(r, 0) == '(' && reader_peek(r, 1) == ')' ? 2 : 0;
			return true;
		}
		if (is_word(word, "{ } ! if then else elif fi while until do done esac always")) {
			r->nesting += is_word(word, "{ if while until");
			r->nesting -= is_word(word, "} fi done") && r->nesting > 0;
			return true;
		}
		if (is_word(word, "coproc")) {
			reader_doubt(r, "the word behind coproc is a name or a command", "use a pipe or $FAIRPAR_ITEM");
			return true;
		}
	}
	command_named(r, command, word);
	return true;
}

// Words that begin with { where a command may begin: {a,b} is expanded, {n}>x is the variable of a redirection, and zsh needs
// no blank behind the { of a list. Returns true if it has been read.
static bool read_brace(struct reader *r) {
	size_t len = 1;
	while (r->at + len < r->len && !(r->text[r->at + len] != '\0' && strchr(" \t\n;&|<>()", r->text[r->at + len]))) {
		++len;
	}
	const char *text = r->text + r->at;
	char next = reader_peek(r, len);
	if (text[len - 1] == '}' && (next == '<' || next == '>')) {
		r->at += len;
		return true;
	}
	if (memchr(text, ',', len) || memmem(text, len, "..", 2) || (len == 1 && strchr(" \t\n", next))) {
		return false;
	}
	++r->at;
	++r->nesting;
	return true;
}

// The number in front of a redirection (POSIX XCU 2.10.1, IO_NUMBER).
static bool is_descriptor(const struct reader *r, const struct word *word) {
	return word->len > 0 && !word->is_quoted && !word->is_open && strspn(word->text, "0123456789") == word->len &&
	       (reader_peek(r, 0) == '<' || reader_peek(r, 0) == '>');
}

static bool read_argument(struct reader *r, struct command_words *command, char end) {
	struct word word = {.may_assign = command->n == 0};
	struct scope saved = r->scope;
	if (command->n == 0 && r->text[r->at] == '{' && read_brace(r)) {
		return true;
	}
	command->nuses_before = r->nuses;
	command_before_word(r, command, &word);
	bool may_be_reserved = command->n == 0 || strcmp(command->first, "time") == 0;
	r->quoted = command->in_condition ? PLACE_APART : may_be_reserved ? PLACE_QUOTED : 0;
	reader_word(r, &word);
	r->quoted = 0;
	r->flow_derives = false;
	r->scope = saved;
	if (r->at == word.start && !reader_at_end(r)) {
		++r->at; // nothing that begins a word
		return true;
	}
	if (is_descriptor(r, &word) && !command->in_condition) {
		return true;
	}
	if (word.name[0] != '\0' && strcmp(word.name, "IFS") != 0 && shell_variable_kind(word.name, false) == VARIABLE_CODE) {
		reader_code(r, word.value); // PS4='$(…)'
	}
	if (command->n > 0) {
		command_after_word(r, command, &word);
	} else if (word.name[0] == '\0') {
		return read_start(r, command, &word, end);
	}
	return true;
}

// An operator or a newline. Returns false at what ends a list.
static bool read_operator(struct reader *r, struct command_words *command, char end) {
	char c = r->text[r->at], next = reader_peek(r, 1);
	if (c == ';' && end == ';' && (next == ';' || next == '&' || next == '|')) {
		return false;
	}
	bool is_and_or = (c == '&' || c == '|') && next == c, is_pipe = c == '|' && next != '|', is_both = is_pipe && next == '&';
	bool goes_on = is_and_or || is_pipe || (c == '\n' && command->n == 0 && command->goes_on);
	bool is_fed = is_pipe || (c == '\n' && command->n == 0 && command->is_fed);
	if (is_both && !command->in_condition) {
		reader_note_bash(r, r->at, "|&");
	}
	if (!command->in_condition) {
		bool feeds_all = r->feeds_all;
		r->feeds_all = feeds_all || is_both; // a coprocess of ksh
		command_end(r, command, is_pipe);
		r->feeds_all = feeds_all;
		command->goes_on = goes_on;
		command->is_fed = is_fed;
	}
	for (int i = 0; i < 1 + (is_and_or || is_both); ++i) {
		reader_mark(r, READ_OPERATOR);
		++r->at;
	}
	if (!goes_on && r->depth == 0 && r->nesting == 0) {
		++r->statement;
		r->in_function = false;
	}
	if (c == '\n') {
		read_documents(r);
	}
	return true;
}

void reader_list(struct reader *r, char end) {
	struct command_words command = {.n = 0};
	unsigned nesting = r->nesting;
	while (skip_blanks(r), !reader_at_end(r)) {
		char c = r->text[r->at], next = reader_peek(r, 1);
		bool is_redirection = (c == '<' || c == '>') && next != '(';
		if (c == ')' && end == ')' && !command.in_condition) {
			break;
		} else if (c == ')' && command.nparentheses == 0) {
			reader_doubt(r, "nothing opened the ) before it", "quote it");
			++r->at;
			command = (struct command_words){.n = 0};
		} else if (command.in_condition && c != '\0' && strchr("()<>&|\n", c) && !(next == '(' && (c == '<' || c == '>'))) {
			command.nparentheses += c == '(';
			command.nparentheses -= c == ')';
			++r->at;
		} else if (c == '#') {
			read_comment(r);
		} else if (is_redirection || (c == '&' && next == '>')) {
			read_redirection(r, &command);
		} else if (c == '\n' || c == ';' || c == '&' || c == '|') {
			if (!read_operator(r, &command, end)) {
				break;
			}
		} else if (c == '(') {
			read_open(r, &command);
		} else if (!read_argument(r, &command, end)) {
			break;
		}
	}
	command_end(r, &command, false);
	r->nesting = nesting;
	if (r->ndocuments > 0 && (r->substitutions > 0 || r->base)) {
		reader_doubt(r, "shells do not agree about a here-document that begins in the last line of a $( )", "end that line first");
	}
}

// ---- the whole text ----

// Text in which items had better be variables.
static bool is_intricate(const struct reading *reading) {
	bool is_escaped = false;
	char before = '\0';
	for (size_t i = 0; i < reading->len; ++i) {
		char c = reading->text[i];
		if (c == '`' || (before == '$' && (c == '{' || c == '\'')) || (before == '<' && c == '<')) {
			return true;
		}
		is_escaped = c == '\\' && !is_escaped;
		before = is_escaped ? '\0' : c;
	}
	return memmem(reading->text, reading->len, "esac", 4) != NULL;
}

// The first byte that may be half a character.
static size_t find_multibyte(const struct reading *reading) {
	for (size_t i = 1; reading->is_multibyte && i < reading->len; ++i) {
		if ((reading->text[i - 1] & 0x80) && reading->text[i] != '\0' && strchr("\\`[]{}|~^", reading->text[i])) {
			return i;
		}
	}
	return SIZE_MAX;
}

// The first line that goes on in the next (POSIX XCU 2.2.1) where an operator or the name of a variable may go on, too.
static size_t find_continuation(const struct reading *reading) {
	const char *text = reading->text;
	for (size_t i = 1; i + 2 < reading->len; ++i) {
		if (text[i] != '\\' || text[i + 1] != '\n' || (text[i + 2] != '\0' && strchr(" \t\n", text[i + 2]))) {
			continue;
		}
		size_t start = i;
		while (start > 0 && text_is_name(text[start - 1])) {
			--start;
		}
		if (start > 0 && text[start - 1] != '\0' && strchr(start == i ? "$<>&|;({[#!?*@-" : "$", text[start - 1])) {
			return i;
		}
	}
	return SIZE_MAX;
}

void reader_read(struct reading *reading) {
	struct reader r = {.reading = reading};
	reading->is_intricate = is_intricate(reading);
	for (size_t i = 0; i < reading->nvariables; ++i) {
		reader_variable(&r, reading->variables[i], i >= reading->nwhole);
	}
	for (int pass = 0; pass < 2 && !reading->refusal; ++pass) { // what is set behind its use is known to the second
		r = (struct reader){
			.reading = reading, .text = reading->text, .len = reading->len, .multibyte_at = find_multibyte(reading),
			.continued_at = find_continuation(reading),
			.flows = r.flows, .nflows = r.nflows, .flows_cap = r.flows_cap,
			.known = r.known, .nknown = r.nknown, .known_cap = r.known_cap, .apart_at = SIZE_MAX, .statement = 1,
		};
		reader_list(&r, '\0');
		reader_set_region(&r, 0);
		for (size_t i = 0; i < reading->nitems; ++i) {
			const struct read_item *item = &reading->items[i];
			if (!item->is_read) { // behind what the reader could not end
				reader_refuse(&r, i, "the text before it cannot be followed to this place", "write a script");
			}
		}
	}
	bool is_derived = false;
	for (size_t i = 0; i < reading->nitems; ++i) {
		is_derived = is_derived || (reading->items[i].needs & NEED_DERIVED);
	}
	for (size_t i = 0; is_derived && i < r.nflows; ++i) { // a value that is derived may name any variable
		reading->items[r.flows[i].item].needs |= text_is_name(r.flows[i].name[0]) ? NEED_DERIVED : 0u;
	}
	for (size_t i = 0; is_derived && i < reading->nitems; ++i) {
		reading->items[i].needs |= reading->items[i].is_reference ? NEED_DERIVED : 0u;
	}
	free(r.flows);
	free(r.known);
}

const char *shell_bash_syntax(const char *text, size_t len, size_t *ret_at) {
	struct reading reading = {.text = text, .len = len};
	reader_read(&reading);
	*ret_at = reading.bash_at;
	reading_fini(&reading);
	return reading.bash_syntax;
}

void reading_fini(struct reading *reading) {
	free(reading->items);
	reading->items = NULL;
	reading->nitems = reading->items_cap = 0;
}
