// The attempts of a run, start and end put together, each in its lane: what pictures are drawn from.
//
// A lane is a row in which nothing overlaps: one for each slot, and others beside them for what takes no slot.

#ifndef FAIRPAR_REPORT_ATTEMPTS_H
#define FAIRPAR_REPORT_ATTEMPTS_H

#include "base/buf.h"
#include "log/running.h"

enum {
	LANES_SLOTS = 1 << 14,   // higher slots, of a damaged log, are drawn as the last of these
	LANES_BESIDE = 1 << 10,
};

enum attempt_phase {
	ATTEMPT_STARTED,         // `end` is NULL
	ATTEMPT_ENDED,
	ATTEMPT_LEFT,            // it still ran when the log ended; `end` is NULL
};

struct attempt_span {
	enum attempt_phase phase;
	struct event_job id;
	bool beside;             // in a lane beside the slots
	unsigned lane;           // from 0, of its kind
	unsigned nslots;
	enum event_source source;
	uint64_t from, to;       // event time; `to` is not before `from`, nor `from` before the end of what was there before
	uint64_t queued;         // nanoseconds before `from`
	const struct event_job_start *start; // NULL if the log has lost it
	const struct event_job_end *end;
};

// The command that the attempt ran, of *ret_len bytes; NULL and 0 if the log has lost it. Borrowed from the attempt.
const char *attempt_command(const struct attempt_span *attempt, size_t *ret_len);

// Appends the job with its role and step: "tests#3", "tests#3 on_failure", "tests#3 then 2"; the batch in at most 60 columns,
// or whole.
void attempt_add_title(struct buf *buf, const struct event_job *id, bool whole);

// Takes an attempt, which is borrowed for the call: when it starts (ATTEMPT_STARTED), and when it has ended.
typedef void attempt_fn(void *arg, const struct attempt_span *attempt);

// Zeroed but for fn and arg it is ready.
struct attempts {
	attempt_fn *fn;
	void *arg;
	struct running_table running;
	uint64_t last;           // event time of the last event
	unsigned nslots, nbeside; // lanes in use so far
	uint64_t *slot_ends;     // when each lane was last left
	size_t slot_cap;
	struct beside_lane *beside; // LANES_BESIDE of them
};

// An event_fn: `arg` is the struct attempts. What has neither start nor run time (up to date) is no attempt.
void attempts_tell(void *arg, const struct event *event);

// Gives out what is left as of `now`, and frees all.
void attempts_finish(struct attempts *attempts, uint64_t now);

#endif
