// Jobs that wait for others (--wait): who waits for whom, and when each goes on.
//
// While a job waits it counts for nothing: its slots, its place in max_parallel, the memory that it has declared (not what
// --memory=auto has learned) and the terminal are for others. What it waits for comes to the front of the line. When that has ended the job is first in line
// itself, and it is told so only when it has its slots again. A job that waits more than once at the same time gets them
// back with the end of the last wait; it is told of the others at once, for they may be what it goes on without.
//
// A wait that would close a circle is refused. The circle goes over waits and over the needs of batches: a job of a batch that
// waits for others needs all jobs of these, and whoever waits for a job of its own batch's dependents waits for itself.
//
// A job is known by its id, item.seq, once it was announced by waits_add_job(). Only such jobs can be waited for.

#ifndef FAIRPAR_RUN_WAITS_H
#define FAIRPAR_RUN_WAITS_H

#include "base/atomic.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct attempt_origin;
struct job;
struct queue;
struct run;
struct wait;
struct waits;

// One for the run, behind its pool. Frees what waits_close() finds under way without a call of `done`; NULL-safe, once no job runs.
struct waits *waits_open(struct run *run);
void waits_close(struct waits *waits);

// ---- jobs that can be waited for; from any thread, with no lock held. `waits` may be NULL

// Announces a job: item.seq, the queue of its batch and item.number (struct work.id). Before it is submitted.
void waits_add_job(struct waits *waits, uint64_t id, struct queue *queue, uint64_t number);

// The job has ended for good, whatever its outcome, or will never start (it was dropped or refused). Called once its outcome
// can be asked for, and before its item returns: so who waited for it is first in line for its slot. An id that was not
// announced is ignored, as is a second call.
void waits_job_ended(struct waits *waits, uint64_t id);

// The job is queued again, for another attempt or step: it is brought forward again if somebody waits for it.
void waits_requeued(struct waits *waits, uint64_t id);

// ---- attempts that run

// An attempt at a job while its process runs: in the memory of its worker. Private to waits.c.
struct waits_attempt {
	struct list link;
	const struct attempt_origin *origin; // by its number it is known as a waiter
	const struct job *job;
	bool has_terminal;   // for itself (--tty)
	pid_t pid;
	atomic_bool awaited; // child_config.awaited
	unsigned nwaits;     // that are under way
	unsigned state;
};

// Between these the attempt with the number origin->number may wait. On its worker's thread; the pointers stay good until
// waits_attempt_end(), which makes its waits those of an outsider, and returns whether it had what it may lend, the terminal too. `waits`
// may be NULL.
void waits_attempt_begin(struct waits *waits, struct waits_attempt *attempt, const struct attempt_origin *origin, const struct job *job,
                         bool has_terminal);
void waits_attempt_started(struct waits *waits, struct waits_attempt *attempt, pid_t pid);
bool waits_attempt_end(struct waits *waits, struct waits_attempt *attempt);

// ---- waiting; from the event loop

// What was waited for has ended, and the waiter has its slots. `id`: that of the job that ended first, with `any`; else the last.
// Called once, from waits_tick() and never from waits_begin(). The wait is gone then.
typedef void waits_done_fn(void *arg, uint64_t id);

// Begins to wait until all of the `n` (> 0) jobs have ended, or with `any` the first of them. `waiter`: origin->number of the
// attempt in which somebody waits; 0: nobody's in this run. The ids are copied. Returns the wait, which is the caller's until
// `done` is called or waits_cancel(); or NULL, with the reason in `why` (no full stop, names escaped): an id that nobody has
// announced, an attempt that does not run, or a circle, with its names.
struct wait *waits_begin(struct waits *waits, uint64_t waiter, const uint64_t *ids, size_t n, bool any, waits_done_fn *done,
                         void *arg, struct buf *why) FP_NODISCARD;

// Who waited has gone, and `done` is not called any more. Its job goes on without waiting for its slots, which count as
// taken at once: nothing else starts before there is room again.
void waits_cancel(struct wait *wait);

// Calls `done` where that is due. Whenever the loop wakes.
void waits_tick(struct waits *waits);

// ---- to be shown

struct wait_view {
	const char *waiter;  // "BATCH#7", or "" for an outsider; escaped
	const uint64_t *ids; // what it waits for and has not ended yet
	size_t n;
	bool returns;        // all has ended: it waits for its slots
};
// For each wait, in the order in which they began. What is in the view is borrowed for the call, which must not call waits_*().
void waits_each(struct waits *waits, void (*fn)(void *arg, const struct wait_view *view), void *arg);

#endif
