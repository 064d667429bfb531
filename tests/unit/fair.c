// Tests of the fair choice (engine/fair.h): golden traces, small worlds searched exhaustively, a naive reference,
// metamorphic tests, bounds, and a simulator with virtual time.

#include "engine/fair.h"

#include "test.h"

#include <limits.h>
#include <stdint.h>

#define S UINT64_C(1000000000)

// ---- a world: some queues and what was picked ----

enum { MOST = 12 };

struct world {
	struct fair fair;
	struct fair_queue queues[MOST];
	int n;
	uint64_t now;
	char trace[4096];
	size_t len;
};

static void world_init(struct world *world, bool time) {
	memset(world, 0, sizeof(*world));
	fair_init(&world->fair, time, /* track_lag */ false);
}

static struct fair_queue *world_add(struct world *world, uint32_t weight, int32_t priority, uint32_t limit) {
	struct fair_queue *queue = &world->queues[world->n++];
	fair_add(&world->fair, queue, weight, priority, limit, /* tag */ NULL);
	return queue;
}

static void world_fini(struct world *world) {
	for (int i = 0; i < world->n; ++i) {
		struct fair_queue *queue = &world->queues[i];
		if (!queue->tier) {
			continue;
		}
		fair_pause(&world->fair, queue, false, world->now);
		fair_withdraw(&world->fair, queue, queue->backlog, world->now);
		while (queue->running > 0) {
			fair_done(&world->fair, queue, world->now);
		}
		fair_remove(&world->fair, queue, world->now);
	}
	fair_fini(&world->fair);
}

static struct fair_queue *pick(struct world *world) {
	struct fair_queue *queue = fair_pick(&world->fair, world->now);
	if (queue) {
		world->trace[world->len++] = (char)('A' + (queue - world->queues));
		world->trace[world->len] = '\0';
	}
	return queue;
}

// One slot: picks `n` times, each item ends before the next pick.
static const char *serve(struct world *world, int n) {
	world->len = 0;
	world->trace[0] = '\0';
	for (int i = 0; i < n; ++i) {
		struct fair_queue *queue = pick(world);
		if (!queue) {
			break;
		}
		fair_done(&world->fair, queue, world->now);
	}
	return world->trace;
}

static void arrive(struct world *world, struct fair_queue *queue, uint64_t n) {
	fair_arrive(&world->fair, queue, n, world->now);
}

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

// ---- the exhaustive search of small worlds ----
//
// A state is reached by a path of operations, and is found again by what it looks like; each is visited once.

enum { QUEUES = 3, SLOTS = 2, TICKS = 2, PATH = 40 };

enum op { ARRIVE, PICK, DONE, BACK, PAUSE, BLOCK, CANCEL, CLOSE, TICK, OPS };

struct small {
	struct world world;
	int arrived, running, ticks, toggles;
	bool closed[QUEUES];
	uint64_t starts[QUEUES][SLOTS];
};

struct variant {
	bool time;
	int items;                 // arrive in all
	int toggles;               // pauses and blocks, and their ends
	uint32_t weights[QUEUES], limits[QUEUES];
	int32_t priorities[QUEUES];
};

static bool may_run(const struct fair_queue *queue) {
	return queue->backlog > 0 && !queue->paused && !queue->blocked && (!queue->limit || queue->running < queue->limit);
}

// What must hold for a pick: somebody eligible of the right tier, with the least virtual time of the tier.
static void check_pick(struct small *small, const struct variant *variant) {
	struct world *world = &small->world;
	int32_t best = INT32_MIN, worst = INT32_MAX;
	for (int i = 0; i < QUEUES; ++i) {
		if (may_run(&world->queues[i])) {
			best = variant->priorities[i] > best ? variant->priorities[i] : best;
			worst = variant->priorities[i] < worst ? variant->priorities[i] : worst;
		}
	}
	int32_t tier = (world->fair.npicks + 1) % 16 == 0 ? worst : best;
	double least = 1e300;
	for (int i = 0; i < QUEUES; ++i) {
		if (may_run(&world->queues[i]) && variant->priorities[i] == tier) {
			double virt = fair_virt(&world->fair, &world->queues[i], world->now);
			least = virt < least ? virt : least;
		}
	}
	struct fair_queue *peek = fair_peek(&world->fair, world->now);
	double virt = peek ? fair_virt(&world->fair, peek, world->now) : 0;
	struct fair_queue *queue = fair_pick(&world->fair, world->now);
	check(queue == peek);
	check(!queue == (best == INT32_MIN));
	if (queue) {
		int i = (int)(queue - world->queues);
		check(variant->priorities[i] == tier);
		check(virt <= least + 1e-9);
		check(queue->running >= 1 && (!queue->limit || queue->running <= queue->limit));
		small->starts[i][queue->running - 1] = world->now;
		++small->running;
	}
}

// Arriving gives no credit: not placed before all who want to run in its tier.
static void check_arrival(struct small *small, const struct variant *variant, int i) {
	struct world *world = &small->world;
	double least = 1e300;
	for (int j = 0; j < QUEUES; ++j) {
		// a blocked one keeps its place, and holds the clock
		if (j != i && world->queues[j].wants && variant->priorities[i] == variant->priorities[j]) {
			double virt = fair_virt(&world->fair, &world->queues[j], world->now);
			least = virt < least ? virt : least;
		}
	}
	bool wanted = world->queues[i].wants;
	double was = fair_virt(&world->fair, &world->queues[i], world->now);
	fair_arrive(&world->fair, &world->queues[i], 1, world->now);
	double is = fair_virt(&world->fair, &world->queues[i], world->now);
	check(is >= was);
	check(!wanted || is == was);
	if (!wanted && world->queues[i].wants && least < 1e300) {
		check(is + 1e-9 >= least);
	}
}

// Does the operation if it makes sense here. Returns false if not.
static bool small_do(struct small *small, const struct variant *variant, int step) {
	struct world *world = &small->world;
	int i = step / OPS;
	struct fair_queue *queue = &world->queues[i];
	switch ((enum op)(step % OPS)) {
	case ARRIVE:
		if (small->arrived == variant->items || small->closed[i]) {
			return false;
		}
		++small->arrived;
		check_arrival(small, variant, i);
		return true;
	case PICK:
		if (i > 0 || small->running == SLOTS) {
			return false;
		}
		check_pick(small, variant);
		return true;
	case DONE:
	case BACK:
		if (queue->running == 0) {
			return false;
		}
		--small->running;
		if (step % OPS == DONE) {
			fair_done(&world->fair, queue, world->now);
		} else {
			fair_give_back(&world->fair, queue, small->starts[i][queue->running - 1], world->now);
		}
		return true;
	case PAUSE:
	case BLOCK:
		if (small->toggles == variant->toggles) {
			return false;
		}
		++small->toggles;
		if (step % OPS == PAUSE) {
			fair_pause(&world->fair, queue, !queue->paused, world->now);
		} else {
			fair_block(&world->fair, queue, !queue->blocked, world->now);
		}
		return true;
	case CANCEL:
		if (queue->backlog == 0) {
			return false;
		}
		fair_withdraw(&world->fair, queue, queue->backlog, world->now);
		return true;
	case CLOSE:
		if (small->closed[i] || queue->backlog > 0 || queue->running > 0 || queue->paused || queue->blocked) {
			return false;
		}
		// removed and opened again, for the last time: its place stays
		{
			double virt = fair_virt(&world->fair, queue, world->now);
			struct fair_tag tag = fair_remove(&world->fair, queue, world->now);
			fair_add(&world->fair, queue, variant->weights[i], variant->priorities[i], variant->limits[i], &tag);
			check(fair_virt(&world->fair, queue, world->now) >= virt);
		}
		small->closed[i] = true;
		return true;
	case TICK:
		if (i > 0 || !variant->time || small->ticks == TICKS) {
			return false;
		}
		++small->ticks;
		world->now += S;
		return true;
	case OPS:
		break;
	}
	return false;
}

static void small_open(struct small *small, const struct variant *variant) {
	memset(small, 0, sizeof(*small));
	world_init(&small->world, variant->time);
	for (int i = 0; i < QUEUES; ++i) {
		world_add(&small->world, variant->weights[i], variant->priorities[i], variant->limits[i]);
	}
}

// Whatever happened before: once nobody holds a queue back, all that waits is served.
static void check_drains(struct small *small) {
	struct world *world = &small->world;
	for (int i = 0; i < QUEUES; ++i) {
		struct fair_queue *queue = &world->queues[i];
		fair_pause(&world->fair, queue, false, world->now);
		fair_block(&world->fair, queue, false, world->now);
		while (queue->running > 0) {
			fair_done(&world->fair, queue, world->now);
		}
	}
	uint64_t left = 0;
	for (int i = 0; i < QUEUES; ++i) {
		left += world->queues[i].backlog;
	}
	while (left > 0) {
		struct fair_queue *queue = fair_pick(&world->fair, world->now);
		check(queue);
		fair_done(&world->fair, queue, world->now);
		--left;
	}
	check(!fair_pick(&world->fair, world->now));
	check_equal(world->fair.neligible, 0);
}

static uint64_t mix(uint64_t hash, uint64_t word) {
	hash = (hash ^ word) * UINT64_C(0xBF58476D1CE4E5B9);
	return (hash ^ hash >> 31) * UINT64_C(0x94D049BB133111EB);
}

// All that future behaviour can depend on.
static uint64_t small_key(const struct small *small, const struct variant *variant) {
	const struct world *world = &small->world;
	uint64_t key = mix(1, (uint64_t)small->arrived | (uint64_t)small->ticks << 8 | (uint64_t)small->toggles << 16);
	key = mix(key, world->fair.npicks % 16);
	for (int i = 0; i < QUEUES; ++i) {
		const struct fair_queue *queue = &world->queues[i];
		uint64_t rank = 0;
		for (int j = 0; j < QUEUES; ++j) {
			rank += world->queues[j].served < queue->served;
		}
		key = mix(key, queue->virt);
		key = mix(key, variant->time ? world->now - queue->last : 0);
		key = mix(key, queue->rem | rank << 32 | (queue->served == 0 ? 1 : 0) | queue->seq << 40);
		key = mix(key, queue->backlog | (uint64_t)queue->running << 8 | (uint64_t)queue->paused << 16 |
		          (uint64_t)queue->blocked << 17 | (uint64_t)queue->wants << 18 | (uint64_t)small->closed[i] << 19);
		for (uint32_t j = 0; j < queue->running; ++j) {
			key = mix(key, world->now - small->starts[i][j]);
		}
	}
	return key | 1;
}

// An open table of keys seen.
struct seen {
	uint64_t *keys;
	size_t cap, n;
};

static bool seen_add(struct seen *seen, uint64_t key) {
	size_t i = key >> 8 & (seen->cap - 1);
	while (seen->keys[i]) {
		if (seen->keys[i] == key) {
			return false;
		}
		i = (i + 1) & (seen->cap - 1);
	}
	check(++seen->n < seen->cap * 3 / 4);
	seen->keys[i] = key;
	return true;
}

static void search(const struct variant *variant) {
	struct path { uint8_t len, steps[PATH]; };
	struct seen seen = {.cap = 1 << 22};
	seen.keys = calloc(seen.cap, sizeof(seen.keys[0]));
	size_t cap = 1 << 19, begin = 0, end = 1;
	struct path *todo = calloc(cap, sizeof(todo[0]));
	check(seen.keys && todo);
	while (begin < end) {
		struct path path = todo[begin++ % cap];
		for (int step = 0; step < QUEUES * OPS; ++step) {
			struct small small;
			small_open(&small, variant);
			for (int i = 0; i < path.len; ++i) {
				check(small_do(&small, variant, path.steps[i]));
			}
			if (small_do(&small, variant, step) && seen_add(&seen, small_key(&small, variant)) && path.len < PATH) {
				check(end - begin < cap);
				todo[end % cap] = path;
				todo[end % cap].steps[todo[end % cap].len++] = (uint8_t)step;
				++end;
				check_drains(&small);
			}
			world_fini(&small.world);
		}
	}
	printf("# %zu states\n", seen.n);
	check(seen.n > 1000);
	free(seen.keys);
	free(todo);
}

static void test_small_turns(void) {
	search(&(struct variant){.items = 4, .toggles = 0, .weights = {1, 2, 3}, .limits = {1, 0, 0}});
	search(&(struct variant){.items = 3, .toggles = 2, .weights = {1, 1, 1}});
}

static void test_small_tiers(void) {
	search(&(struct variant){.items = 4, .toggles = 0, .weights = {1, 1, 2}, .priorities = {0, 1, 0}, .limits = {0, 1, 0}});
	search(&(struct variant){.items = 3, .toggles = 1, .weights = {1, 1, 2}, .priorities = {1, 1, 0}});
}

static void test_small_time(void) {
	search(&(struct variant){.time = true, .items = 3, .toggles = 0, .weights = {1, 3, 1}, .limits = {0, 1, 0}});
	search(&(struct variant){.time = true, .items = 2, .toggles = 1, .weights = {1, 2, 1}});
}

// ---- a naive reference ----
//
// Written from the definition: no heap, no lists, everything is looked at each time, and brought up to date at each call.

struct naive {
	struct naive_queue {
		uint64_t base;      // virtual time when `units` was 0
		int64_t units;      // service since, in turns or slot-time
		uint64_t seq, served, backlog;
		uint32_t running, weight, limit;
		int32_t priority;
		bool paused, blocked, wanted;
	} queues[MOST];
	int n;
	uint64_t clocks[8];         // by priority
	uint64_t npicks, last;
	bool time;
};

static uint64_t naive_virt(const struct naive_queue *queue) {
	int64_t w = queue->weight, units = queue->units;
	int64_t whole = units / w - (units % w < 0);
	return queue->base + (uint64_t)whole;
}

static bool naive_wants(const struct naive_queue *queue) {
	return queue->backlog > 0 && !queue->paused && (queue->limit == 0 || queue->running < queue->limit);
}

// Time passes, and the clocks follow.
static void naive_update(struct naive *naive, uint64_t now) {
	for (int i = 0; i < naive->n; ++i) {
		if (naive->time) {
			naive->queues[i].units += (int64_t)(naive->queues[i].running * (now - naive->last));
		}
	}
	naive->last = now;
	for (int priority = 0; priority < 8; ++priority) {
		bool wanting = false, any = false;
		uint64_t least = 0;
		for (int pass = 0; pass < 2 && !wanting; ++pass) {
			for (int i = 0; i < naive->n; ++i) {
				const struct naive_queue *queue = &naive->queues[i];
				bool counts = pass == 0 ? naive_wants(queue) : naive->time && queue->running > 0;
				if (queue->priority == priority && counts) {
					wanting |= pass == 0;
					least = !any || naive_virt(queue) < least ? naive_virt(queue) : least;
					any = true;
				}
			}
		}
		if (any && least > naive->clocks[priority]) {
			naive->clocks[priority] = least;
		}
	}
}

static void naive_settle(struct naive *naive) {
	for (int i = 0; i < naive->n; ++i) {
		struct naive_queue *queue = &naive->queues[i];
		bool wants = naive_wants(queue);
		if (wants && !queue->wanted && naive_virt(queue) < naive->clocks[queue->priority]) {
			queue->base = naive->clocks[queue->priority];
			queue->units = 0;
		}
		queue->wanted = wants;
	}
}

static int naive_pick(struct naive *naive) {
	int best = -1, tier = -1;
	for (int i = 0; i < naive->n; ++i) {
		const struct naive_queue *queue = &naive->queues[i];
		if (naive_wants(queue) && !queue->blocked) {
			bool lower = (naive->npicks + 1) % 16 == 0;
			if (tier < 0 || (lower ? queue->priority < tier : queue->priority > tier)) {
				tier = queue->priority;
			}
		}
	}
	for (int i = 0; i < naive->n; ++i) {
		const struct naive_queue *a = &naive->queues[i], *b = best >= 0 ? &naive->queues[best] : NULL;
		if (!naive_wants(a) || a->blocked || a->priority != tier) {
			continue;
		}
		if (!b || naive_virt(a) < naive_virt(b)) {
			best = i;
			continue;
		}
		if (naive_virt(a) > naive_virt(b)) {
			continue;
		}
		uint64_t run_a = naive->time ? a->running * b->weight : 0, run_b = naive->time ? b->running * a->weight : 0;
		if (run_a < run_b || (run_a == run_b && (a->served < b->served || (a->served == b->served && a->seq < b->seq)))) {
			best = i;
		}
	}
	if (best >= 0) {
		struct naive_queue *queue = &naive->queues[best];
		queue->served = ++naive->npicks;
		--queue->backlog;
		++queue->running;
		if (!naive->time) {
			queue->units += (int64_t)FAIR_TURN;
			bool waiting = false;
			for (int i = 0; i < naive->n; ++i) {
				waiting |= naive_wants(&naive->queues[i]) && naive->queues[i].priority == queue->priority;
			}
			if (!waiting && naive_virt(queue) > naive->clocks[queue->priority]) {
				naive->clocks[queue->priority] = naive_virt(queue);
			}
		}
	}
	return best;
}

static uint64_t roll(uint64_t *state) {
	uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static void reference_queue(struct world *world, struct naive *naive, uint64_t *dice) {
	uint32_t weight = 1 + (uint32_t)(roll(dice) % (roll(dice) % 2 ? 4 : 1000));
	int32_t priority = roll(dice) % 3 ? 0 : (int32_t)(roll(dice) % 3);
	uint32_t limit = roll(dice) % 3 ? 0 : 1 + (uint32_t)(roll(dice) % 3);
	naive->queues[naive->n++] = (struct naive_queue){.seq = world->fair.nadded, .weight = weight,
		.priority = priority, .limit = limit, .base = naive->clocks[priority]};
	world_add(world, weight, priority, limit);
}

static void reference_op(struct world *world, struct naive *naive, uint64_t *dice, uint64_t starts[MOST][8]) {
	int i = (int)(roll(dice) % (uint64_t)world->n);
	struct fair_queue *queue = &world->queues[i];
	struct naive_queue *shadow = &naive->queues[i];
	uint64_t n = roll(dice) % 4;
	switch (roll(dice) % 12) {
	case 0: case 1: case 2:
		arrive(world, queue, n);
		shadow->backlog += n;
		break;
	case 3: case 4: case 5: case 6: {
		uint32_t running = 0;
		for (int j = 0; j < world->n; ++j) {
			running += world->queues[j].running;
		}
		if (running == 8) {
			break;
		}
		struct fair_queue *got = fair_pick(&world->fair, world->now);
		int want = naive_pick(naive);
		check_equal(got ? got - world->queues : -1, want);
		if (got) {
			starts[want][got->running - 1] = world->now;
		}
		break;
	}
	case 7: case 8: case 9:
		if (queue->running > 0) {
			uint64_t start = starts[i][queue->running - 1];
			--shadow->running;
			if (roll(dice) % 4 == 0) {
				fair_give_back(&world->fair, queue, start, world->now);
				shadow->units -= naive->time ? (int64_t)(world->now - start) : (int64_t)FAIR_TURN;
			} else {
				fair_done(&world->fair, queue, world->now);
			}
		}
		break;
	case 10:
		if (roll(dice) % 2) {
			fair_pause(&world->fair, queue, n == 0, world->now);
			shadow->paused = n == 0;
		} else {
			fair_block(&world->fair, queue, n == 0, world->now);
			shadow->blocked = n == 0;
		}
		break;
	default:
		n = queue->backlog ? roll(dice) % (queue->backlog + 1) : 0;
		fair_withdraw(&world->fair, queue, n, world->now);
		shadow->backlog -= n;
		break;
	}
}

static void test_reference(void) {
	uint64_t dice = 42;
	for (int round = 0; round < 4000; ++round) {
		struct world world;
		struct naive naive = {.time = round % 2};
		uint64_t starts[MOST][8];
		world_init(&world, naive.time);
		int n = 1 + (int)(roll(&dice) % 6);
		for (int i = 0; i < n; ++i) {
			reference_queue(&world, &naive, &dice);
		}
		for (int step = 0; step < 300; ++step) {
			if (world.n < MOST && roll(&dice) % 64 == 0) {
				reference_queue(&world, &naive, &dice);
			}
			world.now += roll(&dice) % 3 ? 0 : roll(&dice) % 1000000;
			naive_update(&naive, world.now);
			reference_op(&world, &naive, &dice, starts);
			naive_settle(&naive);
			for (int i = 0; i < world.n; ++i) {
				check_equal(world.queues[i].backlog, naive.queues[i].backlog);
				check_equal(world.queues[i].running, naive.queues[i].running);
			}
		}
		world_fini(&world);
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
		TEST("a pause earns no credit, a block loses no turn", test_pause_and_block),
		TEST("under time a burst is dealt by weight", test_burst_spreads),
		TEST("weight, priority and limit can change", test_set),
		TEST("200,000 batches with work cost no more per pick than few", test_many),
		TEST("small worlds, all of them: turns", test_small_turns),
		TEST("small worlds, all of them: priorities", test_small_tiers),
		TEST("small worlds, all of them: time", test_small_time),
		TEST("random operations give what the definition gives", test_reference),
		TEST("idle batches, closing and splitting do not change the trace of the others", test_metamorphic),
		TEST("the gap between two batches stays within 1/w + 1/w, and nobody starves", test_bounds),
		TEST("Jain's index is above 0.99 and the lags sum up to nothing", test_jain_and_lag),
		TEST("10 s jobs beside 0.1 s jobs have half of the slot-time under time", test_time_shares),
		TEST("under time a batch is owed from its arrival on", test_time_late),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
