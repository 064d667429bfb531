// Tests of the pool (engine/pool.h): what runs, in which order, how much at once, and what it costs.

#include "engine/pool.h"

#include "pool_fixture.h"

// ---- order ----

static void test_order(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	struct queue_attrs heavy = {.weight = 3};
	struct queue *c = open_queue("c", &heavy);
	submit(a, &count_type, 3);
	submit(b, &count_type, 3);
	submit(c, &count_type, 6);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_queue_close(pool, c);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqbqcqcqcqaqbqcqcqcqaqbq");
	check_seen(ran, 12);
	check_seen(removed, 3);
	check_seen(submitted, 12);
}

static struct queue *late_queue;

static enum work_status late_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue, (void)data, (void)size;
	if (atomic_add_relaxed(&seen.ran, 1) + 1 == 4) {
		submit(late_queue, &count_type, 3); // as if from outside: a's fourth is running
		pool_queue_close(pool, late_queue);
	}
	return WORK_OK;
}

static void submit_turns(struct queue *queue, const uint32_t *turns, int n) {
	for (int i = 0; i < n; ++i) {
		struct work work = {.type = &count_type, .turns = turns[i]};
		check_equal(pool_submit(pool, queue, NULL, &work, 1), SUBMIT_OK);
	}
}

static void test_turns(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	struct queue_attrs heavy = {.weight = 2};
	struct queue *c = open_queue("c", &heavy);
	submit_turns(a, (uint32_t[]){4, 4}, 2);
	submit_turns(b, (uint32_t[]){2, 2, 2, 2}, 4);
	submit(c, &count_type, 8);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_queue_close(pool, c);
	pool_start(pool);
	close_pool();
	// a has four turns, b two and two, and c, of weight 2, what they have together
	check_string(seen.trace, "aq" "bq" "cqcqcqcq" "bq" "cqcqcqcq" "aq" "bq" "bq");
}

static uint64_t ticks;
static uint64_t tick(void *arg) {
	(void)arg;
	return ticks;
}

static enum work_status second_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	ticks += NS_PER_S; // one slot: nobody else looks meanwhile
	return count_run(worker, queue, data, size);
}

static void test_turns_by_time(void) {
	// charged the time that it takes, whatever it stands for
	static const struct work_type second_type = {.run = second_run};
	config.fair_time = true;
	config.now = tick;
	open_pool(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	for (int i = 0; i < 3; ++i) {
		struct work work = {.type = &second_type, .turns = 4};
		check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_OK);
	}
	submit(b, &second_type, 3);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqbqaqbqaqbq");
}

static void test_lacks(void) {
	unsigned lacks;
	open_pool(3);
	struct queue_attrs attrs = {.weight = 1, .max_parallel = 2};
	struct queue *a = open_queue("a", &attrs);
	check_equal(pool_queue_slots(pool, a, &lacks), 2);
	check_equal(lacks, 3); // two to run, and one to wait
	submit_hold(a, 1);
	check_equal(pool_queue_slots(pool, a, &lacks), 2);
	check_equal(lacks, 0); // one waits
	pool_start(pool);
	gate_wait(&gates[0], 1);
	check_equal(pool_queue_slots(pool, a, &lacks), 2);
	check_equal(lacks, 2);
	gate_raise(&gates[1]);
	pool_queue_close(pool, a);
	close_pool();
}

static void test_late(void) {
	static const struct work_type late_type = {.run = late_run};
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	late_queue = open_queue("b", NULL);
	submit(a, &late_type, 7);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqaqaqaqbqaqbqaqbqaq");
}

static void test_local_first(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	submit_tree(a, 1);
	submit(a, &count_type, 2);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqaoaoaqaq");
}

static void test_prefer_fairness(void) {
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .prefer_fairness = true};
	struct queue *a = open_queue("a", &attrs);
	submit_tree(a, 1);
	submit(a, &count_type, 2);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqaqaqaqaq");
}

static void test_head_moves(void) {
	// local work without end cannot starve the head of its own queue, nor another queue
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	submit_tree(a, 6); // 127 items
	submit(a, &count_type, 3);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_equal(seen.trace[1], 'q');
	for (int i = 2; i <= 130; ++i) {
		// the three others are taken by the 16th, the 32nd and the 48th pick
		check_equal(seen.trace[2 * (i - 1) + 1] == 'q', i == 16 || i == 32 || i == 48);
	}
}

static void test_local_is_charged(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	submit_tree(a, 6);
	submit(b, &count_type, 127);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_start(pool);
	close_pool();
	for (int i = 0; i < 254; ++i) {
		check_equal(seen.trace[2 * i], i % 2 ? 'b' : 'a');
	}
}

// Submits three local items and waits until others have run two of them.
static enum work_status victim_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)data, (void)size;
	struct work works[3];
	for (uint64_t i = 0; i < 3; ++i) {
		static long zero;
		works[i] = (struct work){.type = &hold_type, .data = &zero, .size = sizeof(zero), .flags = WORK_LOCAL, .id = i + 1};
	}
	check_equal(pool_submit(pool, queue, worker, works, 3), SUBMIT_OK);
	gate_wait(&gates[0], 2);
	return WORK_OK;
}

static uint64_t steal_ids[16];
static void steal_trace(void *arg, const struct service *service) {
	on_trace(arg, service);
	if (service->n < 16) {
		steal_ids[service->n] = service->id;
	}
}

static void test_steal(void) {
	static const struct work_type victim_type = {.run = victim_run};
	config.hooks.trace = steal_trace;
	open_pool(2);
	struct queue *a = open_queue("a", NULL);
	submit(a, &victim_type, 1);
	pool_start(pool);
	gate_wait(&gates[0], 2); // the thief ran two, the oldest first
	pool_queue_close(pool, a);
	close_pool();
	check(strncmp(seen.trace, "aqasas", 6) == 0);
	check_equal(steal_ids[2], 1);
	check_equal(steal_ids[3], 2);
	check_equal(steal_ids[4], 3);
}

// ---- limits ----

static _Atomic int at_once, most_at_once;

static enum work_status at_once_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue, (void)data, (void)size;
	int now = atomic_add_relaxed(&at_once, 1) + 1;
	int most = atomic_load_relaxed(&most_at_once);
	while (now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now)) {
	}
	atomic_add_relaxed(&seen.ran, 1);
	atomic_fetch_sub(&at_once, 1);
	return WORK_OK;
}

static const struct work_type at_once_type = {.run = at_once_run};

static void test_limits(void) {
	open_pool(4);
	struct queue_attrs attrs = {.weight = 1, .max_parallel = 2};
	struct queue *a = open_queue("a", &attrs);
	pool_start(pool);
	for (int i = 0; i < 100; ++i) {
		submit(a, &at_once_type, 50);
	}
	pool_queue_close(pool, a);
	close_pool();
	check(atomic_load_relaxed(&most_at_once) <= 2);
	check_seen(ran, 5000);
}

static void test_slots_change(void) {
	open_pool(2);
	struct queue *a = open_queue("a", NULL);
	struct pool_stat stat;
	for (int i = 0; i < 8; ++i) {
		submit_hold(a, i < 4 ? 1 : 2);
	}
	pool_start(pool);
	gate_wait(&gates[0], 2);
	pool_set_slots(pool, 4); // at once
	gate_wait(&gates[0], 4);
	pool_stat(pool, &stat);
	check_equal(stat.running, 4);
	pool_set_slots(pool, 1); // as they end
	gate_raise(&gates[1]);
	gate_wait(&gates[0], 5);
	pool_stat(pool, &stat);
	check(stat.running >= 1 && stat.queued == 3);
	gate_raise(&gates[1]);
	pool_queue_close(pool, a);
	close_pool();
	for (int i = 1; i <= 8; ++i) {
		check(seen.slots[i] >= 1 && seen.slots[i] <= 4);
	}
}

static atomic_uint_least64_t passed;

// Waits until each of the items has come past the point where only one can be, as -p asks about one job at a time.
static enum work_status pass_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)queue;
	(void)size;
	uint64_t before = atomic_fetch_add(&passed, 1);
	struct pool_stat stat;
	pool_stat(pool, &stat);
	check_equal(stat.dispatched, before + 1);
	if (*(long *)data > 0) {
		worker_pass(worker);
		gate_raise(&gates[0]);
		gate_wait(&gates[0], *(long *)data);
	}
	atomic_add_relaxed(&seen.ran, 1);
	return WORK_OK;
}

static const struct work_type pass_type = {.run = pass_run};

static void test_one_by_one(void) {
	config.one_by_one = true;
	open_pool(4);
	struct queue *a = open_queue("a", NULL);
	for (int i = 0; i < 8; ++i) {
		long all = i < 4 ? 4 : 0; // four run at once when each has passed; the others pass as they end
		struct work work = {.type = &pass_type, .data = &all, .size = sizeof(all)};
		check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_OK);
	}
	pool_start(pool);
	pool_queue_close(pool, a);
	close_pool();
	check_seen(ran, 8);
}

static void test_pause(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	submit_hold(a, 1);
	submit_hold(a, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	pool_pause(pool, true);
	gate_raise(&gates[1]);
	struct pool_stat stat;
	do {
		pool_stat(pool, &stat);
	} while (stat.running > 0); // it ends; nothing else starts
	check_equal(stat.queued, 1);
	check_equal(stat.dispatched, 1);
	pool_pause(pool, false);
	pool_queue_close(pool, a);
	close_pool();
	check_seen(ran, 2);
}

static void test_long(void) {
	config.max_long = 2;
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .long_running = true};
	struct queue *l = open_queue("l", &attrs), *a = open_queue("a", NULL);
	for (int i = 0; i < 3; ++i) {
		submit_hold(l, 1);
	}
	pool_start(pool);
	gate_wait(&gates[0], 2); // two of the three: the cap
	submit(a, &count_type, 50);
	pool_queue_close(pool, a);
	struct pool_stat stat;
	do {
		pool_stat(pool, &stat); // they hold no slot: all of a runs meanwhile
	} while (stat.dispatched < 52 || stat.running > 0);
	check_equal(stat.running_long, 2);
	check_equal(stat.queued, 1);
	check_seen(ran, 50);
	gate_raise(&gates[1]);
	pool_queue_close(pool, l);
	close_pool();
	check_seen(ran, 53);
	for (uint64_t i = 1; i <= seen.n; ++i) {
		bool is_long = seen.trace[2 * (i - 1)] == 'l';
		check_equal(seen.trace[2 * (i - 1) + 1], is_long ? 'L' : 'q');
		check_equal(seen.slots[i] > 1, is_long); // a lane above the slots
	}
}

static void test_long_above_added_slots(void) {
	open_pool(1);
	pool_add_slots(pool, +2);
	struct queue_attrs attrs = {.weight = 1, .long_running = true};
	struct queue *l = open_queue("l", &attrs);
	submit(l, &count_type, 1);
	pool_start(pool);
	pool_queue_close(pool, l);
	close_pool();
	check_equal(seen.slots[1], 4);
}

// Lets items start two milliseconds apart, and the first one at once.
static uint64_t let_in_slowly(void *arg) {
	(void)arg;
	uint64_t again = seen.n > 0 ? seen.times[seen.n] + 2 * NS_PER_MS : 0;
	return now_ns() < again ? again : 0;
}

static void test_gate(void) {
	config.hooks.gate = let_in_slowly;
	open_pool(3);
	struct queue_attrs attrs = {.weight = 1, .long_running = true};
	struct queue *a = open_queue("a", NULL), *l = open_queue("l", &attrs);
	submit(a, &count_type, 20);
	submit(l, &count_type, 5);
	pool_queue_close(pool, a);
	pool_queue_close(pool, l);
	pool_start(pool);
	close_pool();
	check_equal(seen.n, 25);
	for (uint64_t i = 2; i <= seen.n; ++i) {
		check(seen.times[i] - seen.times[i - 1] >= 2 * NS_PER_MS);
	}
}

static void test_lent(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	struct work work = {.type = &count_type, .flags = WORK_LENT};
	check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_OK);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "al");
}

static enum work_status not_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue, (void)data, (void)size;
	return WORK_NOT_RUN;
}

static void test_not_run(void) {
	static const struct work_type type = {.run = not_run};
	open_pool(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	submit(a, &type, 5);
	submit(a, &count_type, 2);
	submit(b, &count_type, 3);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqbqaqaqaqaqaqbqaqbq"); // a's free items cost b no turn
}

// ---- numbers ----

static uint64_t late_at;
static void late_trace(void *arg, const struct service *service) {
	(void)arg;
	if (service->batch[0] == 'z' && late_at == 0) {
		late_at = service->n;
	}
}

static enum work_status slow_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue, (void)data, (void)size;
	gate_wait(&gates[1], 1);
	atomic_add_relaxed(&seen.ran, 1);
	return WORK_OK;
}

static void test_late_after_a_million(void) {
	static const struct work_type slow_type = {.run = slow_run};
	config.queue_mem = 1 << 20;
	config.hooks.trace = late_trace;
	open_pool(1);
	pool_start(pool);
	struct queue *a = open_queue("a", NULL);
	char data[60] = {0};
	struct work works[250];
	for (int i = 0; i < 250; ++i) {
		works[i] = (struct work){.type = &slow_type, .data = data, .size = sizeof(data)};
	}
	for (int i = 0; i < 4000; ++i) {
		check_equal(pool_submit(pool, a, NULL, works, 250), SUBMIT_OK);
	}
	struct queue *z = open_queue("z", NULL);
	submit(z, &count_type, 1);
	pool_queue_close(pool, z);
	pool_queue_close(pool, a);
	gate_raise(&gates[1]);
	close_pool();
	check(late_at > 0 && late_at <= 10000);
	check_equal(late_at, 2); // in fact, at once
	check_seen(ran, 1000001);
}

static void test_wakes(void) {
	open_pool(4);
	struct queue *a = open_queue("a", NULL);
	pool_start(pool);
	long zero = 0;
	struct work work = {.type = &hold_type, .data = &zero, .size = sizeof(zero)};
	struct pool_stat stat;
	for (long i = 1; i <= 2000; ++i) {
		check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_OK);
		gate_wait(&gates[0], i);
	}
	pool_stat(pool, &stat);
	check(stat.wakes <= 2100);
	pool_queue_close(pool, a);
	close_pool();
	printf("# %.3f wakes for each isolated item\n", (double)stat.wakes / 2000);
}

static void test_threads_are_lazy(void) {
	open_pool(1000);
	struct queue *a = open_queue("a", NULL);
	struct pool_stat stat;
	pool_start(pool);
	pool_stat(pool, &stat);
	check_equal(stat.threads, 0);
	submit_hold(a, 0);
	gate_wait(&gates[0], 1);
	pool_stat(pool, &stat);
	check_equal(stat.threads, 1);
	pool_queue_close(pool, a);
	close_pool();
}

static _Atomic int scratches;

static void scratch_free(void *scratch) {
	free(scratch);
	atomic_fetch_sub(&scratches, 1);
}

static enum work_status scratch_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)queue, (void)data, (void)size;
	void **scratch = worker_scratch(worker, scratch_free);
	if (!*scratch) {
		*scratch = xmalloc(10);
		atomic_add_relaxed(&scratches, 1);
	}
	return WORK_OK;
}

static void test_scratch(void) {
	static const struct work_type type = {.run = scratch_run};
	open_pool(3);
	struct queue *a = open_queue("a", NULL);
	submit(a, &type, 200);
	pool_queue_close(pool, a);
	pool_start(pool);
	wait_idle();
	int n = atomic_load_relaxed(&scratches);
	check(n >= 1 && n <= 3);
	pool_destroy(pool);
	check_equal(atomic_load_relaxed(&scratches), 0);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("items of equal rank run in turns, by weight", test_order),
		TEST("an item that stands for several is charged as many turns", test_turns),
		TEST("by time, an item that stands for several is charged its time", test_turns_by_time),
		TEST("a queue lacks an item for each free slot, and one more", test_lacks),
		TEST("a late batch has its turn at once", test_late),
		TEST("an item's own work runs next, the newest first", test_local_first),
		TEST("with prefer_fairness it goes to the tail", test_prefer_fairness),
		TEST("each 16th pick of a queue takes its head", test_head_moves),
		TEST("local work is charged to its batch", test_local_is_charged),
		TEST("a thief takes the oldest", test_steal),
		TEST("no more than max_parallel run at once", test_limits),
		TEST("more slots take effect at once, fewer as items end", test_slots_change),
		TEST("one by one, an item is dispatched when the one before has passed", test_one_by_one),
		TEST("a pause starts nothing and touches nothing that runs", test_pause),
		TEST("long-running items hold no slot, and no more than max_long run", test_long),
		TEST("nothing is dispatched before the gate lets it start", test_gate),
		TEST("long-running items are numbered above slots that came one by one", test_long_above_added_slots),
		TEST("a slot that is lent is named in the trace", test_lent),
		TEST("an item that needed no slot gives its turn back", test_not_run),
		TEST("a batch that is named last after 10^6 items starts at once", test_late_after_a_million),
		TEST("an isolated item costs one wake-up", test_wakes),
		TEST("threads are started when they are needed", test_threads_are_lazy),
		TEST("each worker has its scratch, freed at the end", test_scratch),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
