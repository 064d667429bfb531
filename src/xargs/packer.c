// Packs items into command lines as xargs does: as many as the limits take, or one line for each by replacement.
//
// An item is written where it will stay, behind the arguments that are there already: twenty million of them cost no
// allocation and no second copy. The rules, and the words of the errors, are those of findutils' xargs 4.9.

#include "xargs/packer.h"

#include "base/alloc.h"

#include <string.h>

void packed_fini(struct packed *packed) {
	buf_fini(&packed->bytes);
	free(packed->starts);
	*packed = (struct packed){.starts = NULL};
}

const char *packer_init(struct packer *packer, const struct packer_limits *limits, const char *const *initial,
                        size_t ninitial, const char *replace) {
	*packer = (struct packer){.limits = *limits, .initial = initial, .ninitial = ninitial, .replace = replace};
	for (size_t i = 0; i < ninitial && !replace; ++i) {
		packer->initial_bytes += strlen(initial[i]) + 1;
		if (packer->initial_bytes > limits->bytes) {
			return "cannot fit single argument within argument list size limit";
		}
	}
	return NULL;
}

size_t packer_item_max(const struct packer *packer) {
	size_t taken = packer->initial_bytes + 1;
	return packer->limits.bytes > taken ? packer->limits.bytes - taken : 0;
}

char *packer_room(struct packer *packer, size_t more) {
	return buf_reserve(&packer->line.bytes, packer->item + more) + packer->item;
}

static void add_start(struct packed *line) {
	if (line->nargs == line->starts_cap) {
		grow_array(&line->starts, &line->starts_cap, line->nargs + 1, sizeof(*line->starts));
	}
	line->starts[line->nargs++] = (uint32_t)line->bytes.len;
}

// ---- replacement ----

// Appends the text with the item in its places, none with `item` NULL, as an argument of the line. Returns NULL, or the error of
// a result that no command line could hold.
static const char *add_expanded(struct packer *packer, struct packed *line, const char *text, const char *item) {
	size_t left = packer->limits.bytes - 1, start = line->bytes.len;
	add_start(line);
	do {
		const char *at = item ? strstr(text, packer->replace) : NULL;
		size_t len = at ? (size_t)(at - text) : strlen(text);
		if (item && (left <= len || (at && left - len <= packer->item))) {
			return "command too long"; // also for ever, with a pattern of nothing
		}
		left -= len + (at ? packer->item : 0);
		buf_add(&line->bytes, text, len);
		text += len;
		if (at) {
			buf_add(&line->bytes, item, packer->item);
			text += strlen(packer->replace);
		}
	} while (*text);
	buf_addc(&line->bytes, '\0');
	if (line->bytes.len > packer->limits.bytes) {
		return start == 0 ? "cannot fit single argument within argument list size limit" : "argument list too long";
	}
	return NULL;
}

static enum packer_status add_replaced(struct packer *packer, const char **ret_error) {
	struct packed made = {.starts = NULL};
	const char *error = NULL;
	for (size_t i = 0; i < packer->ninitial && !error; ++i) { // the name of the command is what it is, as in GNU xargs
		error = add_expanded(packer, &made, packer->initial[i], i > 0 ? packer->line.bytes.data : NULL);
	}
	packed_fini(&packer->line);
	packer->item = 0;
	packer->line = made;
	*ret_error = error;
	return error ? PACK_ERROR : PACK_FULL;
}

// ---- appending ----

enum packer_status packer_add(struct packer *packer, const char **ret_error) {
	struct packed *line = &packer->line;
	const struct packer_limits *limits = &packer->limits;
	if (packer->replace) {
		(void)packer_room(packer, 0);
		return add_replaced(packer, ret_error);
	}
	if (packer->initial_bytes + line->bytes.len + packer->item + 1 > limits->bytes) {
		if (line->nargs == 0) {
			*ret_error = "cannot fit single argument within argument list size limit";
			return PACK_ERROR;
		}
		if (limits->exact && (limits->lines > 0 || limits->args > 0)) {
			*ret_error = "argument list too long";
			return PACK_ERROR;
		}
		return PACK_CARRY;
	}
	*packer_room(packer, 0) = '\0';
	add_start(line);
	line->bytes.len += packer->item + 1;
	packer->item = 0;
	bool full = line->nargs == limits->args || packer->ninitial + line->nargs >= limits->argc;
	return full ? PACK_FULL : PACK_MORE;
}

void packer_take(struct packer *packer, struct packed *line) {
	struct packed fresh = *line;
	*line = packer->line;
	fresh.bytes.len = fresh.nargs = 0;
	packer->line = fresh;
	size_t item = packer->item;
	packer->item = 0;
	if (item > 0) {
		memcpy(packer_room(packer, item), line->bytes.data + line->bytes.len, item);
		packer->item = item;
	}
}
