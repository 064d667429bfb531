// Tests of rates: in the fair choice with a virtual clock (engine/fair.h), and in the pool, where a worker has to wake for the
// next token (engine/pool.h).

#include "engine/fair.h"

#include "test.h"
#include "fair_world.h"
#include "pool_fixture.h"

#include <sched.h>

// ---- the fair choice ----

enum { TICK = 50 * NS_PER_MS };

// One slot, and items of a tick each: what starts at each tick, '.' for nothing.
static const char *ticks(struct world *world, int n) {
	world->len = 0;
	for (int i = 0; i < n; ++i) {
		fair_release(&world->fair, world->now);
		struct fair_queue *queue = pick(world);
		if (!queue) {
			world->trace[world->len++] = '.';
			world->trace[world->len] = '\0';
		}
		world->now += TICK;
		if (queue) {
			fair_done(&world->fair, queue, 0, world->now);
		}
	}
	return world->trace;
}

static void set_rate(struct fair *fair, struct fair_queue *queue, uint64_t interval, uint64_t now) {
	fair_set(fair, queue, queue->weight, queue->tier->priority, queue->limit, interval, now);
}

static struct fair_queue *add_rated(struct world *world, uint64_t interval) {
	struct fair_queue *queue = world_add(world, 1, 0, 0);
	set_rate(&world->fair, queue, interval, world->now);
	return queue;
}

static void test_even(void) {
	for (int time = 0; time < 2; ++time) {
		struct world world;
		world_init(&world, time);
		struct fair_queue *a = add_rated(&world, 200 * NS_PER_MS); // 5/s
		arrive(&world, a, 7);
		check_string(ticks(&world, 21), "A...A...A...A...A...A");
		check_equal(fair_next_due(&world.fair), 24 * TICK);
		world_fini(&world);
	}
}

static void test_no_burst_after_idleness(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = add_rated(&world, 4 * TICK);
	arrive(&world, a, 1);
	check_string(ticks(&world, 30), "A.............................");
	arrive(&world, a, 3); // the bucket holds one token, however long it was filled
	check_string(ticks(&world, 10), "A...A...A.");
	check_equal(fair_next_due(&world.fair), TIME_NEVER);
	// a late start is no credit either: the next one follows in an interval from it
	arrive(&world, a, 3);
	world.now += 2 * TICK;
	check_string(ticks(&world, 1), "A");
	world.now += 5 * TICK;
	check_string(ticks(&world, 6), "A...A.");
	world_fini(&world);
}

static void test_others_have_the_turns(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = add_rated(&world, 4 * TICK), *b = world_add(&world, 1, 0, 0), *c = world_add(&world, 1, 0, 0);
	arrive(&world, a, 100);
	arrive(&world, b, 100);
	check_string(ticks(&world, 12), "ABBBABBBABBB");
	// among more batches it still has its turn soon after its token has come, and is never owed more than one
	arrive(&world, c, 100);
	check_string(ticks(&world, 16), "ABCBACBCABCBACBC");
	world_fini(&world);
}

static void test_two_rates(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = add_rated(&world, 3 * TICK), *b = add_rated(&world, 5 * TICK), *low = world_add(&world, 1, -1, 0);
	arrive(&world, a, 100);
	arrive(&world, b, 100);
	check_string(ticks(&world, 20), "AB.A..BA..AB.A..BA..");
	check_equal(fair_next_due(&world.fair), 20 * TICK);
	arrive(&world, low, 100); // the slots that they leave are for lower priorities, too
	check_string(ticks(&world, 10), "ABCACCBACC");
	world_fini(&world);
}

static void test_limit_and_rate(void) {
	// at its limit it waits for an end, not for a token
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 0, 1);
	set_rate(&world.fair, a, 2 * TICK, 0);
	arrive(&world, a, 3);
	check(pick(&world) == a);
	check_equal(fair_next_due(&world.fair), TIME_NEVER);
	world.now += TICK;
	fair_done(&world.fair, a, 0, world.now);
	check_equal(fair_next_due(&world.fair), 2 * TICK);
	check(!pick(&world));
	world.now += TICK;
	fair_release(&world.fair, world.now);
	check(pick(&world) == a);
	world.now += 9 * TICK;
	fair_done(&world.fair, a, 0, world.now); // its token has come long ago
	check_equal(fair_next_due(&world.fair), TIME_NEVER);
	check(pick(&world) == a);
	world_fini(&world);
}

static void test_give_back(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = add_rated(&world, 4 * TICK);
	arrive(&world, a, 3);
	check(pick(&world) == a);
	fair_give_back(&world.fair, a, 1, 0, world.now, world.now);
	check(!pick(&world));
	fair_set_due(&world.fair, a, world.now, world.now);
	check_string(ticks(&world, 6), "A...A.");
	world_fini(&world);
}

static void test_exempt(void) {
	// what is exempt from the rate is picked while it holds the others, and moves none of their tokens
	for (int time = 0; time < 2; ++time) {
		struct world world;
		world_init(&world, time);
		struct fair_queue *a = add_rated(&world, 4 * TICK);
		arrive(&world, a, 2);
		check_string(ticks(&world, 2), "A.");
		fair_arrive_exempt(&world.fair, a, world.now);
		fair_arrive_exempt(&world.fair, a, world.now);
		check_string(ticks(&world, 6), "AAA...");
		check(a->backlog == 0 && a->exempt == 0 && !a->picks_exempt);
		// who has a token goes first
		fair_arrive_exempt(&world.fair, a, world.now);
		arrive(&world, a, 1);
		check_string(ticks(&world, 1), "A");
		check(a->exempt == 1 && !a->picks_exempt);
		check_string(ticks(&world, 1), "A");
		check(a->exempt == 0 && a->picks_exempt);
		// they need no token that there is
		world.now += 4 * TICK;
		fair_arrive_exempt(&world.fair, a, world.now);
		check_string(ticks(&world, 1), "A");
		arrive(&world, a, 2);
		check_string(ticks(&world, 6), "A...A.");
		world_fini(&world);
	}
}

static void test_reopen(void) {
	// by closing and coming back a name gains no token
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = add_rated(&world, 4 * TICK);
	for (int i = 0; i < 5; ++i) {
		arrive(&world, a, 1);
		check_string(ticks(&world, 2), i % 2 == 0 ? "A." : "..");
		if (a->backlog == 0) {
			struct fair_tag tag = fair_remove(&world.fair, a, world.now);
			fair_add(&world.fair, a, 1, 0, 0, &tag);
			set_rate(&world.fair, a, 4 * TICK, world.now);
		} else {
			fair_withdraw(&world.fair, a, 1, world.now);
		}
	}
	world_fini(&world);
}

static void test_change(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = add_rated(&world, 4 * TICK);
	arrive(&world, a, 100);
	check_string(ticks(&world, 5), "A...A");
	set_rate(&world.fair, a, 2 * TICK, world.now); // from the next start on
	check_string(ticks(&world, 8), "...A.A.A");
	fair_set(&world.fair, a, 2, /* priority */ 1, /* limit */ 0, a->interval, world.now);
	check_string(ticks(&world, 4), ".A.A");
	fair_pause(&world.fair, a, true, world.now);
	check_equal(fair_next_due(&world.fair), TIME_NEVER);
	check_string(ticks(&world, 3), "...");
	fair_pause(&world.fair, a, false, world.now);
	check_string(ticks(&world, 3), "A.A");
	set_rate(&world.fair, a, 0, world.now);
	check_string(ticks(&world, 3), "AAA");
	world_fini(&world);
}

// What each queue may do, from its fields alone, as of the last release.
static void check_places(const struct world *world) {
	uint64_t least = TIME_NEVER;
	bool eligible = false;
	for (int i = 0; i < world->n; ++i) {
		const struct fair_queue *queue = &world->queues[i];
		bool may = queue->backlog > 0 && !queue->paused && (queue->limit == 0 || queue->running < queue->limit);
		bool is_early = queue->interval > 0 && queue->due > world->now && queue->exempt == 0;
		check(queue->exempt <= queue->backlog);
		check_equal(queue->wants, may && !is_early);
		check_equal(queue->at_limit, queue->backlog > 0 && !queue->paused && !queue->wants);
		least = may && is_early && queue->due < least ? queue->due : least;
		eligible |= queue->wants;
	}
	check_equal(fair_is_eligible(&world->fair), eligible);
	check_equal(fair_next_due(&world->fair), least);
}

static void do_at_random(struct world *world, uint64_t last[MOST], uint64_t *seed) {
	struct fair_queue *queue = &world->queues[roll(seed) % (uint64_t)world->n];
	struct fair_queue *picked;
	switch (roll(seed) % 9) {
	case 0:
		arrive(world, queue, roll(seed) % 3);
		break;
	case 1:
		fair_withdraw(&world->fair, queue, queue->backlog / 2, world->now);
		break;
	case 2:
		fair_pause(&world->fair, queue, roll(seed) % 4 == 0, world->now);
		break;
	case 3:
		set_rate(&world->fair, queue, roll(seed) % 5 * TICK, world->now);
		last[queue - world->queues] = 0;
		break;
	case 4:
		if (queue->running > 0) {
			fair_done(&world->fair, queue, 0, world->now);
		}
		break;
	case 5:
		fair_set(&world->fair, queue, (uint32_t)(roll(seed) % 3 + 1), (int32_t)(roll(seed) % 2), (uint32_t)(roll(seed) % 3), queue->interval,
		         world->now);
		break;
	case 6:
		world->now += roll(seed) % 3 * TICK;
		fair_release(&world->fair, world->now);
		break;
	case 7:
		fair_arrive_exempt(&world->fair, queue, world->now);
		break;
	default:
		world->len = 0;
		picked = pick(world);
		if (picked && !picked->picks_exempt) {
			uint64_t *before = &last[picked - world->queues];
			check(*before == 0 || picked->interval == 0 || world->now >= *before + picked->interval);
			*before = world->now;
		}
		break;
	}
}

static void test_at_random(void) {
	for (uint64_t seed = 1; seed <= 200; ++seed) {
		struct world world;
		uint64_t last[MOST] = {0}, state = seed;
		world_init(&world, seed % 2 == 0);
		world.now = S;
		for (int i = 0; i < 6; ++i) {
			(void)world_add(&world, 1, 0, 0);
		}
		for (int i = 0; i < 500; ++i) {
			do_at_random(&world, last, &state);
			check_places(&world);
		}
		world_fini(&world);
	}
}

// ---- the pool ----

// A clock that the test moves. An interval of it is over at once by the real one, so that nobody waits in earnest.
static _Atomic uint64_t virtual_time = 1;

static uint64_t virtual_now(void *arg) {
	(void)arg;
	return atomic_load_relaxed(&virtual_time);
}

static const struct queue_attrs hourly = {.weight = 1, .start_interval = 3600 * NS_PER_S};

static void test_virtual_clock(void) {
	// no start is early, and each comes when its token does: on one slot, on several, on a dedicated thread
	for (unsigned variant = 0; variant < 3; ++variant) {
		memset(&seen, 0, sizeof(seen));
		memset(&config, 0, sizeof(config));
		config.now = virtual_now;
		open_pool(variant == 0 ? 1 : 4);
		struct queue_attrs attrs = {.weight = 1, .start_interval = 1000, .long_running = variant == 2};
		struct queue *a = open_queue("a", &attrs);
		for (int i = 0; i < 6; ++i) {
			submit_hold(a, variant == 0 ? i + 1 : 1);
		}
		pool_queue_close(pool, a);
		uint64_t begin = atomic_load_relaxed(&virtual_time);
		pool_start(pool);
		for (int i = 0; i < 6; ++i) {
			gate_wait(&gates[0], i + 1);
			if (variant == 0 || i == 3) { // of four slots the first four jobs have all
				gate_raise(&gates[1]);
			}
			atomic_add_relaxed(&virtual_time, 999);
			atomic_add_relaxed(&virtual_time, 1);
		}
		close_pool();
		check_equal(seen.n, 6);
		for (uint64_t i = 1; i <= 6; ++i) {
			check_equal(seen.times[i], begin + (i - 1) * 1000);
		}
	}
}

static void test_real_clock(void) {
	config.slots = 3;
	open_pool(3);
	struct queue_attrs attrs = {.weight = 1, .start_interval = 2 * NS_PER_MS};
	struct queue_attrs shorter = {.weight = 1, .start_interval = NS_PER_MS / 2};
	struct queue *a = open_queue("a", &attrs), *b = open_queue("b", &shorter), *c = open_queue("c", NULL);
	submit(a, &count_type, 10);
	submit(b, &count_type, 20);
	submit(c, &count_type, 50);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	pool_queue_close(pool, c);
	pool_start(pool);
	close_pool();
	uint64_t last[2] = {0};
	for (uint64_t i = 1; i <= seen.n; ++i) {
		char name = seen.trace[2 * (i - 1)];
		if (name != 'c') {
			check(seen.times[i] - last[name - 'a'] >= (name == 'a' ? attrs : shorter).start_interval);
			last[name - 'a'] = seen.times[i];
		}
	}
	check_seen(ran, 80);
}

static enum work_status not_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)worker, (void)queue, (void)data, (void)size;
	return WORK_NOT_RUN;
}

static const struct work_type not_run_type = {.run = not_run};

static void test_not_run(void) {
	open_pool(2);
	struct queue *a = open_queue("a", &hourly);
	submit(a, &not_run_type, 50);
	submit(a, &count_type, 1);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_seen(ran, 1);
}

static void test_no_token(void) {
	// items that need none run at once, in any number, also when none is left
	open_pool(2);
	struct queue *a = open_queue("a", &hourly);
	submit_hold(a, 1);
	submit_hold(a, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	long until = 1;
	struct work work = {.type = &hold_type, .data = &until, .size = sizeof(until), .flags = WORK_NO_TOKEN};
	struct work works[3] = {work, work, work};
	check_equal(pool_submit(pool, a, NULL, works, 3), SUBMIT_OK);
	gate_wait(&gates[0], 2);
	struct pool_stat stat;
	pool_stat(pool, &stat);
	check_equal(stat.queued, 3);
	gate_raise(&gates[1]);
	gate_wait(&gates[0], 4);
	// and are cancelled as others
	pool_pause(pool, true);
	check_equal(pool_submit(pool, a, NULL, works, 3), SUBMIT_OK);
	check_equal(pool_cancel(pool, a), 4);
	pool_queue_close(pool, a);
	close_pool();
	check_seen(ran, 4);
	check_seen(dropped, 4);
}

static void test_last_item(void) {
	open_pool(2);
	struct queue *a = open_queue("a", &hourly);
	struct work last = {.type = &count_type};
	submit(a, &count_type, 1);
	pool_queue_set_last_item(pool, a, &last);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_seen(ran, 2);
}

static void test_cancel(void) {
	open_pool(2);
	struct queue *a = open_queue("a", &hourly);
	submit(a, &count_type, 20);
	submit_hold(a, 1);
	pool_start(pool);
	while (pool_cancel(pool, a) == 0) { // the first may be on its way
	}
	pool_queue_close(pool, a);
	close_pool();
	check_equal(atomic_load_relaxed(&seen.ran) + atomic_load_relaxed(&seen.dropped), 21);
	check(atomic_load_relaxed(&seen.ran) <= 1);
}

static void test_timer_takes_work(void) {
	// who waits for a token does what else there is to do: no thread more than slots
	open_pool(2);
	struct queue *a = open_queue("a", &hourly), *b = open_queue("b", NULL);
	submit_hold(a, 1);
	submit_hold(a, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	submit_hold(b, 1);
	gate_wait(&gates[0], 2);
	gate_raise(&gates[1]);
	for (int i = 0; i < 100; ++i) {
		submit(b, &count_type, 2);
	}
	pool_queue_close(pool, b);
	struct pool_stat stat;
	pool_stat(pool, &stat);
	check(stat.threads <= 2);
	struct queue_attrs fast = {.weight = 1};
	queue_set(pool, a, &fast);
	pool_queue_close(pool, a);
	close_pool();
	check_seen(ran, 203);
}

static void test_shorter_wait(void) {
	// a token that comes sooner than the one that is waited for
	open_pool(2);
	struct queue_attrs attrs = {.weight = 1, .start_interval = NS_PER_MS};
	struct queue *a = open_queue("a", &hourly), *b = open_queue("b", &attrs);
	submit(a, &count_type, 2);
	submit(b, &count_type, 20);
	pool_queue_close(pool, b);
	pool_start(pool);
	while (atomic_load_relaxed(&seen.ran) < 21) {
		sched_yield();
	}
	check_equal(pool_cancel(pool, a), 1);
	pool_queue_close(pool, a);
	close_pool();
}

static void test_name_again(void) {
	// a batch that goes and comes back finds the token that it has not got yet
	config.now = virtual_now;
	open_pool(2);
	struct queue_attrs attrs = {.weight = 1, .start_interval = 1000};
	struct queue *keep = open_queue("k", NULL);
	pool_start(pool);
	for (int i = 0; i < 4; ++i) {
		struct queue *a = open_queue("a", &attrs);
		submit(a, &count_type, 1);
		pool_queue_close(pool, a);
		while (atomic_load_relaxed(&seen.ran) <= i) {
			atomic_add_relaxed(&virtual_time, 10);
			sched_yield();
		}
		while (atomic_load_relaxed(&seen.removed) < i * 41 + 1) {
			sched_yield();
		}
		for (int name = 0; name < 40; ++name) { // the table of names grows meanwhile
			char text[] = {'x', (char)('0' + i), (char)('0' + name), '\0'};
			pool_queue_close(pool, open_queue(text, NULL));
		}
	}
	pool_queue_close(pool, keep);
	close_pool();
	for (uint64_t i = 2; i <= 4; ++i) {
		check(seen.times[i] - seen.times[i - 1] >= 1000);
	}
}

// ---- slots ----

static _Atomic int nstarving;

static void on_starving(void *arg) {
	(void)arg;
	atomic_add_relaxed(&nstarving, 1);
}

static void test_starving(void) {
	// all slots are taken, and more can be had: the token that comes meanwhile is told
	config.hooks.starving = on_starving;
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .start_interval = NS_PER_MS};
	struct queue *a = open_queue("a", &attrs), *b = open_queue("b", NULL);
	submit(a, &count_type, 1);
	pool_start(pool);
	while (atomic_load_relaxed(&seen.ran) < 1) {
		sched_yield();
	}
	submit_hold(b, 1);
	gate_wait(&gates[0], 1);
	check_equal(pool_demand(pool, 10), 0);
	submit(a, &count_type, 5);
	while (atomic_load_relaxed(&nstarving) == 0) {
		sched_yield();
	}
	check_equal(pool_demand(pool, 10), 1); // one token, one slot
	pool_add_slots(pool, 1);
	while (atomic_load_relaxed(&seen.ran) < 6) {
		sched_yield();
	}
	gate_raise(&gates[1]);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	close_pool();
}

static void raise_starving(void *arg) {
	(void)arg;
	gate_raise(&gates[2]);
}

static void test_starving_later(void) {
	// the same if it is asked for only when all slots are taken, and nothing else happens in the pool
	config.hooks.starving = raise_starving;
	open_pool(2);
	struct queue_attrs attrs = {.weight = 1, .start_interval = NS_PER_MS};
	struct queue *a = open_queue("a", &attrs), *b = open_queue("b", NULL);
	submit_hold(b, 1);
	submit_hold(a, 1);
	submit_hold(a, 1);
	pool_start(pool);
	gate_wait(&gates[0], 2);
	if (pool_demand(pool, 10) == 0) { // else the token has come before this asked
		gate_wait(&gates[2], 1);
	}
	check_equal(pool_demand(pool, 10), 1);
	gate_raise(&gates[1]);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	close_pool();
}

static void test_demand_and_limit(void) {
	// items that no rate holds back are not asked slots for that the limit of their batch keeps free
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .start_interval = NS_PER_S, .max_parallel = 1};
	struct queue *a = open_queue("a", &attrs), *b = open_queue("b", NULL);
	submit_hold(b, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	struct work works[3] = {{.type = &count_type, .flags = WORK_NO_TOKEN}, {.type = &count_type, .flags = WORK_NO_TOKEN},
	                        {.type = &count_type, .flags = WORK_NO_TOKEN}};
	for (size_t i = 0; i < 3; ++i) {
		check_equal(pool_submit(pool, a, NULL, &works[i], 1), SUBMIT_OK);
	}
	check_equal(pool_demand(pool, 10), 1);
	attrs.max_parallel = 2;
	queue_set(pool, a, &attrs);
	check_equal(pool_demand(pool, 10), 2);
	gate_raise(&gates[1]);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	close_pool();
}

static void test_wide(void) {
	// one that waited for its slots has begun late: the next follows in an interval from then
	config.now = virtual_now;
	open_pool(3);
	struct queue_attrs attrs = {.weight = 1, .start_interval = 1000};
	struct queue *n = open_queue("n", NULL), *w = open_queue("w", &attrs);
	submit_hold(n, 1);
	submit_hold(n, 1);
	pool_start(pool);
	gate_wait(&gates[0], 2);
	uint64_t begin = atomic_load_relaxed(&virtual_time);
	long until = 2;
	for (int i = 0; i < 2; ++i) {
		struct work work = {.type = &hold_type, .data = &until, .size = sizeof(until), .width = i == 0 ? 2 : 1};
		check_equal(pool_submit(pool, w, NULL, &work, 1), SUBMIT_OK);
	}
	pool_queue_close(pool, n);
	pool_queue_close(pool, w);
	struct pool_stat stat;
	do {
		pool_stat(pool, &stat);
	} while (stat.queued != 2); // the wide one is counted as queued while it waits
	atomic_add_relaxed(&virtual_time, 5000);
	gate_raise(&gates[1]);
	gate_wait(&gates[0], 3);
	uint64_t began = atomic_load_relaxed(&virtual_time);
	check(began == begin + 5000);
	atomic_add_relaxed(&virtual_time, 1000);
	gate_wait(&gates[0], 4);
	gate_raise(&gates[1]);
	close_pool();
	check_equal(seen.times[3], began);
	check_equal(seen.times[4], began + 1000);
}

static long order[8];
static _Atomic int norder;

static enum work_status note_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	memcpy(&order[atomic_add_relaxed(&norder, 1)], data, size);
	return hold_run(worker, queue, data, size);
}

static const struct work_type note_type = {.run = note_run, .drop = count_drop};

static void test_brought_forward(void) {
	// who is brought forward waits for a token too, and has the next one
	config.now = virtual_now;
	open_pool(3);
	struct queue_attrs attrs = {.weight = 1, .start_interval = 1000};
	struct queue *a = open_queue("a", &attrs), *b = open_queue("b", NULL);
	for (long i = 1; i <= 3; ++i) {
		struct work work = {.type = &note_type, .data = &i, .size = sizeof(i), .id = (uint64_t)i};
		check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_OK);
	}
	uint64_t begin = atomic_load_relaxed(&virtual_time);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	check(pool_bring_forward(pool, a, 3));
	submit(b, &count_type, 5); // he keeps no slots from others meanwhile
	while (atomic_load_relaxed(&seen.ran) < 5) {
		sched_yield();
	}
	for (int i = 2; i <= 3; ++i) {
		atomic_add_relaxed(&virtual_time, 1000);
		gate_wait(&gates[0], i);
	}
	for (int i = 0; i < 3; ++i) {
		gate_raise(&gates[1]);
	}
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	close_pool();
	check(order[0] == 1 && order[1] == 3 && order[2] == 2);
	check(seen.times[7] == begin + 1000 && seen.times[8] == begin + 2000);
}

static void test_reservation_cancelled(void) {
	// one that is cancelled while it waits for its slots leaves its token to the next
	open_pool(2);
	struct queue *n = open_queue("n", NULL), *w = open_queue("w", &hourly);
	submit_hold(n, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	struct work work = {.type = &count_type, .id = 1, .width = 2};
	check_equal(pool_submit(pool, w, NULL, &work, 1), SUBMIT_OK);
	struct pool_stat stat;
	while (pool_queue_bytes(pool, w) > 0) {
		sched_yield();
	}
	pool_stat(pool, &stat);
	check_equal(stat.queued, 1);
	check_equal(pool_cancel(pool, w), 1);
	submit(w, &count_type, 1);
	while (atomic_load_relaxed(&seen.ran) < 1) {
		sched_yield();
	}
	gate_raise(&gates[1]);
	pool_queue_close(pool, n);
	pool_queue_close(pool, w);
	close_pool();
}

static void test_several_turns(void) {
	// one that stands for several takes one token
	open_pool(1);
	struct queue *a = open_queue("a", &hourly);
	struct work work = {.type = &count_type, .turns = 10};
	check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_OK);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_string(seen.trace, "aq");
}

static void test_pause(void) {
	open_pool(2);
	struct queue_attrs attrs = {.weight = 1, .start_interval = NS_PER_MS};
	struct queue *a = open_queue("a", &attrs);
	submit(a, &count_type, 10);
	pool_queue_close(pool, a);
	pool_start(pool);
	for (int i = 0; i < 100; ++i) {
		pool_pause(pool, i % 2 == 0);
		sched_yield();
	}
	close_pool();
	check_seen(ran, 10);
}

static struct queue_view views[2];
static int nviews;

static void keep_view(void *arg, const struct queue_view *view) {
	(void)arg;
	views[nviews++ % 2] = *view;
}

static void test_view(void) {
	config.now = virtual_now;
	open_pool(2);
	struct queue_attrs attrs = {.weight = 1, .start_interval = 3600 * NS_PER_S};
	struct queue *a = open_queue("a", &attrs);
	submit_hold(a, 1);
	submit_hold(a, 1);
	pool_start(pool);
	gate_wait(&gates[0], 1);
	atomic_add_relaxed(&virtual_time, 600 * NS_PER_S);
	pool_each_queue(pool, keep_view, NULL);
	check_equal(nviews, 1);
	check_equal(views[0].wait, QUEUE_RATE);
	check_equal(views[0].queued, 1);
	check_equal(views[0].interval, 3600 * NS_PER_S);
	check_equal(views[0].wait_ns, 3000 * NS_PER_S);
	gate_raise(&gates[1]);
	check_equal(pool_cancel(pool, a), 1);
	pool_queue_close(pool, a);
	close_pool();
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a rate spaces the starts of its batch evenly", test_even),
		TEST("an idle batch saves no tokens up", test_no_burst_after_idleness),
		TEST("the others have the turns between", test_others_have_the_turns),
		TEST("each batch has a bucket of its own, and each priority the slots that are left", test_two_rates),
		TEST("a batch at its limit waits for an end, not for a token", test_limit_and_rate),
		TEST("a token that is given back is there at once", test_give_back),
		TEST("what is exempt from the rate is picked meanwhile, and has no token of the others", test_exempt),
		TEST("a name that is opened again gains no token", test_reopen),
		TEST("a rate can change", test_change),
		TEST("who waits for a token is known in every state", test_at_random),
		TEST("in the pool each start comes when its token does, and none before", test_virtual_clock),
		TEST("several rates beside a batch without one", test_real_clock),
		TEST("an item that needed no slot gives its token back", test_not_run),
		TEST("items that need no token run at once, and can be cancelled", test_no_token),
		TEST("the last item of a queue waits for no token", test_last_item),
		TEST("what waits for a token can be cancelled", test_cancel),
		TEST("who waits for a token takes other work, so no thread is started for it", test_timer_takes_work),
		TEST("a token that comes sooner than the one waited for is not missed", test_shorter_wait),
		TEST("a queue that is removed and opened again finds its next token where it was", test_name_again),
		TEST("a token that comes while all slots are taken asks for more of them", test_starving),
		TEST("so it does if more are asked for only later", test_starving_later),
		TEST("no more slots are asked for than the limit of a batch with a rate allows", test_demand_and_limit),
		TEST("the rate of a wide item counts from its begin", test_wide),
		TEST("an item that is brought forward waits for the next token", test_brought_forward),
		TEST("a wide item that is cancelled gives its token back", test_reservation_cancelled),
		TEST("an item that stands for several takes one token", test_several_turns),
		TEST("a pause loses no token", test_pause),
		TEST("a view tells how long the next token takes", test_view),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
