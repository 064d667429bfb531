// Workers: threads that look for work, park, are woken, and run items.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <errno.h>

// ---- slot numbers ----

// The lowest free number of the side, from 1.
static unsigned number_take(struct side *side) {
	size_t word = 0;
	while (word < side->nwords && ~side->numbers[word] == 0) {
		++word;
	}
	if (word == side->nwords) {
		alloc_forbid(-1); // once for each 64 slots
		grow_array(&side->numbers, &side->nwords_cap, word + 1, sizeof(side->numbers[0]));
		alloc_forbid(+1);
		side->numbers[side->nwords++] = 0;
	}
	unsigned bit = (unsigned)__builtin_ctzll(~side->numbers[word]);
	side->numbers[word] |= UINT64_C(1) << bit;
	return (unsigned)word * 64 + bit + 1;
}

static void number_give(struct side *side, unsigned number) {
	side->numbers[(number - 1) / 64] &= ~(UINT64_C(1) << ((number - 1) % 64));
}

// On top of the idle stack, so that the one with the warmest cache is woken first, until it is woken or all is over.
// Who holds a wide item is not in the stack: it is woken for that item.
static void worker_park(struct worker *worker) {
	struct pool *pool = worker->pool;
	struct side *side = worker->side;
	if (side->holder != worker) {
		idle_push(worker);
	}
	worker->parked = true;
	while (!worker->woken && !pool->quit) {
		cond_wait(&worker->wake, &pool->lock);
	}
	worker->parked = false;
	if (worker->woken) {
		worker->woken = false;
		side->waking = false;
	}
}

// Waits until the next dispatch is allowed; the only one that does. The others park meanwhile.
static void worker_keep_gate(struct worker *worker, uint64_t now) {
	struct pool *pool = worker->pool;
	uint64_t deadline = now_ns() + (pool->next_start - now); // of the real clock
	pool->gate = worker;
	while (!pool->quit && cond_wait_until(&worker->wake, &pool->lock, deadline)) {
	}
	pool->gate = NULL;
}

// ---- dispatch ----

static void trace_dispatch(const struct worker *worker, uint64_t id, enum work_source source, double lag) {
	struct pool *pool = worker->pool;
	struct queue *queue = worker->queue;
	struct service service = {
		.n = pool->dispatched,
		.now = worker->start,
		.batch = queue->name,
		.id = id,
		.source = source,
		.slot = worker->slot,
		.virt = fair_virt(&queue->side->fair, &queue->fair, worker->start),
		.lag = lag,
	};
	alloc_forbid(+1);
	pool->config.hooks.trace(pool->config.hooks.arg, &service);
	alloc_forbid(-1);
}

static void note_low(struct queue *queue, struct errands *errands) {
	if (queue->low_armed && queue->bytes < queue->attrs.low_water && !queue->closed) {
		queue->low_armed = false;
		++queue->pins;
		errands->low = queue;
		errands->any = true;
	}
}

// Picks the queue whose turn it is and takes an item of it.
static struct queue *worker_take(struct worker *worker, uint64_t now, struct errands *errands) {
	struct pool *pool = worker->pool;
	struct side *side = worker->side;
	if (pool->tells) {
		worker->facts.lag = fair_lag(&side->fair, fair_peek(&side->fair, now), now);
	}
	struct queue *queue = list_entry(fair_pick(&side->fair, now), struct queue, fair);
	struct item_record record;
	enum work_source source = queue_take(queue, worker, &record, errands);
	worker->type = pool->types[record.type];
	worker->size = record.size;
	worker->context = record.context;
	worker->width = record.width;
	worker->flags = record.flags;
	worker->picked = now;
	if (pool->tells) {
		worker->facts.source = worker_is_long(worker) ? SOURCE_LONG : (record.flags & WORK_LENT) ? SOURCE_LENT : source;
		worker->facts.picked = now;
		worker->facts.limit_left = queue->limit_left;
		worker->facts.gated = worker->gated;
		worker->gated = false;
		worker->id = record.id;
	}
	note_low(queue, errands);
	return queue;
}

// Brings what the item is charged for to `extra` slots beyond the first.
static void worker_charge(struct worker *worker, struct queue *queue, uint32_t extra, uint64_t now) {
	struct fair *fair = &worker->side->fair;
	if (extra > worker->extra) {
		fair_widen(fair, &queue->fair, extra - worker->extra, now);
	} else if (extra < worker->extra) {
		fair_widen_back(fair, &queue->fair, worker->extra - extra, now, now);
	}
	worker->extra = extra;
}

// Cuts the width of the item taken to the slots there are. If they are not free it is held, and takes them as others end
// [E9]. Returns true if it can start.
static bool worker_widen(struct worker *worker, struct queue *queue, uint64_t now, struct errands *errands) {
	struct pool *pool = worker->pool;
	struct side *side = worker->side;
	uint32_t width = worker_is_long(worker) ? 1 : side_cut(side, worker->width);
	bool room = side_has_room(side, width);
	// turns at the pick, so that who arrives meanwhile is not placed before them; slot-time only when the slots are used
	if (room || !side->fair.time) {
		worker_charge(worker, queue, width - 1, now);
	}
	if (room) {
		worker->width = width;
	}
	if (room && worker->held) {
		side->holder = NULL;
		worker->held = NULL;
		--pool->queued;
	} else if (!room && !worker->held) {
		side->holder = worker;
		worker->held = queue;
		++pool->queued;
		if (pool->config.hooks.reserving) {
			++queue->pins;
			errands->reserving = queue;
			errands->reserving_id = worker->id;
			errands->reserving_width = width;
			errands->any = true;
		}
	}
	return room;
}

// The item taken starts.
static void worker_begin(struct worker *worker, struct queue *queue, uint64_t now, struct errands *errands) {
	struct pool *pool = worker->pool;
	struct side *side = worker->side;
	worker->queue = queue;
	worker->start = now;
	worker->number = number_take(side);
	worker->slot = worker->number + (worker_is_long(worker) ? pool->most_slots : 0);
	side->running += worker->width;
	if (side->fair.time) {
		fair_expect(&queue->fair, &worker->job, worker->width, now);
	}
	++pool->dispatched;
	if (pool->config.start_interval > 0) {
		pool->next_start = now + pool->config.start_interval;
	}
	if (pool->config.hooks.trace) {
		trace_dispatch(worker, worker->id, worker->facts.source, worker->facts.lag);
	}
	pool_notice(pool, errands);
}

// The item has been taken along: it is charged, and traced, as any other.
static void pack_one(struct worker *worker, struct queue *queue, const struct item_record *record, uint64_t now) {
	struct pool *pool = worker->pool;
	struct fair *fair = &worker->side->fair;
	const struct pool_hooks *hooks = &pool->config.hooks;
	if (record->context && hooks->context_unref) {
		hooks->context_unref(record->context); // the running item has one
	}
	++pool->dispatched;
	if (hooks->trace) {
		double lag = fair_lag(fair, &queue->fair, now);
		fair_join(fair, &queue->fair, 1, now);
		trace_dispatch(worker, record->id, SOURCE_PACKED, lag);
	}
}

// Asks the type whether the item goes along.
static bool pack_takes(struct worker *worker, struct queue *queue, const struct pack_view *view, const void *data,
                       size_t size) {
	alloc_forbid(+1);
	bool takes = worker->type->pack(worker, queue, view, data, size);
	alloc_forbid(-1);
	return takes;
}

// Takes those next in the queue along with the item that begins, as its type decides [E11].
static void worker_pack(struct worker *worker, struct queue *queue, uint64_t now, struct errands *errands) {
	struct pool *pool = worker->pool;
	struct side *side = worker->side;
	const struct work_type *type = worker->type;
	uint32_t limit = queue->attrs.max_parallel;
	struct pack_view view = {
		.waiting = queue->fair.backlog - queue->nlocal,
		.slots = limit > 0 && limit < side->goal ? limit : side->goal,
		.closed = queue->closed,
	};
	bool more = pack_takes(worker, queue, &view, worker->data, worker->size);
	struct item_record record;
	uint64_t n = 0;
	for (size_t bytes; more && (bytes = queue_peek(queue, &record)) > 0; ++n) {
		view.taken = n + 1;
		bool alike = (record.flags & WORK_PACKS) && record.width == 1 && record.context == worker->context &&
		             pool->types[record.type] == type;
		if (!alike || !pack_takes(worker, queue, &view, record.data, record.size)) {
			break;
		}
		queue_skip(queue, &record, bytes, errands);
		pack_one(worker, queue, &record, now);
	}
	if (n > 0) {
		if (!pool->config.hooks.trace) {
			fair_join(&side->fair, &queue->fair, n, now);
		}
		queue_reach(queue);
		note_low(queue, errands);
		pool_notice(pool, errands);
	}
}

// While somebody holds a wide item there is work for nobody else on that side.
static bool worker_has_work(const struct worker *worker) {
	const struct side *side = worker->side;
	return (!side->holder || side->holder == worker) && side_has_work(worker->pool, side);
}

// Takes an item, unless it holds one, and begins it if its slots are free. Returns false if not.
static bool worker_dispatch(struct worker *worker, uint64_t now, struct errands *errands) {
	struct queue *queue = worker->held ? worker->held : worker_take(worker, now, errands);
	if (worker->width > 1 && !worker_widen(worker, queue, now, errands)) {
		return false;
	}
	worker_begin(worker, queue, now, errands);
	if ((worker->flags & WORK_PACKS) && worker->width <= 1) {
		worker_pack(worker, queue, now, errands);
	}
	return true;
}

// Finds an item to run, parking until there is one. Returns false when the pool is over; true also if there are only
// errands to do.
static bool worker_look(struct worker *worker, struct errands *errands) {
	struct pool *pool = worker->pool;
	while (!pool->quit) {
		if (!worker_has_work(worker)) {
			side_wake(pool, worker->side, errands); // the holder may be due, and this one have been woken in its place
			if (worker->unsettled) {
				worker->unsettled = false;
				errands->settle = errands->any = true;
			}
			if (errands->any) {
				return true;
			}
			worker_park(worker);
			continue;
		}
		uint64_t now = pool_now(pool);
		if (pool->config.start_interval == 0 || now >= pool->next_start) {
			bool begun = worker_dispatch(worker, now, errands);
			sides_wake(pool, errands); // chain: one wakes the next, as long as there is more [E3]
			if (begun || errands->any) {
				return true;
			}
			continue;
		}
		if (pool->gate) {
			worker_park(worker); // who keeps the gate wakes the next when it has gone through
			continue;
		}
		worker_keep_gate(worker, now);
		worker->gated = true;
		if (!worker_has_work(worker)) {
			worker->gated = false;
			sides_wake(pool, errands); // others may have waited for the gate
			if (errands->any) {
				return true;
			}
		}
	}
	return false;
}

// ---- run ----

static void worker_narrow(struct worker *worker, struct queue *queue, bool give_back, uint64_t now) {
	if (give_back) {
		fair_widen_back(&worker->side->fair, &queue->fair, worker->extra, worker->start, now);
	} else {
		fair_narrow(&worker->side->fair, &queue->fair, worker->extra, now);
	}
	worker->extra = 0;
}

// Under fair time: what the item took tells what the next ones of its queue will take.
static void worker_learn(struct worker *worker, struct queue *queue, enum work_status status, uint64_t now) {
	fair_unexpect(&worker->job);
	if (status == WORK_NOT_RUN) {
		return;
	}
	if (!queue->lengths) {
		queue->lengths = worker->lengths;
		worker->lengths = NULL;
	}
	median_add(queue->lengths, now - worker->start);
	fair_learn(&worker->side->fair, &queue->fair, median_get(queue->lengths));
}

static void worker_finish(struct worker *worker, enum work_status status, struct errands *errands) {
	struct pool *pool = worker->pool;
	struct side *side = worker->side;
	struct queue *queue = worker->queue;
	if (worker->context && pool->config.hooks.context_unref) {
		pool->config.hooks.context_unref(worker->context);
	}
	worker->context = NULL;
	worker->queue = NULL;
	number_give(side, worker->number);
	side->running -= worker->width;
	uint64_t now = pool_now(pool);
	if (side->fair.time) {
		worker_learn(worker, queue, status, now);
	}
	if (worker->width > 1) {
		worker_narrow(worker, queue, status == WORK_NOT_RUN, now);
	}
	if (pool->tells && queue->attrs.max_parallel > 0 && queue->fair.running >= queue->attrs.max_parallel) {
		queue->limit_left = now;
	}
	if (status == WORK_NOT_RUN) {
		fair_give_back(&side->fair, &queue->fair, worker->picked, now);
	} else {
		fair_done(&side->fair, &queue->fair, now);
	}
	if (pool->thread_retry) {
		side_wake(pool, pool->thread_retry, errands);
		pool->thread_retry = NULL;
	}
	queue_check_removal(queue, errands);
	pool_notice(pool, errands);
}

static enum work_status worker_run(struct worker *worker) {
	if (worker->side->fair.time && !worker->lengths) {
		worker->lengths = median_new(LENGTHS);
	}
	const struct pool_hooks *hooks = &worker->pool->config.hooks;
	enum work_status status = worker->type->run(worker, worker->queue, worker->data, worker->size);
	if (status == WORK_FAILED && hooks->failed) {
		hooks->failed(hooks->arg, worker, worker->queue);
	}
	return status;
}

// Others wait for the lock: nothing is allocated with it on the way of an item. The exceptions, which are bounded by the
// number of workers, slots and queues or by doubling, take the ban back where they are.
static void worker_lock(struct pool *pool) {
	mutex_lock(&pool->lock);
	alloc_forbid(+1);
}

static void worker_unlock(struct pool *pool) {
	alloc_forbid(-1);
	mutex_unlock(&pool->lock);
}

void *worker_main(void *arg) {
	struct worker *worker = arg;
	struct pool *pool = worker->pool;
	struct errands errands = ERRANDS_INIT;
	if (pool->config.hooks.started) {
		pool->config.hooks.started(pool->config.hooks.arg, worker);
	}
	worker_lock(pool);
	worker->side->waking = false;
	while (worker_look(worker, &errands)) {
		worker_unlock(pool);
		if (errands.any) {
			errands_run(pool, &errands);
		}
		enum work_status status = WORK_OK;
		if (worker->queue) {
			status = worker_run(worker);
		}
		worker_lock(pool);
		if (worker->queue) {
			worker_finish(worker, status, &errands);
		}
		if (errands.any) { // before the next item, which may run for long
			worker_unlock(pool);
			errands_run(pool, &errands);
			worker_lock(pool);
		}
	}
	worker_unlock(pool);
	return NULL;
}

// ---- what callers may ask ----

struct pool *worker_pool(const struct worker *worker) {
	return worker->pool;
}

unsigned worker_slot(const struct worker *worker) {
	return worker->slot;
}

bool worker_is_long(const struct worker *worker) {
	return worker->side == &worker->pool->sides[1];
}

unsigned worker_width(const struct worker *worker) {
	return worker->width;
}

void worker_unsettle(struct worker *worker) {
	worker->unsettled = true;
}

const struct facts *worker_facts(const struct worker *worker) {
	return &worker->facts;
}

uint64_t worker_start_time(const struct worker *worker) {
	return worker->start;
}

void *worker_context(const struct worker *worker) {
	return worker->context;
}

void **worker_scratch(struct worker *worker, void (*fini)(void *)) {
	worker->scratch_fini = fini;
	return &worker->scratch;
}
