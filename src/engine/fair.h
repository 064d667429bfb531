// The fair choice: whose turn is next among queues with weights, priorities and limits.
//
// A pure state machine: no threads, no clock, no I/O, and no allocation but in fair_add() and fair_set(). Times are
// passed in, in nanoseconds that never go back. The caller embeds a struct fair_queue in each of its queues and keeps
// the items; here an item is only a count.
//
// An item's life: fair_arrive -> fair_pick -> fair_done or fair_give_back; or fair_arrive -> fair_withdraw.
// Between fair_pick and fair_done, others may go along: fair_join.
// One that takes several slots, a wide one: fair_pick -> fair_widen -> fair_narrow -> fair_done, or
// fair_widen_back -> fair_give_back.

#ifndef FAIRPAR_ENGINE_FAIR_H
#define FAIRPAR_ENGINE_FAIR_H

#include "base/attr.h"
#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Units of virtual time in one turn of weight 1. Each weight from 1 to 16 divides it, so equal shares stay exactly equal;
// the others carry their remainder along.
#define FAIR_TURN UINT64_C(720720)

struct fair_tier;

// What a queue has had and wants. For fair.c, but for the fields that are marked public (to read).
struct fair_queue {
	uint64_t virt;           // service / weight + offset at time `last`: turns in FAIR_TURN, or nanoseconds
	uint64_t last;           // fair time: `virt` is right as of then
	uint64_t served;         // number of the pick that served it last; 0: never
	uint64_t seq;            // order of fair_add()
	uint64_t backlog;        // public: items waiting
	uint32_t running;        // public: items picked and not done
	uint32_t extra;          // public: slots they take beyond one each
	uint32_t weight;
	uint32_t limit;          // items running at most; 0: no limit
	uint32_t rem;            // of the division by weight, carried along
	uint32_t turn, turn_rem; // FAIR_TURN / weight and its remainder
	bool paused;             // out of the race, like a queue without work
	bool blocked;            // out of reach for a moment, but keeps its place
	bool wants;              // has work and may run it, or could but for `blocked`
	size_t heap_at;          // place in the tier's heap + 1; 0: not in it
	struct list special;     // in the tier's list of queues that need a look at each pick
	struct fair_tier *tier;
};

struct fair {
	struct fair_tier *tiers; // by priority, highest first
	uint64_t npicks, nadded;
	uint64_t neligible;      // queues that fair_pick() could take
	uint8_t ntiers;          // created so far, up to 255
	bool time;               // charges slot-time instead of turns
	bool track_lag;          // fair_lag() may be called
};

// What a queue was ahead when it went; so that the same name does not gain a share by going and coming back.
struct fair_tag {
	uint64_t virt;
	uint8_t tier;            // number of the tier it belongs to; 0: it was not ahead
};

// No failure. The caller owns it and calls fair_fini() when all queues are removed.
void fair_init(struct fair *fair, bool time, bool track_lag);
void fair_fini(struct fair *fair);

// Adds a queue without items. weight 1 to 1000. `tag` of an earlier life, or NULL. Allocates.
void fair_add(struct fair *fair, struct fair_queue *queue, uint32_t weight, int32_t priority, uint32_t limit,
              const struct fair_tag *tag);

// Takes a queue away that has nothing waiting or running.
struct fair_tag fair_remove(struct fair *fair, struct fair_queue *queue, uint64_t now);

// Changes the attributes; what it has had stays. May allocate.
void fair_set(struct fair *fair, struct fair_queue *queue, uint32_t weight, int32_t priority, uint32_t limit,
              uint64_t now);

// `n` more items wait, or `n` fewer do (cancelled).
void fair_arrive(struct fair *fair, struct fair_queue *queue, uint64_t n, uint64_t now);
void fair_withdraw(struct fair *fair, struct fair_queue *queue, uint64_t n, uint64_t now);

// Picks the queue whose turn it is, charges it and counts one of its items as running. NULL if none is eligible.
// Takes O(log queues), and under fair time also O(queues with running items).
struct fair_queue *fair_pick(struct fair *fair, uint64_t now);

// The queue that fair_pick() would return, without picking it.
struct fair_queue *fair_peek(struct fair *fair, uint64_t now);

// An item picked before has ended.
void fair_done(struct fair *fair, struct fair_queue *queue, uint64_t now);

// An item picked at `start` needed no slot after all: as fair_done(), and the queue gets back what it was charged.
void fair_give_back(struct fair *fair, struct fair_queue *queue, uint64_t start, uint64_t now);

// `n` of the waiting items go along with an item picked before, as part of it: so many turns are charged, and nothing
// more runs.
void fair_join(struct fair *fair, struct fair_queue *queue, uint64_t n, uint64_t now);

// An item picked before takes `extra` slots more: that many turns are charged at once, or the slot-time as it passes.
// It counts as one item for the limit. May be called more than once for an item.
void fair_widen(struct fair *fair, struct fair_queue *queue, uint32_t extra, uint64_t now);

// A wide item takes `extra` slots less, because it is about to be done: what they were charged stays.
void fair_narrow(struct fair *fair, struct fair_queue *queue, uint32_t extra, uint64_t now);

// Undoes a fair_widen() of the time `start`: the queue gets back what it was charged for it.
void fair_widen_back(struct fair *fair, struct fair_queue *queue, uint32_t extra, uint64_t start, uint64_t now);

// A paused queue is as one without work: it gains no credit meanwhile. A blocked one cannot be picked either, but that
// is the engine's doing, so it keeps its place and gets what it has missed.
void fair_pause(struct fair *fair, struct fair_queue *queue, bool paused, uint64_t now);
void fair_block(struct fair *fair, struct fair_queue *queue, bool blocked, uint64_t now);

static inline bool fair_is_eligible(const struct fair *fair) {
	return fair->neligible > 0;
}

// The queue's virtual time now, in turns or seconds per weight.
double fair_virt(const struct fair *fair, const struct fair_queue *queue, uint64_t now);

// What the queue is owed (positive), or had too much (negative), against the mean of those that want to run in its tier;
// in turns or seconds. Needs track_lag.
double fair_lag(const struct fair *fair, const struct fair_queue *queue, uint64_t now);

#endif
