// Cancelling what is queued, of one queue or of all, and shutting the pool down.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

// All items of a queue, taken away from it.
struct doomed {
	struct queue *queue;     // pinned
	struct chunk *chunks;
	uint64_t head_id;
	struct list locals;
	bool has_held;
	struct item_record held;      // if so, the one that waited for its slots; its data are owned
	uint64_t nitems;
};

// The queue's item that a worker has taken and that waits for its slots, if it may be cancelled; else NULL.
static struct worker *queue_holder(const struct queue *queue) {
	struct worker *holder = queue->side->holder;
	return holder && holder->held == queue && !(holder->flags & RECORD_FINALE) ? holder : NULL;
}

// True if there is anything that queue_doom() would take.
static bool queue_can_doom(const struct queue *queue) {
	return queue->fair.backlog > (queue->finale_state == FINALE_DUE) || queue_holder(queue);
}

// Takes the item that waits for its slots away from its worker, who need not know: it looks for other work. Its turns are
// given back. The record's data and context are the caller's to free.
static void holder_rob(struct worker *holder, struct item_record *ret_record, struct errands *errands) {
	struct pool *pool = holder->pool;
	struct side *side = holder->side;
	struct queue *queue = holder->held;
	uint64_t now = pool_now(pool);
	*ret_record = (struct item_record){.data = holder->data, .size = (uint32_t)holder->size, .context = holder->context};
	ret_record->type = pool_type(pool, holder->type);
	if (holder->extra > 0) {
		fair_widen_back(&side->fair, &queue->fair, holder->extra, now, now);
		holder->extra = 0;
	}
	fair_give_back(&side->fair, &queue->fair, holder->picked, now);
	holder->data = NULL;
	holder->data_cap = 0;
	holder->context = NULL;
	holder->held = NULL;
	side->holder = NULL;
	--pool->queued;
	if (holder->parked && !holder->woken) {
		idle_push(holder);
	}
	side_wake(pool, side, errands);
}

// ---- cancelled ----

static void queue_doom(struct queue *queue, struct doomed *ret_doomed, struct errands *errands) {
	struct pool *pool = queue->pool;
	uint64_t waiting = queue->fair.backlog - (queue->finale_state == FINALE_DUE);
	*ret_doomed = (struct doomed){
		.queue = queue,
		.chunks = queue->head,
		.head_id = queue->head_id,
		.nitems = waiting,
	};
	struct worker *holder = queue_holder(queue);
	if (holder) {
		++ret_doomed->nitems;
		ret_doomed->has_held = true;
		holder_rob(holder, &ret_doomed->held, errands);
	}
	list_init(&ret_doomed->locals);
	list_for_each(&queue->locals, at) {
		list_remove(at);
		list_push_back(&ret_doomed->locals, at);
	}
	for (unsigned i = 0; i < queue->nlocal_of; ++i) {
		struct local *local = queue->local_of[i];
		if (local && local->lane.nitems > 0) {
			queue->local_of[i] = NULL; // now the doomed have it
		}
	}
	for (struct chunk *chunk = queue->head; chunk; chunk = chunk->next) {
		list_remove(&chunk->spillable);
		// who is writing or reading it sees by the state that it must leave it alone
		chunk->state = chunk->data ? CHUNK_MEMORY : CHUNK_DISK;
	}
	queue->head = queue->tail = NULL;
	queue->head_id = queue->tail_id;
	queue->nlocal = 0;
	queue->bytes = 0;
	pool->queued -= waiting;
	++queue->pins;
	++pool->nbusy;
	fair_withdraw(&queue->side->fair, &queue->fair, waiting, pool_now(pool));
	queue_reach(queue);
}

void record_drop(struct pool *pool, struct queue *queue, const struct item_record *record) {
	const struct work_type *type = pool->types[record->type]; // read without the lock: it was there when we had it
	if (type->drop) {
		void *copy = xmemdup(record->data, record->size);
		type->drop(queue, copy, record->size);
		free(copy);
	}
	if (record->context && pool->config.hooks.context_unref) {
		mutex_lock(&pool->lock);
		pool->config.hooks.context_unref(record->context);
		mutex_unlock(&pool->lock);
	}
}

static uint64_t drop_bytes(struct pool *pool, struct doomed *doomed, const char *data, size_t len) {
	struct item_record record;
	uint64_t n = 0;
	for (size_t at = 0; at < len; ++n) {
		at += record_decode(data + at, doomed->head_id, &record);
		doomed->head_id = record.id;
		record_drop(pool, doomed->queue, &record);
	}
	return n;
}

static uint64_t drop_chunk(struct pool *pool, struct doomed *doomed, struct chunk *chunk) {
	if (chunk->data) {
		return drop_bytes(pool, doomed, chunk->data + chunk->begin, chunk->end - chunk->begin);
	}
	char *data;
	uint32_t len = chunk_read_all(pool, chunk, &data);
	uint64_t n = drop_bytes(pool, doomed, data, len);
	free(data);
	mutex_lock(&pool->lock);
	pool->spilled -= len;
	mutex_unlock(&pool->lock);
	return n;
}

static uint64_t drop_local(struct pool *pool, struct doomed *doomed, struct local *local) {
	uint64_t n = local->lane.nitems;
	while (local->lane.nitems > 0) {
		struct item_record record;
		lane_take_oldest(&local->lane, &record);
		record_drop(pool, doomed->queue, &record);
	}
	return n;
}

// Drops them; without the lock. Returns how many.
static uint64_t doomed_drop(struct pool *pool, struct doomed *doomed) {
	struct queue *queue = doomed->queue;
	uint64_t n = doomed->has_held;
	struct errands errands = ERRANDS_INIT;
	if (doomed->has_held) {
		record_drop(pool, queue, &doomed->held);
		free((void *)doomed->held.data);
	}
	while (doomed->chunks) {
		struct chunk *chunk = doomed->chunks;
		n += drop_chunk(pool, doomed, chunk);
		doomed->chunks = chunk->next;
		mutex_lock(&pool->lock);
		chunk_unref(pool, chunk, &errands);
		mutex_unlock(&pool->lock);
	}
	list_for_each(&doomed->locals, at) {
		struct local *local = list_entry(at, struct local, link);
		n += drop_local(pool, doomed, local);
		mutex_lock(&pool->lock);
		pool->item_mem -= local->lane.cap;
		pool->struct_mem -= sizeof(*local);
		mutex_unlock(&pool->lock);
		lane_fini(&local->lane);
		free(local);
	}
	verify(n == doomed->nitems);
	mutex_lock(&pool->lock);
	--queue->pins;
	--pool->nbusy;
	if (!queue->removed && queue->low_armed && queue->bytes < queue->attrs.low_water && !queue->closed) {
		queue->low_armed = false;
		++queue->pins;
		errands.low = queue;
		errands.any = true;
	}
	queue_check_removal(queue, &errands);
	pool_notice(pool, &errands);
	pool_leave(pool, &errands);
	return n;
}

// ---- cancel and shut down ----

// Takes the queued items of all queues away from them. Returns how many queues have had some.
static size_t doom_all(struct pool *pool, struct doomed *doomed, struct errands *errands) {
	size_t n = 0;
	list_for_each(&pool->queues, at) {
		struct queue *queue = list_entry(at, struct queue, link);
		if (queue_can_doom(queue)) {
			queue_doom(queue, &doomed[n++], errands);
		}
	}
	return n;
}

// Drops them and frees the array; without the lock. Returns how many items.
static uint64_t drop_all(struct pool *pool, struct doomed *doomed, size_t n) {
	uint64_t dropped = 0;
	for (size_t i = 0; i < n; ++i) {
		dropped += doomed_drop(pool, &doomed[i]);
	}
	free(doomed);
	return dropped;
}

// Takes the lock, with memory for what doom_all() returns. The caller frees it.
static struct doomed *lock_to_doom(struct pool *pool) {
	struct doomed *doomed = NULL;
	mutex_lock(&pool->lock);
	for (size_t cap = 0; cap < pool->nqueues;) {
		cap = pool->nqueues;
		mutex_unlock(&pool->lock);
		free(doomed);
		doomed = xcalloc(cap, sizeof(doomed[0]));
		mutex_lock(&pool->lock);
	}
	return doomed;
}

static uint64_t cancel_all(struct pool *pool) {
	struct errands errands = ERRANDS_INIT;
	struct doomed *doomed = lock_to_doom(pool);
	size_t n = doom_all(pool, doomed, &errands);
	pool_leave(pool, &errands);
	return drop_all(pool, doomed, n);
}

uint64_t pool_cancel(struct pool *pool, struct queue *queue) {
	if (!queue) {
		return cancel_all(pool);
	}
	struct errands errands = ERRANDS_INIT;
	struct doomed doomed;
	mutex_lock(&pool->lock);
	bool any = !queue->removed && queue_can_doom(queue);
	if (any) {
		queue_doom(queue, &doomed, &errands);
	}
	pool_leave(pool, &errands);
	return any ? doomed_drop(pool, &doomed) : 0;
}

uint64_t pool_shutdown(struct pool *pool, enum pool_stage stage) {
	struct errands errands = ERRANDS_INIT;
	size_t n = 0;
	if (stage > POOL_CANCELLING) {
		stage = POOL_CANCELLING; // CLOSED is reached, not asked for
	}
	struct doomed *doomed = lock_to_doom(pool);
	if (stage > pool->stage) {
		pool->stage = stage;
		n = stage == POOL_CANCELLING ? doom_all(pool, doomed, &errands) : 0;
		list_for_each(&pool->queues, at) {
			queue_shut(list_entry(at, struct queue, link), &errands);
		}
	}
	bool last = pool->nqueues == 0 && pool->stage != POOL_OPEN && !pool->idle_claimed;
	if (last) {
		pool->idle_claimed = true;
		pool->stage = POOL_CLOSED;
	}
	pool_notice(pool, &errands);
	++pool->guests; // [E7], also while dropping
	pool_leave(pool, &errands);
	uint64_t dropped = drop_all(pool, doomed, n);
	if (last) {
		pool_become_idle(pool);
	}
	mutex_lock(&pool->lock);
	--pool->guests;
	cond_broadcast(&pool->idle_cond);
	mutex_unlock(&pool->lock);
	return dropped;
}
