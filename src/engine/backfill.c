// Which items may pass (start before) a wide item, one that takes several slots, while it waits until enough slots are free [E15].
//
// The method is EASY backfill (Lifka, JSSPP 1995). Nothing here runs unless a wide item waits for its slots.

#include "engine/internal.h"

// Returns when the worker's item is expected to give its slots back: by the median length that its queue's items had when the item began or, if there
// was none, by the present median. A later median is not used: items that pass would change it, and could put off the time at which the wide item is
// expected to start.
static uint64_t expected_end(const struct worker *worker) {
	bool is_typical = !(worker->flags & ITEM_LAST);
	uint64_t length = worker->expected > 0 ? worker->expected : is_typical ? queue_length(worker->queue) : 0;
	return length > 0 ? worker->facts.start + worker->away + length : TIME_NEVER;
}

static bool uses_slots(const struct worker *worker, const struct group *group) {
	return worker->queue && worker->group == group && worker->lending == KEEPS;
}

// Returns how many slots are free at `time` if every item ends when it is expected to.
static uint64_t free_at(const struct pool *pool, const struct group *group, uint64_t time) {
	uint64_t taken = 0;
	for (unsigned i = 0; i < pool->nworkers; ++i) {
		const struct worker *worker = pool->workers[i];
		taken += uses_slots(worker, group) && expected_end(worker) > time ? worker->width : 0;
	}
	return taken < group->fair.slots ? group->fair.slots - taken : 0;
}

// Returns the first time from `now` on at which `width` slots are expected to be free (the shadow time), if overdue items end at once. Returns `now`,
// so that nothing passes, if that time is not known: an item of unknown length, or only overdue items, would have to end first.
static uint64_t expected_start(const struct pool *pool, const struct group *group, uint32_t width, uint64_t now) {
	uint64_t low = now, high = now;
	for (unsigned i = 0; i < pool->nworkers; ++i) {
		const struct worker *worker = pool->workers[i];
		uint64_t end = uses_slots(worker, group) ? expected_end(worker) : TIME_NEVER;
		high = end != TIME_NEVER && end > high ? end : high;
	}
	if (free_at(pool, group, high) < width) {
		return now;
	}
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (free_at(pool, group, middle) >= width) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return low;
}

struct passing {
	const struct group *group;
	uint64_t left;           // nanoseconds until the wide item is expected to start
};

// Are there free slots for the queue's next item, and is the item expected to end within passing->left?
static bool may_pass(const void *arg, const struct fair_queue *fair) {
	const struct passing *passing = arg;
	const struct queue *queue = list_entry(fair, struct queue, fair);
	uint64_t length = queue_length(queue);
	return length > 0 && length <= passing->left && group_has_room(passing->group, queue->widest);
}

struct queue *backfill_find(struct pool *pool, struct group *group) {
	if (group->running >= group->fair.slots || !fair_is_eligible(&group->fair)) {
		return NULL;
	}
	uint64_t now = pool_now(pool);
	uint64_t start = expected_start(pool, group, group_clamp(group, group->reserver->width), now);
	const struct passing passing = {.group = group, .left = start - now};
	struct fair_queue *fair = start > now ? fair_peek_filtered(&group->fair, may_pass, &passing, now) : NULL;
	return fair ? list_entry(fair, struct queue, fair) : NULL;
}
