// A fixture for tests of the pool: hooks that record their calls, kinds of items, and gates.
//
// Items wait for one another through gates (a mutex and a condition), never by sleeping.

#pragma once

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/sync.h"
#include "engine/pool.h"

#include "test.h"

// A gate: a number that some items raise, and that other items wait for.
struct gate {
	mutex lock;
	cond changed;
	long value;
};

static struct gate gates[8];

static inline void gate_raise(struct gate *gate) {
	mutex_lock(&gate->lock);
	++gate->value;
	mutex_unlock(&gate->lock);
	cond_broadcast(&gate->changed);
}

static inline void gate_wait(struct gate *gate, long value) {
	mutex_lock(&gate->lock);
	while (gate->value < value) {
		cond_wait(&gate->changed, &gate->lock);
	}
	mutex_unlock(&gate->lock);
}

static struct pool *pool;
static struct pool_config config;
static struct queue_attrs plain;

// What the hooks have recorded.
static struct {
	char trace[1 << 16];       // batch and source of each dispatch: "aq" is from the queue of a, "ao" own, "as" stolen
	size_t len;
	uint64_t times[4096];
	unsigned slots[4096];
	uint64_t n;
	_Atomic int idles, removed, lows, lows_all, dropped, ran;
	_Atomic uint64_t submitted;
	_Atomic int troubles;
	_Atomic int trouble_error;
	struct gate low_all;
} seen;

// The present value of a count that the hooks keep.
#define check_seen(member, expected) check_equal(atomic_load_relaxed(&seen.member), expected)

static inline void on_idle(void *arg) {
	(void)arg;
	atomic_add_relaxed(&seen.idles, 1);
}

static inline void on_low(void *arg, struct queue *queue) {
	(void)arg;
	if (queue) {
		atomic_add_relaxed(&seen.lows, 1);
	} else {
		atomic_add_relaxed(&seen.lows_all, 1);
		gate_raise(&seen.low_all);
	}
}

static inline void on_removed(void *arg, struct queue *queue, uint64_t submitted) {
	(void)arg, (void)queue;
	check(atomic_load_relaxed(&seen.idles) == 0);
	atomic_add_relaxed(&seen.removed, 1);
	atomic_add_relaxed(&seen.submitted, submitted);
}

static inline void on_trace(void *arg, const struct service *service) {
	(void)arg;
	static const char sources[] = {[SOURCE_OWN] = 'o', [SOURCE_STOLEN] = 's', [SOURCE_QUEUE] = 'q',
		[SOURCE_LENT] = 'l', [SOURCE_LONG] = 'L', [SOURCE_BACKFILL] = 'b'};
	check_equal(service->n, ++seen.n);
	if (seen.len + 3 < sizeof(seen.trace)) {
		seen.trace[seen.len++] = service->batch[0];
		seen.trace[seen.len++] = sources[service->source];
	}
	if (service->n < 4096) {
		seen.times[service->n] = service->now;
		seen.slots[service->n] = service->slot;
	}
}

static inline void on_trouble(void *arg, const char *what, int error) {
	(void)arg, (void)what;
	atomic_add_relaxed(&seen.troubles, 1);
	atomic_store_relaxed(&seen.trouble_error, error);
}

static inline void open_pool(unsigned slots) {
	for (int i = 0; i < 8; ++i) {
		mutex_init(&gates[i].lock, LOCK_OF_TEST);
		cond_init(&gates[i].changed);
		gates[i].value = 0;
	}
	mutex_init(&seen.low_all.lock, LOCK_OF_TEST);
	cond_init(&seen.low_all.changed);
	plain = (struct queue_attrs){.weight = 1};
	config.slots = slots;
	config.max_long = config.max_long ? config.max_long : 4;
	config.queue_mem = config.queue_mem ? config.queue_mem : 64 << 20;
	config.spill_dir = config.spill_dir ? config.spill_dir : "/tmp";
	config.stack_bytes = 256 * 1024;
	config.hooks.idle = on_idle;
	config.hooks.low = config.hooks.low ? config.hooks.low : on_low;
	config.hooks.removed = config.hooks.removed ? config.hooks.removed : on_removed;
	config.hooks.trace = config.hooks.trace ? config.hooks.trace : on_trace;
	config.hooks.trouble = on_trouble;
	pool = pool_create(&config);
}

static inline struct queue *open_queue(const char *name, const struct queue_attrs *attrs) {
	struct queue *queue = pool_queue_open(pool, name, attrs ? attrs : &plain, NULL);
	check(queue);
	return queue;
}

static inline void wait_idle(void) {
	check(pool_wait_idle(pool, TIME_NEVER));
	check_seen(idles, 1);
}

static inline void close_pool(void) {
	wait_idle();
	pool_destroy(pool);
	check_seen(idles, 1);
}

static inline enum work_status count_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue, (void)data, (void)size;
	atomic_add_relaxed(&seen.ran, 1);
	return WORK_OK;
}

static inline void count_drop(struct queue *queue, void *data, size_t size) {
	(void)queue, (void)data, (void)size;
	atomic_add_relaxed(&seen.dropped, 1);
}

FP_UNUSED static const struct work_type count_type = {.run = count_run, .drop = count_drop};

// An item that raises gate 0 when it runs, and ends when gate 1 has reached its data.
static inline enum work_status hold_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	long until;
	(void)worker, (void)queue;
	check_equal(size, sizeof(until));
	memcpy(&until, data, sizeof(until));
	gate_raise(&gates[0]);
	gate_wait(&gates[1], until);
	atomic_add_relaxed(&seen.ran, 1);
	return WORK_OK;
}

FP_UNUSED static const struct work_type hold_type = {.run = hold_run, .drop = count_drop};

static inline void submit(struct queue *queue, const struct work_type *type, int n) {
	struct work works[256];
	check(n <= 256);
	for (int i = 0; i < n; ++i) {
		works[i] = (struct work){.type = type, .id = (uint64_t)i + 1};
	}
	check_equal(pool_submit(pool, queue, NULL, works, (size_t)n), SUBMIT_OK);
}

static inline void submit_hold(struct queue *queue, long until) {
	struct work work = {.type = &hold_type, .data = &until, .size = sizeof(until)};
	check_equal(pool_submit(pool, queue, NULL, &work, 1), SUBMIT_OK);
}

static inline enum work_status tree_run(struct worker *worker, struct queue *queue, void *data, size_t size);

FP_UNUSED static const struct work_type tree_type = {.run = tree_run};

// A tree of items: each item submits two children to the local list, down to depth 0.
static inline enum work_status tree_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)size;
	unsigned depth;
	memcpy(&depth, data, sizeof(depth));
	atomic_add_relaxed(&seen.ran, 1);
	if (depth > 0) {
		--depth;
		struct work child = {.type = &tree_type, .data = &depth, .size = sizeof(depth), .flags = WORK_LOCAL};
		struct work children[2] = {child, child};
		check_equal(pool_submit(pool, queue, worker, children, 2), SUBMIT_OK);
	}
	return WORK_OK;
}

static inline void submit_tree(struct queue *queue, unsigned depth) {
	struct work work = {.type = &tree_type, .data = &depth, .size = sizeof(depth)};
	check_equal(pool_submit(pool, queue, NULL, &work, 1), SUBMIT_OK);
}
