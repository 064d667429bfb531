// The fair choice: whose turn is next among queues with weights, priorities and limits.
//
// Virtual time. A queue's virtual time is its service, divided by its weight, plus an offset; the queue with the lowest one goes first. Each tier
// (the queues of one priority) has a clock V, at which a queue is placed when it begins to want, that is, to have work that it may run.
//
//	V advances by each charge, divided by the sum of the weights of all queues that want: as fast as a queue with a fair share.
//	V stays between the least virtual time of the queues that want, and a quantum above that: a turn, or under time the longest median.
//	While no queue wants, V goes up to the greatest virtual time: no queue waited, so none is in debt.
//
// A queue that begins to want (work arrives, it is resumed) is moved up to V if it lies behind: absence earns no credit. A queue that its limit or
// its rate had held back keeps one turn of what it was owed. So new queues are placed ever further on, and however many of them come, a queue that
// stays gets the share of one queue among those that want. An item is charged when its cost is known: a turn for each slot at its pick, or slot-time
// as it passes. The promises and the proof: docs/design.md, "The rule of fairness".
//
// Under time, queues are compared by their virtual time plus what their running items are still expected to take, by the median. Otherwise all slots
// would go to one queue while its running items are not charged yet: a convoy.
//
// Ties: under time the queue with fewer slots taken per weight goes first, so that a burst at the start spreads; then a queue that was never served,
// then the queue that was served longest ago, then the queue that was opened first. Under turns nothing depends on when items end.
//
// All tiers below the highest together get a sixteenth of what is charged, as tokens. When the tokens make a whole turn (under time: more than the
// running items of these tiers are expected to take), the lower tier that was served longest ago is picked.
//
// [F1] A queue is in its tier's heap BY_VIRT exactly while it can be picked and its virtual time stands still: under turns
//      it always does, under time while none of the queue's items run. Enforced by place().
// [F2] A queue is in the list `special` exactly while, under time, it has running items: each pick looks at these queues one by one, and there are
//      never more of them than slots. Enforced by place().
// [F3] The heaps have room for all queues of the tier: fair_pick() and fair_done() never allocate. Enforced by tier_join().
// [F4] Virtual times are compared by their difference, so they may wrap.
// [F5] A queue is in the heap BY_DUE exactly while it has work that, as of the last place(), only its rate keeps from running. A queue leaves
//      this heap by fair_release(), not by the mere passage of time. Enforced by place().

#include "engine/fair.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <limits.h>

enum {
	LOWER_PART = 16, // the lower tiers together get a sixteenth of what is charged
};

_Static_assert(FAIR_TURN % LOWER_PART == 0, "tokens need no remainder under turns");

static inline bool before(uint64_t a, uint64_t b) {
	return (int64_t)(a - b) < 0; // [F4]
}

// ---- heap ----

static inline bool entry_before(const struct fair_entry *a, const struct fair_entry *b) {
	if (a->key != b->key) {
		return before(a->key, b->key);
	}
	return a->queue->served != b->queue->served ? a->queue->served < b->queue->served : a->queue->seq < b->queue->seq;
}

// The functions of the heap are inlined, because each caller passes a constant `by`, and because they are a good part of what a pick costs.

static FP_INLINE void heap_put(struct fair_heap *heap, int by, size_t at, struct fair_entry entry) {
	heap->entries[at] = entry;
	entry.queue->heap_at[by] = (uint32_t)(at + 1);
}

static FP_INLINE void heap_up(struct fair_heap *heap, int by, size_t at, struct fair_entry entry) {
	while (at > 0 && entry_before(&entry, &heap->entries[(at - 1) / 2])) {
		heap_put(heap, by, at, heap->entries[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(heap, by, at, entry);
}

static FP_INLINE void heap_down(struct fair_heap *heap, int by, size_t at, struct fair_entry entry) {
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= heap->n) {
			break;
		}
		if (child + 1 < heap->n && entry_before(&heap->entries[child + 1], &heap->entries[child])) {
			++child;
		}
		if (!entry_before(&heap->entries[child], &entry)) {
			break;
		}
		heap_put(heap, by, at, heap->entries[child]);
		at = child;
	}
	heap_put(heap, by, at, entry);
}

static FP_INLINE void heap_add(struct fair_tier *tier, int by, struct fair_queue *queue, uint64_t key) {
	struct fair_heap *heap = &tier->heaps[by];
	++heap->n;
	heap_up(heap, by, heap->n - 1, (struct fair_entry){key, queue});
}

static FP_INLINE void heap_remove(struct fair_tier *tier, int by, struct fair_queue *queue) {
	struct fair_heap *heap = &tier->heaps[by];
	size_t at = queue->heap_at[by] - 1;
	queue->heap_at[by] = 0;
	struct fair_entry last = heap->entries[--heap->n];
	if (last.queue == queue) {
		return;
	}
	if (at > 0 && entry_before(&last, &heap->entries[(at - 1) / 2])) {
		heap_up(heap, by, at, last);
	} else {
		heap_down(heap, by, at, last);
	}
}

// Updates the sums for fair_lag(), after the queue was added to the heap BY_VIRT or removed from it.
static void lag_account(struct fair_tier *tier, const struct fair_queue *queue, bool added) {
	size_t n = tier->heaps[BY_VIRT].n;
	if (n == (added ? 1 : 0)) { // the first queue came, or the last has left: clears the rounding errors
		tier->weights = tier->weighted = 0;
		tier->base = queue->virt;
	}
	if (added || n > 0) {
		double weight = added ? queue->weight : -(double)queue->weight;
		tier->weights += weight;
		tier->weighted += weight * (double)(int64_t)(queue->virt - tier->base);
	}
}

// ---- virtual time ----

// A sum of quotients units / weight is kept as a whole number and a remainder below the weight, which is added to the next units before they are
// divided. The weight of a tier's clock, a sum of weights, may shrink: then the remainder may be above this weight until the next addition.

static inline void sum_add(uint64_t *sum, uint64_t *rem, uint64_t units, uint64_t weight) {
	uint64_t total = *rem + units;
	*sum += total / weight;
	*rem = total % weight;
}

static void sum_subtract(uint64_t *sum, uint64_t *rem, uint64_t units, uint64_t weight) {
	uint64_t part = units % weight;
	sum_add(sum, rem, 0, weight);
	if (*rem < part) {
		*rem += weight;
		--*sum;
	}
	*rem -= part;
	*sum -= units / weight;
}

static void set_weight(struct fair_queue *queue, uint32_t weight) {
	queue->weight = weight < 1 ? 1 : weight > FAIR_MOST_WEIGHT ? FAIR_MOST_WEIGHT : weight;
	queue->rem = 0;
}

// Returns the slot-time since queue->last that has not been charged yet: running items charge their queue as time passes.
static inline uint64_t owing(const struct fair_queue *queue, uint64_t now) {
	return before(queue->last, now) ? (queue->running + queue->extra) * (now - queue->last) : 0;
}

static inline uint64_t virt_at(const struct fair *fair, const struct fair_queue *queue, uint64_t now) {
	return fair->time ? queue->virt + (queue->rem + owing(queue, now)) / queue->weight : queue->virt;
}

// Returns the slot-time that the queue's running items are still expected to take.
static uint64_t expected(const struct fair_queue *queue, uint64_t now) {
	uint64_t sum = 0;
	for (const struct fair_job *job = queue->jobs; job; job = job->next) {
		uint64_t end = job->start + queue->median;
		sum += before(now, end) ? job->slots * (end - now) : 0;
	}
	return sum;
}

static inline void advance(const struct fair *fair, struct fair_queue *queue, uint64_t now) {
	if (fair->time) {
		sum_add(&queue->virt, &queue->rem, owing(queue, now), queue->weight);
		if (before(queue->last, now)) {
			queue->last = now;
		}
	}
}

static inline uint64_t longest_median(const struct fair_tier *tier) {
	const struct fair_heap *heap = &tier->heaps[BY_MEDIAN];
	return heap->n > 0 ? 0 - heap->entries[0].key : 0;
}

// ---- the tier's clock ----

// Brings the clock V within the bounds that the queues that want a turn set for it; if no queue wants one, raises V to the greatest virtual time.
static void clock_clamp(const struct fair *fair, struct fair_tier *tier) {
	const struct fair_heap *heap = &tier->heaps[BY_VIRT];
	bool wanting = heap->n > 0;
	uint64_t least = wanting ? heap->entries[0].key : 0;
	list_for_each_entry(&tier->special, struct fair_queue, queue, special) {
		uint64_t virt = virt_at(fair, queue, fair->last);
		if (before(tier->greatest, virt)) {
			tier->greatest = virt;
		}
		if (queue->wants && (!wanting || before(virt, least))) {
			least = virt;
			wanting = true;
		}
	}
	uint64_t most = least + (fair->time ? longest_median(tier) : FAIR_TURN);
	if (wanting && before(tier->clock, least)) {
		tier->clock = least;
	} else if (wanting && before(most, tier->clock)) {
		tier->clock = most;
	} else if (!wanting && before(tier->clock, tier->greatest)) {
		tier->clock = tier->greatest;
	}
}

// ---- tokens of the lower tiers ----

// Limits the tokens that the lower tiers save: to a turn (under time: the longest median for each slot), or to 0 while at most one tier has work.
static void tokens_cap(struct fair *fair) {
	int64_t cap = 0;
	if (fair->busy_tiers > 1 && !fair->time) {
		cap = (int64_t)FAIR_TURN;
	} else if (fair->busy_tiers > 1) {
		uint64_t longest = 0;
		for (const struct fair_tier *tier = fair->tiers; tier; tier = tier->next) {
			longest = longest_median(tier) > longest ? longest_median(tier) : longest;
		}
		cap = (int64_t)(longest * (fair->slots > 0 ? fair->slots : 1));
	}
	if (fair->tokens > cap) {
		fair->tokens = cap;
		fair->tokens_rem = 0;
	}
}

// Adds a sixteenth of `units`, the service that was charged, to the tokens, and subtracts `lower`, the part of it that the lower tiers have got.
static void tokens_add(struct fair *fair, uint64_t units, uint64_t lower) {
	if (fair->busy_tiers > 1 || fair->tokens < 0 || lower > 0) {
		uint64_t total = fair->tokens_rem + units;
		fair->tokens += (int64_t)(total / LOWER_PART);
		fair->tokens_rem = (uint32_t)(total % LOWER_PART);
	}
	fair->tokens -= (int64_t)lower;
	tokens_cap(fair);
}

// Returns the highest tier from which a queue can be picked, or NULL.
static struct fair_tier *tier_top(const struct fair *fair) {
	struct fair_tier *tier = fair->tiers;
	while (tier && tier->neligible == 0) {
		tier = tier->next;
	}
	return tier;
}

static bool is_lower(const struct fair *fair, const struct fair_tier *tier) {
	const struct fair_tier *top = tier_top(fair);
	return top && top->priority > tier->priority;
}

// ---- time ----

// Under time: advances the clocks of the tiers, and the tokens, to the time `now`.
static void pass(struct fair *fair, uint64_t now) {
	if (!fair->time || !before(fair->last, now)) {
		return;
	}
	uint64_t elapsed = now - fair->last, all = 0, lower = 0;
	bool below = false; // the tier is below the highest tier that has a queue to pick
	for (struct fair_tier *tier = fair->tiers; tier; tier = tier->next) {
		if (tier->busy > 0 && tier->wanting > 0) {
			sum_add(&tier->clock, &tier->rem, tier->busy * elapsed, tier->wanting);
		}
		all += tier->busy;
		lower += below ? tier->busy : 0;
		below |= tier->neligible > 0;
	}
	tokens_add(fair, all * elapsed, lower * elapsed);
	fair->last = now;
	for (struct fair_tier *tier = fair->tiers; tier; tier = tier->next) {
		clock_clamp(fair, tier);
	}
}

// ---- places ----

// To be called when the queue was served, or no longer wants: records the wait that ends, if it was the queue's longest.
static inline void wait_ends(struct fair_queue *queue, uint64_t now) {
	if (before(queue->since, now) && queue->longest_wait < now - queue->since) {
		queue->longest_wait = now - queue->since;
	}
	queue->since = now;
}

// To be called when the queue begins to want, or to have work that only its limit or rate holds back: moves it up to V if it lies behind.
static void begin(const struct fair *fair, struct fair_queue *queue, bool was_at_limit) {
	uint64_t least = queue->tier->clock;
	if (was_at_limit) {
		least -= (fair->time ? queue->median : FAIR_TURN) / queue->weight;
	}
	if (before(queue->virt, least)) {
		queue->virt = least;
		queue->rem = 0;
	}
}

static void count_eligible(struct fair *fair, struct fair_tier *tier, bool come) {
	tier->neligible += come ? 1 : UINT64_MAX;
	if (tier->neligible == (come ? 1 : 0)) {
		fair->busy_tiers += come ? 1 : UINT_MAX;
	}
}

// Puts the queue where its state says it belongs [F1] [F2] [F5].
static void place(struct fair *fair, struct fair_queue *queue, uint64_t now) {
	struct fair_tier *tier = queue->tier;
	bool has = queue->backlog > 0 && !queue->paused, was_at_limit = queue->at_limit, wanted = queue->wants;
	queue->at_limit = has && queue->limit > 0 && queue->running >= queue->limit;
	if (queue->interval > 0 && has && !queue->at_limit && queue->exempt == 0 && before(now, queue->due)) { // only its rate holds its items back
		queue->at_limit = true;
		heap_add(tier, BY_DUE, queue, queue->due);
	}
	queue->wants = has && !queue->at_limit;
	if (!wanted && (queue->wants || (queue->at_limit && !was_at_limit))) {
		begin(fair, queue, was_at_limit);
	}
	if (wanted && !queue->wants) {
		wait_ends(queue, now);
	} else if (!wanted) {
		queue->since = now;
	}
	bool moving = fair->time && queue->running > 0;
	if (queue->wants && !moving) {
		heap_add(tier, BY_VIRT, queue, queue->virt);
		lag_account(tier, queue, /* added */ true);
	}
	if (moving) {
		list_push_back(&tier->special, &queue->special);
	}
	if (queue->wants) {
		count_eligible(fair, tier, true);
	}
	tier->wanting += queue->wants ? queue->weight : 0;
	tier->busy += fair->time ? queue->running + queue->extra : 0;
	if (before(tier->greatest, queue->virt)) {
		tier->greatest = queue->virt;
	}
	clock_clamp(fair, tier);
	if (fair->tokens > 0 && fair->busy_tiers < 2) {
		tokens_cap(fair);
	}
}

// Takes the queue out of its heaps and of the list `special`, so that its keys may change; place() puts it back.
static void unplace(struct fair *fair, struct fair_queue *queue, uint64_t now) {
	struct fair_tier *tier = queue->tier;
	pass(fair, now);
	advance(fair, queue, now);
	if (queue->wants) {
		count_eligible(fair, tier, false);
	}
	tier->wanting -= queue->wants ? queue->weight : 0;
	tier->busy -= fair->time ? queue->running + queue->extra : 0;
	if (queue->heap_at[BY_VIRT]) {
		heap_remove(tier, BY_VIRT, queue);
		lag_account(tier, queue, /* added */ false);
	}
	if (queue->heap_at[BY_DUE]) {
		heap_remove(tier, BY_DUE, queue);
	}
	list_remove(&queue->special);
}

// Charges the queue, which unplace() has taken out, for `turns` turns; under time does nothing, as slot-time is charged as it passes.
static void serve(const struct fair *fair, struct fair_queue *queue, uint64_t turns) {
	struct fair_tier *tier = queue->tier;
	if (!fair->time) {
		sum_add(&tier->clock, &tier->rem, turns * FAIR_TURN, tier->wanting + queue->weight);
		sum_add(&queue->virt, &queue->rem, turns * FAIR_TURN, queue->weight);
	}
}

// Takes back `units` of what the queue, which unplace() has taken out, was charged.
static void unserve(struct fair *fair, struct fair_queue *queue, uint64_t units) {
	struct fair_tier *tier = queue->tier;
	sum_subtract(&queue->virt, &queue->rem, units, queue->weight);
	sum_subtract(&tier->clock, &tier->rem, units, tier->wanting + queue->weight);
	bool lower = is_lower(fair, tier);
	if (lower || fair->busy_tiers > 1) {
		fair->tokens += (int64_t)(lower ? units : 0) - (int64_t)(units / LOWER_PART);
		tokens_cap(fair);
	}
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

static void heap_reserve(struct fair_heap *heap, size_t n) {
	grow_array(&heap->entries, &heap->cap, n, sizeof(heap->entries[0]));
}

static void tier_join(const struct fair *fair, struct fair_tier *tier, struct fair_queue *queue) {
	++tier->nqueues;
	heap_reserve(&tier->heaps[BY_VIRT], tier->nqueues); // [F3]
	if (fair->time) {
		heap_reserve(&tier->heaps[BY_MEDIAN], tier->nqueues);
	}
	if (queue->interval > 0) {
		heap_reserve(&tier->heaps[BY_DUE], tier->nqueues);
	}
	queue->tier = tier;
	if (queue->median > 0) {
		heap_add(tier, BY_MEDIAN, queue, 0 - queue->median);
	}
}

static void tier_leave(struct fair_queue *queue) {
	struct fair_tier *tier = queue->tier;
	if (queue->heap_at[BY_MEDIAN]) {
		heap_remove(tier, BY_MEDIAN, queue);
	}
	--tier->nqueues;
	queue->tier = NULL;
}

// ---- the calls ----

void fair_init(struct fair *fair, bool time) {
	*fair = (struct fair){.time = time};
}

void fair_fini(struct fair *fair) {
	while (fair->tiers) {
		struct fair_tier *tier = fair->tiers;
		fair->tiers = tier->next;
		for (int i = 0; i < HEAPS; ++i) {
			free(tier->heaps[i].entries);
		}
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
	queue->due = tag ? tag->due : 0;
	if (before(tier->greatest, queue->virt)) {
		tier->greatest = queue->virt;
	}
	list_init(&queue->special);
	tier_join(fair, tier, queue);
}

struct fair_tag fair_remove(struct fair *fair, struct fair_queue *queue, uint64_t now) {
	verify(queue->backlog == 0 && queue->running == 0 && queue->extra == 0);
	unplace(fair, queue, now);
	struct fair_tier *tier = queue->tier;
	tier_leave(queue);
	bool ahead = before(tier->clock, queue->virt);
	return (struct fair_tag){.virt = queue->virt, .due = queue->due, .tier = ahead ? tier->number : 0};
}

bool fair_has_passed(const struct fair *fair, struct fair_tag tag) {
	const struct fair_tier *tier = tag.tier != 0 ? fair->tiers : NULL;
	while (tier && tier->number != tag.tier) {
		tier = tier->next;
	}
	return !tier || !before(tier->clock, tag.virt);
}

void fair_set(struct fair *fair, struct fair_queue *queue, uint32_t weight, int32_t priority, uint32_t limit, uint64_t interval, uint64_t now) {
	struct fair_tier *old = queue->tier, *tier = tier_find(fair, priority);
	unplace(fair, queue, now);
	if (queue->weight != weight) {
		set_weight(queue, weight);
	}
	queue->limit = limit;
	queue->interval = interval;
	if (tier != old) {
		clock_clamp(fair, old);
		// the clocks of two tiers are independent: the queue keeps its distance from the clock of its tier
		queue->virt = tier->clock + (queue->virt - old->clock);
	}
	tier_leave(queue);
	tier_join(fair, tier, queue); // also if the tier stays, as a queue that gets a rate needs room in the heap BY_DUE
	place(fair, queue, now);
}

void fair_set_due(struct fair *fair, struct fair_queue *queue, uint64_t due, uint64_t now) {
	unplace(fair, queue, now);
	queue->due = due;
	place(fair, queue, now);
}

void fair_release(struct fair *fair, uint64_t now) {
	for (struct fair_tier *tier = fair->tiers; tier; tier = tier->next) {
		const struct fair_heap *heap = &tier->heaps[BY_DUE];
		while (heap->n > 0 && !before(now, heap->entries[0].key)) {
			struct fair_queue *queue = heap->entries[0].queue;
			unplace(fair, queue, now);
			place(fair, queue, now);
		}
	}
}

uint64_t fair_next_due(const struct fair *fair) {
	uint64_t first = UINT64_MAX;
	for (const struct fair_tier *tier = fair->tiers; tier; tier = tier->next) {
		const struct fair_heap *heap = &tier->heaps[BY_DUE];
		first = heap->n > 0 && heap->entries[0].key < first ? heap->entries[0].key : first;
	}
	return first;
}

void fair_arrive(struct fair *fair, struct fair_queue *queue, uint64_t n, uint64_t now) {
	if (queue->wants) { // nothing changes but the count
		queue->backlog += n;
		return;
	}
	unplace(fair, queue, now);
	queue->backlog += n;
	place(fair, queue, now);
}

void fair_arrive_exempt(struct fair *fair, struct fair_queue *queue, uint64_t now) {
	++queue->exempt;
	fair_arrive(fair, queue, 1, now);
}

void fair_withdraw(struct fair *fair, struct fair_queue *queue, uint64_t n, uint64_t now) {
	verify(n <= queue->backlog);
	unplace(fair, queue, now);
	queue->backlog -= n;
	queue->exempt = queue->exempt < queue->backlog ? queue->exempt : queue->backlog;
	place(fair, queue, now);
}

// Returns whether `a` goes before `b`: by its lower virtual time, then fewer slots per weight, an earlier last turn, an earlier opening.
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

// Returns the highest tier with a queue to pick; or, if the lower tiers have their turn, the one of these that was served longest ago.
static struct fair_tier *tier_pick(const struct fair *fair, uint64_t now) {
	struct fair_tier *top = tier_top(fair), *lower = NULL;
	if (fair->busy_tiers < 2) {
		return top;
	}
	int64_t due = fair->tokens;
	for (struct fair_tier *tier = top->next; tier; tier = tier->next) {
		if (tier->neligible > 0 && (!lower || tier->served < lower->served)) {
			lower = tier;
		}
		list_for_each_entry(&tier->special, struct fair_queue, queue, special) {
			due -= fair->time ? (int64_t)expected(queue, now) : 0;
		}
	}
	bool turn = fair->time ? due > 0 : due + (int64_t)(FAIR_TURN / LOWER_PART) >= (int64_t)FAIR_TURN; // counting the tokens that this pick will bring
	return turn ? lower : top;
}

// Returns the first queue that the filter lets through, among the FAIR_PEEK_MAX entries nearest the top; without a filter the first queue of all.
static struct fair_queue *heap_find(const struct fair_heap *heap, fair_filter_fn *filter, const void *arg) {
	const struct fair_entry *best = NULL;
	for (size_t at = 0; at < heap->n && at < (filter ? FAIR_PEEK_MAX : 1); ++at) {
		const struct fair_entry *entry = &heap->entries[at];
		if ((!best || entry_before(entry, best)) && (!filter || filter(arg, entry->queue))) {
			best = entry;
		}
	}
	return best ? best->queue : NULL;
}

// Returns the queue of the tier that goes first, among those that the filter lets through (without a filter: all); or NULL.
static FP_INLINE struct fair_queue *tier_peek(const struct fair_tier *tier, fair_filter_fn *filter, const void *arg, uint64_t now) {
	struct fair_queue *best = heap_find(&tier->heaps[BY_VIRT], filter, arg);
	uint64_t least = best ? best->virt : 0;
	list_for_each_entry(&tier->special, struct fair_queue, queue, special) {
		if (queue->wants && (!filter || filter(arg, queue))) {
			uint64_t key = queue->virt + (queue->rem + owing(queue, now) + expected(queue, now)) / queue->weight;
			if (!best || goes_first(queue, key, best, least)) {
				best = queue;
				least = key;
			}
		}
	}
	return best;
}

struct fair_queue *fair_peek(struct fair *fair, uint64_t now) {
	pass(fair, now);
	return fair_is_eligible(fair) ? tier_peek(tier_pick(fair, now), NULL, NULL, now) : NULL;
}

struct fair_queue *fair_peek_filtered(struct fair *fair, fair_filter_fn *filter, const void *arg, uint64_t now) {
	pass(fair, now);
	struct fair_queue *best = NULL;
	for (const struct fair_tier *tier = fair->tiers; tier && !best; tier = tier->next) {
		best = tier->neligible > 0 ? tier_peek(tier, filter, arg, now) : NULL;
	}
	return best;
}

// Counts tokens for a queue of the tier, which is about to be served `turns` turns; under time does nothing.
static void tokens_turn(struct fair *fair, const struct fair_tier *tier, uint64_t turns) {
	if (!fair->time && fair->tiers->next) {
		tokens_add(fair, turns * FAIR_TURN, is_lower(fair, tier) ? turns * FAIR_TURN : 0);
	}
}

// Lets the pick take an exempt item only if no token has come or all items are exempt, so that they cannot starve the others; else takes the token.
static void take_token(struct fair_queue *queue, uint64_t now) {
	bool is_early = queue->interval > 0 && before(now, queue->due);
	queue->picks_exempt = queue->exempt > 0 && (is_early || queue->exempt == queue->backlog);
	if (queue->picks_exempt) {
		--queue->exempt;
	} else if (queue->interval > 0) {
		queue->due = now + queue->interval;
	}
}

void fair_take(struct fair *fair, struct fair_queue *queue, uint64_t now) {
	verify(queue->backlog > 0);
	tokens_turn(fair, queue->tier, 1);
	queue->served = queue->tier->served = ++fair->npicks;
	wait_ends(queue, now);
	unplace(fair, queue, now);
	take_token(queue, now);
	--queue->backlog;
	++queue->running;
	serve(fair, queue, 1);
	place(fair, queue, now);
}

struct fair_queue *fair_pick(struct fair *fair, uint64_t now) {
	struct fair_queue *queue = fair_peek(fair, now);
	if (queue) {
		fair_take(fair, queue, now);
	}
	return queue;
}

// Frees the slots of `items` items, and `extra` slots. The queue gets back what it was charged for `back` of these slots since `start`.
static void release(struct fair *fair, struct fair_queue *queue, uint32_t items, uint32_t extra, uint64_t back, uint64_t start, uint64_t now) {
	verify(queue->running >= items && queue->extra >= extra);
	unplace(fair, queue, now);
	queue->running -= items;
	queue->extra -= extra;
	if (back > 0) {
		unserve(fair, queue, back * (!fair->time ? FAIR_TURN : before(start, now) ? now - start : 0));
	}
	place(fair, queue, now);
}

void fair_done(struct fair *fair, struct fair_queue *queue, uint32_t extra, uint64_t now) {
	release(fair, queue, 1, extra, 0, 0, now);
}

void fair_give_back(struct fair *fair, struct fair_queue *queue, uint32_t items, uint32_t extra, uint64_t start, uint64_t now) {
	release(fair, queue, items, extra, items + extra, start, now);
}

void fair_charge(struct fair *fair, struct fair_queue *queue, uint64_t turns, uint32_t extra, uint64_t now) {
	verify(queue->running > 0);
	tokens_turn(fair, queue->tier, turns);
	unplace(fair, queue, now);
	queue->extra += extra;
	serve(fair, queue, turns);
	place(fair, queue, now);
}

void fair_correct(struct fair *fair, struct fair_queue *queue, uint32_t slots, int64_t more, uint64_t now) {
	if (!fair->time || more == 0) {
		return;
	}
	unplace(fair, queue, now);
	if (more < 0) {
		unserve(fair, queue, slots * (uint64_t)-more);
	} else {
		uint64_t units = slots * (uint64_t)more;
		tokens_add(fair, units, is_lower(fair, queue->tier) ? units : 0);
		sum_add(&queue->tier->clock, &queue->tier->rem, units, queue->tier->wanting + queue->weight);
		sum_add(&queue->virt, &queue->rem, units, queue->weight);
	}
	place(fair, queue, now);
}

void fair_resume(struct fair *fair, struct fair_queue *queue, uint32_t extra, uint64_t now) {
	unplace(fair, queue, now);
	++queue->running;
	queue->extra += extra;
	place(fair, queue, now);
}

void fair_learn(struct fair *fair, struct fair_queue *queue, uint64_t median) {
	if (fair->time && median != queue->median) {
		if (queue->heap_at[BY_MEDIAN]) {
			heap_remove(queue->tier, BY_MEDIAN, queue);
		}
		queue->median = median;
		if (median > 0) {
			heap_add(queue->tier, BY_MEDIAN, queue, 0 - median);
		}
		clock_clamp(fair, queue->tier);
	}
}

void fair_expect(struct fair_queue *queue, struct fair_job *job, uint32_t slots, uint64_t now) {
	*job = (struct fair_job){.next = queue->jobs, .link = &queue->jobs, .start = now, .slots = slots};
	if (job->next) {
		job->next->link = &job->next;
	}
	queue->jobs = job;
}

void fair_unexpect(struct fair_job *job) {
	if (job->link) {
		*job->link = job->next;
		if (job->next) {
			job->next->link = job->link;
		}
		job->link = NULL;
	}
}

void fair_pause(struct fair *fair, struct fair_queue *queue, bool paused, uint64_t now) {
	if (queue->paused != paused) {
		unplace(fair, queue, now);
		queue->paused = paused;
		place(fair, queue, now);
	}
}

double fair_virt(const struct fair *fair, const struct fair_queue *queue, uint64_t now) {
	return (double)virt_at(fair, queue, now) / (fair->time ? 1e9 : (double)FAIR_TURN);
}

double fair_lag(const struct fair *fair, const struct fair_queue *queue, uint64_t now) {
	const struct fair_tier *tier = queue->tier;
	bool any = tier->heaps[BY_VIRT].n > 0;
	uint64_t base = any ? tier->base : tier->clock;
	double weights = any ? tier->weights : 0, weighted = any ? tier->weighted : 0;
	list_for_each_entry(&tier->special, struct fair_queue, other, special) {
		if (other->wants) {
			weights += other->weight;
			weighted += other->weight * (double)(int64_t)(virt_at(fair, other, now) - base);
		}
	}
	double mine = (double)(int64_t)(virt_at(fair, queue, now) - base);
	double lag = weights > 0 ? queue->weight * (weighted / weights - mine) : 0;
	return lag / (fair->time ? 1e9 : (double)FAIR_TURN);
}
