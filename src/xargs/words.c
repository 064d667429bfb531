// Reads items from bytes by the rules of xargs, and packs them into command lines.
//
// The rules of POSIX, and where it says nothing those that findutils' xargs 4.9 was seen to follow:
// - items end at blanks and newlines, with -I only at newlines, and then without the blanks before them;
// - '…' and "…" hold anything but newlines, \ takes the next byte literally, a newline too;
// - a line that ends in a blank goes on in the next one (-L), also where a backslash stands before the blank;
// - a quote that the end of the input leaves open is an error, unless nothing is behind it;
// - the end-of-file string counts at the end of an item that has a delimiter, and at the very end of the input only if
//   it is the first of its line.

#include "xargs/words.h"

#include "base/text.h"
#include "input/line_buffer.h"

#include <string.h>

#define QUOTES_ARE_SPECIAL " quote; by default quotes are special to xargs unless you use the -0 option"

// White space, as isspace() has it in the POSIX locale, is skipped before an item; only blanks and newlines end an item.
static bool is_blank(char c) {
	return c == ' ' || c == '\t';
}

static const char CANNOT_FIT[] = "cannot fit single argument within argument list size limit";

const char *xargs_words_init(struct xargs_words *words, const struct xargs_options *options) {
	*words = (struct xargs_words){.options = options, .state = IN_SPACE, .first = true};
	size_t bytes = options->limits.bytes, args = options->limits.args, argc = options->limits.argc, initial = 0;
	for (size_t i = 0; i < options->ncommand && !options->replace; ++i) {
		initial += strlen(options->command[i]) + 1;
	}
	size_t most = argc > options->ncommand ? argc - options->ncommand : 1;
	words->limits = (struct pack_limits){
		.items = (uint32_t)(args > 0 && args < most ? args : most),
		.chars = bytes + 1, // what is shorter than that fits
		.fixed = (ptrdiff_t)initial,
	};
	words->item_max = bytes > initial + 1 ? bytes - initial - 1 : 0;
	words->has_blocks = words->item_max >= WORDS_BLOCK && !options->replace && !options->words.eof && options->limits.lines == 0;
	return initial > bytes ? CANNOT_FIT : NULL;
}

void xargs_words_fini(struct xargs_words *words) {
	packs_fini(&words->pack);
	buf_fini(&words->item);
}

// ---- lines ----

static enum words_status line_done(struct xargs_words *words) {
	++words->nmade;
	return WORDS_LINE;
}

// Ends the reading, at the end of the input or after an error. Returns the command line that is left, or the end or the error.
static enum words_status finish(struct xargs_words *words) {
	const struct xargs_options *options = words->options;
	bool is_packed = words->pack.nitems > 0;
	words->ended = true;
	buf_reset(&words->item);
	bool is_pending = words->error ? is_packed && !options->limits.exact
	                               : is_packed || (options->words.run_empty && words->nmade == 0);
	if (is_pending && !options->replace) {
		return line_done(words);
	}
	return words->error ? WORDS_ERROR : WORDS_END;
}

static enum words_status fail(struct xargs_words *words, const char *error) {
	words->error = error;
	return finish(words);
}

// Fails because of a line that is too long: what was packed is not run.
static enum words_status fail_line(struct xargs_words *words, const char *error) {
	packs_reset(&words->pack);
	return fail(words, error);
}

// Adds the text with the item in its places (with nothing there if `item` is NULL) as an argument of the line. Returns NULL, or the
// error of a result that no command line could hold. What stands behind a NUL of the item counts, but the argument ends there.
static const char *add_expanded(struct xargs_words *words, const char *text, const char *item) {
	struct pack *line = &words->pack;
	const char *replace = words->options->replace;
	size_t most = words->options->limits.bytes, left = most - 1, start = line->size;
	bool has_nul = item && strlen(item) < words->item.len, ended = false;
	do {
		const char *at = item ? strstr(text, replace) : NULL;
		size_t len = at ? (size_t)(at - text) : strlen(text);
		if (item && (left <= len || (at && left - len <= words->item.len))) {
			return "command too long"; // an empty pattern would also go on for ever
		}
		buf_add(&line->args, text, ended ? 0 : len);
		text += len;
		if (at) {
			len += words->item.len;
			buf_adds(&line->args, ended ? "" : item);
			ended = has_nul;
			text += strlen(replace);
		}
		left -= len;
		line->size += len;
	} while (*text);
	buf_addc(&line->args, '\0');
	++line->size;
	++line->nargs;
	return line->size <= most ? NULL : start == 0 ? CANNOT_FIT : "argument list too long";
}

// -I: the line becomes the initial arguments, with the item in their places.
static enum words_status add_replaced(struct xargs_words *words) {
	const char *error = NULL, *item = buf_str(&words->item);
	for (size_t i = 0; i < words->options->ncommand && !error; ++i) { // the name of the command is what it is, as in GNU xargs
		error = add_expanded(words, words->options->command[i], i > 0 ? item : NULL);
	}
	buf_reset(&words->item);
	return error ? fail_line(words, error) : line_done(words);
}

// Adds the item that was read. WORDS_MORE: go on reading.
static enum words_status add_item(struct xargs_words *words, bool line_ends) {
	const struct xargs_options *options = words->options;
	const char *bad, *item = buf_str(&words->item);
	size_t lines = options->limits.lines;
	words->carried = false;
	if (options->replace) {
		return add_replaced(words);
	}
	const struct record record = {.args = item, .size = strlen(item) + 1, .nargs = 1}; // up to a NUL
	enum pack_status status = packs_add(&words->pack, &words->limits, &record, NULL, /* seq */ 0, &bad);
	if (status == PACK_FULL && options->limits.exact && (lines > 0 || options->limits.args > 0)) {
		return fail_line(words, "argument list too long");
	}
	if (status == PACK_FULL) {
		words->carried = true;
		words->line_ends = line_ends;
		return line_done(words);
	}
	if (status == PACK_ALONE || words->pack.bad) {
		return fail_line(words, CANNOT_FIT);
	}
	buf_reset(&words->item);
	bool is_full = packs_is_complete(&words->pack, &words->limits);
	if (line_ends && lines > 0 && words->lines >= lines) {
		words->lines = 0;
		is_full = true;
	}
	return is_full ? line_done(words) : WORDS_MORE;
}

// How many of the bytes come before the first that is special, or a second delimiter in a row. Uses memchr(), which the C
// library makes fast: items are nearly always lines of ordinary bytes.
static size_t count_ordinary(const struct xargs_words *words, const char *at, size_t len) {
	static const char specials[] = " \t'\"\\\v\f\r"; // and the NUL behind them
	bool literal = words->options->words.literal;
	for (size_t i = literal ? sizeof(specials) - 1 : 0; i < sizeof(specials) && (!literal || words->options->words.delimiter); ++i) {
		const char *special = memchr(at, specials[i], len);
		len = special ? (size_t)(special - at) : len;
	}
	const char *empty = literal ? NULL : *at == '\n' ? at - 1 : memmem(at, len, "\n\n", 2);
	return empty ? (size_t)(empty + 1 - at) : len;
}

// Adds the items at `at` up to a delimiter, if all fit into the line. Returns their bytes, delimiters included; or 0, and in *ret_next
// the position where it may be tried again: not at once, for what is special is likely to come often.
static size_t add_block(struct xargs_words *words, const char *at, const char *end, const char **ret_next) {
	char block[WORDS_BLOCK], delimiter = words->options->words.literal ? words->options->words.delimiter : '\n';
	size_t most = (size_t)(end - at) < WORDS_BLOCK ? (size_t)(end - at) : WORDS_BLOCK, len = count_ordinary(words, at, most);
	const char *last = memrchr(at, delimiter, len);
	*ret_next = at + WORDS_BLOCK / 16;
	if (!last) {
		return 0;
	}
	len = (size_t)(last - at) + 1;
	memcpy(block, at, len);
	const struct record record = {.args = block, .size = len, .nargs = line_buffer_end_lines(block, len, delimiter)};
	if (!packs_add_all(&words->pack, &words->limits, &record, /* seq */ 0)) {
		return 0;
	}
	words->before = delimiter;
	*ret_next = at + len;
	return len;
}

// As add_block(), where an item may begin and *next was reached. *ret_status is WORDS_LINE if the line is full.
static size_t try_block(struct xargs_words *words, const char *at, const char *end, const char **next, enum words_status *ret_status) {
	bool begins = words->has_blocks && at >= *next && words->item.len == 0 && !words->seen && words->state == IN_SPACE;
	size_t len = begins ? add_block(words, at, end, next) : 0;
	if (len > 0 && packs_is_complete(&words->pack, &words->limits)) {
		*ret_status = line_done(words);
	}
	return len;
}

// True if the item that was read is the end-of-file string.
static bool is_eof(const struct xargs_words *words) {
	const char *eof = words->options->words.eof;
	return eof && strcmp(buf_str(&words->item), eof) == 0;
}

// ---- items ----

// The item has ended at a delimiter.
static enum words_status end_item(struct xargs_words *words, bool line_ends) {
	if (is_eof(words)) {
		return finish(words);
	}
	words->state = IN_SPACE;
	words->first = line_ends;
	words->seen = false;
	return add_item(words, line_ends);
}

// A newline outside of quotes.
static enum words_status end_line(struct xargs_words *words) {
	if (!is_blank(words->before)) {
		++words->lines;
	}
	if (words->item.len == 0 && !words->seen) {
		words->state = IN_SPACE; // a line without items
		return WORDS_MORE;
	}
	return end_item(words, /* line_ends */ true);
}

static enum words_status fail_quote(struct xargs_words *words) {
	return fail(words, words->quote == '"' ? "unmatched double" QUOTES_ARE_SPECIAL : "unmatched single" QUOTES_ARE_SPECIAL);
}

static enum words_status write_byte(struct xargs_words *words, char c) {
	if (words->item.len >= words->item_max) {
		return fail(words, "argument line too long");
	}
	buf_addc(&words->item, c);
	words->before = c;
	words->seen = true;
	if (c == '\0' && !words->warned && !words->options->words.literal) {
		words->warned = true;
		return WORDS_NUL;
	}
	return WORDS_MORE;
}

// A byte of literal items.
static enum words_status read_literal(struct xargs_words *words, char c) {
	if (c != words->options->words.delimiter) {
		return write_byte(words, c);
	}
	++words->lines;
	words->state = IN_SPACE;
	words->seen = false;
	return add_item(words, /* line_ends */ true);
}

// One byte.
static enum words_status read_byte(struct xargs_words *words, char c) {
	if (words->options->words.literal) {
		return read_literal(words, c);
	}
	switch (words->state) {
	case IN_BACKSLASH:
		words->state = IN_NORMAL;
		break;
	case IN_QUOTE:
		if (c == '\n') {
			return fail_quote(words);
		}
		if (c == words->quote) {
			words->state = IN_NORMAL;
			words->before = c;
			return WORDS_MORE;
		}
		break;
	case IN_SPACE:
		if (text_is_space(c)) {
			words->before = c;
			return WORDS_MORE;
		}
		words->state = IN_NORMAL;
		// fall through
	case IN_NORMAL:
		if (c == '\n') {
			enum words_status status = end_line(words);
			words->before = c;
			return status;
		}
		words->seen = true;
		if (is_blank(c) && !words->options->replace) {
			words->before = c;
			return end_item(words, /* line_ends */ false);
		}
		if (c == '\\' || c == '\'' || c == '"') {
			words->state = c == '\\' ? IN_BACKSLASH : IN_QUOTE;
			words->quote = c;
			words->before = c;
			return WORDS_MORE;
		}
		break;
	}
	return write_byte(words, c);
}

static enum words_status next_bytes(struct xargs_words *words, const char *mem, size_t len, size_t *ret_used) {
	const char *at = mem, *end = mem + len, *next = at;
	enum words_status status = WORDS_MORE;
	while (status == WORDS_MORE && at < end) {
		size_t n = try_block(words, at, end, &next, &status);
		at += n;
		if (n == 0) {
			status = read_byte(words, *at++);
		}
	}
	*ret_used = (size_t)(at - mem);
	return status;
}

// ---- the end ----

// The bytes have ended, maybe inside an item.
static enum words_status end_input(struct xargs_words *words) {
	bool literal = words->options->words.literal;
	words->ended = true;
	if (words->item.len == 0) {
		return finish(words);
	}
	if (!literal && words->state == IN_QUOTE) {
		return fail_quote(words);
	}
	if (!literal && words->first && is_eof(words)) {
		return finish(words);
	}
	enum words_status status = add_item(words, /* line_ends */ true);
	return status == WORDS_MORE ? finish(words) : status;
}

enum words_status xargs_words_next(struct xargs_words *words, const char *mem, size_t len, size_t *ret_used) {
	*ret_used = 0;
	if (words->carried) {
		enum words_status status = add_item(words, words->line_ends);
		if (status != WORDS_MORE) {
			return status;
		}
	}
	if (words->ended) {
		return finish(words);
	}
	if (len == 0) {
		return end_input(words);
	}
	return next_bytes(words, mem, len, ret_used);
}
