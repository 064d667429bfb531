// The packs of a run that are being filled: one for each input, or one for each batch that is found in the input.

#include "run/packing.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <unistd.h>

enum { SPARE_BYTES = 4096 }; // for the variables that are set for each job, and what the kernel puts beside them

// Bytes that execve() has for arguments: the environment takes from the same (execve(2), "Limits on size").
static size_t argument_room(const struct job_spec *spec) {
	long most = sysconf(_SC_ARG_MAX);
	size_t taken = SPARE_BYTES;
	for (size_t i = 0; i < spec->nenv; ++i) {
		taken += strlen(spec->env[i]) + 1 + sizeof(char *);
	}
	return most <= 0 ? 0 : (size_t)most > taken ? (size_t)most - taken : 1;
}

// A single argument of what is put together by time would be that of any item.
static int refuse_columns(const struct run *run) {
	const struct job_spec *spec = &run->spec;
	const struct template *all[] = {spec->command, spec->on_failure, spec->tag, spec->workdir};
	bool found = false;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
		found = found || (all[i] && template_has_columns(all[i]));
	}
	for (size_t i = 0; i < spec->nthen; ++i) {
		found = found || template_has_columns(spec->then[i]);
	}
	if (found) {
		diag_error("--pack: a process has many items, so {1} and the names of columns say nothing; {} stands for all of them");
	}
	return found ? -1 : 0;
}

int packing_init(struct packing_state *packing, struct run *run) {
	const struct packing *options = &run->options->packing;
	struct pack_limits *limits = &packing->limits;
	limits->items = options->items;
	limits->chars = options->chars > 0 ? options->chars : PACK_CHARS_MAX;
	limits->strict = options->chars > 0;
	limits->room = argument_room(&run->spec);
	limits->waits = options->spreads;
	limits->inserts_none = options->inserts_none;
	limits->template = run->spec.command;
	template_measure(limits->template, &limits->measure);
	packing->slots = options->spreads ? run->slots : 0;
	if (options->by_time) {
		run->packs = limits;
		return refuse_columns(run);
	}
	return 0;
}

struct keyed_pack *packing_find(struct packing_state *packing, const char *name, uint64_t hash) {
	struct keyed_pack **bucket = &packing->buckets[hash % PACKING_OPEN];
	struct keyed_pack *keyed = *bucket;
	while (keyed && (keyed->hash != hash || strcmp(keyed->name, name) != 0)) {
		keyed = keyed->next;
	}
	if (keyed) {
		list_remove(&keyed->used);
	} else {
		keyed = NEW(struct keyed_pack);
		keyed->hash = hash;
		keyed->name = xstrdup(name);
		keyed->next = *bucket;
		*bucket = keyed;
		++packing->n;
	}
	list_push_back(&packing->used, &keyed->used);
	return keyed;
}

struct keyed_pack *packing_oldest(struct packing_state *packing) {
	return list_is_empty(&packing->used) ? NULL : list_entry(packing->used.next, struct keyed_pack, used);
}

void packing_remove(struct packing_state *packing, struct keyed_pack *keyed) {
	struct keyed_pack **at = &packing->buckets[keyed->hash % PACKING_OPEN];
	while (*at != keyed) {
		at = &(*at)->next;
	}
	*at = keyed->next;
	list_remove(&keyed->used);
	--packing->n;
	packs_fini(&keyed->pack);
	free(keyed->name);
	free(keyed);
}

bool packing_give(struct pack *pack, unsigned slots, struct run *run, struct submission *submission,
                  bool (*submit)(struct run *run, struct submission *submission)) {
	if (pack->each == 0) {
		pack->each = slots > 0 ? packs_spread(pack, slots) : pack->nitems;
	}
	while (pack->given < pack->nitems) {
		if (submission_is_full(submission) && !submit(run, submission)) {
			return false;
		}
		uint32_t to = pack->nitems - pack->given > pack->each ? pack->given + pack->each : pack->nitems;
		struct record record = pack->each >= pack->nitems ? packs_record(pack) : packs_slice(pack, pack->given, to);
		submission_add(submission, &record, 0, pack->bad);
		pack->given = to;
	}
	packs_reset(pack);
	return true;
}
