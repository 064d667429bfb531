// Decides how many records go into one job (-n, -N, -L, -X, -m, --xargs, -s). This file knows no input, queue or clock.

#include "template/packs.h"

#include "base/alloc.h"
#include "base/units.h"

#include <stdio.h>

// ---- lengths ----

// Returns the length of a command with the record behind `before` other arguments. Counts a long number for the slot, which is not known yet.
static size_t length_of(const struct pack_limits *limits, const struct record *record, uint32_t before, uint64_t seq) {
	enum { LONG_NUMBER = 99999 };
	struct expansion x = {
		.record = record, .before = before, .seq = seq, .slot = LONG_NUMBER, .slots = LONG_NUMBER, .total = LONG_NUMBER,
	};
	return limits->template ? template_length(limits->template, &x) : record->size - 1; // the arguments are the command
}

void packs_prepare(struct pack_limits *limits) {
	const struct record one = {.args = "x", .size = 2, .nargs = 1}, two = {.args = "x\0x", .size = 4, .nargs = 2};
	// with UINT32_MAX arguments before, {2} is empty in both commands; with none, {2} would be '' (with -q) in the first, x in the second command
	size_t length = length_of(limits, &one, UINT32_MAX, 1), longer = length_of(limits, &two, UINT32_MAX, 1);
	limits->each = longer > length ? longer - length : 0;
	limits->fixed = (ptrdiff_t)length - (ptrdiff_t)limits->each;
}

// Returns how many bytes the record adds to the command.
static size_t size_of(const struct pack_limits *limits, const struct record *record, uint32_t before, uint64_t seq) {
	if (!limits->template) {
		return record->size;
	}
	ptrdiff_t size = (ptrdiff_t)length_of(limits, record, before, seq) - limits->fixed;
	return size > 0 ? (size_t)size : 0;
}

// Returns the length of a command to which the arguments add `size` bytes.
static size_t command_length(const struct pack_limits *limits, size_t size) {
	return (size_t)(limits->fixed + (ptrdiff_t)size);
}

bool packs_fit(const struct pack_limits *limits, uint32_t nargs, size_t size, bool is_alone) {
	size_t length = command_length(limits, size);
	size_t pointers = nargs * (limits->each / 2) * sizeof(char *); // an upper bound: a word takes at least two bytes, one of them a blank or NUL
	bool has_room = limits->room == 0 || length + pointers <= limits->room;
	return limits->inserts_none || (has_room && (length < limits->chars || (limits->fills && !is_alone)));
}

static const char *describe_length(const struct pack_limits *limits, size_t size) {
	static _Thread_local char text[80];
	snprintf(text, sizeof(text), "command line too long (%zu >= %zu)", command_length(limits, size), limits->chars);
	return text;
}

// ---- packs ----

// Adds the arguments of `n` records, which all have the same number of arguments.
static void append(struct pack *pack, const struct pack_limits *limits, const struct record *records, uint32_t n) {
	if (!limits->inserts_none) {
		buf_add(&pack->args, records->args, records->size);
		pack->nargs += records->nargs;
	}
	if (limits->waits) {
		grow_array(&pack->counts, &pack->counts_cap, pack->nitems + n, sizeof(pack->counts[0]));
		for (uint32_t i = 0; i < n; ++i) {
			pack->counts[pack->nitems + i] = records->nargs / n;
		}
	}
	pack->nitems += n;
}

// Makes the whole pack bad because of a record that cannot be an item, and keeps only that record, to be shown.
static void mark_bad(struct pack *pack, const struct pack_limits *limits, const struct record *record, const char *bad) {
	uint32_t nitems = pack->nitems;
	packs_reset(pack);
	append(pack, limits, record, 1);
	pack->nitems = nitems + 1;
	pack->bad = bad;
}

enum pack_status packs_add(struct pack *pack, const struct pack_limits *limits, const struct record *record,
                          const char *bad, uint64_t seq, const char **ret_bad) {
	static const char too_long[] = "longer than a command may be";
	bool counts = limits->items > 1;
	*ret_bad = bad;
	if (limits->items > 0 && pack->nitems >= limits->items) {
		return PACK_FULL;
	}
	if (bad && !counts) {
		return PACK_ALONE;
	}
	if (pack->bad && !bad) {
		++pack->nitems;
		return PACK_TAKEN;
	}
	if (bad) {
		mark_bad(pack, limits, record, bad);
		return PACK_TAKEN;
	}
	size_t size = size_of(limits, record, pack->nargs, seq);
	if (packs_fit(limits, pack->nargs + record->nargs, pack->size + size, pack->nitems == 0)) {
		append(pack, limits, record, 1);
		pack->size += size;
		return PACK_TAKEN;
	}
	if (counts && !limits->exits && !packs_fit(limits, record->nargs, size, /* is_alone */ true)) {
		mark_bad(pack, limits, record, too_long);
		return PACK_TAKEN;
	}
	if (pack->nitems > 0) {
		return PACK_FULL;
	}
	*ret_bad = describe_length(limits, size);
	return PACK_ALONE;
}

size_t packs_join_size(const struct pack_limits *limits) {
	enum { MOST = 4096, LEAST = 64, LONGER = 8 }; // LONGER: quotes for a shell make an item at most LONGER times as long
	size_t most = limits->fills || limits->chars / 16 > MOST ? MOST : limits->chars / 16;
	while (most >= LEAST && !packs_fit(limits, (uint32_t)most, LONGER * most * limits->each / 2, /* is_alone */ false)) {
		most /= 2;
	}
	bool are_lists = !limits->template || template_has(limits->template, TEMPLATE_HAS_ONLY_LISTS);
	return !are_lists || limits->inserts_none || most < LEAST ? 0 : most;
}

bool packs_measure(const struct pack_limits *limits, const struct record *record, uint64_t seq, uint32_t *ret_size,
                   const char **ret_bad) {
	size_t size = size_of(limits, record, /* before */ 0, seq);
	if (!packs_fit(limits, record->nargs, size, /* is_alone */ true)) {
		*ret_bad = describe_length(limits, size);
		return false;
	}
	*ret_size = (uint32_t)size; // a record that fits is below 4 GiB
	return true;
}

bool packs_add_all(struct pack *pack, const struct pack_limits *limits, const struct record *record, uint64_t seq) {
	size_t size = size_of(limits, record, pack->nargs, seq);
	bool are_few = limits->items == 0 || pack->nitems + record->nargs <= limits->items;
	if (pack->bad || !are_few || !packs_fit(limits, pack->nargs + record->nargs, pack->size + size, /* is_alone */ false)) {
		return false;
	}
	append(pack, limits, record, record->nargs);
	pack->size += size;
	return true;
}

bool packs_is_complete(const struct pack *pack, const struct pack_limits *limits) {
	return !limits->waits && limits->items > 0 && pack->nitems >= limits->items;
}

struct record packs_record(const struct pack *pack) {
	return (struct record){.args = buf_str(&pack->args), .size = pack->args.len, .nargs = pack->nargs};
}

// Returns the arguments of the records with the numbers `from` to `to` - 1; these arguments begin at `at`.
static struct record records_at(const struct pack *pack, const char *at, uint32_t from, uint32_t to) {
	struct record record = {.args = at};
	for (uint32_t i = from; i < to; ++i) {
		record.nargs += pack->counts[i];
	}
	record.size = (size_t)(strings_skip(at, record.nargs) - at);
	return record;
}

struct record packs_slice(const struct pack *pack, uint32_t from, uint32_t to) {
	const char *all = buf_str(&pack->args);
	return records_at(pack, all + records_at(pack, all, 0, from).size, from, to);
}

uint32_t packs_spread(const struct pack *pack, unsigned slots) {
	return slots > 0 && pack->nitems > 1 && !pack->bad ? (pack->nitems + slots - 1) / slots : pack->nitems;
}

void packs_reset(struct pack *pack) {
	buf_reset(&pack->args);
	pack->nargs = pack->nitems = pack->each = pack->given = 0;
	pack->size = 0;
	pack->bad = NULL;
}

void packs_fini(struct pack *pack) {
	buf_fini(&pack->args);
	free(pack->counts);
	*pack = (struct pack){.nargs = 0};
}
