// The fair choice: whose turn is next among queues with weights, priorities and limits.
//
// Virtual time. A queue's virtual time is what it has had, by its weight, plus an offset; the lowest goes first. Each
// tier (queues of one priority) has a clock V that never goes back:
//
//	V = max(V, least virtual time of the queues that want to run)    taken at the event, not at the last pick
//
// A queue that begins to want (work arrives, its limit is lifted, it is resumed) is moved up to V if it lies behind. So
// absence earns no credit; and what a queue had while it was alone is no debt, as V went along. This is start-time fair
// queueing (Goyal, Vin, Cheng, SIGCOMM 1996) with the cost of an item counted when it is known: a turn for each slot it
// takes, or slot-time as it passes, so that a queue is charged for a slot while it sits on it.
//
// A queue that runs items but wants no more does not hold V back: whoever arrives would be placed at its low mark and
// owe nothing until it had overtaken all who have been waiting for long. Only when nobody wants to run does V follow
// those who run (time), or the queue that was picked last (turns: no trace may depend on when items end).
//
// Ties: under time the one with fewer slots taken per weight, so that a burst at the start spreads; then the one that
// was served longest ago, never served first; then in order of opening.
//
// [F1] A queue is in its tier's heap exactly while it can be picked and its virtual time stands still: always under
//      turns, under time while none of its items run. Enforced by place().
// [F2] It is in the list `special` exactly while it wants but is blocked, or (time) has running items: these are looked
//      at one by one, and there are never more of the second kind than slots. Enforced by place().
// [F3] The heap has room for all queues of the tier: fair_pick() and fair_done() never allocate. Enforced by tier_join().
// [F4] Virtual times are compared by their difference, so they may wrap.

#include "engine/fair.h"

#include "base/alloc.h"
#include "base/diag.h"

enum {
	LOW_EVERY = 16, // each 16th pick is the lowest tier's, so that it moves
};

struct fair_entry {
	uint64_t virt; // a copy of queue->virt: most comparisons need not touch the queue
	struct fair_queue *queue;
};

struct fair_tier {
	struct fair_tier *next;   // of lower priority
	int32_t priority;
	uint8_t number;           // from 1, in order of creation; 0: one of too many to be numbered
	uint64_t clock;           // V
	uint64_t neligible;
	struct fair_entry *heap;
	size_t nheap, heap_cap;
	size_t nqueues;
	struct list special;
	// of the queues in the heap, against `base`; only with track_lag
	double weights, weighted;
	uint64_t base;
};

static inline bool before(uint64_t a, uint64_t b) {
	return (int64_t)(a - b) < 0; // [F4]
}

// ---- heap ----

static inline bool entry_before(const struct fair_entry *a, const struct fair_entry *b) {
	if (a->virt != b->virt) {
		return before(a->virt, b->virt);
	}
	if (a->queue->served != b->queue->served) {
		return a->queue->served < b->queue->served;
	}
	return a->queue->seq < b->queue->seq;
}

static inline void heap_put(struct fair_tier *tier, size_t at, struct fair_entry entry) {
	tier->heap[at] = entry;
	entry.queue->heap_at = at + 1;
}

static void heap_up(struct fair_tier *tier, size_t at, struct fair_entry entry) {
	while (at > 0 && entry_before(&entry, &tier->heap[(at - 1) / 2])) {
		heap_put(tier, at, tier->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(tier, at, entry);
}

static void heap_down(struct fair_tier *tier, size_t at, struct fair_entry entry) {
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= tier->nheap) {
			break;
		}
		if (child + 1 < tier->nheap && entry_before(&tier->heap[child + 1], &tier->heap[child])) {
			++child;
		}
		if (!entry_before(&tier->heap[child], &entry)) {
			break;
		}
		heap_put(tier, at, tier->heap[child]);
		at = child;
	}
	heap_put(tier, at, entry);
}

static void lag_account(const struct fair *fair, struct fair_tier *tier, const struct fair_queue *queue, bool added) {
	if (!fair->track_lag) {
		return;
	}
	if (tier->nheap == (added ? 1 : 0)) { // the first or after the last: rounding errors do not live for ever
		tier->weights = tier->weighted = 0;
		tier->base = queue->virt;
	}
	if (added || tier->nheap > 0) {
		double weight = added ? queue->weight : -(double)queue->weight;
		tier->weights += weight;
		tier->weighted += weight * (double)(int64_t)(queue->virt - tier->base);
	}
}

static void heap_add(struct fair *fair, struct fair_tier *tier, struct fair_queue *queue) {
	++tier->nheap;
	heap_up(tier, tier->nheap - 1, (struct fair_entry){queue->virt, queue});
	lag_account(fair, tier, queue, /* added */ true);
}

static void heap_remove(struct fair *fair, struct fair_tier *tier, struct fair_queue *queue) {
	size_t at = queue->heap_at - 1;
	queue->heap_at = 0;
	struct fair_entry last = tier->heap[--tier->nheap];
	if (last.queue != queue) {
		if (at > 0 && entry_before(&last, &tier->heap[(at - 1) / 2])) {
			heap_up(tier, at, last);
		} else {
			heap_down(tier, at, last);
		}
	}
	lag_account(fair, tier, queue, /* added */ false);
}

// ---- virtual time ----

static inline void charge(struct fair_queue *queue, uint64_t units) {
	uint64_t total = queue->rem + units;
	queue->virt += total / queue->weight;
	queue->rem = (uint32_t)(total % queue->weight);
}

// As charge(queue, FAIR_TURN): each pick does it, and a division is slow.
static inline void charge_turn(struct fair_queue *queue) {
	queue->virt += queue->turn;
	queue->rem += queue->turn_rem;
	if (queue->rem >= queue->weight) {
		queue->rem -= queue->weight;
		++queue->virt;
	}
}

static void set_weight(struct fair_queue *queue, uint32_t weight) {
	queue->weight = weight;
	queue->turn = (uint32_t)(FAIR_TURN / weight);
	queue->turn_rem = (uint32_t)(FAIR_TURN % weight);
	queue->rem = 0;
}

static void refund(struct fair_queue *queue, uint64_t units) {
	uint32_t part = (uint32_t)(units % queue->weight);
	if (queue->rem < part) {
		queue->rem += queue->weight;
		--queue->virt;
	}
	queue->rem -= part;
	queue->virt -= units / queue->weight;
}

// Slot-time since `last`: running items charge their queue as time passes.
static inline uint64_t owing(const struct fair_queue *queue, uint64_t now) {
	return before(queue->last, now) ? (queue->running + queue->extra) * (now - queue->last) : 0;
}

static inline uint64_t virt_at(const struct fair *fair, const struct fair_queue *queue, uint64_t now) {
	return fair->time ? queue->virt + (queue->rem + owing(queue, now)) / queue->weight : queue->virt;
}

static inline void advance(const struct fair *fair, struct fair_queue *queue, uint64_t now) {
	if (fair->time) {
		charge(queue, owing(queue, now));
		if (before(queue->last, now)) {
			queue->last = now;
		}
	}
}

// Brings the tier's clock up to now and returns it.
static uint64_t clock_update(const struct fair *fair, struct fair_tier *tier, uint64_t now) {
	bool wanting = tier->nheap > 0, running = false;
	uint64_t least = wanting ? tier->heap[0].virt : 0, least_running = 0;
	list_for_each(&tier->special, at) {
		const struct fair_queue *queue = list_entry(at, struct fair_queue, special);
		uint64_t virt = virt_at(fair, queue, now);
		if (queue->wants && (!wanting || before(virt, least))) {
			least = virt;
			wanting = true;
		}
		if (!running || before(virt, least_running)) {
			least_running = virt;
			running = true;
		}
	}
	if (!wanting) {
		least = least_running;
	}
	if ((wanting || running) && before(tier->clock, least)) {
		tier->clock = least;
	}
	return tier->clock;
}

// Puts the queue where its state says it belongs [F1] [F2]; the clock is up to date.
static void place(struct fair *fair, struct fair_queue *queue) {
	struct fair_tier *tier = queue->tier;
	bool wants = queue->backlog > 0 && !queue->paused && (queue->limit == 0 || queue->running < queue->limit);
	if (wants && !queue->wants && before(queue->virt, tier->clock)) {
		queue->virt = tier->clock;
		queue->rem = 0;
	}
	queue->wants = wants;
	bool eligible = wants && !queue->blocked;
	bool moving = fair->time && queue->running > 0;
	if (eligible && !moving) {
		heap_add(fair, tier, queue);
	}
	if (moving || (wants && !eligible)) {
		list_push_back(&tier->special, &queue->special);
	}
	fair->neligible += eligible;
	tier->neligible += eligible;
}

// Takes the queue out of the heap and the list, so that its keys may change; place() follows.
static void unplace(struct fair *fair, struct fair_queue *queue, uint64_t now) {
	struct fair_tier *tier = queue->tier;
	clock_update(fair, tier, now);
	advance(fair, queue, now);
	bool eligible = queue->wants && !queue->blocked;
	fair->neligible -= eligible;
	tier->neligible -= eligible;
	if (queue->heap_at) {
		heap_remove(fair, tier, queue);
	}
	list_remove(&queue->special);
}

// ---- tiers ----

static struct fair_tier *tier_find(struct fair *fair, int32_t priority) {
	struct fair_tier **at = &fair->tiers;
	while (*at && (*at)->priority > priority) {
		at = &(*at)->next;
	}
	if (*at && (*at)->priority == priority) {
		return *at;
	}
	struct fair_tier *tier = NEW(struct fair_tier);
	tier->priority = priority;
	tier->number = fair->ntiers < UINT8_MAX ? ++fair->ntiers : 0;
	list_init(&tier->special);
	tier->next = *at;
	*at = tier;
	return tier;
}

static void tier_join(struct fair_tier *tier, struct fair_queue *queue) {
	++tier->nqueues;
	grow_array(&tier->heap, &tier->heap_cap, tier->nqueues, sizeof(tier->heap[0])); // [F3]
	queue->tier = tier;
}

// ---- the calls ----

void fair_init(struct fair *fair, bool time, bool track_lag) {
	*fair = (struct fair){.time = time, .track_lag = track_lag};
}

void fair_fini(struct fair *fair) {
	while (fair->tiers) {
		struct fair_tier *tier = fair->tiers;
		fair->tiers = tier->next;
		free(tier->heap);
		free(tier);
	}
}

void fair_add(struct fair *fair, struct fair_queue *queue, uint32_t weight, int32_t priority, uint32_t limit,
              const struct fair_tag *tag) {
	struct fair_tier *tier = tier_find(fair, priority);
	*queue = (struct fair_queue){.virt = tier->clock, .limit = limit, .seq = fair->nadded++};
	set_weight(queue, weight);
	if (tag && tag->tier != 0 && tag->tier == tier->number) {
		queue->virt = tag->virt;
	}
	list_init(&queue->special);
	tier_join(tier, queue);
}

struct fair_tag fair_remove(struct fair *fair, struct fair_queue *queue, uint64_t now) {
	verify(queue->backlog == 0 && queue->running == 0 && queue->extra == 0);
	unplace(fair, queue, now);
	struct fair_tier *tier = queue->tier;
	--tier->nqueues;
	queue->tier = NULL;
	bool ahead = before(tier->clock, queue->virt);
	return (struct fair_tag){.virt = queue->virt, .tier = ahead ? tier->number : 0};
}

void fair_set(struct fair *fair, struct fair_queue *queue, uint32_t weight, int32_t priority, uint32_t limit,
              uint64_t now) {
	unplace(fair, queue, now);
	if (queue->weight != weight) {
		set_weight(queue, weight);
	}
	queue->limit = limit;
	if (queue->tier->priority != priority) {
		struct fair_tier *old = queue->tier, *tier = tier_find(fair, priority);
		clock_update(fair, tier, now);
		// clocks of two tiers have nothing to do with each other: what it is ahead or behind goes along
		queue->virt = tier->clock + (queue->virt - old->clock);
		--old->nqueues;
		tier_join(tier, queue);
	}
	place(fair, queue);
}

void fair_arrive(struct fair *fair, struct fair_queue *queue, uint64_t n, uint64_t now) {
	if (queue->wants) { // nothing changes but the count
		queue->backlog += n;
		return;
	}
	unplace(fair, queue, now);
	queue->backlog += n;
	place(fair, queue);
}

void fair_withdraw(struct fair *fair, struct fair_queue *queue, uint64_t n, uint64_t now) {
	verify(n <= queue->backlog);
	unplace(fair, queue, now);
	queue->backlog -= n;
	place(fair, queue);
}

// Goes first: lower virtual time, fewer slots per weight, served longer ago, opened earlier.
static bool goes_first(const struct fair_queue *a, uint64_t virt_a, const struct fair_queue *b, uint64_t virt_b) {
	if (virt_a != virt_b) {
		return before(virt_a, virt_b);
	}
	uint64_t slots_a = (uint64_t)(a->running + a->extra) * b->weight;
	uint64_t slots_b = (uint64_t)(b->running + b->extra) * a->weight;
	if (slots_a != slots_b) {
		return slots_a < slots_b;
	}
	return a->served != b->served ? a->served < b->served : a->seq < b->seq;
}

static struct fair_tier *tier_pick(const struct fair *fair) {
	struct fair_tier *pick = NULL;
	bool lowest = (fair->npicks + 1) % LOW_EVERY == 0;
	for (struct fair_tier *tier = fair->tiers; tier; tier = tier->next) {
		if (tier->neligible > 0) {
			pick = tier;
			if (!lowest) {
				break;
			}
		}
	}
	return pick;
}

struct fair_queue *fair_peek(struct fair *fair, uint64_t now) {
	if (fair->neligible == 0) {
		return NULL;
	}
	const struct fair_tier *tier = tier_pick(fair);
	struct fair_queue *best = tier->nheap > 0 ? tier->heap[0].queue : NULL;
	uint64_t least = best ? best->virt : 0;
	list_for_each(&tier->special, at) {
		struct fair_queue *queue = list_entry(at, struct fair_queue, special);
		if (queue->wants && !queue->blocked) {
			uint64_t virt = virt_at(fair, queue, now);
			if (!best || goes_first(queue, virt, best, least)) {
				best = queue;
				least = virt;
			}
		}
	}
	return best;
}

// The common case of turns: the queue stays at the root's place or sinks. Returns false if it must be placed anew.
static bool pick_in_place(const struct fair *fair, struct fair_queue *queue) {
	struct fair_tier *tier = queue->tier;
	if (fair->time || fair->track_lag || queue->backlog == 1 || (queue->limit && queue->running + 1 >= queue->limit)) {
		return false;
	}
	if (before(tier->clock, queue->virt) && list_is_empty(&tier->special)) {
		tier->clock = queue->virt; // it is the root, so it is the least
	}
	--queue->backlog;
	++queue->running;
	charge_turn(queue);
	heap_down(tier, queue->heap_at - 1, (struct fair_entry){queue->virt, queue});
	return true;
}

// Under turns, after a charge: if nobody waits, what the queue had is no debt, whenever its item ends.
static void clock_follow(const struct fair *fair, const struct fair_queue *queue) {
	struct fair_tier *tier = queue->tier;
	if (!fair->time && tier->nheap == 0 && list_is_empty(&tier->special) && before(tier->clock, queue->virt)) {
		tier->clock = queue->virt;
	}
}

struct fair_queue *fair_pick(struct fair *fair, uint64_t now) {
	struct fair_queue *queue = fair_peek(fair, now);
	if (!queue) {
		return NULL;
	}
	queue->served = ++fair->npicks;
	if (pick_in_place(fair, queue)) {
		return queue;
	}
	unplace(fair, queue, now);
	--queue->backlog;
	++queue->running;
	if (!fair->time) {
		charge_turn(queue);
	}
	place(fair, queue);
	clock_follow(fair, queue);
	return queue;
}

void fair_done(struct fair *fair, struct fair_queue *queue, uint64_t now) {
	verify(queue->running > 0);
	if (!fair->time && (queue->limit == 0 || queue->running < queue->limit)) {
		--queue->running; // changes nobody's place
		return;
	}
	unplace(fair, queue, now);
	--queue->running;
	place(fair, queue);
}

void fair_give_back(struct fair *fair, struct fair_queue *queue, uint64_t start, uint64_t now) {
	verify(queue->running > 0);
	unplace(fair, queue, now);
	--queue->running;
	if (!fair->time) {
		refund(queue, FAIR_TURN);
	} else if (before(start, now)) {
		refund(queue, now - start);
	}
	place(fair, queue);
}

void fair_join(struct fair *fair, struct fair_queue *queue, uint64_t n, uint64_t now) {
	verify(queue->running > 0 && n <= queue->backlog);
	unplace(fair, queue, now);
	queue->backlog -= n;
	if (!fair->time) {
		charge(queue, n * FAIR_TURN);
	}
	place(fair, queue);
	clock_follow(fair, queue);
}

void fair_widen(struct fair *fair, struct fair_queue *queue, uint32_t extra, uint64_t now) {
	verify(queue->running > 0);
	unplace(fair, queue, now);
	queue->extra += extra;
	if (!fair->time) {
		charge(queue, extra * FAIR_TURN);
	}
	place(fair, queue);
	clock_follow(fair, queue);
}

void fair_narrow(struct fair *fair, struct fair_queue *queue, uint32_t extra, uint64_t now) {
	verify(queue->extra >= extra);
	if (fair->time) {
		unplace(fair, queue, now);
		queue->extra -= extra;
		place(fair, queue);
	} else {
		queue->extra -= extra; // was charged by the turn, so it changes nobody's place
	}
}

void fair_widen_back(struct fair *fair, struct fair_queue *queue, uint32_t extra, uint64_t start, uint64_t now) {
	verify(queue->extra >= extra);
	unplace(fair, queue, now);
	queue->extra -= extra;
	if (!fair->time) {
		refund(queue, extra * FAIR_TURN);
	} else if (before(start, now)) {
		refund(queue, extra * (now - start));
	}
	place(fair, queue);
}

void fair_pause(struct fair *fair, struct fair_queue *queue, bool paused, uint64_t now) {
	if (queue->paused != paused) {
		unplace(fair, queue, now);
		queue->paused = paused;
		place(fair, queue);
	}
}

void fair_block(struct fair *fair, struct fair_queue *queue, bool blocked, uint64_t now) {
	if (queue->blocked != blocked) {
		unplace(fair, queue, now);
		queue->blocked = blocked;
		place(fair, queue);
	}
}

double fair_virt(const struct fair *fair, const struct fair_queue *queue, uint64_t now) {
	return (double)virt_at(fair, queue, now) / (fair->time ? 1e9 : (double)FAIR_TURN);
}

double fair_lag(const struct fair *fair, const struct fair_queue *queue, uint64_t now) {
	const struct fair_tier *tier = queue->tier;
	verify(fair->track_lag);
	uint64_t base = tier->nheap > 0 ? tier->base : tier->clock;
	double weights = tier->nheap > 0 ? tier->weights : 0, weighted = tier->nheap > 0 ? tier->weighted : 0;
	list_for_each(&tier->special, at) {
		const struct fair_queue *other = list_entry(at, struct fair_queue, special);
		if (other->wants) {
			weights += other->weight;
			weighted += other->weight * (double)(int64_t)(virt_at(fair, other, now) - base);
		}
	}
	double mine = (double)(int64_t)(virt_at(fair, queue, now) - base);
	double lag = weights > 0 ? queue->weight * (weighted / weights - mine) : 0;
	return lag / (fair->time ? 1e9 : (double)FAIR_TURN);
}
