// Tests of the pool (engine/pool.h): what passes a wide item that gathers its slots.
//
// The test says what time it is and when an item ends (pool_actors.h). Batches: `l` takes ten seconds, `s` two, `w` is wide; `u` is
// not known. "s5*" passes.

#include "engine/pool.h"

#include "pool_actors.h"

static _Atomic uint64_t virtual_time;
static struct queue *l, *s, *u, *w;
static struct queue_attrs w_attrs;

static uint64_t virtual_now(void *arg) {
	(void)arg;
	return atomic_load_relaxed(&virtual_time);
}

static void at(uint64_t seconds) {
	atomic_store_relaxed(&virtual_time, seconds * NS_PER_S);
}

static void end_at(uint64_t seconds, int id) {
	at(seconds);
	end(id);
}

static void on_reserving(void *arg, struct queue *queue, uint64_t id, unsigned width) {
	(void)arg, (void)queue, (void)id, (void)width;
	gate_raise(&gates[7]);
}

// A pool with the four queues, that of the wide items with these attributes or NULL.
static void open_four(unsigned slots, const struct queue_attrs *attrs) {
	config.now = virtual_now;
	config.hooks.reserving = on_reserving;
	open_stage(slots);
	l = open_queue("l", NULL);
	s = open_queue("s", NULL);
	u = open_queue("u", NULL);
	w = open_queue("w", attrs);
}

// The pool has run l1 and s2, it is ten o'clock, and w9 is queued but paused.
static void open_known(unsigned slots, unsigned width) {
	at(0);
	w_attrs = (struct queue_attrs){.weight = 1, .paused = true};
	open_four(slots, &w_attrs);
	queue_up(w, "9", width);
	queue_up(l, "1", 1);
	pool_start(pool);
	expect("l1 ");
	queue_up(s, "2", 1);
	expect("l1 s2 ");
	end_at(2, 2);
	end_at(10, 1);
}

// The turn of w comes, but not its slots.
static void gather(void) {
	long n = gates[7].value;
	w_attrs.paused = false;
	queue_set(pool, w, &w_attrs);
	gate_wait(&gates[7], n + 1);
}

// Queues one that may not pass: nobody is woken for it.
static void queue_up_in_vain(struct queue *queue, const char *ids) {
	struct pool_stat was = stat_now();
	queue_up(queue, ids, 1);
	struct pool_stat stat = stat_now();
	check_equal(stat.wakes, was.wakes);
	check_equal(stat.threads, was.threads);
}

static void close_known(void) {
	pool_queue_close(pool, l);
	pool_queue_close(pool, s);
	pool_queue_close(pool, u);
	close_stage(w, NULL);
}

// ---- who passes ----

static void fills(bool by_time) {
	config.fair_time = by_time;
	open_known(4, 4);
	queue_up(l, "34", 1);
	expect("l1 s2 l3 l4 ");
	gather(); // they end at 20
	queue_up(s, "567", 1);
	expect("l1 s2 l3 l4 s5*s6*");
	check_equal(stat_now().slots_taken, 4);
	end_at(12, 5);
	expect("l1 s2 l3 l4 s5*s6*s7*");
	end_at(18, 6);
	queue_up(s, "8", 1);
	expect("l1 s2 l3 l4 s5*s6*s7*s8*"); // just so
	end_at(19, 7);
	queue_up_in_vain(s, "0"); // too late
	end_at(20, 8);
	end(3);
	end(4);
	expect("l1 s2 l3 l4 s5*s6*s7*s8*w9 ");
	check_equal(seen.n, 0);
	end_at(25, 9);
	expect("l1 s2 l3 l4 s5*s6*s7*s8*w9 s0 ");
	close_known();
}

static void test_fills(void) {
	fills(/* by_time */ false);
}

static void test_fills_by_time(void) {
	fills(/* by_time */ true);
}

static void test_unknown_does_not_pass(void) {
	open_known(4, 4);
	queue_up(l, "34", 1);
	expect("l1 s2 l3 l4 ");
	gather();
	queue_up_in_vain(u, "5"); // was never served: it would be its turn
	queue_up(s, "6", 1);
	expect("l1 s2 l3 l4 s6*");
	end_at(12, 6);
	end_at(20, 3);
	end(4);
	expect("l1 s2 l3 l4 s6*w9 ");
	end(9);
	expect("l1 s2 l3 l4 s6*w9 u5 ");
	close_known();
}

static void test_in_turn(void) {
	open_known(2, 2);
	struct queue *t = open_queue("t", NULL);
	queue_up(t, "3", 1);
	expect("l1 s2 t3 ");
	end_at(12, 3);
	queue_up(l, "4", 1);
	expect("l1 s2 t3 l4 ");
	gather();
	pool_pause(pool, true);
	queue_up(s, "56", 1);
	queue_up(t, "78", 1);
	pool_pause(pool, false);
	expect("l1 s2 t3 l4 s5*");
	end_at(14, 5);
	expect("l1 s2 t3 l4 s5*t7*");
	end_at(16, 7);
	expect("l1 s2 t3 l4 s5*t7*s6*");
	end_at(18, 6);
	expect("l1 s2 t3 l4 s5*t7*s6*t8*");
	pool_queue_close(pool, t);
	close_known();
}

static void test_limit(void) {
	open_known(4, 4);
	struct queue_attrs attrs = {.weight = 1, .max_parallel = 1};
	queue_set(pool, s, &attrs);
	queue_up(l, "3", 1);
	expect("l1 s2 l3 ");
	gather();
	queue_up(s, "45", 1);
	expect("l1 s2 l3 s4*");
	check_equal(stat_now().slots_taken, 2);
	end_at(12, 4);
	expect("l1 s2 l3 s4*s5*");
	close_known();
}

// A wide one is known to need what the widest of its batch has taken.
static void test_wide_passes(void) {
	open_known(4, 4);
	struct queue *v = open_queue("v", NULL);
	queue_up(v, "3", 3);
	expect("l1 s2 v3 ");
	end_at(12, 3);
	queue_up(l, "4", 1);
	expect("l1 s2 v3 l4 ");
	gather(); // till 22
	queue_up(s, "5", 1);
	expect("l1 s2 v3 l4 s5*");
	queue_up(v, "6", 1); // would fit, but who knows what is next of it
	queue_up(v, "7", 3);
	end_at(14, 5);
	expect("l1 s2 v3 l4 s5*v6*");
	end_at(16, 6);
	expect("l1 s2 v3 l4 s5*v6*v7*");
	check_equal(stat_now().slots_taken, 4);
	pool_queue_close(pool, v);
	close_known();
}

// ---- the wide one is not put off ----

static void test_overdue(void) {
	open_known(4, 4);
	queue_up(l, "34", 1);
	expect("l1 s2 l3 l4 ");
	gather();
	end_at(18, 3);
	queue_up(s, "5", 1);
	expect("l1 s2 l3 l4 s5*");
	end_at(20, 4);
	at(21);
	queue_up_in_vain(s, "67"); // three slots are free, but s5 may end at any moment
	at(30);
	queue_up_in_vain(s, "8");
	end(5);
	expect("l1 s2 l3 l4 s5*w9 ");
	end(9);
	expect("l1 s2 l3 l4 s5*w9 s6 s7 s8 ");
	close_known();
}

// One that is overdue, and another that is not, which the wide one needs too.
static void test_another_is_not_overdue(void) {
	open_known(3, 3);
	queue_up(s, "3", 1);
	expect("l1 s2 s3 ");
	queue_up(l, "4", 1);
	expect("l1 s2 s3 l4 ");
	gather();
	at(15);
	queue_up(s, "5", 1);
	expect("l1 s2 s3 l4 s5*");
	end_at(16, 3);
	end(5);
	end_at(20, 4);
	expect("l1 s2 s3 l4 s5*w9 ");
	close_known();
}

static void test_unknown_runs(void) {
	open_known(2, 2);
	queue_up(u, "3", 1);
	expect("l1 s2 u3 ");
	gather();
	queue_up_in_vain(s, "45");
	end_at(60, 3);
	expect("l1 s2 u3 w9 ");
	end(9);
	expect("l1 s2 u3 w9 s4 s5 ");
	close_known();
}

// That its batch takes longer than was thought does not let more pass.
static void test_longer_than_thought(void) {
	open_known(4, 4);
	queue_up(s, "34", 1);
	expect("l1 s2 s3 s4 ");
	struct queue *t = open_queue("t", NULL);
	queue_up(t, "5", 1);
	expect("l1 s2 s3 s4 t5 ");
	end_at(11, 5);
	at(15);
	queue_up(s, "6", 1);
	expect("l1 s2 s3 s4 t5 s6 ");
	gather(); // till 17
	queue_up(t, "7", 1);
	expect("l1 s2 s3 s4 t5 s6 t7*");
	end_at(16, 7);
	end_at(30, 3);
	end(4); // now they seem to take 20
	queue_up_in_vain(t, "8");
	end_at(31, 6);
	expect("l1 s2 s3 s4 t5 s6 t7*w9 ");
	pool_queue_close(pool, t);
	close_known();
}

// ---- what happens meanwhile ----

static void test_two_wide(void) {
	open_known(4, 4);
	queue_up(w, "8", 4);
	queue_up(l, "3", 1);
	expect("l1 s2 l3 ");
	gather();
	queue_up(s, "4", 1);
	expect("l1 s2 l3 s4*"); // and not w8
	end_at(12, 4);
	end_at(20, 3);
	expect("l1 s2 l3 s4*w9 ");
	struct queue_attrs first = {.weight = 1, .priority = 1};
	queue_set(pool, l, &first);
	queue_up(l, "5", 1);
	long n = gates[7].value;
	end_at(25, 9);
	gate_wait(&gates[7], n + 1);
	expect("l1 s2 l3 s4*w9 l5 ");
	queue_up(s, "6", 1);
	expect("l1 s2 l3 s4*w9 l5 s6*");
	end_at(27, 6);
	end_at(35, 5);
	expect("l1 s2 l3 s4*w9 l5 s6*w8 ");
	close_known();
}

static void test_cancelled(void) {
	open_known(4, 4);
	queue_up(l, "3", 1);
	expect("l1 s2 l3 ");
	gather();
	queue_up(u, "4", 1);
	queue_up(s, "5", 1);
	expect("l1 s2 l3 s5*");
	check_equal(pool_cancel(pool, w), 1);
	mutex_lock(&notes_lock);
	while (notes_len < strlen("l1 s2 l3 s5*-9 u4 ")) {
		cond_wait(&notes_changed, &notes_lock);
	}
	check(strstr(notes, "-9 ") && strstr(notes, "u4 "));
	mutex_unlock(&notes_lock);
	close_known();
	check_seen(ran, 5);
}

static void test_dedicated(void) {
	struct queue_attrs attrs = {.weight = 1, .long_running = true};
	open_known(2, 2);
	struct queue *d = open_queue("d", &attrs);
	queue_up(d, "3", 1);
	queue_up(l, "4", 1);
	await_actor(3);
	await_actor(4);
	gather();
	queue_up(s, "5", 1);
	await_actor(5);
	check(strstr(notes, "s5*"));
	end_at(12, 5);
	end_at(20, 4);
	await_actor(9); // d3 runs on
	pool_queue_close(pool, d);
	close_known();
}

// Who lends its slots counts for nothing, and for the time that it had none when it has them back.
static void test_lends(void) {
	open_known(3, 3);
	queue_up(l, "34", 1);
	expect("l1 s2 l3 l4 ");
	gather(); // till 20
	pool_lend(pool, actors[3].worker);
	queue_up(s, "56", 1);
	expect("l1 s2 l3 l4 s5*s6*");
	at(12);
	pool_reclaim(pool, actors[3].worker, /* waits */ true);
	queue_up(s, "7", 1); // behind l3, which stands in front
	end(5);
	expect("l1 s2 l3 l4 s5*s6*+3 ");
	end_at(20, 6);
	expect("l1 s2 l3 l4 s5*s6*+3 s7*"); // till 22
	end_at(22, 3);
	end(4);
	end(7);
	expect("l1 s2 l3 l4 s5*s6*+3 s7*w9 ");
	close_known();
}

// It does not matter how long it is going to take.
static void test_unknown_lends(void) {
	open_known(3, 3);
	queue_up(u, "3", 1);
	expect("l1 s2 u3 ");
	queue_up(l, "4", 1);
	expect("l1 s2 u3 l4 ");
	gather();
	pool_lend(pool, actors[3].worker);
	queue_up(s, "56", 1);
	expect("l1 s2 u3 l4 s5*s6*");
	close_known();
}

static void test_in_front(void) {
	open_known(2, 2);
	queue_up(l, "3", 1);
	expect("l1 s2 l3 ");
	gather();
	queue_up(u, "4", 1);
	check(pool_bring_forward(pool, u, 4));
	expect("l1 s2 l3 u4 ");
	queue_up(s, "5", 1); // u4 may run for long
	end_at(11, 4);
	expect("l1 s2 l3 u4 s5*");
	close_known();
}

static void test_learned_before(void) {
	open_four(2, NULL);
	at(100);
	queue_up(l, "1", 1);
	queue_up(s, "2", 1);
	pool_start(pool);
	expect("l1 s2 ");
	end_at(102, 2);
	end_at(110, 1);
	queue_up(l, "3", 1);
	expect("l1 s2 l3 ");
	queue_up(w, "9", 2);
	gate_wait(&gates[7], 1);
	queue_up(s, "4", 1);
	expect("l1 s2 l3 s4*");
	end_at(112, 4);
	end_at(120, 3);
	expect("l1 s2 l3 s4*w9 ");
	end_at(121, 9);
	close_known();
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("what ends before the slots would be free passes a wide item", test_fills),
		TEST("so it does by time", test_fills_by_time),
		TEST("a batch of which no item has ended does not pass", test_unknown_does_not_pass),
		TEST("those that may pass do it in turns", test_in_turn),
		TEST("and within max_parallel", test_limit),
		TEST("a wide item passes another if all its slots are free", test_wide_passes),
		TEST("nothing passes while what the wide one waits for is overdue", test_overdue),
		TEST("unless it waits for another too", test_another_is_not_overdue),
		TEST("nothing passes while it waits for one of which nothing is known", test_unknown_runs),
		TEST("that running items take longer than was thought lets nothing pass", test_longer_than_thought),
		TEST("two wide items gather one after the other", test_two_wide),
		TEST("a wide item is cancelled while others pass it", test_cancelled),
		TEST("dedicated threads do not count", test_dedicated),
		TEST("an item that lends its slot does not count, and ends later by that", test_lends),
		TEST("nor does it matter that nobody knows when it ends", test_unknown_lends),
		TEST("who stands in front goes first, and is not passed", test_in_front),
		TEST("what has run before the first wide one is known", test_learned_before),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
