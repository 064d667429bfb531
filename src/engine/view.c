// Looking at the queues of a pool: what each has, and why its next item has not started.

#include "engine/internal.h"

#include "base/alloc.h"

// In the order in which worker.c and fair.c decide.
static enum queue_wait wait_of(const struct pool *pool, const struct queue *queue, uint64_t now) {
	const struct group *group = queue->group;
	const struct fair_queue *fair = &queue->fair;
	if (group->reserver) {
		return group->reserver->reserved_queue == queue ? QUEUE_GATHERS : QUEUE_BEHIND;
	}
	if (!pool->started || pool->paused || fair->paused) {
		return QUEUE_PAUSED;
	}
	if (fair->limit > 0 && fair->running >= fair->limit) {
		return QUEUE_LIMIT;
	}
	if (fair->interval > 0 && fair->exempt == 0 && now < fair->due) {
		return QUEUE_RATE;
	}
	if (!group_has_room(group, 1)) {
		return QUEUE_SLOTS;
	}
	return QUEUE_NEXT;
}

// Fills in what there is to show of the queue. Returns false if nothing of it waits.
static bool view_fill(const struct pool *pool, const struct queue *queue, uint64_t now, struct queue_view *ret_view) {
	const struct worker *reserver = queue->group->reserver;
	bool reserves = reserver && reserver->reserved_queue == queue;
	*ret_view = (struct queue_view){
		.name = queue->name,
		.queued = queue->fair.backlog + queue->nfront + reserves,
		.running = queue->fair.running - reserves,
		.wait = wait_of(pool, queue, now),
		.interval = queue->fair.interval,
		.wait_ns = queue->fair.due > now ? queue->fair.due - now : 0,
		.is_long = queue->group == &pool->groups[1],
		.limit = queue->fair.limit,
		.slots = queue->group->fair.slots,
		.width = reserver ? group_clamp(queue->group, reserver->width) : 1,
	};
	return ret_view->queued > 0;
}

void pool_each_queue(struct pool *pool, queue_view_fn *fn, void *arg) {
	FP_CLEANUP(buf_fini) struct buf views = BUF_INIT;
	mutex_lock(&pool->lock);
	uint64_t now = pool_now(pool);
	list_for_each_entry(&pool->queues, struct queue, queue, link) {
		struct queue_view view;
		if (view_fill(pool, queue, now, &view)) {
			buf_add(&views, &view, sizeof(view));
		}
	}
	mutex_unlock(&pool->lock);
	for (size_t at = 0; at < views.len; at += sizeof(struct queue_view)) {
		struct queue_view view;
		memcpy(&view, views.data + at, sizeof(view));
		fn(arg, &view);
	}
}
