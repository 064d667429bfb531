// What is done after the pool's lock is given back: threads are woken, and hooks are called.

#include "engine/internal.h"

#include "base/io.h"

// Unpins the queue, which was pinned for a hook that has returned.
static void queue_unpin(struct queue *queue, struct deferred *deferred) {
	mutex_lock(&queue->pool->lock);
	--queue->pins;
	queue_check_removal(queue, deferred);
	mutex_unlock(&queue->pool->lock);
}

void pool_become_idle(struct pool *pool) {
	if (pool->config.hooks.idle) {
		pool->config.hooks.idle(pool->config.hooks.arg);
	}
	mutex_lock(&pool->lock);
	pool->idle = true;
	cond_broadcast(&pool->idle_cond);
	mutex_unlock(&pool->lock);
}

// Calls hooks.removed for the queue; then, if it was the last queue, hooks.idle. Without the lock.
static void queue_remove(struct pool *pool, struct queue *queue) {
	if (pool->config.hooks.removed) {
		pool->config.hooks.removed(pool->config.hooks.arg, queue, queue->submitted);
	}
	struct deferred deferred = pool_enter(pool);
	--pool->nqueues;
	bool last = pool->nqueues == 0 && !pool->idle_claimed;
	if (last) {
		pool->idle_claimed = true;
		pool->shut = true;
	}
	if (queue->opens == 0) {
		queue_retire(queue);
	} else {
		queue->pins = 0;
		queue->next_removed = queue; // tells pool_queue_close() that the hook has returned: the last close frees the queue
	}
	pool_leave(&deferred);
	if (last) {
		pool_become_idle(pool);
	}
}

// Calls the hooks. Deferred actions that the hooks cause are added to `more`.
static void deferred_call(const struct deferred *deferred, struct deferred *more) {
	struct pool *pool = deferred->pool;
	const struct pool_hooks *hooks = &pool->config.hooks;
	if (deferred->spill_error && hooks->trouble) {
		hooks->trouble(hooks->arg, "spill", deferred->spill_error);
	}
	if (deferred->thread_error && hooks->trouble) {
		hooks->trouble(hooks->arg, "threads", deferred->thread_error);
	}
	if (deferred->low) {
		if (hooks->low) {
			hooks->low(hooks->arg, deferred->low);
		}
		queue_unpin(deferred->low, more);
	}
	if (deferred->flush && hooks->flush) {
		hooks->flush(hooks->arg);
	}
	if (deferred->starving) {
		hooks->starving(hooks->arg);
	}
	if (deferred->surplus) {
		hooks->surplus(hooks->arg);
	}
	if (deferred->reserving) {
		hooks->reserving(hooks->arg, deferred->reserving, deferred->reserving_id, deferred->reserving_width);
		queue_unpin(deferred->reserving, more);
	}
	if (deferred->low_all && hooks->low) {
		hooks->low(hooks->arg, NULL);
	}
	for (struct queue *queue = deferred->removed, *next; queue; queue = next) {
		next = queue->next_removed; // read now, as queue_remove() may free the queue
		queue_remove(pool, queue);
	}
}

void deferred_run(struct deferred *deferred) {
	while (deferred->any) {
		struct deferred now = *deferred;
		*deferred = (struct deferred)DEFERRED_INIT(now.pool);
		for (int group = 0; group < 2; ++group) {
			if (now.wake[group]) {
				cond_signal(&now.wake[group]->wake);
			}
		}
		fd_close(&now.close_fd);
		deferred_call(&now, deferred);
	}
}

struct deferred pool_enter(struct pool *pool) {
	mutex_lock(&pool->lock);
	return (struct deferred)DEFERRED_INIT(pool);
}

void pool_leave(struct deferred *deferred) {
	struct pool *pool = deferred->pool;
	pool_notice(pool, deferred);
	if (!deferred->any) {
		mutex_unlock(&pool->lock);
		return;
	}
	++pool->callers; // [E7]
	mutex_unlock(&pool->lock);
	deferred_run(deferred);
	mutex_lock(&pool->lock);
	if (--pool->callers == 0 && pool->quit) {
		cond_broadcast(&pool->idle_cond);
	}
	mutex_unlock(&pool->lock);
}

void queue_note_low(struct queue *queue, struct deferred *deferred) {
	if (queue->low_armed && queue->bytes < queue->attrs.low_water && !queue->closed) {
		queue->low_armed = false;
		++queue->pins;
		deferred->low = queue;
		deferred->any = true;
	}
}

void pool_notice(struct pool *pool, struct deferred *deferred) {
	if (pool->full_need > 0 && storage_has_room(pool, pool->full_need)) {
		pool->full_need = 0;
		deferred->low_all = deferred->any = true;
	}
}
