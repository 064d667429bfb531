// Where in shell text a replacement string stands, and how an item is spelled there so that it stays one.

#include "plan/quoting.h"

#include "base/alloc.h"
#include "plan/shell.h"

// What encloses a place. The outermost is a list of commands.
enum region { COMMANDS, PARENTHESES, BACKTICKS, SINGLE, ANSI, DOUBLE, BRACE, COMMENT };

static enum region region(const struct quoting *quoting) {
	return quoting->depth > 0 ? (enum region)quoting->stack[quoting->depth - 1] : COMMANDS;
}

static void enter(struct quoting *quoting, enum region region) {
	if (quoting->depth < QUOTING_DEPTH) {
		quoting->stack[quoting->depth++] = (unsigned char)region;
	} else {
		quoting->is_intricate = true; // from here on places are guesses
	}
	quoting->in_word = region != PARENTHESES && region != BACKTICKS;
}

static void leave(struct quoting *quoting) {
	quoting->depth -= quoting->depth > 0;
	quoting->in_word = true;
}

// The depth just outside the innermost region of that kind, or -1.
static int depth_of(const struct quoting *quoting, enum region region) {
	for (unsigned i = quoting->depth; i-- > 0;) {
		if (quoting->stack[i] == region) {
			return (int)i;
		}
	}
	return -1;
}

static bool in_double(const struct quoting *quoting, unsigned depth) {
	return depth > 0 && (quoting->stack[depth - 1] == DOUBLE ||
	                     (quoting->stack[depth - 1] == BRACE && in_double(quoting, depth - 1)));
}

// ---- here-documents ----

static bool in_arithmetic(const struct quoting *quoting) {
	unsigned n = quoting->depth;
	return n >= 2 && quoting->stack[n - 1] == PARENTHESES && quoting->stack[n - 2] == PARENTHESES;
}

static void announce_document(struct quoting *quoting) {
	quoting->document = DELIMITER;
	quoting->is_literal = quoting->strips_tabs = false;
	quoting->delimiter_quote = '\0';
	quoting->delimiter_len = 0;
}

// Collects the word behind <<. Returns false for what ends it.
static bool follow_delimiter(struct quoting *quoting, char c) {
	bool empty = quoting->delimiter_len == 0 && !quoting->is_literal;
	if (quoting->delimiter_quote != '\0' ? c == quoting->delimiter_quote : c == '\'' || c == '"') {
		quoting->delimiter_quote = quoting->delimiter_quote == '\0' ? c : '\0';
		quoting->is_literal = true;
	} else if (quoting->delimiter_quote == '\0' && c == '\\') {
		quoting->is_literal = true;
	} else if (quoting->delimiter_quote == '\0' && strchr(" \t\n;&|()<>", c)) {
		if (empty && (c == ' ' || c == '\t')) {
			return true;
		}
		quoting->document = empty ? NO_DOCUMENT : ANNOUNCED;
		return empty && c == '<'; // <<< is no here-document
	} else if (empty && c == '-' && quoting->before == '<') {
		quoting->strips_tabs = true;
	} else if (quoting->delimiter_len < sizeof(quoting->delimiter)) {
		quoting->delimiter[quoting->delimiter_len++] = c;
	}
	return true;
}

static void start_line(struct quoting *quoting) {
	quoting->matched = 0;
	quoting->is_other_line = false;
}

static void follow_document(struct quoting *quoting, char c) {
	quoting->escaped = c == '\\' && !quoting->escaped && !quoting->is_literal;
	if (c == '\n') {
		if (!quoting->is_other_line && quoting->matched == quoting->delimiter_len) {
			quoting->document = NO_DOCUMENT;
		}
		start_line(quoting);
	} else if (quoting->strips_tabs && c == '\t' && quoting->matched == 0) {
		return;
	} else if (quoting->matched < quoting->delimiter_len && quoting->delimiter[quoting->matched] == c) {
		++quoting->matched;
	} else {
		quoting->is_other_line = true;
	}
}

// ---- following ----

static void follow_backtick(struct quoting *quoting) {
	int outside = depth_of(quoting, BACKTICKS);
	if (outside >= 0) { // the first one that is not escaped is the end, whatever is open inside
		quoting->depth = (unsigned)outside;
		quoting->in_word = true;
	} else {
		enter(quoting, BACKTICKS);
	}
}

static void follow_double(struct quoting *quoting, char c) {
	if (c == '"') {
		leave(quoting);
	} else if (quoting->before == '$' && (c == '(' || c == '{')) {
		enter(quoting, c == '(' ? PARENTHESES : BRACE);
	}
}

static void follow_brace(struct quoting *quoting, char c) {
	bool is_quoted = in_double(quoting, quoting->depth);
	if (c == '}') {
		leave(quoting);
	} else if (c == '"') {
		enter(quoting, DOUBLE);
	} else if (c == '\'' && !is_quoted) {
		enter(quoting, SINGLE);
	} else if (quoting->before == '$' && (c == '(' || c == '{')) {
		enter(quoting, c == '(' ? PARENTHESES : BRACE);
	}
}

static void follow_commands(struct quoting *quoting, char c) {
	switch (c) {
	case '\'':
		enter(quoting, quoting->before == '$' ? ANSI : SINGLE);
		return;
	case '"':
		enter(quoting, DOUBLE);
		return;
	case '(':
		enter(quoting, PARENTHESES);
		return;
	case ')':
		if (region(quoting) == PARENTHESES) {
			leave(quoting);
		}
		quoting->in_word = false;
		return;
	case '{':
		if (quoting->before == '$') {
			enter(quoting, BRACE);
		}
		quoting->in_word = true;
		return;
	case '#':
		if (!quoting->in_word) {
			enter(quoting, COMMENT);
		}
		return;
	case '<':
		if (quoting->before == '<' && quoting->document == NO_DOCUMENT && !in_arithmetic(quoting)) {
			announce_document(quoting);
		}
		break;
	case '\n':
		if (quoting->document == ANNOUNCED) {
			quoting->document = READING;
			start_line(quoting);
		}
		break;
	}
	quoting->in_word = !strchr(" \t\n;&|<>", c);
}

static void follow(struct quoting *quoting, char c) {
	if (quoting->document == READING) {
		follow_document(quoting, c);
		return;
	}
	if (quoting->document == DELIMITER && follow_delimiter(quoting, c)) {
		return;
	}
	enum region inside = region(quoting);
	if (inside == COMMENT && c == '\n') {
		leave(quoting);
		inside = region(quoting);
	}
	bool was_escaped = quoting->escaped;
	quoting->escaped = c == '\\' && !was_escaped && inside != SINGLE && inside != COMMENT;
	if (quoting->escaped) {
		return;
	}
	if (was_escaped) {
		quoting->in_word = true;
		// "`… \" …`": the inner command sees the quote without its backslash (XCU 2.2.3)
		int backticks = depth_of(quoting, BACKTICKS);
		if (c != '"' || backticks < 0 || !in_double(quoting, (unsigned)backticks)) {
			return;
		}
	}
	if (c == '`' && inside != SINGLE && inside != ANSI && inside != COMMENT) {
		follow_backtick(quoting);
	} else if (inside == SINGLE || inside == ANSI) {
		if (c == '\'') {
			leave(quoting);
		}
	} else if (inside == DOUBLE) {
		follow_double(quoting, c);
	} else if (inside == BRACE) {
		follow_brace(quoting, c);
	} else if (inside != COMMENT) {
		follow_commands(quoting, c);
	}
}

// Text in which the rules above are not the whole truth.
static bool is_intricate(char before, char c) {
	return c == '`' || (before == '$' && (c == '{' || c == '\'')) || (before == '<' && c == '<');
}

void quoting_follow(struct quoting *quoting, const char *text, size_t len) {
	// the patterns of a case end with a parenthesis that nothing opened
	quoting->is_intricate = quoting->is_intricate || memmem(text, len, "esac", 4);
	for (size_t i = 0; i < len; ++i) {
		bool was_escaped = quoting->escaped;
		quoting->is_intricate = quoting->is_intricate || is_intricate(quoting->before, text[i]);
		follow(quoting, text[i]);
		quoting->before = was_escaped ? 'x' : text[i];
	}
}

unsigned quoting_place(struct quoting *quoting) {
	unsigned place = PLACE_PLAIN;
	place |= quoting->escaped ? PLACE_ESCAPED : 0;
	place |= quoting->before == '$' ? PLACE_DOLLAR : 0;
	place |= depth_of(quoting, BACKTICKS) >= 0 ? PLACE_BACKTICKS : 0;
	quoting->escaped = false;
	quoting->before = 'x';
	if (quoting->document == DELIMITER) { // nobody knows it: so the rest is taken for the here-document
		quoting->is_literal = false;
		quoting->delimiter_quote = '\0';
		quoting->delimiter_len = sizeof(quoting->delimiter);
		memset(quoting->delimiter, '\n', sizeof(quoting->delimiter));
		quoting->document = ANNOUNCED;
	}
	if (quoting->document == READING) {
		quoting->is_other_line = true;
		return place | (quoting->is_literal ? PLACE_LITERAL_DOCUMENT : PLACE_DOCUMENT);
	}
	quoting->in_word = true;
	switch (region(quoting)) {
	case SINGLE:
		return place | PLACE_SINGLE;
	case ANSI:
		return place | PLACE_ANSI;
	case DOUBLE:
		return place | PLACE_DOUBLE;
	case BRACE:
		return place | (in_double(quoting, quoting->depth) ? PLACE_DOUBLE : PLACE_PLAIN);
	case COMMENT:
		return place | PLACE_COMMENT;
	case COMMANDS:
	case PARENTHESES:
	case BACKTICKS:
		break;
	}
	return place;
}

// ---- spelling ----

bool quoting_needs_variable(unsigned place, const char *item, size_t len) {
	return (place & PLACE_VARIABLE) && (place & PLACE_KINDS) != PLACE_LITERAL_DOCUMENT && !shell_is_plain(item, len);
}

void quoting_add_assignment(struct buf *buf, unsigned n, const char *item, size_t len) {
	buf_printf(buf, "_item%u=", n);
	shell_quote(buf, item, len);
	buf_adds(buf, "; ");
}

// What keeps the backslash or the $ that stands before apart from what comes.
static const char *separation(unsigned place) {
	unsigned kind = place & PLACE_KINDS;
	if (place & PLACE_ESCAPED) {
		// in "…" a backslash that escapes nothing is one; elsewhere the two vanish as a continued line (XCU 2.2.1).
		// Inside backticks \\ is \ to the command (XCU 2.6.3)
		const char *one = place & PLACE_BACKTICKS ? "\\\\\\" : "\\";
		return kind == PLACE_DOUBLE || kind == PLACE_DOCUMENT || kind == PLACE_ANSI ? one : "\n";
	}
	if (place & PLACE_DOLLAR) {
		// $$, $(…) and $'…' must not come about; here-documents have no quotes, but an empty substitution
		return kind == PLACE_DOCUMENT ? "``" : kind == PLACE_PLAIN || kind == PLACE_DOUBLE ? "\"\"" : "";
	}
	return "";
}

void quoting_add_variable(struct buf *buf, unsigned place, unsigned n) {
	buf_adds(buf, separation(place));
	switch (place & PLACE_KINDS) {
	case PLACE_SINGLE:
		buf_printf(buf, "'\"${_item%u}\"'", n);
		return;
	case PLACE_ANSI:
		buf_printf(buf, "'\"${_item%u}\"$'", n);
		return;
	case PLACE_DOUBLE:
	case PLACE_DOCUMENT:
		buf_printf(buf, "${_item%u}", n);
		return;
	default:
		buf_printf(buf, "\"${_item%u}\"", n);
	}
}

// Puts a backslash before what means something inside double quotes (XCU 2.2.3).
static void add_double(struct buf *buf, const char *item, size_t len) {
	char *out = buf_reserve(buf, 2 * len);
	const char *const start = out;
	for (size_t i = 0; i < len; ++i) {
		if (item[i] == '"' || item[i] == '$' || item[i] == '`' || item[i] == '\\') {
			*out++ = '\\';
		}
		*out++ = item[i];
	}
	*out = '\0';
	buf->len += (size_t)(out - start);
}

static void add_single(struct buf *buf, const char *item, size_t len) {
	for (const char *end = item + len; item < end;) {
		const char *stop = memchr(item, '\'', (size_t)(end - item));
		buf_add(buf, item, (size_t)((stop ? stop : end) - item));
		if (!stop) {
			break;
		}
		buf_adds(buf, "'\"'\"'");
		item = stop + 1;
	}
}

// On one line.
static void add_line(struct buf *buf, const char *item, size_t len) {
	size_t start = buf->len;
	buf_add(buf, item, len);
	for (size_t i = start; i < buf->len; ++i) {
		buf->data[i] = buf->data[i] == '\n' ? ' ' : buf->data[i];
	}
}

static void add_special(struct buf *buf, unsigned place, const char *item, size_t len) {
	buf_adds(buf, separation(place));
	switch (place & PLACE_KINDS) {
	case PLACE_SINGLE:
		add_single(buf, item, len);
		return;
	case PLACE_DOUBLE:
		add_double(buf, item, len);
		return;
	case PLACE_COMMENT:
	case PLACE_LITERAL_DOCUMENT: // nothing can be escaped here, so nothing else keeps the delimiter away
		add_line(buf, item, len);
		return;
	default:
		shell_quote(buf, item, len);
	}
}

void quoting_add(struct buf *buf, unsigned place, const char *item, size_t len) {
	if (place == PLACE_PLAIN) {
		shell_quote(buf, item, len);
	} else if (!shell_is_plain(item, len)) {
		add_special(buf, place, item, len);
	} else if ((place & (PLACE_NUMBER | PLACE_ESCAPED | PLACE_DOLLAR)) == PLACE_NUMBER) {
		buf_addc(buf, '\'');
		buf_add(buf, item, len);
		buf_addc(buf, '\'');
	} else {
		bool would_escape = (place & PLACE_KINDS) == PLACE_ANSI; // $'\n'
		buf_adds(buf, would_escape ? separation(place) : "");
		buf_add(buf, item, len);
	}
}
