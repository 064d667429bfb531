// Reads items from bytes by the rules of xargs, and packs them into command lines.
//
// The rules are those of POSIX and, where POSIX says nothing, those that findutils' xargs 4.9 was seen to follow:
// - items end at blanks and newlines; with -I items end only at newlines, and blanks in front of an item are dropped;
// - '…' and "…" hold anything but newlines; \ takes the next byte literally, even a newline;
// - a line that ends with a blank is continued by the next line (-L), even if a backslash stands before the blank;
// - a quote that is still open at the end of the input is an error, unless nothing stands behind the quote;
// - the end-of-file string (-E) counts if a delimiter ends it; at the very end of the input, without a delimiter, it counts
//   only as the first item of its line.

#include "xargs/items.h"

#include "base/line_buffer.h"
#include "base/text.h"

#include <string.h>

#define QUOTES_ARE_SPECIAL " quote; by default quotes are special to xargs unless you use the -0 option"

// White space, as isspace() has it in the POSIX locale, is skipped before an item; only blanks and newlines end an item.
static bool is_blank(char c) {
	return c == ' ' || c == '\t';
}

static const char CANNOT_FIT[] = "cannot fit single argument within argument list size limit";

const char *xargs_items_init(struct xargs_items *items, const struct xargs_options *options) {
	*items = (struct xargs_items){.options = options, .state = IN_SPACE, .first = true};
	size_t bytes = options->limits.bytes, args = options->limits.args, argc = options->limits.argc, initial = 0;
	for (size_t i = 0; i < options->ncommand && !options->replace; ++i) {
		initial += strlen(options->command[i]) + 1;
	}
	size_t most = argc > options->ncommand ? argc - options->ncommand : 1;
	items->limits = (struct pack_limits){
		.items = (uint32_t)(args > 0 && args < most ? args : most),
		.chars = bytes + 1, // a command line must be shorter than `chars`
		.fixed = (ptrdiff_t)initial,
	};
	items->item_max = bytes > initial + 1 ? bytes - initial - 1 : 0;
	items->has_blocks = items->item_max >= ITEMS_BLOCK && !options->replace && !options->items.eof && options->limits.lines == 0;
	return initial > bytes ? CANNOT_FIT : NULL;
}

void xargs_items_fini(struct xargs_items *items) {
	packs_fini(&items->pack);
	buf_fini(&items->item);
}

// ---- lines ----

static enum items_status line_done(struct xargs_items *items) {
	++items->nmade;
	return ITEMS_LINE;
}

// Ends the reading, at the end of the input or after an error. Returns ITEMS_LINE if a command line is left, else ITEMS_END or ITEMS_ERROR.
static enum items_status finish(struct xargs_items *items) {
	const struct xargs_options *options = items->options;
	bool is_packed = items->pack.nitems > 0;
	items->ended = true;
	buf_reset(&items->item);
	bool is_pending = items->error ? is_packed && !options->limits.exact
	                               : is_packed || (options->items.run_empty && items->nmade == 0);
	if (is_pending && !options->replace) {
		return line_done(items);
	}
	return items->error ? ITEMS_ERROR : ITEMS_END;
}

static enum items_status fail(struct xargs_items *items, const char *error) {
	items->error = error;
	return finish(items);
}

// Fails because a command line is too long: the packed items are not run.
static enum items_status fail_line(struct xargs_items *items, const char *error) {
	packs_reset(&items->pack);
	return fail(items, error);
}

// Adds the text as an argument of the line, with the item in place of each pattern of -I (as it is if `item` is NULL). Returns NULL, or
// an error if no command line could hold the argument. The argument ends at a NUL of the item, but bytes behind the NUL count, too.
static const char *add_expanded(struct xargs_items *items, const char *text, const char *item) {
	struct pack *line = &items->pack;
	const char *replace = items->options->replace;
	size_t most = items->options->limits.bytes, left = most - 1, start = line->size;
	bool has_nul = item && strlen(item) < items->item.len, ended = false;
	do {
		const char *at = item ? strstr(text, replace) : NULL;
		size_t len = at ? (size_t)(at - text) : strlen(text);
		if (item && (left <= len || (at && left - len <= items->item.len))) {
			return "command too long"; // with an empty pattern this also ends the loop
		}
		buf_add(&line->args, text, ended ? 0 : len);
		text += len;
		if (at) {
			len += items->item.len;
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

// -I: makes a command line of the initial arguments, with the item in place of each pattern.
static enum items_status add_replaced(struct xargs_items *items) {
	const char *error = NULL, *item = buf_str(&items->item);
	for (size_t i = 0; i < items->options->ncommand && !error; ++i) { // the name of the command is not changed, as in GNU xargs
		error = add_expanded(items, items->options->command[i], i > 0 ? item : NULL);
	}
	buf_reset(&items->item);
	return error ? fail_line(items, error) : line_done(items);
}

// Adds the item that was read to the command line. Returns ITEMS_MORE if the reading goes on.
static enum items_status add_item(struct xargs_items *items, bool line_ends) {
	const struct xargs_options *options = items->options;
	const char *bad, *item = buf_str(&items->item);
	size_t lines = options->limits.lines;
	items->carried = false;
	if (options->replace) {
		return add_replaced(items);
	}
	const struct record record = {.args = item, .size = strlen(item) + 1, .nargs = 1}; // a NUL in the item ends the argument
	enum pack_status status = packs_add(&items->pack, &items->limits, &record, NULL, /* seq */ 0, &bad);
	if (status == PACK_FULL && options->limits.exact && (lines > 0 || options->limits.args > 0)) {
		return fail_line(items, "argument list too long");
	}
	if (status == PACK_FULL) {
		items->carried = true;
		items->line_ends = line_ends;
		return line_done(items);
	}
	if (status == PACK_ALONE || items->pack.bad) {
		return fail_line(items, CANNOT_FIT);
	}
	buf_reset(&items->item);
	bool is_full = packs_is_complete(&items->pack, &items->limits);
	if (line_ends && lines > 0 && items->lines >= lines) {
		items->lines = 0;
		is_full = true;
	}
	return is_full ? line_done(items) : ITEMS_MORE;
}

// Returns how many bytes come before the first special byte, or before a second delimiter in a row. Uses memchr(), which the C
// library makes fast: items are nearly always lines of ordinary bytes.
static size_t count_ordinary(const struct xargs_items *items, const char *at, size_t len) {
	static const char specials[] = " \t'\"\\\v\f\r"; // the NUL at the end is special, too
	bool literal = items->options->items.literal;
	for (size_t i = literal ? sizeof(specials) - 1 : 0; i < sizeof(specials) && (!literal || items->options->items.delimiter); ++i) {
		const char *special = memchr(at, specials[i], len);
		len = special ? (size_t)(special - at) : len;
	}
	const char *empty = literal ? NULL : *at == '\n' ? at - 1 : memmem(at, len, "\n\n", 2);
	return empty ? (size_t)(empty + 1 - at) : len;
}

// Adds the items at `at` up to a delimiter, if all of them fit into the line. Returns how many bytes they have, with their delimiters;
// or 0. *ret_next is where to try next: after a failure some bytes further on, because special bytes often stand close together.
static size_t add_block(struct xargs_items *items, const char *at, const char *end, const char **ret_next) {
	char block[ITEMS_BLOCK], delimiter = items->options->items.literal ? items->options->items.delimiter : '\n';
	size_t most = (size_t)(end - at) < ITEMS_BLOCK ? (size_t)(end - at) : ITEMS_BLOCK, len = count_ordinary(items, at, most);
	const char *last = memrchr(at, delimiter, len);
	*ret_next = at + ITEMS_BLOCK / 16;
	if (!last) {
		return 0;
	}
	len = (size_t)(last - at) + 1;
	memcpy(block, at, len);
	const struct record record = {.args = block, .size = len, .nargs = line_buffer_end_lines(block, len, delimiter)};
	if (!packs_add_all(&items->pack, &items->limits, &record, /* seq */ 0)) {
		return 0;
	}
	items->before = delimiter;
	*ret_next = at + len;
	return len;
}

// Calls add_block() if an item may begin at `at` and *next was reached; else returns 0. Sets *ret_status to ITEMS_LINE if the line is full.
static size_t try_block(struct xargs_items *items, const char *at, const char *end, const char **next, enum items_status *ret_status) {
	bool begins = items->has_blocks && at >= *next && items->item.len == 0 && !items->seen && items->state == IN_SPACE;
	size_t len = begins ? add_block(items, at, end, next) : 0;
	if (len > 0 && packs_is_complete(&items->pack, &items->limits)) {
		*ret_status = line_done(items);
	}
	return len;
}

// True if the item that was read is the end-of-file string (-E).
static bool is_eof(const struct xargs_items *items) {
	const char *eof = items->options->items.eof;
	return eof && strcmp(buf_str(&items->item), eof) == 0;
}

// ---- items ----

// Ends the item at a delimiter.
static enum items_status end_item(struct xargs_items *items, bool line_ends) {
	if (is_eof(items)) {
		return finish(items);
	}
	items->state = IN_SPACE;
	items->first = line_ends;
	items->seen = false;
	return add_item(items, line_ends);
}

// Handles a newline outside of quotes.
static enum items_status end_line(struct xargs_items *items) {
	if (!is_blank(items->before)) {
		++items->lines;
	}
	if (items->item.len == 0 && !items->seen) {
		items->state = IN_SPACE; // a line without items
		return ITEMS_MORE;
	}
	return end_item(items, /* line_ends */ true);
}

static enum items_status fail_quote(struct xargs_items *items) {
	return fail(items, items->quote == '"' ? "unmatched double" QUOTES_ARE_SPECIAL : "unmatched single" QUOTES_ARE_SPECIAL);
}

static enum items_status write_byte(struct xargs_items *items, char c) {
	if (items->item.len >= items->item_max) {
		return fail(items, "argument line too long");
	}
	buf_addc(&items->item, c);
	items->before = c;
	items->seen = true;
	if (c == '\0' && !items->warned && !items->options->items.literal) {
		items->warned = true;
		return ITEMS_NUL;
	}
	return ITEMS_MORE;
}

// Handles one byte of literal items (-0, -d).
static enum items_status read_literal(struct xargs_items *items, char c) {
	if (c != items->options->items.delimiter) {
		return write_byte(items, c);
	}
	++items->lines;
	items->state = IN_SPACE;
	items->seen = false;
	return add_item(items, /* line_ends */ true);
}

// Handles one byte of the input.
static enum items_status read_byte(struct xargs_items *items, char c) {
	if (items->options->items.literal) {
		return read_literal(items, c);
	}
	switch (items->state) {
	case IN_BACKSLASH:
		items->state = IN_NORMAL;
		break;
	case IN_QUOTE:
		if (c == '\n') {
			return fail_quote(items);
		}
		if (c == items->quote) {
			items->state = IN_NORMAL;
			items->before = c;
			return ITEMS_MORE;
		}
		break;
	case IN_SPACE:
		if (text_is_space(c)) {
			items->before = c;
			return ITEMS_MORE;
		}
		items->state = IN_NORMAL;
		// fall through
	case IN_NORMAL:
		if (c == '\n') {
			enum items_status status = end_line(items);
			items->before = c;
			return status;
		}
		items->seen = true;
		if (is_blank(c) && !items->options->replace) {
			items->before = c;
			return end_item(items, /* line_ends */ false);
		}
		if (c == '\\' || c == '\'' || c == '"') {
			items->state = c == '\\' ? IN_BACKSLASH : IN_QUOTE;
			items->quote = c;
			items->before = c;
			return ITEMS_MORE;
		}
		break;
	}
	return write_byte(items, c);
}

static enum items_status next_bytes(struct xargs_items *items, const char *mem, size_t len, size_t *ret_used) {
	const char *at = mem, *end = mem + len, *next = at;
	enum items_status status = ITEMS_MORE;
	while (status == ITEMS_MORE && at < end) {
		size_t n = try_block(items, at, end, &next, &status);
		at += n;
		if (n == 0) {
			status = read_byte(items, *at++);
		}
	}
	*ret_used = (size_t)(at - mem);
	return status;
}

// ---- the end ----

// Handles the end of the input, which may be inside an item.
static enum items_status end_input(struct xargs_items *items) {
	bool literal = items->options->items.literal;
	items->ended = true;
	if (items->item.len == 0) {
		return finish(items);
	}
	if (!literal && items->state == IN_QUOTE) {
		return fail_quote(items);
	}
	if (!literal && items->first && is_eof(items)) {
		return finish(items);
	}
	enum items_status status = add_item(items, /* line_ends */ true);
	return status == ITEMS_MORE ? finish(items) : status;
}

enum items_status xargs_items_next(struct xargs_items *items, const char *mem, size_t len, size_t *ret_used) {
	*ret_used = 0;
	if (items->carried) {
		enum items_status status = add_item(items, items->line_ends);
		if (status != ITEMS_MORE) {
			return status;
		}
	}
	if (items->ended) {
		return finish(items);
	}
	return len == 0 ? end_input(items) : next_bytes(items, mem, len, ret_used);
}
