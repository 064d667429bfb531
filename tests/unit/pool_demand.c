// Tests of the demand for slots that a pool does not have (engine/pool.h): whoever can get more is told of each rise of it, and
// of nothing else.

#include "engine/pool.h"

#include "pool_actors.h"

#include <sched.h>

static _Atomic int ncalls;

static void count_call(void *arg) {
	(void)arg;
	atomic_add_relaxed(&ncalls, 1);
}

// So many calls since the last time; and the demand is that, as who is told finds out.
static void expect_calls(int calls, unsigned demand) {
	check_equal(atomic_exchange(&ncalls, 0), calls);
	check_equal(pool_demand(pool, 99), demand);
}

// One slot, which an item of b has.
static struct queue *begin(const char *name, const struct queue_attrs *attrs, struct queue **ret_busy) {
	config.hooks.starving = count_call;
	open_pool(1);
	*ret_busy = open_queue("b", NULL);
	struct queue *queue = open_queue(name, attrs);
	submit_hold(*ret_busy, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	expect_calls(0, 0);
	return queue;
}

static void finish(struct queue *queue, struct queue *busy) {
	gate_raise(&gates[1]);
	pool_queue_close(pool, queue);
	pool_queue_close(pool, busy);
	close_pool();
}

static void test_looks(void) {
	// what raises no demand calls nobody, however often it is asked for
	struct queue *busy, *a = begin("a", NULL, &busy);
	submit(a, &count_type, 1);
	expect_calls(1, 1);
	for (int i = 0; i < 100; ++i) {
		pool_add_slots(pool, 0);
		queue_set(pool, a, &plain);
		pool_pause(pool, false);
		check(!pool_bring_forward(pool, a, 77));
		expect_calls(0, 1);
	}
	submit(a, &count_type, 1);
	expect_calls(1, 2);
	finish(a, busy);
}

static void test_not_asked(void) {
	// nobody is told who has not asked, or has heard of as much as he wanted, or has been told and not asked again
	struct queue *busy, *a = begin("a", NULL, &busy);
	submit(a, &count_type, 1);
	check_equal(atomic_load_relaxed(&ncalls), 1);
	submit(a, &count_type, 1);
	check_equal(atomic_exchange(&ncalls, 0), 1);
	check_equal(pool_demand(pool, 2), 2);
	submit(a, &count_type, 1);
	expect_calls(0, 3);
	finish(a, busy);
}

static void test_two_ask(void) {
	// who wants to know of one item only does not keep the other from hearing of the second
	struct queue *busy, *a = begin("a", NULL, &busy);
	submit(a, &count_type, 1);
	expect_calls(1, 1);
	check_equal(pool_demand(pool, 1), 1);
	submit(a, &count_type, 1);
	expect_calls(1, 2);
	finish(a, busy);
}

static void test_falls(void) {
	// a rise back to what is known is none; one back to what was known before a look at less is
	struct queue *busy, *a = begin("a", NULL, &busy), *c = open_queue("c", NULL);
	submit(a, &count_type, 2);
	submit(c, &count_type, 1);
	expect_calls(1, 3);
	check_equal(pool_cancel(pool, c), 1);
	submit(c, &count_type, 1);
	expect_calls(0, 3);
	check_equal(pool_cancel(pool, c), 1);
	expect_calls(0, 2);
	submit(c, &count_type, 1);
	expect_calls(1, 3);
	pool_queue_close(pool, c);
	finish(a, busy);
}

static void test_kinds(void) {
	// of each way in which it can rise
	struct queue_attrs attrs = {.weight = 1, .max_parallel = 1};
	struct queue *busy, *a = begin("a", &attrs, &busy);
	submit(a, &count_type, 3);
	expect_calls(1, 1);
	attrs.max_parallel = 2;
	queue_set(pool, a, &attrs);
	expect_calls(1, 2);
	attrs.paused = true;
	queue_set(pool, a, &attrs);
	expect_calls(0, 0);
	attrs.paused = false;
	queue_set(pool, a, &attrs);
	expect_calls(1, 2);
	pool_pause(pool, true);
	expect_calls(0, 0);
	pool_pause(pool, false);
	expect_calls(1, 2);
	submit(busy, &count_type, 1);
	expect_calls(1, 3);
	check_equal(pool_cancel(pool, a), 3);
	check_equal(pool_cancel(pool, busy), 1);
	expect_calls(0, 0);
	struct work last = {.type = &count_type};
	pool_queue_set_last_item(pool, a, &last);
	expect_calls(0, 0);
	pool_queue_close(pool, a);
	expect_calls(1, 1);
	gate_raise(&gates[1]);
	pool_queue_close(pool, busy);
	close_pool();
}

static void test_slots_return(void) {
	// an item that has lent its slot wants it back
	config.hooks.starving = count_call;
	open_stage(1);
	struct queue *a = open_queue("a", NULL);
	queue_up(a, "12", 1);
	pool_start(pool);
	expect("a1 ");
	expect_calls(0, 1);
	pool_lend(pool, actors[1].worker);
	expect("a1 a2 ");
	expect_calls(0, 0);
	pool_reclaim(pool, actors[1].worker, /* waits */ true);
	expect_calls(1, 1);
	end(2);
	expect("a1 a2 +1 ");
	close_stage(a, NULL);
}

// ---- workers ----

static void call_and_ask(void *arg) {
	(void)arg;
	atomic_add_relaxed(&ncalls, 1);
	(void)pool_demand(pool, 99);
}

static void test_no_spin(void) {
	// workers that have lost their slots sleep until there is one, though who is told asks each time
	config.hooks.starving = call_and_ask;
	open_pool(2);
	struct queue *a = open_queue("a", NULL);
	submit_hold(a, 1);
	submit_hold(a, 1);
	pool_start(pool);
	gate_wait(&gates[0], 2);
	check_equal(pool_demand(pool, 99), 0);
	submit(a, &count_type, 1);
	check_equal(atomic_load_relaxed(&ncalls), 1);
	pool_add_slots(pool, -2);
	gate_raise(&gates[1]);
	while (atomic_load_relaxed(&seen.ran) < 2) {
		sched_yield();
	}
	for (uint64_t until = thread_cpu_ns() + 20 * NS_PER_MS; thread_cpu_ns() < until && atomic_load_relaxed(&ncalls) == 1;) {
		sched_yield();
	}
	check_equal(atomic_load_relaxed(&ncalls), 1);
	pool_add_slots(pool, 1);
	pool_queue_close(pool, a);
	close_pool();
}

// Grants what is asked for: at once, or from a thread of its own, which is woken.
static struct gate asks;
static bool lender_waits;
static _Atomic bool over;

static void grant(unsigned most) {
	pool_add_slots(pool, (int)pool_demand(pool, most));
}

static void ask(void *arg) {
	(void)arg;
	atomic_add_relaxed(&ncalls, 1);
	if (lender_waits) {
		gate_raise(&asks);
	} else {
		grant(2);
	}
}

static void take_back(void *arg) {
	(void)pool_drop_surplus(pool);
	ask(arg); // he may have heard of as many as he wanted
	atomic_fetch_sub(&ncalls, 1);
}

static void *lender_main(void *arg) {
	(void)arg;
	for (long i = 1; gate_wait(&asks, i), !atomic_load_relaxed(&over); ++i) {
		grant(2);
	}
	return NULL;
}

enum { SUBMITTERS = 3, SUBMITTED = 400 };

static void *submitter_main(void *arg) {
	struct queue *queue = open_queue((const char *)arg, NULL);
	for (int i = 0; i < SUBMITTED; ++i) {
		submit(queue, &count_type, 1 + i % 3);
		if (i % 7 == 0) {
			sched_yield();
		}
	}
	pool_queue_close(pool, queue);
	return NULL;
}

static void test_none_is_missed(void) {
	// all slots are those that the hook asks for, and go when nobody has work: whatever arrives, the hook is called
	for (int way = 0; way < 2; ++way) {
		memset(&seen, 0, sizeof(seen));
		atomic_store_relaxed(&ncalls, 0);
		atomic_store_relaxed(&over, false);
		asks.value = 0;
		lender_waits = way;
		config.hooks.starving = ask;
		config.hooks.surplus = take_back;
		open_pool(1);
		mutex_init(&asks.lock, LOCK_OF_TEST);
		cond_init(&asks.changed);
		(void)pool_drop_surplus(pool);
		check_equal(pool_demand(pool, 2), 0);
		struct queue *keep = open_queue("keep", NULL);
		pool_start(pool);
		thread lender, submitters[SUBMITTERS];
		static char names[SUBMITTERS][2] = {"x", "y", "z"};
		check_equal(thread_start(&lender, lender_main, NULL, 256 * 1024), 0);
		for (int i = 0; i < SUBMITTERS; ++i) {
			check_equal(thread_start(&submitters[i], submitter_main, names[i], 256 * 1024), 0);
		}
		for (int i = 0; i < SUBMITTERS; ++i) {
			thread_join(submitters[i]);
		}
		pool_queue_close(pool, keep);
		wait_idle();
		atomic_store_relaxed(&over, true);
		gate_raise(&asks);
		thread_join(lender);
		pool_destroy(pool);
		int items = 0;
		for (int i = 0; i < SUBMITTED; ++i) {
			items += SUBMITTERS * (1 + i % 3);
		}
		check_seen(ran, items);
		check(atomic_load_relaxed(&ncalls) <= items);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("to ask, and whatever raises no demand, calls nobody", test_looks),
		TEST("who has heard of as much as he wanted, or was told and has not asked again, is left alone", test_not_asked),
		TEST("of two who ask, each is told of what he does not know", test_two_ask),
		TEST("a demand that falls and rises is told of if somebody has seen it fallen", test_falls),
		TEST("each way in which it rises is told of", test_kinds),
		TEST("so is an item that wants the slot back that it has lent", test_slots_return),
		TEST("workers that have lost their slots sleep", test_no_spin),
		TEST("slots that come only when they are asked for: no item is missed", test_none_is_missed),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
