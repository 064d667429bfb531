// Cancelling what is queued, of one queue or of all, and shutting the pool down.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

// All items of a queue, taken away from it.
struct cancelled {
	struct queue *queue;     // pinned
	struct chunk *chunks;
	uint64_t head_id;
	struct list locals;
	struct list front;       // of struct front
	bool has_reserved;
	struct item_record reserved;      // if so, the one that waited for its slots; its data are owned
	uint64_t nitems;
};

// The queue's item that a worker has taken and that waits for its slots, if it may be cancelled; else NULL.
static struct worker *queue_reserver(const struct queue *queue) {
	struct worker *reserver = queue->group->reserver;
	return reserver && reserver->reserved_queue == queue && !(reserver->flags & RECORD_LAST_ITEM) ? reserver : NULL;
}

// True if there is anything that queue_cancel() would take.
static bool queue_can_cancel(const struct queue *queue) {
	return queue->fair.backlog > (queue->last_state == LAST_DUE) || queue->nfront > 0 || queue_reserver(queue);
}

void reservation_cancel(struct worker *reserver, struct item_record *ret_record, struct deferred *deferred) {
	struct pool *pool = reserver->pool;
	struct group *group = reserver->group;
	struct queue *queue = reserver->reserved_queue;
	uint64_t now = pool_now(pool);
	*ret_record = (struct item_record){.data = reserver->data, .size = (uint32_t)reserver->size, .id = reserver->id, .width = (uint16_t)reserver->width, .turns = reserver->turns};
	ret_record->type = pool_type(pool, reserver->type);
	if (reserver->extra > 0) {
		fair_widen_back(&group->fair, &queue->fair, reserver->extra, now, now);
		reserver->extra = 0;
	}
	fair_give_back(&group->fair, &queue->fair, reserver->picked, now);
	worker_return_token(reserver, queue, now);
	reserver->data = NULL;
	reserver->data_cap = 0;
	reserver->reserved_queue = NULL;
	group->reserver = NULL;
	group_note_order(group);
	--pool->queued;
	if (reserver->parked && !reserver->woken) {
		idle_push(reserver);
	}
	group_wake(pool, group, deferred);
}

// ---- cancelled ----

// Those of the queue that were brought forward.
static void cancel_front(struct queue *queue, struct cancelled *cancelled) {
	list_init(&cancelled->front);
	list_for_each_entry(&queue->group->front, struct front, front, link) {
		if (queue->nfront > 0 && front->queue == queue && !front->worker) {
			front_remove(front);
			list_push_back(&cancelled->front, &front->link);
			++cancelled->nitems;
			--queue->pool->queued;
		}
	}
}

static void queue_cancel(struct queue *queue, struct cancelled *ret_cancelled, struct deferred *deferred) {
	struct pool *pool = queue->pool;
	uint64_t waiting = queue->fair.backlog - (queue->last_state == LAST_DUE);
	*ret_cancelled = (struct cancelled){
		.queue = queue,
		.chunks = queue->head,
		.head_id = queue->head_id,
		.nitems = waiting,
	};
	struct worker *reserver = queue_reserver(queue);
	if (reserver) {
		++ret_cancelled->nitems;
		ret_cancelled->has_reserved = true;
		reservation_cancel(reserver, &ret_cancelled->reserved, deferred);
	}
	cancel_front(queue, ret_cancelled);
	list_for_each(&queue->exempt, at) { // these are among those that wait
		list_remove(at);
		list_push_back(&ret_cancelled->front, at);
	}
	list_init(&ret_cancelled->locals);
	list_for_each(&queue->locals, at) {
		list_remove(at);
		list_push_back(&ret_cancelled->locals, at);
	}
	for (unsigned i = 0; i < queue->nlocal_of; ++i) {
		struct local *local = queue->local_of[i];
		if (local && local->deque.nitems > 0) {
			queue->local_of[i] = NULL; // now the cancelled have it
		}
	}
	for (struct chunk *chunk = queue->head; chunk; chunk = chunk->next) {
		list_remove(&chunk->spillable);
		// who is writing or reading it sees by the state that it must leave it alone
		chunk->state = chunk->data ? CHUNK_MEMORY : CHUNK_DISK;
	}
	queue->head = queue->tail = NULL;
	queue->head_id = queue->tail_id;
	queue->nlocal = queue->ngone = 0;
	queue->bytes = 0;
	pool->queued -= waiting;
	++queue->pins;
	++pool->nbusy;
	fair_withdraw(&queue->group->fair, &queue->fair, waiting, pool_now(pool));
	queue_reach(queue);
}

void record_drop(struct pool *pool, struct queue *queue, const struct item_record *record) {
	const struct work_type *type = pool->types[record->type]; // read without the lock: it was there when we had it
	if (type->drop) {
		void *copy = xmemdup(record->data, record->size);
		type->drop(queue, copy, record->size);
		free(copy);
	}
}

static uint64_t drop_bytes(struct pool *pool, struct cancelled *cancelled, const char *data, size_t len) {
	struct item_record record;
	uint64_t n = 0;
	for (size_t at = 0; at < len;) {
		at += record_decode(data + at, cancelled->head_id, &record);
		cancelled->head_id = record.id;
		if (!(record.flags & RECORD_GONE)) {
			record_drop(pool, cancelled->queue, &record);
			++n;
		}
	}
	return n;
}

static uint64_t drop_chunk(struct pool *pool, struct cancelled *cancelled, struct chunk *chunk) {
	if (chunk->data) {
		return drop_bytes(pool, cancelled, chunk->data + chunk->begin, chunk->end - chunk->begin);
	}
	char *data;
	uint32_t len = chunk_read_all(pool, chunk, &data);
	uint64_t n = drop_bytes(pool, cancelled, data, len);
	free(data);
	mutex_lock(&pool->lock);
	pool->spilled -= len;
	mutex_unlock(&pool->lock);
	return n;
}

static uint64_t drop_local(struct pool *pool, struct cancelled *cancelled, struct local *local) {
	uint64_t n = local->deque.nitems;
	while (local->deque.nitems > 0) {
		struct item_record record;
		deque_take_oldest(&local->deque, &record);
		record_drop(pool, cancelled->queue, &record);
	}
	return n;
}

// Drops them; without the lock. Returns how many.
static uint64_t cancelled_drop(struct pool *pool, struct cancelled *cancelled) {
	struct queue *queue = cancelled->queue;
	uint64_t n = cancelled->has_reserved;
	struct deferred deferred = DEFERRED_INIT;
	if (cancelled->has_reserved) {
		record_drop(pool, queue, &cancelled->reserved);
		free((void *)cancelled->reserved.data);
	}
	list_for_each_entry(&cancelled->front, struct front, front, link) {
		record_drop(pool, queue, &front->record);
		free((void *)front->record.data);
		free(front);
		++n;
	}
	while (cancelled->chunks) {
		struct chunk *chunk = cancelled->chunks;
		n += drop_chunk(pool, cancelled, chunk);
		cancelled->chunks = chunk->next;
		mutex_lock(&pool->lock);
		chunk_unref(pool, chunk, &deferred);
		mutex_unlock(&pool->lock);
	}
	list_for_each_entry(&cancelled->locals, struct local, local, link) {
		n += drop_local(pool, cancelled, local);
		mutex_lock(&pool->lock);
		pool->item_mem -= local->deque.cap;
		pool->struct_mem -= sizeof(*local);
		mutex_unlock(&pool->lock);
		deque_fini(&local->deque);
		free(local);
	}
	verify(n == cancelled->nitems);
	mutex_lock(&pool->lock);
	--queue->pins;
	--pool->nbusy;
	queue_note_low(queue, &deferred);
	queue_check_removal(queue, &deferred);
	pool_notice(pool, &deferred);
	pool_leave(pool, &deferred);
	return n;
}

// ---- cancel and shut down ----

uint64_t pool_cancel(struct pool *pool, struct queue *queue) {
	struct deferred deferred = DEFERRED_INIT;
	struct cancelled cancelled;
	mutex_lock(&pool->lock);
	bool any = !queue->removed && queue_can_cancel(queue);
	if (any) {
		queue_cancel(queue, &cancelled, &deferred);
	}
	pool_leave(pool, &deferred);
	return any ? cancelled_drop(pool, &cancelled) : 0;
}

// Takes the lock, with memory for what each queue has. The caller frees it.
static struct cancelled *lock_to_cancel(struct pool *pool) {
	struct cancelled *cancelled = NULL;
	mutex_lock(&pool->lock);
	for (size_t cap = 0; cap < pool->nqueues;) {
		cap = pool->nqueues;
		mutex_unlock(&pool->lock);
		free(cancelled);
		cancelled = xcalloc(cap, sizeof(cancelled[0]));
		mutex_lock(&pool->lock);
	}
	return cancelled;
}

uint64_t pool_shutdown(struct pool *pool) {
	struct deferred deferred = DEFERRED_INIT;
	struct cancelled *cancelled = lock_to_cancel(pool);
	size_t n = 0;
	if (!pool->shut) {
		pool->shut = true;
		list_for_each_entry(&pool->queues, struct queue, queue, link) {
			if (queue_can_cancel(queue)) {
				queue_cancel(queue, &cancelled[n++], &deferred);
			}
			queue_shut(queue, &deferred);
		}
	}
	bool last = pool->nqueues == 0 && !pool->idle_claimed;
	pool->idle_claimed = pool->idle_claimed || last;
	pool_notice(pool, &deferred);
	++pool->callers; // [E7], also while dropping
	pool_leave(pool, &deferred);
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
