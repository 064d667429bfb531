// Threads that look for work, park, are woken, and run the items of workers; and items that are pending, without a thread [E18].

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/units.h"

// ---- slot numbers ----

// Takes the lowest free slot number above `below`.
static FP_INLINE unsigned number_take(struct pool *pool, unsigned below) {
	size_t word = below / 64;
	uint64_t never = (UINT64_C(1) << below % 64) - 1;
	while (word < pool->nwords && ~(pool->numbers[word] | never) == 0) {
		++word;
		never = 0;
	}
	if (word >= pool->nwords) {
		grow_array(&pool->numbers, &pool->nwords_cap, word + 1, sizeof(pool->numbers[0]));
		while (pool->nwords <= word) {
			pool->numbers[pool->nwords++] = 0;
		}
	}
	unsigned bit = (unsigned)__builtin_ctzll(~(pool->numbers[word] | never));
	pool->numbers[word] |= UINT64_C(1) << bit;
	return (unsigned)word * 64 + bit + 1;
}

static void number_give(struct pool *pool, unsigned number) {
	pool->numbers[(number - 1) / 64] &= ~(UINT64_C(1) << ((number - 1) % 64));
}

// Waits until the thread is woken or the pool is over. The thread goes on top of the idle stack, so that the thread with the warmest cache is woken
// first. The reserver and the timer are not in the stack: the reserver is woken for its item, the timer when the stack is empty or its time has come.
static void runner_park(struct runner *runner) {
	struct pool *pool = runner->pool;
	struct group *group = runner->group;
	// threads wait by now_ns(), which need not be the pool's clock
	uint64_t deadline = group->timer == runner ? now_ns() + u64_minus(group->timer_due, pool_now(pool)) : TIME_NEVER;
	if (group->reserver != runner->worker && group->timer != runner) {
		idle_push(runner);
	}
	runner->parked = true;
	while (!runner->woken && !pool->quit && cond_wait_until(&runner->wake, &pool->lock, deadline)) {
	}
	runner->parked = false;
	group->timer = group->timer == runner ? NULL : group->timer;
	if (runner->woken) {
		runner->woken = false;
		group->waking = false;
	}
}

// ---- pending items ----

void pool_resume_all(struct pool *pool, struct worker *const *workers, size_t n) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	for (size_t i = 0; i < n; ++i) {
		struct worker *worker = workers[i];
		verify(worker->queue);
		if (worker->state == RUNNING) {
			worker->state = RESUMED_EARLY;
		} else if (worker->state == PENDING) {
			worker->state = RESUMED;
			worker->group->lending_pending -= worker->lending != KEEPS;
			list_push_back(&worker->group->resumed, &worker->resumed);
			group_wake_thread(pool, worker->group, &deferred);
		}
	}
}

void pool_resume(struct worker *worker) {
	pool_resume_all(worker->pool, &worker, 1);
}

// Leaves the item, which has returned WORK_PENDING, with its worker. The thread works for a spare worker from now on.
static void runner_let_go(struct runner *runner) {
	struct worker *worker = runner->worker;
	struct group *group = runner->group;
	verify(worker->item->type->resume);
	worker->runner = NULL;
	if (worker->state == RESUMED_EARLY) {
		worker->state = RESUMED;
		list_push_back(&group->resumed, &worker->resumed);
	} else {
		worker->state = PENDING;
		group->lending_pending += worker->lending != KEEPS;
	}
	runner->worker = spare_take(runner->pool, group);
	runner->worker->runner = runner;
}

// Makes the thread work for the worker whose item was resumed first; the thread's own worker, which has no item, becomes a spare. A reserver's thread
// takes no resumed item. Returns whether it has taken one.
static FP_INLINE bool runner_take(struct runner *runner) {
	struct group *group = runner->group;
	if (list_is_empty(&group->resumed) || group->reserver == runner->worker) {
		return false;
	}
	spare_give(runner->worker);
	runner->worker = list_entry(group->resumed.next, struct worker, resumed);
	list_remove(&runner->worker->resumed);
	runner->worker->runner = runner;
	runner->worker->state = RUNNING;
	runner->has_resumed = true;
	return true;
}

// ---- dispatch ----

static void trace_dispatch(const struct worker *worker) {
	struct pool *pool = worker->pool;
	struct queue *queue = worker->queue;
	struct service service = {
		.n = pool->dispatched,
		.now = worker->facts.start,
		.batch = queue->name,
		.id = worker->item->id,
		.source = worker->facts.source,
		.slot = worker->slot,
		.turns = worker->item->turns,
		.virt = fair_virt(&queue->group->fair, &queue->fair, worker->facts.start),
		.lag = worker->facts.lag,
	};
	pool->config.hooks.trace(pool->config.hooks.arg, &service);
}

// Takes the first item of the front; or, if a wide item waits for slots, an item that may pass it; else an item of the queue whose turn it is.
// Returns the item's queue; or NULL if no item may pass any more.
static struct queue *worker_take(struct worker *worker, uint64_t now, struct deferred *deferred) {
	struct pool *pool = worker->pool;
	struct group *group = worker->group;
	struct front *first = front_first(group);
	bool passes = group->reserver && !first;
	struct queue *queue = first ? first->queue : passes ? backfill_find(pool, group) : list_entry(fair_peek(&group->fair, now), struct queue, fair);
	if (!queue) {
		return NULL;
	}
	worker->facts.lag = fair_lag(&group->fair, &queue->fair, now);
	worker->facts.rate_left = queue->fair.interval > 0 && queue->fair.due <= now ? queue->fair.due : 0;
	enum work_source source = SOURCE_QUEUE;
	bool takes_token = queue->fair.interval > 0;
	if (first) {
		takes_token = takes_token && !(first->item->flags & ITEM_LAST);
		fair_arrive(&group->fair, &queue->fair, 1, now);
		fair_take(&group->fair, &queue->fair, now);
		front_remove(first);
		--pool->queued;
		worker->item = first->item;
		free(first);
	} else {
		fair_take(&group->fair, &queue->fair, now);
		takes_token = takes_token && !queue->fair.picks_exempt;
		worker->item = queue_take(queue, worker, &source, deferred);
		source = passes ? SOURCE_BACKFILL : source;
	}
	worker->width = worker->item->width;
	worker->flags = worker->item->flags;
	worker->token_due = takes_token ? queue->fair.due : 0;
	worker->facts.source = worker_is_long(worker) ? SOURCE_LONG : (worker->flags & WORK_LENT) ? SOURCE_LENT : source;
	worker->facts.picked = now;
	worker->facts.limit_left = queue->limit_left;
	worker->facts.limit_why = queue->limit_why;
	queue_note_low(queue, deferred);
	return queue;
}

// Cuts the width of the item that was taken to the number of slots. If too few slots are free, the worker reserves slots as other items end [E9].
// Returns true if the item can start.
static bool worker_widen(struct worker *worker, struct queue *queue, uint64_t now, struct deferred *deferred) {
	struct pool *pool = worker->pool;
	struct group *group = worker->group;
	uint32_t width = worker_is_long(worker) ? 1 : group_clamp(group, worker->width);
	bool room = group_has_room(group, width);
	// turns are charged at the pick, so that no queue that comes meanwhile is placed before this one; slot-time is charged as it passes
	if (room || !group->fair.time) {
		worker_charge(worker, queue, width - 1, now);
	}
	if (room) {
		worker->width = width;
	}
	if (room && worker->reserved_queue) {
		group->reserver = NULL;
		worker->reserved_queue = NULL;
		--pool->queued;
	} else if (!room && !worker->reserved_queue) {
		group->reserver = worker;
		worker->reserved_queue = queue;
		++pool->queued;
		if (pool->config.hooks.reserving) {
			++queue->pins;
			deferred->reserving = queue;
			deferred->reserving_id = worker->item->id;
			deferred->reserving_width = width;
			deferred->any = true;
		}
	}
	return room;
}

// Starts the item that the worker has taken.
static void worker_begin(struct worker *worker, struct queue *queue, uint64_t now, struct deferred *deferred) {
	struct pool *pool = worker->pool;
	struct group *group = worker->group;
	worker->queue = queue;
	worker->state = RUNNING;
	worker->has_run = false;
	worker->took = TIME_NEVER;
	worker->facts.gated = worker->runner->gated;
	worker->runner->gated = 0;
	worker->facts.start = now;
	if (worker->token_due > 0 && now > worker->facts.picked) { // the item had to wait for its slots
		worker->token_due = now + queue->fair.interval;
		fair_set_due(&group->fair, &queue->fair, worker->token_due, now);
	}
	worker->slot = worker_is_long(worker) ? number_take(pool, pool->most_slots) : number_take(pool, 0);
	group->running += worker->width;
	pool->surplus_reported = false;
	worker->away = 0;
	bool is_typical = !(worker->flags & ITEM_LAST); // the lengths of the queue's items say nothing of its last item
	worker->expected = is_typical ? queue_length(queue) : 0;
	if (group->fair.time) {
		fair_expect(&queue->fair, &worker->job, worker->width, now);
	}
	if (worker->item->turns > 1) {
		fair_charge(&group->fair, &queue->fair, worker->item->turns - 1, /* extra */ 0, now);
	}
	++pool->dispatched;
	if (pool->config.one_by_one && !(worker->flags & WORK_LENT)) {
		pool->passing = worker;
	}
	if (pool->config.hooks.trace) {
		trace_dispatch(worker);
	}
	pool_notice(pool, deferred);
}

// True if the worker may take or start an item that has not begun. The reserver only starts its wide item, and no other worker starts that item.
static bool worker_has_work(const struct worker *worker) {
	struct group *group = worker->group;
	bool is_meant = (group->reserver == worker) == group_is_for_reserver(group);
	return is_meant && group_has_work(worker->pool, group);
}

// Takes an item, unless the worker has reserved slots for one. Begins the item if its slots are free. Returns false if no item begins.
static bool worker_dispatch(struct worker *worker, uint64_t now, struct deferred *deferred) {
	struct queue *queue = worker->reserved_queue ? worker->reserved_queue : worker_take(worker, now, deferred);
	if (!queue) {
		return false;
	}
	if (worker->width > 1 && !worker_widen(worker, queue, now, deferred)) {
		return false;
	}
	worker_begin(worker, queue, now, deferred);
	return true;
}

// Notes that hooks.surplus is to be called, once, if slots are free and nothing wants them.
static void note_surplus(const struct runner *runner, struct deferred *deferred) {
	struct pool *pool = runner->pool;
	const struct group *group = runner->group;
	if (pool->config.hooks.surplus && !pool->surplus_reported && group == &pool->groups[0] && group->running < group->fair.slots && !group_wants(group)) {
		pool->surplus_reported = true;
		deferred->surplus = deferred->any = true;
	}
}

// Asks hooks.gate until it lets an item start; or until no item is left, an item is resumed, or the next item is a queue's last item, which no gate
// holds. Meanwhile the other threads park, and the lock is given back. Returns whether an item may start.
static bool runner_ask(struct runner *runner) {
	struct pool *pool = runner->pool;
	struct group *group = runner->group;
	uint64_t again, refused = 0;
	pool->asker = runner;
	do {
		pool->asks_again = false;
		mutex_unlock(&pool->lock);
		again = pool->config.hooks.gate(pool->config.hooks.arg);
		mutex_lock(&pool->lock);
		refused = again > 0 && refused == 0 ? now_ns() : refused;
		while (again > 0 && !pool->quit && !pool->asks_again && cond_wait_until(&runner->wake, &pool->lock, again)) {
		}
	} while (again > 0 && !pool->quit && list_is_empty(&group->resumed) && worker_has_work(runner->worker) && !group_is_for_last(group));
	pool->asker = NULL;
	runner->gated = refused > 0 ? now_ns() - refused : 0;
	return again == 0;
}

// Finds an item to run or to resume, parking until there is one. Returns false when the pool is over; true also if there are only
// deferred actions to run.
static bool runner_find(struct runner *runner, struct deferred *deferred) {
	struct pool *pool = runner->pool;
	struct group *group = runner->group;
	struct worker *worker = runner->worker;
	while (!pool->quit) {
		bool begins = runner->has_resumed && runner->may_start && worker_has_work(worker);
		runner->has_resumed = false;
		if (!begins && runner_take(runner)) {
			groups_wake(pool, deferred); // this thread may have been woken for other work, and more items may be resumed
			return true;
		}
		if (pool->has_rates) {
			group->released = pool_now(pool);
			fair_release(&group->fair, group->released);
		}
		if (!worker_has_work(worker)) {
			bool is_timer = timer_claim(runner);
			runner->may_start = !pool->config.hooks.gate;
			groups_wake(pool, deferred); // this thread may have been woken in place of the reserver, or have asked hooks.gate for all threads
			if (runner->wants_flush) {
				runner->wants_flush = false;
				deferred->flush = deferred->any = true;
			}
			note_surplus(runner, deferred);
			if (deferred->any) {
				group->timer = is_timer ? NULL : group->timer;
				return true;
			}
			runner_park(runner);
			continue;
		}
		if (runner->may_start || group_is_for_last(group)) {
			runner->may_start = !pool->config.hooks.gate;
			bool begun = worker_dispatch(worker, pool_now(pool), deferred);
			groups_wake(pool, deferred); // a chain: each thread that is woken wakes the next, as long as there is more work [E3]
			if (begun || deferred->any) {
				return true;
			}
		} else if (pool->asker) {
			runner_park(runner); // the asker wakes the next thread when it has begun an item
		} else {
			runner->may_start = runner_ask(runner);
		}
	}
	return false;
}

// ---- run ----

// Notes how long the item took: its queue's next items are expected to take the median. Corrects the charge if worker_set_took() gave another time.
static void worker_learn(struct worker *worker, struct queue *queue, enum work_status status, uint64_t now) {
	fair_unexpect(&worker->job);
	if (status == WORK_NOT_RUN) {
		return;
	}
	struct fair *fair = &worker->group->fair;
	uint64_t seen = now - worker->facts.start - worker->away, length = seen;
	if (worker->took != TIME_NEVER) {
		length = worker->took < now - worker->facts.start ? worker->took : now - worker->facts.start;
		fair_correct(fair, &queue->fair, worker->width, (int64_t)(length - seen), now);
	}
	queue->lengths = queue->lengths ? queue->lengths : median_new(LENGTHS);
	median_add(queue->lengths, length);
	fair_learn(fair, &queue->fair, median_get(queue->lengths));
}

// Ends an item that still lends its slots: it is counted in group->lending alone [E12].
static void finish_lender(struct worker *worker, struct queue *queue, uint64_t now) {
	if (worker->lending == RETURNS) {
		front_remove(&worker->back);
	}
	worker->lending = KEEPS;
	worker->extra = 0;
	--worker->group->lending;
	--queue->pins;
	worker->away += now - worker->lent_at;
	worker_learn(worker, queue, WORK_OK, now);
}

// Ends an item on its slots, and frees them.
static FP_INLINE void finish_on_slots(struct worker *worker, struct queue *queue, enum work_status status, uint64_t now) {
	struct group *group = worker->group;
	group->running -= worker->width;
	worker_learn(worker, queue, status, now);
	if (queue->attrs.max_parallel > 0 && queue->fair.running >= queue->attrs.max_parallel) {
		queue->limit_left = now;
		queue->limit_why = 0;
	}
	if (status == WORK_NOT_RUN) {
		if (worker->extra > 0) {
			fair_give_back(&group->fair, &queue->fair, /* items */ 0, worker->extra, worker->facts.start, now);
		}
		fair_give_back(&group->fair, &queue->fair, /* items */ 1, /* extra */ 0, worker->facts.picked, now);
		worker_return_token(worker, queue, now);
	} else {
		fair_done(&group->fair, &queue->fair, worker->extra, now);
	}
	worker->extra = 0;
}

// Lets the next item be dispatched, if it waits for this worker's item (one_by_one). With the lock.
static void let_pass(const struct worker *worker, struct deferred *deferred) {
	struct pool *pool = worker->pool;
	if (pool->passing == worker) {
		pool->passing = NULL;
		groups_wake(pool, deferred);
	}
}

static void worker_finish(struct worker *worker, enum work_status status, struct deferred *deferred) {
	struct pool *pool = worker->pool;
	struct group *group = worker->group;
	struct queue *queue = worker->queue;
	worker->queue = NULL;
	let_pass(worker, deferred);
	number_give(pool, worker->slot);
	uint64_t now = pool_now(pool);
	if (worker->lending == KEEPS) {
		finish_on_slots(worker, queue, status, now);
	} else {
		finish_lender(worker, queue, now);
	}
	front_settle(group);
	struct group *retry = pool->thread_retry;
	if (retry) {
		pool->thread_retry = NULL;
		group_wake(pool, retry, deferred);
	}
	pool_ask_again(pool);
	queue_check_removal(queue, deferred);
	pool_notice(pool, deferred);
}

// Runs or resumes the worker's item, without the lock, and frees it if it has ended.
static enum work_status worker_run(struct worker *worker) {
	struct queued_item *item = worker->item;
	enum work_status status = worker->has_run ? item->type->resume(worker, worker->queue, item->data)
	                                          : item->type->run(worker, worker->queue, item->data, item->size);
	worker->has_run = true;
	if (status != WORK_PENDING) {
		worker->item = NULL;
		free(item);
	}
	return status;
}

void *runner_main(void *arg) {
	struct runner *runner = arg;
	struct pool *pool = runner->pool;
	struct deferred deferred = pool_enter(pool);
	runner->group->waking = false;
	runner->may_start = !pool->config.hooks.gate;
	while (runner_find(runner, &deferred)) {
		mutex_unlock(&pool->lock);
		if (deferred.any) {
			deferred_run(&deferred);
		}
		struct worker *worker = runner->worker;
		enum work_status status = worker->queue ? worker_run(worker) : WORK_OK;
		mutex_lock(&pool->lock);
		if (status == WORK_PENDING) {
			runner_let_go(runner);
		} else if (worker->queue) {
			worker_finish(worker, status, &deferred);
		}
		if (deferred.any) { // the deferred actions run before the thread's next item, which may take long
			mutex_unlock(&pool->lock);
			deferred_run(&deferred);
			mutex_lock(&pool->lock);
		}
	}
	mutex_unlock(&pool->lock);
	return NULL;
}

// ---- what callers may ask ----

struct queue *worker_queue(const struct worker *worker) {
	return worker->queue;
}

unsigned worker_slot(const struct worker *worker) {
	return worker->slot;
}

bool worker_is_long(const struct worker *worker) {
	return worker->group == &worker->pool->groups[1];
}

unsigned worker_width(const struct worker *worker) {
	return worker->width;
}

void worker_pass(struct worker *worker) {
	if (worker->pool->config.one_by_one) {
		FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(worker->pool);
		let_pass(worker, &deferred);
	}
}

void worker_request_flush(struct worker *worker) {
	worker->runner->wants_flush = true;
}

void worker_set_took(struct worker *worker, uint64_t ns) {
	worker->took = ns;
}

const struct facts *worker_facts(const struct worker *worker) {
	return &worker->facts;
}

void **worker_scratch(struct worker *worker, void (*fini)(void *)) {
	worker->scratch_fini = fini;
	return &worker->scratch;
}
