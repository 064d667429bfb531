// Tests of the fair choice (engine/fair.h): golden traces, metamorphic tests, bounds, and a simulator with virtual time.
// The search of small worlds and the naive reference are in fair_worlds.c.

#include "engine/fair.h"

#include "test.h"
#include "fair_world.h"

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
			fair_done(&world.fair, a, 0, 0);
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
	for (int round = 0; round < 10; ++round) { // each 16th pick is of a lower priority, of one after the other
		check_string(serve(&world, 32), "AAAAAAAAAAAAAAACAAAAAAAAAAAAAAAB");
	}
	fair_withdraw(&world.fair, a, a->backlog, 0);
	check_string(serve(&world, 16), "CCCCCCCCCCCCCCCB");
	fair_withdraw(&world.fair, b, b->backlog, 0);
	check_string(serve(&world, 20), "CCCCCCCCCCCCCCCCCCCC"); // nobody saves turns for a priority that wants none
	arrive(&world, b, 10);
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
	fair_done(&world.fair, a, 0, 0);
	check(pick(&world) == a); // at once, but without credit for its absence
	fair_done(&world.fair, a, 0, 0);
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
			fair_done(&world.fair, b, 0, world.now);
			check(pick(&world) == b);
			fair_done(&world.fair, b, 0, world.now);
		}
		arrive(&world, c, 1000);
		int bs = 0;
		for (int i = 0; i < 40; ++i) {
			struct fair_queue *queue = pick(&world);
			bs += queue == b;
			world.now += S;
			fair_done(&world.fair, queue, 0, world.now);
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
		fair_done(&world.fair, queue, 0, 0);
		bs += queue == b;
		if (b->backlog == 0) {
			struct fair_tag tag = fair_remove(&world.fair, b, 0);
			fair_add(&world.fair, b, 1, 0, 0, &tag);
		}
	}
	check_equal(bs, 50);
	world_fini(&world);
}

static void test_place_is_kept(void) {
	// who goes while it is ahead is found there again, until it has been passed
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0);
	arrive(&world, a, 100);
	arrive(&world, b, 1);
	check_string(serve(&world, 1), "A");
	check(pick(&world) == b);
	fair_charge(&world.fair, b, 4, 4, 0);
	fair_done(&world.fair, b, 4, 0);
	struct fair_tag tag = fair_remove(&world.fair, b, 0);
	for (int i = 0; i < 2; ++i) {
		check(!fair_has_passed(&world.fair, tag));
		check(pick(&world) == a);
	}
	fair_add(&world.fair, b, 1, 0, 0, &tag);
	arrive(&world, b, 1);
	check_string(serve(&world, 3), "AAB");
	tag = fair_remove(&world.fair, b, 0);
	serve(&world, 3);
	check(fair_has_passed(&world.fair, tag));
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
			fair_give_back(&world.fair, a, 1, 0, 0, 0);
		} else {
			fair_done(&world.fair, queue, 0, 0);
		}
		i++;
	}
	// what it was charged is what it really had
	check(a->virt >= was);
	uint64_t before = a->virt;
	uint64_t rem = a->rem;
	do {
		struct fair_queue *queue = pick(&world);
		if (queue == a) {
			fair_give_back(&world.fair, a, 1, 0, 0, 0);
			check_equal(a->virt, before);
			check_equal(a->rem, rem);
			break;
		}
		fair_done(&world.fair, queue, 0, 0);
	} while (true);
	world_fini(&world);
}

// One slot or several: picks `n` times; the items of a take `width` slots. Each ends before the next pick.
static const char *serve_wide(struct world *world, int n, uint32_t width) {
	world->len = 0;
	for (int i = 0; i < n; ++i) {
		struct fair_queue *queue = pick(world);
		uint32_t extra = queue == &world->queues[0] ? width - 1 : 0;
		fair_charge(&world->fair, queue, extra, extra, world->now);
		fair_done(&world->fair, queue, extra, world->now);
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
		uint64_t rem = a->rem;
		for (int i = 0; i < 10; ++i) {
			uint64_t start = world.now;
			check(pick(&world) == a);
			world.now += 3; // it waits for its slots
			uint64_t wide = world.now;
			fair_charge(&world.fair, a, 4, 4, world.now);
			world.now += S;
			check_equal(a->extra, 4);
			fair_give_back(&world.fair, a, 0, 4, wide, world.now);
			fair_give_back(&world.fair, a, 1, 0, start, world.now);
			check_equal(a->virt, virt);
			check_equal(a->rem, rem);
			check_equal(a->extra, 0);
		}
		world_fini(&world);
	}
}

// Two queues share one slot under time. Each item of A is seen to take `a_seen` and has taken `a_took`; each of B takes 2. By what they took their
// shares are equal.
static void share_corrected(int64_t a_seen, int64_t a_took) {
	struct world world;
	world_init(&world, true);
	world.fair.slots = 1;
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0);
	arrive(&world, a, 1000);
	arrive(&world, b, 1000);
	int64_t took[2] = {0};
	uint64_t now = 0;
	for (int i = 0; i < 300; ++i) {
		struct fair_queue *queue = fair_pick(&world.fair, now);
		now += queue == a ? (uint64_t)a_seen : 2;
		if (queue == a) {
			fair_correct(&world.fair, a, 1, a_took - a_seen, now);
		}
		took[queue == b] += queue == a ? a_took : 2;
		fair_done(&world.fair, queue, 0, now);
		check(llabs(took[0] - took[1]) <= 2 * (a_took + 2));
	}
	world_fini(&world);
}

static void test_correct(void) {
	share_corrected(10, 10);
	share_corrected(10, 3);
	share_corrected(3, 10);
	share_corrected(10, 1);
}

static void test_pause(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 0);
	arrive(&world, a, 100);
	arrive(&world, b, 100);
	fair_pause(&world.fair, a, true, 0);
	check_string(serve(&world, 6), "BBBBBB");
	fair_pause(&world.fair, a, false, 0);
	check_string(serve(&world, 4), "ABAB"); // no credit
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
	fair_set(&world.fair, b, 1, 0, 0, 0, 0);
	check_string(serve(&world, 4), "ABAB");
	fair_set(&world.fair, a, 3, 0, 0, 0, 0);
	const char *trace = serve(&world, 40);
	int as = 0;
	for (int i = 0; i < 40; ++i) {
		as += trace[i] == 'A';
	}
	check_equal(as, 30);
	fair_set(&world.fair, a, 3, 0, 1, 0, 0); // a limit while nothing runs
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
		fair_init(&fair, time);
		for (int i = 0; i < N; ++i) {
			fair_add(&fair, &queues[i], 1 + (uint32_t)i % 5, 0, 0, NULL);
			fair_arrive(&fair, &queues[i], 3, 0);
		}
		uint64_t now = 0;
		for (int i = 0; i < 3 * N; ++i) {
			struct fair_queue *queue = fair_pick(&fair, now);
			check(queue);
			now += 1000;
			fair_done(&fair, queue, 0, now);
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
			fair_done(&world->fair, queue, 0, 0);
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
			fair_done(&world.fair, queue, 0, 0);
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

static void test_late_bound(void) {
	// random arrivals of old and new names, some with limits, on 1 to 4 slots: who begins to want is served after at most
	// w turns of each other, and the one that a limited batch was owed
	enum { NAMES = 12 };
	uint64_t dice = 5;
	for (int round = 0; round < 1500; ++round) {
		struct world world;
		world_init(&world, false);
		struct fair_queue *queues = world.queues, *running[4] = {0};
		uint32_t passed[NAMES][NAMES] = {{0}}, slots = 1u << roll(&dice) % 3;
		bool late[NAMES] = {0}, wanted[NAMES] = {0};
		for (int i = 0; i < NAMES; ++i) {
			world_add(&world, round % 2 ? 1 : 1 + (uint32_t)(roll(&dice) % 8), 0, roll(&dice) % 4 ? 0 : 1);
		}
		arrive(&world, &queues[0], 1000000);
		for (int step = 0; step < 400; ++step) {
			for (uint64_t n = roll(&dice) % (step % 50 ? 3 : 8); n > 0; --n) {
				arrive(&world, &queues[roll(&dice) % NAMES], 1 + roll(&dice) % 4);
			}
			struct fair_queue **slot = &running[roll(&dice) % slots], *got;
			if (*slot) {
				fair_done(&world.fair, *slot, 0, 0);
			}
			for (int i = 0; i < NAMES; ++i) {
				bool begins = queues[i].wants && !wanted[i];
				late[i] = begins || (late[i] && queues[i].wants);
				if (begins) {
					memset(passed[i], 0, sizeof(passed[i]));
				}
			}
			*slot = got = fair_pick(&world.fair, 0);
			for (int i = 0; i < NAMES; ++i) {
				late[i] &= &queues[i] != got;
				if (got && late[i]) {
					check(++passed[i][got - queues] <= got->weight + (got->limit > 0));
				}
				wanted[i] = queues[i].wants;
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
			fair_done(&world.fair, queue, 0, world.now);
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
		fair_done(&world.fair, running[first].queue, 0, world.now);
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
				fair_charge(&world.fair, a, width - 1, width - 1, world.now);
			}
			held = taken + wants > slots ? queue : NULL;
			if (held) {
				break;
			}
			if (time && queue == a) {
				fair_charge(&world.fair, a, width - 1, width - 1, world.now);
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
		fair_done(&world.fair, item.queue, item.width - 1, world.now);
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
		fair_done(&world.fair, a, 0, world.now);
	}
	for (int i = 0; i < 8; ++i) {
		check(pick(&world) == b); // half an hour of 8 slots is owed to it
	}
	world.now += 1800 * S;
	for (int i = 0; i < 8; ++i) {
		fair_done(&world.fair, b, 0, world.now);
	}
	int as = 0;
	for (int i = 0; i < 8; ++i) {
		as += pick(&world) == a;
	}
	check_equal(as, 4); // and no more
	world_fini(&world);
}

// ---- batches that come and go ----

enum { CROWD = 64 };

// An old batch beside newcomers of one item each, of whom `always` wait at any time. Items take a second on `slots`.
// Returns the share of the old one.
static double stream(bool time, unsigned slots, uint32_t weight, int always) {
	struct fair fair;
	struct fair_queue old, crowd[CROWD] = {0};
	struct { struct fair_queue *queue; struct fair_job job; uint64_t end; } running[8];
	double had[2] = {0, 0};
	uint64_t now = 0;
	unsigned n = 0;
	fair_init(&fair, time);
	fair_add(&fair, &old, weight, 0, 0, NULL);
	fair_arrive(&fair, &old, UINT32_MAX, now);
	fair_learn(&fair, &old, S);
	for (int served = 0; served < 6000;) {
		while (n < slots) {
			int waiting = 0;
			for (int i = 0; i < CROWD; ++i) {
				waiting += crowd[i].backlog > 0;
			}
			for (int i = 0; i < CROWD && waiting < always; ++i) {
				struct fair_queue *one = &crowd[i];
				if (one->backlog + one->running == 0) {
					if (one->tier) {
						fair_remove(&fair, one, now);
					}
					fair_add(&fair, one, 1, 0, 0, NULL); // another name: it knows nothing of who was there before
					fair_arrive(&fair, one, 1, now);
					++waiting;
				}
			}
			struct fair_queue *queue = fair_pick(&fair, now);
			running[n].queue = queue;
			running[n].end = now + S + (uint64_t)(served % 7) * (S / 100);
			fair_expect(queue, &running[n++].job, 1, now);
			had[queue == &old] += served++ >= 100;
		}
		unsigned first = 0;
		for (unsigned i = 1; i < n; ++i) {
			first = running[i].end < running[first].end ? i : first;
		}
		now = running[first].end;
		fair_unexpect(&running[first].job);
		fair_done(&fair, running[first].queue, 0, now);
		fair_learn(&fair, running[first].queue, S);
		for (unsigned i = 0; i < n; ++i) {
			fair_unexpect(&running[i].job); // they move
		}
		running[first] = running[--n];
		for (unsigned i = 0; i < n; ++i) {
			fair_expect(running[i].queue, &running[i].job, 1, running[i].end - S);
		}
	}
	fair_fini(&fair);
	return had[1] / (had[0] + had[1]);
}

static void test_stream(void) {
	static const int always[] = {1, 2, 5, 20};
	for (int time = 0; time < 2; ++time) {
		for (uint32_t weight = 1; weight <= 3; weight += 2) {
			for (unsigned slots = 1; slots <= 4; slots += 3) {
				for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); ++i) {
					double fair = (double)weight / (weight + (double)always[i]);
					double share = stream(time, slots, weight, always[i]);
					printf("# %s, %u slots: beside %d newcomers an old batch of weight %u has %.3f (%.3f)\n",
					       time ? "time" : "turns", slots, always[i], weight, share, fair);
					if (slots == 1) {
						check(share > fair - 0.01 && share < fair + 0.01);
					} else {
						check(share > 0.8 * fair); // what runs does not want, so there are more than wait
					}
				}
			}
		}
	}
}

static void test_stream_trace(void) {
	// each newcomer that starts sends the next one: every second start is the old batch's
	struct world world;
	world_init(&world, false);
	struct fair_queue *old = world_add(&world, 1, 0, 0);
	arrive(&world, old, 1000);
	serve(&world, 5);
	arrive(&world, world_add(&world, 1, 0, 0), 1);
	for (int i = 0; i < 10; ++i) {
		struct fair_queue *queue = fair_pick(&world.fair, 0);
		check((queue == old) == (i % 2 == 1));
		if (queue != old) {
			arrive(&world, world_add(&world, 1, 0, 0), 1);
		}
		fair_done(&world.fair, queue, 0, 0);
	}
	world_fini(&world);
}

static void test_cycling_keys(void) {
	// 20 keys, one of which has work at a time; each is forgotten in between
	enum { KEYS = 20 };
	struct fair fair;
	struct fair_queue old, keys[KEYS] = {0};
	struct fair_tag tags[KEYS] = {{0}};
	int olds = 0, key = 0;
	fair_init(&fair, false);
	fair_add(&fair, &old, 1, 0, 0, NULL);
	fair_arrive(&fair, &old, UINT32_MAX, 0);
	fair_add(&fair, &keys[0], 1, 0, 0, NULL);
	fair_arrive(&fair, &keys[0], 1, 0);
	for (int i = 0; i < 1000; ++i) {
		struct fair_queue *queue = fair_pick(&fair, 0);
		fair_done(&fair, queue, 0, 0);
		if (queue == &old) {
			++olds;
			continue;
		}
		tags[key] = fair_remove(&fair, queue, 0);
		key = (key + 1) % KEYS;
		fair_add(&fair, &keys[key], 1, 0, 0, &tags[key]);
		fair_arrive(&fair, &keys[key], 1, 0);
	}
	check(olds >= 499 && olds <= 501);
	for (int i = 0; i < KEYS; ++i) {
		check(i == (key + KEYS - 1) % KEYS || fair_has_passed(&fair, tags[i])); // but not for long
	}
	fair_fini(&fair);
}

static void test_burst_and_late(void) {
	static const int sizes[] = {10, 100, 1000};
	for (int i = 0; i < 3; ++i) {
		struct fair fair;
		struct fair_queue *queues = calloc((size_t)sizes[i] + 2, sizeof(queues[0])), *old = &queues[0], *late = &queues[1];
		fair_init(&fair, false);
		fair_add(&fair, old, 1, 0, 0, NULL);
		fair_arrive(&fair, old, UINT32_MAX, 0);
		for (int k = 0; k < 5; ++k) {
			fair_done(&fair, fair_pick(&fair, 0), 0, 0);
		}
		for (int k = 0; k < sizes[i]; ++k) {
			fair_add(&fair, &queues[2 + k], 1, 0, 0, NULL);
			fair_arrive(&fair, &queues[2 + k], 1, 0);
		}
		int olds = 0;
		for (int left = sizes[i]; left > 0;) {
			struct fair_queue *queue = fair_pick(&fair, 0);
			fair_done(&fair, queue, 0, 0);
			left -= queue != old;
			olds += queue == old;
		}
		check(olds <= 1); // each of them goes once before the old one's second turn
		fair_add(&fair, late, 1, 0, 0, NULL);
		fair_arrive(&fair, late, 1, 0);
		olds = 0;
		for (struct fair_queue *queue; (queue = fair_pick(&fair, 0)) != late; ++olds) {
			fair_done(&fair, queue, 0, 0);
		}
		check(olds <= 1);
		fair_fini(&fair);
		free(queues);
	}
}

// ---- a simulator of slots ----

struct sim {
	struct world world;
	unsigned slots;
	uint64_t lengths[MOST];      // of the items of each queue
	uint64_t jitter;             // up to so much longer, at random
	uint64_t had[MOST];          // slot-time
	uint64_t alone;              // time in which one queue had all slots
	uint64_t dice;
};

// Each queue's items run one after the other until `end`. Slot-time is counted from `from` on.
static void sim_run(struct sim *sim, uint64_t from, uint64_t end) {
	struct world *world = &sim->world;
	struct { struct fair_queue *queue; uint64_t start, end; struct fair_job job; bool used; } jobs[8] = {0};
	while (world->now < end) {
		uint64_t next = UINT64_MAX;
		size_t first = 0;
		for (size_t i = 0; i < sim->slots; ++i) {
			if (!jobs[i].used && (jobs[i].queue = fair_pick(&world->fair, world->now))) {
				jobs[i].used = true;
				jobs[i].start = world->now;
				jobs[i].end = world->now + sim->lengths[jobs[i].queue - world->queues] + (sim->jitter ? roll(&sim->dice) % sim->jitter : 0);
				fair_expect(jobs[i].queue, &jobs[i].job, 1, world->now);
			}
			if (jobs[i].used && jobs[i].end < next) {
				next = jobs[i].end;
				first = i;
			}
		}
		uint64_t past = world->now >= from ? next - world->now : 0;
		for (int i = 0; i < world->n; ++i) {
			sim->had[i] += past * world->queues[i].running;
			sim->alone += world->queues[i].running == sim->slots ? past : 0;
		}
		world->now = next;
		fair_unexpect(&jobs[first].job);
		fair_learn(&world->fair, jobs[first].queue, next - jobs[first].start);
		fair_done(&world->fair, jobs[first].queue, 0, next);
		jobs[first].used = false;
	}
	for (size_t i = 0; i < sim->slots; ++i) {
		fair_unexpect(&jobs[i].job);
		if (jobs[i].used) {
			fair_done(&world->fair, jobs[i].queue, 0, world->now);
		}
	}
}

static struct sim *sim_new(bool time, unsigned slots) {
	struct sim *sim = calloc(1, sizeof(*sim));
	world_init(&sim->world, time);
	sim->world.fair.slots = sim->slots = slots;
	return sim;
}

static struct fair_queue *sim_add(struct sim *sim, int32_t priority, uint32_t limit, uint64_t length) {
	sim->lengths[sim->world.n] = length;
	struct fair_queue *queue = world_add(&sim->world, 1, priority, limit);
	arrive(&sim->world, queue, UINT32_MAX);
	return queue;
}

static void sim_free(struct sim *sim) {
	world_fini(&sim->world);
	free(sim);
}

static void test_convoys(void) {
	// two batches of equal jobs, the second up to 0.45 s later: nobody holds all four slots, and each has its half
	static const uint64_t offsets[] = {S / 20, S / 10, 3 * S / 10, 9 * S / 20};
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); ++i) {
		struct sim *sim = sim_new(true, 4);
		sim->jitter = 3 * S / 1000;
		sim_add(sim, 0, 0, S / 2);
		sim_run(sim, UINT64_MAX, offsets[i]);
		sim_add(sim, 0, 0, S / 2);
		sim_run(sim, 3 * S, 200 * S);
		double share = (double)sim->had[0] / (double)(sim->had[0] + sim->had[1]);
		printf("# the second %.2f s late: %.3f for the first, all slots with one for %.1f s of 197\n",
		       (double)offsets[i] / 1e9, share, (double)sim->alone / 1e9);
		check(share > 0.49 && share < 0.51);
		check(sim->alone < 2 * S);
		sim_free(sim);
	}
}

static void test_limit_keeps_a_turn(void) {
	// a batch of max_parallel 1 beside others on 4 slots, jobs of about equal length: its fair part is one slot, or less
	static const struct { int others; double fair; } cases[] = {{1, 1}, {2, 1}, {3, 1}, {5, 0.667}};
	for (int time = 0; time < 2; ++time) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
			struct sim *sim = sim_new(time, 4);
			sim->jitter = S / 5;
			sim_add(sim, 0, 1, S);
			for (int k = 0; k < cases[i].others; ++k) {
				sim_add(sim, 0, 0, S);
			}
			sim_run(sim, 10 * S, 2010 * S);
			double held = (double)sim->had[0] / 1e9 / 2000;
			printf("# %s: beside %d others it holds %.3f slots (%.3f)\n", time ? "time" : "turns", cases[i].others, held, cases[i].fair);
			check(held > 0.95 * cases[i].fair && held < 1.05 * cases[i].fair);
			sim_free(sim);
		}
	}
}

static void test_lower_time(void) {
	// a sixteenth of the slot-time, however long the jobs are; two lower priorities share it
	static const struct { uint64_t high, low; } lengths[] = {{S / 50, S}, {S, S / 50}};
	for (size_t i = 0; i < 2; ++i) {
		for (unsigned slots = 1; slots <= 4; slots += 3) {
			for (int lowers = 1; lowers <= 2; ++lowers) {
				struct sim *sim = sim_new(true, slots);
				sim_add(sim, 5, 0, lengths[i].high);
				sim_add(sim, 0, 0, lengths[i].low);
				if (lowers == 2) {
					sim_add(sim, -5, 0, lengths[i].low);
				}
				sim_run(sim, 20 * S, 4020 * S);
				double all = (double)(sim->had[0] + sim->had[1] + sim->had[2]);
				double low = (double)sim->had[1] / all, lowest = (double)sim->had[2] / all;
				printf("# %u slots, %.2f s above %.2f s: %.4f and %.4f (0.0625 together)\n", slots,
				       (double)lengths[i].high / 1e9, (double)lengths[i].low / 1e9, low, lowest);
				check(low + lowest > 0.059 && low + lowest < 0.066);
				check(lowers == 1 || (low > 0.028 && lowest > 0.028));
				sim_free(sim);
			}
		}
	}
}

static void test_lower_limited(void) {
	// what a low job took too much is paid back, though its batch does not want while it runs
	struct sim *sim = sim_new(true, 1);
	sim_add(sim, 5, 0, S / 50);
	sim_add(sim, 0, 1, S);
	sim_run(sim, 20 * S, 2020 * S);
	double low = (double)sim->had[1] / (double)(sim->had[0] + sim->had[1]);
	check(low > 0.059 && low < 0.066);
	sim_free(sim);
}

// The queues of a set, by their bits.
struct some {
	const struct world *world;
	unsigned set;
};

static bool is_in(const void *arg, const struct fair_queue *queue) {
	const struct some *some = arg;
	return some->set >> (queue - some->world->queues) & 1;
}

static struct fair_queue *peek_some(struct world *world, unsigned set) {
	const struct some some = {world, set};
	return fair_peek_filtered(&world->fair, is_in, &some, world->now);
}

static void test_filtered(void) {
	for (int time = 0; time < 2; ++time) {
		struct world world;
		world_init(&world, time);
		for (unsigned i = 0; i < 8; ++i) {
			arrive(&world, world_add(&world, 1 + i % 3, 0, i % 4 == 0 ? 2 : 0), 1000);
		}
		uint32_t random = 1;
		for (int i = 0; i < 500; ++i) {
			random = random * 1664525 + 1013904223;
			unsigned set = random >> 24;
			struct fair_queue *filtered = peek_some(&world, set);
			struct fair_queue *first = fair_peek(&world.fair, world.now);
			bool is_first = first && set >> (first - world.queues) & 1;
			check(is_first ? filtered == first : filtered != first || !first);
			for (unsigned q = 0; q < 8; ++q) { // of the set, none is left out
				bool may = set >> q & 1 && world.queues[q].wants;
				check(filtered ? filtered->wants && set >> (filtered - world.queues) & 1 : !may);
				check(time || !may || fair_virt(&world.fair, filtered, world.now) <= fair_virt(&world.fair, &world.queues[q], world.now));
			}
			struct fair_queue *queue = pick(&world);
			world.len = 0;
			world.now += 1 + random % 7;
			if (queue && i % 3) {
				fair_done(&world.fair, queue, 0, world.now);
			}
		}
		world_fini(&world);
	}
}

static void test_filtered_priority(void) {
	struct world world;
	world_init(&world, false);
	struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 1, 0);
	arrive(&world, a, 100);
	arrive(&world, b, 100);
	for (int i = 0; i < 40; ++i) { // the lower one does not come in turn
		check(peek_some(&world, 1 << 0 | 1 << 1) == b);
		check(peek_some(&world, 1 << 0) == a);
		check(!peek_some(&world, 0));
		fair_take(&world.fair, b, 0);
		fair_done(&world.fair, b, 0, 0);
	}
	world_fini(&world);
}

static void test_longest_wait(void) {
	for (int time = 0; time < 2; ++time) {
		struct world world;
		world_init(&world, time);
		struct fair_queue *a = world_add(&world, 1, 0, 0), *b = world_add(&world, 1, 0, 1);
		world.now = 10 * S;
		arrive(&world, a, 100);
		world.now = 12 * S;
		check(pick(&world) == a);
		check_equal(a->longest_wait, 2 * S);
		world.now = 13 * S;
		check(pick(&world) == a);
		check_equal(a->longest_wait, 2 * S);
		world.now = 17 * S; // 4 s since it was served
		fair_pause(&world.fair, a, true, world.now);
		check_equal(a->longest_wait, 4 * S);
		world.now = 100 * S; // a pause is no wait
		fair_pause(&world.fair, a, false, world.now);
		world.now = 101 * S;
		check(pick(&world) == a);
		check_equal(a->longest_wait, 4 * S);
		fair_withdraw(&world.fair, a, a->backlog, world.now);
		arrive(&world, b, 3);
		check(pick(&world) == b);
		world.now = 200 * S; // neither is its own limit
		fair_done(&world.fair, b, 0, world.now);
		world.now = 203 * S;
		check(pick(&world) == b);
		check_equal(b->longest_wait, 3 * S);
		world.now = 300 * S;
		fair_done(&world.fair, b, 0, world.now);
		world.now = 307 * S;
		fair_withdraw(&world.fair, b, b->backlog, world.now); // who gives up has waited too
		check_equal(b->longest_wait, 7 * S);
		world_fini(&world);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("batches take strict turns", test_turns),
		TEST("a late batch has its turn at once, without credit or debt", test_late),
		TEST("under turns no order depends on when an item ends", test_late_while_running),
		TEST("weights 3:1 give 9 and 3 in each 12", test_weights),
		TEST("weights are exact in each round", test_weights_exact),
		TEST("the highest priority goes first, each 16th pick is of a lower one in turn", test_priorities),
		TEST("no more than max_parallel run", test_limit),
		TEST("a batch at its limit gives no head start to those who arrive", test_limited_holds_nobody_back),
		TEST("a name that is opened again gains nothing", test_reopen),
		TEST("the place of a name that went while it was ahead is kept until it has been passed", test_place_is_kept),
		TEST("a turn that is given back was not charged", test_give_back),
		TEST("an item that takes several slots costs as many turns", test_wide_turns),
		TEST("and gives all of them back", test_wide_give_back),
		TEST("under time queues share what their items are said to have taken", test_correct),
		TEST("a pause earns no credit", test_pause),
		TEST("under time a burst is dealt by weight", test_burst_spreads),
		TEST("weight, priority and limit can change", test_set),
		TEST("200,000 batches with work cost no more per pick than few", test_many),
		TEST("idle batches, closing and splitting do not change the trace of the others", test_metamorphic),
		TEST("the gap between two batches stays within 1/w + 1/w, and nobody starves", test_bounds),
		TEST("who begins to want waits for at most a round, whoever comes and goes", test_late_bound),
		TEST("Jain's index is above 0.99 and the lags sum up to nothing", test_jain_and_lag),
		TEST("10 s jobs beside 0.1 s jobs have half of the slot-time under time", test_time_shares),
		TEST("a wide batch beside a narrow one has half of the slots", test_wide_shares),
		TEST("under time a batch is owed from its arrival on", test_time_late),
		TEST("beside newcomers that always wait an old batch has its share", test_stream),
		TEST("each newcomer that starts sends the next: every second start is the old batch's", test_stream_trace),
		TEST("keys that come again and again have the share of one", test_cycling_keys),
		TEST("of many that come at once each goes once, then who is late", test_burst_and_late),
		TEST("under time jobs of two batches do not come in convoys", test_convoys),
		TEST("a batch at its limit keeps one turn of what it is owed", test_limit_keeps_a_turn),
		TEST("under time lower priorities have a sixteenth of the slot-time", test_lower_time),
		TEST("and pay back what a limited batch had too much", test_lower_limited),
		TEST("a filter finds who would go first if the others had nothing", test_filtered),
		TEST("of those that it takes the highest priority goes first", test_filtered_priority),
		TEST("the longest wait is that between two moments of service", test_longest_wait),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
