// Decides when pilots of Slurm are requested, cancelled and released.

#include "hosts/pilot_policy.h"

#include "base/sync.h"

enum {
	IDLE_S = 15,                                // how long a pilot without a job, or a request without work, is kept
	FAILED_FIRST_S = 5, FAILED_MOST_S = 300,    // back-off after a request that has failed
	PROVEN_S = 60,                              // the loss of a pilot that was up for so long is not a failure of its request
	QUERY_FIRST_S = 5, QUERY_NEXT_S = 15, QUERY_MOST_S = 300, // before the first query of Slurm's queue, before the next one, and at most
};

// Requests as many pilots as the work needs, less those that are requested already; after a failure only one pilot, as a trial. Returns when
// more may be requested, or TIME_NEVER.
static uint64_t request(struct pilot_policy *policy, unsigned demand, uint64_t now) {
	unsigned needed = demand / policy->slots + (demand % policy->slots > 0), asked = 0;
	for (unsigned i = 0; i < policy->n; ++i) {
		asked += policy->pilots[i].state == PILOT_REQUESTED;
	}
	needed = policy->failures > 0 && needed > 1 ? 1 : needed;
	if (needed <= asked || (policy->is_refused && asked == 0)) {
		return TIME_NEVER;
	}
	if (now < policy->not_before) {
		return policy->not_before;
	}
	for (unsigned i = 0; i < policy->n && asked < needed; ++i) {
		if (policy->pilots[i].state == PILOT_ABSENT) {
			policy->pilots[i] = (struct pilot){.state = PILOT_REQUESTED, .since = now};
			++asked;
		}
	}
	return TIME_NEVER;
}

// Releases pilots that were idle for a while, and cancels requests without work. Returns when the next release or cancel is due.
static uint64_t release(struct pilot_policy *policy, unsigned demand, uint64_t now) {
	const uint64_t grace = IDLE_S * NS_PER_S;
	uint64_t due = TIME_NEVER;
	for (unsigned i = 0; i < policy->n; ++i) {
		struct pilot *pilot = &policy->pilots[i];
		bool is_up = pilot->state == PILOT_UP;
		if (demand > 0 || (!is_up && pilot->state != PILOT_REQUESTED)) {
			continue;
		}
		// a pilot that has a job is checked again after IDLE_S, because the end of its job does not wake the thread
		uint64_t idle = is_up ? pilot->since : policy->no_demand_since;
		idle = idle == TIME_NEVER ? now : idle;
		idle = is_up && idle < policy->no_demand_since ? policy->no_demand_since : idle;
		if (idle + grace <= now) {
			pilot->state = PILOT_LEAVING;
		} else {
			due = time_earlier(due, idle + grace);
		}
	}
	return due;
}

// Sets *ret_queries to whether Slurm's queue is to be queried now for the reason why pilots wait. Returns when the next query is due.
static uint64_t query_queue(struct pilot_policy *policy, uint64_t now, bool *ret_queries) {
	uint64_t first = TIME_NEVER;
	*ret_queries = false;
	for (unsigned i = 0; i < policy->n; ++i) {
		if (policy->pilots[i].state == PILOT_REQUESTED) {
			first = time_earlier(first, policy->pilots[i].since);
		}
	}
	if (first == TIME_NEVER) {
		policy->query_pause = 0;
		return TIME_NEVER;
	}
	policy->next_query = policy->query_pause == 0 ? first + QUERY_FIRST_S * NS_PER_S : policy->next_query;
	if (now >= policy->next_query) {
		*ret_queries = true;
		policy->query_pause = policy->query_pause == 0 ? QUERY_NEXT_S * NS_PER_S : time_earlier(policy->query_pause * 2, QUERY_MOST_S * NS_PER_S);
		policy->next_query = now + policy->query_pause;
	}
	return policy->next_query;
}

uint64_t pilot_policy_step(struct pilot_policy *policy, unsigned demand, uint64_t now, bool *ret_queries) {
	policy->no_demand_since = demand > 0 ? TIME_NEVER : policy->no_demand_since == TIME_NEVER ? now : policy->no_demand_since;
	for (unsigned i = 0; i < policy->n; ++i) {
		if (policy->none_can_start && policy->pilots[i].state == PILOT_REQUESTED) {
			policy->pilots[i].state = PILOT_LEAVING;
		}
	}
	policy->none_can_start = false;
	uint64_t due = request(policy, demand, now);
	due = time_earlier(due, release(policy, demand, now));
	return time_earlier(due, query_queue(policy, now, ret_queries));
}

void pilot_has_come(struct pilot_policy *policy) {
	policy->was_up = true;
	policy->is_refused = false;
	policy->failures = 0;
}

void pilot_has_failed(struct pilot_policy *policy, uint64_t lived, bool for_good, uint64_t now) {
	if (lived < PROVEN_S * NS_PER_S && now >= policy->not_before) { // requests that fail together count as one failure
		uint64_t pause = FAILED_FIRST_S * NS_PER_S << (policy->failures < 8 ? policy->failures : 8);
		policy->not_before = now + time_earlier(pause, FAILED_MOST_S * NS_PER_S);
		++policy->failures;
	}
	policy->is_refused = policy->is_refused || (for_good && !policy->was_up);
}
