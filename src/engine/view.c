// Looking at the queues of a pool: what each has, and why its next item has not started.

#include "engine/internal.h"

// In the order in which worker.c and fair.c decide.
static enum queue_wait wait_of(const struct pool *pool, const struct queue *queue) {
	const struct side *side = queue->side;
	const struct fair_queue *fair = &queue->fair;
	if (side->holder) {
		return side->holder->held == queue ? QUEUE_GATHERS : QUEUE_BEHIND;
	}
	if (!pool->started || pool->paused || fair->paused) {
		return QUEUE_PAUSED;
	}
	if (fair->limit > 0 && fair->running >= fair->limit) {
		return QUEUE_LIMIT;
	}
	if (!side_has_room(side, 1)) {
		return QUEUE_SLOTS;
	}
	if (pool->gate) {
		return QUEUE_START;
	}
	return fair->blocked ? QUEUE_DISK : QUEUE_NEXT;
}

void pool_each_queue(struct pool *pool, queue_view_fn *fn, void *arg) {
	mutex_lock(&pool->lock);
	list_for_each(&pool->queues, at) {
		const struct queue *queue = list_entry(at, struct queue, link);
		const struct worker *holder = queue->side->holder;
		uint64_t queued = queue->fair.backlog + (holder && holder->held == queue);
		if (queued == 0) {
			continue;
		}
		struct queue_view view = {
			.name = queue->name,
			.queued = queued,
			.running = queue->fair.running - (holder && holder->held == queue),
			.wait = wait_of(pool, queue),
			.is_long = queue->side == &pool->sides[1],
			.limit = queue->fair.limit,
			.slots = queue->side->goal,
			.width = holder ? side_cut(queue->side, holder->width) : 1,
		};
		fn(arg, &view);
	}
	mutex_unlock(&pool->lock);
}
