// Tests of the pool (engine/pool.h): closing, idle, cancel, shutdown, failures, contexts.

#include "engine/pool.h"

#include "stage.h"

#include <errno.h>

// ---- life of queues and pool ----

enum { ADDERS = 3, ROUNDS = 200 };

static void *adder_run(void *arg) {
	(void)arg;
	for (int i = 0; i < ROUNDS; ++i) {
		struct queue *queue = open_queue(i % 2 ? "odd" : "even", NULL);
		submit(queue, &count_type, 1 + i % 3);
		pool_queue_close(pool, queue);
	}
	return NULL;
}

static void test_close_once(void) {
	open_pool(2);
	struct queue *keeper = open_queue("keeper", NULL);
	pool_start(pool);
	thread adders[ADDERS];
	for (int i = 0; i < ADDERS; ++i) {
		check(thread_start(&adders[i], adder_run, NULL, 256 * 1024) == 0);
	}
	for (int i = 0; i < ADDERS; ++i) {
		thread_join(adders[i]);
	}
	check_equal(atomic_load_relaxed(&seen.idles), 0);
	pool_queue_close(pool, keeper);
	close_pool();
	int items = 0;
	for (int i = 0; i < ROUNDS; ++i) {
		items += ADDERS * (1 + i % 3);
	}
	check_equal(atomic_load_relaxed(&seen.ran), items);
	check_equal(atomic_load_relaxed(&seen.submitted), items); // each removal counted its own
}

static void test_close_empty(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL), *same = open_queue("a", NULL);
	check(a == same);
	pool_queue_close(pool, a);
	check_equal(atomic_load_relaxed(&seen.removed), 0);
	pool_queue_close(pool, same);
	check_equal(atomic_load_relaxed(&seen.removed), 1);
	check_equal(atomic_load_relaxed(&seen.idles), 1);
	check(!pool_queue_open(pool, "b", &plain, NULL));
	check_equal(errno, ESHUTDOWN);
	close_pool();
}

static void test_reopen(void) {
	open_pool(1);
	struct queue *keeper = open_queue("k", NULL);
	struct queue *a = open_queue("a", NULL);
	check_equal(*queue_keep(a), 0);
	*queue_keep(a) = 17;
	pool_queue_close(pool, a);
	check_equal(atomic_load_relaxed(&seen.removed), 1);
	a = open_queue("a", NULL);
	check_equal(*queue_keep(a), 17);
	// closed with work still in it: simply open again
	submit(a, &count_type, 1);
	pool_queue_close(pool, a);
	check(open_queue("a", NULL) == a);
	submit(a, &count_type, 1);
	pool_queue_close(pool, a);
	pool_start(pool);
	pool_queue_close(pool, keeper);
	close_pool();
	check_equal(atomic_load_relaxed(&seen.removed), 3);
	check_equal(atomic_load_relaxed(&seen.ran), 2);
}

static void test_million_names(void) {
	// by turns opened, fed and closed: only what must be remembered is
	open_pool(1);
	struct queue *keeper = open_queue("k", NULL);
	pool_start(pool);
	char name[16];
	struct pool_stat before, after;
	pool_stat(pool, &before);
	for (int i = 0; i < 100000; ++i) {
		snprintf(name, sizeof(name), "%d", i);
		struct queue *queue = open_queue(name, NULL);
		*queue_keep(queue) = (uint64_t)i + 1;
		pool_queue_close(pool, queue);
	}
	pool_stat(pool, &after);
	check_equal(after.mem_bytes, before.mem_bytes);
	for (int i = 0; i < 100000; ++i) {
		snprintf(name, sizeof(name), "%d", i);
		struct queue *queue = open_queue(name, NULL);
		check_equal(*queue_keep(queue), i + 1);
		pool_queue_close(pool, queue);
	}
	pool_queue_close(pool, keeper);
	close_pool();
}

static void test_cancel(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	submit_hold(a, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	submit(a, &count_type, 100);
	submit(b, &count_type, 100);
	check_equal(pool_cancel(pool, a), 100);
	check_equal(pool_cancel(pool, a), 0);
	check_equal(atomic_load_relaxed(&seen.dropped), 100);
	check_equal(pool_cancel(pool, NULL), 100);
	check_equal(atomic_load_relaxed(&seen.dropped), 200);
	gate_raise(&gates[1]);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	close_pool();
	check_equal(atomic_load_relaxed(&seen.ran), 1); // what runs is left alone
}

static enum submit_status nested_status;

// Submits one item to its own queue when gate 1 opens; keeps what the pool said.
static enum work_status nester_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)data, (void)size;
	gate_raise(&gates[0]);
	gate_wait(&gates[1], 1);
	struct work work = {.type = &count_type, .flags = WORK_LOCAL};
	nested_status = pool_submit(pool, queue, worker, &work, 1);
	atomic_add_relaxed(&seen.ran, 1);
	return WORK_OK;
}

static const struct work_type nester_type = {.name = "nester", .run = nester_run};

static void test_drain(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	submit(a, &nester_type, 1);
	submit(a, &count_type, 5);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	check_equal(pool_shutdown(pool, POOL_DRAINING), 0);
	struct work work = {.type = &count_type};
	check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_CLOSED);
	check(!pool_queue_open(pool, "b", &plain, NULL));
	gate_raise(&gates[1]);
	wait_idle();
	check_equal(nested_status, SUBMIT_OK);
	check_equal(atomic_load_relaxed(&seen.ran), 7);
	// the handle is good until it is closed, although the queue is gone
	check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_CLOSED);
	pool_queue_close(pool, a);
	pool_destroy(pool);
}

static void test_shutdown_cancel(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	submit(a, &nester_type, 1);
	submit(a, &count_type, 5);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	pool_shutdown(pool, POOL_DRAINING);
	check_equal(pool_shutdown(pool, POOL_CANCELLING), 5);
	check_equal(pool_shutdown(pool, POOL_CANCELLING), 0);
	check_equal(pool_shutdown(pool, POOL_DRAINING), 0); // never back
	gate_raise(&gates[1]);
	close_pool();
	check_equal(nested_status, SUBMIT_CLOSED);
	check_equal(atomic_load_relaxed(&seen.ran), 1);
	check_equal(atomic_load_relaxed(&seen.dropped), 5);
}

static void test_shutdown_unused(void) {
	open_pool(1);
	pool_start(pool);
	pool_shutdown(pool, POOL_DRAINING);
	close_pool();
}

static enum work_status fail_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue, (void)data, (void)size;
	return WORK_FAILED;
}

static void on_failed(void *arg, struct worker *worker, struct queue *queue) {
	(void)arg;
	check_equal(atomic_load_relaxed(&seen.removed), 0);
	atomic_add_relaxed(&seen.failed, 1);
	struct work work = {.type = &count_type, .flags = WORK_LOCAL};
	check_equal(pool_submit(pool, queue, worker, &work, 1), SUBMIT_OK); // belongs to the same run
}

static void test_failed(void) {
	static const struct work_type fail_type = {.name = "fail", .run = fail_run};
	config.hooks.failed = on_failed;
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	submit(a, &fail_type, 3);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_equal(atomic_load_relaxed(&seen.failed), 3);
	check_equal(atomic_load_relaxed(&seen.ran), 3);
	check_equal(atomic_load_relaxed(&seen.submitted), 6);
}

static enum work_status wait_inside_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)data, (void)size;
	submit_tree(queue, 4);
	pool_queue_close(pool, queue);
	check(pool_wait_idle(pool, worker, TIME_NEVER)); // runs them in the slot that this one lends
	check_equal(atomic_load_relaxed(&seen.ran), 31);
	return WORK_OK;
}

static void test_wait_inside(void) {
	static const struct work_type type = {.name = "wait", .run = wait_inside_run};
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	submit(a, &type, 1);
	check(!pool_wait_idle(pool, NULL, now_ns()));
	pool_start(pool);
	close_pool();
}

// ---- contexts ----

static enum work_status context_run(struct worker *worker, struct queue *queue, void *data, size_t size);

static const struct work_type context_type = {.name = "context", .run = context_run, .drop = count_drop};

static enum work_status context_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	static char mine;
	(void)size;
	char kind;
	memcpy(&kind, data, 1);
	if (kind == 'r') {
		check(worker_context(worker) == &gates[2]);
		char kinds[] = "inm";
		struct work works[] = {
			{.type = &context_type, .data = &kinds[0], .size = 1, .flags = WORK_LOCAL},                   // inherits
			{.type = &context_type, .data = &kinds[1], .size = 1, .flags = WORK_LOCAL | WORK_NO_CONTEXT}, // none
			{.type = &context_type, .data = &kinds[2], .size = 1, .context = &mine},                      // its own
		};
		check_equal(pool_submit(pool, queue, worker, works, 3), SUBMIT_OK);
	} else if (kind == 'i') {
		check(worker_context(worker) == &gates[2]);
	} else {
		check(worker_context(worker) == (kind == 'm' ? &mine : NULL));
	}
	atomic_add_relaxed(&seen.ran, 1);
	return WORK_OK;
}

static void test_contexts(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	struct work work = {.type = &context_type, .data = "r", .size = 1, .context = &gates[2]};
	check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_OK);
	for (int i = 0; i < 10; ++i) {
		check_equal(pool_submit(pool, b, NULL, &work, 1), SUBMIT_OK);
	}
	check_equal(atomic_load_relaxed(&seen.contexts), 11);
	check_equal(pool_cancel(pool, b), 10);
	check_equal(atomic_load_relaxed(&seen.contexts), 1);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_start(pool);
	close_pool();
	check_equal(atomic_load_relaxed(&seen.ran), 4);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a queue is removed once, under concurrent adds", test_close_once),
		TEST("an empty queue is removed by its last close", test_close_empty),
		TEST("a name keeps its number, and a closed queue with work can be opened again", test_reopen),
		TEST("100,000 names that came and went are remembered", test_million_names),
		TEST("cancel drops what is queued, once, and leaves what runs", test_cancel),
		TEST("draining refuses work from outside and runs nested work", test_drain),
		TEST("cancelling drops what is queued and refuses nested work", test_shutdown_cancel),
		TEST("a pool that was never used becomes idle when it is shut down", test_shutdown_unused),
		TEST("a failed item calls the hook before it is done", test_failed),
		TEST("an item can wait for all others at one slot", test_wait_inside),
		TEST("a context flows from the running item, and all are given back", test_contexts),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
