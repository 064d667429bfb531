// Splits a command text into words for execution without a shell.

#include "shell/split.h"

#include "base/alloc.h"
#include "base/text.h"

// Returns the length of the beginning of an expansion that shells also do within double quotes: $NAME ${ $( $? and `; or 0.
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

// The byte that the backslash at `at` stands for inside of that quote: itself, or the next one, where *at moves to; NUL if there is none.
static char unescape(const char **at, char quote) {
	char next = (*at)[1];
	// in double quotes it quotes only these, and else stays (POSIX XCU 2.2.3)
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
		if (c == '\\' && quote != '\'' && at[1] == '\n') { // a line that goes on in the next
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
