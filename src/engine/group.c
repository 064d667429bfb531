// Worker groups: which worker is woken or started when there is work, and what happens when no thread can be had.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

uint64_t pool_clock(const struct pool *pool) {
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

// Threads that have an item and cannot take another, though it may use no slot.
static unsigned threads_away(const struct group *group) {
	return group->lending + (group->reserver != NULL);
}

void group_wake_now(struct pool *pool, struct group *group, struct deferred *deferred) {
	if (pool->pacer) {
		return;
	}
	size_t kind = group == &pool->groups[1];
	bool for_reserver = group->reserver && !front_first(group);
	struct worker *worker = for_reserver ? group->reserver : group->idle;
	if (for_reserver && !worker->parked) {
		return; // it will look by itself
	}
	if (worker) {
		group->idle = for_reserver ? group->idle : worker->below;
		worker->woken = true;
		++pool->wakes;
		deferred->wake[kind] = worker;
	} else if (group->nthreads < group->capacity + threads_away(group) && (group->nthreads < group->thread_limit || group->nthreads <= threads_away(group))) {
		++group->nthreads;
		alloc_forbid(-1); // once for a worker
		deferred->start[kind] = worker_create(pool, group);
		alloc_forbid(+1);
	} else {
		return;
	}
	group->waking = true;
	deferred->any = true;
}

void group_wake_in_order(struct pool *pool, struct group *group, struct deferred *deferred) {
	front_settle(group);
	if (!group->waking && group_has_work(pool, group)) {
		group_wake_now(pool, group, deferred);
	} else if (pool->starving_armed) {
		group_note_starving(pool, group, deferred);
	}
}

void group_note_starving(struct pool *pool, const struct group *group, struct deferred *deferred) {
	bool waits = front_first(group) || (fair_is_eligible(&group->fair) && group->running >= group->capacity);
	if (group == &pool->groups[0] && waits && pool->started) {
		pool->starving_armed = false;
		deferred->starving = deferred->any = true;
	}
}

void idle_push(struct worker *worker) {
	worker->below = worker->group->idle;
	worker->group->idle = worker;
}

// ---- threads ----

// EAGAIN: there are as many threads as there can be, which is no failure as long as the group has one. If it has none, it
// tries again each time an item of the other group ends.
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
	free(worker->data);
	free(worker->lengths);
	free(worker);
}
