// Splits a command text into words for execution without a shell.

#include "shell/split.h"

#include "base/alloc.h"
#include "base/text.h"

struct scanner {
	const char *at;
	char quote;            // that it is inside of: ', " or 0
};

enum split_token {
	TOKEN_BLANK,
	TOKEN_BYTE,            // may mean something to a shell
	TOKEN_DOUBLE_BYTE,     // only to its expansions: inside "…"
	TOKEN_PLAIN_BYTE,      // quoted
	TOKEN_QUOTE,           // begins or ends a quote: there is a word, if only an empty one
	TOKEN_NOTHING,         // a line that goes on in the next
	TOKEN_END,
	TOKEN_ERROR,
};

static enum split_token scan_backslash(struct scanner *scanner, char *ret_byte) {
	char next = *scanner->at;
	if (next == '\n') {
		++scanner->at;
		return TOKEN_NOTHING;
	}
	// in double quotes it quotes only these, and else stays (POSIX XCU 2.2.3)
	if (scanner->quote == '"' && (next == '\0' || !strchr("$`\"\\", next))) {
		*ret_byte = '\\';
		return TOKEN_PLAIN_BYTE;
	}
	if (next == '\0') {
		return TOKEN_ERROR;
	}
	*ret_byte = next;
	++scanner->at;
	return TOKEN_PLAIN_BYTE;
}

static enum split_token scan(struct scanner *scanner, char *ret_byte) {
	char c = *scanner->at;
	if (c == '\0') {
		return scanner->quote ? TOKEN_ERROR : TOKEN_END;
	}
	++scanner->at;
	if (c == scanner->quote || (!scanner->quote && (c == '\'' || c == '"'))) {
		scanner->quote = scanner->quote ? '\0' : c;
		return TOKEN_QUOTE;
	}
	if (c == '\\' && scanner->quote != '\'') {
		return scan_backslash(scanner, ret_byte);
	}
	if (!scanner->quote && (c == ' ' || c == '\t' || c == '\n')) {
		return TOKEN_BLANK;
	}
	*ret_byte = c;
	return !scanner->quote ? TOKEN_BYTE : scanner->quote == '"' ? TOKEN_DOUBLE_BYTE : TOKEN_PLAIN_BYTE;
}

int words_split(const char *text, struct buf *words, size_t *ret_n, const char **ret_error) {
	struct scanner scanner = {text, '\0'};
	size_t before = words->len, n = 0;
	enum split_token token;
	bool in_word = false;
	char byte;
	do {
		token = scan(&scanner, &byte);
		bool is_byte = token == TOKEN_BYTE || token == TOKEN_DOUBLE_BYTE || token == TOKEN_PLAIN_BYTE;
		if (is_byte) {
			buf_addc(words, byte);
		}
		in_word = in_word || is_byte || token == TOKEN_QUOTE;
		if (in_word && (token == TOKEN_BLANK || token == TOKEN_END)) {
			buf_addc(words, '\0');
			++n;
			in_word = false;
		}
	} while (token != TOKEN_END && token != TOKEN_ERROR);
	if (token == TOKEN_END && n > 0) {
		*ret_n = n;
		return 0;
	}
	words->len = before;
	if (words->data) {
		words->data[before] = '\0';
	}
	*ret_error = token == TOKEN_END   ? "there is no word"
	             : scanner.quote == '"'  ? "a \" is not closed"
	             : scanner.quote == '\'' ? "a ' is not closed"
	                                     : "there is nothing behind the backslash at its end";
	return -1;
}

// ---- what is meant for a shell ----

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

bool words_find_syntax(const char *text, const char **ret_at, size_t *ret_len) {
	struct scanner scanner = {text, '\0'};
	enum split_token token;
	do {
		const char *at = scanner.at;
		char byte;
		token = scan(&scanner, &byte);
		size_t len = token == TOKEN_BYTE ? syntax_length(at) : token == TOKEN_DOUBLE_BYTE ? expansion_length(at) : 0;
		if (len > 0) {
			*ret_at = at;
			*ret_len = len;
			return true;
		}
	} while (token != TOKEN_END && token != TOKEN_ERROR);
	return false;
}
