// Tests of the fair choice (engine/fair.h): small worlds searched exhaustively, and random operations against a naive
// reference.

#include "engine/fair.h"

#include "test.h"
#include "fair_world.h"

#include <limits.h>

// ---- the exhaustive search of small worlds ----
//
// A state is reached by a path of operations, and is found again by what it looks like; each is visited once. The short form
// searches the worlds in which one item less arrives, or nothing is paused.

enum { QUEUES = 3, SLOTS = 2, TICKS = 2, PATH = 40 };

enum op { ARRIVE, PICK, CHARGE, WIDEN, DONE, BACK, PAUSE, CANCEL, CLOSE, TICK, OPS };

struct small {
	struct world world;
	int arrived, running, ticks, toggles;
	bool closed[QUEUES];
	uint64_t starts[QUEUES][SLOTS];
	uint64_t widened[QUEUES][SLOTS]; // when the item was widened, + 1; 0: it was not
	bool late[QUEUES];               // it has not been served since it began to want
	uint32_t passed[QUEUES][QUEUES]; // late: turns of the other since
	int64_t gap[QUEUES][QUEUES];     // service by weight, less that of the other, since both want
	int64_t least[QUEUES][QUEUES], greatest[QUEUES][QUEUES]; // of it
};

struct variant {
	bool time;
	int items;                 // arrive in all
	int toggles;               // pauses and their ends
	bool wide;                 // items may take one slot more
	bool packs;                // items may be charged several turns
	bool plain;                // no item is given back: what is promised of turns holds to the letter
	uint64_t median;           // of all queues
	uint32_t weights[QUEUES], limits[QUEUES];
	int32_t priorities[QUEUES];
};

static bool may_run(const struct fair_queue *queue) {
	return queue->backlog > 0 && !queue->paused && (!queue->limit || queue->running < queue->limit);
}

// The first two promises of turns, which hold for queues of one tier that may run:
// - The service by weight of two that want, without a pause between, differs by at most 1/w + 1/w.
// - One that begins to want waits for at most w turns of each other.
static void check_promises(const struct small *small, const struct variant *variant) {
	for (int i = 0; i < QUEUES; ++i) {
		for (int j = 0; j < QUEUES; ++j) {
			if (i == j || variant->priorities[i] != variant->priorities[j]) {
				continue;
			}
			int64_t bound = (int64_t)(FAIR_TURN / variant->weights[i] + FAIR_TURN / variant->weights[j]);
			check(small->greatest[i][j] - small->least[i][j] <= bound);
			check(!small->late[i] || small->passed[i][j] <= variant->weights[j]);
		}
	}
}

static void note_pick(struct small *small, const struct variant *variant, int picked) {
	small->late[picked] = false;
	for (int i = 0; i < QUEUES; ++i) {
		small->passed[i][picked] += small->late[i] && small->world.queues[i].wants;
		small->gap[picked][i] += (int64_t)(FAIR_TURN / variant->weights[picked]);
		small->gap[i][picked] -= (int64_t)(FAIR_TURN / variant->weights[picked]);
	}
}

// After each operation: who has begun to want, and who has gone on?
static void note_wants(struct small *small, const bool *wanted) {
	for (int i = 0; i < QUEUES; ++i) {
		bool wants = small->world.queues[i].wants;
		if (wants && !wanted[i]) {
			small->late[i] = true;
			memset(small->passed[i], 0, sizeof(small->passed[i]));
		}
		for (int j = 0; j < QUEUES; ++j) {
			int64_t *gap = &small->gap[i][j], *least = &small->least[i][j], *greatest = &small->greatest[i][j];
			if (!wants || !wanted[i] || !small->world.queues[j].wants || !wanted[j]) {
				*gap = *least = *greatest = 0;
			}
			*least = *gap < *least ? *gap : *least;
			*greatest = *gap > *greatest ? *gap : *greatest;
		}
	}
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
	const struct fair *fair = &world->fair;
	bool lower = variant->time ? fair->tokens > 0 : fair->tokens + (int64_t)FAIR_TURN / 16 >= (int64_t)FAIR_TURN;
	int32_t tier = lower ? worst : best; // there are no more than two
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
		note_pick(small, variant, i);
	}
}

// Arriving gives no credit: not placed before all who want to run in its tier.
static void check_arrival(struct small *small, const struct variant *variant, int i) {
	struct world *world = &small->world;
	double least = 1e300;
	for (int j = 0; j < QUEUES; ++j) {
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

// The item picked last stands for one more: the queue is charged a turn, and runs no more than before.
static bool check_charge(struct small *small, const struct variant *variant, int i) {
	struct world *world = &small->world;
	struct fair_queue *queue = &world->queues[i];
	if (!variant->packs || queue->running == 0 || small->arrived == variant->items) {
		return false;
	}
	++small->arrived;
	double virt = fair_virt(&world->fair, queue, world->now);
	uint64_t backlog = queue->backlog, neligible = queue->tier->neligible;
	uint32_t running = queue->running;
	fair_charge(&world->fair, queue, 1, 0, world->now);
	double charged = fair_virt(&world->fair, queue, world->now) - virt - (variant->time ? 0 : 1.0 / queue->weight);
	check(charged < 1e-5 && charged > -1e-5);
	check(queue->backlog == backlog && queue->running == running && queue->tier->neligible == neligible);
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
	fair_charge(&world->fair, queue, 1, 1, world->now);
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
		fair_give_back(&world->fair, queue, 0, 1, widened - 1, world->now);
	}
	if (back) {
		fair_give_back(&world->fair, queue, 1, 0, start, world->now);
	} else {
		fair_done(&world->fair, queue, widened ? 1 : 0, world->now);
	}
	check(queue->running > 0 || queue->extra == 0);
}

// Removed and opened again, for the last time: its place stays.
static bool check_close(struct small *small, const struct variant *variant, int i) {
	struct world *world = &small->world;
	struct fair_queue *queue = &world->queues[i];
	if (small->closed[i] || queue->backlog > 0 || queue->running > 0 || queue->paused) {
		return false;
	}
	double virt = fair_virt(&world->fair, queue, world->now);
	struct fair_tag tag = fair_remove(&world->fair, queue, world->now);
	fair_add(&world->fair, queue, variant->weights[i], variant->priorities[i], variant->limits[i], &tag);
	check(fair_virt(&world->fair, queue, world->now) >= virt);
	small->closed[i] = true;
	return true;
}

// As small_do(), without a look at the promises.
static bool small_try(struct small *small, const struct variant *variant, int step) {
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
	case CHARGE:
		return check_charge(small, variant, i);
	case WIDEN:
		return check_widen(small, variant, i);
	case DONE:
	case BACK:
		if (queue->running == 0 || (variant->plain && step % OPS == BACK)) {
			return false;
		}
		small_end(small, i, step % OPS == BACK);
		return true;
	case PAUSE:
		if (small->toggles == variant->toggles) {
			return false;
		}
		++small->toggles;
		fair_pause(&world->fair, queue, !queue->paused, world->now);
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

// Does the operation if it makes sense here. Returns false if not.
static bool small_do(struct small *small, const struct variant *variant, int step) {
	bool wanted[QUEUES];
	for (int i = 0; i < QUEUES; ++i) {
		wanted[i] = small->world.queues[i].wants;
	}
	bool done = small_try(small, variant, step);
	note_wants(small, wanted);
	if (variant->plain) {
		check_promises(small, variant);
	}
	return done;
}

static void small_open(struct small *small, const struct variant *variant) {
	memset(small, 0, sizeof(*small));
	world_init(&small->world, variant->time);
	for (int i = 0; i < QUEUES; ++i) {
		fair_learn(&small->world.fair, world_add(&small->world, variant->weights[i], variant->priorities[i], variant->limits[i]),
		           variant->median);
	}
}

// Whatever happened before: once nobody holds a queue back, all that waits is served.
static void check_drains(struct small *small) {
	struct world *world = &small->world;
	for (int i = 0; i < QUEUES; ++i) {
		struct fair_queue *queue = &world->queues[i];
		fair_pause(&world->fair, queue, false, world->now);
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
		fair_done(&world->fair, queue, 0, world->now);
		--left;
	}
	check(!fair_pick(&world->fair, world->now));
	check(!fair_is_eligible(&world->fair));
}

static uint64_t mix(uint64_t hash, uint64_t word) {
	hash = (hash ^ word) * UINT64_C(0xBF58476D1CE4E5B9);
	return (hash ^ hash >> 31) * UINT64_C(0x94D049BB133111EB);
}

// All that future behaviour can depend on.
static uint64_t small_key(const struct small *small, const struct variant *variant) {
	const struct world *world = &small->world;
	uint64_t key = mix(1, (uint64_t)small->arrived | (uint64_t)small->ticks << 8 | (uint64_t)small->toggles << 16);
	key = mix(key, (uint64_t)world->fair.tokens);
	key = mix(key, world->fair.tokens_rem | (world->now - world->fair.last) << 8);
	for (const struct fair_tier *tier = world->fair.tiers; tier; tier = tier->next) {
		key = mix(key, tier->rem);
		key = mix(key, tier->greatest - tier->clock);
	}
	for (int i = 0; i < QUEUES; ++i) {
		const struct fair_queue *queue = &world->queues[i];
		uint64_t rank = 0;
		for (int j = 0; j < QUEUES; ++j) {
			rank += world->queues[j].served < queue->served;
		}
		key = mix(key, queue->virt - queue->tier->clock);
		key = mix(key, variant->time ? world->now - queue->last : 0);
		key = mix(key, queue->rem | rank << 32 | (queue->served == 0 ? 1 : 0) | queue->seq << 40);
		key = mix(key, queue->backlog | (uint64_t)queue->running << 8 | (uint64_t)queue->paused << 16 |
		          (uint64_t)queue->wants << 18 | (uint64_t)small->closed[i] << 19 |
		          (uint64_t)queue->at_limit << 20);
		for (int j = 0; variant->plain && small->late[i] && j < QUEUES; ++j) {
			key = mix(key, 1 + small->passed[i][j]);
		}
		for (int j = 0; variant->plain && j < i; ++j) {
			key = mix(key, (uint64_t)(small->gap[i][j] - small->least[i][j]));
			key = mix(key, (uint64_t)(small->greatest[i][j] - small->gap[i][j]));
		}
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

static void search(struct variant *variant) {
	if (!is_long() && variant->items > 2) {
		--variant->items;
	} else if (!is_long()) {
		variant->toggles = 0;
	}
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
	check(seen.n > (is_long() ? 1000 : 100));
	free(seen.keys);
	free(todo);
}

// Every sequence of arrivals, picks, ends, pauses and cancelled items: see check_promises().
static void test_small_promises(void) {
	search(&(struct variant){.plain = true, .items = 4, .weights = {1, 1, 1}});
	search(&(struct variant){.plain = true, .items = 5, .weights = {1, 2, 3}});
	search(&(struct variant){.plain = true, .items = 3, .toggles = 1, .weights = {2, 1, 1}});
	search(&(struct variant){.plain = true, .items = 4, .weights = {1, 2, 1}, .limits = {1, 0, 0}});
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
	search(&(struct variant){.time = true, .median = 2 * S, .items = 3, .weights = {1, 3, 1}, .limits = {0, 1, 0}});
	search(&(struct variant){.time = true, .median = S, .items = 2, .weights = {1, 2, 1}, .priorities = {0, 1, 0}});
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

enum { PRIORITIES = 3, PARALLEL = 8 };

struct naive_item {
	struct fair_job job;
	uint64_t start;
	uint32_t extra;
	bool expected;
};

struct naive_queue {
	uint64_t base;      // virtual time when `units` was 0
	int64_t units;      // service since, in turns or slot-time
	uint64_t seq, served, backlog, median;
	uint32_t running, extra, weight, limit;
	int32_t priority;
	bool paused, wanted, held;
	struct naive_item items[PARALLEL];
};

struct naive {
	struct naive_queue queues[MOST];
	int n;
	struct naive_tier {
		uint64_t clock, greatest, served;
		int64_t rem;
	} tiers[PRIORITIES];
	int64_t tokens, tokens_rem;
	uint64_t npicks, last, slots;
	bool time;
};

static int64_t floor_div(int64_t a, int64_t b) {
	return a / b - (a % b < 0);
}

static bool less(uint64_t a, uint64_t b) {
	return (int64_t)(a - b) < 0;
}

static uint64_t naive_virt(const struct naive_queue *queue) {
	return queue->base + (uint64_t)floor_div(queue->units, queue->weight);
}

static bool naive_has(const struct naive_queue *queue) {
	return queue->backlog > 0 && !queue->paused;
}

static bool naive_wants(const struct naive_queue *queue) {
	return naive_has(queue) && (queue->limit == 0 || queue->running < queue->limit);
}

static int64_t naive_expected(const struct naive *naive, const struct naive_queue *queue) {
	int64_t sum = 0;
	for (uint32_t i = 0; i < queue->running; ++i) {
		const struct naive_item *item = &queue->items[i];
		int64_t left = (int64_t)(item->start + queue->median - naive->last);
		sum += item->expected && left > 0 ? left * (1 + item->extra) : 0;
	}
	return sum;
}

// Weights of all of the priority that want.
static int64_t naive_weights(const struct naive *naive, int priority) {
	int64_t sum = 0;
	for (int i = 0; i < naive->n; ++i) {
		const struct naive_queue *queue = &naive->queues[i];
		sum += queue->priority == priority && naive_wants(queue) ? queue->weight : 0;
	}
	return sum;
}

static bool naive_eligible(const struct naive *naive, int priority) {
	for (int i = 0; i < naive->n; ++i) {
		const struct naive_queue *queue = &naive->queues[i];
		if (queue->priority == priority && naive_wants(queue)) {
			return true;
		}
	}
	return false;
}

// Is there a higher (sign 1) or a lower priority of which something can be picked?
static bool naive_other(const struct naive *naive, int priority, int sign) {
	for (int other = 0; other < PRIORITIES; ++other) {
		if ((other - priority) * sign > 0 && naive_eligible(naive, other)) {
			return true;
		}
	}
	return false;
}

static bool naive_lower_wants(const struct naive *naive) {
	int n = 0;
	for (int priority = 0; priority < PRIORITIES; ++priority) {
		n += naive_eligible(naive, priority);
	}
	return n > 1;
}

static uint64_t naive_longest(const struct naive *naive, int priority) {
	uint64_t longest = 0;
	for (int i = 0; i < naive->n; ++i) {
		const struct naive_queue *queue = &naive->queues[i];
		bool counts = priority < 0 || queue->priority == priority;
		longest = counts && queue->median > longest ? queue->median : longest;
	}
	return longest;
}

static void naive_advance(struct naive *naive, int priority, int64_t units, int64_t weights) {
	struct naive_tier *tier = &naive->tiers[priority];
	tier->clock += (uint64_t)floor_div(tier->rem + units, weights);
	tier->rem = tier->rem + units - floor_div(tier->rem + units, weights) * weights;
}

static void naive_clamp(struct naive *naive, int priority) {
	struct naive_tier *tier = &naive->tiers[priority];
	bool any = false;
	uint64_t least = 0;
	for (int i = 0; i < naive->n; ++i) {
		const struct naive_queue *queue = &naive->queues[i];
		uint64_t virt = naive_virt(queue);
		if (queue->priority != priority) {
			continue;
		}
		tier->greatest = less(tier->greatest, virt) ? virt : tier->greatest;
		if (naive_wants(queue)) {
			least = !any || less(virt, least) ? virt : least;
			any = true;
		}
	}
	uint64_t quantum = naive->time ? naive_longest(naive, priority) : FAIR_TURN;
	if (any) {
		tier->clock = less(least + quantum, tier->clock) ? least + quantum : tier->clock;
		tier->clock = less(tier->clock, least) ? least : tier->clock;
	} else {
		tier->clock = less(tier->clock, tier->greatest) ? tier->greatest : tier->clock;
	}
}

static void naive_cap(struct naive *naive) {
	uint64_t most = naive->time ? naive->slots * naive_longest(naive, -1) : FAIR_TURN;
	int64_t cap = naive_lower_wants(naive) ? (int64_t)most : 0;
	if (naive->tokens > cap) {
		naive->tokens = cap;
		naive->tokens_rem = 0;
	}
}

static void naive_tokens(struct naive *naive, int64_t units, int64_t lower) {
	if (naive_lower_wants(naive) || naive->tokens < 0 || lower > 0) {
		naive->tokens += (naive->tokens_rem + units) / 16;
		naive->tokens_rem = (naive->tokens_rem + units) % 16;
	}
	naive->tokens -= lower;
	naive_cap(naive);
}

// Time passes.
static void naive_update(struct naive *naive, uint64_t now) {
	int64_t past = (int64_t)(now - naive->last), all = 0, lower = 0;
	naive->last = now;
	if (!naive->time || past == 0) {
		return;
	}
	for (int priority = 0; priority < PRIORITIES; ++priority) {
		int64_t busy = 0, weights = naive_weights(naive, priority);
		for (int i = 0; i < naive->n; ++i) {
			struct naive_queue *queue = &naive->queues[i];
			if (queue->priority == priority) {
				busy += queue->running + queue->extra;
				queue->units += (int64_t)(queue->running + queue->extra) * past;
			}
		}
		all += busy * past;
		lower += naive_other(naive, priority, 1) ? busy * past : 0;
		if (busy > 0 && weights > 0) {
			naive_advance(naive, priority, busy * past, weights);
		}
	}
	naive_tokens(naive, all, lower);
	for (int priority = 0; priority < PRIORITIES; ++priority) {
		naive_clamp(naive, priority);
	}
}

// Something of the queue has changed, or may have.
static void naive_settle(struct naive *naive, struct naive_queue *queue) {
	const struct naive_tier *tier = &naive->tiers[queue->priority];
	bool wants = naive_wants(queue), held = naive_has(queue) && !wants;
	uint64_t credit = naive->time ? queue->median / queue->weight : FAIR_TURN / queue->weight;
	uint64_t least = tier->clock - (queue->held ? credit : 0);
	bool begins = !queue->wanted && (wants || (held && !queue->held));
	if (begins && less(naive_virt(queue), least)) {
		queue->base = least;
		queue->units = 0;
	}
	queue->wanted = wants;
	queue->held = held;
	naive_clamp(naive, queue->priority);
	if (naive->tokens > 0 && !naive_lower_wants(naive)) {
		naive_cap(naive);
	}
}

// Under turns: has been served, before anything else of it changes.
static void naive_serve(struct naive *naive, struct naive_queue *queue, int64_t turns) {
	if (!naive->time) {
		int64_t units = turns * (int64_t)FAIR_TURN;
		int64_t weights = naive_weights(naive, queue->priority) + (naive_wants(queue) ? 0 : queue->weight);
		naive_tokens(naive, units, naive_other(naive, queue->priority, 1) ? units : 0);
		naive_advance(naive, queue->priority, units, weights);
		queue->units += units;
	}
}

// It was not served after all: looked at without the queue itself.
static void naive_unserve(struct naive *naive, struct naive_queue *queue, int64_t units) {
	bool paused = queue->paused;
	queue->paused = true;
	bool higher = naive_other(naive, queue->priority, 1);
	queue->units -= units;
	naive_advance(naive, queue->priority, -units, naive_weights(naive, queue->priority) + queue->weight);
	if (higher || naive_lower_wants(naive)) {
		naive->tokens += (higher ? units : 0) - units / 16;
		naive_cap(naive);
	}
	queue->paused = paused;
}

// The priority whose turn it is, or -1.
static int naive_tier(const struct naive *naive) {
	int top = -1, lower = -1;
	int64_t due = naive->tokens;
	for (int priority = PRIORITIES - 1; priority >= 0; --priority) {
		for (int i = 0; i < naive->n; ++i) {
			const struct naive_queue *queue = &naive->queues[i];
			due -= top >= 0 && naive->time && queue->priority == priority ? naive_expected(naive, queue) : 0;
		}
		if (!naive_eligible(naive, priority)) {
			continue;
		}
		if (top < 0) {
			top = priority;
		} else if (lower < 0 || naive->tiers[priority].served < naive->tiers[lower].served) {
			lower = priority;
		}
	}
	bool turn = naive->time ? due > 0 : due + (int64_t)FAIR_TURN / 16 >= (int64_t)FAIR_TURN;
	return lower >= 0 && turn ? lower : top;
}

// Does a go before b?
static bool naive_first(const struct naive *naive, const struct naive_queue *a, const struct naive_queue *b) {
	uint64_t key_a = a->base + (uint64_t)floor_div(a->units + naive_expected(naive, a), a->weight);
	uint64_t key_b = b->base + (uint64_t)floor_div(b->units + naive_expected(naive, b), b->weight);
	uint64_t slots_a = naive->time ? (a->running + a->extra) * b->weight : 0;
	uint64_t slots_b = naive->time ? (b->running + b->extra) * a->weight : 0;
	if (key_a != key_b) {
		return less(key_a, key_b);
	}
	return slots_a != slots_b ? slots_a < slots_b : a->served != b->served ? a->served < b->served : a->seq < b->seq;
}

static int naive_pick(struct naive *naive) {
	int best = -1, tier = naive_tier(naive);
	for (int i = 0; i < naive->n; ++i) {
		const struct naive_queue *queue = &naive->queues[i];
		if (naive_wants(queue) && queue->priority == tier &&
		    (best < 0 || naive_first(naive, queue, &naive->queues[best]))) {
			best = i;
		}
	}
	if (best >= 0) {
		struct naive_queue *queue = &naive->queues[best];
		naive_serve(naive, queue, 1);
		queue->served = naive->tiers[tier].served = ++naive->npicks;
		--queue->backlog;
		++queue->running;
		naive_settle(naive, queue);
	}
	return best;
}

static void reference_queue(struct world *world, struct naive *naive, uint64_t *dice) {
	uint32_t weight = 1 + (uint32_t)(roll(dice) % (roll(dice) % 2 ? 4 : 1000));
	int32_t priority = roll(dice) % 3 ? 0 : (int32_t)(roll(dice) % PRIORITIES);
	uint32_t limit = roll(dice) % 3 ? 0 : 1 + (uint32_t)(roll(dice) % 3);
	naive->queues[naive->n++] = (struct naive_queue){.seq = world->fair.nadded, .weight = weight,
		.priority = priority, .limit = limit, .base = naive->tiers[priority].clock};
	world_add(world, weight, priority, limit);
}

// Picks an item, which takes up to four slots.
static void reference_pick(struct world *world, struct naive *naive, uint64_t *dice) {
	uint32_t running = 0;
	for (int j = 0; j < world->n; ++j) {
		running += world->queues[j].running;
	}
	if (running == PARALLEL) {
		return;
	}
	struct fair_queue *got = fair_pick(&world->fair, world->now);
	int want = naive_pick(naive);
	check_equal(got ? got - world->queues : -1, want);
	if (!got) {
		return;
	}
	struct naive_queue *shadow = &naive->queues[want];
	struct naive_item *item = &shadow->items[got->running - 1];
	*item = (struct naive_item){.start = world->now, .extra = roll(dice) % 4 ? 0 : (uint32_t)(roll(dice) % 4)};
	if (item->extra > 0) {
		fair_charge(&world->fair, got, item->extra, item->extra, world->now);
		naive_serve(naive, shadow, item->extra);
		shadow->extra += item->extra;
		naive_settle(naive, shadow);
	}
	if (naive->time && roll(dice) % 4) {
		item->expected = true;
		fair_expect(got, &item->job, 1 + item->extra, world->now);
	}
}

static void reference_end(struct world *world, struct naive *naive, int i, bool back) {
	struct fair_queue *queue = &world->queues[i];
	struct naive_queue *shadow = &naive->queues[i];
	struct naive_item *item = &shadow->items[shadow->running - 1];
	int64_t each = naive->time ? (int64_t)(world->now - item->start) : (int64_t)FAIR_TURN;
	fair_unexpect(&item->job);
	item->expected = false;
	if (item->extra > 0) {
		shadow->extra -= item->extra;
		if (back) {
			fair_give_back(&world->fair, queue, 0, item->extra, item->start, world->now);
			naive_unserve(naive, shadow, item->extra * each);
			naive_settle(naive, shadow);
		}
	}
	--shadow->running;
	if (back) {
		fair_give_back(&world->fair, queue, 1, 0, item->start, world->now);
		naive_unserve(naive, shadow, each);
	} else {
		fair_done(&world->fair, queue, item->extra, world->now);
	}
	naive_settle(naive, shadow);
}

static void reference_op(struct world *world, struct naive *naive, uint64_t *dice) {
	int i = (int)(roll(dice) % (uint64_t)world->n);
	struct fair_queue *queue = &world->queues[i];
	struct naive_queue *shadow = &naive->queues[i];
	uint64_t n = roll(dice) % 4;
	switch (roll(dice) % 14) {
	case 0: case 1: case 2:
		arrive(world, queue, n);
		shadow->backlog += n;
		break;
	case 3: case 4: case 5: case 6:
		reference_pick(world, naive, dice);
		return;
	case 7: case 8: case 9:
		if (queue->running > 0) {
			reference_end(world, naive, i, roll(dice) % 4 == 0);
		}
		return;
	case 10:
		fair_pause(&world->fair, queue, n == 0, world->now);
		shadow->paused = n == 0;
		break;
	case 11:
		if (queue->running > 0 && n > 0) {
			fair_charge(&world->fair, queue, n, 0, world->now);
			naive_serve(naive, shadow, (int64_t)n);
		}
		break;
	case 12:
		shadow->median = naive->time ? roll(dice) % 3 * 1000000 : 0;
		fair_learn(&world->fair, queue, shadow->median);
		break;
	default:
		n = queue->backlog ? roll(dice) % (queue->backlog + 1) : 0;
		fair_withdraw(&world->fair, queue, n, world->now);
		shadow->backlog -= n;
		break;
	}
	naive_settle(naive, shadow);
}

static void test_reference(void) {
	uint64_t dice = 42;
	for (int round = 0; round < (is_long() ? 4000 : 400); ++round) {
		struct world world;
		struct naive naive = {.time = round % 2, .slots = 1 + roll(&dice) % 8};
		world_init(&world, naive.time);
		world.fair.slots = (unsigned)naive.slots;
		int n = 1 + (int)(roll(&dice) % 6);
		for (int i = 0; i < n; ++i) {
			reference_queue(&world, &naive, &dice);
		}
		for (int step = 0; step < 300; ++step) {
			if (world.n < MOST && roll(&dice) % 64 == 0) {
				reference_queue(&world, &naive, &dice);
			}
			world.now += roll(&dice) % 3 ? 0 : roll(&dice) % 1000000;
			fair_peek(&world.fair, world.now); // the clock is kept within its bounds at each call, and not between
			naive_update(&naive, world.now);
			reference_op(&world, &naive, &dice);
			check_equal(world.fair.tokens, naive.tokens);
			for (const struct fair_tier *tier = world.fair.tiers; tier; tier = tier->next) {
				check_equal(tier->clock, naive.tiers[tier->priority].clock);
			}
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
		TEST("small worlds, all of them: two that want differ by a turn, and who is late waits a round", test_small_promises),
		TEST("small worlds, all of them: turns", test_small_turns),
		TEST("small worlds, all of them: priorities", test_small_tiers),
		TEST("small worlds, all of them: time", test_small_time),
		TEST("small worlds, all of them: wide items", test_small_wide),
		TEST("small worlds, all of them: items that are several turns", test_small_packs),
		TEST("random operations give what the definition gives", test_reference),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
