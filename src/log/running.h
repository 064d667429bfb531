// A table of the attempts that run, with the facts of their start, for subscribers that need them when the attempt ends.

#pragma once

#include "job/event.h"

// Sums over a job's attempts so far, for the caller's use; zero after running_add().
struct running_sum {
	uint64_t from, to;      // event time: start of the first, end of the last
	uint64_t queued, cpu;   // nanoseconds
	uint64_t maxrss;        // bytes
	unsigned attempts;
};

// An attempt.
struct running_attempt {
	uint64_t at;            // event time of its start
	struct running_sum so_far;
	unsigned lane;          // for the caller's use; 0 after running_add()
	struct event_job_start start; // with copies of batch, host and command; args is NULL
};

// A zeroed table is empty.
struct running_table {
	void *tree;             // a tree of struct running_attempt (tsearch(3)), sorted by batch, number, role and step
};

// Frees all that is in the table, and makes it empty.
void running_table_fini(struct running_table *table);

// Adds the attempt, with copies of its batch, host and command; if an attempt at the same step is there already, replaces
// that attempt. Returns the added attempt, borrowed until it is taken out.
struct running_attempt *running_add(struct running_table *table, const struct event_job_start *start, uint64_t at);

// Returns the attempt that runs at the same step of the same job as `id` (id->attempt does not matter), borrowed from the table;
// or NULL.
struct running_attempt *running_find(const struct running_table *table, const struct event_job *id);

// As running_find(), but takes the attempt out of the table: the caller frees it with free().
struct running_attempt *running_take(struct running_table *table, const struct event_job *id);

// Takes any one attempt out; NULL if the table is empty. The caller frees it with free().
struct running_attempt *running_take_any(struct running_table *table);
