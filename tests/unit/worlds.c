// Tests of the fair choice (engine/fair.h): small worlds searched exhaustively, and random operations against a naive
// reference.

#include "engine/fair.h"

#include "test.h"
#include "world.h"

#include <limits.h>

// ---- the exhaustive search of small worlds ----
//
// A state is reached by a path of operations, and is found again by what it looks like; each is visited once.

enum { QUEUES = 3, SLOTS = 2, TICKS = 2, PATH = 40 };

enum op { ARRIVE, PICK, JOIN, WIDEN, DONE, BACK, PAUSE, BLOCK, CANCEL, CLOSE, TICK, OPS };

struct small {
	struct world world;
	int arrived, running, ticks, toggles;
	bool closed[QUEUES];
	uint64_t starts[QUEUES][SLOTS];
	uint64_t widened[QUEUES][SLOTS]; // when the item was widened, + 1; 0: it was not
};

struct variant {
	bool time;
	int items;                 // arrive in all
	int toggles;               // pauses and blocks, and their ends
	bool wide;                 // items may take one slot more
	bool packs;                // items may go along with one that runs
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
		small->widened[i][queue->running - 1] = 0;
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

// A waiting item goes along with the one picked last: the queue is charged a turn, and runs no more than before.
static bool check_join(struct small *small, const struct variant *variant, int i) {
	struct world *world = &small->world;
	struct fair_queue *queue = &world->queues[i];
	if (!variant->packs || queue->running == 0 || queue->backlog == 0) {
		return false;
	}
	double virt = fair_virt(&world->fair, queue, world->now);
	uint64_t backlog = queue->backlog, neligible = world->fair.neligible;
	uint32_t running = queue->running;
	bool could = may_run(queue);
	fair_join(&world->fair, queue, 1, world->now);
	double charged = fair_virt(&world->fair, queue, world->now) - virt - (variant->time ? 0 : 1.0 / queue->weight);
	check(charged < 1e-5 && charged > -1e-5);
	check(queue->backlog == backlog - 1 && queue->running == running);
	check(world->fair.neligible + could - may_run(queue) == neligible);
	return true;
}

// It takes one slot more, now or when others have ended. A queue that is wide is charged no less than one that is not.
static bool check_widen(struct small *small, const struct variant *variant, int i) {
	struct world *world = &small->world;
	struct fair_queue *queue = &world->queues[i];
	if (!variant->wide || queue->running == 0 || small->widened[i][queue->running - 1]) {
		return false;
	}
	double virt = fair_virt(&world->fair, queue, world->now);
	small->widened[i][queue->running - 1] = world->now + 1;
	fair_widen(&world->fair, queue, 1, world->now);
	double charged = fair_virt(&world->fair, queue, world->now) - virt - (variant->time ? 0 : 1.0 / queue->weight);
	check(charged < 1e-5 && charged > -1e-5);
	return true;
}

// The item picked last has ended, or needed no slot.
static void small_end(struct small *small, int i, bool back) {
	struct world *world = &small->world;
	struct fair_queue *queue = &world->queues[i];
	uint64_t start = small->starts[i][queue->running - 1], widened = small->widened[i][queue->running - 1];
	--small->running;
	if (widened && back) {
		fair_widen_back(&world->fair, queue, 1, widened - 1, world->now);
	} else if (widened) {
		fair_narrow(&world->fair, queue, 1, world->now);
	}
	if (back) {
		fair_give_back(&world->fair, queue, start, world->now);
	} else {
		fair_done(&world->fair, queue, world->now);
	}
	check(queue->running > 0 || queue->extra == 0);
}

// Removed and opened again, for the last time: its place stays.
static bool check_close(struct small *small, const struct variant *variant, int i) {
	struct world *world = &small->world;
	struct fair_queue *queue = &world->queues[i];
	if (small->closed[i] || queue->backlog > 0 || queue->running > 0 || queue->paused || queue->blocked) {
		return false;
	}
	double virt = fair_virt(&world->fair, queue, world->now);
	struct fair_tag tag = fair_remove(&world->fair, queue, world->now);
	fair_add(&world->fair, queue, variant->weights[i], variant->priorities[i], variant->limits[i], &tag);
	check(fair_virt(&world->fair, queue, world->now) >= virt);
	small->closed[i] = true;
	return true;
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
	case JOIN:
		return check_join(small, variant, i);
	case WIDEN:
		return check_widen(small, variant, i);
	case DONE:
	case BACK:
		if (queue->running == 0) {
			return false;
		}
		small_end(small, i, step % OPS == BACK);
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
		return check_close(small, variant, i);
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
			small_end(small, i, /* back */ false);
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
			key = mix(key, small->widened[i][j] ? world->now + 2 - small->widened[i][j] : 0);
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

static void test_small_wide(void) {
	search(&(struct variant){.wide = true, .items = 3, .toggles = 0, .weights = {1, 2, 3}, .limits = {1, 0, 0}});
	search(&(struct variant){.wide = true, .time = true, .items = 2, .toggles = 0, .weights = {1, 2, 1}});
}

static void test_small_packs(void) {
	search(&(struct variant){.packs = true, .items = 4, .toggles = 0, .weights = {1, 2, 3}, .limits = {1, 0, 0}});
	search(&(struct variant){.packs = true, .items = 3, .toggles = 1, .weights = {1, 1, 2}, .priorities = {0, 1, 0}});
	search(&(struct variant){.packs = true, .time = true, .items = 3, .toggles = 0, .weights = {1, 2, 1}});
}

// ---- a naive reference ----
//
// Written from the definition: no heap, no lists, everything is looked at each time, and brought up to date at each call.

struct naive {
	struct naive_queue {
		uint64_t base;      // virtual time when `units` was 0
		int64_t units;      // service since, in turns or slot-time
		uint64_t seq, served, backlog;
		uint32_t running, extra, weight, limit;
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
			const struct naive_queue *queue = &naive->queues[i];
			naive->queues[i].units += (int64_t)((queue->running + queue->extra) * (now - naive->last));
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

// Under turns, if nobody of its tier waits, what a queue had is no debt.
static void naive_follow(struct naive *naive, const struct naive_queue *queue) {
	bool waiting = false;
	for (int i = 0; i < naive->n; ++i) {
		waiting |= naive_wants(&naive->queues[i]) && naive->queues[i].priority == queue->priority;
	}
	if (!naive->time && !waiting && naive_virt(queue) > naive->clocks[queue->priority]) {
		naive->clocks[queue->priority] = naive_virt(queue);
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
		uint64_t slots_a = naive->time ? (a->running + a->extra) * b->weight : 0;
		uint64_t slots_b = naive->time ? (b->running + b->extra) * a->weight : 0;
		if (slots_a < slots_b || (slots_a == slots_b && (a->served < b->served || (a->served == b->served && a->seq < b->seq)))) {
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
			naive_follow(naive, queue);
		}
	}
	return best;
}

struct reference_item {
	uint64_t start;
	uint32_t extra;
};

static void reference_queue(struct world *world, struct naive *naive, uint64_t *dice) {
	uint32_t weight = 1 + (uint32_t)(roll(dice) % (roll(dice) % 2 ? 4 : 1000));
	int32_t priority = roll(dice) % 3 ? 0 : (int32_t)(roll(dice) % 3);
	uint32_t limit = roll(dice) % 3 ? 0 : 1 + (uint32_t)(roll(dice) % 3);
	naive->queues[naive->n++] = (struct naive_queue){.seq = world->fair.nadded, .weight = weight,
		.priority = priority, .limit = limit, .base = naive->clocks[priority]};
	world_add(world, weight, priority, limit);
}

// Picks an item, which takes up to four slots.
static void reference_pick(struct world *world, struct naive *naive, uint64_t *dice, struct reference_item items[MOST][8]) {
	uint32_t running = 0;
	for (int j = 0; j < world->n; ++j) {
		running += world->queues[j].running;
	}
	if (running == 8) {
		return;
	}
	struct fair_queue *got = fair_pick(&world->fair, world->now);
	int want = naive_pick(naive);
	check_equal(got ? got - world->queues : -1, want);
	if (!got) {
		return;
	}
	struct reference_item *item = &items[want][got->running - 1];
	*item = (struct reference_item){.start = world->now, .extra = roll(dice) % 4 ? 0 : (uint32_t)(roll(dice) % 4)};
	if (item->extra > 0) {
		struct naive_queue *shadow = &naive->queues[want];
		fair_widen(&world->fair, got, item->extra, world->now);
		naive_settle(naive);
		shadow->extra += item->extra;
		shadow->units += naive->time ? 0 : (int64_t)(item->extra * FAIR_TURN);
		naive_follow(naive, shadow);
	}
}

static void reference_end(struct world *world, struct naive *naive, int i, const struct reference_item *item, bool back) {
	struct fair_queue *queue = &world->queues[i];
	struct naive_queue *shadow = &naive->queues[i];
	--shadow->running;
	shadow->extra -= item->extra;
	uint64_t each = naive->time ? world->now - item->start : FAIR_TURN;
	if (back) {
		shadow->units -= (int64_t)((1 + item->extra) * each);
	}
	if (item->extra > 0 && back) {
		fair_widen_back(&world->fair, queue, item->extra, item->start, world->now);
	} else if (item->extra > 0) {
		fair_narrow(&world->fair, queue, item->extra, world->now);
	}
	if (back) {
		fair_give_back(&world->fair, queue, item->start, world->now);
	} else {
		fair_done(&world->fair, queue, world->now);
	}
}

static void reference_op(struct world *world, struct naive *naive, uint64_t *dice, struct reference_item items[MOST][8]) {
	int i = (int)(roll(dice) % (uint64_t)world->n);
	struct fair_queue *queue = &world->queues[i];
	struct naive_queue *shadow = &naive->queues[i];
	uint64_t n = roll(dice) % 4;
	switch (roll(dice) % 13) {
	case 0: case 1: case 2:
		arrive(world, queue, n);
		shadow->backlog += n;
		break;
	case 3: case 4: case 5: case 6:
		reference_pick(world, naive, dice, items);
		break;
	case 7: case 8: case 9:
		if (queue->running > 0) {
			reference_end(world, naive, i, &items[i][queue->running - 1], roll(dice) % 4 == 0);
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
	case 11:
		if (queue->running > 0 && n > 0 && n <= queue->backlog) {
			fair_join(&world->fair, queue, n, world->now);
			shadow->backlog -= n;
			shadow->units += naive->time ? 0 : (int64_t)(n * FAIR_TURN);
			naive_settle(naive);
			naive_follow(naive, shadow);
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
		struct reference_item items[MOST][8];
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
			reference_op(&world, &naive, &dice, items);
			naive_settle(&naive);
			for (int i = 0; i < world.n; ++i) {
				check_equal(world.queues[i].backlog, naive.queues[i].backlog);
				check_equal(world.queues[i].running, naive.queues[i].running);
				check_equal(world.queues[i].extra, naive.queues[i].extra);
			}
		}
		world_fini(&world);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("small worlds, all of them: turns", test_small_turns),
		TEST("small worlds, all of them: priorities", test_small_tiers),
		TEST("small worlds, all of them: time", test_small_time),
		TEST("small worlds, all of them: wide items", test_small_wide),
		TEST("small worlds, all of them: items that go along", test_small_packs),
		TEST("random operations give what the definition gives", test_reference),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
