// Spells words and items in shell text so that a shell reads exactly their bytes, and splits a text into words without a shell.

#include "shell/quoting.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

#include <string.h>

// ---- a whole word ----

__extension__ static const bool plain[256] = {
	['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true,
	['-'] = true, ['_'] = true, ['.'] = true, ['+'] = true, ['/'] = true,
};

bool shell_is_plain(const char *word, size_t len) {
	size_t i = 0;
	while (i < len && plain[(unsigned char)word[i]]) {
		++i;
	}
	return len > 0 && i == len;
}

// Appends the item for a place between single quotes. A single quote in the item is put between double quotes: it'"'"'s
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

void shell_quote(struct buf *buf, const char *word, size_t len) {
	if (shell_is_plain(word, len)) {
		buf_add(buf, word, len);
		return;
	}
	// GNU parallel writes no '' at the ends of a word that begins or ends with a single quote
	size_t start = buf->len;
	buf_addc(buf, '\'');
	add_single(buf, word, len);
	buf_addc(buf, '\'');
	if (len > 0 && word[len - 1] == '\'') {
		buf->len -= 2;
	}
	if (len > 0 && word[0] == '\'') {
		buf->len -= 2;
		memmove(buf->data + start, buf->data + start + 2, buf->len - start);
	}
	buf->data[buf->len] = '\0';
}

void shell_quote_words(struct buf *buf, const char *words, size_t size) {
	const char *end = words + size;
	char *out = buf_reserve(buf, size);
	for (const char *word = words; word < end;) {
		const char *at = word;
		char *start = out;
		while (plain[(unsigned char)*at]) { // a plain word, as most are, is looked at only once
			*out++ = *at++;
		}
		if (*at != '\0' || at == word) {
			buf->len = (size_t)(start - buf->data);
			at = word + strlen(word);
			shell_quote(buf, word, (size_t)(at - word));
			out = buf_reserve(buf, (size_t)(end - at));
		}
		word = at + 1;
		if (word < end) {
			*out++ = ' ';
		}
	}
	*out = '\0';
	buf->len = (size_t)(out - buf->data);
}

bool shell_splits(const char *word) {
	size_t digits = strspn(word, "0123456789"), braces = word[0] == '{' ? strcspn(word, "} \t\n") : 0;
	const char *start = word + (braces > 0 && word[braces] == '}' ? braces + 1 : digits);
	start += braces > 0 ? strspn(start, " \t\n") : 0;
	if (strchr(braces > 0 || digits == 0 ? "|&;<>" : "<>", *start) || strstr(word, "$(") || strchr(word, '`')) {
		return false;
	}
	char quote = '\0';
	for (const char *at = word; *at != '\0'; ++at) {
		if (*at == '\\' && quote != '\'' && at[1] != '\0') {
			++at;
		} else if (quote != '\0' ? *at == quote && at[1] != '\0' : strchr(" \t\n|&;<>()", *at) || (strchr("'\"", *at) && at > word)) {
			return true;
		} else if (quote != '\0' ? *at == quote : *at == '\'' || *at == '"') {
			quote = quote == '\0' ? *at : '\0';
		}
	}
	return quote != '\0';
}

// ---- an item in its position ----

bool quoting_needs_variable(unsigned position, const char *item, size_t len) {
	unsigned kind = position & POSITION_KINDS;
	// in a here-document even a plain item could be the delimiter
	bool is_apart = kind == POSITION_DOCUMENT || ((position & POSITION_APART) && kind == POSITION_DOUBLE);
	return is_apart || ((position & POSITION_VARIABLE) && kind != POSITION_LITERAL_DOCUMENT && !shell_is_plain(item, len));
}

void quoting_add_assignment(struct buf *buf, unsigned n, const char *item, size_t len) {
	buf_printf(buf, "_item%u=", n);
	bool is_half = false; // the last two bytes are half of a GB18030 character: bash would take a quote behind them for a part of it
	size_t from = 0;
	for (size_t i = 1; i < len; ++i) {
		bool is_pair = (item[i - 1] & 0x80) && item[i] >= '0' && item[i] <= '9';
		is_half = is_pair ? !is_half : is_half && (item[i] & 0x80);
		if (is_pair && is_half && (i + 1 == len || item[i + 1] == '\'')) {
			shell_quote(buf, item + from, i - from);
			from = i;
		}
	}
	shell_quote(buf, item + from, len - from);
	buf_adds(buf, "; ");
}

// Returns the text that keeps a backslash or a $ in front of an item from acting on the item.
static const char *separation(unsigned position) {
	unsigned kind = position & POSITION_KINDS;
	if (position & POSITION_ESCAPED) {
		// inside "…" adds a second backslash, because a shell reads two as one; elsewhere a newline, because a shell drops both as a continued line
		// (XCU 2.2.1). Inside backticks a shell turns \\ into \ before it reads the command (XCU 2.6.3), so three are added there
		const char *one = position & POSITION_BACKTICKS ? "\\\\\\" : "\\";
		return kind == POSITION_DOUBLE || kind == POSITION_DOCUMENT || kind == POSITION_ANSI ? one : "\n";
	}
	if (position & POSITION_DOLLAR) {
		// the $ and the item must not make $$, $(…) or $'…': empty quotes separate them, or, as a here-document has no quotes, an empty ``
		return kind == POSITION_DOCUMENT ? "``" : kind == POSITION_PLAIN || kind == POSITION_DOUBLE ? "\"\"" : "";
	}
	return "";
}

void quoting_add_variable(struct buf *buf, unsigned position, unsigned n) {
	unsigned kind = position & POSITION_KINDS;
	bool is_within = kind == POSITION_DOUBLE || kind == POSITION_DOCUMENT; // the expansion needs no quotes of its own
	const char *quote = kind == POSITION_SINGLE || kind == POSITION_ANSI ? "'" : "", *dollar = kind == POSITION_ANSI ? "$" : "";
	const char *own = is_within ? "" : "\"";
	buf_printf(buf, "%s%s%s${_item%u}%s%s%s", separation(position), quote, own, n, own, dollar, quote);
}

// Appends the item with a backslash before each byte that is special inside double quotes (XCU 2.2.3).
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

// Appends the item on one line: newlines become blanks.
static void add_line(struct buf *buf, const char *item, size_t len) {
	size_t start = buf->len;
	buf_add(buf, item, len);
	for (size_t i = start; i < buf->len; ++i) {
		buf->data[i] = buf->data[i] == '\n' ? ' ' : buf->data[i];
	}
}

static void add_special(struct buf *buf, unsigned position, const char *item, size_t len) {
	buf_adds(buf, separation(position));
	switch (position & POSITION_KINDS) {
	case POSITION_SINGLE:
		add_single(buf, item, len);
		return;
	case POSITION_DOUBLE:
		add_double(buf, item, len);
		return;
	case POSITION_COMMENT:
	case POSITION_LITERAL_DOCUMENT: // nothing can be escaped: a newline in the item would end the comment, or begin a line that may be the delimiter
		add_line(buf, item, len);
		return;
	default:
		shell_quote(buf, item, len);
	}
}

// Words that at least one shell reserves: POSIX XCU 2.4, and the manuals of bash, zsh and ksh93.
static const char RESERVED[] = "case coproc do done elif else end esac fi for foreach function if in namespace nocorrect "
                               "repeat select then time until while";

void quoting_add(struct buf *buf, unsigned position, const char *item, size_t len) {
	if (position == POSITION_PLAIN) {
		shell_quote(buf, item, len);
	} else if (!shell_is_plain(item, len)) {
		add_special(buf, position, item, len);
	} else if (((position & POSITION_APART) || ((position & POSITION_QUOTED) && word_is_in(RESERVED, item, len))) &&
	           !(position & (POSITION_ESCAPED | POSITION_DOLLAR))) {
		buf_addc(buf, '\'');
		buf_add(buf, item, len);
		buf_addc(buf, '\'');
	} else {
		bool would_escape = (position & POSITION_KINDS) == POSITION_ANSI; // an item that is the letter n would become a newline behind the backslash: $'\n'
		buf_adds(buf, would_escape ? separation(position) : "");
		buf_add(buf, item, len);
	}
}

// ---- without a shell ----

// Returns the length of the beginning of an expansion at `at` (which shells do in double quotes, too): $NAME ${ $( $? or `; else 0.
static size_t expansion_length(const char *at) {
	if (*at == '`') {
		return 1;
	}
	if (*at != '$' || at[1] == '\0') {
		return 0;
	}
	size_t len = 1;
	while (text_is_name(at[len])) {
		++len;
	}
	return len > 1 ? len : strchr("{(@*#?!$", at[1]) ? 2 : 0;
}

// Returns the length of the shell operator, pattern character or expansion at `at`, which is not quoted; or 0. A single & within a
// word, ? and [ are not counted, because they are common in URLs.
static size_t syntax_length(const char *at) {
	bool is_double = at[1] == at[0];
	switch (*at) {
	case '|':
	case '<':
	case '>':
		return is_double ? 2 : 1;
	case ';':
	case '*':
		return 1;
	case '&':
		return is_double ? 2 : at[1] == '\0' || at[1] == ' ' || at[1] == '\n' ? 1 : 0;
	default:
		return expansion_length(at);
	}
}

// Returns the byte that the backslash at *at stands for inside the quotes `quote`: itself; or the next byte (NUL at the end), to which *at moves.
static char unescape(const char **at, char quote) {
	char next = (*at)[1];
	// in double quotes a backslash quotes only these bytes, and else stays (POSIX XCU 2.2.3)
	if (quote == '"' && (next == '\0' || !strchr("$`\"\\", next))) {
		return '\\';
	}
	++*at;
	return next;
}

int words_split(const char *text, struct buf *words, struct split *ret_split) {
	size_t before = words->len;
	const char *at = text;
	bool in_word = false;
	char quote = '\0', c;
	*ret_split = (struct split){.n = 0};
	for (; (c = *at) != '\0'; ++at) {
		bool is_quote = c == quote || (!quote && (c == '\'' || c == '"'));
		bool is_blank = !quote && (c == ' ' || c == '\t' || c == '\n');
		size_t len = quote == '\'' || ret_split->syntax ? 0 : quote ? expansion_length(at) : syntax_length(at);
		if (len > 0) {
			ret_split->syntax = at;
			ret_split->syntax_len = len;
		}
		if (c == '\\' && quote != '\'' && at[1] == '\n') { // backslash and newline vanish: the next line continues this one
			++at;
			continue;
		}
		if (c == '\\' && quote != '\'' && (c = unescape(&at, quote)) == '\0') {
			ret_split->error = "there is nothing behind the backslash at its end";
			break;
		}
		if (is_blank && in_word) {
			buf_addc(words, '\0');
			++ret_split->n;
		} else if (!is_blank && !is_quote) {
			buf_addc(words, c);
		}
		in_word = !is_blank;
		quote = !is_quote ? quote : quote ? '\0' : c;
	}
	if (in_word) {
		buf_addc(words, '\0');
		++ret_split->n;
	}
	if (quote) {
		ret_split->error = quote == '"' ? "a \" is not closed" : "a ' is not closed";
	} else if (ret_split->n == 0 && !ret_split->error) {
		ret_split->error = "there is no word";
	}
	if (ret_split->error && words->data) {
		words->len = before;
		words->data[before] = '\0';
	}
	return ret_split->error ? -1 : 0;
}
