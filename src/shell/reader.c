// Reads shell text: words, quotes, expansions and arithmetic (POSIX XCU 2.2, 2.3, 2.6, and what bash, zsh and ksh add).

#include "shell/reader_internal.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

// ---- items ----

// Refuses what stands at `at` if there is a reason, and nothing was refused before.
static void refuse(struct reader *r, size_t at, struct reason reason) {
	struct reading *reading = r->reading;
	if (reason.why && !reading->refusal) {
		reading->refusal = reason.why;
		reading->advice = reason.advice;
		reading->refused_at = at;
	}
}

void reader_doubt(struct reader *r, const char *why, const char *advice) {
	if (!r->doubt.why) {
		r->doubt = (struct reason){why, advice};
	}
}

// What an item must be if a value that is made of it has to be what `needs` says.
static unsigned derived_needs(unsigned needs) {
	unsigned strict = needs & (NEED_INTEGER | NEED_NUMBER | NEED_NAME);
	return (needs & ~strict) | (strict ? NEED_DERIVED : 0u);
}

void reader_use(struct reader *r, size_t i, bool is_derived) {
	struct read_item *item = &r->reading->items[i];
	item->is_read = true;
	++r->nuses;
	r->last_used = i;
	for (const struct outer *outer = r->outer; outer; outer = outer->next) {
		refuse(r, item->at, outer->scope.ban);
		item->needs |= derived_needs(outer->scope.needs) & NEED_DERIVED;
		if (outer->scope.flow) {
			flow_add(r, outer->scope.flow, i, true);
		}
	}
	refuse(r, item->at, r->scope.ban);
	if (!item->is_reference) {
		refuse(r, item->at, r->doubt);
		if (item->at > r->multibyte_at) {
			reader_refuse(r, i, "the locale's characters may contain ASCII bytes, so that this byte may be syntax or half a character",
			              "write the command in ASCII, or run fairpar in a UTF-8 locale");
		}
		if (item->at > r->continued_at) {
			reader_refuse(r, i, "a line goes on in the next in the middle of an operator or a name", "write it on one line");
		}
	}
	unsigned needs = r->scope.needs | (item->at < r->subscript_end ? NEED_INTEGER : 0);
	item->needs |= is_derived ? derived_needs(needs) : needs;
	if (r->delimiter) {
		memcpy(item->delimiter, r->delimiter->delimiter, sizeof(item->delimiter));
	}
	if (r->scope.flow) {
		flow_add(r, r->scope.flow, i, is_derived || r->flow_derives);
	}
}

void reader_refuse(struct reader *r, size_t i, const char *why, const char *advice) {
	refuse(r, r->reading->items[i].at, (struct reason){why, advice});
}

bool reader_item(struct reader *r, unsigned place) {
	char c = r->text[r->at];
	size_t at = reader_place(r, r->at), i = 0;
	struct reading *reading = r->reading;
	while ((c == READ_ITEM || c == READ_NUMBER) && i < reading->nitems &&
	       (reading->items[i].is_reference || reading->items[i].at != at)) {
		++i;
	}
	if ((c != READ_ITEM && c != READ_NUMBER) || i == reading->nitems) {
		return false;
	}
	struct read_item *item = &reading->items[i];
	if (r->base && (place & (PLACE_ESCAPED | PLACE_DOLLAR)) && (r->is_nested || (place & PLACE_KINDS) == PLACE_DOCUMENT)) {
		reader_refuse(r, i, "a $ or a \\ before an item in so many quotes cannot be kept apart from it", "write $( ) for the backticks");
	}
	char before = r->at > 0 ? r->text[r->at - 1] : ' ', behind = reader_peek(r, 1);
	item->place = place | r->base | (r->at == r->apart_at ? PLACE_APART : 0);
	if ((place & PLACE_KINDS) == PLACE_DOUBLE) {
		item->place |= reading->is_multibyte || (before & 0x80) ? PLACE_AFTER_HIGH : 0;
		// what a byte at the end of the item could take for the second half of a character, and would be missed
		item->place |= strchr("\\`[]{}|~^", behind) ? PLACE_BEFORE_TAIL : 0;
	} else if ((place & PLACE_KINDS) == PLACE_PLAIN && r->quoted) { // what stands beside it may make a reserved word of it
		bool is_adjacent = (before >= 'a' && before <= 'z') || (behind >= 'a' && behind <= 'z') || behind == READ_ITEM;
		item->place |= is_adjacent ? PLACE_APART : r->quoted;
	}
	++r->at;
	item->is_read = true;
	if (!item->is_number) {
		reader_use(r, i, false);
	}
	return true;
}

// ---- constructs ----

void reader_mark(struct reader *r, unsigned mark) {
	if (r->reading->marks && r->at <= r->len) {
		r->reading->marks[reader_place(r, r->at)] |= (unsigned char)mark;
	}
}

void reader_set_region(struct reader *r, unsigned region) {
	size_t end = reader_place(r, r->at);
	for (; r->reading->regions && r->marked < end; ++r->marked) {
		r->reading->regions[r->marked] = r->scope.region;
	}
	r->scope.region = region;
}

static struct scope enter_quotes(struct reader *r) {
	struct scope saved = r->scope;
	r->nregions += 2;
	reader_set_region(r, r->nregions);
	if (++r->depth > READER_DEPTH) {
		reader_doubt(r, "so many constructs inside one another are not followed", "write a script");
		r->at = r->len;
	}
	return saved;
}

struct scope reader_enter(struct reader *r) {
	struct scope saved = enter_quotes(r);
	r->scope = (struct scope){.region = r->scope.region};
	return saved;
}

void reader_leave(struct reader *r, struct scope saved) {
	reader_set_region(r, saved.region);
	--r->depth;
	r->scope = saved;
}

// Goes on behind the byte that has to end a construct.
static void expect(struct reader *r, char c) {
	if (r->at < r->len && r->text[r->at] == c) {
		++r->at;
	} else {
		reader_doubt(r, "a quote or a parenthesis before it is not closed", "close it");
	}
}

// Goes on behind the bytes of a name. Returns their number.
static size_t skip_name(struct reader *r) {
	size_t start = r->at;
	while (r->at < r->len && text_is_name(r->text[r->at])) {
		++r->at;
	}
	return r->at - start;
}

// Goes on behind a name, which is noted as reader_name() does. Returns its length, 0 if there is none.
static size_t read_name(struct reader *r, bool is_expanded) {
	size_t len = skip_name(r);
	reader_name(r, r->at - len, len, is_expanded);
	return len;
}

static bool read_special(struct reader *r, unsigned place, struct word *word);

static void add_literal(struct reader *r, struct word *word) {
	char c = r->text[r->at];
	++r->at;
	if (!word) {
		return;
	}
	if (c == '=' && word->may_assign && !word->is_open) {
		word->may_assign = false;
		reader_assign(r, word);
	} else if (c == '=' && word->may_assign && r->scope.needs & NEED_NAME) { // declare "$x={}"
		r->scope.flow = FLOW_UNKNOWN;
	}
	if (c == '[' && r->scope.needs & NEED_NAME) { // read 'a[…]': a subscript, which is arithmetic
		r->scope.needs = (r->scope.needs & ~(unsigned)NEED_NAME) | NEED_INTEGER;
	}
	if (word->len < sizeof(word->text) - 1) {
		word->text[word->len++] = c;
		word->text[word->len] = '\0';
	} else {
		word->is_open = true;
	}
}

void reader_doubt_yen(struct reader *r, char next) {
	if (r->reading->is_yen && next != '\0' && strchr("'\"`$\\\n()#;&|<>", next)) {
		reader_doubt(r, "a \\ is another character in the locale SHIFT_JIS", "use single quotes, or run fairpar in a UTF-8 locale");
	}
}

// Notes the item here, as a part of the word. Returns false if the byte is no item.
static bool read_item(struct reader *r, unsigned place, struct word *word) {
	bool is_item = reader_item(r, place);
	if (is_item && word) {
		word->is_open = word->has_item = true;
	}
	return is_item;
}

// A backslash outside of quotes, or in double quotes.
static void read_backslash(struct reader *r, unsigned place, struct word *word) {
	reader_doubt_yen(r, reader_peek(r, 1));
	if (word) {
		word->is_quoted = word->is_quoted || reader_peek(r, 1) != '\n';
	}
	++r->at;
	if (reader_at_end(r)) {
		return;
	}
	reader_mark(r, READ_ESCAPED);
	if (read_item(r, place | PLACE_ESCAPED, word)) {
		return;
	}
	if (r->text[r->at] == '\n') {
		++r->at;
	} else {
		add_literal(r, word);
	}
}

// '…' or "…"
static void read_quotes(struct reader *r, struct word *word) {
	char quote = r->text[r->at];
	unsigned place = quote == '"' ? PLACE_DOUBLE : PLACE_SINGLE;
	struct scope saved = enter_quotes(r);
	if (word) {
		word->is_quoted = true;
	}
	++r->at;
	while (!reader_at_end(r) && r->text[r->at] != quote) {
		if (!read_special(r, place, word) && !read_item(r, place, word)) {
			add_literal(r, word);
		}
	}
	expect(r, quote);
	reader_leave(r, saved);
}

// $'…', which dash takes for a $ before '…'
static void read_ansi(struct reader *r, struct word *word) {
	struct scope saved = enter_quotes(r);
	reader_note_bash(r, r->at, "$'…'");
	r->at += 2;
	while (!reader_at_end(r) && r->text[r->at] != '\'') {
		bool is_escaped = r->text[r->at] == '\\';
		if (is_escaped && (reader_peek(r, 1) == '\'' || reader_peek(r, 1) == 'c')) {
			reader_doubt(r, "shells do not agree where $'…' with this backslash ends", "use '…' or \"…\"");
		}
		r->at += is_escaped;
		if (!reader_at_end(r) && !reader_item(r, PLACE_ANSI | (is_escaped ? PLACE_ESCAPED : 0))) {
			++r->at;
		}
	}
	if (word) {
		word->is_open = true;
	}
	expect(r, '\'');
	reader_leave(r, saved);
}

// Reads on from what means something in a place of that kind: a backslash, an expansion, a quote. Returns false at another
// byte.
static bool read_special(struct reader *r, unsigned place, struct word *word) {
	char c = place == PLACE_SINGLE ? '\0' : r->text[r->at];
	switch (c) {
	case '\\':
		read_backslash(r, place, word);
		return true;
	case '$':
		reader_dollar(r, place, word);
		return true;
	case '`':
		reader_backticks(r, place, word);
		return true;
	case '\'':
	case '"':
		if (place == PLACE_PLAIN) {
			read_quotes(r, word);
		}
		return place == PLACE_PLAIN;
	}
	return false;
}

// ---- expansions ----

static const struct reason patterns = {"shells do not agree about quotes in the patterns of ${…}", "take a replacement string such as {.}"};

// What a command substitution that begins here stands in.
static struct outer outer_of(const struct reader *r) {
	struct outer outer = {r->scope, r->outer};
	if (r->scope.ban.why == patterns.why) { // which the output of a command is, whatever its quotes are
		outer.scope.ban = (struct reason){NULL, NULL};
	}
	return outer;
}

// $( ), <( )
static void read_substitution(struct reader *r) {
	struct outer outer = outer_of(r);
	struct scope saved = reader_enter(r);
	r->outer = &outer;
	++r->substitutions;
	if (r->text[r->at] == '>') { // it reads the output of the command whose word it is
		flow_copy(r, FLOW_INPUT, FLOW_OUTPUT, true);
	}
	++r->at;
	reader_mark(r, READ_OPERATOR);
	++r->at;
	reader_list(r, ')');
	--r->substitutions;
	reader_mark(r, READ_OPERATOR);
	expect(r, ')');
	r->outer = outer.next;
	reader_leave(r, saved);
}

// Reads the text as commands, whose bytes stand where `map` says. Frees both.
static void read_inner(struct reader *r, char *inner, size_t *map, size_t n) {
	const char *text = r->text;
	const size_t *outer_map = r->map;
	size_t len = r->len;
	struct scope saved = reader_enter(r);
	r->text = inner;
	r->map = map;
	r->len = n;
	r->at = r->apart_at = 0;
	reader_mark(r, READ_OPERATOR);
	reader_list(r, '\0');
	r->text = text;
	r->map = outer_map;
	r->len = len;
	reader_leave(r, saved);
	free(inner);
	free(map);
}

// The commands between backticks: POSIX XCU 2.6.3. The first backtick without a backslash ends them, and of the
// backslashes inside only those before others than $, ` and \ (and ", in "…") reach the command.
void reader_backticks(struct reader *r, unsigned place, struct word *word) {
	size_t end = r->at + 1, n = 0;
	while (end < r->len && r->text[end] != '`') {
		end += r->text[end] == '\\' ? 2 : 1;
	}
	if (word) {
		word->is_open = true;
	}
	if (end >= r->len) {
		reader_doubt(r, "a ` before it is not closed", "close it, or write $( )");
		r->at = r->len;
		return;
	}
	if (place == PLACE_DOCUMENT && memchr(r->text + r->at, '"', end - r->at)) {
		reader_doubt(r, "shells do not agree about quotes between backticks in a here-document", "write $( )");
	}
	char *inner = xmalloc(end - r->at);
	size_t *map = xcalloc(end - r->at + 1, sizeof(*map));
	for (size_t i = r->at + 1; i < end; ++i) {
		bool drops = r->text[i] == '\\' && (strchr("$`\\", r->text[i + 1]) || (place == PLACE_DOUBLE && r->text[i + 1] == '"'));
		if (drops) {
			reader_doubt_yen(r, r->text[i + 1]);
		}
		if (drops && r->text[i + 1] == '\\' && r->text[i + 2] == '\n') {
			reader_doubt(r, "a line goes on in the next, between backticks", "write $( )");
		}
		i += drops && r->text[i + 1] != '\0' ? 1 : 0;
		map[n] = reader_place(r, i);
		inner[n++] = r->text[i];
	}
	map[n] = reader_place(r, end);
	struct outer around = outer_of(r);
	r->outer = &around;
	unsigned base = r->base;
	bool is_nested = r->is_nested;
	r->is_nested = base != 0;
	r->base |= PLACE_BACKTICKS;
	++r->at;
	read_inner(r, inner, map, n);
	r->base = base;
	r->is_nested = is_nested;
	r->outer = around.next;
	r->at = end;
	reader_mark(r, READ_OPERATOR);
	++r->at;
}

void reader_code(struct reader *r, size_t start) {
	size_t end = r->at, n = 0;
	char *inner = xmalloc(end - start + 1), quote = '\0';
	size_t *map = xcalloc(end - start + 1, sizeof(*map));
	for (size_t i = start; i < end; ++i) {
		char c = r->text[i];
		if (quote != '\0' ? c == quote : c == '\'' || c == '"') {
			quote = quote == '\0' ? c : '\0';
			continue;
		}
		bool is_escape = c == '\\' && quote != '\'' && i + 1 < end &&
		                 (quote == '\0' || (r->text[i + 1] != '\0' && strchr("$`\"\\\n", r->text[i + 1])));
		i += is_escape;
		map[n] = reader_place(r, i);
		inner[n++] = r->text[i];
	}
	map[n] = reader_place(r, end);
	struct reason doubt = r->doubt;
	unsigned ndocuments = r->ndocuments, *regions = r->reading->regions;
	unsigned char *marks = r->reading->marks;
	r->ndocuments = 0;
	r->reading->regions = NULL; // to -X it is one word
	r->reading->marks = NULL;
	read_inner(r, inner, map, n);
	r->reading->regions = regions;
	r->reading->marks = marks;
	r->ndocuments = ndocuments;
	r->doubt = doubt; // there are no items in it that depend on quotes
	r->at = end;
}

// Does the quote here end before anything else that means something, inside "${…}"? There shells disagree about quotes.
static bool is_simple_quote(const struct reader *r) {
	size_t i = r->at + 1;
	while (i < r->len && !strchr("'\"}{\\`()", r->text[i])) { // the NUL of an item is among them
		++i;
	}
	return i < r->len && r->text[i] == r->text[r->at];
}

// What follows the operator in ${x-…}.
static void read_operand(struct reader *r, unsigned place, bool is_quoted) {
	while (!reader_at_end(r) && r->text[r->at] != '}') {
		char c = r->text[r->at];
		if ((c == '\'' || c == '"') && is_quoted) {
			if (!is_simple_quote(r)) {
				reader_doubt(r, "shells do not agree about quotes inside \"${…}\"", "set a variable first");
			}
			++r->at;
		} else if (!read_special(r, is_quoted && c != '\\' ? PLACE_DOUBLE : place, NULL) && !reader_item(r, place)) {
			if (c == '{') {
				reader_doubt(r, "shells do not agree which } ends a ${…} with another { in it", "set a variable first");
			}
			++r->at;
		}
	}
}

// Bans items for that reason, unless they are banned already.
static void ban(struct reader *r, struct reason reason) {
	r->scope.ban = r->scope.ban.why ? r->scope.ban : reason;
}

static const struct reason again = {"a shell reads again what comes out of this expansion", "use the variable as it is"};
static const struct reason again_by_flags = {"a shell reads again what comes out of this expansion", "use the variable without flags"};
static const struct reason no_name = {"an item is no name of a variable", "use the item itself, or x={} and ${#x}"};

// [ ] with arithmetic.
static void read_subscript(struct reader *r) {
	unsigned needs = r->scope.needs;
	r->scope.needs = NEED_INTEGER;
	++r->at;
	reader_arithmetic(r, "]");
	r->scope.needs = needs;
}

// The name in ${…}, and its subscript. Returns the length of the name.
static size_t read_parameter_name(struct reader *r) {
	bool is_length = r->text[r->at] == '#';
	bool is_indirect = r->text[r->at] == '!' && text_is_name(reader_peek(r, 1));
	while (!reader_at_end(r) && r->text[r->at] != '\0' && strchr("=~^", r->text[r->at])) { // of zsh
		ban(r, again);
		++r->at;
	}
	if (strchr("#!^=+~", r->text[r->at]) && r->text[r->at] != '\0' && text_is_name(reader_peek(r, 1))) {
		++r->at;
	}
	size_t start = r->at, len = skip_name(r);
	unsigned needs = r->scope.needs;
	if (is_indirect) {
		r->scope.needs |= NEED_NAME;
	}
	if (reader_peek(r, 0) == '@' && (reader_peek(r, 1) == '\0' || !strchr("QULuK}", reader_peek(r, 1)))) {
		ban(r, again);
	}
	if (!is_length || len == 0 || (reader_peek(r, 0) != '}' && reader_peek(r, 0) != '[')) { // the length is a number
		char op = reader_peek(r, reader_peek(r, 0) == ':');
		r->derives = op == '\0' || !strchr("}-=?+[", op);
		reader_name(r, start, len > 0 || reader_at_end(r) ? len : 1, true);
		r->derives = false;
	}
	r->scope.needs = needs;
	struct reason old = r->scope.ban;
	ban(r, no_name);
	bool is_nested = len == 0 && (r->text[r->at] == '"' || (r->text[r->at] == '$' && strchr("{(", reader_peek(r, 1))));
	if (is_nested && !reader_at_end(r)) { // ${${x}} of zsh
		r->scope.ban.why = again.why;
		read_special(r, PLACE_PLAIN, NULL);
	} else if (!reader_at_end(r) && !reader_item(r, PLACE_PLAIN) && len == 0 && r->text[r->at] != '}') {
		++r->at;
		reader_item(r, PLACE_PLAIN);
	}
	r->scope.ban = old;
	if (reader_peek(r, 0) == '[') {
		reader_note_bash(r, r->at, "${NAME[…]}");
		read_subscript(r);
	}
	return len;
}

// ${(l:x:)y} of zsh: names in it are arithmetic.
static void read_flags(struct reader *r) {
	for (++r->at; (reader_peek(r, 0) | 0x20) >= 'a' && (reader_peek(r, 0) | 0x20) <= 'z' && !reader_at_end(r); ++r->at) {
	}
	while (!reader_at_end(r) && (r->text[r->at] == '\0' || !strchr(")}", r->text[r->at]))) {
		if (read_name(r, false) == 0) {
			++r->at;
		}
	}
}

// ${…}
static void read_parameter(struct reader *r, unsigned place) {
	struct scope saved = enter_quotes(r);
	bool is_quoted = place == PLACE_DOUBLE || place == PLACE_DOCUMENT;
	r->at += 2;
	char c = reader_peek(r, 0);
	if (c == ' ' || c == '\t' || c == '\n' || c == '|') {
		reader_doubt(r, "some shells run what is in ${ }", "write $( )");
		reader_list(r, '}');
	} else if (c == '(') {
		ban(r, again_by_flags);
		read_flags(r);
		r->at += reader_peek(r, 0) == ')';
	}
	char name[NAME_LEN] = "";
	size_t name_at = r->at + (reader_peek(r, 0) == '!' || reader_peek(r, 0) == '#');
	size_t len = reader_at_end(r) ? 0 : read_parameter_name(r);
	if (len < sizeof(name) && name_at + len <= r->len) {
		memcpy(name, r->text + name_at, len);
		name[len] = len + 1 < sizeof(name) && name_at + len < r->len && r->text[name_at + len] == '[' ? '[' : '\0';
	}
	bool has_colon = reader_peek(r, 0) == ':';
	char op = reader_peek(r, has_colon);
	r->at += has_colon;
	if (has_colon && (op == '\0' || !strchr("-=?+", op))) {
		r->scope.needs = NEED_INTEGER;
		reader_arithmetic(r, "}");
		reader_leave(r, saved);
		return;
	}
	bool is_indirect = name_at > 0 && r->text[name_at - 1] == '!';
	bool is_pattern = strchr("#%/^,", op) && op != '\0';
	if (is_pattern) {
		ban(r, patterns);
	}
	r->scope.flow = op != '=' ? r->scope.flow : is_indirect ? FLOW_UNKNOWN : name;
	r->at += op != '\0' && strchr("-=?+#%/^,", op) && !reader_at_end(r);
	read_operand(r, is_quoted ? place : PLACE_PLAIN, is_quoted);
	expect(r, '}');
	reader_leave(r, saved);
}

// In zsh $x[…] has a subscript without braces. Finds where that would end.
static size_t subscript_end(const struct reader *r) {
	size_t i = r->at + 1;
	while (i < r->len && (r->text[i] == '\0' || !strchr("]\"' \t\n", r->text[i]))) {
		++i;
	}
	return i < r->len && r->text[i] == ']' ? reader_place(r, i) : 0;
}

// $=x, $~x and $^x of zsh, which splits or expands the value once more. Returns false at something else.
static bool read_again(struct reader *r) {
	size_t n = 1;
	while (strchr("=~^", reader_peek(r, n)) && reader_peek(r, n) != '\0') {
		++n;
	}
	if (n == 1 || !(text_is_name(reader_peek(r, n)) || reader_peek(r, n) == '@' || reader_peek(r, n) == '*')) {
		return false;
	}
	struct reason old = r->scope.ban;
	ban(r, again);
	size_t start = r->at += n;
	if (skip_name(r) == 0) {
		++r->at;
	}
	reader_name(r, start, r->at - start, true);
	r->scope.ban = old;
	return true;
}

void reader_dollar(struct reader *r, unsigned place, struct word *word) {
	bool is_quoted = place == PLACE_DOUBLE || place == PLACE_DOCUMENT;
	char c = reader_peek(r, 1);
	size_t start = r->at;
	if (word) {
		word->is_open = true;
	}
	if (read_again(r)) {
		return;
	}
	if ((c == '(' && reader_peek(r, 2) == '(') || c == '[') {
		struct scope saved = reader_enter(r);
		r->scope.needs = NEED_INTEGER;
		r->at += c == '(' ? 3 : 2;
		if (!reader_arithmetic(r, c == '(' ? "))" : "]") && c == '(') {
			reader_doubt(r, "$(( begins arithmetic in one shell and commands in another", "write $( ( with a blank");
		}
		reader_leave(r, saved);
	} else if (c == '(') {
		read_substitution(r);
	} else if (c == '{') {
		read_parameter(r, place);
	} else if (c == '\'' && !is_quoted) {
		read_ansi(r, word);
	} else if (text_is_name(c) || (c != '\0' && strchr("@*#?-$!", c))) {
		bool is_special = !text_is_name(c) || (c >= '0' && c <= '9');
		r->at += is_special ? 2 : 1;
		if (!is_special) {
			skip_name(r);
		}
		reader_name(r, start + 1, r->at - start - 1, true);
		r->apart_at = reader_peek(r, 0) == ':' ? r->at + 1 : r->at;
		r->subscript_end = reader_peek(r, 0) == '[' ? subscript_end(r) : r->subscript_end;
	} else {
		++r->at;
		if (r->at < r->len && reader_item(r, place | PLACE_DOLLAR) && word) {
			word->has_item = true;
		}
	}
}

// ---- arithmetic ----

bool reader_arithmetic(struct reader *r, const char *closing) {
	unsigned nested = 0;
	const char opening = *closing == ')' ? '(' : *closing == ']' ? '[' : '\0';
	while (!reader_at_end(r)) {
		char c = r->text[r->at];
		if (c == *closing && nested == 0) {
			bool is_end = closing[1] == '\0' || reader_peek(r, 1) == closing[1];
			r->at += is_end ? strlen(closing) : 1;
			return is_end;
		}
		if (c == '\'' || c == '"' || c == '\\') { // subscripts may have them: ${a["key"]}
			if (*closing == ')' && !(c == '\\' && reader_peek(r, 1) == '\n')) {
				reader_doubt(r, "shells do not agree about quotes in arithmetic", "leave them out");
			}
			read_special(r, PLACE_PLAIN, NULL);
		} else if (!reader_item(r, PLACE_DOUBLE) && read_name(r, false) == 0 && !read_special(r, PLACE_DOUBLE, NULL)) {
			nested += c == opening && opening != '\0' ? 1 : 0;
			nested -= c == *closing ? 1 : 0;
			++r->at;
		}
	}
	return false;
}

// ---- words ----

// {a..b}, which nothing but numbers, letters and items are in.
static bool is_sequence(const struct reader *r) {
	size_t i = r->at + 1, n = 0, dots = 0;
	for (; i < r->len && r->text[i] != '}'; ++i) {
		char c = r->text[i];
		if (c == '.' && n > 0 && i + 1 < r->len && r->text[i + 1] == '.') {
			n = 0;
			++dots;
			++i;
		} else if (text_is_name(c) || c == '-' || c == READ_ITEM || c == READ_NUMBER) {
			++n;
		} else {
			return false;
		}
	}
	return i < r->len && dots > 0 && n > 0;
}

// x=(…), @(…) of bash and ksh, *(…) of zsh: words, too, but no commands.
static void read_group(struct reader *r, bool is_array) {
	struct scope saved = enter_quotes(r);
	r->scope.needs = is_array ? r->group_needs : r->scope.needs;
	++r->at;
	if (reader_peek(r, 0) == '#') {
		reader_doubt(r, "shells do not agree whether (# begins a comment", "write a blank or a quote between them");
		++r->at;
	}
	while (!reader_at_end(r) && r->text[r->at] != ')') {
		char c = r->text[r->at];
		if (c == '#' && is_array) {
			reader_doubt(r, "shells do not agree about comments among the words of an array", "put the comment elsewhere");
			++r->at;
		} else if (c == '(') {
			read_group(r, is_array);
		} else if (strchr(" \t\n;&|", c) && c != '\0') {
			++r->at;
		} else if ((c == '<' || c == '>') && reader_peek(r, 1) != '(') {
			++r->at;
		} else {
			struct word word = {.in_array = is_array};
			reader_word(r, &word);
		}
	}
	expect(r, ')');
	reader_leave(r, saved);
}

// A parenthesis in a word. Returns false if it ends the word, as in name().
static bool read_parenthesis(struct reader *r, struct word *word) {
	size_t next = 1;
	while (reader_peek(r, next) == ' ' || reader_peek(r, next) == '\t') {
		++next;
	}
	char before = r->at > word->start ? r->text[r->at - 1] : '\0';
	if (before == '\0' || (reader_peek(r, next) == ')' && !strchr("=?*+@!", before))) {
		return false;
	}
	word->is_open = true;
	if (word->name[0] != '\0') {
		reader_note_bash(r, r->at, "NAME=(…)");
	}
	read_group(r, before == '=');
	return true;
}

// name[…]= and [ ]= in arrays
static bool is_subscript(const struct reader *r, const struct word *word) {
	if (word->in_array && r->at == word->start) {
		return true;
	}
	bool is_name = word->may_assign && word->len > 0 && !word->is_open && !word->is_quoted;
	for (size_t i = 0; is_name && i < word->len; ++i) {
		is_name = text_is_name(word->text[i]);
	}
	return is_name;
}

// A byte that is part of a word. Returns false at one that ends it.
static bool read_part(struct reader *r, struct word *word) {
	char c = r->text[r->at];
	if (reader_peek(r, 1) == '(' && (c == '<' || c == '>' || (c == '=' && r->at == word->start))) { // <( ), and =( ) of zsh
		word->is_open = true;
		if (c != '=') {
			reader_note_bash(r, r->at, c == '<' ? "<(…)" : ">(…)");
		}
		read_substitution(r);
		return true;
	}
	switch (c) {
	case ' ': case '\t': case '\n': case ';': case '&': case '|': case ')': case '<': case '>':
		return false;
	case '(':
		return read_parenthesis(r, word);
	case '[':
		if (is_subscript(r, word)) {
			read_subscript(r);
			if (reader_peek(r, 0) == '=' || (reader_peek(r, 0) == '+' && reader_peek(r, 1) == '=')) {
				reader_note_bash(r, r->at, "NAME[…]=");
			}
			return true;
		}
		break;
	case '{':
		if (is_sequence(r)) {
			reader_note_bash(r, r->at, "{a..b}");
		}
		break;
	}
	if (!read_special(r, PLACE_PLAIN, word) && !read_item(r, PLACE_PLAIN, word)) {
		add_literal(r, word);
	}
	return true;
}

void reader_word(struct reader *r, struct word *word) {
	word->start = r->at;
	while (!reader_at_end(r) && read_part(r, word)) {
	}
	for (size_t i = 0; r->scope.flow && !word->is_open && i < word->len; ++i) { // y=x: arithmetic takes the value of x for that of y
		size_t n = 0;
		char name[NAME_LEN];
		while (text_is_name(word->text[i])) {
			name[n++] = word->text[i++];
		}
		name[n] = '\0';
		flow_copy(r, r->scope.flow, name, true);
	}
	// a name in arithmetic needs no $
	size_t end = r->at;
	for (r->at = word->start; (r->scope.needs & NEED_INTEGER) && r->at < end; ++r->at) {
		read_name(r, false);
	}
	r->at = end;
}
