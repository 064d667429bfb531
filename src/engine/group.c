// Groups: which thread is woken or started when there is work, and what happens when no thread can be started.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

uint64_t pool_now(const struct pool *pool) {
	return pool->config.now ? pool->config.now(pool->config.hooks.arg) : now_ns();
}

struct worker *spare_take(struct pool *pool, struct group *group) {
	struct worker *worker = group->spares;
	if (worker) {
		group->spares = worker->below;
		return worker;
	}
	worker = NEW(struct worker);
	worker->pool = pool;
	worker->group = group;
	worker->index = pool->nworkers;
	list_init(&worker->resumed);
	*NEW_ELEMENT(pool->workers, pool->nworkers, pool->workers_cap) = worker;
	return worker;
}

void spare_give(struct worker *worker) {
	worker->runner = NULL;
	worker->below = worker->group->spares;
	worker->group->spares = worker;
}

void pool_ask_again(struct pool *pool) {
	if (pool->asker) {
		pool->asks_again = true;
		cond_signal(&pool->asker->wake);
	}
}

// Returns how many items of a queue that has fair_queue.wants set could start now, if there were slots for all of them.
static uint64_t queue_demand(const struct fair_queue *fair) {
	uint64_t n = fair->backlog;
	if (fair->interval > 0) { // the exempt items need no token; without exempt items, one item can take the token
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

// Notes that hooks.starving is to be called, if the demand of the group is greater than demand_known [E16].
static void note_demand(struct pool *pool, const struct group *group, struct deferred *deferred) {
	bool waits = front_first(group) || fair_is_eligible(&group->fair);
	if (group == &pool->groups[0] && waits && pool->started && group_demand(pool, group, pool->demand_known + 1) > pool->demand_known) {
		pool->demand_known = DEMAND_ANY;
		deferred->starving = deferred->any = true;
	}
}

void idle_push(struct runner *runner) {
	runner->below = runner->group->idle;
	runner->group->idle = runner;
}

static uint64_t next_due(const struct group *group) {
	uint64_t due = fair_next_due(&group->fair);
	uint64_t front = front_next_due(group);
	return front < due ? front : due;
}

// True if a thread has to become the timer, or the timer has to wake earlier, for the next token of a rate [E14]. Either is needed only if a slot
// is free or could be had by hooks.starving; else the thread whose item ends next looks for tokens.
static bool needs_timer(const struct pool *pool, const struct group *group) {
	bool is_free = group->running < group->fair.slots && (!group->reserver || !list_is_empty(&group->front));
	bool can_be_had = pool->config.hooks.starving && group == &pool->groups[0];
	return pool->has_rates && (is_free || can_be_had) && pool_dispatches(pool) && next_due(group) < (group->timer ? group->timer_due : TIME_NEVER);
}

bool timer_claim(struct runner *runner) {
	struct group *group = runner->group;
	if (group->timer || group->reserver == runner->worker || !needs_timer(runner->pool, group)) {
		return false;
	}
	group->timer = runner;
	group->timer_due = next_due(group);
	return true;
}

// True if the group may have one more thread.
static bool may_start_thread(const struct pool *pool, const struct group *group, bool for_timer) {
	bool is_full = group->running >= group->fair.slots;
	unsigned most = is_full ? group->running : group->fair.slots; // running items may take more slots than there are now
	most = pool->bound > 0 && group == &pool->groups[0] && pool->bound < most ? pool->bound : most;
	most += threads_away(group) + (for_timer && is_full); // a timer takes no slot
	return group->nthreads < most && (group->nthreads < group->thread_limit || group->nthreads <= threads_away(group));
}

void worker_charge(struct worker *worker, struct queue *queue, uint32_t extra, uint64_t now) {
	struct fair *fair = &worker->group->fair;
	if (extra > worker->extra) {
		fair_charge(fair, &queue->fair, extra - worker->extra, extra - worker->extra, now);
	} else if (extra < worker->extra) {
		fair_give_back(fair, &queue->fair, /* items */ 0, worker->extra - extra, now, now);
	}
	worker->extra = extra;
}

void worker_return_token(const struct worker *worker, struct queue *queue, uint64_t now) {
	if (worker->token_due > 0 && queue->fair.due == worker->token_due) {
		fair_set_due(&queue->group->fair, &queue->fair, now, now);
	}
}

struct queued_item *reservation_cancel(struct worker *reserver, struct deferred *deferred) {
	struct pool *pool = reserver->pool;
	struct group *group = reserver->group;
	struct queue *queue = reserver->reserved_queue;
	uint64_t now = pool_now(pool);
	struct queued_item *item = reserver->item;
	worker_charge(reserver, queue, /* extra */ 0, now);
	fair_give_back(&group->fair, &queue->fair, /* items */ 1, /* extra */ 0, reserver->facts.picked, now);
	worker_return_token(reserver, queue, now);
	reserver->item = NULL;
	reserver->reserved_queue = NULL;
	group->reserver = NULL;
	--pool->queued;
	if (reserver->runner->parked && !reserver->runner->woken) {
		idle_push(reserver->runner);
	}
	group_wake(pool, group, deferred);
	return item;
}

// True if an item runs on its slots, and so may end by itself, or is pending, and so may be resumed.
static bool any_item_goes_on(const struct pool *pool) {
	for (unsigned i = 0; i < pool->nworkers; ++i) {
		const struct worker *worker = pool->workers[i];
		if (worker->queue && (worker->runner ? worker->lending == KEEPS : worker->state == PENDING)) {
			return true;
		}
	}
	return false;
}

// Starts a thread for the group. If the system allows no more threads (EAGAIN), the group goes on with its threads if one of them can take items.
// Else, if items are resumed and only the reserver's thread is there for them, the reserver's item goes to the front [E18]. Else the start is tried
// again when an item ends or is resumed; if no item can end or be resumed, and no thread is about to look for work, fairpar ends with a message.
static void runner_start(struct pool *pool, struct group *group, struct deferred *deferred) {
	struct runner *runner = NEW(struct runner);
	*runner = (struct runner){.pool = pool, .group = group, .worker = spare_take(pool, group)};
	runner->worker->runner = runner;
	cond_init(&runner->wake);
	int error = thread_start(&runner->handle, pool->runner_main, runner, pool->config.stack_bytes);
	if (error == 0) {
		*NEW_ELEMENT(pool->runners, pool->nrunners, pool->runners_cap) = runner;
		++group->nthreads;
		group->waking = true;
		return;
	}
	spare_give(runner->worker);
	cond_fini(&runner->wake);
	free(runner);
	if (!pool->warned_threads) {
		pool->warned_threads = deferred->any = true;
		deferred->thread_error = error;
	}
	if (group->nthreads > threads_away(group)) {
		group->thread_limit = group->nthreads;
	} else if (group->reserver && !list_is_empty(&group->resumed)) {
		struct queue *queue = group->reserver->reserved_queue;
		front_add_item(queue, reservation_cancel(group->reserver, deferred));
	} else {
		pool->thread_retry = group;
		bool goes_on = any_item_goes_on(pool) || pool->groups[0].waking || pool->groups[1].waking;
		if (!goes_on && (!pool->groups[0].reserver || front_first(&pool->groups[0]))) {
			diag_die("cannot start a thread: %s", strerror(error));
		}
	}
}

bool group_wake_thread(struct pool *pool, struct group *group, struct deferred *deferred) {
	bool resumes = !list_is_empty(&group->resumed), has_work = false;
	if (group->waking || !(resumes || (has_work = group_has_work(pool, group)) || needs_timer(pool, group))) {
		return false;
	}
	if (pool->asker && !resumes && (pool->asker->group == group || !group_is_for_last(group))) {
		if (group_is_for_last(group)) {
			pool_ask_again(pool);
		}
		return true;
	}
	bool for_timer = !resumes && !has_work; // no item may start: the timer is to wake earlier, or another thread is to become the timer
	bool for_reserver = !resumes && has_work && group_is_for_reserver(group);
	bool takes_timer = !group->idle || (for_timer && group->timer);
	struct runner *runner = for_reserver ? group->reserver->runner : takes_timer ? group->timer : group->idle;
	if (for_reserver && !runner->parked) {
		return true; // the reserver's thread is awake, and will look for work by itself
	}
	if (runner) {
		group->idle = runner == group->idle ? runner->below : group->idle;
		group->timer = runner == group->timer ? NULL : group->timer;
		runner->woken = true;
		++pool->wakes;
		deferred->wake[group == &pool->groups[1]] = runner;
		group->waking = deferred->any = true;
	} else if (may_start_thread(pool, group, for_timer)) {
		runner_start(pool, group, deferred);
	} else if (resumes && pool->asker && pool->asker->group == group) {
		pool_ask_again(pool); // there is no other thread: the asker takes the resumed item
	}
	return true;
}

void group_wake(struct pool *pool, struct group *group, struct deferred *deferred) {
	front_settle(group);
	if (!group_wake_thread(pool, group, deferred) && pool->demand_known != DEMAND_ANY) {
		note_demand(pool, group, deferred);
	}
}

void groups_wake(struct pool *pool, struct deferred *deferred) {
	group_wake(pool, &pool->groups[0], deferred);
	group_wake(pool, &pool->groups[1], deferred);
}

void worker_free(struct worker *worker) {
	if (worker->scratch && worker->scratch_fini) {
		worker->scratch_fini(worker->scratch);
	}
	free(worker);
}
