// What is done once the pool's lock was given back: waking and starting workers, reading chunks back, calling hooks.

#include "engine/internal.h"

#include "base/alloc.h"

#include <unistd.h>

// The queue was pinned for a hook that has returned.
static void queue_unpin(struct queue *queue, struct errands *errands) {
	mutex_lock(&queue->pool->lock);
	--queue->pins;
	queue_check_removal(queue, errands);
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

// Calls hooks.removed, then hooks.idle if that was the last; without the lock.
static void queue_remove(struct pool *pool, struct queue *queue) {
	if (pool->config.hooks.removed) {
		pool->config.hooks.removed(pool->config.hooks.arg, queue, queue->submitted);
	}
	mutex_lock(&pool->lock);
	--pool->nbusy;
	--pool->nqueues;
	bool last = pool->nqueues == 0 && !pool->idle_claimed;
	if (last) {
		pool->idle_claimed = true;
		pool->stage = POOL_CLOSED;
	}
	if (queue->opens == 0) {
		queue_bury(queue);
	} else {
		queue->pins = 0;
		queue->next_removed = queue; // its hook has returned: the last close buries it
	}
	struct errands errands = ERRANDS_INIT;
	pool_notice(pool, &errands);
	pool_leave(pool, &errands);
	if (last) {
		pool_become_idle(pool);
	}
}

// What a thread has to report to hooks.removed.
struct removal {
	struct pool *pool;
	struct queue *queues;
};

static void remove_all(struct pool *pool, struct queue *queues) {
	static _Thread_local struct removal *current;
	if (current && current->pool == pool) { // we are inside hooks.removed: later [E5]
		struct queue *last = queues;
		while (last->next_removed) {
			last = last->next_removed;
		}
		last->next_removed = current->queues;
		current->queues = queues;
		return;
	}
	struct removal mine = {.pool = pool, .queues = queues}, *outer = current;
	current = &mine;
	while (mine.queues) {
		struct queue *queue = mine.queues;
		mine.queues = queue->next_removed; // before the queue is freed
		queue_remove(pool, queue);
	}
	current = outer;
}

// Calls the hooks; `more` is what that leads to.
static void errands_call(struct pool *pool, const struct errands *errands, struct errands *more) {
	const struct pool_hooks *hooks = &pool->config.hooks;
	if (errands->spill_error && hooks->trouble) {
		hooks->trouble(hooks->arg, "spill", errands->spill_error);
	}
	if (errands->low) {
		if (hooks->low) {
			hooks->low(hooks->arg, errands->low);
		}
		queue_unpin(errands->low, more);
	}
	if (errands->settle && hooks->settle) {
		hooks->settle(hooks->arg);
	}
	if (errands->reserving) {
		hooks->reserving(hooks->arg, errands->reserving, errands->reserving_id, errands->reserving_width);
		queue_unpin(errands->reserving, more);
	}
	if (errands->low_all && hooks->low) {
		hooks->low(hooks->arg, NULL);
	}
	if (errands->removed) {
		remove_all(pool, errands->removed);
	}
}

// Reads a chunk back; what waited for it goes on.
static void load_chunk(struct pool *pool, struct queue *queue, struct chunk *chunk, struct errands *errands) {
	struct chunk_loaded loaded = chunk_read(pool, chunk);
	mutex_lock(&pool->lock);
	queue_load(queue, chunk, &loaded, errands);
	--queue->pins;
	queue_check_removal(queue, errands);
	pool_notice(pool, errands);
	side_wake(pool, queue->side, errands);
	mutex_unlock(&pool->lock);
	free(loaded.rest);
	free(loaded.data);
}

void errands_run(struct pool *pool, struct errands *errands) {
	while (errands->any) {
		struct errands now = *errands;
		*errands = (struct errands)ERRANDS_INIT;
		for (int side = 0; side < 2; ++side) {
			if (now.wake[side]) {
				cond_signal(&now.wake[side]->wake);
			}
			if (now.start[side]) {
				worker_start(now.start[side], errands);
			}
		}
		if (now.close_fd >= 0) {
			close(now.close_fd);
		}
		if (now.load) {
			load_chunk(pool, now.load_queue, now.load, errands);
		}
		errands_call(pool, &now, errands);
	}
}

void pool_leave(struct pool *pool, struct errands *errands) {
	if (!errands->any) {
		mutex_unlock(&pool->lock);
		return;
	}
	++pool->guests; // [E7]
	mutex_unlock(&pool->lock);
	errands_run(pool, errands);
	mutex_lock(&pool->lock);
	if (--pool->guests == 0 && pool->quit) {
		cond_broadcast(&pool->idle_cond);
	}
	mutex_unlock(&pool->lock);
}

void pool_notice_now(struct pool *pool, struct errands *errands) {
	if (pool->full_need > 0 && hold_has_room(pool, pool->full_need)) {
		pool->full_need = 0;
		errands->low_all = errands->any = true;
	}
	if (pool->waiting_inside > 0 && idle_inside(pool)) {
		cond_broadcast(&pool->idle_cond);
	}
}
