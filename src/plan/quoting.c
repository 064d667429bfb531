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
	}
	quoting->in_word = region != PARENTHESES && region != BACKTICKS;
}

static void leave(struct quoting *quoting) {
	--quoting->depth;
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
	quoting->escaped = c == '\\' && !quoting->escaped;
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
	int backticks = depth_of(quoting, BACKTICKS);
	bool was_escaped = quoting->escaped;
	// inside backticks they are escapes even in single quotes (XCU 2.6.3)
	quoting->escaped = c == '\\' && !was_escaped && ((inside != SINGLE && inside != COMMENT) || backticks >= 0);
	if (quoting->escaped) {
		return;
	}
	if (was_escaped && inside != SINGLE && inside != COMMENT) {
		quoting->in_word = true;
		// "`… \" …`": the inner command sees the quote without its backslash (XCU 2.2.3)
		if (c != '"' || backticks < 0 || !in_double(quoting, (unsigned)backticks)) {
			return;
		}
	}
	if (c == '`' && !was_escaped && (backticks >= 0 || (inside != SINGLE && inside != ANSI && inside != COMMENT))) {
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

void quoting_follow(struct quoting *quoting, const char *text, size_t len) {
	for (size_t i = 0; i < len; ++i) {
		bool was_escaped = quoting->escaped;
		follow(quoting, text[i]);
		quoting->before = was_escaped ? 'x' : text[i];
	}
}

unsigned quoting_place(struct quoting *quoting) {
	unsigned place = PLACE_PLAIN;
	if (quoting->document == READING) {
		place = quoting->is_literal ? PLACE_LITERAL_DOCUMENT : PLACE_DOCUMENT;
		place |= quoting->escaped ? PLACE_ESCAPED : 0;
		quoting->is_other_line = true;
		quoting->escaped = false;
		return place;
	}
	switch (region(quoting)) {
	case SINGLE:
		place = PLACE_SINGLE;
		break;
	case ANSI:
		place = PLACE_ANSI;
		break;
	case DOUBLE:
		place = PLACE_DOUBLE;
		break;
	case BRACE:
		place = in_double(quoting, quoting->depth) ? PLACE_DOUBLE | PLACE_BRACE : PLACE_PLAIN;
		break;
	case COMMENT:
		place = PLACE_COMMENT;
		break;
	case COMMANDS:
	case PARENTHESES:
	case BACKTICKS:
		break;
	}
	place |= quoting->escaped ? PLACE_ESCAPED : 0;
	place |= depth_of(quoting, BACKTICKS) >= 0 ? PLACE_BACKTICKS : 0;
	quoting->escaped = false;
	quoting->in_word = true;
	quoting->before = 'x';
	return place;
}

// ---- spelling ----

// Puts a backslash before each byte of `special`.
static void add_escaped(struct buf *buf, const char *item, size_t len, const char *special) {
	char *out = buf_reserve(buf, 2 * len);
	const char *const start = out;
	for (size_t i = 0; i < len; ++i) {
		if (item[i] != '\0' && strchr(special, item[i])) {
			*out++ = '\\';
		}
		*out++ = item[i];
	}
	*out = '\0';
	buf->len += (size_t)(out - start);
}

// Inside single quotes, `quote` is how one of them is spelled.
static void add_single(struct buf *buf, const char *item, size_t len, const char *quote) {
	for (const char *end = item + len; item < end;) {
		const char *stop = memchr(item, '\'', (size_t)(end - item));
		buf_add(buf, item, (size_t)((stop ? stop : end) - item));
		if (!stop) {
			break;
		}
		buf_adds(buf, quote);
		item = stop + 1;
	}
}

static void add_lines(struct buf *buf, const char *item, size_t len, const char *newline) {
	for (size_t i = 0; i < len; ++i) {
		if (item[i] == '\n') {
			buf_adds(buf, newline);
		} else {
			buf_addc(buf, item[i]);
		}
	}
}

static void add_plain(struct buf *buf, unsigned place, const char *item, size_t len) {
	bool is_plain = shell_is_plain(item, len);
	if (place & PLACE_ESCAPED) {
		buf_addc(buf, '\n'); // the backslash and this vanish (XCU 2.2.1)
	}
	if ((is_plain && (place & PLACE_NUMBER)) || (!is_plain && (place & PLACE_BACKTICKS))) {
		buf_addc(buf, '\'');
		add_single(buf, item, len, "'\\''");
		buf_addc(buf, '\'');
	} else {
		shell_quote(buf, item, len);
	}
}

static void add_document(struct buf *buf, const char *item, size_t len) {
	struct buf escaped = BUF_INIT;
	add_escaped(&escaped, item, len, "\\$`");
	// ${-+} is nothing, and keeps a line of the item from being the delimiter
	add_lines(buf, buf_str(&escaped), escaped.len, "\n${-+}");
	buf_fini(&escaped);
}

// "${x:-{}}": in double quotes of its own, else bash takes single quotes and braces in the item for syntax; and bash
// 5.2 takes <( there for a process substitution even so.
static void add_brace(struct buf *buf, const char *item, size_t len) {
	buf_addc(buf, '"');
	for (size_t done = 0; done < len;) {
		size_t n = done;
		while (n < len && item[n] != '<' && item[n] != '>') {
			++n;
		}
		n += n < len;
		add_escaped(buf, item + done, n - done, "\\\"$`");
		buf_adds(buf, n < len ? "\"\"" : "");
		done = n;
	}
	buf_addc(buf, '"');
}

static void add_outside_backticks(struct buf *buf, unsigned place, const char *item, size_t len) {
	switch (place & PLACE_KINDS) {
	case PLACE_SINGLE:
		add_single(buf, item, len, place & PLACE_BACKTICKS ? "'\\''" : "'\"'\"'");
		return;
	case PLACE_ANSI:
		buf_adds(buf, place & PLACE_ESCAPED ? "\\'" : "'");
		shell_quote(buf, item, len);
		buf_adds(buf, "$'");
		return;
	case PLACE_DOUBLE:
		buf_adds(buf, place & PLACE_ESCAPED ? "\\" : "");
		if (place & PLACE_BRACE) {
			add_brace(buf, item, len);
		} else {
			add_escaped(buf, item, len, "\\\"$`");
		}
		return;
	case PLACE_DOCUMENT:
		buf_adds(buf, place & PLACE_ESCAPED ? "\\" : "");
		add_document(buf, item, len);
		return;
	case PLACE_LITERAL_DOCUMENT: // nothing can be escaped here, so nothing else keeps the delimiter away
	case PLACE_COMMENT:
		add_lines(buf, item, len, " ");
		return;
	default:
		add_plain(buf, place, item, len);
	}
}

void quoting_add(struct buf *buf, unsigned place, const char *item, size_t len) {
	if (place == PLACE_PLAIN) {
		shell_quote(buf, item, len);
		return;
	}
	if (!(place & PLACE_BACKTICKS)) {
		add_outside_backticks(buf, place, item, len);
		return;
	}
	// a command in backticks is read twice: first \\, \$ and \` lose their backslash (XCU 2.6.3)
	struct buf inner = BUF_INIT;
	add_outside_backticks(&inner, place, item, len);
	if ((place & PLACE_ESCAPED) && (place & PLACE_KINDS) != PLACE_PLAIN) {
		buf_addc(buf, '\\'); // the one before is then \\ to the first reading
	}
	add_escaped(buf, buf_str(&inner), inner.len, "\\$`");
	buf_fini(&inner);
}
