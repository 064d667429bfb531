// The order in which jobs were dispatched, kept by the slots that they were dispatched to.

#include "run/start_order.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/list.h"
#include "base/sync.h"

struct queued_start {
	struct list link;
	cond turn;
	bool waits; // it is in the line
};

struct start_order {
	mutex reserving;        // held while by_slot is made longer; taken before `lock`
	mutex lock;             // taken under the pool's; nothing is locked under it
	struct list places;     // in order of dispatch
	unsigned max_long;      // dedicated threads
	struct queued_start **by_slot; // from slot 0 on, which none has
	size_t nslots;
};

struct start_order *start_order_create(unsigned max_long) {
	struct start_order *start_order = NEW(struct start_order);
	start_order->max_long = max_long;
	mutex_init(&start_order->reserving, LOCK_START_ORDER_GROWTH);
	mutex_init(&start_order->lock, LOCK_START_ORDER);
	list_init(&start_order->places);
	return start_order;
}

void start_order_destroy(struct start_order *start_order) {
	if (start_order) {
		verify(list_is_empty(&start_order->places));
		mutex_fini(&start_order->lock);
		mutex_fini(&start_order->reserving);
		for (size_t i = 0; i < start_order->nslots; ++i) {
			cond_fini(&start_order->by_slot[i]->turn);
			free(start_order->by_slot[i]);
		}
		free(start_order->by_slot);
		free(start_order);
	}
}

void start_order_reserve(struct start_order *start_order, unsigned slots) {
	if (!start_order) {
		return;
	}
	mutex_lock(&start_order->reserving);
	size_t want = (size_t)slots + start_order->max_long + 1, n = start_order->nslots;
	if (want > n) {
		struct queued_start **by_slot = xcalloc(want, sizeof(by_slot[0])), **old = start_order->by_slot;
		for (size_t i = 0; i < want; ++i) {
			by_slot[i] = i < n ? old[i] : NEW(struct queued_start);
			if (i >= n) {
				cond_init(&by_slot[i]->turn);
			}
		}
		mutex_lock(&start_order->lock);
		start_order->by_slot = by_slot;
		start_order->nslots = want;
		mutex_unlock(&start_order->lock);
		free(old);
	}
	mutex_unlock(&start_order->reserving);
}

// With the lock.
static struct queued_start *place_of(struct start_order *start_order, unsigned slot) {
	verify(slot < start_order->nslots);
	return start_order->by_slot[slot];
}

void start_order_add(struct start_order *start_order, unsigned slot) {
	if (!start_order) {
		return;
	}
	mutex_lock(&start_order->lock);
	struct queued_start *place = place_of(start_order, slot);
	verify(!place->waits);
	place->waits = true;
	list_push_back(&start_order->places, &place->link);
	mutex_unlock(&start_order->lock);
}

void start_order_wait(struct start_order *start_order, unsigned slot) {
	if (!start_order) {
		return;
	}
	mutex_lock(&start_order->lock);
	struct queued_start *place = place_of(start_order, slot);
	while (place->waits && start_order->places.next != &place->link) {
		cond_wait(&place->turn, &start_order->lock);
	}
	mutex_unlock(&start_order->lock);
}

void start_order_pass(struct start_order *start_order, unsigned slot) {
	if (!start_order) {
		return;
	}
	mutex_lock(&start_order->lock);
	struct queued_start *place = place_of(start_order, slot);
	bool waited = place->waits;
	if (waited) {
		place->waits = false;
		list_remove(&place->link);
	}
	if (waited && !list_is_empty(&start_order->places)) {
		cond_signal(&list_entry(start_order->places.next, struct queued_start, link)->turn);
	}
	mutex_unlock(&start_order->lock);
}
