// Tests of the pool (engine/pool.h): items that take several slots.

#include "engine/pool.h"

#include "pool_fixture.h"

#include <sched.h>

// ---- what the tests share ----

static void submit_wide(struct queue *queue, unsigned width, const struct work_type *type, long until, int n) {
	for (int i = 0; i < n; ++i) {
		struct work work = {.type = type, .data = &until, .size = sizeof(until), .id = (uint64_t)i + 1, .width = width};
		check_equal(pool_submit(pool, queue, NULL, &work, 1), SUBMIT_OK);
	}
}

// Waits until an item of the queue, its last one, has been taken but not started: it waits for its slots.
static void wait_held(struct queue *queue) {
	while (pool_queue_bytes(pool, queue) > 0) {
		sched_yield();
	}
	struct pool_stat stat;
	pool_stat(pool, &stat);
	check(stat.queued > 0);
}

static struct pool_stat stat_now(void) {
	struct pool_stat stat;
	pool_stat(pool, &stat);
	return stat;
}

static unsigned widths[4096];
static _Atomic int nwidths;

static enum work_status width_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	widths[atomic_add_relaxed(&nwidths, 1)] = worker_width(worker);
	return count_run(worker, queue, data, size);
}

static const struct work_type width_type = {.run = width_run, .drop = count_drop};

// ---- order and charge ----

static void test_turns(void) {
	// two slots; an item that takes both costs two turns, so the two batches have the same share of the slots
	open_pool(2);
	struct queue *w = open_queue("w", NULL), *n = open_queue("n", NULL);
	submit_wide(w, 2, &width_type, 0, 6);
	submit(n, &count_type, 12);
	pool_queue_close(pool, w);
	pool_queue_close(pool, n);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "wqnqnqwqnqnqwqnqnqwqnqnqwqnqnqwqnqnq");
	for (int i = 0; i < 6; ++i) {
		check_equal(widths[i], 2);
	}
}

static _Atomic uint64_t virtual_time;

static uint64_t virtual_now(void *arg) {
	(void)arg;
	return atomic_load_relaxed(&virtual_time);
}

static void test_time(void) {
	// as above, by slot-time: each item runs for a second of virtual time, and all that run end together
	enum { ROUNDS = 8 };
	config.fair_time = true;
	config.now = virtual_now;
	open_pool(2);
	struct queue *w = open_queue("w", NULL), *n = open_queue("n", NULL);
	for (long round = 1; round <= ROUNDS; ++round) {
		if (round % 2) {
			submit_wide(w, 2, &hold_type, round, 1);
		} else {
			submit_hold(n, round);
			submit_hold(n, round);
		}
	}
	pool_queue_close(pool, w);
	pool_queue_close(pool, n);
	pool_start(pool);
	long started = 0;
	for (int round = 1; round <= ROUNDS; ++round) {
		started += round % 2 ? 1 : 2;
		gate_wait(&gates[0], started);
		check_equal(stat_now().slots_taken, 2);
		atomic_add_relaxed(&virtual_time, NS_PER_S);
		gate_raise(&gates[1]);
	}
	close_pool();
	check_string(seen.trace, "wqnqnqwqnqnqwqnqnqwqnqnq");
	for (uint64_t i = 1; i <= seen.n; ++i) {
		check_equal(seen.times[i], (i - 1) / 3 * 2 * NS_PER_S + ((i - 1) % 3 ? NS_PER_S : 0));
	}
}

// ---- the reservation ----

static void test_reserves(void) {
	open_pool(2);
	struct queue *n = open_queue("n", NULL), *w = open_queue("w", NULL);
	submit_hold(n, 1);
	submit_hold(n, 2);
	pool_start(pool);
	gate_wait(&gates[0], 2);
	submit_wide(w, 2, &hold_type, 3, 1);
	submit(n, &count_type, 100);
	gate_raise(&gates[1]); // one slot is free: taken by none of the hundred
	wait_held(w);
	struct pool_stat stat = stat_now();
	check_equal(stat.queued, 101);
	check_equal(stat.running, 1);
	check_equal(stat.slots_taken, 1);
	check_equal(stat.dispatched, 2);
	gate_raise(&gates[1]);
	gate_wait(&gates[0], 3);
	stat = stat_now();
	check_equal(stat.queued, 100);
	check_equal(stat.running, 1);
	check_equal(stat.slots_taken, 2);
	gate_raise(&gates[1]);
	pool_queue_close(pool, n);
	pool_queue_close(pool, w);
	close_pool();
	check_equal(seen.n, 103);
	check(strncmp(seen.trace, "nqnqwqnq", 8) == 0);
	check_equal(seen.slots[3], 1); // the lowest that is free
}

static _Atomic bool wide_ran;
static uint64_t wide_at;

static void wide_trace(void *arg, const struct service *service) {
	(void)arg;
	if (service->batch[0] == 'w') {
		wide_at = service->n;
	}
}

static enum work_status wide_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	check_equal(worker_width(worker), 4);
	check_equal(stat_now().running, 1);
	atomic_store_relaxed(&wide_ran, true);
	return count_run(worker, queue, data, size);
}

// Narrow work without end: each item submits the next, until the wide one has run.
static enum work_status stream_run(struct worker *worker, struct queue *queue, void *data, size_t size);

static const struct work_type stream_type = {.run = stream_run};

static enum work_status stream_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)data, (void)size;
	if (!atomic_load_relaxed(&wide_ran)) {
		struct work next = {.type = &stream_type};
		check_equal(pool_submit(pool, queue, worker, &next, 1), SUBMIT_OK);
	}
	return WORK_OK;
}

static void test_does_not_starve(void) {
	static const struct work_type wide_type = {.run = wide_run};
	for (int by_time = 0; by_time < 2; ++by_time) {
		config.hooks.trace = wide_trace;
		config.fair_time = by_time;
		atomic_store_relaxed(&wide_ran, false);
		memset(&seen, 0, sizeof(seen));
		open_pool(4);
		struct queue *n = open_queue("n", NULL), *w = open_queue("w", NULL);
		struct work work = {.type = &stream_type};
		for (int i = 0; i < 8; ++i) {
			check_equal(pool_submit(pool, n, NULL, &work, 1), SUBMIT_OK);
		}
		pool_start(pool);
		while (stat_now().dispatched < 1000) {
			sched_yield();
		}
		submit_wide(w, 4, &wide_type, 0, 1);
		uint64_t then = stat_now().dispatched;
		pool_queue_close(pool, n);
		pool_queue_close(pool, w);
		close_pool();
		check(wide_at > 1000);
		check(by_time || wide_at <= then + 1); // by turns it is the next
	}
}

// ---- what ends the wait ----

// One slot of two is taken by an item of n (until gate 1), and one of w that needs two is held.
static struct queue *hold_open_n, *hold_open_w;

static void open_held(unsigned slots, unsigned width) {
	open_pool(slots);
	hold_open_n = open_queue("n", NULL);
	hold_open_w = open_queue("w", NULL);
	submit_hold(hold_open_n, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	submit_wide(hold_open_w, width, &hold_type, 1, 1);
	wait_held(hold_open_w);
}

static void close_held(void) {
	pool_queue_close(pool, hold_open_n);
	pool_queue_close(pool, hold_open_w);
	close_pool();
}

static void test_cancel_held(void) {
	open_held(2, 2);
	submit_wide(hold_open_w, 2, &count_type, 0, 2);
	check_equal(pool_cancel(pool, hold_open_n), 0); // another queue is no matter to it
	submit_hold(hold_open_n, 0); // waits behind it
	check_equal(pool_cancel(pool, hold_open_w), 3);
	check_seen(dropped, 3);
	gate_wait(&gates[0], 2); // its slot is free for others
	gate_raise(&gates[1]);
	close_held();
	check_seen(ran, 2);
	check_seen(dropped, 3);
}

static void test_cancelled_is_not_charged(void) {
	open_pool(4);
	struct queue *n = open_queue("n", NULL), *w = open_queue("w", NULL);
	submit_hold(n, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	pool_pause(pool, true);
	submit_wide(w, 4, &count_type, 0, 1);
	submit(n, &count_type, 4);
	pool_pause(pool, false);
	wait_held(w);
	pool_pause(pool, true);
	check_equal(pool_cancel(pool, w), 1);
	submit(w, &count_type, 4);
	gate_raise(&gates[1]);
	pool_pause(pool, false);
	pool_queue_close(pool, n);
	pool_queue_close(pool, w);
	close_pool();
	check_string(seen.trace, "nqnqwqnqwqnqwqnqwq"); // w would come later if it were still charged for four
}

static void test_shutdown_held(void) {
	open_held(2, 2);
	check_equal(pool_shutdown(pool), 1);
	check_seen(dropped, 1);
	gate_raise(&gates[1]);
	close_held();
	check_seen(ran, 1);
}

static void test_pause_held(void) {
	open_held(2, 2);
	pool_pause(pool, true);
	gate_raise(&gates[1]);
	while (stat_now().running > 0) {
		sched_yield();
	}
	struct pool_stat stat = stat_now(); // both slots are free, but it may not start
	check_equal(stat.queued, 1);
	check_equal(stat.dispatched, 1);
	pool_pause(pool, false);
	close_held();
	check_seen(ran, 2);
}

static void test_more_slots(void) {
	open_held(2, 2);
	pool_set_slots(pool, 3);
	gate_wait(&gates[0], 2); // at once
	check_equal(stat_now().slots_taken, 3);
	gate_raise(&gates[1]);
	close_held();
}

static void test_fewer_slots(void) {
	open_held(3, 3);
	pool_set_slots(pool, 2); // now two are enough, but one of them is taken
	check_equal(stat_now().queued, 1);
	pool_set_slots(pool, 1);
	check_equal(stat_now().queued, 1);
	gate_raise(&gates[1]);
	close_held();
	check_seen(ran, 2);
}

// Waits until gate 2 is raised; meanwhile what it took is the others'.
static enum work_status waiter_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)queue, (void)data, (void)size;
	pool_lend(pool, worker);
	gate_raise(&gates[0]);
	gate_wait(&gates[2], 1);
	pool_reclaim(pool, worker, /* waits */ true);
	gate_wait(&gates[3], 1);
	check(worker_keeps_slots(worker));
	atomic_add_relaxed(&seen.ran, 1);
	return WORK_OK;
}

static void on_returned(void *arg, struct worker *worker) {
	(void)arg, (void)worker;
	gate_raise(&gates[3]);
}

static void test_lends_its_width(void) {
	static const struct work_type waiter_type = {.run = waiter_run};
	config.hooks.returned = on_returned;
	open_pool(3);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	submit_wide(a, 3, &waiter_type, 0, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	submit_wide(b, 3, &hold_type, 1, 1);
	gate_wait(&gates[0], 2); // all three are lent
	check_equal(stat_now().slots_taken, 3);
	check_equal(stat_now().lending, 1);
	gate_raise(&gates[2]); // it wants all three
	gate_raise(&gates[1]);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	close_pool();
	check_seen(ran, 2);
}

static void test_lending_wakes(void) {
	static const struct work_type late_waiter_type = {.run = waiter_run};
	config.hooks.returned = on_returned;
	open_pool(2);
	struct queue *n = open_queue("n", NULL), *w = open_queue("w", NULL);
	submit_hold(n, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	struct work work = {.type = &late_waiter_type};
	check_equal(pool_submit(pool, n, NULL, &work, 1), SUBMIT_OK);
	gate_wait(&gates[0], 2); // two slots are taken, one of them is lent
	submit_wide(w, 2, &hold_type, 1, 1);
	wait_held(w);
	gate_raise(&gates[1]); // one is given back and one is lent: enough
	gate_raise(&gates[2]);
	pool_queue_close(pool, n);
	pool_queue_close(pool, w);
	close_pool();
	check_seen(ran, 3);
}

// Keeps the worker that has taken the wide item from parking: it does this errand first.
static void slow_low(void *arg, struct queue *queue) {
	(void)arg;
	if (queue && queue_name(queue)[0] == 'w') {
		gate_raise(&gates[2]);
		gate_wait(&gates[3], 1);
	}
}

// As open_held(), with four slots of which two are taken (until gates 1 and 2), and a holder that has not parked yet.
static void open_holder_away(void) {
	config.hooks.low = slow_low;
	open_pool(4);
	struct queue_attrs attrs = {.weight = 1, .low_water = 1};
	hold_open_n = open_queue("n", NULL);
	hold_open_w = open_queue("w", &attrs);
	submit_hold(hold_open_n, 1);
	submit_hold(hold_open_n, 2);
	pool_start(pool);
	gate_wait(&gates[0], 2);
	submit_wide(hold_open_w, 3, &hold_type, 3, 1);
	gate_wait(&gates[2], 1);
}

static void test_due_while_away(void) {
	open_holder_away();
	gate_raise(&gates[1]); // its slots are free
	while (stat_now().running > 1) {
		sched_yield();
	}
	gate_raise(&gates[3]);
	gate_wait(&gates[0], 3); // nobody woke it
	gate_raise(&gates[1]);
	while (stat_now().running > 1) {
		sched_yield();
	}
	submit_hold(hold_open_n, 0);
	gate_wait(&gates[0], 4); // others are woken as before
	gate_raise(&gates[1]);
	close_held();
}

static void test_cancel_while_away(void) {
	open_holder_away();
	check_equal(pool_cancel(pool, hold_open_w), 1);
	submit_hold(hold_open_n, 0);
	gate_wait(&gates[0], 3); // not by the worker that is away
	gate_raise(&gates[3]);
	gate_raise(&gates[1]);
	gate_raise(&gates[1]);
	for (int i = 0; i < 100; ++i) {
		submit_wide(hold_open_w, (unsigned)i % 4, &count_type, 0, 1);
		submit_wide(hold_open_n, (unsigned)i % 3, &count_type, 0, 1);
	}
	close_held();
	check_seen(ran, 203);
}

// ---- widths ----

static void test_cut(void) {
	open_pool(3);
	struct queue *a = open_queue("a", NULL);
	submit_wide(a, 100, &width_type, 0, 2);
	submit_wide(a, UINT32_MAX, &width_type, 0, 2);
	submit_wide(a, 0, &width_type, 0, 1);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_equal(atomic_load_relaxed(&nwidths), 5);
	for (int i = 0; i < 5; ++i) {
		check_equal(widths[i], i < 4 ? 3 : 1);
	}
}

static void test_long_is_narrow(void) {
	config.max_long = 2;
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .long_running = true};
	struct queue *l = open_queue("l", &attrs);
	submit_wide(l, 2, &hold_type, 1, 2);
	pool_start(pool);
	gate_wait(&gates[0], 2); // both
	gate_raise(&gates[1]);
	pool_queue_close(pool, l);
	close_pool();
}

static void test_limit_counts_items(void) {
	open_pool(4);
	struct queue_attrs attrs = {.weight = 1, .max_parallel = 2};
	struct queue *a = open_queue("a", &attrs);
	submit_wide(a, 2, &hold_type, 1, 3);
	pool_start(pool);
	gate_wait(&gates[0], 2);
	check_equal(stat_now().slots_taken, 4);
	gate_raise(&gates[1]);
	pool_queue_close(pool, a);
	close_pool();
	check_seen(ran, 3);
}

static enum work_status no_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue, (void)data, (void)size;
	return WORK_NOT_RUN;
}

static void test_not_run(void) {
	static const struct work_type type = {.run = no_run};
	open_pool(2);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	submit_wide(a, 2, &type, 0, 5);
	submit_wide(a, 2, &count_type, 0, 2);
	submit_wide(b, 2, &count_type, 0, 3);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqbqaqaqaqaqaqbqaqbq"); // as narrow ones
}

static void test_spilled(void) {
	config.queue_mem = 64 << 10;
	open_pool(5);
	struct queue *a = open_queue("a", NULL);
	for (unsigned i = 0; i < 4000; ++i) {
		char data[100] = {0};
		struct work work = {.type = &width_type, .data = data, .size = sizeof(data), .width = 3 + i % 3};
		check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_OK);
	}
	check(stat_now().spilled_bytes > 100000);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_equal(atomic_load_relaxed(&nwidths), 4000);
	for (unsigned i = 0; i < 4000; ++i) {
		check_equal(widths[i], 3 + i % 3); // one at a time, so in order
	}
}

static enum work_status spawn_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)data, (void)size;
	struct work works[3];
	for (unsigned i = 0; i < 3; ++i) {
		works[i] = (struct work){.type = &width_type, .flags = WORK_LOCAL, .width = 2 + i};
	}
	check_equal(pool_submit(pool, queue, worker, works, 3), SUBMIT_OK);
	return WORK_OK;
}

static void test_local(void) {
	static const struct work_type type = {.run = spawn_run};
	open_pool(4);
	struct queue_attrs attrs = {.weight = 1, .max_parallel = 1};
	struct queue *a = open_queue("a", &attrs);
	submit(a, &type, 1);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_equal(widths[0] + widths[1] + widths[2], 9);
	check_equal(seen.n, 4);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("items of two slots beside items of one have half of the slots, by turns", test_turns),
		TEST("and by time", test_time),
		TEST("a wide item that needed no slot gives all its turns back", test_not_run),
		TEST("a wide item reserves the slots that become free", test_reserves),
		TEST("narrow work without end does not starve it", test_does_not_starve),
		TEST("one that waits for its slots can be cancelled, and others have them", test_cancel_held),
		TEST("one that was cancelled was not charged", test_cancelled_is_not_charged),
		TEST("a shutdown drops it", test_shutdown_held),
		TEST("a pause does not start it", test_pause_held),
		TEST("more slots start it at once", test_more_slots),
		TEST("fewer slots make it narrower", test_fewer_slots),
		TEST("a wide item that waits lends all its slots", test_lends_its_width),
		TEST("slots that are lent count for one that waits for its slots", test_lending_wakes),
		TEST("one whose slots become free while its worker is busy starts by itself", test_due_while_away),
		TEST("one can be cancelled while its worker is busy", test_cancel_while_away),
		TEST("a width above the slots is cut", test_cut),
		TEST("on dedicated threads the width has no meaning", test_long_is_narrow),
		TEST("max_parallel counts items", test_limit_counts_items),
		TEST("widths survive the spill file", test_spilled),
		TEST("and local lists", test_local),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
