// The fair choice: whose turn is next among queues with weights, priorities and limits.
//
// A pure state machine: no threads, no clock, no I/O; only functions whose comments say so allocate. The caller passes in the
// time, in nanoseconds, which never goes back. The caller embeds a struct fair_queue in each of its queues and keeps
// the items; fair.c only counts them.
//
// An item's life: fair_arrive -> fair_pick -> fair_done or fair_give_back; or fair_arrive -> fair_withdraw.
// An item that counts as several turns: fair_charge, between fair_pick and fair_done, charges the turns after the first.
// An item that lends its slots for a while: fair_pick -> fair_done -> fair_resume -> fair_done.
// A wide item, which takes several slots: fair_pick -> fair_charge -> fair_done, or
// fair_pick -> fair_charge -> fair_give_back.
//
// A queue may have a rate: a token bucket that holds one token. Each pick takes the token, and until the next token comes the queue is passed over,
// as if it were at its limit. So picks are evenly spaced, as by nginx's limit_req without burst and Celery's rate_limit; a counter of N in each fixed
// window of a second would let two bursts of N come within one second. The caller calls fair_release() to let those queues be picked again whose
// token has come. Items may be exempt from the rate (fair_arrive_exempt()): these are picked while the rate holds the queue's other items back.
//
// "Under time" means that fair.time is set: slot-time (slots times nanoseconds) is charged instead of turns. The caller may then report what it has
// measured: fair_learn() sets the median length of a queue's items; from fair_expect() to fair_unexpect() an item's slot-time counts in advance.

#pragma once

#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Units of virtual time in one turn of weight 1. Each weight from 1 to 16 divides this number, so equal shares stay exactly equal; with other weights
// the remainder is carried along.
#define FAIR_TURN UINT64_C(720720)

enum { FAIR_MOST_WEIGHT = 1000 }; // the greatest weight of a queue; the least is 1

enum { FAIR_PEEK_MAX = 255 }; // see fair_peek_filtered()

struct fair_tier;

// A running item: tells fair.c how much slot-time the item is still expected to take. The caller keeps the struct while the item runs.
struct fair_job {
	struct fair_job *next, **link; // in fair_queue.jobs; `link` NULL: it is in no list
	uint64_t start;
	uint32_t slots;
};

// The service that a queue has had, and the items that it has. Only fair.c uses the struct, but all may read the fields that are marked public.
struct fair_queue {
	uint64_t virt;           // virtual time: service / weight + an offset; in FAIR_TURN units per turn; under time in nanoseconds, as of `last`
	uint64_t rem;            // remainder of the last division by the weight, added before the next division
	uint64_t served;         // number of the pick that served it last; 0: never
	uint64_t backlog;        // public: items waiting
	uint32_t running;        // public: items picked and not done
	uint32_t extra;          // public: slots that the running items take beyond one each
	uint32_t weight;
	uint32_t limit;          // the most items that may run at once; 0: no limit
	uint64_t interval;       // public: the least nanoseconds from a pick to the next, by the queue's rate; 0: no rate
	uint64_t due;            // public: when the next token comes; no item that needs a token is picked before this time; 0: the queue has had no rate
	uint64_t exempt;         // items of the backlog that neither wait for a token nor take one
	uint32_t heap_at[3];     // 1 + its place in each heap of the tier; 0: it is not in that heap
	bool paused;             // fair_pause() has paused it: it is treated as a queue without work
	bool picks_exempt;       // public: the last pick took an item that is exempt from the rate
	bool wants;              // it has an item that may start
	bool at_limit;           // it has items, and only its limit or its rate keeps them from starting
	struct fair_tier *tier;
	uint64_t seq;            // order of fair_add()
	struct list special;     // in tier->special, while each pick has to look at this queue ([F2] in fair.c)
	uint64_t since;          // the time since which it has wanted a turn and got none
	uint64_t longest_wait;   // public: the longest time that it wanted a turn and got none
	// the members below are used only under time
	uint64_t last;           // the time up to which the running items were charged in `virt`
	uint64_t median;         // median length of its items (fair_learn()); 0: not known
	struct fair_job *jobs;   // items that run, from fair_expect() to fair_unexpect()
};

struct fair_entry {
	uint64_t key;             // copied from the queue, so that most comparisons need not touch the queue; the least is first
	struct fair_queue *queue;
};

enum { BY_VIRT, BY_MEDIAN, BY_DUE, HEAPS };

// What a heap is ordered by. BY_VIRT: virtual time. BY_MEDIAN: the median, negative, so that the longest is first; only queues with
// a known median. BY_DUE: the time of the next token; only queues that nothing but their rate keeps from running.
struct fair_heap {
	struct fair_entry *entries;
	size_t n, cap;
};

// The queues of one priority. For fair.c and its tests.
struct fair_tier {
	struct fair_tier *next;   // the tier with the next lower priority
	uint64_t neligible;       // how many of its queues can be picked
	struct fair_heap heaps[HEAPS];
	uint64_t clock;           // the tier's own virtual time, which comments in fair.c call V
	uint64_t rem;             // remainder of the division by which the clock advanced last; added before the next one
	uint64_t wanting;         // sum of the weights of the queues that want a turn
	uint64_t greatest;        // the greatest virtual time that a queue of the tier has had so far
	uint64_t served;          // number of the last pick of one of its queues
	struct list special;      // its queues at which each pick has to look ([F2] in fair.c)
	int32_t priority;
	uint8_t number;           // from 1, in order of creation; 0: too many tiers were created before it
	uint64_t busy;            // under time: slots that the running items of its queues take
	size_t nqueues;
	// for fair_lag(), two sums over the queues in the heap BY_VIRT: `weights` of their weights, `weighted` of weight * (virtual time - `base`)
	double weights, weighted;
	uint64_t base;            // the virtual time of the queue that last came into the heap BY_VIRT while this heap was empty
};

struct fair {
	struct fair_tier *tiers; // by priority, highest first
	uint64_t npicks;         // how many picks there were
	unsigned busy_tiers;     // how many tiers have a queue that can be picked
	bool time;               // charges slot-time instead of turns
	uint8_t ntiers;          // how many tiers were created so far; counts up to 255
	uint32_t tokens_rem;     // remainder of `tokens`, in sixteenths
	int64_t tokens;          // how much of their sixteenth of the service the lower tiers are owed, in units of `virt`; negative: they have had more
	uint64_t last;           // under time: the time up to which `tokens` and the clocks of the tiers were advanced
	uint64_t nadded;         // how many calls of fair_add() there were
	unsigned slots;          // the number of slots, set by the owner; fair.c uses it only under time
};

// What a removed queue leaves to a later queue of its name: its virtual time, if that was ahead of its tier's clock, so that a queue gains nothing by
// leaving and coming back; and the time of its next token. The caller keeps the tag until fair_has_passed() is true and `due` has come.
struct fair_tag {
	uint64_t virt;
	uint64_t due;            // when the next token comes, if the later queue has a rate; 0: the queue has had no rate
	uint8_t tier;            // number of the tier in which `virt` counts; 0: the queue was not ahead
};

// Initializes `fair` without queues (`time`: fair.time); cannot fail. The caller calls fair_fini() when all queues are removed.
void fair_init(struct fair *fair, bool time);
void fair_fini(struct fair *fair);

// Adds a queue without items. A `weight` outside of 1 to FAIR_MOST_WEIGHT is cut. `tag`: what fair_remove() gave for the name, or NULL. Allocates.
void fair_add(struct fair *fair, struct fair_queue *queue, uint32_t weight, int32_t priority, uint32_t limit,
              const struct fair_tag *tag);

// Removes a queue that has nothing waiting or running. Returns the tag for fair_add(), should the queue come back.
struct fair_tag fair_remove(struct fair *fair, struct fair_queue *queue, uint64_t now);

// True once the tag's `virt` has no effect any more: without the tag, a new queue would begin at this virtual time or a greater one.
bool fair_has_passed(const struct fair *fair, struct fair_tag tag);

// Changes the attributes of the queue; the service that it has had stays. `interval`: the rate, at least this many nanoseconds from a pick to the next;
// 0: no rate. May allocate.
void fair_set(struct fair *fair, struct fair_queue *queue, uint32_t weight, int32_t priority, uint32_t limit, uint64_t interval, uint64_t now);

// Changes the time of the queue's next token, because an item that was picked before begins only now, or gives its token back unused.
void fair_set_due(struct fair *fair, struct fair_queue *queue, uint64_t due, uint64_t now);

// Lets those queues be picked again whose token has come by `now`.
void fair_release(struct fair *fair, uint64_t now);

// Returns the earliest time at which a queue gets a token that is all it waits for; UINT64_MAX if no queue waits only for a token.
uint64_t fair_next_due(const struct fair *fair);

// fair_arrive(): `n` more items wait. fair_withdraw(): `n` fewer items wait, because they were cancelled; items that are exempt from the rate
// are withdrawn last.
void fair_arrive(struct fair *fair, struct fair_queue *queue, uint64_t n, uint64_t now);
void fair_withdraw(struct fair *fair, struct fair_queue *queue, uint64_t n, uint64_t now);

// One more item waits, and is exempt from the rate.
void fair_arrive_exempt(struct fair *fair, struct fair_queue *queue, uint64_t now);

// Starts a waiting item of the queue, in turn or out of turn: charges the queue and counts the item as if fair_pick() had picked the queue.
void fair_take(struct fair *fair, struct fair_queue *queue, uint64_t now);

// Picks the queue whose turn it is, charges it and counts one of its items as running. Returns NULL if no queue can be picked.
// Takes O(log queues), and under fair time also O(running items).
struct fair_queue *fair_pick(struct fair *fair, uint64_t now);

// Returns the queue that fair_pick() would pick now, without picking it.
struct fair_queue *fair_peek(struct fair *fair, uint64_t now);

// A filter: returns whether the queue may be taken.
typedef bool fair_filter_fn(const void *arg, const struct fair_queue *queue);

// Returns the first of the queues that can be picked for which the filter returns true, for fair_take(); or NULL. A tier is searched only if
// no tier of higher priority has such a queue: the tokens of lower tiers do not count. In a tier's heap only FAIR_PEEK_MAX queues are examined.
struct fair_queue *fair_peek_filtered(struct fair *fair, fair_filter_fn *filter, const void *arg, uint64_t now);

// An item that was picked has ended, or lends its slots: frees one slot, and `extra` slots that fair_charge() had added.
void fair_done(struct fair *fair, struct fair_queue *queue, uint32_t extra, uint64_t now);

// Items of the queue did not need their slots after all: frees the slots of `items` items that were picked at `start`, and `extra` slots of a
// fair_charge() that was made at `start`. The queue also gets back what it was charged for these slots.
void fair_give_back(struct fair *fair, struct fair_queue *queue, uint32_t items, uint32_t extra, uint64_t start, uint64_t now);

// For an item that was picked and takes `extra` more slots: charges the queue `turns` more turns at once or, under time, the slot-time of the extra
// slots as it passes. The item still counts as one item for the limit. May be called more than once for an item.
void fair_charge(struct fair *fair, struct fair_queue *queue, uint64_t turns, uint32_t extra, uint64_t now);

// Under time, charges the queue for the difference if an item has used `slots` slots `more` nanoseconds longer (negative: shorter) than the queue was
// charged for. Does nothing if turns are charged.
void fair_correct(struct fair *fair, struct fair_queue *queue, uint32_t slots, int64_t more, uint64_t now);

// An item that lent its slots by fair_done() uses them again: one slot, and `extra` more. The queue is not charged for another turn.
void fair_resume(struct fair *fair, struct fair_queue *queue, uint32_t extra, uint64_t now);

// Sets the median length of the queue's last items, in nanoseconds, as the caller has measured it.
void fair_learn(struct fair *fair, struct fair_queue *queue, uint64_t median);

// Under time: from fair_expect() to fair_unexpect() an item that was picked uses `slots` slots, and the slot-time that it is still expected to take
// counts in advance. The caller keeps `job` between the two calls.
void fair_expect(struct fair_queue *queue, struct fair_job *job, uint32_t slots, uint64_t now);
void fair_unexpect(struct fair_job *job);

// Pauses the queue, or ends its pause. A paused queue is treated as one without work, and gains no credit.
void fair_pause(struct fair *fair, struct fair_queue *queue, bool paused, uint64_t now);

static inline bool fair_is_eligible(const struct fair *fair) {
	return fair->busy_tiers > 0;
}

// The queue's virtual time now, in turns or seconds per weight.
double fair_virt(const struct fair *fair, const struct fair_queue *queue, uint64_t now);

// Returns what service the queue is owed (positive), or has had too much (negative), compared with the mean of the queues in its tier that want
// to run; in turns or seconds.
double fair_lag(const struct fair *fair, const struct fair_queue *queue, uint64_t now);
