// Pairs the start and the end of each attempt, and gives the attempt a lane: pictures are drawn from that.
//
// A lane is a row in which no two attempts overlap. There is one for each slot, and others for attempts that take no slot
// (of long-running jobs). A run on several machines has lanes for each machine, as many as it ran attempts at once: a slot of the
// run may be on another machine each time.

#ifndef FAIRPAR_REPORT_ATTEMPTS_H
#define FAIRPAR_REPORT_ATTEMPTS_H

#include "base/buf.h"
#include "log/running.h"
#include "report/machines.h"

enum {
	LANES_SLOTS = 1 << 14,   // higher slots, of a damaged log, are drawn as the last of these
	LANES_SLOTLESS = 1 << 10,
};

enum attempt_phase {
	ATTEMPT_STARTED,         // `end` is NULL
	ATTEMPT_ENDED,
	ATTEMPT_LEFT,            // it still ran when the log ended; `end` is NULL
};

struct attempt_span {
	enum attempt_phase phase;
	struct event_job id;
	bool slotless;           // it takes no slot, and has a lane of another kind
	unsigned lane;           // from 0, of its kind
	unsigned nslots;
	enum event_source source;
	uint64_t from, to;       // event time; from <= to, and `from` is moved behind the attempt before it in the lane
	uint64_t queued;         // nanoseconds before `from`
	const struct event_job_start *start; // NULL if the log has lost it
	const struct event_job_end *end;
};

// The command that the attempt ran, of *ret_len bytes; NULL and 0 if the log has lost it. Borrowed from the attempt.
const char *attempt_command(const struct attempt_span *attempt, size_t *ret_len);

// Appends the job with its role and step: "tests#3", "tests#3 on_failure", "tests#3 then 2"; the batch's name in at
// most so many columns.
void attempt_add_title(struct buf *buf, const struct event_job *id, size_t columns);

// Takes an attempt, which is borrowed for the call: when it starts (ATTEMPT_STARTED), and when it has ended.
typedef void attempt_fn(void *arg, const struct attempt_span *attempt);

// Lanes of one kind.
struct lanes {
	struct lane {
		uint64_t end;        // event time, of the last attempt in it that has ended
		bool is_taken;       // by one that runs
	} *lanes;
	size_t cap;
	unsigned n;              // in use so far
};

// Ready with `fn` and `arg` set and the rest zero.
struct attempts {
	attempt_fn *fn;
	void *arg;
	struct machines *count;  // borrowed: counts their attempts, of a first pass; or NULL
	const struct machines *rows; // borrowed, after machines_place(): lanes are their rows; or NULL: lanes are slots
	struct running_table running;
	uint64_t last;           // event time of the last event
	struct lanes slots, slotless;
};

// An event_fn: `arg` is the struct attempts. Calls `fn` for the attempt that the event starts or ends. A job that was up to
// date or never ran has none.
void attempts_on_event(void *arg, const struct event *event);

// Calls `fn` with ATTEMPT_LEFT for each attempt that has not ended, as if it ended at the event time `now`, and frees the
// memory. The numbers of lanes stay.
void attempts_finish(struct attempts *attempts, uint64_t now);

#endif
