// The order in which jobs were dispatched, kept by the slots that they were dispatched to.

#include "run/start_order.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/list.h"

struct queued_start {
	struct list link;
	cond turn;
};

struct start_order {
	mutex lock;             // taken under the pool's; nothing is locked under it
	struct list places;     // in order of dispatch
	struct queued_start **by_slot; // of a slot, or NULL: it is not in the line
	size_t nslots;
};

void start_order_open(struct run *run) {
	const struct options *options = run->options;
	if (!options->print_commands && (!options->interactive || options->dry_run)) {
		return;
	}
	struct start_order *start_order = run->start_order = NEW(struct start_order);
	mutex_init(&start_order->lock);
	list_init(&start_order->places);
}

void start_order_close(struct run *run) {
	struct start_order *start_order = run->start_order;
	if (start_order) {
		verify(list_is_empty(&start_order->places));
		mutex_fini(&start_order->lock);
		free(start_order->by_slot);
		free(start_order);
		run->start_order = NULL;
	}
}

// With the lock.
static struct queued_start **place_of(struct start_order *start_order, unsigned slot) {
	size_t had = start_order->nslots;
	if (slot >= had) {
		grow_array(&start_order->by_slot, &start_order->nslots, (size_t)slot + 1, sizeof(*start_order->by_slot));
		memset(start_order->by_slot + had, 0, (start_order->nslots - had) * sizeof(*start_order->by_slot));
	}
	return &start_order->by_slot[slot];
}

void start_order_add(struct run *run, unsigned slot) {
	struct start_order *start_order = run->start_order;
	if (!start_order) {
		return;
	}
	struct queued_start *place = NEW(struct queued_start);
	cond_init(&place->turn);
	mutex_lock(&start_order->lock);
	struct queued_start **at = place_of(start_order, slot);
	verify(!*at);
	*at = place;
	list_push_back(&start_order->places, &place->link);
	mutex_unlock(&start_order->lock);
}

void start_order_wait(struct run *run, unsigned slot) {
	struct start_order *start_order = run->start_order;
	if (!start_order) {
		return;
	}
	mutex_lock(&start_order->lock);
	struct queued_start *place = *place_of(start_order, slot);
	while (place && start_order->places.next != &place->link) {
		cond_wait(&place->turn, &start_order->lock);
	}
	mutex_unlock(&start_order->lock);
}

void start_order_pass(struct run *run, unsigned slot) {
	struct start_order *start_order = run->start_order;
	if (!start_order) {
		return;
	}
	mutex_lock(&start_order->lock);
	struct queued_start **at = place_of(start_order, slot), *place = *at;
	*at = NULL;
	if (place) {
		list_remove(&place->link);
		cond_fini(&place->turn);
		free(place);
	}
	if (place && !list_is_empty(&start_order->places)) {
		cond_signal(&list_entry(start_order->places.next, struct queued_start, link)->turn);
	}
	mutex_unlock(&start_order->lock);
}
