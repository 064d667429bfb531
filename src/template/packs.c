// Packing: how many records go into one job (-n, -N, -L, -X, -m, --xargs, -s). Pure: no input, no queue, no clock.

#include "template/packs.h"

#include "base/alloc.h"
#include "template/command.h"

#include <stdio.h>

// The longest text of `sh -c TEXT`, behind which a NUL and in front of which a blank may stand.
enum { STRING_MAX = COMMAND_STRING_MAX - 2 };

// ---- lengths ----

size_t packs_chars(const struct template_measure *measure, uint32_t nargs, size_t chars) {
	size_t more = nargs > 0 ? nargs - 1 : 0;
	size_t all = measure->plain + chars;
	if (measure->repeats) {
		all += nargs * measure->context + more * measure->words;
	} else {
		all += measure->context + more * measure->inserts;
	}
	return measure->is_quoted ? 3 * all : all; // -q: GNU parallel expects the worst
}

// Can execve() take it, by `is_string` as one string too?
static bool fits_system(const struct pack_limits *limits, uint32_t nargs, size_t real, bool is_string) {
	const struct template_measure *measure = &limits->measure;
	size_t text = packs_chars(measure, nargs, real);
	size_t safer = (size_t)nargs * measure->overhead + (measure->doubles ? real : 0);
	// a word costs its NUL and its pointer
	size_t words = measure->is_direct ? (size_t)nargs * measure->inserts * (1 + sizeof(char *)) : 0;
	return (!is_string || text + safer <= STRING_MAX) && (limits->room == 0 || text + safer + words <= limits->room);
}

static const char *describe_length(const struct pack_limits *limits, uint32_t nargs, size_t chars) {
	static _Thread_local char text[80];
	size_t len = packs_chars(&limits->measure, nargs, chars);
	size_t most = limits->strict && len >= limits->chars ? limits->chars : STRING_MAX;
	snprintf(text, sizeof(text), "command line too long (%zu >= %zu)", len, most);
	return text;
}

// ---- packs ----

static void append(struct pack *pack, const struct pack_limits *limits, const struct record *record) {
	if (!limits->inserts_none) {
		buf_add(&pack->args, record->args, record->size);
		pack->nargs += record->nargs;
	}
	if (limits->waits) {
		grow_array(&pack->ends, &pack->ends_cap, pack->nitems + 1, sizeof(pack->ends[0]));
		pack->ends[pack->nitems] = (struct pack_end){pack->args.len, pack->nargs};
	}
	++pack->nitems;
}

// A record that cannot be an item: the pack as a whole fails, and shows that one.
static void mark_bad(struct pack *pack, const struct pack_limits *limits, const struct record *record, const char *bad) {
	uint32_t nitems = pack->nitems;
	packs_reset(pack);
	append(pack, limits, record);
	pack->nitems = nitems + 1;
	pack->bad = bad;
}

static bool fits(const struct pack_limits *limits, uint32_t nargs, size_t chars, size_t real, bool is_alone) {
	if (limits->fills && !is_alone) {
		return fits_system(limits, nargs, real, /* is_string */ false);
	}
	bool is_short = packs_chars(&limits->measure, nargs, chars) < limits->chars || (is_alone && !limits->strict);
	return limits->inserts_none || (is_short && fits_system(limits, nargs, real, /* is_string */ true));
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
	struct expansion x = {.record = record, .seq = seq, .slot = 1};
	size_t chars, real;
	template_measure_record(limits->template, &x, pack->nargs, &chars, &real);
	uint32_t nargs = pack->nargs + record->nargs;
	if (fits(limits, nargs, pack->chars + chars, pack->real + real, pack->nitems == 0)) {
		append(pack, limits, record);
		pack->chars += chars;
		pack->real += real;
		return PACK_TAKEN;
	}
	if (counts && !fits(limits, record->nargs, chars, real, /* is_alone */ true)) {
		mark_bad(pack, limits, record, too_long);
		return PACK_TAKEN;
	}
	if (pack->nitems > 0) {
		return PACK_FULL;
	}
	*ret_bad = describe_length(limits, nargs, real > chars ? real : chars);
	return PACK_ALONE;
}

size_t packs_join_size(const struct pack_limits *limits) {
	enum { MOST = 4096, LEAST = 64, LONGER = 8 }; // LONGER: as many times as long is the text of an item for a shell at most
	size_t most = limits->fills || limits->chars / 16 > MOST ? MOST : limits->chars / 16;
	while (most >= LEAST && !packs_fit(limits, (uint32_t)most, LONGER * most * limits->measure.inserts)) {
		most /= 2;
	}
	return limits->measure.changes || limits->inserts_none || most < LEAST ? 0 : most;
}

bool packs_measure(const struct pack_limits *limits, const struct record *record, uint64_t seq, uint32_t *ret_size,
                   const char **ret_bad) {
	struct expansion x = {.record = record, .seq = seq, .slot = 1};
	size_t chars, real;
	if (limits->fills) { // the words are the arguments as they are
		chars = real = (record->size - record->nargs) * limits->measure.inserts;
	} else {
		template_measure_record(limits->template, &x, /* before */ 0, &chars, &real);
	}
	size_t size = real > chars ? real : chars;
	if (!fits(limits, record->nargs, chars, real, /* is_alone */ true)) {
		*ret_bad = describe_length(limits, record->nargs, size);
		return false;
	}
	*ret_size = (uint32_t)size; // what fits is below 4 GiB
	return true;
}

bool packs_fit(const struct pack_limits *limits, uint32_t nargs, size_t size) {
	return fits(limits, nargs, size, size, /* is_alone */ false);
}

bool packs_add_all(struct pack *pack, const struct pack_limits *limits, const struct record *record, uint64_t seq) {
	struct expansion x = {.record = record, .seq = seq, .slot = 1};
	size_t chars, real;
	template_measure_record(limits->template, &x, pack->nargs, &chars, &real);
	if (pack->bad || !fits(limits, pack->nargs + record->nargs, pack->chars + chars, pack->real + real, /* is_alone */ false)) {
		return false;
	}
	const char *at = record->args;
	for (uint32_t i = 0; i < record->nargs; ++i) {
		append(pack, limits, &(struct record){.args = at, .size = strlen(at) + 1, .nargs = 1});
		at += strlen(at) + 1;
	}
	pack->chars += chars;
	pack->real += real;
	return true;
}

bool packs_is_complete(const struct pack *pack, const struct pack_limits *limits) {
	return !limits->waits && limits->items > 0 && pack->nitems >= limits->items;
}

struct record packs_record(const struct pack *pack) {
	return (struct record){.args = buf_str(&pack->args), .size = pack->args.len, .nargs = pack->nargs};
}

struct record packs_slice(const struct pack *pack, uint32_t from, uint32_t to) {
	const struct pack_end none = {0, 0};
	const struct pack_end *begin = from > 0 ? &pack->ends[from - 1] : &none, *end = to > 0 ? &pack->ends[to - 1] : &none;
	return (struct record){
		.args = buf_str(&pack->args) + begin->size,
		.size = end->size - begin->size,
		.nargs = end->nargs - begin->nargs,
	};
}

uint32_t packs_spread(const struct pack *pack, unsigned slots) {
	return slots > 0 && pack->nitems > 1 && !pack->bad ? (pack->nitems + slots - 1) / slots : pack->nitems;
}

void packs_reset(struct pack *pack) {
	buf_reset(&pack->args);
	pack->nargs = pack->nitems = pack->each = pack->given = 0;
	pack->chars = pack->real = 0;
	pack->bad = NULL;
}

void packs_fini(struct pack *pack) {
	buf_fini(&pack->args);
	free(pack->ends);
	*pack = (struct pack){.nargs = 0};
}
