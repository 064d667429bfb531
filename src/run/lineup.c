// The order in which jobs were dispatched, kept by the slots that they were dispatched to.

#include "run/lineup.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/list.h"

struct place {
	struct list link;
	cond turn;
};

struct lineup {
	mutex lock;             // taken under the pool's; nothing is locked under it
	struct list places;     // in order of dispatch
	struct place **by_slot; // of a slot, or NULL: it is not in the line
	size_t nslots;
};

void lineup_open(struct run *run) {
	const struct options *options = run->options;
	if (!options->print_commands && (!options->interactive || options->dry_run)) {
		return;
	}
	struct lineup *lineup = run->lineup = NEW(struct lineup);
	mutex_init(&lineup->lock);
	list_init(&lineup->places);
}

void lineup_close(struct run *run) {
	struct lineup *lineup = run->lineup;
	if (lineup) {
		verify(list_is_empty(&lineup->places));
		mutex_fini(&lineup->lock);
		free(lineup->by_slot);
		free(lineup);
		run->lineup = NULL;
	}
}

// With the lock.
static struct place **place_of(struct lineup *lineup, unsigned slot) {
	size_t had = lineup->nslots;
	if (slot >= had) {
		grow_array(&lineup->by_slot, &lineup->nslots, (size_t)slot + 1, sizeof(*lineup->by_slot));
		memset(lineup->by_slot + had, 0, (lineup->nslots - had) * sizeof(*lineup->by_slot));
	}
	return &lineup->by_slot[slot];
}

void lineup_add(struct run *run, unsigned slot) {
	struct lineup *lineup = run->lineup;
	if (!lineup) {
		return;
	}
	struct place *place = NEW(struct place);
	cond_init(&place->turn);
	mutex_lock(&lineup->lock);
	struct place **at = place_of(lineup, slot);
	verify(!*at);
	*at = place;
	list_push_back(&lineup->places, &place->link);
	mutex_unlock(&lineup->lock);
}

void lineup_wait(struct run *run, unsigned slot) {
	struct lineup *lineup = run->lineup;
	if (!lineup) {
		return;
	}
	mutex_lock(&lineup->lock);
	struct place *place = *place_of(lineup, slot);
	while (place && lineup->places.next != &place->link) {
		cond_wait(&place->turn, &lineup->lock);
	}
	mutex_unlock(&lineup->lock);
}

void lineup_pass(struct run *run, unsigned slot) {
	struct lineup *lineup = run->lineup;
	if (!lineup) {
		return;
	}
	mutex_lock(&lineup->lock);
	struct place **at = place_of(lineup, slot), *place = *at;
	*at = NULL;
	if (place) {
		list_remove(&place->link);
		cond_fini(&place->turn);
		free(place);
	}
	if (place && !list_is_empty(&lineup->places)) {
		cond_signal(&list_entry(lineup->places.next, struct place, link)->turn);
	}
	mutex_unlock(&lineup->lock);
}
