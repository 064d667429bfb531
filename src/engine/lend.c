// Items that lend their slots while they wait for other items or for something else, and items that are brought forward [E12] [E13] [E17].

#include "engine/internal.h"

#include "base/diag.h"

// ---- lending ----

static void lend(struct worker *worker, struct deferred *deferred) {
	struct pool *pool = worker->pool;
	struct group *group = worker->group;
	struct queue *queue = worker->queue;
	verify(queue);
	if (worker->lending == RETURNS) {
		front_remove(&worker->back);
	} else if (worker->lending == KEEPS) {
		uint64_t now = pool_now(pool);
		++group->lending;
		group->lending_pending += worker->state == PENDING;
		++queue->pins;
		group->running -= worker->width;
		worker->lent_at = now;
		fair_unexpect(&worker->job);
		fair_done(&group->fair, &queue->fair, worker->extra, now);
	}
	worker->lending = LENDS;
	group_wake(pool, group, deferred);
	if (pool->config.hooks.surplus && !group_wants(group) && group == &pool->groups[0]) { // reported here, as perhaps no worker looks for work now
		pool->surplus_reported = deferred->surplus = deferred->any = true;
	}
}

void pool_lend(struct pool *pool, struct worker *worker) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	lend(worker, &deferred);
}

static void reclaim(struct worker *worker, bool waits) {
	if (worker->lending != KEEPS && !waits) {
		front_give_back(worker);
	} else if (worker->lending == LENDS) {
		worker->lending = RETURNS;
		worker->back = (struct front){.queue = worker->queue, .worker = worker};
		front_add(&worker->back);
	}
}

void pool_reclaim(struct pool *pool, struct worker *worker, bool waits) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	reclaim(worker, waits);
	group_wake(pool, worker->group, &deferred);
}

bool worker_keeps_slots(struct worker *worker) {
	FP_HOLD(&worker->pool->lock);
	return worker->lending == KEEPS;
}

// ---- waiting for something other than slots ----

void worker_wait_begin(struct worker *worker) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(worker->pool);
	++worker->group->waiting;
	++worker->queue->holds; // before the slots are lent, as the queue's next item would take them
	queue_set_pause(worker->queue);
	lend(worker, &deferred);
}

void worker_wait_end(struct worker *worker, int why, const atomic_bool *refusal) {
	struct pool *pool = worker->pool;
	struct group *group = worker->group;
	struct queue *queue = worker->queue;
	struct deferred deferred = pool_enter(pool);
	reclaim(worker, /* waits */ refusal); // before the queue is released: its next items start behind this one
	--group->waiting;
	--queue->holds;
	queue->limit_left = pool_now(pool);
	queue->limit_why = why;
	queue_set_pause(queue);
	group_wake(pool, group, &deferred);
	pool_leave(&deferred);
	mutex_lock(&pool->lock);
	// a pool that was shut may lose all of its slots for good. The atomic load pairs with the store of begin_termination()
	while (worker->lending != KEEPS && (!pool->shut || group->fair.slots > 0) && !atomic_load_acquire(refusal)) {
		cond_wait(&worker->runner->wake, &pool->lock);
	}
	mutex_unlock(&pool->lock);
	pool_reclaim(pool, worker, /* waits */ false);
}

void waiting_wake(struct pool *pool) {
	for (unsigned i = 0; i < pool->nrunners; ++i) {
		cond_signal(&pool->runners[i]->wake);
	}
}

// ---- one item ----

// Takes the item with that id from wherever it waits, except in the front. Returns NULL if it is not found.
static struct queued_item *take_item(struct queue *queue, uint64_t id, struct deferred *deferred) {
	const struct group *group = queue->group;
	struct worker *reserver = group->reserver;
	bool holds = reserver && reserver->reserved_queue == queue && reserver->item->id == id;
	return holds ? reservation_cancel(reserver, deferred) : queue_take_id(queue, id);
}

static struct front *find_front(const struct queue *queue, uint64_t id) {
	list_for_each_entry(&queue->group->front, struct front, front, link) {
		if (front->queue == queue && !front->worker && front->item->id == id) {
			return front;
		}
	}
	return NULL;
}

bool pool_bring_forward(struct pool *pool, struct queue *queue, uint64_t id) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	bool found = queue->nfront > 0 && find_front(queue, id);
	struct queued_item *item = found || queue->removed ? NULL : take_item(queue, id, &deferred);
	if (item) {
		front_add_item(queue, item);
		queue_note_low(queue, &deferred);
	}
	group_wake(pool, queue->group, &deferred);
	return found || item;
}
