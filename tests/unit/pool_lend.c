// Tests of the pool (engine/pool.h): items that lend their slots while they wait, and items that are brought forward.
//
// The test says when an item ends, lends its slots and wants them back (pool_actors.h).

#include "engine/pool.h"

#include "pool_actors.h"

// Opens a pool of that many slots with the queue `name`, whose items are `ids`, and starts it: `text` happens. Returns the queue.
static struct queue *start(unsigned slots, const char *name, const char *ids, unsigned width, const char *text) {
	open_stage(slots);
	struct queue *queue = open_queue(name, NULL);
	queue_up(queue, ids, width);
	pool_start(pool);
	expect(text);
	return queue;
}

static void lend(int id) {
	pool_lend(pool, actors[id].worker);
}

static void reclaim(int id) {
	pool_reclaim(pool, actors[id].worker, /* waits */ true);
}

// ---- one slot ----

static void test_lends(void) {
	struct queue *a = start(1, "a", "1234", 1, "a1 ");
	lend(1);
	expect("a1 a2 ");
	struct pool_stat stat = stat_now();
	check_equal(stat.running, 1);
	check_equal(stat.lending, 1);
	check_equal(stat.slots_taken, 1);
	check(!worker_keeps_slots(actors[1].worker));
	end(2);
	expect("a1 a2 a3 "); // as long as it waits others go on
	reclaim(1);
	check(!worker_keeps_slots(actors[1].worker));
	end(3);
	expect("a1 a2 a3 +1 "); // before a4, which waits longer
	check(worker_keeps_slots(actors[1].worker));
	check_equal(stat_now().running, 1);
	end(1);
	expect("a1 a2 a3 +1 a4 ");
	close_stage(a, NULL);
	check_seen(ran, 4);
}

static void test_lends_again(void) {
	struct queue *a = start(1, "a", "123", 1, "a1 ");
	lend(1);
	expect("a1 a2 ");
	lend(1); // no more than once
	reclaim(1);
	lend(1); // it waits for something else before it has come back
	end(2);
	expect("a1 a2 a3 ");
	reclaim(1);
	reclaim(1);
	end(3);
	expect("a1 a2 a3 +1 ");
	reclaim(1); // it keeps them
	check_equal(stat_now().slots_taken, 1);
	close_stage(a, NULL);
}

static void test_nobody_there(void) {
	struct queue *a = start(1, "a", "1", 1, "a1 ");
	lend(1);
	check_equal(stat_now().slots_taken, 0);
	reclaim(1);
	check(worker_keeps_slots(actors[1].worker)); // at once
	expect("a1 +1 ");
	close_stage(a, NULL);
}

static void test_chain(void) {
	open_stage(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	queue_up(a, "1234", 1);
	queue_up(b, "9", 1);
	pool_start(pool);
	expect("a1 ");
	check(pool_bring_forward(pool, a, 2));
	lend(1);
	expect("a1 a2 ");
	check(pool_bring_forward(pool, a, 3));
	lend(2);
	expect("a1 a2 a3 ");
	check(pool_bring_forward(pool, a, 4));
	lend(3);
	expect("a1 a2 a3 a4 ");
	check_equal(stat_now().slots_taken, 1);
	reclaim(3);
	end(4);
	expect("a1 a2 a3 a4 +3 ");
	reclaim(2);
	end(3);
	expect("a1 a2 a3 a4 +3 +2 ");
	reclaim(1);
	end(2);
	expect("a1 a2 a3 a4 +3 +2 +1 ");
	end(1);
	expect("a1 a2 a3 a4 +3 +2 +1 b9 ");
	close_stage(a, b);
}

static void test_first_come(void) {
	struct queue *a = start(2, "a", "123456", 1, "a1 a2 ");
	lend(1);
	expect("a1 a2 a3 ");
	lend(2);
	expect("a1 a2 a3 a4 ");
	reclaim(2);
	check(pool_bring_forward(pool, a, 6));
	reclaim(1);
	end(3);
	expect("a1 a2 a3 a4 +2 ");
	end(4);
	expect("a1 a2 a3 a4 +2 a6 ");
	end(2);
	expect("a1 a2 a3 a4 +2 a6 +1 ");
	end(6);
	expect("a1 a2 a3 a4 +2 a6 +1 a5 ");
	close_stage(a, NULL);
}

// ---- what keeps back ----

static void test_limit(void) {
	open_stage(2);
	struct queue_attrs attrs = {.weight = 1, .max_parallel = 1};
	struct queue *a = open_queue("a", &attrs), *b = open_queue("b", NULL);
	queue_up(a, "12", 1);
	pool_start(pool);
	expect("a1 ");
	lend(1); // counts not in its batch either
	expect("a1 a2 ");
	reclaim(1);
	check(!worker_keeps_slots(actors[1].worker)); // there is a slot, but the limit
	queue_up(b, "3", 1);
	expect("a1 a2 b3 "); // passes it
	end(2);
	expect("a1 a2 b3 +1 ");
	queue_up(a, "4", 1);
	end(3);
	queue_up(b, "5", 1);
	expect("a1 a2 b3 +1 b5 ");
	attrs.max_parallel = 2;
	end(5);
	lend(1);
	expect("a1 a2 b3 +1 b5 a4 ");
	attrs.max_parallel = 1;
	queue_set(pool, a, &attrs);
	reclaim(1);
	check(!worker_keeps_slots(actors[1].worker));
	attrs.max_parallel = 2;
	queue_set(pool, a, &attrs);
	check(worker_keeps_slots(actors[1].worker)); // another limit, and it goes on
	close_stage(a, b);
}

static void test_forward_limit(void) {
	open_stage(2);
	struct queue_attrs attrs = {.weight = 1, .max_parallel = 1};
	struct queue *a = open_queue("a", &attrs), *b = open_queue("b", NULL);
	queue_up(a, "123", 1);
	queue_up(b, "456", 1);
	pool_start(pool);
	expect("a1 b4 ");
	check(pool_bring_forward(pool, a, 3));
	end(4);
	expect("a1 b4 b5 "); // passes a3
	end(1);
	expect("a1 b4 b5 a3 ");
	end(3);
	end(5);
	await_actor(2);
	await_actor(6);
	close_stage(a, b);
}

static void test_paused(void) {
	open_stage(1);
	struct queue_attrs attrs = {.weight = 1, .paused = true};
	struct queue *a = open_queue("a", &attrs), *b = open_queue("b", NULL);
	queue_up(a, "12", 1);
	queue_up(b, "34", 1);
	check(pool_bring_forward(pool, a, 2));
	pool_start(pool);
	expect("b3 ");
	attrs.paused = false;
	queue_set(pool, a, &attrs);
	end(3);
	expect("b3 a2 ");
	close_stage(a, b);
}

static void test_wide_forward(void) {
	struct queue *a = start(2, "a", "12345", 1, "a1 a2 "), *w = open_queue("w", NULL);
	queue_up(w, "9", 2);
	check(pool_bring_forward(pool, w, 9));
	lend(1); // one slot is free, and kept for the wide one
	check_equal(stat_now().slots_taken, 1);
	end(2);
	expect("a1 a2 w9 ");
	check_equal(stat_now().slots_taken, 2);
	reclaim(1);
	end(9);
	mutex_lock(&notes_lock);
	while (notes_len < strlen("a1 a2 w9 +1 a3 ")) {
		cond_wait(&notes_changed, &notes_lock);
	}
	check_string(notes, "a1 a2 w9 +1 a3 ");
	mutex_unlock(&notes_lock);
	close_stage(a, w);
}

static void test_wide_waiter(void) {
	struct queue *w = start(2, "w", "1", 2, "w1 "), *a = open_queue("a", NULL);
	queue_up(a, "234", 1);
	lend(1);
	expect("w1 a2 a3 ");
	reclaim(1);
	end(2);
	check_equal(stat_now().slots_taken, 1); // a4 does not start
	end(3);
	expect("w1 a2 a3 +1 ");
	check_equal(stat_now().slots_taken, 2);
	end(1);
	expect("w1 a2 a3 +1 a4 ");
	close_stage(a, w);
}

// One that reserves slots by its turn lets those in the front go first.
static void test_before_reserver(void) {
	struct queue *a = start(2, "a", "12", 1, "a1 a2 "), *w = open_queue("w", NULL);
	lend(2);
	queue_up(w, "9", 2);
	while (pool_queue_bytes(pool, w) > 0) {
		sched_yield();
	}
	check_equal(stat_now().slots_taken, 1); // w9 waits for a1
	queue_up(a, "34", 1);
	check(pool_bring_forward(pool, a, 4));
	expect("a1 a2 a4 ");
	reclaim(2);
	end(1);
	expect("a1 a2 a4 +2 ");
	end(4);
	check_equal(stat_now().slots_taken, 1);
	end(2);
	expect("a1 a2 a4 +2 w9 ");
	end(9);
	expect("a1 a2 a4 +2 w9 a3 ");
	close_stage(a, w);
}

static void test_reserved_forward(void) {
	struct queue *a = start(2, "a", "1", 1, "a1 "), *w = open_queue("w", NULL);
	queue_up(w, "9", 2);
	while (pool_queue_bytes(pool, w) > 0) {
		sched_yield();
	}
	check(pool_bring_forward(pool, w, 9)); // not by the way of another in the front
	check(pool_bring_forward(pool, w, 9));
	check_equal(stat_now().queued, 1);
	lend(1);
	expect("a1 w9 ");
	close_stage(a, w);
}

// ---- ends ----

static void test_ends_while_lending(void) {
	struct queue *a = start(1, "a", "12", 1, "a1 ");
	lend(1);
	expect("a1 a2 ");
	end(1);
	check_equal(stat_now().slots_taken, 1);
	check_equal(stat_now().lending, 0);
	end(2);
	check_equal(stat_now().slots_taken, 0);
	queue_up(a, "3", 1);
	expect("a1 a2 a3 ");
	close_stage(a, NULL);
}

static void test_ends_in_line(void) {
	struct queue *w = start(2, "w", "1", 2, "w1 "), *a = open_queue("a", NULL);
	queue_up(a, "23", 1);
	lend(1);
	expect("w1 a2 a3 ");
	reclaim(1);
	end(2);
	queue_up(a, "4", 1);
	check_equal(stat_now().slots_taken, 1); // kept for w1
	end(1);
	expect("w1 a2 a3 a4 ");
	close_stage(a, w);
}

static void test_closed_while_lending(void) {
	struct queue *a = start(1, "a", "1", 1, "a1 "), *b = open_queue("b", NULL);
	lend(1);
	pool_queue_close(pool, a);
	queue_up(b, "2", 1);
	expect("a1 b2 ");
	check_seen(removed, 0);
	uint64_t id = 3;
	struct work work = {.type = &act_type, .data = &id, .size = sizeof(id), .id = id, .flags = WORK_LOCAL};
	check_equal(pool_submit(pool, a, actors[1].worker, &work, 1), SUBMIT_OK); // its item may submit more
	reclaim(1);
	end(2);
	expect("a1 b2 +1 ");
	end(1);
	expect("a1 b2 +1 a3 ");
	check_seen(removed, 0);
	end(3);
	while (atomic_load_relaxed(&seen.removed) == 0) {
		sched_yield();
	}
	pool_queue_close(pool, b);
	close_pool();
}

static void test_at_once(void) {
	struct queue *a = start(1, "a", "1234", 1, "a1 ");
	lend(1);
	expect("a1 a2 ");
	pool_reclaim(pool, actors[1].worker, /* waits */ false); // who waited was killed: the item goes on
	expect("a1 a2 +1 ");
	check_equal(stat_now().slots_taken, 2);
	end(2);
	check_equal(stat_now().slots_taken, 1); // nothing starts in its place
	lend(1);
	expect("a1 a2 +1 a3 ");
	reclaim(1);
	pool_reclaim(pool, actors[1].worker, /* waits */ false); // out of the line
	expect("a1 a2 +1 a3 +1 ");
	end(3);
	end(1);
	expect("a1 a2 +1 a3 +1 a4 ");
	close_stage(a, NULL);
}

// ---- slots that come and go ----

static void test_fewer_slots(void) {
	struct queue *a = start(2, "a", "123", 1, "a1 a2 ");
	lend(1);
	expect("a1 a2 a3 ");
	reclaim(1);
	check_equal(pool_demand(pool, 9), 1); // he wants one
	pool_add_slots(pool, -1);
	end(2);
	check(!worker_keeps_slots(actors[1].worker));
	pool_add_slots(pool, -1);
	end(3);
	check(!worker_keeps_slots(actors[1].worker));
	check_equal(pool_drop_surplus(pool), 0);
	pool_add_slots(pool, 1);
	expect("a1 a2 a3 +1 ");
	lend(1);
	check_equal(pool_drop_surplus(pool), 1); // nobody wants it
	close_stage(a, NULL);
}

static void test_slot_numbers(void) {
	open_stage(1);
	struct queue_attrs attrs = {.weight = 1, .long_running = true};
	struct queue *a = open_queue("a", NULL), *l = open_queue("l", &attrs);
	queue_up(a, "123", 1);
	queue_up(l, "8", 1);
	pool_start(pool);
	await_actor(1);
	await_actor(8);
	lend(1);
	await_actor(2);
	lend(2);
	await_actor(3);
	unsigned taken = 0;
	for (int i = 1; i <= 8; i += i == 3 ? 5 : 1) {
		unsigned slot = worker_slot(actors[i].worker);
		check(slot >= 1 && slot <= 4 && !(taken & 1U << slot)); // no two have the same
		taken |= 1U << slot;
	}
	check_equal(worker_slot(actors[1].worker), 1);
	close_stage(a, l);
}

static void test_long(void) {
	config.max_long = 1;
	open_stage(1);
	struct queue_attrs attrs = {.weight = 1, .long_running = true, .max_parallel = 1};
	struct queue *l = open_queue("l", &attrs);
	queue_up(l, "123", 1);
	pool_start(pool);
	expect("l1 ");
	check(pool_bring_forward(pool, l, 3));
	lend(1);
	expect("l1 l3 ");
	reclaim(1);
	end(3);
	expect("l1 l3 +1 ");
	end(1);
	expect("l1 l3 +1 l2 ");
	close_stage(l, NULL);
}

// ---- turns and time ----

static void test_is_charged(void) {
	// b's items go first out of turn: then a has as many turns before b has its next
	open_stage(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	queue_up(a, "1234", 1);
	queue_up(b, "567", 1);
	check(pool_bring_forward(pool, b, 5));
	check(pool_bring_forward(pool, b, 6));
	pool_start(pool);
	const char *const order[] = {"b5 ", "b5 b6 ", "b5 b6 a1 ", "b5 b6 a1 a2 ", "b5 b6 a1 a2 b7 ", "b5 b6 a1 a2 b7 a3 "};
	for (int i = 0; i < 6; ++i) {
		expect(order[i]);
		end(order[i][strlen(order[i]) - 2] - '0');
	}
	expect("b5 b6 a1 a2 b7 a3 a4 ");
	close_stage(a, b);
}

static _Atomic uint64_t virtual_time;

static uint64_t virtual_now(void *arg) {
	(void)arg;
	return atomic_load_relaxed(&virtual_time);
}

static double last_virt[128];

static void keep_virt(void *arg, const struct service *service) {
	last_virt[(unsigned char)service->batch[0] & 127] = service->virt;
	note_start(arg, service);
}

static void test_time(void) {
	// while it waits no slot-time is charged
	config.fair_time = true;
	config.now = virtual_now;
	open_stage(1);
	pool_destroy(pool);
	config.hooks.trace = keep_virt;
	pool = pool_create(&config);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	queue_up(a, "1", 1);
	pool_start(pool);
	expect("a1 ");
	atomic_add_relaxed(&virtual_time, NS_PER_S);
	lend(1);
	queue_up(b, "2", 1);
	expect("a1 b2 ");
	atomic_add_relaxed(&virtual_time, 100 * NS_PER_S);
	reclaim(1);
	end(2);
	expect("a1 b2 +1 ");
	atomic_add_relaxed(&virtual_time, NS_PER_S);
	end(1);
	queue_up(a, "3", 1);
	expect("a1 b2 +1 a3 ");
	end(3);
	check(last_virt['a'] < 102); // of b's hundred only what a newcomer is placed behind, never its own
	close_stage(a, b);
}

// ---- one item ----

static void test_cancel_all(void) {
	open_stage(1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	queue_up(a, "1234", 1);
	queue_up(b, "5", 1);
	pool_start(pool);
	expect("a1 ");
	lend(1);
	expect("a1 b5 ");
	check(pool_bring_forward(pool, a, 3));
	reclaim(1);
	check_equal(pool_cancel(pool, a), 3); // but not the one that comes back
	end(5);
	mutex_lock(&notes_lock);
	check_equal(notes_len, strlen("a1 b5 -3 -2 -4 +1 "));
	check_string(notes + notes_len - 3, "+1 ");
	mutex_unlock(&notes_lock);
	close_stage(a, b);
	check_seen(dropped, 3);
}

static void test_shutdown(void) {
	struct queue *a = start(1, "a", "123", 1, "a1 ");
	lend(1);
	expect("a1 a2 ");
	check(pool_bring_forward(pool, a, 3));
	check_equal(pool_shutdown(pool), 1);
	close_stage(a, NULL);
	check_seen(dropped, 1);
	check_seen(ran, 2);
}

// ---- many ----

static _Atomic unsigned char runs_of[40000];

static enum work_status many_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	uint64_t id;
	(void)worker, (void)queue, (void)size;
	memcpy(&id, data, sizeof(id));
	atomic_add_relaxed(&runs_of[id], 1);
	return count_run(worker, queue, data, size);
}

static void many_drop(struct queue *queue, void *data, size_t size) {
	uint64_t id;
	memcpy(&id, data, sizeof(id));
	atomic_add_relaxed(&runs_of[id], 1);
	count_drop(queue, data, size);
}

// Whatever is taken out of the middle, each item is run once or dropped once, and the others keep their order.
static void test_middle(void) {
	static const struct work_type many_type = {.run = many_run, .drop = many_drop};
	enum { N = 40000 };
	config.queue_mem = 1 << 20; // so that some of it is spilled
	open_pool(3);
	struct queue *a = open_queue("a", NULL);
	char data[64] = {0};
	uint64_t dice = 1;
	for (uint64_t id = 1; id < N; ++id) {
		memcpy(data, &id, sizeof(id));
		struct work work = {.type = &many_type, .data = data, .size = sizeof(data), .id = id};
		check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_OK);
	}
	unsigned taken = 0, started = 0;
	for (int i = 0; i < 3000; ++i) {
		dice = dice * 6364136223846793005U + 1442695040888963407U;
		uint64_t id = 1 + (dice >> 33) % (i % 2 ? N : 100) % (N - 1);
		taken += pool_bring_forward(pool, a, id);
		if (i == 1500) {
			pool_start(pool);
			started = taken;
		}
	}
	check(started > 100);
	pool_queue_close(pool, a);
	close_pool();
	for (int id = 1; id < N; ++id) {
		check_equal(atomic_load_relaxed(&runs_of[id]), 1);
	}
	check_equal(atomic_load_relaxed(&seen.ran) + atomic_load_relaxed(&seen.dropped), N - 1);
}

static void test_all_of_queue(void) {
	// what is left of a queue when all but the first was taken out of it
	struct queue *a = start(1, "a", "12345", 1, "a1 ");
	check(pool_bring_forward(pool, a, 5));
	check(pool_bring_forward(pool, a, 4));
	check(pool_bring_forward(pool, a, 3));
	check(pool_bring_forward(pool, a, 2));
	queue_up(a, "67", 1);
	check(pool_bring_forward(pool, a, 6));
	for (const char *at = "15432"; *at; ++at) {
		end(*at - '0');
	}
	end(6);
	expect("a1 a5 a4 a3 a2 a6 a7 ");
	close_stage(a, NULL);
}

// ---- waiting for all others ----

static enum work_status wait_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)data, (void)size;
	submit_tree(queue, 4);
	pool_lend(pool, worker); // they run in the slot that this one lends
	while (atomic_load_relaxed(&seen.ran) < 31) {
		sched_yield();
	}
	pool_reclaim(pool, worker, /* waits */ true);
	while (!worker_keeps_slots(worker)) {
		sched_yield();
	}
	return WORK_OK;
}

static void test_wait_inside(void) {
	static const struct work_type type = {.run = wait_run};
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	submit(a, &type, 1);
	check(!pool_wait_idle(pool, now_ns()));
	pool_start(pool);
	while (atomic_load_relaxed(&seen.ran) < 31) {
		sched_yield();
	}
	pool_queue_close(pool, a);
	close_pool();
}

// ---- waiting for something else ----

static struct gate got[ACTORS]; // what the actor waits for
static atomic_bool refused;

// Waits before anything else; "g1" when it goes on.
static enum work_status wait_first(struct worker *worker, struct queue *queue, void *data, size_t size) {
	uint64_t id;
	(void)queue;
	memcpy(&id, data, size);
	mutex_lock(&notes_lock);
	actors[id].worker = worker;
	actors[id].on_stage = true;
	mutex_unlock(&notes_lock);
	cond_broadcast(&notes_changed);
	worker_wait_begin(worker);
	gate_wait(&got[id], 1);
	worker_wait_end(worker, 5, &refused);
	note('g', id, ' ');
	return WORK_OK;
}

static struct queue *start_waiting(const char *ids, struct queue **ret_other) {
	static const struct work_type type = {.run = wait_first, .drop = act_drop};
	for (int i = 0; i < ACTORS; ++i) {
		mutex_init(&got[i].lock, LOCK_OF_TEST);
		cond_init(&got[i].changed);
	}
	open_stage(1);
	struct queue *a = open_queue("a", NULL);
	*ret_other = open_queue("b", NULL);
	queue_up_as(a, &type, ids, 1);
	return a;
}

static void await_wait(int id) {
	await_actor(id);
	while (worker_keeps_slots(actors[id].worker)) {
		sched_yield();
	}
}

static void test_holds_nothing(void) {
	struct queue *b, *a = start_waiting("12", &b);
	queue_up(b, "89", 1);
	pool_start(pool);
	expect("a1 b8 ");
	end(8);
	expect("a1 b8 b9 "); // and not a2, which would wait for the same
	end(9);
	check_equal(stat_now().slots_taken, 0);
	check_equal(stat_now().queued, 1);
	gate_raise(&got[1]);
	expect("a1 b8 b9 +1 g1 a2 ");
	check_equal(worker_facts(actors[2].worker)->limit_why, 5);
	check(worker_facts(actors[2].worker)->limit_left > 0);
	gate_raise(&got[2]);
	close_stage(a, b);
}

static void test_waits_forward(void) {
	struct queue *b, *a = start_waiting("123", &b);
	pool_start(pool);
	expect("a1 ");
	await_wait(1);
	check(pool_bring_forward(pool, a, 3)); // somebody waits for it
	expect("a1 a3 ");
	await_wait(3);
	check_equal(stat_now().slots_taken, 0);
	gate_raise(&got[1]);
	expect("a1 a3 +1 g1 ");
	check_equal(stat_now().queued, 1); // a2, as a3 still waits
	gate_raise(&got[3]);
	expect("a1 a3 +1 g1 +3 g3 a2 ");
	gate_raise(&got[2]);
	close_stage(a, b);
}

static void test_wait_is_refused(void) {
	struct queue *b, *a = start_waiting("12", &b);
	queue_up(b, "9", 1);
	pool_start(pool);
	expect("a1 b9 ");
	gate_raise(&got[1]); // but b9 has the slot
	pool_pause(pool, true);
	check(!worker_keeps_slots(actors[1].worker));
	atomic_store(&refused, true);
	pool_pause(pool, true);
	expect("a1 b9 +1 g1 ");
	pool_pause(pool, false);
	gate_raise(&got[2]);
	close_stage(a, b);
	atomic_store(&refused, false);
}

static void test_waits_without_slots(void) {
	struct queue *b, *a = start_waiting("1", &b);
	pool_start(pool);
	expect("a1 ");
	await_wait(1);
	pool_set_slots(pool, 0);
	gate_raise(&got[1]);
	check_equal(pool_shutdown(pool), 0); // no slot will come
	expect("a1 +1 g1 ");
	close_stage(a, b);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("an item that waits lends its slot, and is first in line when it returns", test_lends),
		TEST("it lends no more than it has, and may wait for something else before it has come back", test_lends_again),
		TEST("where nobody wants its slot it has it back at once", test_nobody_there),
		TEST("three wait for each other at one slot", test_chain),
		TEST("who returns and who was brought forward come in order", test_first_come),
		TEST("one that waits does not count for max_parallel, and is passed when only that keeps it back", test_limit),
		TEST("so is one that was brought forward", test_forward_limit),
		TEST("and one whose queue is paused", test_paused),
		TEST("free slots are kept for a wide one that was brought forward", test_wide_forward),
		TEST("a wide one lends all its slots and returns when it can have all", test_wide_waiter),
		TEST("who is in front goes before one that has reserved slots", test_before_reserver),
		TEST("one that has reserved slots can be brought forward", test_reserved_forward),
		TEST("one that ends while it lends takes nothing back", test_ends_while_lending),
		TEST("one that ends while it is in line leaves it", test_ends_in_line),
		TEST("its queue is there as long as it lends", test_closed_while_lending),
		TEST("one that goes on without waiting counts at once, and nothing starts before there is room", test_at_once),
		TEST("it waits for slots that come, and its own go when nobody wants them", test_fewer_slots),
		TEST("no two have the same slot number", test_slot_numbers),
		TEST("a dedicated thread can be lent too", test_long),
		TEST("one that was brought forward is charged", test_is_charged),
		TEST("by time, waiting is not charged", test_time),
		TEST("cancelling a queue cancels those in front, but not one that returns", test_cancel_all),
		TEST("a shutdown drops those in front", test_shutdown),
		TEST("items out of the middle of a queue run once or are dropped once", test_middle),
		TEST("all may be taken out of the middle", test_all_of_queue),
		TEST("an item can wait for all others at one slot", test_wait_inside),
		TEST("an item that waits for something else holds no slot, its queue stands, and others pass", test_holds_nothing),
		TEST("what was brought forward passes it", test_waits_forward),
		TEST("it waits for its slot no longer than until it is refused", test_wait_is_refused),
		TEST("nor where no slot will come", test_waits_without_slots),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
