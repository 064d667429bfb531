// Worker groups: which worker is woken or started when there is work, and what happens when no thread can be had.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

uint64_t pool_clock(const struct pool *pool) {
	return pool->config.now ? pool->config.now(pool->config.hooks.arg) : now_ns();
}

static struct worker *worker_create(struct pool *pool, struct side *side) {
	struct worker *worker = NEW(struct worker);
	worker->pool = pool;
	worker->side = side;
	worker->index = pool->nworkers;
	worker->started = true;
	cond_init(&worker->wake);
	grow_array(&pool->workers, &pool->workers_cap, pool->nworkers + 1, sizeof(pool->workers[0]));
	pool->workers[pool->nworkers++] = worker;
	return worker;
}

void side_wake_now(struct pool *pool, struct side *side, struct errands *errands) {
	if (pool->gate) {
		return;
	}
	size_t kind = side == &pool->sides[1];
	struct worker *worker = side->holder ? side->holder : side->idle;
	if (side->holder && !worker->parked) {
		return; // it will look by itself
	}
	if (worker) {
		side->idle = side->holder ? side->idle : worker->below;
		worker->woken = true;
		++pool->wakes;
		errands->wake[kind] = worker;
	} else if (side->nthreads < side->goal + side->lent && side->nthreads < side->thread_limit) {
		++side->nthreads;
		alloc_forbid(-1); // once for a worker
		errands->start[kind] = worker_create(pool, side);
		alloc_forbid(+1);
	} else {
		return;
	}
	side->waking = true;
	errands->any = true;
}

void idle_push(struct worker *worker) {
	worker->below = worker->side->idle;
	worker->side->idle = worker;
}

// ---- threads ----

// EAGAIN: there are as many threads as there can be, which is no failure as long as the side has one. If it has none, it
// tries again each time an item of the other side ends.
static void worker_not_started(struct worker *worker, int error, struct errands *errands) {
	struct pool *pool = worker->pool;
	struct side *side = worker->side;
	mutex_lock(&pool->lock);
	worker->started = false;
	side->waking = false;
	--side->nthreads;
	bool alone = side->nthreads == 0;
	if (!alone) {
		side->thread_limit = side->nthreads;
		side_wake(pool, side, errands); // a worker may have parked while this start was on its way
	} else {
		pool->thread_retry = side;
		alone = pool->sides[0].running + pool->sides[1].running == 0 && !pool->sides[0].holder;
	}
	bool first = !pool->troubled_threads;
	pool->troubled_threads = true;
	mutex_unlock(&pool->lock);
	if (alone) {
		diag_die("cannot start a thread: %s", strerror(error));
	}
	if (first && pool->config.hooks.trouble) {
		pool->config.hooks.trouble(pool->config.hooks.arg, "threads", error);
	}
}

void worker_start(struct worker *worker, struct errands *errands) {
	struct pool *pool = worker->pool;
	int error = thread_start(&worker->thread, pool->worker_main, worker, pool->config.stack_bytes);
	if (error) {
		worker_not_started(worker, error, errands);
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
