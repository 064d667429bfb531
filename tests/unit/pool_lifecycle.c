// Tests of the pool (engine/pool.h): closing, idle, cancel, shutdown, failures.

#include "engine/pool.h"

#include "pool_fixture.h"

#include <errno.h>
#include <sched.h>

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
	check_seen(idles, 0);
	pool_queue_close(pool, keeper);
	close_pool();
	int items = 0;
	for (int i = 0; i < ROUNDS; ++i) {
		items += ADDERS * (1 + i % 3);
	}
	check_seen(ran, items);
	check_seen(submitted, items); // each removal counted its own
}

static void test_close_empty(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL), *same = open_queue("a", NULL);
	check(a == same);
	pool_queue_close(pool, a);
	check_seen(removed, 0);
	pool_queue_close(pool, same);
	check_seen(removed, 1);
	check_seen(idles, 1);
	check(!pool_queue_open(pool, "b", &plain, NULL));
	check_equal(errno, ESHUTDOWN);
	close_pool();
}

static void test_reopen(void) {
	open_pool(1);
	struct queue *keeper = open_queue("k", NULL);
	struct queue *a = open_queue("a", NULL);
	check_equal(*queue_user_count(a), 0);
	*queue_user_count(a) = 17;
	pool_queue_close(pool, a);
	check_seen(removed, 1);
	a = open_queue("a", NULL);
	check_equal(*queue_user_count(a), 17);
	// closed with work still in it: simply open again
	submit(a, &count_type, 1);
	pool_queue_close(pool, a);
	check(open_queue("a", NULL) == a);
	submit(a, &count_type, 1);
	pool_queue_close(pool, a);
	pool_start(pool);
	pool_queue_close(pool, keeper);
	close_pool();
	check_seen(removed, 3);
	check_seen(ran, 2);
}

// A reference that a running item takes keeps the queue after its opener has closed it.
static _Atomic(struct queue *) referred;

static enum work_status refer_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)data, (void)size;
	check(queue_ref(pool, queue));
	atomic_store(&referred, queue);
	return WORK_OK;
}

static const struct work_type refer_type = {.run = refer_run};

static void test_ref(void) {
	open_pool(1);
	struct queue *keeper = open_queue("k", NULL), *a = open_queue("a", NULL);
	check(queue_ref(pool, a));
	pool_queue_close(pool, a);
	submit(a, &refer_type, 1);
	pool_queue_close(pool, a); // closed, and its item opens it again
	pool_start(pool);
	while (!atomic_load(&referred)) {
		sched_yield();
	}
	pool_queue_close(pool, keeper);
	check(atomic_load(&referred) == a);
	check_seen(removed, 1);
	submit(a, &count_type, 1); // still taken
	while (atomic_load(&seen.ran) == 0) {
		sched_yield();
	}
	check_equal(pool_shutdown(pool), 0);
	check(!queue_ref(pool, a));
	pool_queue_close(pool, a);
	close_pool();
	check_seen(removed, 2);
	check_seen(ran, 1);
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
		*queue_user_count(queue) = (uint64_t)i + 1;
		pool_queue_close(pool, queue);
	}
	pool_stat(pool, &after);
	check_equal(after.mem_bytes, before.mem_bytes);
	for (int i = 0; i < 100000; ++i) {
		snprintf(name, sizeof(name), "%d", i);
		struct queue *queue = open_queue(name, NULL);
		check_equal(*queue_user_count(queue), i + 1);
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
	check_seen(dropped, 100);
	check_equal(pool_cancel(pool, b), 100);
	check_seen(dropped, 200);
	gate_raise(&gates[1]);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	close_pool();
	check_seen(ran, 1); // what runs is left alone
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

static const struct work_type nester_type = {.run = nester_run};

static void test_shutdown_cancel(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	submit(a, &nester_type, 1);
	submit(a, &count_type, 5);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	check_equal(pool_shutdown(pool), 5);
	check_equal(pool_shutdown(pool), 0);
	struct work work = {.type = &count_type};
	check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_CLOSED);
	check(!pool_queue_open(pool, "b", &plain, NULL));
	gate_raise(&gates[1]);
	wait_idle();
	// the handle is good until it is closed, although the queue is gone
	check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_CLOSED);
	pool_queue_close(pool, a);
	pool_destroy(pool);
	check_equal(nested_status, SUBMIT_CLOSED);
	check_seen(ran, 1);
	check_seen(dropped, 5);
}

static void test_shutdown_unused(void) {
	open_pool(1);
	pool_start(pool);
	pool_shutdown(pool);
	close_pool();
}

// ---- the last item of a queue ----

static _Atomic int finals;
static int ran_before_final, removed_before_final, more_of_final;

// Says what happened before it; submits as many items to its own queue as more_of_final says.
static enum work_status final_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	check_equal(size, 5);
	check(memcmp(data, "final", 5) == 0);
	atomic_add_relaxed(&finals, 1);
	ran_before_final = atomic_load_relaxed(&seen.ran);
	removed_before_final = atomic_load_relaxed(&seen.removed);
	for (int i = 0; i < more_of_final; ++i) {
		struct work work = {.type = &count_type, .flags = WORK_LOCAL};
		nested_status = pool_submit(pool, queue, worker, &work, 1);
	}
	return WORK_OK;
}

static void final_drop(struct queue *queue, void *data, size_t size) {
	(void)queue, (void)data;
	check_equal(size, 5);
	atomic_add_relaxed(&seen.dropped, 1);
}

static const struct work_type final_type = {.run = final_run, .drop = final_drop};

static void set_last_item(struct queue *queue, unsigned width) {
	char data[] = "final"; // a copy is kept
	struct work work = {.type = &final_type, .data = data, .size = 5, .id = 99, .width = width};
	pool_queue_set_last_item(pool, queue, &work);
	memset(data, 'x', 5);
}

static void check_last_item(int ran) {
	check_equal(atomic_load_relaxed(&finals), 1);
	check_equal(ran_before_final, ran);
	check_equal(removed_before_final, 0);
	check_seen(removed, 1);
}

static void test_last_item(void) {
	open_pool(3);
	struct queue *a = open_queue("a", NULL);
	set_last_item(a, 1);
	submit_tree(a, 4);
	submit(a, &count_type, 20);
	pool_start(pool);
	while (atomic_load_relaxed(&seen.ran) < 51) {
		sched_yield();
	}
	submit(a, &count_type, 9); // it was empty, but not closed
	pool_queue_close(pool, a);
	close_pool();
	check_last_item(60);
	check_seen(submitted, 61);
	check(strncmp(seen.trace + seen.len - 2, "aq", 2) == 0);
}

static void test_last_item_of_nothing(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	set_last_item(a, 1);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_last_item(0);
}

static void test_last_item_nested(void) {
	open_pool(2);
	struct queue *a = open_queue("a", NULL);
	more_of_final = 10;
	set_last_item(a, 1);
	submit(a, &count_type, 5);
	pool_start(pool);
	pool_queue_close(pool, a);
	close_pool();
	check_last_item(5);
	check_equal(nested_status, SUBMIT_OK);
	check_seen(ran, 15);
	check_seen(submitted, 16);
}

static void test_last_item_cancelled(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	set_last_item(a, 1);
	submit_hold(a, 1);
	submit(a, &count_type, 5);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	pool_queue_close(pool, a);
	check_equal(pool_cancel(pool, a), 5);
	gate_raise(&gates[1]);
	close_pool();
	check_last_item(1);
}

static void test_last_item_cancelled_when_due(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	submit_hold(b, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1); // the slot is taken
	set_last_item(a, 1);
	pool_queue_close(pool, a); // due, but it has no slot
	check_equal(pool_cancel(pool, a), 0);
	check_equal(pool_shutdown(pool), 0);
	gate_raise(&gates[1]);
	wait_idle();
	check_equal(atomic_load_relaxed(&finals), 1);
	check_seen(dropped, 0);
	pool_queue_close(pool, b);
	pool_destroy(pool);
}

static void test_last_item_shutdown(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL), *c = open_queue("c", NULL);
	more_of_final = 1;
	set_last_item(a, 1);
	set_last_item(b, 1);
	set_last_item(c, 1);
	submit_hold(a, 1);
	submit(b, &count_type, 5);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	check_equal(pool_shutdown(pool), 5);
	gate_raise(&gates[1]);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_queue_close(pool, c);
	pool_destroy(pool); // waits for all three
	check_equal(atomic_load_relaxed(&finals), 3);
	check_equal(nested_status, SUBMIT_CLOSED);
	check_seen(removed, 3);
	check_seen(ran, 1);
}

static void test_last_item_wide(void) {
	// it waits for its slots, and nobody can cancel it there either
	open_pool(2);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	submit_hold(b, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	set_last_item(a, 2);
	pool_queue_close(pool, a);
	submit(b, &count_type, 7);
	check_equal(pool_cancel(pool, a), 0);
	uint64_t dropped = pool_cancel(pool, b);
	check_equal(pool_shutdown(pool), 0);
	check_equal(atomic_load_relaxed(&finals), 0);
	gate_raise(&gates[1]);
	pool_queue_close(pool, b);
	close_pool();
	check_equal(atomic_load_relaxed(&finals), 1);
	check_equal(dropped, 8 - atomic_load_relaxed(&seen.ran));
}

static void test_last_item_long(void) {
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .long_running = true};
	struct queue *a = open_queue("a", &attrs);
	set_last_item(a, 3);
	submit(a, &count_type, 3);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_last_item(3);
}

static void test_last_item_reopened(void) {
	open_pool(1);
	struct queue *keeper = open_queue("k", NULL), *a = open_queue("a", NULL);
	set_last_item(a, 1);
	pool_queue_close(pool, a); // due: nothing runs before pool_start()
	check(open_queue("a", NULL) == a);
	set_last_item(a, 1); // it has been had
	check_seen(dropped, 1);
	submit(a, &count_type, 3);
	pool_queue_close(pool, a);
	pool_start(pool);
	pool_queue_close(pool, keeper);
	close_pool();
	check_equal(atomic_load_relaxed(&finals), 1);
	check_equal(ran_before_final, 0);
	check_seen(ran, 3);
	check_seen(removed, 2);
}

static void test_last_item_too_late(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	pool_start(pool);
	pool_shutdown(pool); // the queue is gone
	set_last_item(a, 1);
	check_seen(dropped, 1);
	check_equal(atomic_load_relaxed(&finals), 0);
	pool_queue_close(pool, a);
	close_pool();
}

// ---- paused queues ----

static void test_paused(void) {
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .paused = true};
	struct queue *a = open_queue("a", &attrs), *b = open_queue("b", NULL);
	submit(a, &count_type, 6);
	submit(b, &count_type, 6);
	pool_start(pool);
	struct pool_stat stat;
	do {
		pool_stat(pool, &stat);
	} while (stat.dispatched < 6 || stat.running > 0);
	check_equal(stat.queued, 6);
	pool_pause(pool, true);
	submit(b, &count_type, 3);
	attrs.paused = false;
	queue_set(pool, a, &attrs);
	pool_pause(pool, false);
	do {
		pool_stat(pool, &stat);
	} while (stat.dispatched < 12);
	attrs.paused = true; // and once more, whatever of it is left
	queue_set(pool, a, &attrs);
	attrs.paused = false;
	queue_set(pool, a, &attrs);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	close_pool();
	check(strncmp(seen.trace, "bqbqbqbqbqbqaqbqaqbqaqbqaq", 26) == 0); // it has gained nothing
	check_equal(seen.n, 15);
}

static void test_paused_cancel(void) {
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .paused = true};
	struct queue *keeper = open_queue("k", NULL), *a = open_queue("a", &attrs), *b = open_queue("b", &attrs);
	submit(a, &count_type, 6);
	pool_start(pool);
	pool_queue_close(pool, b); // empty
	check_seen(removed, 1);
	pool_queue_close(pool, a);
	check_seen(removed, 1); // paused, not empty
	check_equal(pool_shutdown(pool), 6);
	pool_queue_close(pool, keeper);
	close_pool();
	check_seen(ran, 0);
	check_seen(dropped, 6);
}

static void test_paused_last_item(void) {
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .paused = true};
	struct queue *a = open_queue("a", &attrs);
	set_last_item(a, 1);
	submit(a, &count_type, 6);
	pool_start(pool);
	pool_queue_close(pool, a);
	check_seen(removed, 0);
	check_equal(pool_cancel(pool, a), 6);
	close_pool();
	check_last_item(0);
}

static void test_last_item_not_paused(void) {
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .paused = true};
	struct queue *a = open_queue("a", NULL);
	set_last_item(a, 1);
	pool_queue_close(pool, a); // due
	queue_set(pool, a, &attrs);
	pool_start(pool);
	close_pool();
	check_last_item(0);
}

// ---- cancelling from inside ----

static struct queue *cancelled;

static enum work_status cancel_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)data, (void)size;
	check_equal(pool_cancel(pool, cancelled), 100);
	check_equal(pool_cancel(pool, queue), 2); // its own, but not itself
	atomic_add_relaxed(&seen.ran, 1);
	return WORK_OK;
}

static void test_cancel_from_item(void) {
	static const struct work_type type = {.run = cancel_run};
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	cancelled = open_queue("b", NULL);
	submit(a, &type, 1);
	submit(a, &count_type, 2);
	submit(cancelled, &count_type, 100);
	pool_start(pool);
	pool_queue_close(pool, a);
	while (atomic_load_relaxed(&seen.removed) == 0) {
		sched_yield();
	}
	pool_queue_close(pool, cancelled);
	close_pool();
	check_seen(ran, 1);
	check_seen(dropped, 102);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a queue is removed once, under concurrent adds", test_close_once),
		TEST("an empty queue is removed by its last close", test_close_empty),
		TEST("a reference keeps a queue open, also one that its running item takes", test_ref),
		TEST("a name keeps its number, and a closed queue with work can be opened again", test_reopen),
		TEST("100,000 names that came and went are remembered", test_million_names),
		TEST("cancel drops what is queued, once, and leaves what runs", test_cancel),
		TEST("a pool that is shut drops what is queued and refuses work from anywhere", test_shutdown_cancel),
		TEST("a pool that was never used becomes idle when it is shut down", test_shutdown_unused),
		TEST("the last item of a queue runs once, after all others and before the removal", test_last_item),
		TEST("also of a queue that had none", test_last_item_of_nothing),
		TEST("what it submits runs before the removal", test_last_item_nested),
		TEST("cancelling the others does not drop it", test_last_item_cancelled),
		TEST("nor does cancelling it when it is queued", test_last_item_cancelled_when_due),
		TEST("nor a shutdown, and destroying waits for it", test_last_item_shutdown),
		TEST("nor cancelling it while it waits for its slots", test_last_item_wide),
		TEST("it runs on a dedicated thread if its queue does", test_last_item_long),
		TEST("a name that is opened again when it is queued has had it", test_last_item_reopened),
		TEST("of a queue that is gone already it is dropped", test_last_item_too_late),
		TEST("nothing of a paused queue runs, and it gains nothing", test_paused),
		TEST("a paused queue can be cancelled and removed", test_paused_cancel),
		TEST("the last item of a paused queue runs", test_paused_last_item),
		TEST("no pause keeps it from running", test_last_item_not_paused),
		TEST("an item can cancel another queue and its own", test_cancel_from_item),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
