// Worker groups: which worker is woken or started when there is work, and what happens when no thread can be had.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

uint64_t pool_now(const struct pool *pool) {
	return pool->config.now ? pool->config.now(pool->config.hooks.arg) : now_ns();
}

static struct worker *worker_create(struct pool *pool, struct group *group) {
	struct worker *worker = NEW(struct worker);
	worker->pool = pool;
	worker->group = group;
	worker->index = pool->nworkers;
	worker->started = true;
	cond_init(&worker->wake);
	grow_array(&pool->workers, &pool->workers_cap, pool->nworkers + 1, sizeof(pool->workers[0]));
	pool->workers[pool->nworkers++] = worker;
	return worker;
}

// Returns how many threads have an item that may use no slot, and so cannot take another item.
static unsigned threads_away(const struct group *group) {
	return group->lending + (group->reserver != NULL);
}

void pool_ask_again(struct pool *pool) {
	if (pool->asker) {
		pool->asks_again = true;
		cond_signal(&pool->asker->wake);
	}
}

// Returns how many items of a queue that wants could start now, if there were slots for all of them.
static uint64_t queue_demand(const struct fair_queue *fair) {
	uint64_t n = fair->backlog;
	if (fair->interval > 0) { // the exempt items; if there are none, one item by its token
		n = fair->exempt > 0 ? fair->exempt : 1;
	}
	uint64_t room = fair->limit > 0 ? fair->limit - fair->running : UINT64_MAX;
	return n < room ? n : room;
}

uint64_t group_demand(const struct pool *pool, const struct group *group, uint64_t most) {
	uint64_t free = group->fair.slots > group->running ? group->fair.slots - group->running : 0;
	uint64_t n = front_slots(group);
	if (pool->paused) {
		return 0;
	}
	for (struct list *at = pool->queues.next; at != &pool->queues && n < most + free; at = at->next) {
		const struct queue *queue = list_entry(at, struct queue, link);
		if (queue->group == group && queue->fair.wants) {
			n += queue_demand(&queue->fair);
		}
	}
	n = n > free ? n - free : 0;
	return n < most ? n : most;
}

// Has hooks.starving called if the demand of the group is greater than demand_known [E16].
static void note_demand(struct pool *pool, const struct group *group, struct deferred *deferred) {
	bool waits = front_first(group) || fair_is_eligible(&group->fair);
	if (group == &pool->groups[0] && waits && pool->started && group_demand(pool, group, pool->demand_known + 1) > pool->demand_known) {
		pool->demand_known = DEMAND_ANY;
		deferred->starving = deferred->any = true;
	}
}

void idle_push(struct worker *worker) {
	worker->below = worker->group->idle;
	worker->group->idle = worker;
}

static uint64_t next_due(const struct group *group) {
	uint64_t due = group->fair.nheld > 0 ? fair_next_due(&group->fair) : TIME_NEVER;
	uint64_t front = front_next_due(group);
	return front < due ? front : due;
}

// True if a worker has to become the timer, or the timer has to wake earlier, for the next token of a rate [E14]. That is so only if a slot is free,
// or one could be had by hooks.starving; else the worker whose item ends next looks for tokens.
static bool needs_timer(const struct pool *pool, const struct group *group) {
	bool is_free = group->running < group->fair.slots && (!group->reserver || !list_is_empty(&group->front));
	bool can_be_had = pool->config.hooks.starving && group == &pool->groups[0];
	return pool->has_rates && (is_free || can_be_had) && pool->dispatches && next_due(group) < (group->timer ? group->timer_due : TIME_NEVER);
}

bool timer_claim(struct worker *worker) {
	struct group *group = worker->group;
	if (group->timer || group->reserver == worker || !needs_timer(worker->pool, group)) {
		return false;
	}
	group->timer = worker;
	group->timer_due = next_due(group);
	return true;
}

static void wake_worker(struct pool *pool, struct group *group, struct deferred *deferred) {
	if (pool->asker && (pool->asker->group == group || !group_is_for_last(group))) {
		if (group_is_for_last(group)) {
			pool_ask_again(pool);
		}
		return;
	}
	size_t kind = group == &pool->groups[1];
	bool for_timer = !group_has_work(pool, group); // no item may start: wakes the timer, to wake earlier, or a worker, to become the timer
	bool for_reserver = !for_timer && group_is_for_reserver(group);
	bool takes_timer = !group->idle || (for_timer && group->timer);
	struct worker *worker = for_reserver ? group->reserver : takes_timer ? group->timer : group->idle;
	if (for_reserver && !worker->parked) {
		return; // the reserver will look by itself
	}
	unsigned most = group->fair.slots + threads_away(group) + (for_timer && group->running >= group->fair.slots); // a timer takes no slot
	if (worker) {
		group->idle = worker == group->idle ? worker->below : group->idle;
		group->timer = worker == group->timer ? NULL : group->timer;
		worker->woken = true;
		++pool->wakes;
		deferred->wake[kind] = worker;
	} else if (group->nthreads < most && (group->nthreads < group->thread_limit || group->nthreads <= threads_away(group))) {
		++group->nthreads;
		deferred->start[kind] = worker_create(pool, group);
	} else {
		return;
	}
	group->waking = true;
	deferred->any = true;
}

void group_wake(struct pool *pool, struct group *group, struct deferred *deferred) {
	front_settle(group);
	if (!group->waking && (group_has_work(pool, group) || needs_timer(pool, group))) {
		wake_worker(pool, group, deferred);
	} else if (pool->demand_known != DEMAND_ANY) {
		note_demand(pool, group, deferred);
	}
}

void groups_wake(struct pool *pool, struct deferred *deferred) {
	group_wake(pool, &pool->groups[0], deferred);
	group_wake(pool, &pool->groups[1], deferred);
}

// ---- threads ----

// To be called when a worker's thread could not be started (EAGAIN: the system allows no more threads). The group goes on with the
// threads it has, if one of them can take items. If none can, the start is tried again when an item ends; if no item runs
// that could end, fairpar ends with a message.
static void worker_not_started(struct worker *worker, int error, struct deferred *deferred) {
	struct pool *pool = worker->pool;
	struct group *group = worker->group;
	mutex_lock(&pool->lock);
	worker->started = false;
	group->waking = false;
	--group->nthreads;
	bool alone = group->nthreads <= threads_away(group);
	if (!alone) {
		group->thread_limit = group->nthreads;
		group_wake(pool, group, deferred); // a worker may have parked while this start was on its way
	} else {
		pool->thread_retry = group;
		alone = pool->groups[0].running + pool->groups[1].running == 0 && (!pool->groups[0].reserver || front_first(&pool->groups[0]));
	}
	bool first = !pool->warned_threads;
	pool->warned_threads = true;
	mutex_unlock(&pool->lock);
	if (alone) {
		diag_die("cannot start a thread: %s", strerror(error));
	}
	if (first && pool->config.hooks.trouble) {
		pool->config.hooks.trouble(pool->config.hooks.arg, "threads", error);
	}
}

void worker_start(struct worker *worker, struct deferred *deferred) {
	struct pool *pool = worker->pool;
	int error = thread_start(&worker->thread, pool->worker_main, worker, pool->config.stack_bytes);
	if (error) {
		worker_not_started(worker, error, deferred);
	}
}

void worker_free(struct worker *worker) {
	if (worker->scratch && worker->scratch_fini) {
		worker->scratch_fini(worker->scratch);
	}
	cond_fini(&worker->wake);
	free(worker);
}
