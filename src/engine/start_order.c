// The order in which jobs were dispatched, kept by the slots that they were dispatched to.

#include "engine/start_order.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/sync.h"

struct start_order {
	mutex lock;         // taken under the pool's; nothing is locked under it
	cond passed;        // one of them has
	unsigned max_long;  // dedicated threads
	unsigned slots, more; // the most that start_order_reserve() was asked for
	uint64_t last;      // number of the last dispatch
	uint64_t *dispatch; // by slot, from 0 on, which none has: the number of the dispatch that has not passed; or 0
	size_t nslots;
};

struct start_order *start_order_create(unsigned max_long) {
	struct start_order *start_order = NEW(struct start_order);
	start_order->max_long = max_long;
	mutex_init(&start_order->lock, LOCK_START_ORDER);
	cond_init(&start_order->passed);
	return start_order;
}

void start_order_destroy(struct start_order *start_order) {
	if (start_order) {
		for (size_t i = 0; i < start_order->nslots; ++i) {
			verify(start_order->dispatch[i] == 0);
		}
		mutex_fini(&start_order->lock);
		cond_fini(&start_order->passed);
		free(start_order->dispatch);
		free(start_order);
	}
}

void start_order_reserve(struct start_order *start_order, unsigned slots, unsigned more) {
	if (!start_order) {
		return;
	}
	mutex_lock(&start_order->lock);
	start_order->slots = slots > start_order->slots ? slots : start_order->slots;
	start_order->more = more > start_order->more ? more : start_order->more;
	size_t want = (size_t)start_order->slots + start_order->more + start_order->max_long + 1;
	mutex_unlock(&start_order->lock);
	uint64_t *longer = xcalloc(want, sizeof(*longer)), *unused = longer;
	mutex_lock(&start_order->lock);
	if (want > start_order->nslots) {
		unused = start_order->dispatch;
		for (size_t i = 0; i < start_order->nslots; ++i) {
			longer[i] = unused[i];
		}
		start_order->dispatch = longer;
		start_order->nslots = want;
	}
	mutex_unlock(&start_order->lock);
	free(unused);
}

void start_order_add(struct start_order *start_order, unsigned slot) {
	if (!start_order) {
		return;
	}
	mutex_lock(&start_order->lock);
	verify(slot < start_order->nslots && start_order->dispatch[slot] == 0);
	start_order->dispatch[slot] = ++start_order->last;
	mutex_unlock(&start_order->lock);
}

// Has that slot to wait for others? With the lock.
static bool is_behind(const struct start_order *start_order, unsigned slot) {
	bool behind = false;
	for (size_t i = 0; i < start_order->nslots; ++i) {
		behind |= start_order->dispatch[i] != 0 && start_order->dispatch[i] < start_order->dispatch[slot];
	}
	return behind;
}

void start_order_wait(struct start_order *start_order, unsigned slot) {
	if (!start_order) {
		return;
	}
	mutex_lock(&start_order->lock);
	while (is_behind(start_order, slot)) {
		cond_wait(&start_order->passed, &start_order->lock);
	}
	mutex_unlock(&start_order->lock);
}

void start_order_pass(struct start_order *start_order, unsigned slot) {
	if (!start_order) {
		return;
	}
	mutex_lock(&start_order->lock);
	if (start_order->dispatch[slot] != 0) {
		start_order->dispatch[slot] = 0;
		cond_broadcast(&start_order->passed);
	}
	mutex_unlock(&start_order->lock);
}
