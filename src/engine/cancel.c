// Cancels the queued items of one queue or of all queues, and shuts the pool down.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

// The queued items of a queue, which were taken out of it to be dropped.
struct cancelled {
	struct queue *queue;     // pinned
	struct list items, extents, tail; // oldest items first, as struct queue holds them
	uint64_t nitems;
};

// Returns the worker that has taken a wide item of the queue and waits for the slots of that item; or NULL.
static struct worker *queue_reserver(const struct queue *queue) {
	struct worker *reserver = queue->group->reserver;
	return reserver && reserver->reserved_queue == queue ? reserver : NULL;
}

// True if the queue has an item that queue_cancel() would take.
static bool queue_can_cancel(const struct queue *queue) {
	return queue->fair.backlog > 0 || queue->nfront > 0 || queue_reserver(queue);
}

// ---- cancelled ----

// Takes out of the front the items of the queue that were brought forward, but not the queue's last item.
static void cancel_front(struct queue *queue, struct cancelled *cancelled) {
	list_for_each_entry(&queue->group->front, struct front, front, link) {
		if (queue->nfront > 0 && front->queue == queue && !front->worker && !(front->item->flags & ITEM_LAST)) {
			front_remove(front);
			list_push_back(&cancelled->items, &front->item->link);
			free(front);
			++cancelled->nitems;
			--queue->pool->queued;
		}
	}
}

static void queue_cancel(struct queue *queue, struct cancelled *ret_cancelled, struct deferred *deferred) {
	struct pool *pool = queue->pool;
	uint64_t waiting = queue->fair.backlog;
	*ret_cancelled = (struct cancelled){.queue = queue, .nitems = waiting};
	list_init(&ret_cancelled->items);
	list_init(&ret_cancelled->extents);
	list_init(&ret_cancelled->tail);
	struct worker *reserver = queue_reserver(queue);
	if (reserver) {
		++ret_cancelled->nitems;
		list_push_back(&ret_cancelled->items, &reservation_cancel(reserver, deferred)->link);
	}
	cancel_front(queue, ret_cancelled);
	queue_take_all(queue, &ret_cancelled->items, &ret_cancelled->extents, &ret_cancelled->tail);
	pool->queued -= waiting;
	++queue->pins;
	fair_withdraw(&queue->group->fair, &queue->fair, waiting, pool_now(pool));
}

static uint64_t drop_all(struct queue *queue, struct list *items) {
	uint64_t n = 0;
	list_for_each_entry(items, struct queued_item, item, link) {
		list_remove(&item->link);
		item_drop(queue, item);
		++n;
	}
	return n;
}

// Drops the items; without the lock. Returns how many.
static uint64_t cancelled_drop(struct pool *pool, struct cancelled *cancelled) {
	struct queue *queue = cancelled->queue;
	uint64_t n = drop_all(queue, &cancelled->items);
	while (!list_is_empty(&cancelled->extents)) {
		struct extent *extent = list_entry(cancelled->extents.next, struct extent, link);
		size_t bytes = extent_read(pool, extent, SIZE_MAX, &cancelled->items);
		struct deferred deferred = pool_enter(pool);
		pool->spilled -= bytes;
		extent_free(pool, extent, &deferred);
		pool_leave(&deferred);
		n += drop_all(queue, &cancelled->items);
	}
	n += drop_all(queue, &cancelled->tail);
	verify(n == cancelled->nitems);
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	--queue->pins;
	queue_note_low(queue, &deferred);
	queue_check_removal(queue, &deferred);
	return n;
}

// ---- cancel and shut down ----

uint64_t pool_cancel(struct pool *pool, struct queue *queue) {
	struct cancelled cancelled;
	struct deferred deferred = pool_enter(pool);
	bool any = !queue->removed && queue_can_cancel(queue);
	if (any) {
		queue_cancel(queue, &cancelled, &deferred);
	}
	pool_leave(&deferred);
	return any ? cancelled_drop(pool, &cancelled) : 0;
}

uint64_t pool_shutdown(struct pool *pool) {
	size_t n = 0;
	struct deferred deferred = pool_enter(pool);
	struct cancelled *cancelled = xcalloc(pool->nqueues + 1, sizeof(cancelled[0]));
	if (!pool->shut) {
		pool->shut = true;
		list_for_each_entry(&pool->queues, struct queue, queue, link) {
			if (queue_can_cancel(queue)) {
				queue_cancel(queue, &cancelled[n++], &deferred);
			}
			queue_shut(queue, &deferred);
		}
	}
	waiting_wake(pool);
	bool last = pool->nqueues == 0 && !pool->idle_claimed;
	pool->idle_claimed = pool->idle_claimed || last;
	++pool->callers; // pool_destroy() waits for this thread [E7], also while the thread drops items
	pool_leave(&deferred);
	uint64_t dropped = 0;
	for (size_t i = 0; i < n; ++i) {
		dropped += cancelled_drop(pool, &cancelled[i]);
	}
	free(cancelled);
	if (last) {
		pool_become_idle(pool);
	}
	mutex_lock(&pool->lock);
	--pool->callers;
	cond_broadcast(&pool->idle_cond);
	mutex_unlock(&pool->lock);
	return dropped;
}
