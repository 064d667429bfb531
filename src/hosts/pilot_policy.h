// When a pilot of Slurm is asked for, given up and released: the decisions alone.
//
//   away -asked for-> asked -hello-> up -released, or its bye-> leaving -its line has gone-> away
//   asked -given up, or its line has gone-> leaving             up -its line has gone-> leaving
//
// Pure: times are arguments, and whoever calls does what was decided.

#ifndef FAIRPAR_HOSTS_PILOT_POLICY_H
#define FAIRPAR_HOSTS_PILOT_POLICY_H

#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

enum pilot_state { PILOT_AWAY, PILOT_ASKED, PILOT_UP, PILOT_LEAVING };

enum pilot_order {
	PILOT_KEEP,
	PILOT_ASK,      // it was away
	PILOT_GIVE_UP,  // it was asked for and has not come
	PILOT_RELEASE,  // it is idle
};

struct pilot {
	enum pilot_state state;
	uint64_t since;       // when that began
	uint64_t idle_since;  // PILOT_UP: when it began to have no job, or TIME_NEVER; set by the caller before a step
};

struct pilot_policy {
	struct pilot *pilots; // owned
	unsigned n;
	unsigned slots;       // of each
	bool was_up;          // one, at least once
	bool is_refused;      // Slurm has said, or shown, of one that it can never come, and none has come since
	bool is_stuck;        // … of all that are asked for now: they are to be given up
	// of the policy
	unsigned failures;    // one after the other
	uint64_t not_before;  // none is asked for before
	uint64_t workless;    // since when there is no work that waits for a slot; TIME_NEVER: there is
	uint64_t look_pause, looked; // between two looks at Slurm's queue, 0: there was none; and when the last one was
};

void pilot_policy_init(struct pilot_policy *policy, unsigned n, unsigned slots);
void pilot_policy_fini(struct pilot_policy *policy);

struct pilot_step {
	bool looks;           // Slurm's queue is to be looked at now, for the reason why pilots wait
	uint64_t due;         // when to step again, if nothing happens before
};

// Decides, and changes states accordingly. `demand`: slots that could be used now beside those there are; PILOT_* for each pilot into
// `ret_orders`.
struct pilot_step pilot_policy_step(struct pilot_policy *policy, unsigned demand, uint64_t now, enum pilot_order *ret_orders);

// What has happened.
void pilot_has_come(struct pilot_policy *policy, unsigned i, uint64_t now);
void pilot_is_leaving(struct pilot_policy *policy, unsigned i, uint64_t now); // nothing went wrong
// It did not come, or was lost; `for_good`: the same will not succeed later.
void pilot_has_failed(struct pilot_policy *policy, unsigned i, bool for_good, uint64_t now);
void pilot_is_gone(struct pilot_policy *policy, unsigned i, uint64_t now);
// It could not be released, for a job came.
void pilot_stays(struct pilot_policy *policy, unsigned i, uint64_t now);

// Does Slurm's queue show that none of those asked for can ever start? Then they are to be given up, in the next step.
void pilots_cannot_start(struct pilot_policy *policy);

// How many are so now.
unsigned pilots_in(const struct pilot_policy *policy, enum pilot_state state);

// No pilot has ever been there, and none will be.
bool pilots_are_hopeless(const struct pilot_policy *policy);

#endif
