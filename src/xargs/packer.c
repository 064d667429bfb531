// Packs items into command lines as xargs does: as many as the limits take, or one line for each by replacement.
//
// An item is written where it will stay, behind the arguments that are there already: twenty million of them cost no
// allocation and no second copy. The rules, and the words of the errors, are those of findutils' xargs 4.9.

#include "xargs/packer.h"

#include "base/alloc.h"

#include <string.h>

void packed_fini(struct packed *packed) {
	free(packed->bytes);
	free(packed->starts);
	*packed = (struct packed){.bytes = NULL};
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

void packer_fini(struct packer *packer) {
	packed_fini(&packer->line);
}

size_t packer_item_max(const struct packer *packer) {
	size_t taken = packer->initial_bytes + 1;
	return packer->limits.bytes > taken ? packer->limits.bytes - taken : 0;
}

char *packer_room(struct packer *packer, size_t more) {
	struct packed *line = &packer->line;
	grow_array(&line->bytes, &line->cap, line->len + packer->item + more + 1, 1);
	return line->bytes + line->len + packer->item;
}

static void add_start(struct packed *line) {
	if (line->nargs == line->starts_cap) {
		grow_array(&line->starts, &line->starts_cap, line->nargs + 1, sizeof(*line->starts));
	}
	line->starts[line->nargs++] = (uint32_t)line->len;
}

// ---- replacement ----

// Appends an argument, as far as the bytes of a command line go.
static const char *add_whole(struct packer *packer, struct packed *line, const struct packed *arg) {
	size_t size = arg->len + 1;
	if (line->len + size > packer->limits.bytes) {
		return line->nargs == 0 ? "cannot fit single argument within argument list size limit" : "argument list too long";
	}
	grow_array(&line->bytes, &line->cap, line->len + size, 1);
	add_start(line);
	memcpy(line->bytes + line->len, arg->bytes, arg->len);
	line->bytes[line->len + arg->len] = '\0';
	line->len += size;
	return NULL;
}

// Puts the item into every place of the text. Returns NULL, or the error of a result that no command line could hold.
static const char *expand(const struct packer *packer, const char *text, const char *item, size_t item_len,
                          struct packed *arg) {
	size_t left = packer->limits.bytes - 1;
	size_t pattern = strlen(packer->replace);
	arg->len = 0;
	do {
		const char *at = strstr(text, packer->replace);
		size_t len = at ? (size_t)(at - text) : strlen(text);
		if (left <= len || (at && left - len <= item_len)) {
			return "command too long"; // also for ever, with a pattern of nothing
		}
		left -= len + (at ? item_len : 0);
		grow_array(&arg->bytes, &arg->cap, arg->len + len + item_len + 1, 1);
		memcpy(arg->bytes + arg->len, text, len);
		arg->len += len;
		text += len;
		if (at) {
			memcpy(arg->bytes + arg->len, item, item_len);
			arg->len += item_len;
			text += pattern;
		}
	} while (*text);
	return NULL;
}

static enum packer_status add_replaced(struct packer *packer, const char **ret_error) {
	struct packed *line = &packer->line;
	struct packed item = *line, made = {.bytes = NULL}, arg = {.bytes = NULL};
	const char *error = NULL;
	for (size_t i = 0; i < packer->ninitial && !error; ++i) {
		if (i > 0) {
			error = expand(packer, packer->initial[i], item.bytes, packer->item, &arg);
		} else { // the name of the command is what it is, as in GNU xargs
			arg.len = strlen(packer->initial[0]);
			grow_array(&arg.bytes, &arg.cap, arg.len + 1, 1);
			memcpy(arg.bytes, packer->initial[0], arg.len);
		}
		error = error ? error : add_whole(packer, &made, &arg);
	}
	packed_fini(&arg);
	packed_fini(&item);
	packer->item = 0;
	*line = made;
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
	if (packer->initial_bytes + line->len + packer->item + 1 > limits->bytes) {
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
	line->len += packer->item + 1;
	packer->item = 0;
	bool full = line->nargs == limits->args || packer->ninitial + line->nargs >= limits->argc;
	return full ? PACK_FULL : PACK_MORE;
}

void packer_take(struct packer *packer, struct packed *line) {
	struct packed fresh = *line;
	*line = packer->line;
	fresh.len = fresh.nargs = 0;
	packer->line = fresh;
	size_t item = packer->item;
	packer->item = 0;
	if (item > 0) {
		memcpy(packer_room(packer, item), line->bytes + line->len, item);
		packer->item = item;
	}
}
