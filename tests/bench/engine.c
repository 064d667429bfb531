// engine: what the pool alone costs: no-op items through named queues, without a process.
//
//	engine MODE ITEMS
//
//	runs      submitted from outside, 256 at a time, to 4 queues in turn (as the reader does)
//	single    the same, one at a time
//	nested    a binary tree: each item submits its two children to the worker's own list
//	isolated  one item, wait until it ran, the next
//
// 2 workers. Prints one line (tests/bench/meter.h). The comparers glib.c and tbb.cpp take the same words.

#include "base/diag.h"
#include "base/sync.h"
#include "engine/pool.h"

#include "meter.h"

#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2, QUEUES = 4, RUN = 256 };

static struct pool *pool;
static struct queue *queues[QUEUES];

static enum work_status nop_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue, (void)data, (void)size;
	return WORK_OK;
}

static const struct work_type nop_type = {.run = nop_run};

static enum work_status tree_run(struct worker *worker, struct queue *queue, void *data, size_t size);

static const struct work_type tree_type = {.run = tree_run};

static enum work_status tree_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	unsigned depth;
	verify(size == sizeof(depth));
	memcpy(&depth, data, sizeof(depth));
	if (depth > 0) {
		--depth;
		struct work child = {.type = &tree_type, .data = &depth, .size = sizeof(depth), .flags = WORK_LOCAL};
		struct work children[] = {child, child};
		verify(pool_submit(pool, queue, worker, children, 2) == SUBMIT_OK);
	}
	return WORK_OK;
}

static mutex flag_lock = MUTEX_INIT(LOCK_OF_TEST);
static cond flag_cond;
static long flag_count;

static enum work_status flag_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue, (void)data, (void)size;
	mutex_lock(&flag_lock);
	++flag_count;
	mutex_unlock(&flag_lock);
	cond_signal(&flag_cond);
	return WORK_OK;
}

static const struct work_type flag_type = {.run = flag_run};

static void submit_outside(long items, long at_once) {
	struct work works[RUN];
	long data = 1;
	for (long i = 0; i < RUN; ++i) {
		works[i] = (struct work){.type = &nop_type, .data = &data, .size = sizeof(data)};
	}
	for (long done = 0, turn = 0; done < items; done += at_once, ++turn) {
		verify(pool_submit(pool, queues[turn % QUEUES], NULL, works, (size_t)at_once) == SUBMIT_OK);
	}
}

static void submit_isolated(long items) {
	struct work work = {.type = &flag_type};
	for (long i = 1; i <= items; ++i) {
		verify(pool_submit(pool, queues[0], NULL, &work, 1) == SUBMIT_OK);
		mutex_lock(&flag_lock);
		while (flag_count < i) {
			cond_wait(&flag_cond, &flag_lock);
		}
		mutex_unlock(&flag_lock);
	}
}

// Submits the roots; returns how many items the trees have together.
static long submit_trees(long items) {
	unsigned depth = 0;
	while (((2L << depth) - 1) * QUEUES < items) {
		++depth;
	}
	struct work root = {.type = &tree_type, .data = &depth, .size = sizeof(depth)};
	for (int i = 0; i < QUEUES; ++i) {
		verify(pool_submit(pool, queues[i], NULL, &root, 1) == SUBMIT_OK);
	}
	return ((2L << depth) - 1) * QUEUES;
}

static void measure(const char *mode, long items) {
	struct meter start = meter_read();
	if (strcmp(mode, "runs") == 0) {
		items = (items + RUN - 1) / RUN * RUN;
		submit_outside(items, RUN);
	} else if (strcmp(mode, "single") == 0) {
		submit_outside(items, 1);
	} else if (strcmp(mode, "nested") == 0) {
		items = submit_trees(items);
	} else if (strcmp(mode, "isolated") == 0) {
		submit_isolated(items);
	} else {
		diag_die("no such mode: %s", mode);
	}
	for (int i = 0; i < QUEUES; ++i) {
		pool_queue_close(pool, queues[i]);
	}
	verify(pool_wait_idle(pool, TIME_NEVER));
	struct pool_stat stat;
	pool_stat(pool, &stat);
	verify(stat.dispatched == (uint64_t)items);
	meter_print(mode, start, (double)items, (double)stat.wakes);
}

int main(int argc, char *argv[]) {
	long items = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	if (items < 1) {
		diag_error("usage: engine runs|single|nested|isolated ITEMS");
		return EXIT_TROUBLE;
	}
	cond_init(&flag_cond);
	struct pool_config config = {
		.slots = WORKERS,
		.max_long = 1,
		.queue_mem = (size_t)8 << 30, // the comparers have no bound either
		.spill_dir = "/tmp",
		.stack_bytes = 128 * 1024,
	};
	pool = pool_create(&config);
	static const char *const names[QUEUES] = {"a", "b", "c", "d"};
	struct queue_attrs attrs = {.weight = 1};
	for (int i = 0; i < QUEUES; ++i) {
		queues[i] = pool_queue_open(pool, names[i], &attrs, /* user */ NULL);
		verify(queues[i]);
	}
	pool_start(pool);
	measure(argv[1], items);
	pool_destroy(pool);
	cond_fini(&flag_cond);
	return 0;
}
