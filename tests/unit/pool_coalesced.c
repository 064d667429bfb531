// Tests of items that go along with others (WORK_PACKS of engine/pool.h): which, in which order, what they are charged,
// and that each has one end.

#include "engine/pool.h"

#include "pool_fixture.h"

enum { MOST_ITEMS = 400000 };

static _Atomic unsigned char ends[MOST_ITEMS]; // of each item, by its number
static uint32_t together = 1;                  // items that are submitted as one
static _Atomic int packs;                      // items that were run
static uint64_t sizes[26] = {0};               // of packs, by the queue's first letter; 0: without end
static struct pack_view views[64];
static int nviews;
static char order[64];                         // queues of what was taken; with one slot
static size_t norder;

static void note_order(const struct queue *queue) {
	if (norder + 1 < sizeof(order)) {
		order[norder++] = queue_name(queue)[0];
	}
}

// What is submitted: so many items, the last `left` of which are there.
struct numbers {
	uint32_t left, all;
	uint64_t first;
};

static struct numbers numbers_of(const void *data, size_t size) {
	struct numbers numbers;
	check_equal(size, sizeof(numbers));
	memcpy(&numbers, data, sizeof(numbers));
	check(numbers.first + numbers.all <= MOST_ITEMS && numbers.left > 0 && numbers.left <= numbers.all);
	return numbers;
}

// The items from the first that is left have ended.
static void note_ends(struct numbers numbers, uint32_t left, uint32_t n) {
	for (uint32_t i = 0; i < n; ++i) {
		atomic_add_relaxed(&ends[numbers.first + numbers.all - left + i], 1);
	}
}

static enum work_status pack_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue;
	struct numbers numbers = numbers_of(data, size);
	note_ends(numbers, numbers.left, 1);
	atomic_add_relaxed(&packs, 1);
	return WORK_OK;
}

static void pack_drop(struct queue *queue, void *data, size_t size) {
	(void)queue;
	struct numbers numbers = numbers_of(data, size);
	note_ends(numbers, numbers.left, numbers.left);
	atomic_add_relaxed(&seen.dropped, (int)numbers.left);
}

static uint32_t pack_take(struct worker *worker, struct queue *queue, const struct pack_view *view, const void *data,
                          size_t size) {
	(void)worker;
	if (view->taken == 0 && nviews < 64) {
		views[nviews++] = *view; // under the pool's lock
	}
	uint64_t most = sizes[queue_name(queue)[0] - 'a'];
	uint64_t rest = most == 0 ? UINT32_MAX : view->taken < most ? most - view->taken : 0;
	uint32_t n = rest < view->left ? (uint32_t)rest : view->left;
	struct numbers numbers = numbers_of(data, size);
	for (uint32_t i = 0; i < (view->taken == 0 ? 1 : n); ++i) {
		note_order(queue); // also under the lock
	}
	if (view->taken > 0) {
		note_ends(numbers, view->left, n);
	}
	return n;
}

static const struct work_type pack_type = {.name = "pack", .run = pack_run, .drop = pack_drop, .pack = pack_take};
static const struct work_type other_type = {.name = "other", .run = pack_run, .drop = pack_drop, .pack = pack_take};

static uint64_t next_number;

// Submits `n` of them, each like `like`. Returns false if the queue took none.
static bool submit_like(struct queue *queue, struct work like, int n) {
	while (n > 0) {
		struct numbers numbers[256];
		struct work works[256];
		int part = 0, i = 0;
		for (; i < 256 && part < n; ++i) {
			uint32_t items = together < (uint32_t)(n - part) ? together : (uint32_t)(n - part);
			numbers[i] = (struct numbers){.left = items, .all = items, .first = next_number + (uint64_t)part};
			works[i] = like;
			works[i].type = like.type ? like.type : &pack_type;
			works[i].data = &numbers[i];
			works[i].size = sizeof(numbers[i]);
			works[i].id = numbers[i].first;
			works[i].items = items;
			part += (int)items;
		}
		if (pool_submit(pool, queue, NULL, works, (size_t)i) != SUBMIT_OK) {
			return false;
		}
		next_number += (uint64_t)part;
		n -= part;
	}
	return true;
}

static void submit_packs(struct queue *queue, int n) {
	check(submit_like(queue, (struct work){.flags = WORK_PACKS}, n));
}

static void check_ends(void) {
	for (uint64_t i = 0; i < next_number; ++i) {
		check_equal(atomic_load_relaxed(&ends[i]), 1);
	}
}

// ---- order and charge ----

static void test_turns(void) {
	open_pool(1);
	sizes[0] = 4;
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	submit_packs(a, 10);
	submit(b, &count_type, 8);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqapapap" "bqbqbqbq" "aqapapap" "bqbqbqbq" "aqap");
	check_equal(atomic_load_relaxed(&packs), 3);
	check_ends();
}

static void test_own_size(void) {
	open_pool(1);
	sizes[0] = 4;
	sizes[1] = 2;
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	struct queue_attrs heavy = {.weight = 2};
	struct queue *c = open_queue("c", &heavy);
	sizes[2] = 1;
	submit_packs(a, 8);
	submit_packs(b, 8);
	submit_packs(c, 8);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_queue_close(pool, c);
	pool_start(pool);
	close_pool();
	// a has four turns, b two and two, and c, of weight 2, what they have together
	check_string(seen.trace, "aqapapap" "bqbp" "cqcqcqcq" "bqbp" "cqcqcqcq" "aqapapap" "bqbp" "bqbp");
	check_ends();
}

static uint64_t ticks;
static uint64_t tick(void *arg) {
	(void)arg;
	return ticks;
}

static enum work_status second_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	ticks += NS_PER_S; // one slot: nobody else looks meanwhile
	return pack_run(worker, queue, data, size);
}

static void test_time(void) {
	// the items of a pack are charged the time that it takes, not once each
	static const struct work_type second_type = {.name = "second", .run = second_run, .pack = pack_take};
	config.fair_time = true;
	config.now = tick;
	open_pool(1);
	sizes[0] = 4;
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	check(submit_like(a, (struct work){.type = &second_type, .flags = WORK_PACKS}, 12));
	check(submit_like(b, (struct work){.type = &second_type}, 3));
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqapapap" "bq" "aqapapap" "bq" "aqapapap" "bq");
	check_ends();
}

static void test_no_trace(void) {
	// the charge is the same when nobody looks
	open_pool(1);
	pool_destroy(pool);
	config.hooks.trace = NULL;
	pool = pool_create(&config);
	sizes[0] = 3;
	sizes[1] = 1;
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	submit_packs(a, 9);
	submit_packs(b, 9);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_start(pool);
	close_pool();
	check_string(order, "aaabbbaaabbbaaabbb");
	check_equal(atomic_load_relaxed(&packs), 12);
	check_ends();
}

// ---- which ----

static void test_alike(void) {
	open_pool(2);
	struct queue_attrs attrs = {.weight = 1, .max_parallel = 1};
	struct queue *a = open_queue("a", &attrs);
	submit_packs(a, 3);
	check(submit_like(a, (struct work){.flags = 0}, 2));                                       // not asked for
	submit_packs(a, 2);
	check(submit_like(a, (struct work){.type = &other_type, .flags = WORK_PACKS}, 2));         // another type
	check(submit_like(a, (struct work){.flags = WORK_PACKS, .width = 2}, 1));                  // takes two slots
	submit_packs(a, 1);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqapap" "aqaq" "aqap" "aqap" "aq" "aq");
	check_ends();
}

static void test_limit(void) {
	// one running item, whatever it has taken along
	open_pool(3);
	sizes[0] = 5;
	struct queue_attrs attrs = {.weight = 1, .max_parallel = 1};
	struct queue *a = open_queue("a", &attrs);
	submit_packs(a, 20);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqapapapap" "aqapapapap" "aqapapapap" "aqapapapap");
	check_ends();
	check_equal(views[0].slots, 1);
}

static void test_view(void) {
	open_pool(3);
	sizes[0] = 6;
	struct queue_attrs attrs = {.weight = 1, .max_parallel = 2};
	struct queue *a = open_queue("a", &attrs);
	submit_packs(a, 10);
	pool_start(pool);
	struct pool_stat stat;
	do {
		pool_stat(pool, &stat);
	} while (stat.queued > 0 || stat.running > 0);
	check_equal(stat.dispatched, 10);
	check_equal(views[0].waiting, 9);
	check_equal(views[0].slots, 2);
	check(!views[0].closed);
	submit_packs(a, 3);
	pool_queue_close(pool, a);
	close_pool();
	check_ends();
}

static void test_view_closed(void) {
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	submit_packs(a, 10);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_equal(nviews, 1);
	check_equal(views[0].waiting, 9);
	check(views[0].closed);
	check_ends();
}

static void test_long(void) {
	open_pool(1);
	sizes[0] = 4;
	struct queue_attrs attrs = {.weight = 1, .long_running = true, .max_parallel = 1};
	struct queue *a = open_queue("a", &attrs);
	submit_packs(a, 8);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aLapapap" "aLapapap");
	check_ends();
}

// ---- what else the pool promises ----

static void finale_drop(struct queue *queue, void *data, size_t size) {
	(void)queue, (void)data, (void)size;
	check(!"the last item is never cancelled");
}

static enum work_status finale_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue, (void)data, (void)size;
	check_ends();
	atomic_add_relaxed(&seen.ran, 1);
	return WORK_OK;
}

static void test_finally(void) {
	static const struct work_type finale_type = {.name = "finale", .run = finale_run, .drop = finale_drop};
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	struct work work = {.type = &finale_type};
	pool_queue_set_last_item(pool, a, &work);
	submit_packs(a, 100);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_seen(ran, 1);
	check_equal(atomic_load_relaxed(&packs), 1);
	check_seen(submitted, 101);
}

static void test_low(void) {
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .low_water = 100};
	struct queue *a = open_queue("a", &attrs);
	submit_packs(a, 200);
	pool_start(pool);
	struct pool_stat stat;
	do {
		pool_stat(pool, &stat);
	} while (stat.queued > 0 || stat.running > 0);
	pool_queue_close(pool, a);
	close_pool();
	check_seen(lows, 1);
	check_ends();
}

static uint64_t last_id;
static void rising_trace(void *arg, const struct service *service) {
	(void)arg;
	check_equal(service->id, last_id);
	++last_id;
}

static void test_spilled(void) {
	config.queue_mem = 256 * 1024;
	config.hooks.trace = rising_trace;
	open_pool(1);
	sizes[0] = 700;
	struct queue *a = open_queue("a", NULL);
	submit_packs(a, 300000);
	struct pool_stat stat;
	pool_stat(pool, &stat);
	check(stat.spilled_bytes > 1 << 20);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_ends();
	int n = atomic_load_relaxed(&packs);
	printf("# %d packs of up to 700\n", n);
	check(n >= 300000 / 700 && n < 3000);
}

static void test_local(void) {
	// what comes from running work goes by itself, and what stands in the queue goes along with what stands before it
	open_pool(1);
	sizes[0] = 3;
	struct queue *a = open_queue("a", NULL);
	submit_tree(a, 1);
	submit_packs(a, 4);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqaoao" "aqapap" "aq");
	check_ends();
}

// ---- races ----

static struct queue *contended[3];
static struct gate go;

static void *cancel_now_and_then(void *arg) {
	(void)arg;
	uint64_t dice = 7;
	for (int i = 0; i < 300; ++i) {
		gate_wait(&go, i / 3);
		dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407;
		struct queue *queue = contended[dice >> 33 & 1]; // never the third
		struct queue_attrs attrs = {.weight = 1, .paused = dice >> 40 & 1};
		if (dice >> 41 & 1) {
			queue_set(pool, queue, &attrs);
		} else {
			pool_cancel(pool, queue);
		}
	}
	return NULL;
}

// Three queues, three slots; one thread submits, another cancels and pauses.
static void run_race(bool cut) {
	mutex_init(&go.lock, LOCK_OF_TEST);
	cond_init(&go.changed);
	config.queue_mem = 64 * 1024;
	open_pool(3);
	sizes[0] = 40;
	sizes[1] = 0;
	sizes[2] = 3;
	static const char *const names[] = {"a", "b", "c"};
	for (int i = 0; i < 3; ++i) {
		contended[i] = open_queue(names[i], NULL);
	}
	pool_start(pool);
	thread canceller;
	check_equal(thread_start(&canceller, cancel_now_and_then, NULL, 256 * 1024), 0);
	for (int i = 0; i < 100; ++i) {
		for (int j = 0; j < 3; ++j) {
			(void)submit_like(contended[j], (struct work){.flags = WORK_PACKS}, 100 + 37 * j); // refused beyond queue_mem
		}
		gate_raise(&go);
	}
	thread_join(canceller);
	for (int i = 0; i < 2; ++i) {
		queue_set(pool, contended[i], &plain);
	}
	if (cut) {
		pool_shutdown(pool);
	}
	for (int i = 0; i < 3; ++i) {
		pool_queue_close(pool, contended[i]);
	}
	close_pool();
	check_ends();
	check_seen(submitted, next_number);
	printf("# %llu items: %d ran, %d were dropped, the others went along\n", (unsigned long long)next_number,
	       atomic_load_relaxed(&packs), atomic_load_relaxed(&seen.dropped));
}

static void test_race(void) {
	run_race(/* cut */ false);
}

static void test_race_cut(void) {
	run_race(/* cut */ true);
}

// ---- items that are submitted as one

static void test_together(void) {
	together = 3;
	test_turns();
}

static void test_together_view(void) {
	together = 4;
	test_view();
}

static void test_together_spilled(void) {
	together = 5;
	test_spilled();
}

static void test_together_race(void) {
	together = 7;
	run_race(/* cut */ false);
}

static void test_together_race_cut(void) {
	together = 7;
	run_race(/* cut */ true);
}

static void test_together_cancel(void) {
	open_pool(1);
	together = 10;
	sizes[0] = 4;
	struct queue *a = open_queue("a", NULL);
	submit_packs(a, 25);
	check_equal(pool_cancel(pool, a), 25); // all of each
	submit_packs(a, 25);
	check(!pool_bring_forward(pool, a, next_number - 1)); // it does not stand for itself
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aqapapap" "aqapapap" "aqapapap" "aqapapap" "aqapapap" "aqapapap" "aq");
	check_ends();
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("each item that goes along is a turn of its batch", test_turns),
		TEST("batches with packs of their own size have their shares by item", test_own_size),
		TEST("by time, a pack is charged the time that it takes", test_time),
		TEST("packs of one and packs of three have the same share", test_no_trace),
		TEST("only what is alike goes along, and nothing is passed over", test_alike),
		TEST("a pack is one running item to max_parallel", test_limit),
		TEST("the type sees how many wait, and how many slots there are", test_view),
		TEST("the type sees that nothing more will come", test_view_closed),
		TEST("long-running items go along too", test_long),
		TEST("the last item of a queue comes after all packs", test_finally),
		TEST("a pack that empties a queue asks for more", test_low),
		TEST("packs of items from disk keep their order, and lose none", test_spilled),
		TEST("an item's own work goes by itself", test_local),
		TEST("each item has one end, whoever cancels and pauses meanwhile", test_race),
		TEST("each item has one end when all is cut short", test_race_cut),
		TEST("items that are submitted as one have a turn each", test_together),
		TEST("the type sees how many of them are left", test_together_view),
		TEST("they come back from disk, keep their order, and none is lost", test_together_spilled),
		TEST("each of them has one end, whoever cancels and pauses meanwhile", test_together_race),
		TEST("each of them has one end when all is cut short", test_together_race_cut),
		TEST("what is left of them is cancelled at once", test_together_cancel),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
