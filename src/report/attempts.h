// Pairs the start and the end of each attempt, and gives the attempt a lane, for the pictures of a run.
//
// A lane is a row in which no two attempts overlap. There is a lane for each slot, and there are lanes for attempts that take no slot
// (of long-running jobs). In a run on several machines, attempts with the same slot number may run on different machines. So in such a
// run the lanes belong to machines, not to slots: each machine has as many lanes as slots were taken on it at the same time.

#pragma once

#include "base/buf.h"
#include "log/running.h"

enum {
	MACHINES_MAX = 1 << 12,  // only a damaged log has more machines: the further machines are counted as the machine whose name comes last
	MACHINES_ROWS = 1 << 14, // the most rows of all machines together
	LANES_SLOTS = 1 << 14,   // only a damaged log has slots with higher numbers: these slots are drawn as the last slot
	LANES_SLOTLESS = 1 << 10, // the most lanes of attempts without a slot; further attempts share the last lane
};

enum attempt_phase {
	ATTEMPT_STARTED,         // `end` is NULL
	ATTEMPT_ENDED,
	ATTEMPT_LEFT,            // the attempt still ran when the log ended, or the log lacks the end of the attempt; `end` is NULL
};

struct attempt_span {
	enum attempt_phase phase;
	struct event_job id;
	bool slotless;           // the attempt takes no slot: it is in a lane for attempts without a slot
	unsigned lane;           // from 0, counted among the lanes of slots; if `slotless`, among the lanes for attempts without a slot
	unsigned nslots;
	enum event_source source;
	uint64_t from, to;       // event time; from <= to, and `from` is not before the end of the earlier attempt in the lane
	uint64_t queued;         // how many nanoseconds before `from` the attempt was queued
	const struct event_job_start *start; // NULL if the log lacks the start
	const struct event_job_end *end;
};

// Appends `before` and the command of the attempt, cut after `max` bytes; nothing if the log has lost the command, or it is empty.
void attempt_add_command(struct buf *buf, const char *before, const struct attempt_span *attempt, size_t max);

// Appends the job with its role and step: "tests#3", "tests#3 on_failure", "tests#3 then 2"; the batch's name in at most
// `columns` columns.
void attempt_add_title(struct buf *buf, const struct event_job *id, size_t columns);

// What an attempt waited for, by enum event_why, in words that can follow "waited 5s ": "for its turn".
extern const char *const attempt_waits[];

// Called when an attempt starts (ATTEMPT_STARTED), and again when it has ended or is left. The attempt is borrowed for the call.
typedef void attempt_fn(void *arg, const struct attempt_span *attempt);

// Either the lanes of slots or machines, or the lanes of attempts without a slot.
struct lanes {
	struct lane {
		uint64_t end;        // event time: the end of the last attempt in the lane that has ended
		bool is_taken;       // an attempt runs in the lane
	} *lanes;
	size_t cap;
	unsigned n;              // how many lanes were in use so far
};

struct machine_rows {
	char *name;              // NULL: the machine that the run was started on
	unsigned now;            // slots of the attempts that run on the machine now
	unsigned rows;           // the most slots that attempts had on the machine at once
	unsigned first;          // the machine's first row, after machines_set_rows()
};

// How many slots the attempts of a run had at once on each machine. Zeroed, it has no machines.
struct machines {
	struct machine_rows *machines; // sorted by name; the machine of the run comes first
	size_t n, cap;
	unsigned rows;           // rows of all machines, after machines_set_rows()
};

void machines_fini(struct machines *machines);

// To be called when an attempt with `nslots` slots begins on the machine `host` (NULL: the machine of the run), and when it ends there.
void machines_enter(struct machines *machines, const char *host, unsigned nslots);
void machines_leave(struct machines *machines, const char *host, unsigned nslots);

// Gives each machine its rows, one machine below the other. Returns false, and gives no rows, if no attempt was on another machine than
// the machine of the run.
bool machines_set_rows(struct machines *machines);

// Returns the machine of that name; the last machine if none has the name; NULL if there are no machines. Borrowed.
struct machine_rows *machines_find(const struct machines *machines, const char *host);

// Returns the machine that the row belongs to, after machines_set_rows(). Borrowed.
const struct machine_rows *machines_at(const struct machines *machines, unsigned row);

// The caller sets `fn`, `arg` and, if lanes are rows of machines, `rows`; and zeroes the other members.
struct attempts {
	attempt_fn *fn;
	void *arg;
	const struct machines *rows; // borrowed, after machines_set_rows(): lanes are rows of machines; or NULL: lanes are slots
	struct running_table running;
	uint64_t last;           // event time of the last event
	struct lanes slots, slotless;
};

// Calls `fn` for the attempt that the event starts or ends, but not for a job that was up to date or never ran.
void attempts_on_event(struct attempts *attempts, const struct event *event);

// Calls `fn` with ATTEMPT_LEFT for each attempt that has not ended, as if it ended with the last event, and frees the
// memory. `slots.n`, `slotless.n` and `last` stay.
void attempts_finish(struct attempts *attempts);
