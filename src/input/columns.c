// Splits a record into columns: --colsep, --csv and --trim.

#include "input/columns.h"

#include "base/alloc.h"
#include "base/text.h"

#include <ctype.h>

// ---- Perl's expressions as POSIX has them ----

// The POSIX expression for the class \LETTER of Perl, outside of brackets and inside.
static const struct { char letter; const char *outside, *inside; } CLASSES[] = {
	{'t', "\t", "\t"}, {'n', "\n", "\n"}, {'r', "\r", "\r"}, {'f', "\f", "\f"}, {'v', "\v", "\v"}, {'a', "\a", "\a"},
	{'e', "\033", "\033"},
	{'s', "[[:space:]]", "[:space:]"}, {'d', "[0-9]", "0-9"}, {'w', "[[:alnum:]_]", "[:alnum:]_"},
	{'S', "[^[:space:]]", NULL}, {'D', "[^0-9]", NULL}, {'W', "[^[:alnum:]_]", NULL},
	{'h', "[[:blank:]]", "[:blank:]"},
};

enum { MOST_GROUPS = 1000 }; // the most groups of an expression

static bool is_special(char c) {
	return c != '\0' && strchr("\\.[()*+?{|^$", c);
}

// Appends a byte that is to stand for itself. Outside of brackets a special character is escaped.
static void add_byte(struct buf *out, unsigned long byte, bool inside) {
	if (!inside && is_special((char)byte)) {
		buf_addc(out, '\\');
	}
	buf_addc(out, (char)byte);
}

// Translates the escape that starts at `at` (a backslash). Returns the place behind the escape, or NULL with the cause in `error`.
static const char *translate_escape(const char *at, bool inside, struct buf *out, struct buf *error) {
	char c = at[1];
	for (size_t i = 0; i < sizeof(CLASSES) / sizeof(CLASSES[0]); ++i) {
		const char *text = inside ? CLASSES[i].inside : CLASSES[i].outside;
		if (CLASSES[i].letter == c && text) {
			buf_adds(out, text);
			return at + 2;
		}
	}
	if (c == 'x' && isxdigit((unsigned char)at[2]) && isxdigit((unsigned char)at[3])) {
		char digits[] = {at[2], at[3], '\0'};
		unsigned long byte = strtoul(digits, NULL, 16);
		if (byte != 0) {
			add_byte(out, byte, inside);
			return at + 4;
		}
	}
	if (c == '\0' || isalnum((unsigned char)c)) {
		buf_printf(error, "\\%.1s is not supported", at + 1);
		return NULL;
	}
	add_byte(out, (unsigned char)c, inside);
	return at + 2;
}

// Translates the bracket expression at `at`; returns as translate_escape(). Inside brackets, a backslash is an escape in Perl but a
// character in POSIX (XBD 9.3.5): so an escaped `]`, `^` or `-` is moved to where POSIX takes it as a character.
static const char *translate_bracket(const char *at, struct buf *out, struct buf *error) {
	FP_CLEANUP(buf_fini) struct buf set = BUF_INIT;
	bool closing = false, dash = false, caret = false;
	bool negated = *++at == '^';
	at += negated;
	for (bool first = true; *at != '\0' && (*at != ']' || first); first = false) {
		const char *named = at[0] == '[' && at[1] == ':' ? strstr(at, ":]") : NULL;
		if (named) {
			buf_add(&set, at, (size_t)(named + 2 - at));
			at = named + 2;
		} else if (*at == ']' || (*at == '\\' && at[1] == ']')) {
			closing = true;
			at += *at == '\\' ? 2 : 1;
		} else if (*at == '\\' && (at[1] == '-' || at[1] == '^')) {
			*(at[1] == '-' ? &dash : &caret) = true;
			at += 2;
		} else if (*at == '\\') {
			at = translate_escape(at, true, &set, error);
			if (!at) {
				return NULL;
			}
		} else {
			buf_addc(&set, *at++);
		}
	}
	if (caret && set.len == 0 && !closing && !negated) { // POSIX has no set of ^ alone
		buf_adds(out, dash ? "[-^]" : "\\^");
	} else {
		buf_printf(out, "[%s%s%s%s%s]", negated ? "^" : "", closing ? "]" : "", buf_str(&set), caret ? "^" : "",
		           dash ? "-" : "");
	}
	if (*at == '\0') {
		buf_adds(error, "[ without ]");
		return NULL;
	}
	return at + 1;
}

int perl_translate(const char *at, struct buf *out, struct buf *error) {
	while (*at != '\0') {
		if (*at == '\\') {
			at = translate_escape(at, false, out, error);
		} else if (*at == '[') {
			at = translate_bracket(at, out, error);
		} else if (strncmp(at, "(?:", 3) == 0) {
			buf_addc(out, '(');
			at += 3;
		} else if (strchr("*+?}", *at) && (at[1] == '?' || at[1] == '+')) {
			buf_printf(error, "%.2s is not supported", at);
			return -1;
		} else if (strncmp(at, "(?", 2) == 0) {
			buf_adds(error, "(? is not supported");
			return -1;
		} else {
			buf_addc(out, *at++);
		}
		if (!at) {
			return -1;
		}
	}
	return 0;
}

int regex_compile(regex_t *regex, const char *expression, int flags, struct buf *error) {
	size_t groups = 0;
	for (const char *at = expression; (at = strchr(at, '(')); ++at) {
		++groups;
	}
	if (groups > MOST_GROUPS) { // glibc recurses for each nested group, and would run out of stack
		buf_printf(error, "more than %d parentheses", MOST_GROUPS);
		return -1;
	}
	int code = regcomp(regex, expression, REG_EXTENDED | flags);
	if (code != 0) {
		char *end = buf_reserve(error, 200);
		regerror(code, regex, end, 200);
		error->len += strlen(end);
		return -1;
	}
	return 0;
}

char *colsep_translate(const char *perl, char **ret_error) {
	FP_CLEANUP(buf_fini) struct buf out = BUF_INIT, cause = BUF_INIT;
	regex_t regex;
	if (perl_translate(perl, &out, &cause) == 0 && regex_compile(&regex, buf_str(&out), 0, &cause) == 0) {
		regfree(&regex);
		return buf_take(&out);
	}
	error_text(ret_error, "cannot use '%s' as a column separator: %s", text_shows(perl), buf_str(&cause));
	return NULL;
}

// ---- the splitter ----

int splitter_init(struct splitter *splitter, const char *colsep, enum input_trim trim, struct buf *error) {
	*splitter = (struct splitter){.kind = SPLIT_NOT, .trim = trim};
	if (!colsep) {
		return 0;
	}
	const char *byte = colsep + (colsep[0] == '\\' && is_special(colsep[1]));
	if (byte[0] != '\0' && byte[1] == '\0' && (byte > colsep || !is_special(*byte))) {
		splitter->kind = SPLIT_BYTE;
		splitter->byte = *byte;
		return 0;
	}
	splitter->kind = SPLIT_REGEX;
	if (regex_compile(&splitter->regex, colsep, 0, error) != 0) {
		splitter->kind = SPLIT_NOT;
		return -1;
	}
	return 0;
}

void splitter_fini(struct splitter *splitter) {
	if (splitter->kind == SPLIT_REGEX) {
		regfree(&splitter->regex);
	}
	splitter->kind = SPLIT_NOT;
}

// Removes blanks at the ends of the text: the bytes of Perl's \s (perlrecharclass).
static void trim(enum input_trim how, const char **text, size_t *len) {
	while (how != TRIM_RIGHT && *len > 0 && text_is_space((*text)[0])) {
		++*text;
		--*len;
	}
	while (how != TRIM_LEFT && *len > 0 && text_is_space((*text)[*len - 1])) {
		--*len;
	}
}

// Writes one argument, trimmed, and a NUL to `out`, which may be at or before `text` in the same memory. Returns the place behind the NUL.
static char *put(enum input_trim how, char *out, const char *text, size_t len) {
	if (how != TRIM_NONE) {
		trim(how, &text, &len);
	}
	if (out != text) {
		memmove(out, text, len);
	}
	out[len] = '\0';
	return out + len + 1;
}

// Splits as Perl's split(/…/, $line, -1): an empty match separates characters, and never makes an empty first column.
static struct record split_regex(const struct splitter *splitter, const char *text, size_t len, struct buf *scratch) {
	uint32_t n = 1;
	const char *column = text, *end = text + len;
	for (const char *from = text; column < end && from <= end;) {
		regmatch_t match;
		if (regexec(&splitter->regex, from, 1, &match, from > text ? REG_NOTBOL : 0) != 0) {
			break;
		}
		const char *start = from + match.rm_so, *stop = from + match.rm_eo;
		if (stop == column) {
			++from;
			continue;
		}
		size_t size = (size_t)(start - column);
		char *out = buf_reserve(scratch, size + 1);
		scratch->len += (size_t)(put(splitter->trim, out, column, size) - out);
		++n;
		column = from = stop;
	}
	char *out = buf_reserve(scratch, (size_t)(end - column) + 1);
	scratch->len += (size_t)(put(splitter->trim, out, column, (size_t)(end - column)) - out);
	return (struct record){.args = scratch->data, .size = scratch->len, .nargs = n};
}

struct record splitter_split(const struct splitter *splitter, char *text, size_t len, bool may_change,
                             struct buf *scratch) {
	if (splitter->kind == SPLIT_NOT && splitter->trim == TRIM_NONE) {
		return (struct record){.args = text, .size = len + 1, .nargs = 1};
	}
	buf_reset(scratch);
	if (splitter->kind == SPLIT_REGEX && len > 0) {
		return split_regex(splitter, text, len, scratch);
	}
	if (!may_change) {
		buf_add(scratch, text, len);
		text = scratch->data;
	}
	const char *end = text + len, *next = text, *stop = NULL;
	char *out = text;
	uint32_t n = 0;
	for (; stop != end; ++n) {
		const char *at = next;
		stop = splitter->kind == SPLIT_BYTE ? memchr(at, splitter->byte, (size_t)(end - at)) : NULL;
		stop = stop ? stop : end;
		out = put(splitter->trim, out, at, (size_t)(stop - at));
		next = stop + 1;
	}
	return (struct record){.args = text, .size = (size_t)(out - text), .nargs = n};
}

// ---- comma-separated values ----

bool csv_is_open(const char *text, size_t len, char separator, bool inside) {
	const char *end = text + len;
	while (text < end) {
		const char *stop;
		if (inside || *text == '"') {
			stop = memchr(text + !inside, '"', (size_t)(end - text - !inside));
			if (!stop) {
				return true;
			}
			text = stop + 1;
			inside = text < end && *text == '"'; // the quote is doubled: the field goes on
			text += inside;
			if (inside) {
				continue;
			}
		}
		stop = memchr(text, separator, (size_t)(end - text)); // in a field that does not begin with a quote, a quote is a byte like any other
		text = stop ? stop + 1 : end;
	}
	return inside;
}

// Appends a quoted field, which begins at `at`. Returns the separator behind the field, or `end`; or NULL with the reason in *ret_bad.
static const char *add_quoted(const char *at, const char *end, char separator, struct buf *out, const char **ret_bad) {
	for (++at;; ++at) {
		const char *quote = memchr(at, '"', (size_t)(end - at));
		if (!quote) {
			*ret_bad = "a quote in the CSV record is not closed";
			return NULL;
		}
		buf_add(out, at, (size_t)(quote - at));
		at = quote + 1;
		if (at == end || *at == separator) {
			return at;
		}
		if (*at != '"') {
			*ret_bad = "there is text behind a closing quote in the CSV record";
			return NULL;
		}
		buf_addc(out, '"');
	}
}

static const char *add_plain(const char *at, const char *end, char separator, struct buf *out, const char **ret_bad) {
	const char *stop = memchr(at, separator, (size_t)(end - at));
	stop = stop ? stop : end;
	if (memchr(at, '"', (size_t)(stop - at))) {
		*ret_bad = "there is a quote inside a field without quotes in the CSV record";
		return NULL;
	}
	buf_add(out, at, (size_t)(stop - at));
	return stop;
}

const char *csv_split(const char *text, size_t len, char separator, enum input_trim trim, struct buf *out,
                      struct record *ret_record) {
	const char *bad = NULL, *at = text;
	buf_reset(out);
	*ret_record = (struct record){.args = text, .size = len + 1, .nargs = 1};
	len -= len > 0 && text[len - 1] == '\r';
	const char *end = text + len;
	for (uint32_t n = 1;; ++n, ++at) {
		size_t start = out->len;
		at = (at < end && *at == '"' ? add_quoted : add_plain)(at, end, separator, out, &bad);
		if (!at) {
			return bad;
		}
		char *field = buf_reserve(out, 1) - (out->len - start);
		out->len = start + (size_t)(put(trim, field, field, out->len - start) - field);
		if (at == end) {
			*ret_record = (struct record){.args = out->data, .size = out->len, .nargs = n};
			return NULL;
		}
	}
}
