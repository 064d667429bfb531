// Decides when a pilot (a job of Slurm with a worker in it) is requested, when a request is cancelled, and when a pilot is released.
//
//   ABSENT -requested-> REQUESTED -hello-> UP -released, lost, or its bye-> LEAVING -connection closed-> ABSENT
//   REQUESTED -cancelled, or connection lost-> LEAVING
//
// Pure: times are arguments (ns). The caller knows the state of each pilot, and carries out what was decided.

#pragma once

#include <stdbool.h>
#include <stdint.h>

enum pilot_state { PILOT_ABSENT, PILOT_REQUESTED, PILOT_UP, PILOT_LEAVING };

struct pilot {
	enum pilot_state state;
	uint64_t since;       // PILOT_REQUESTED: when it was requested. PILOT_UP: since when it has no job, or TIME_NEVER
};

// Zeroed by the owner, who sets the first three fields.
struct pilot_policy {
	struct pilot *pilots; // owned by the caller, who sets their states before each step
	unsigned n;
	unsigned slots;       // how many slots each pilot has
	bool was_up;          // at least one pilot was up so far
	bool is_refused;      // Slurm has said of a request that it can never be met, and no pilot has ever come
	bool none_can_start;  // set by the caller: none of the present requests can ever be met. The next step cancels these requests, and clears this
	// used by pilot_policy.c only
	unsigned failures;    // how many requests in a row have failed
	uint64_t not_before;  // no pilot is requested before this time
	uint64_t no_demand_since;    // since when no work waits for a slot; TIME_NEVER: some work waits
	uint64_t query_pause, next_query; // the pause between two queries of Slurm's queue (0: no query yet); when the next query is due
};

// Sets pilots that are to be requested to PILOT_REQUESTED, and pilots that are to be released or whose request is to be cancelled to PILOT_LEAVING.
// `demand`: how many more slots could be used now. *ret_queries: Slurm's queue is to be queried now for the reason why pilots wait. Returns when to
// call this again, if nothing happens before.
uint64_t pilot_policy_step(struct pilot_policy *policy, unsigned demand, uint64_t now, bool *ret_queries);

// Notes that a pilot has sent its `hello` frame.
void pilot_has_come(struct pilot_policy *policy);

// Notes that a pilot was lost after `lived` ns; or (0) that a request has failed. `for_good`: the same request can never succeed.
void pilot_has_failed(struct pilot_policy *policy, uint64_t lived, bool for_good, uint64_t now);
