// Reads shell text: quotes, expansions, arithmetic, here-documents, and as much of commands as it takes to know where these
// are (POSIX XCU 2.2 to 2.10, and what bash, zsh and ksh add).
//
// Each read_…() function reads from byte r->at on, and moves r->at behind what it has read. None can fail; a refusal in r->reading ends all reading.

#include "shell/reader.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "shell/quoting.h"

#include <string.h>

enum { DEPTH_MAX = 64, NAME_LEN = 64, DOCUMENTS_MAX = 8 };

// Why an item cannot stand somewhere, and what to do instead; static texts. Both are NULL if an item can stand there.
struct reason {
	const char *why, *advice;
};

// The rules for the position where the reader is.
struct scope {
	unsigned needs;       // enum need: what the items that are read must be
	struct reason ban;    // why no item may stand here
	unsigned region;      // the number in reading->regions
};

// A here-document: its << was read, and its lines come behind the next newline.
struct document {
	char delimiter[NAME_LEN]; // without its quotes
	size_t len;
	bool is_literal;      // the delimiter was quoted: nothing is expanded
	bool strips_tabs;     // <<-
};

// A word that is being read: its literal bytes without the quotes.
struct word {
	size_t start;         // the offset in reader.text where the word begins
	char text[NAME_LEN];
	size_t len;
	bool is_quoted;       // the word has quotes or backslashes
	bool is_open;         // `text` is not the whole word, which has expansions or items, or is too long
	bool may_assign;      // NAME= at its beginning is an assignment
	bool is_assignment;
	bool in_array;        // [ at its beginning is a subscript
};

// The part of a command that was read so far.
struct shell_command {
	unsigned n;           // how many words were read, without assignments and keywords
	char first[NAME_LEN]; // the name of the command
	unsigned ncases;      // how many `case` of this list have no `esac` yet
	bool has_case;        // a word behind the command's name is `case`, which in some shells begins a command there
	bool in_condition;    // [[ has no ]] yet
	bool is_arithmetic;   // the next word is arithmetic: behind let, or behind -eq in [[ ]]
	size_t operand;       // in [[ ]]: where the last word begins in the whole text
};

struct reader {
	struct reading *reading;
	const char *text;     // the text being read: the whole text, or the text between backticks without its quoting
	size_t len, at;
	const size_t *map;    // the offset in the whole text of each byte of `text`; or NULL: `text` is the whole text
	size_t next;          // the index in reading->items of the next item that was not read yet
	unsigned depth;       // how many constructs are open
	unsigned substitutions; // how many $(…) are open
	unsigned in_documents; // how many here-documents that expand are open
	unsigned backticks;   // how many backticks are open
	unsigned quoted;      // flag for items of the present word: POSITION_QUOTED if the word may be a reserved word, POSITION_APART in [[ ]], or 0
	size_t word;          // the offset in the whole text of the word that is read
	size_t apart_at;      // the end of the last $NAME: an item there would make the name longer
	size_t subscript_end; // the offset in the whole text of the end of the last $x[…], which zsh reads as a subscript
	struct scope scope;
	struct reason doubt;  // why the position of an item would not be certain from here on; NULLs: it is certain
	struct document documents[DOCUMENTS_MAX];
	unsigned ndocuments;
	unsigned nregions;    // the highest number of a region so far
	size_t marked;        // how many bytes of the whole text have their region in reading->regions
};

static bool read_special(struct reader *r, unsigned position, struct word *word);
static void read_word(struct reader *r, struct word *word);
static void read_list(struct reader *r, char end);

// Returns byte `n` from r->at on; behind the end of the text a newline, since a command ends there.
static char peek(const struct reader *r, size_t n) {
	return r->at + n < r->len ? r->text[r->at + n] : '\n';
}

// True at the end of the text, or once an item was refused.
static bool at_end(const struct reader *r) {
	return r->at >= r->len || r->reading->refusal;
}

// Returns the offset in the whole text of the byte at offset `at` of r->text, or of the end if r->text ends before it.
static size_t offset_of(const struct reader *r, size_t at) {
	at = at < r->len ? at : r->len;
	return r->map ? r->map[at] : at;
}

// As strchr(), but does not find the NUL, which stands for items.
static bool is_one_of(char c, const char *bytes) {
	return c != '\0' && strchr(bytes, c);
}

// ---- items ----

static void refuse(struct reader *r, size_t at, struct reason reason) {
	struct reading *reading = r->reading;
	if (reason.why && !reading->refusal) {
		reading->refusal = reason.why;
		reading->advice = reason.advice;
		reading->refused_at = at;
	}
}

// If `is_doubtful`, shells may parse the text in different ways from here on, so that no item may stand there.
static void doubt(struct reader *r, bool is_doubtful, const char *why, const char *advice) {
	r->doubt = is_doubtful && !r->doubt.why ? (struct reason){why, advice} : r->doubt;
}

// Sets the position and the needs of the item at r->at, which is a part of `word` (or NULL), and goes on behind the item. Returns
// false if the byte at r->at stands for no item.
static bool read_item(struct reader *r, unsigned position, struct word *word) {
	struct reading *reading = r->reading;
	char c = r->text[r->at], before = r->at > 0 ? r->text[r->at - 1] : ' ', behind = peek(r, 1);
	size_t at = offset_of(r, r->at);
	if ((c != READ_ITEM && c != READ_NUMBER) || r->next == reading->nitems || reading->items[r->next].at != at) {
		return false;
	}
	struct read_item *item = &reading->items[r->next++];
	unsigned kind = position & POSITION_KINDS;
	item->position = position | (r->backticks > 0 ? POSITION_BACKTICKS : 0) | (r->at == r->apart_at ? POSITION_APART : 0);
	if (kind == POSITION_PLAIN && r->quoted) { // a letter beside the item may make a reserved word of both
		bool is_adjacent = (before >= 'a' && before <= 'z') || (behind >= 'a' && behind <= 'z') || behind == READ_ITEM;
		item->position |= is_adjacent ? POSITION_APART : r->quoted;
	}
	item->needs = r->scope.needs | (at < r->subscript_end ? NEED_INTEGER : 0);
	item->word = r->word;
	if (!item->is_number) {
		bool is_mixed = (position & (POSITION_ESCAPED | POSITION_DOLLAR)) && (r->backticks > 1 || (r->backticks > 0 && kind == POSITION_DOCUMENT));
		doubt(r, is_mixed, "in so many quotes a $ or a \\ cannot be kept apart from the item behind it", "write $( ) instead of backticks");
		refuse(r, at, r->scope.ban);
		refuse(r, at, r->doubt);
	}
	if (word) {
		word->is_open = true;
	}
	++r->at;
	return true;
}

// ---- constructs ----

static void note_bash(struct reader *r, bool is_there, size_t at, const char *syntax) {
	if (is_there && !r->reading->bash_syntax) {
		r->reading->bash_syntax = syntax;
		r->reading->bash_at = offset_of(r, at);
	}
}

// Sets the bit in reading->marks for the byte at r->at.
static void mark(struct reader *r, unsigned bit) {
	if (r->reading->marks && r->at <= r->len) {
		r->reading->marks[offset_of(r, r->at)] |= (unsigned char)bit;
	}
}

// Marks the byte at r->at as a part of an operator, and goes on behind the byte.
static void skip_operator(struct reader *r) {
	mark(r, READ_OPERATOR);
	++r->at;
}

// Ends the present region at r->at, and begins the region of that number.
static void set_region(struct reader *r, unsigned region) {
	size_t end = offset_of(r, r->at);
	for (; r->reading->regions && r->marked < end; ++r->marked) {
		r->reading->regions[r->marked] = r->scope.region;
	}
	r->scope.region = region;
}

// Begins quotes. Returns the scope around them, for leave().
static struct scope enter_quotes(struct reader *r) {
	struct scope saved = r->scope;
	r->nregions += 2;
	set_region(r, r->nregions);
	if (++r->depth > DEPTH_MAX) {
		doubt(r, true, "quotes and parentheses are nested too deeply", "put the command into a script");
		r->at = r->len;
	}
	return saved;
}

// Begins a construct in which the rules of the scope around it do not hold: $( ), a subshell. Returns that scope, for leave().
static struct scope enter(struct reader *r) {
	struct scope saved = enter_quotes(r);
	r->scope = (struct scope){.region = r->scope.region};
	return saved;
}

static void leave(struct reader *r, struct scope saved) {
	set_region(r, saved.region);
	--r->depth;
	r->scope = saved;
}

// Goes on behind the byte that has to end a construct.
static void expect(struct reader *r, char c) {
	bool is_there = r->at < r->len && r->text[r->at] == c;
	doubt(r, !is_there, "a quote or a parenthesis before the item is not closed", "close the quote or parenthesis");
	r->at += is_there;
}

// Goes on behind the bytes of a name. Returns their number.
static size_t skip_name(struct reader *r) {
	size_t start = r->at;
	while (r->at < r->len && text_is_name(r->text[r->at])) {
		++r->at;
	}
	return r->at - start;
}

// Goes on behind the \ and the newline at r->at (POSIX XCU 2.2.1). No item may follow if they are inside an operator or a variable's name.
static void skip_continuation(struct reader *r) {
	size_t start = r->at;
	while (start > 0 && text_is_name(r->text[start - 1])) {
		--start;
	}
	bool goes_on = start > 0 && is_one_of(r->text[start - 1], start == r->at ? "$<>&|;({[#!?*@-" : "$") && !is_one_of(peek(r, 2), " \t\n");
	doubt(r, goes_on, "an operator or a name is split over two lines", "write the operator or the name on one line");
	r->at = r->at + 2 < r->len ? r->at + 2 : r->len;
}

static void skip_blanks(struct reader *r) {
	while (!at_end(r) && (is_one_of(r->text[r->at], " \t") || (r->text[r->at] == '\\' && peek(r, 1) == '\n'))) {
		if (r->text[r->at] == '\\') {
			skip_continuation(r);
		} else {
			++r->at;
		}
	}
}

// Reads arithmetic and its end, `closing`: "))", "]" or "}". Returns false if the arithmetic does not end with `closing`.
static bool read_arithmetic(struct reader *r, const char *closing) {
	unsigned nested = 0, needs = r->scope.needs;
	char opening = *closing == ')' ? '(' : '[', c;
	bool is_end = false;
	r->scope.needs = NEED_INTEGER;
	while (!at_end(r) && ((c = r->text[r->at]) != *closing || nested > 0)) {
		if (is_one_of(c, "'\"\\")) { // a subscript may have quotes: ${a["key"]}
			doubt(r, *closing == ')' && !(c == '\\' && peek(r, 1) == '\n'), "shells do not agree about quotes in arithmetic", "leave the quotes out");
			read_special(r, POSITION_PLAIN, NULL);
		} else if (!read_item(r, POSITION_DOUBLE, NULL) && !read_special(r, POSITION_DOUBLE, NULL)) {
			nested += *closing != '}' && c == opening;
			nested -= c == *closing;
			++r->at;
		}
	}
	if (!at_end(r)) {
		is_end = closing[1] == '\0' || peek(r, 1) == closing[1];
		r->at += is_end ? strlen(closing) : 1;
	}
	r->scope.needs = needs;
	return is_end;
}

// ---- quotes ----

static bool is_assigned(const struct word *word) {
	size_t len = word->len - (word->len > 0 && word->text[word->len - 1] == '+');
	return len > 0 && text_name_length(word->text) == len;
}

static void add_literal(struct reader *r, struct word *word) {
	char c = r->text[r->at++];
	if (!word) {
		return;
	}
	if (c == '=' && word->may_assign && !word->is_open) {
		word->is_assignment = is_assigned(word);
		word->may_assign = false;
	}
	if (word->len < sizeof(word->text) - 1) {
		word->text[word->len++] = c;
	} else {
		word->is_open = true;
	}
}

// Reads a backslash outside of quotes, in "…" or in $'…'.
static void read_backslash(struct reader *r, unsigned position, struct word *word) {
	doubt(r, position == POSITION_ANSI && is_one_of(peek(r, 1), "'c"), "shells do not agree where this $'…' ends", "use '…' or \"…\"");
	if (peek(r, 1) == '\n') {
		skip_continuation(r);
		return;
	}
	if (word) {
		word->is_quoted = true;
	}
	++r->at;
	mark(r, READ_ESCAPED);
	if (!read_item(r, position | POSITION_ESCAPED, word)) {
		add_literal(r, word);
	}
}

// Reads '…', "…" or $'…', from the quote on.
static void read_quotes(struct reader *r, unsigned position, struct word *word) {
	char quote = r->text[r->at];
	struct scope saved = enter_quotes(r);
	if (word) {
		word->is_quoted = true;
	}
	++r->at;
	while (!at_end(r) && r->text[r->at] != quote) {
		if (!read_special(r, position, word) && !read_item(r, position, word)) {
			add_literal(r, word);
		}
	}
	expect(r, quote);
	leave(r, saved);
}

// ---- expansions ----

// Reads $( ) or <( ).
static void read_substitution(struct reader *r) {
	struct scope saved = enter(r);
	++r->substitutions;
	++r->at;
	skip_operator(r);
	read_list(r, ')');
	--r->substitutions;
	mark(r, READ_OPERATOR);
	expect(r, ')');
	leave(r, saved);
}

// Removes the quoting of the commands between the backticks at r->at and `end`: each backslash before $, ` or \ (in "…" also before ").
// Sets `inner` to the bytes of the commands, and `map` to the offsets of these bytes in the whole text. Returns the number of bytes.
static size_t unquote_backticks(struct reader *r, unsigned position, size_t end, char *inner, size_t *map) {
	size_t n = 0;
	for (size_t i = r->at + 1; i < end; ++i) {
		const char *next = r->text + i + 1;
		bool drops = r->text[i] == '\\' && is_one_of(*next, position == POSITION_DOUBLE ? "$`\\\"" : "$`\\");
		doubt(r, drops && next[0] == '\\' && next[1] == '\n', "backticks hold a \\ at the end of a line", "write $( ) instead of backticks");
		i += drops;
		map[n] = offset_of(r, i);
		inner[n++] = r->text[i];
	}
	map[n] = offset_of(r, end);
	return n;
}

// Reads the commands between backticks: POSIX XCU 2.6.3. The first backtick without a backslash ends them.
static void read_backticks(struct reader *r, unsigned position) {
	size_t end = r->at + 1;
	while (end < r->len && r->text[end] != '`') {
		end += r->text[end] == '\\' ? 2 : 1;
	}
	if (end >= r->len) {
		doubt(r, true, "a ` before the item is not closed", "close it with another `, or write $( )");
		r->at = r->len;
		return;
	}
	r->reading->is_intricate = true;
	bool has_quotes = memchr(r->text + r->at, '"', end - r->at);
	doubt(r, position == POSITION_DOCUMENT && has_quotes, "shells do not agree about quotes between backticks in a here-document", "write $( )");
	FP_CLEANUP(free_later) char *inner = xmalloc(end - r->at);
	FP_CLEANUP(free_later) size_t *map = xcalloc(end - r->at + 1, sizeof(*map));
	size_t n = unquote_backticks(r, position, end, inner, map);
	++r->at;
	struct scope saved = enter(r);
	struct reader outer = *r;
	r->text = inner;
	r->map = map;
	r->len = n;
	r->at = r->apart_at = 0;
	++r->backticks;
	mark(r, READ_OPERATOR);
	read_list(r, '\0');
	r->text = outer.text;
	r->map = outer.map;
	r->len = outer.len;
	r->at = end;
	--r->backticks;
	leave(r, saved);
	skip_operator(r);
}

// Reads the text behind the operator in ${x-…}. Inside "…" shells disagree about quotes in this text, unless the quotes hold nothing special.
static void read_operand(struct reader *r, unsigned position, bool is_quoted) {
	while (!at_end(r) && r->text[r->at] != '}') {
		char c = r->text[r->at];
		if ((c == '\'' || c == '"') && is_quoted) {
			size_t i = 1;
			while (r->at + i < r->len && !strchr("'\"}{\\`()", peek(r, i))) { // strchr() finds the NUL of an item, too
				++i;
			}
			doubt(r, peek(r, i) != c, "shells do not agree about quotes inside \"${…}\"", "put the item into a variable first");
			++r->at;
		} else if (!read_special(r, is_quoted && c != '\\' ? POSITION_DOUBLE : position, NULL) && !read_item(r, position, NULL)) {
			doubt(r, c == '{', "shells do not agree which } ends a ${…} with another { in it", "put the item into a variable first");
			++r->at;
		}
	}
}

// Reads ${…}.
static void read_parameter(struct reader *r, unsigned position) {
	struct scope saved = enter_quotes(r);
	bool is_quoted = position == POSITION_DOUBLE || position == POSITION_DOCUMENT;
	r->reading->is_intricate = true;
	r->at += 2;
	doubt(r, is_one_of(peek(r, 0), " \t\n|"), "some shells run the text in ${ } as a command", "write $( )");
	r->at += is_one_of(peek(r, 0), "#!") && text_is_name(peek(r, 1));
	if (skip_name(r) == 0 && is_one_of(peek(r, 0), "@*#?-$!")) {
		++r->at;
	}
	if (peek(r, 0) == '[') {
		note_bash(r, true, r->at, "${NAME[…]}");
		++r->at;
		read_arithmetic(r, "]");
	}
	bool has_colon = peek(r, 0) == ':';
	char op = peek(r, has_colon);
	r->at += has_colon;
	if (has_colon && !is_one_of(op, "-=?+")) {
		read_arithmetic(r, "}");
	} else {
		if (!is_one_of(op, "-=?+")) { // a name or a pattern follows, or a construct that only some shells have
			r->scope.ban = (struct reason){"shells do not agree about quotes in this kind of ${…}", "use a replacement string such as {.}"};
		}
		r->at += is_one_of(op, "-=?+#%/^,") && !at_end(r);
		read_operand(r, is_quoted ? position : POSITION_PLAIN, is_quoted);
		expect(r, '}');
	}
	leave(r, saved);
}

// Reads the expansion that begins with the $ at r->at, in a position of that kind.
static void read_dollar(struct reader *r, unsigned position, struct word *word) {
	bool is_quoted = position == POSITION_DOUBLE || position == POSITION_DOCUMENT;
	char c = peek(r, 1);
	if ((c == '(' && peek(r, 2) == '(') || c == '[') {
		struct scope saved = enter(r);
		r->at += c == '(' ? 3 : 2;
		bool is_closed = read_arithmetic(r, c == '(' ? "))" : "]") || c == '[';
		doubt(r, !is_closed, "$(( begins arithmetic in one shell and commands in another", "write $( ( with a blank");
		leave(r, saved);
	} else if (c == '(') {
		read_substitution(r);
	} else if (c == '{') {
		read_parameter(r, position);
	} else if (c == '\'' && !is_quoted) {
		note_bash(r, true, r->at, "$'…'"); // dash reads a $ and '…'
		r->reading->is_intricate = true;
		++r->at;
		read_quotes(r, POSITION_ANSI, word);
	} else if (text_is_name(c) || is_one_of(c, "@*#?-$!")) {
		++r->at;
		if ((c >= '0' && c <= '9') || skip_name(r) == 0) { // $10 is $1 and a zero
			++r->at;
		}
		const char *close = peek(r, 0) == '[' ? memchr(r->text + r->at, ']', r->len - r->at) : NULL;
		r->subscript_end = close ? offset_of(r, (size_t)(close - r->text)) : r->subscript_end;
		r->apart_at = peek(r, 0) == ':' ? r->at + 1 : r->at;
	} else {
		++r->at;
		if (r->at < r->len) {
			read_item(r, position | POSITION_DOLLAR, word);
		}
	}
}

// Reads a backslash, an expansion or a quote if it is special in a position of that kind. Returns false if the byte at r->at is not special.
static bool read_special(struct reader *r, unsigned position, struct word *word) {
	char c = position == POSITION_SINGLE || (position == POSITION_ANSI && r->text[r->at] != '\\') ? '\0' : r->text[r->at];
	if ((c == '$' || c == '`') && word) {
		word->is_open = true;
	}
	if (c == '\\') {
		read_backslash(r, position, word);
	} else if (c == '$') {
		read_dollar(r, position, word);
	} else if (c == '`') {
		read_backticks(r, position);
	} else if (position == POSITION_PLAIN && is_one_of(c, "'\"")) {
		read_quotes(r, c == '"' ? POSITION_DOUBLE : POSITION_SINGLE, word);
	} else {
		return false;
	}
	return true;
}

// ---- words ----

// True if a sequence {a..b} begins at r->at that has only names, numbers, signs and items.
static bool is_sequence(const struct reader *r) {
	size_t n = 1;
	while (text_is_name(peek(r, n)) || strchr("-.\1", peek(r, n))) { // strchr() finds the NUL of an item, too
		++n;
	}
	return n > 4 && peek(r, n) == '}' && memmem(r->text + r->at + 2, n - 3, "..", 2);
}

// Reads the group of x=(…), of @(…) in bash and ksh, or of *(…) in zsh: it holds words, but no commands.
static void read_group(struct reader *r, bool is_array) {
	struct scope saved = enter_quotes(r);
	++r->at;
	while (!at_end(r) && r->text[r->at] != ')') {
		char c = r->text[r->at];
		bool is_comment = c == '#' && (is_array || r->text[r->at - 1] == '(');
		doubt(r, is_comment, "shells do not agree whether this # begins a comment", "quote the #, or leave the comment out");
		if (c == '(') {
			read_group(r, is_array);
		} else if (is_comment || is_one_of(c, " \t\n;&|") || (is_one_of(c, "<>") && peek(r, 1) != '(')) {
			++r->at;
		} else {
			read_word(r, &(struct word){.in_array = is_array});
		}
	}
	expect(r, ')');
	leave(r, saved);
}

// Returns the length of the parentheses at r->at if they hold only blanks, as in the definition of a function; else 0.
static size_t empty_group(const struct reader *r) {
	size_t n = 1;
	while (is_one_of(peek(r, n), " \t")) {
		++n;
	}
	return peek(r, n) == ')' ? n + 1 : 0;
}

// Reads the next part of a word. Returns false at a byte that ends the word.
static bool read_part(struct reader *r, struct word *word) {
	char c = r->text[r->at], before = r->at > word->start ? r->text[r->at - 1] : '\0';
	if (peek(r, 1) == '(' && (is_one_of(c, "<>") || (c == '=' && before == '\0'))) { // <( ), and =( ) of zsh
		word->is_open = true;
		note_bash(r, c != '=', r->at, c == '<' ? "<(…)" : ">(…)");
		read_substitution(r);
		return true;
	}
	if (is_one_of(c, " \t\n;&|)<>") || (c == '(' && (before == '\0' || (empty_group(r) && !strchr("=?*+@!", before))))) {
		return false;
	}
	if (c == '(') {
		word->is_open = true;
		note_bash(r, word->is_assignment, r->at, "NAME=(…)");
		read_group(r, before == '=');
		return true;
	}
	if (c == '[' && (word->in_array ? before == '\0' : word->may_assign && !word->is_open && !word->is_quoted && is_assigned(word))) {
		++r->at;
		read_arithmetic(r, "]");
		note_bash(r, peek(r, 0) == '=' || (peek(r, 0) == '+' && peek(r, 1) == '='), r->at, "NAME[…]=");
		return true;
	}
	note_bash(r, c == '{' && is_sequence(r), r->at, "{a..b}");
	if (!read_special(r, POSITION_PLAIN, word) && !read_item(r, POSITION_PLAIN, word)) {
		add_literal(r, word);
	}
	return true;
}

// Reads a word, up to the blank or operator that ends it. The caller has set may_assign and in_array; read_word() sets the other members.
static void read_word(struct reader *r, struct word *word) {
	size_t outer = r->word;
	word->start = r->at;
	r->word = offset_of(r, r->at);
	while (!at_end(r) && read_part(r, word)) {
	}
	r->word = outer;
}

// ---- comments and here-documents ----

static void read_comment(struct reader *r) {
	for (; !at_end(r) && r->text[r->at] != '\n'; ++r->at) {
		doubt(r, r->substitutions > 0 && strchr("()'\"`", r->text[r->at]), // strchr() finds the NUL of an item, too
		      "shells do not agree where a $( ) ends if a comment in it has a quote or a parenthesis", "leave the comment out");
		if (read_item(r, POSITION_COMMENT, NULL)) {
			--r->at;
		}
	}
}

// Reads the delimiter behind <<, which may stand behind a backslash or in quotes, and notes the here-document.
static void read_delimiter(struct reader *r) {
	struct document document = {.strips_tabs = peek(r, 0) == '-'};
	r->at += document.strips_tabs;
	skip_blanks(r);
	char quote = is_one_of(peek(r, 0), "'\"\\") ? peek(r, 0) : '\0';
	const char *ends = quote == '\'' || quote == '"' ? "" : " \t;&|()<>";
	document.is_literal = quote != '\0';
	r->at += document.is_literal;
	while (document.len < NAME_LEN && peek(r, 0) > READ_NUMBER && !strchr("$`\\\n'\"", peek(r, 0)) && !strchr(ends, peek(r, 0))) {
		document.delimiter[document.len++] = r->text[r->at++];
	}
	r->at += *ends == '\0' && peek(r, 0) == quote;
	bool is_right = is_one_of(peek(r, 0), " \t\n;&|()<>") && (*ends != '\0' || r->text[r->at - 1] == quote);
	doubt(r, !is_right || r->ndocuments == DOCUMENTS_MAX - 1, "this delimiter of a here-document is not supported", "use a delimiter of letters");
	r->documents[r->ndocuments] = document;
	r->ndocuments += r->ndocuments < DOCUMENTS_MAX - 1;
}

// True if the line at `at` ends the document; then sets *ret_next to the start of the line behind it.
static bool is_delimiter(struct reader *r, const struct document *document, size_t at, size_t *ret_next) {
	while (document->strips_tabs && at < r->len && r->text[at] == '\t') {
		++at;
	}
	if (r->len - at < document->len || memcmp(r->text + at, document->delimiter, document->len) != 0) {
		return false;
	}
	at += document->len;
	doubt(r, at < r->len && r->text[at] == ')' && r->substitutions > 0, "shells do not agree whether this line ends the here-document",
	      "write the ) on the next line");
	*ret_next = at < r->len ? at + 1 : at;
	return at >= r->len || r->text[at] == '\n';
}

// Reads the lines of a here-document that expands nothing. A line with a byte that the delimiter lacks is not the delimiter, whatever its items are.
static void read_literal(struct reader *r, const struct document *document, size_t end) {
	for (bool is_start = true; r->at < end && !r->reading->refusal; is_start = peek(r, 0) == '\n', ++r->at) {
		const char *at = r->text + r->at;
		while (is_start && at < r->text + end && (strchr("\1\t", *at) || memchr(document->delimiter, *at, document->len))) {
			++at;
		}
		if (is_start) {
			bool may_end = at == r->text + end || *at == '\n';
			unsigned tabs = document->strips_tabs ? NEED_NO_TAB : 0, backslash = r->substitutions > 0 ? NEED_NO_BACKSLASH : 0;
			r->scope.needs = NEED_LINE | (may_end ? NEED_OTHER_LINE : 0) | tabs | backslash;
		}
		if (read_item(r, POSITION_LITERAL_DOCUMENT, NULL)) {
			memcpy(r->reading->items[r->next - 1].delimiter, document->delimiter, sizeof(document->delimiter));
			--r->at;
		}
	}
}

static void read_expanding(struct reader *r, size_t end) {
	++r->in_documents;
	while (r->at < end && !r->reading->refusal) {
		doubt(r, r->text[r->at] == '\\' && peek(r, 1) == '\n', "shells disagree about a line that ends with \\ in a here-document", "join the lines");
		if (!read_special(r, POSITION_DOCUMENT, NULL) && !read_item(r, POSITION_DOCUMENT, NULL)) {
			++r->at;
		}
	}
	--r->in_documents;
}

static void read_document(struct reader *r, const struct document *document) {
	size_t end = r->at, next = r->len, len = r->len;
	while (end < r->len && !is_delimiter(r, document, end, &next)) {
		const char *newline = memchr(r->text + end, '\n', r->len - end);
		end = newline ? (size_t)(newline - r->text) + 1 : r->len;
		next = end;
	}
	struct scope saved = enter(r);
	set_region(r, r->scope.region | 1);
	r->len = end;
	if (!document->is_literal) {
		read_expanding(r, end);
	} else {
		static const struct reason twice = {"text between backticks, and in a here-document within another, is read twice",
		                                    "write $( ) instead of backticks, and the inner delimiter without quotes"};
		r->scope.ban = r->map || r->in_documents > 0 ? twice : r->scope.ban;
		read_literal(r, document, end);
	}
	r->len = len;
	r->at = r->at > end ? r->at : next;
	leave(r, saved);
}

// ---- commands ----

static void read_redirection(struct reader *r) {
	struct scope saved = r->scope;
	const char *start = r->text + r->at;
	size_t n = 1;
	while (is_one_of(peek(r, n), "<>|") && peek(r, n + 1) != '(') {
		++n;
	}
	r->at += n;
	r->reading->is_intricate |= n > 1 && start[1] == '<';
	note_bash(r, *start == '&' || (*start == '<' && n == 3), r->at - n, *start == '&' ? "&>" : "<<<");
	if (n == 2 && memcmp(start, "<<", 2) == 0) {
		read_delimiter(r);
		return;
	}
	if (peek(r, 0) == '&' && *start != '&') {
		++r->at;
		r->scope.ban = (struct reason){"bash expands twice what stands behind >& and <&, so that an item could be code",
		                               *start == '>' ? "write >{} 2>&1" : "write <{}"};
	}
	skip_blanks(r);
	read_word(r, &(struct word){.may_assign = false});
	r->scope = saved;
}

static bool is_word(const struct word *word, const char *list) {
	return !word->is_quoted && !word->is_open && word_is_in(list, word->text, word->len);
}

// Forgets the words of a command: another command begins.
static void begin_command(struct shell_command *command) {
	*command = (struct shell_command){.ncases = command->ncases};
}

// Takes a word of [[ ]]. Both sides of -eq are arithmetic.
static void take_operand(struct reader *r, struct shell_command *command, const struct word *word) {
	command->is_arithmetic = !word->is_open && word_is_in("-eq -ne -lt -le -gt -ge", word->text, word->len);
	for (size_t i = r->next; command->is_arithmetic && i > 0 && r->reading->items[i - 1].at >= command->operand; --i) {
		struct read_item *item = &r->reading->items[i - 1];
		item->needs |= item->word == command->operand ? NEED_INTEGER : 0u; // else the item is in a $( ) of the operand
	}
	command->operand = offset_of(r, word->start);
	if (is_word(word, "]]")) {
		begin_command(command);
	}
}

// Takes a word where a command may begin. The word is not the name of the command if it is an assignment, the number or {NAME} in
// front of a redirection (XCU 2.10.1, IO_NUMBER), a keyword other than `for` and the like, or an option behind a keyword (time -p).
static void name_command(struct reader *r, struct shell_command *command, const struct word *word) {
	bool is_descriptor = word->text[0] == '{' ? word->text[word->len - 1] == '}' : strspn(word->text, "0123456789") == word->len;
	r->reading->is_intricate |= is_word(word, "case");
	command->ncases += is_word(word, "case");
	command->ncases -= is_word(word, "esac") && command->ncases > 0;
	if (word->is_assignment || word->text[0] == '-' || (is_descriptor && !word->is_quoted && !word->is_open && is_one_of(peek(r, 0), "<>")) ||
	    is_word(word, "! { } if then elif else fi while until do done in esac time always coproc function command builtin")) {
		return;
	}
	command->n = 1;
	memcpy(command->first, word->text, word->is_open ? 0 : word->len);
	command->is_arithmetic = strcmp(command->first, "let") == 0;
	command->in_condition = is_word(word, "[[");
	note_bash(r, command->in_condition, word->start, "[[");
}

static void read_command_word(struct reader *r, struct shell_command *command) {
	struct word word = {.may_assign = command->n == 0};
	struct scope saved = r->scope;
	r->quoted = command->in_condition ? POSITION_APART : command->n == 0 ? POSITION_QUOTED : 0;
	r->scope.needs |= command->is_arithmetic ? NEED_INTEGER : 0u;
	read_word(r, &word);
	r->quoted = 0;
	r->scope = saved;
	bool is_loop = word_is_in("for select foreach", command->first, strlen(command->first));
	bool is_in = command->n == 2 && strcmp(command->first, "case") == 0 && is_word(&word, "in");
	doubt(r, command->has_case && r->substitutions > 0 && is_word(&word, "in"), "case must be the first word here", "begin a command with case");
	command->has_case = command->has_case || (command->n > 0 && is_word(&word, "case"));
	if (r->at == word.start && !at_end(r)) {
		++r->at; // skips a byte that cannot begin a word
	} else if (command->in_condition) {
		take_operand(r, command, &word);
	} else if (command->n == 0) {
		name_command(r, command, &word);
	} else if (is_in || is_word(&word, "{") || (is_loop && is_word(&word, "do"))) { // { as in function x { … }
		begin_command(command);
	} else {
		++command->n;
	}
}

// Reads an open parenthesis where a word may begin.
static void read_open(struct reader *r, struct shell_command *command) {
	bool is_start = command->n == 0, is_for = command->n == 1 && strcmp(command->first, "for") == 0;
	struct scope saved = enter(r);
	if ((is_start || is_for) && peek(r, 1) == '(') {
		r->at += 2;
		doubt(r, !read_arithmetic(r, "))"), "(( begins arithmetic in one shell and commands in another", "write ( ( with a blank");
	} else if (!is_start && empty_group(r)) { // a function: name()
		r->at += empty_group(r);
	} else {
		skip_operator(r);
		doubt(r, peek(r, 0) == '#' && !is_start, "shells do not agree whether this # begins a comment", "quote the #, or leave the comment out");
		read_list(r, ')');
		mark(r, READ_OPERATOR);
		expect(r, ')');
	}
	begin_command(command);
	leave(r, saved);
}

// Reads one of ; & | ;; && || |&, a newline, or a ) that ends a pattern of case.
static void read_operator(struct reader *r, struct shell_command *command) {
	char c = r->text[r->at], next = peek(r, 1);
	doubt(r, c == ')' && command->ncases == 0, "nothing opens the ) before the item", "quote the )");
	doubt(r, c == ')' && r->substitutions > 0, "some shells end the $( ) at the ) of this case's pattern", "open the pattern, too: (PATTERN)");
	note_bash(r, c == '|' && next == '&', r->at, "|&");
	skip_operator(r);
	if ((c == '|' && next == '&') || (is_one_of(c, ";&|") && next == c)) {
		skip_operator(r);
	}
	begin_command(command);
	for (unsigned i = 0, n = r->ndocuments; c == '\n' && i < n; ++i) {
		doubt(r, n > 1 && r->in_documents > 0, "two here-documents within another one are not supported", "put the command into a script");
		struct document document = r->documents[i];
		r->ndocuments = 0;
		read_document(r, &document);
	}
}

// Reads a list of commands up to `end`, which is not read: ')', or '\0' for the end of the text.
static void read_list(struct reader *r, char end) {
	struct shell_command command = {.n = 0};
	while (skip_blanks(r), !at_end(r)) {
		char c = r->text[r->at], next = peek(r, 1);
		bool is_redirection = is_one_of(c, "<>") && next != '(';
		if (command.in_condition && (is_redirection || is_one_of(c, "()&|\n"))) {
			++r->at;
			command.is_arithmetic = false;
		} else if (c == ')' && end == ')' && command.ncases == 0) {
			break;
		} else if (c == '#') {
			read_comment(r);
		} else if (is_redirection || (c == '&' && next == '>')) {
			read_redirection(r);
		} else if (is_one_of(c, "\n;&|)")) {
			read_operator(r, &command);
		} else if (c == '(') {
			read_open(r, &command);
		} else {
			read_command_word(r, &command);
		}
	}
	doubt(r, r->ndocuments > 0 && (r->substitutions > 0 || r->backticks > 0), "a $( ) ends before its here-document", "write the ) after the document");
}

void reader_read(struct reading *reading) {
	struct reader r = {.reading = reading, .text = reading->text, .len = reading->len, .apart_at = SIZE_MAX};
	read_list(&r, '\0');
	set_region(&r, 0);
	if (r.next < reading->nitems) { // the reader has not come to this item
		doubt(&r, true, "the text before the item cannot be parsed", "put the command into a script");
		refuse(&r, reading->items[r.next].at, r.doubt);
	}
}

const char *shell_bash_syntax(const char *text, size_t len, size_t *ret_at) {
	struct reading reading = {.text = text, .len = len};
	reader_read(&reading);
	*ret_at = reading.bash_at;
	return reading.bash_syntax;
}
