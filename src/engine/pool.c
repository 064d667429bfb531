// The pool: named queues take turns on slots. Threads run the items of the queues, with local lists and work stealing.
//
// One mutex guards everything. A critical section is a few dozen nanoseconds of pointer work, a thousandth of what starting a process takes; only
// starting a thread, once for each slot, takes longer. What goes beyond memory (waking threads, writing to disk, calling most hooks) is noted as a
// deferred action and done after the lock was given back.
//
// [E1] An item that was submitted is run once or dropped once. It is in one list or one extent of the spill file until
//      queue_take(), queue_take_id() or queue_cancel() takes it out, under the lock; nothing else does.
// [E2] An item is charged to its queue in the fair choice wherever it comes from, so local items cannot starve other queues; and each 16th pick of a
//      queue takes its head, so they cannot starve the other items of their own queue. Enforced by worker_dispatch(), queue_take().
// [E3] No wake-up is lost. A group is hungry when there are an eligible item, a free slot, and a worker that is parked or may be started. While slots
//      are reserved [E9], it is hungry when the reserver's slots are free and the reserver is parked, or when an item may pass [E15] and a worker
//      other than the reserver is parked or may be started. Whenever the lock is given back in a hungry state, a wake is in flight (group->waking),
//      or a thread that takes the lock next looks again: a worker that ends its item, the thread that asks hooks.gate, or a reserver with deferred
//      actions. Enforced: everything that can make a group hungry (submit, start, resume, more or fewer slots, slots lent, new attributes, a
//      reservation cancelled) calls group_wake(), or is done by a worker that then looks for work. The woken worker clears `waking` and, having taken
//      its item, calls group_wake(). So each worker wakes the next, and none is woken while a wake is in flight. A worker that finds only work for
//      the reserver calls group_wake(), too: it may have freed the slots, or been woken before there was a reserver.
// [E4] The running items of a group take at most fair.slots slots, unless slots were taken away or pool_reclaim() was called without `waits`; at most
//      max_parallel items of a queue run. Enforced by group_has_work(), worker_widen(), front_settle(), fair.c.
// [E5] A queue is removed exactly once: when it is closed, none of its items is queued or runs, and nothing pins it (`pins`). Each event that can
//      complete this condition calls queue_check_removal(), which sets `removed` under the lock. The queue's memory lives until its openers have
//      closed it, too.
// [E6] hooks.idle is called exactly once, as the last call: `nqueues` counts a queue until hooks.removed has returned for it, and a queue that has
//      items cannot be removed. So `nqueues` reaches 0 only when nothing is left; idle_claimed is set in the same critical section, and from then on
//      no queue can be opened.
// [E7] Nobody uses the pool after pool_destroy(): it joins all workers, and waits for `callers`, the threads from outside
//      that still have deferred actions to run.
// [E8] Memory for queued items stays below queue_mem, except for items that running items submit when the disk is full. Enforced by
//      storage_make_room(); a submission from outside is refused instead, and pool_notice() has hooks.low called when there is room.
// [E9] A wide item whose turn has come starts next in its group. If too few slots are free, its worker becomes the reserver (group->reserver,
//      worker->reserved_queue), and its thread parks. The item is then picked in the fair choice, but counts as queued, has no slot number and is not
//      traced. Until it starts, group_has_work() is true only for the reserver and for workers whose items may pass it [E15], so no other worker
//      takes slots that become free. Its width is cut to the number of slots each time it is looked at, and items that wait for others lend their
//      slots: so it starts once running items end. Only the front [E13] goes before it. The reserver parks outside of the idle stack;
//      reservation_cancel(), which takes the item away, puts the reserver on the stack.
// [E10] A queue's last item (pool_queue_set_last_item()) runs exactly once: it becomes due in queue_check_removal(), in place of the removal, and
//      goes to the head of the front [E13], so that the queue is pinned and cannot be removed before it has run. No limit, rate or pause of its queue
//      keeps it back, and queue_cancel() does not take it.
// [E12] An item that lends its slots (pool_lend()) keeps its slot number, is counted in group->lending alone, and pins its queue, which is therefore
//      not removed. Its queue does not get back what it was charged. If it has a thread [E18], it keeps the thread, so there may be one thread more.
// [E13] The front is a line that goes before all queues, first come, first served: items that were brought forward, and items that want their slots
//      back; a queue's last item [E10] goes to its head. An item that its queue keeps back (by max_parallel, a rate or a pause) is passed over. As
//      long as the first item that is not passed over lacks slots, all slots that become free are kept for it. If it wants slots back, it gets them
//      as soon as there are enough. Enforced by front_settle() after all that frees slots or changes the front, and by worker_has_work(),
//      worker_take(). An item in the front that has not started counts as queued, but is in no queue's backlog; each entry pins its queue.
// [E14] Each token of a rate is noticed when it comes. A worker that looks for work first releases the queues whose token has come. While items wait
//      for a token, and a slot is free or could be got (hooks.starving), a parked worker, the group's timer, wakes when the first token is due.
//      Enforced by needs_timer(), which is part of the hungry state of [E3], and timer_claim(). If no queue has a rate, there is no timer, and the
//      clock is not read for it. An item that was submitted with WORK_NO_TOKEN to a queue with a rate is in queue->exempt: it is picked while the
//      rate holds the queue's other items.
// [E15] While the reserver waits for its slots and no entry of the front goes first, items of other queues may start on free slots if they are
//      expected to end before the reserver has all its slots: now + the median length of the queue's last items <= the time at which enough running
//      items are expected to have ended, by the medians that their queues had when they began. An item of a queue without a median does not pass;
//      nothing passes if the reserver needs the end of an item whose queue has no median, or only of overdue items. An item that passes is expected
//      to end no later than items that the reserver waits for anyway; so passing does not put off the reserver's start, and no stream of short items can
//      starve it. Whether something may pass changes from no to yes only by events that call group_wake() [E3], or by a token that comes [E14]: its
//      queue may pass at the next call of group_wake(). Enforced by backfill_find().
// [E16] The demand is the number of slots that waiting items could use now, beyond the free ones. hooks.starving is called once when the demand rises
//      above what the receiver of the hook knows, and at no other time; a worker that looks for work does not raise the demand. `demand_known` is the
//      least result of pool_demand() since the last call of the hook, counting only results below `most`; DEMAND_ANY if there was no such result.
//      Whenever the lock is given back, the demand is at most demand_known, or a wake is in flight, or a thread will look again as in [E3].
//      Enforced: everything that can raise the demand calls group_wake(); note_demand() notes the call and sets DEMAND_ANY in the same critical
//      section. The receiver calls pool_demand() after the hook's call has begun: the result counts the items that came before, and for items that
//      come later the hook is called again.
// [E17] An item that waits for something outside the pool (worker_wait_begin()) has no slot. Meanwhile its queue is held (queue->holds), that is,
//      paused in the fair choice: its next items would wait for the same thing, and so one thread waits, not one for each item. Only the queue's
//      entries in the front start. While WAITING_MOST items of a group wait, only entries of the front start, so threads are bounded. No item keeps
//      slots while it waits, so an item whose wait is over always gets slots again, first in line [E13], when running items end.
// [E18] A pending item keeps all that a running item has, also its worker, but no thread; and no resumption is lost. An item that returns
//      WORK_PENDING becomes PENDING if pool_resume() was not called since its run or resume began; else RESUMED, at the end of group->resumed. The
//      return and the call change the state under the lock (runner_let_go(), pool_resume()): a call either comes before the return, which then sees
//      it, or after it. Only runner_take() takes a worker out of the list, so an item is on one thread at most, and is resumed once for all calls so
//      far. A group with a resumed item and a thread that is parked or may be started is hungry [E3], whatever holds its other items: runner_find()
//      looks at group->resumed first, but begins one item, if it can, after each that it has resumed; and for a resumed item group_wake_thread()
//      heeds neither asker nor reserver. A resumed item gets a thread in the end: may_start_thread() allows at least one thread for each running item
//      that does not lend, and one more for each lending item that has or needs a thread (threads_away()); with pool_bound_threads() the threads
//      within the bound come back when their items end or are pending. If all threads but the asker's are away, the asker stops asking hooks.gate and
//      takes the item, but keeps a permission to start. If only the reserver's thread is left, its wide item goes to the front, and the thread takes
//      the resumed item, whose slots the wide item may need.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

// ---- life ----

struct pool *pool_create(const struct pool_config *config) {
	struct pool *pool = NEW(struct pool);
	verify(config->slots > 0);
	pool->config = *config;
	mutex_init(&pool->lock, LOCK_POOL);
	cond_init(&pool->idle_cond);
	fair_init(&pool->groups[0].fair, config->fair_time);
	fair_init(&pool->groups[1].fair, /* time */ false);
	pool->groups[0].fair.slots = pool->most_slots = config->slots;
	pool->groups[1].fair.slots = config->max_long ? config->max_long : 1;
	pool->groups[0].thread_limit = pool->groups[1].thread_limit = UINT32_MAX;
	list_init(&pool->queues);
	list_init(&pool->zombies);
	list_init(&pool->groups[0].front);
	list_init(&pool->groups[1].front);
	list_init(&pool->groups[0].resumed);
	list_init(&pool->groups[1].resumed);
	list_init(&pool->spillable);
	pool->runner_main = runner_main;
	pool->demand_known = DEMAND_ANY;
	pool->spill = scratch_create(config->spill_dir);
	return pool;
}

void pool_bound_threads(struct pool *pool, unsigned threads) {
	verify(threads > 0 && !pool->started);
	pool->bound = threads;
}

void pool_add_threads(struct pool *pool, int more) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	if (pool->bound > 0) {
		verify(more >= 0 || pool->bound > (unsigned)-more);
		pool->bound += (unsigned)more;
		group_wake(pool, &pool->groups[0], &deferred);
	}
}

void pool_start(struct pool *pool) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	pool->started = true;
	groups_wake(pool, &deferred);
}

void pool_destroy(struct pool *pool) {
	mutex_lock(&pool->lock);
	verify(pool->nqueues == 0 || pool->shut);
	while (pool->nqueues > 0) {
		cond_wait(&pool->idle_cond, &pool->lock);
	}
	pool->quit = true;
	for (unsigned i = 0; i < pool->nrunners; ++i) {
		cond_signal(&pool->runners[i]->wake);
	}
	while (pool->callers > 0) {
		cond_wait(&pool->idle_cond, &pool->lock);
	}
	mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->nrunners; ++i) { // the array grows no more
		thread_join(pool->runners[i]->handle);
	}
	for (unsigned i = 0; i < pool->nrunners; ++i) {
		cond_fini(&pool->runners[i]->wake);
		free(pool->runners[i]);
	}
	free(pool->runners);
	names_fini(pool);
	for (unsigned i = 0; i < pool->nworkers; ++i) {
		worker_free(pool->workers[i]);
	}
	free(pool->workers);
	fair_fini(&pool->groups[0].fair);
	fair_fini(&pool->groups[1].fair);
	scratch_destroy(pool->spill);
	free(pool->numbers);
	cond_fini(&pool->idle_cond);
	mutex_fini(&pool->lock);
	free(pool);
}

// ---- submit ----

static FP_INLINE bool queue_takes(const struct queue *queue, const struct worker *from) {
	// a running item keeps its own queue from being removed
	return !queue->removed && !queue->pool->shut && (!queue->closed || (from && queue == from->queue));
}

static FP_INLINE bool goes_local(const struct queue *queue, const struct worker *from) {
	const struct pool *pool = queue->pool;
	return from && from->queue == queue && !queue->attrs.prefer_fairness &&
	       pool->item_mem + pool->struct_mem < pool->config.queue_mem;
}

// Adds the items to the queue. `local`: the worker whose local list takes the items with WORK_LOCAL; NULL: the queue takes them.
static void append_all(struct queue *queue, const struct worker *local, struct list *items) {
	uint64_t narrived = 0;
	list_for_each_entry(items, struct queued_item, item, link) {
		list_remove(&item->link);
		if ((item->flags & WORK_NO_TOKEN) && queue->fair.interval > 0) {
			list_push_back(&queue->exempt, &item->link);
			++queue->submitted;
			++queue->pool->queued;
			fair_arrive_exempt(&queue->group->fair, &queue->fair, pool_now(queue->pool));
		} else {
			queue_append(queue, item, (item->flags & WORK_LOCAL) ? local : NULL);
			++narrived;
		}
	}
	fair_arrive(&queue->group->fair, &queue->fair, narrived, pool_now(queue->pool));
}

enum submit_status pool_submit(struct pool *pool, struct queue *queue, struct worker *from, const struct work *works,
                               size_t n) {
	struct list items;
	size_t need = 0;
	list_init(&items);
	for (size_t i = 0; i < n; ++i) {
		verify(works[i].size < UINT32_MAX / 4);
		struct queued_item *item = item_new(&works[i]);
		list_push_back(&items, &item->link);
		need += item_bytes(item);
	}
	enum submit_status status = SUBMIT_CLOSED;
	struct deferred deferred = pool_enter(pool);
	bool room = !queue_takes(queue, from) || storage_make_room(pool, need, &deferred);
	if (queue_takes(queue, from)) { // asked again, as storage_make_room() may have given the lock back meanwhile
		if (!room && !from) {
			status = SUBMIT_FULL;
			pool->full_need = need > pool->full_need ? need : pool->full_need;
		} else {
			status = SUBMIT_OK;
			append_all(queue, goes_local(queue, from) ? from : NULL, &items);
			queue->low_armed |= !from;
			group_wake(pool, queue->group, &deferred);
		}
	}
	pool_leave(&deferred);
	list_for_each_entry(&items, struct queued_item, item, link) { // items that were not taken; none if all were
		free(item);
	}
	return status;
}

void pool_queue_set_last_item(struct pool *pool, struct queue *queue, const struct work *work) {
	verify(work->size < UINT32_MAX / 4);
	struct front *last = NEW(struct front);
	*last = (struct front){.queue = queue, .item = item_new(work)};
	last->item->flags |= ITEM_LAST;
	mutex_lock(&pool->lock);
	bool taken = !queue->removed && !queue->had_last;
	if (taken) {
		queue->last = last;
		queue->had_last = true;
	}
	mutex_unlock(&pool->lock);
	if (!taken) {
		item_drop(queue, last->item);
		free(last);
	}
}

void pool_queue_want(struct pool *pool, struct queue *queue) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	queue->low_armed = true;
	if (!queue->removed) {
		queue_note_low(queue, &deferred);
	}
}

size_t pool_queue_bytes(struct pool *pool, struct queue *queue) {
	FP_HOLD(&pool->lock);
	return queue->bytes;
}

unsigned pool_queue_slots(struct pool *pool, struct queue *queue, unsigned *ret_lacks) {
	FP_HOLD(&pool->lock);
	const struct group *group = queue->group;
	const struct fair_queue *fair = &queue->fair;
	unsigned limit = fair->limit > 0 ? fair->limit : UINT32_MAX;
	unsigned slots = limit < group->fair.slots ? limit : group->fair.slots;
	uint64_t taken = group->running + pool->queued; // slots that would be taken if all that is queued ran
	unsigned free = taken < group->fair.slots ? group->fair.slots - (unsigned)taken : 0;
	unsigned room = fair->running < limit ? limit - fair->running : 0;
	*ret_lacks = queue->bytes > 0 ? 0 : 1 + (free < room ? free : room);
	return slots;
}

// ---- close, wait ----

void pool_queue_close(struct pool *pool, struct queue *queue) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	verify(queue->opens > 0);
	--queue->opens;
	if (queue->opens == 0) {
		if (queue->removed && queue->next_removed == queue) {
			queue_retire(queue);
		} else {
			queue_shut(queue, &deferred);
		}
	}
}

bool pool_wait_idle(struct pool *pool, uint64_t deadline) {
	FP_HOLD(&pool->lock);
	while (!pool->idle && cond_wait_until(&pool->idle_cond, &pool->lock, deadline)) {
	}
	return pool->idle;
}

// ---- change and ask ----

void pool_pause(struct pool *pool, bool paused) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	pool->paused = paused;
	groups_wake(pool, &deferred);
	waiting_wake(pool);
}

static void set_capacity(struct pool *pool, unsigned slots, struct deferred *deferred) {
	pool->groups[0].fair.slots = slots;
	pool->most_slots = slots > pool->most_slots ? slots : pool->most_slots;
	groups_wake(pool, deferred);
	if (slots == 0) {
		waiting_wake(pool);
	}
}

void pool_set_slots(struct pool *pool, unsigned slots) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	set_capacity(pool, slots, &deferred);
}

void pool_add_slots(struct pool *pool, int more) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	unsigned had = pool->groups[0].fair.slots;
	verify(more >= 0 || had >= (unsigned)-more);
	set_capacity(pool, had + (unsigned)more, &deferred);
}

unsigned pool_demand(struct pool *pool, unsigned most) {
	FP_HOLD(&pool->lock);
	unsigned n = (unsigned)group_demand(pool, &pool->groups[0], most);
	if (pool->config.hooks.starving && n < most && n < pool->demand_known) {
		pool->demand_known = n;
	}
	return n;
}

unsigned pool_drop_surplus(struct pool *pool) {
	FP_HOLD(&pool->lock);
	struct group *group = &pool->groups[0];
	unsigned n = !group_wants(group) && group->fair.slots > group->running ? group->fair.slots - group->running : 0;
	group->fair.slots -= n;
	pool->surplus_reported = false;
	return n;
}

void queue_set(struct pool *pool, struct queue *queue, const struct queue_attrs *attrs) {
	FP_CLEANUP(pool_leave) struct deferred deferred = pool_enter(pool);
	bool long_running = queue->attrs.long_running; // cannot change: its items belong to one group
	queue->attrs = *attrs;
	queue->attrs.long_running = long_running;
	if (!queue->removed) {
		queue_set_fair(queue);
		group_wake(pool, queue->group, &deferred);
	}
}

// Returns how many items have begun and not ended: each has a slot number.
static uint64_t pool_items(const struct pool *pool) {
	uint64_t n = 0;
	for (size_t i = 0; i < pool->nwords; ++i) {
		n += (uint64_t)__builtin_popcountll(pool->numbers[i]);
	}
	return n;
}

void pool_stat(struct pool *pool, struct pool_stat *ret_stat) {
	FP_HOLD(&pool->lock);
	*ret_stat = (struct pool_stat){
		.queued = pool->queued,
		.running = pool_items(pool) - pool->groups[1].running - pool->groups[0].lending - pool->groups[1].lending,
		.running_long = pool->groups[1].running,
		.lending = pool->groups[0].lending + pool->groups[1].lending,
		.slots_taken = pool->groups[0].running,
		.dispatched = pool->dispatched,
		.wakes = pool->wakes,
		.threads = pool->groups[0].nthreads + pool->groups[1].nthreads,
		.mem_bytes = pool->item_mem,
		.spilled_bytes = pool->spilled,
	};
}

// ---- what each queue has, and why its next item has not started ----

// Returns why the queue's next item has not started. Checks the causes in the order in which worker.c and fair.c check them.
static enum queue_wait wait_of(const struct pool *pool, const struct queue *queue, uint64_t now) {
	const struct group *group = queue->group;
	const struct fair_queue *fair = &queue->fair;
	if (group->reserver) {
		return group->reserver->reserved_queue == queue ? QUEUE_GATHERS : QUEUE_BEHIND;
	}
	if (!pool->started || pool->paused || queue->attrs.paused) {
		return QUEUE_PAUSED;
	}
	if (queue->holds > 0) {
		return QUEUE_HELD;
	}
	if (fair->limit > 0 && fair->running >= fair->limit) {
		return QUEUE_LIMIT;
	}
	if (fair->interval > 0 && fair->exempt == 0 && now < fair->due) {
		return QUEUE_RATE;
	}
	if (!group_has_room(group, 1)) {
		return QUEUE_SLOTS;
	}
	return QUEUE_NEXT;
}

// Fills in the view of the queue. Returns false if none of its items waits.
static bool view_fill(const struct pool *pool, const struct queue *queue, uint64_t now, struct queue_view *ret_view) {
	const struct worker *reserver = queue->group->reserver;
	bool reserves = reserver && reserver->reserved_queue == queue;
	*ret_view = (struct queue_view){
		.name = queue->name,
		.queued = queue->fair.backlog + queue->nfront + reserves,
		.running = queue->fair.running - reserves,
		.wait = wait_of(pool, queue, now),
		.interval = queue->fair.interval,
		.wait_ns = queue->fair.due > now ? queue->fair.due - now : 0,
		.is_long = queue->group == &pool->groups[1],
		.limit = queue->fair.limit,
		.slots = queue->group->fair.slots,
		.width = reserver ? group_clamp(queue->group, reserver->width) : 1,
	};
	return ret_view->queued > 0;
}

void pool_each_queue(struct pool *pool, queue_view_fn *fn, void *arg) {
	FP_CLEANUP(buf_fini) struct buf views = BUF_INIT;
	mutex_lock(&pool->lock);
	uint64_t now = pool_now(pool);
	list_for_each_entry(&pool->queues, struct queue, queue, link) {
		struct queue_view view;
		if (view_fill(pool, queue, now, &view)) {
			buf_add(&views, &view, sizeof(view));
		}
	}
	mutex_unlock(&pool->lock);
	const struct queue_view *all = (const void *)views.data; // allocated, so aligned
	for (size_t i = 0; i < views.len / sizeof(*all); ++i) {
		fn(arg, &all[i]);
	}
}
