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

#include <string.h>

#define QUOTES_ARE_SPECIAL " quote; by default quotes are special to xargs unless you use the -0 option"

// White space, as isspace() has it in the POSIX locale: is skipped before an item. Only blanks and newlines end one.
static bool is_blank(char c) {
	return c == ' ' || c == '\t';
}

void xargs_words_init(struct xargs_words *words, const struct xargs_words_config *config, struct packer *packer) {
	*words = (struct xargs_words){.config = *config, .packer = packer, .state = IN_SPACE, .first = true};
}

// ---- lines ----

static enum words_status line_done(struct xargs_words *words) {
	++words->nmade;
	return WORDS_LINE;
}

// What is there when the input has ended, or an error ends it.
static enum words_status finish(struct xargs_words *words) {
	struct packer *packer = words->packer;
	words->ended = true;
	packer->item = 0;
	bool is_pending = words->error ? packer->line.nargs > 0 && !packer->limits.exact
	                               : packer->line.nargs > 0 || (words->config.run_empty && words->nmade == 0);
	if (is_pending && !packer->replace) {
		return line_done(words);
	}
	return words->error ? WORDS_ERROR : WORDS_END;
}

static enum words_status fail(struct xargs_words *words, const char *error) {
	words->error = error;
	return finish(words);
}

// Adds the item that was written. WORDS_MORE: go on reading.
static enum words_status add_item(struct xargs_words *words, bool line_ends) {
	const char *error = NULL;
	bool is_full = false;
	words->carried = false;
	switch (packer_add(words->packer, &error)) {
	case PACK_CARRY:
		words->carried = true;
		words->line_ends = line_ends;
		return line_done(words);
	case PACK_ERROR:
		words->packer->line.nargs = 0; // what was packed is not run
		return fail(words, error);
	case PACK_FULL:
		is_full = true;
		break;
	case PACK_MORE:
		break;
	}
	if (line_ends && words->packer->limits.lines > 0 && words->lines >= words->packer->limits.lines) {
		words->lines = 0;
		is_full = true;
	}
	return is_full ? line_done(words) : WORDS_MORE;
}

// True if the item that was written is the end-of-file string.
static bool is_eof(const struct xargs_words *words) {
	const char *eof = words->config.eof;
	if (!eof) {
		return false;
	}
	char *item = packer_room(words->packer, 0) - words->packer->item;
	item[words->packer->item] = '\0';
	return strcmp(item, eof) == 0;
}

// ---- literal items ----

// Copies bytes to the item. Returns false if it gets too long.
static bool write_item(struct xargs_words *words, const char *mem, size_t len) {
	struct packer *packer = words->packer;
	if (len > packer_item_max(packer) - packer->item) {
		return false;
	}
	memcpy(packer_room(packer, len), mem, len);
	packer->item += len;
	return true;
}

static enum words_status next_literal(struct xargs_words *words, const char *mem, size_t len, size_t *ret_used) {
	const char *at = mem, *end = mem + len;
	enum words_status status = WORDS_MORE;
	while (status == WORDS_MORE && at < end) {
		const char *stop = memchr(at, words->config.delimiter, (size_t)(end - at));
		if (!write_item(words, at, (size_t)((stop ? stop : end) - at))) {
			status = fail(words, "argument line too long");
			at = end;
		} else if (stop) {
			++words->lines;
			at = stop + 1;
			status = add_item(words, /* line_ends */ true);
		} else {
			at = end;
		}
	}
	*ret_used = (size_t)(at - mem);
	return status;
}

// ---- quoted items ----

// What ends a run of bytes that mean themselves.
static const bool is_special[256] = {
	['\0'] = true, ['\t'] = true, ['\n'] = true, [' '] = true, ['\''] = true, ['"'] = true, ['\\'] = true,
};

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
	if (words->packer->item == 0 && !words->seen) {
		words->state = IN_SPACE; // a line without items
		return WORDS_MORE;
	}
	return end_item(words, /* line_ends */ true);
}

static enum words_status fail_quote(struct xargs_words *words) {
	return fail(words, words->quote == '"' ? "unmatched double" QUOTES_ARE_SPECIAL : "unmatched single" QUOTES_ARE_SPECIAL);
}

static enum words_status write_byte(struct xargs_words *words, char c) {
	if (!write_item(words, &c, 1)) {
		return fail(words, "argument line too long");
	}
	words->before = c;
	words->seen = true;
	if (c == '\0' && !words->warned) {
		words->warned = true;
		return WORDS_NUL;
	}
	return WORDS_MORE;
}

// One byte that is, or may be, special.
static enum words_status read_byte(struct xargs_words *words, char c) {
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
		if (is_blank(c) && !words->packer->replace) {
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

// Copies the bytes up to the next that is special. Returns how many; 0 also if the item gets too long.
static size_t copy_ordinary(struct xargs_words *words, const char *at, const char *end) {
	struct packer *packer = words->packer;
	size_t room = packer_item_max(packer) - packer->item;
	size_t max = (size_t)(end - at) < room ? (size_t)(end - at) : room;
	enum { AT_ONCE = 256 }; // so that room is made once for many short items
	max = max < AT_ONCE ? max : AT_ONCE;
	char *out = packer_room(packer, AT_ONCE);
	size_t n = 0;
	while (n < max && !is_special[(unsigned char)at[n]]) {
		out[n] = at[n];
		++n;
	}
	packer->item += n;
	if (n > 0) {
		words->before = at[n - 1];
		words->seen = true;
	}
	return n;
}

static enum words_status next_quoted(struct xargs_words *words, const char *mem, size_t len, size_t *ret_used) {
	const char *at = mem, *end = mem + len;
	enum words_status status = WORDS_MORE;
	while (status == WORDS_MORE && at < end) {
		if (words->state == IN_SPACE && !is_special[(unsigned char)*at] && !text_is_space(*at)) {
			words->state = IN_NORMAL;
		}
		size_t n = words->state == IN_NORMAL || words->state == IN_QUOTE ? copy_ordinary(words, at, end) : 0;
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
	struct packer *packer = words->packer;
	bool nothing = packer->item == 0;
	words->ended = true;
	if (nothing) {
		return finish(words);
	}
	if (!words->config.literal && words->state == IN_QUOTE) {
		return fail_quote(words);
	}
	if (!words->config.literal && words->first && is_eof(words)) {
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
	return words->config.literal ? next_literal(words, mem, len, ret_used)
	                             : next_quoted(words, mem, len, ret_used);
}
