// Tests of the fair choice (engine/fair.h): golden traces, metamorphic tests, bounds, and a simulator with virtual time.
// The search of small worlds and the naive reference are in worlds.c.

#include "engine/fair.h"

#include "test.h"
#include "world.h"

// ---- golden traces ----

static void test_turns(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0), *c = world_add(&world, 1, 0, 0);
	arrive(&world, a, 4);
	arrive(&world, b, 2);
	arrive(&world, c, 3);
	check_string(serve(&world, 20), "ABCABCACA");
	check(!fair_pick(&world.fair, 0));
	world_fini(&world);
}

static void test_late(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0);
	arrive(&world, a, 100);
	check_string(serve(&world, 5), "AAAAA");
	arrive(&world, b, 100);
	check_string(serve(&world, 10), "BABABABABA");
	// and again, after b was away: neither credit nor debt
	fair_withdraw(&world.fair, b, b->backlog, 0);
	check_string(serve(&world, 5), "AAAAA");
	arrive(&world, b, 3);
	check_string(serve(&world, 7), "BABABAA");
	world_fini(&world);
}

static void test_late_while_running(void) {
	// the order does not depend on whether the last item has ended: A has nothing waiting when B arrives
	for (int ended = 0; ended < 2; ++ended) {
		struct world world;
		world_init(&world, false);
		struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0);
		arrive(&world, a, 5);
		check_string(serve(&world, 4), "AAAA");
		check(pick(&world) == a);
		if (ended) {
			fair_done(&world.fair, a, 0);
		}
		arrive(&world, b, 3);
		arrive(&world, a, 3);
		check_string(serve(&world, 6), "BABABA");
		world_fini(&world);
	}
}

static void test_weights(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 3, 0, 0), *b = world_add(&world, 1, 0, 0);
	arrive(&world, a, 1000);
	arrive(&world, b, 1000);
	for (int round = 0; round < 50; ++round) {
		const char *trace = serve(&world, 12);
		int as = 0;
		for (int i = 0; i < 12; ++i) {
			as += trace[i] == 'A';
		}
		check_equal(as, 9);
	}
	world_fini(&world);
}

static void test_weights_exact(void) {
	// all pairs of weights up to 16, and some that do not divide the unit: exact in each round of w1 + w2
	for (uint32_t x = 1; x <= 20; ++x) {
		for (uint32_t y = 1; y <= 20; ++y) {
			struct world world;
			world_init(&world, false);
			struct fair_queue *a = world_add(&world, x, 0, 0), *b = world_add(&world, y, 0, 0);
			arrive(&world, a, 100000);
			arrive(&world, b, 100000);
			for (int round = 1; round <= 20; ++round) {
				serve(&world, (int)(x + y));
				check_equal(100000 - a->backlog, (uint64_t)round * x);
				check_equal(100000 - b->backlog, (uint64_t)round * y);
			}
			world_fini(&world);
		}
	}
}

static void test_priorities(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 1, 0), *b = world_add(&world, 1, -1, 0), *c = world_add(&world, 1, 0, 0);
	arrive(&world, a, 1000);
	arrive(&world, b, 1000);
	arrive(&world, c, 1000);
	for (int round = 0; round < 10; ++round) {
		check_string(serve(&world, 16), "AAAAAAAAAAAAAAAB"); // the lowest moves, each 16th pick
	}
	fair_withdraw(&world.fair, a, a->backlog, 0);
	check_string(serve(&world, 16), "CCCCCCCCCCCCCCCB");
	world_fini(&world);
}

static void test_limit(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 0, 1), *b = world_add(&world, 1, 0, 0);
	arrive(&world, a, 10);
	arrive(&world, b, 10);
	check(pick(&world) == a);
	check(pick(&world) == b);
	check(pick(&world) == b); // a is at its limit
	check(pick(&world) == b);
	fair_done(&world.fair, a, 0);
	check(pick(&world) == a); // at once, but without credit for its absence
	fair_done(&world.fair, a, 0);
	check(pick(&world) == b);
	world_fini(&world);
}

static void test_limited_holds_nobody_back(void) {
	// a batch at its limit has a low virtual time; who arrives must not be placed there, ahead of those that wait
	for (int time = 0; time < 2; ++time) {
		struct world world;
		world_init(&world, time);
		struct fair_queue *a = world_add(&world, 1, 0, 1), *b = world_add(&world, 1, 0, 0), *c = world_add(&world, 1, 0, 0);
		arrive(&world, a, 10);
		arrive(&world, b, 1000);
		check(pick(&world) == a); // runs for long
		for (int i = 0; i < 100; ++i) {
			check(pick(&world) == b);
			world.now += S;
			fair_done(&world.fair, b, world.now);
			check(pick(&world) == b);
			fair_done(&world.fair, b, world.now);
		}
		arrive(&world, c, 1000);
		int bs = 0;
		for (int i = 0; i < 40; ++i) {
			struct fair_queue *queue = pick(&world);
			bs += queue == b;
			world.now += S;
			fair_done(&world.fair, queue, world.now);
		}
		check(bs >= 19 && bs <= 21);
		world_fini(&world);
	}
}

static void test_reopen(void) {
	// by closing and coming back a name gains nothing
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0);
	arrive(&world, a, 1000);
	int bs = 0;
	for (int i = 0; i < 100; ++i) {
		arrive(&world, b, 1);
		struct fair_queue *queue = pick(&world);
		fair_done(&world.fair, queue, 0);
		bs += queue == b;
		if (b->backlog == 0) {
			struct fair_tag tag = fair_remove(&world.fair, b, 0);
			fair_add(&world.fair, b, 1, 0, 0, &tag);
		}
	}
	check_equal(bs, 50);
	world_fini(&world);
}

static void test_give_back(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 3, 0, 0), *b = world_add(&world, 7, 0, 0);
	arrive(&world, a, 1000);
	arrive(&world, b, 1000);
	uint64_t was = a->virt;
	for (int i = 0; i < 30;) {
		struct fair_queue *queue = pick(&world);
		if (queue == a && a->running == 1 && i % 2) {
			fair_give_back(&world.fair, a, 0, 0);
		} else {
			fair_done(&world.fair, queue, 0);
		}
		i++;
	}
	// what it was charged is what it really had
	check(a->virt >= was);
	uint64_t before = a->virt;
	uint32_t rem = a->rem;
	do {
		struct fair_queue *queue = pick(&world);
		if (queue == a) {
			fair_give_back(&world.fair, a, 0, 0);
			check_equal(a->virt, before);
			check_equal(a->rem, rem);
			break;
		}
		fair_done(&world.fair, queue, 0);
	} while (true);
	world_fini(&world);
}

// One slot or several: picks `n` times; the items of a take `width` slots. Each ends before the next pick.
static const char *serve_wide(struct world *world, int n, uint32_t width) {
	world->len = 0;
	for (int i = 0; i < n; ++i) {
		struct fair_queue *queue = pick(world);
		if (queue == &world->queues[0]) {
			fair_widen(&world->fair, queue, width - 1, world->now);
			fair_narrow(&world->fair, queue, width - 1, world->now);
		}
		fair_done(&world->fair, queue, world->now);
	}
	return world->trace;
}

static void test_wide_turns(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0), *c = world_add(&world, 2, 0, 0);
	arrive(&world, a, 100);
	arrive(&world, b, 100);
	check_string(serve_wide(&world, 12, 3), "ABBBABBBABBB");
	check_string(serve_wide(&world, 12, 1), "ABABABABABAB");
	fair_withdraw(&world.fair, b, b->backlog, 0);
	check_string(serve_wide(&world, 3, 2), "AAA"); // alone: no debt
	arrive(&world, b, 100);
	check_string(serve_wide(&world, 9, 2), "BABABBABB");
	arrive(&world, c, 100);
	fair_withdraw(&world.fair, b, b->backlog, 0);
	int as = 0;
	for (const char *at = serve_wide(&world, 100, 2); *at; ++at) {
		as += *at == 'A';
	}
	check_equal(as, 20); // 1 turn of 5: each A costs 2, and C has weight 2
	world_fini(&world);
}

static void test_wide_give_back(void) {
	for (int time = 0; time < 2; ++time) {
		struct world world;
		world_init(&world, time);
		struct fair_queue *a = world_add(&world, 7, 0, 0);
		arrive(&world, a, 100);
		uint64_t virt = a->virt;
		uint32_t rem = a->rem;
		for (int i = 0; i < 10; ++i) {
			uint64_t start = world.now;
			check(pick(&world) == a);
			world.now += 3; // it waits for its slots
			uint64_t wide = world.now;
			fair_widen(&world.fair, a, 4, world.now);
			world.now += S;
			check_equal(a->extra, 4);
			fair_widen_back(&world.fair, a, 4, wide, world.now);
			fair_give_back(&world.fair, a, start, world.now);
			check_equal(a->virt, virt);
			check_equal(a->rem, rem);
			check_equal(a->extra, 0);
		}
		world_fini(&world);
	}
}

static void test_pause_and_block(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0);
	arrive(&world, a, 100);
	arrive(&world, b, 100);
	fair_pause(&world.fair, a, true, 0);
	check_string(serve(&world, 6), "BBBBBB");
	fair_pause(&world.fair, a, false, 0);
	check_string(serve(&world, 4), "ABAB"); // no credit
	fair_block(&world.fair, a, true, 0);
	check_string(serve(&world, 3), "BBB");
	fair_block(&world.fair, a, false, 0);
	check_string(serve(&world, 6), "AAABAB"); // it was the engine's doing: it gets what it has missed
	world_fini(&world);
}

static void test_burst_spreads(void) {
	// under time nothing is charged at first: the slots are dealt round robin, by weight
	struct world world;
	world_init(&world, true);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 2, 0, 0), *c = world_add(&world, 1, 0, 0);
	arrive(&world, a, 100);
	arrive(&world, b, 100);
	arrive(&world, c, 100);
	for (int i = 0; i < 8; ++i) {
		check(pick(&world));
	}
	check_equal(a->running, 2);
	check_equal(b->running, 4);
	check_equal(c->running, 2);
	world_fini(&world);
}

static void test_set(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 5, 0);
	arrive(&world, a, 100);
	arrive(&world, b, 100);
	check_string(serve(&world, 3), "BBB");
	fair_set(&world.fair, b, 1, 0, 0, 0);
	check_string(serve(&world, 4), "ABAB");
	fair_set(&world.fair, a, 3, 0, 0, 0);
	const char *trace = serve(&world, 40);
	int as = 0;
	for (int i = 0; i < 40; ++i) {
		as += trace[i] == 'A';
	}
	check_equal(as, 30);
	fair_set(&world.fair, a, 3, 0, 1, 0); // a limit while nothing runs
	check(pick(&world));
	world_fini(&world);
}

static void test_many(void) {
	// linear work per pick would take hours here
	enum { N = 200000 };
	struct fair fair;
	for (int time = 0; time < 2; ++time) {
		struct fair_queue *queues = calloc(N, sizeof(queues[0]));
		check(queues);
		fair_init(&fair, time, false);
		for (int i = 0; i < N; ++i) {
			fair_add(&fair, &queues[i], 1 + (uint32_t)i % 5, 0, 0, NULL);
			fair_arrive(&fair, &queues[i], 3, 0);
		}
		uint64_t now = 0;
		for (int i = 0; i < 3 * N; ++i) {
			struct fair_queue *queue = fair_pick(&fair, now);
			check(queue);
			now += 1000;
			fair_done(&fair, queue, now);
		}
		check(!fair_pick(&fair, now));
		for (int i = 0; i < N; ++i) {
			fair_remove(&fair, &queues[i], now);
		}
		fair_fini(&fair);
		free(queues);
	}
}

// ---- metamorphic tests ----

struct script_step { uint8_t op, queue, n; };

// Plays a script of arrivals, picks and ends; `extra` idle queues lie between the others, `split` submits one by one,
// and with `closing` the idle queues are removed on the way. Returns the trace of the others.
static const char *play(struct world *world, const struct script_step *steps, int n, int extra, bool split, bool closing) {
	static const uint32_t weights[] = {1, 2, 1, 3};
	struct fair_queue *of[4], *idle[8];
	int nidle = 0;
	world_init(world, false);
	for (int i = 0; i < 4; ++i) {
		for (int j = 0; j < extra; ++j) {
			idle[nidle++] = world_add(world, 1, 0, 0);
		}
		of[i] = world_add(world, weights[i], 0, i == 2 ? 1 : 0);
	}
	for (int i = 0; i < n; ++i) {
		const struct script_step *step = &steps[i];
		struct fair_queue *queue = of[step->queue];
		if (step->op == 0) {
			for (int j = 0; j < (split ? step->n : 1); ++j) {
				arrive(world, queue, split ? 1 : step->n);
			}
		} else if (step->op == 1) {
			queue = fair_pick(&world->fair, 0);
			for (int j = 0; queue && j < 4; ++j) {
				if (queue == of[j]) {
					world->trace[world->len++] = (char)('A' + j);
				}
			}
		} else if (queue->running > 0) {
			fair_done(&world->fair, queue, 0);
		}
		if (closing && nidle > 0 && i % 50 == 49) {
			fair_remove(&world->fair, idle[--nidle], 0);
		}
	}
	world->trace[world->len] = '\0';
	return world->trace;
}

static void test_metamorphic(void) {
	uint64_t dice = 7;
	for (int round = 0; round < 300; ++round) {
		struct script_step steps[400];
		for (int i = 0; i < 400; ++i) {
			steps[i] = (struct script_step){(uint8_t)(roll(&dice) % 3), (uint8_t)(roll(&dice) % 4), (uint8_t)(1 + roll(&dice) % 5)};
		}
		struct world plain, other;
		play(&plain, steps, 400, 0, false, false);
		check_string(play(&other, steps, 400, 2, false, false), plain.trace); // idle batches
		world_fini(&other);
		check_string(play(&other, steps, 400, 2, false, true), plain.trace);  // closing empty ones
		world_fini(&other);
		check_string(play(&other, steps, 400, 0, true, false), plain.trace);  // many small submissions
		world_fini(&other);
		world_fini(&plain);
	}
}

// ---- bounds ----

static void test_bounds(void) {
	uint64_t dice = 3;
	for (int round = 0; round < 600; ++round) {
		enum { N = 4, STEPS = 300 };
		struct world world;
		world_init(&world, false);
		double w[N];
		for (int i = 0; i < N; ++i) {
			w[i] = 1 + (double)(roll(&dice) % 5);
			world_add(&world, (uint32_t)w[i], 0, 0);
		}
		int had[N] = {0}, waits[N] = {0};
		// least and greatest of S_i/w_i - S_j/w_j since both have work
		double low[N][N], high[N][N];
		bool both[N][N] = {{false}};
		for (int step = 0; step < STEPS; ++step) {
			int late = (int)(roll(&dice) % N);
			if (roll(&dice) % 4 == 0) {
				bool fresh = world.queues[late].backlog == 0;
				arrive(&world, &world.queues[late], 1 + roll(&dice) % 20);
				waits[late] = fresh ? 0 : waits[late];
			}
			struct fair_queue *queue = pick(&world);
			if (!queue) {
				continue;
			}
			int got = (int)(queue - world.queues);
			fair_done(&world.fair, queue, 0);
			++had[got];
			for (int i = 0; i < N; ++i) {
				double bound = 1;
				for (int j = 0; j < N; ++j) {
					bound += j == i ? 0 : (double)(int)(w[j] / w[i] + 0.999);
				}
				waits[i] = i == got || world.queues[i].backlog == 0 ? 0 : waits[i] + 1;
				check(waits[i] <= bound); // nobody starves, and who is late is served within a round
			}
			for (int i = 0; i < N; ++i) {
				for (int j = 0; j < N; ++j) {
					double gap = had[i] / w[i] - had[j] / w[j];
					// both had work before this pick, and have it now
					bool now = world.queues[i].backlog > 0 && world.queues[j].backlog > 0;
					if (!now) {
						both[i][j] = false;
						continue;
					}
					if (!both[i][j]) {
						both[i][j] = true;
						low[i][j] = high[i][j] = gap;
					}
					low[i][j] = gap < low[i][j] ? gap : low[i][j];
					high[i][j] = gap > high[i][j] ? gap : high[i][j];
					check(high[i][j] - low[i][j] <= 1 / w[i] + 1 / w[j] + 1e-9);
				}
			}
		}
		world_fini(&world);
	}
}

static void test_jain_and_lag(void) {
	uint64_t dice = 11;
	for (int round = 0; round < 100; ++round) {
		struct world world;
		world_init(&world, round % 2);
		world.fair.track_lag = true;
		int n = 2 + (int)(roll(&dice) % 8);
		for (int i = 0; i < n; ++i) {
			arrive(&world, world_add(&world, 1 + (uint32_t)(roll(&dice) % 8), 0, 0), 1000000);
		}
		double had[MOST] = {0};
		for (int step = 0; step < 20 * n * 8; ++step) {
			double sum = 0, size = 0;
			for (int i = 0; i < n; ++i) {
				double lag = fair_lag(&world.fair, &world.queues[i], world.now);
				sum += lag;
				size += lag < 0 ? -lag : lag;
			}
			check(sum < 1e-6 * (1 + size) && sum > -1e-6 * (1 + size)); // lag only moves between queues
			struct fair_queue *queue = fair_pick(&world.fair, world.now);
			world.now += 1000;
			had[queue - world.queues] += 1.0 / queue->weight;
			fair_done(&world.fair, queue, world.now);
		}
		double sum = 0, squares = 0;
		for (int i = 0; i < n; ++i) {
			sum += had[i];
			squares += had[i] * had[i];
		}
		check(sum * sum / (n * squares) >= 0.99);
		world_fini(&world);
	}
}

// ---- simulator ----

struct sim_item { struct fair_queue *queue; uint64_t end; };

// Two batches with endless backlog on `slots`, items of the given lengths; the slot-time of the first, of all.
static double simulate(bool time, int slots, uint64_t length_a, uint64_t length_b, uint64_t horizon) {
	struct world world;
	world_init(&world, time);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0);
	arrive(&world, a, UINT32_MAX);
	arrive(&world, b, UINT32_MAX);
	struct sim_item running[16];
	double time_a = 0, all = 0;
	int n = 0;
	while (world.now < horizon) {
		while (n < slots) {
			struct fair_queue *queue = fair_pick(&world.fair, world.now);
			running[n++] = (struct sim_item){queue, world.now + (queue == a ? length_a : length_b)};
		}
		int first = 0;
		for (int i = 1; i < n; ++i) {
			first = running[i].end < running[first].end ? i : first;
		}
		double past = (double)(running[first].end - world.now);
		time_a += past * a->running;
		all += past * (a->running + b->running);
		world.now = running[first].end;
		fair_done(&world.fair, running[first].queue, world.now);
		running[first] = running[--n];
	}
	world_fini(&world);
	return time_a / all;
}

static void test_time_shares(void) {
	static const int slots[] = {1, 4, 8};
	for (int i = 0; i < 3; ++i) {
		double share = simulate(true, slots[i], 10 * S, S / 10, 20000 * S);
		printf("# %d slots: 10 s jobs get %.4f of the slot-time under time\n", slots[i], share);
		check(share > 0.49 && share < 0.51);
		share = simulate(false, slots[i], 10 * S, S / 10, 20000 * S);
		printf("# %d slots: 10 s jobs get %.4f of the slot-time under turns\n", slots[i], share);
		check(share > 0.98);
	}
}

struct sim_wide { struct fair_queue *queue; uint64_t picked, start, end; uint32_t width; };

// As simulate(), but a's items take `width` slots: one that is picked and finds too few free waits for them, and nobody
// else is picked meanwhile. Counts the starts; returns a's share of the slot-time, in which one slot counts as a's while
// it waits.
static double simulate_wide(bool time, uint32_t slots, uint32_t width, uint64_t length_a, uint64_t length_b, int starts[2]) {
	struct world world;
	world_init(&world, time);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0), *held = NULL;
	arrive(&world, a, UINT32_MAX);
	arrive(&world, b, UINT32_MAX);
	struct sim_wide running[16];
	double time_a = 0, all = 0;
	uint32_t taken = 0;
	uint64_t picked = 0;
	int n = 0;
	starts[0] = starts[1] = 0;
	while (world.now < 10000 * S) {
		while (taken < slots) {
			struct fair_queue *queue = held ? held : fair_pick(&world.fair, world.now);
			uint32_t wants = queue == a ? width : 1;
			picked = held ? picked : world.now;
			if (!time && queue == a && !held) {
				fair_widen(&world.fair, a, width - 1, world.now);
			}
			held = taken + wants > slots ? queue : NULL;
			if (held) {
				break;
			}
			if (time && queue == a) {
				fair_widen(&world.fair, a, width - 1, world.now);
			}
			running[n++] = (struct sim_wide){queue, picked, world.now, world.now + (queue == a ? length_a : length_b), wants};
			taken += wants;
			++starts[queue == b];
		}
		int first = 0;
		for (int i = 1; i < n; ++i) {
			first = running[i].end < running[first].end ? i : first;
		}
		struct sim_wide item = running[first];
		running[first] = running[--n];
		world.now = item.end;
		double slot_time = (double)(item.end - item.start) * item.width + (double)(item.start - item.picked);
		time_a += item.queue == a ? slot_time : 0;
		all += slot_time;
		taken -= item.width;
		fair_narrow(&world.fair, item.queue, item.width - 1, world.now);
		fair_done(&world.fair, item.queue, world.now);
	}
	world_fini(&world);
	return time_a / all;
}

static void test_wide_shares(void) {
	static const struct { uint32_t slots, width; } sizes[] = {{2, 2}, {4, 2}, {8, 2}, {8, 3}, {8, 8}};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
		uint32_t slots = sizes[i].slots, width = sizes[i].width;
		int starts[2];
		double share = simulate_wide(false, slots, width, S, S, starts);
		printf("# %u of %u slots: %d starts beside %d by turns", width, slots, starts[0], starts[1]);
		int ahead = starts[0] * (int)width - starts[1];
		check(ahead <= 2 * (int)slots && ahead >= -2 * (int)slots);
		share = simulate_wide(true, slots, width, S, S, starts);
		printf(", %d beside %d by time", starts[0], starts[1]);
		check(share > 0.49 && share < 0.51);
		share = simulate_wide(true, slots, width, 10 * S, S / 10, starts);
		printf("; 10 s jobs beside 0.1 s jobs: %.4f of the slot-time\n", share);
		check(share > 0.49 && share < 0.51);
	}
}

static void test_time_late(void) {
	// 1 h jobs on 8 slots; who arrives after 30 min is owed from then on, not from the last pick
	struct world world;
	world_init(&world, true);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0);
	arrive(&world, a, 100);
	for (int i = 0; i < 8; ++i) {
		check(pick(&world) == a);
	}
	world.now = 1800 * S;
	arrive(&world, b, 100);
	check(fair_virt(&world.fair, b, world.now) == 8 * 1800.0);
	world.now = 3600 * S;
	for (int i = 0; i < 8; ++i) {
		fair_done(&world.fair, a, world.now);
	}
	for (int i = 0; i < 8; ++i) {
		check(pick(&world) == b); // half an hour of 8 slots is owed to it
	}
	world.now += 1800 * S;
	for (int i = 0; i < 8; ++i) {
		fair_done(&world.fair, b, world.now);
	}
	int as = 0;
	for (int i = 0; i < 8; ++i) {
		as += pick(&world) == a;
	}
	check_equal(as, 4); // and no more
	world_fini(&world);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("batches take strict turns", test_turns),
		TEST("a late batch has its turn at once, without credit or debt", test_late),
		TEST("under turns no order depends on when an item ends", test_late_while_running),
		TEST("weights 3:1 give 9 and 3 in each 12", test_weights),
		TEST("weights are exact in each round", test_weights_exact),
		TEST("the highest priority goes first, the lowest each 16th pick", test_priorities),
		TEST("no more than max_parallel run", test_limit),
		TEST("a batch at its limit gives no head start to those who arrive", test_limited_holds_nobody_back),
		TEST("a name that is opened again gains nothing", test_reopen),
		TEST("a turn that is given back was not charged", test_give_back),
		TEST("an item that takes several slots costs as many turns", test_wide_turns),
		TEST("and gives all of them back", test_wide_give_back),
		TEST("a pause earns no credit, a block loses no turn", test_pause_and_block),
		TEST("under time a burst is dealt by weight", test_burst_spreads),
		TEST("weight, priority and limit can change", test_set),
		TEST("200,000 batches with work cost no more per pick than few", test_many),
		TEST("idle batches, closing and splitting do not change the trace of the others", test_metamorphic),
		TEST("the gap between two batches stays within 1/w + 1/w, and nobody starves", test_bounds),
		TEST("Jain's index is above 0.99 and the lags sum up to nothing", test_jain_and_lag),
		TEST("10 s jobs beside 0.1 s jobs have half of the slot-time under time", test_time_shares),
		TEST("a wide batch beside a narrow one has half of the slots", test_wide_shares),
		TEST("under time a batch is owed from its arrival on", test_time_late),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
