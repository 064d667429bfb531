// Decides when a pilot (a job of Slurm with a worker in it) is requested, when a request is cancelled, and when a pilot is released.
//
//   absent -requested-> requested -hello-> up -released, or its bye-> leaving -connection closed-> absent
//   requested -cancelled, or connection lost-> leaving          up -connection lost-> leaving
//
// Pure: times are arguments (ns), and the caller does what was decided.

#pragma once

#include <stdbool.h>
#include <stdint.h>

enum pilot_state { PILOT_ABSENT, PILOT_REQUESTED, PILOT_UP, PILOT_LEAVING };

enum pilot_order {
	PILOT_KEEP,
	PILOT_REQUEST,  // for a pilot that is absent
	PILOT_CANCEL,  // for a pilot that was requested and has not come
	PILOT_RELEASE,  // for a pilot that is idle
};

struct pilot {
	enum pilot_state state;
	enum pilot_order order; // what the last step has decided for the pilot
	uint64_t since;       // when the state began
	uint64_t idle_since;  // PILOT_UP: when it began to have no job, or TIME_NEVER; set by the caller before a step
};

struct pilot_policy {
	struct pilot *pilots; // owned
	unsigned n;
	unsigned slots;       // how many slots each pilot has
	bool was_up;          // at least one pilot was up so far
	bool is_refused;      // Slurm has said of a request that it can never be met, and no pilot has come since
	bool none_can_start;  // none of the present requests can ever be met: the next step cancels them
	// used by pilot_policy.c only
	unsigned failures;    // how many requests in a row have failed
	uint64_t not_before;  // no pilot is requested before this time
	uint64_t no_demand_since;    // since when no work waits for a slot; TIME_NEVER: some work does
	uint64_t query_pause, next_query; // between two queries of Slurm's queue (0: there was none), and when the next one is due
};

// Begins with `n` absent pilots, each of `slots` slots. pilot_policy_fini() frees what the policy holds.
void pilot_policy_init(struct pilot_policy *policy, unsigned n, unsigned slots);
void pilot_policy_fini(struct pilot_policy *policy);

struct pilot_step {
	bool queries_queue;           // query Slurm's queue now for the reason why pilots wait
	uint64_t due;         // when to step again, if nothing happens before
};

// Sets the `order` of each pilot, which the caller is to carry out, and changes the pilot's state accordingly. `demand`: how many more
// slots could be used now.
struct pilot_step pilot_policy_step(struct pilot_policy *policy, unsigned demand, uint64_t now);

// Pilot `i` has sent its hello.
void pilot_has_come(struct pilot_policy *policy, unsigned i, uint64_t now);

// The request for pilot `i` has failed, or the pilot was lost. `for_good`: the same request will not succeed later either.
void pilot_has_failed(struct pilot_policy *policy, unsigned i, bool for_good, uint64_t now);

// Sets the state of pilot `i` without counting a failure: LEAVING if it takes no further job, ABSENT if its connection is closed.
void pilot_set_state(struct pilot_policy *policy, unsigned i, enum pilot_state state, uint64_t now);

// To be called when Slurm's queue shows that none of the requests can ever be met. The next step cancels them.
void pilots_cannot_start(struct pilot_policy *policy);

// Whether no pilot has ever come, and none will.
bool pilots_are_hopeless(const struct pilot_policy *policy);
