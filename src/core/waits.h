// Jobs that wait for other jobs (--wait).
//
// A job that waits lends its slots, its place in max_parallel, its declared memory (not what --memory=auto has learned) and the
// terminal to other jobs. The jobs that it waits for move to the front of their queues. When they have ended the job is first in
// line for its slots, and its wait returns only when it has these. If it has several waits at the same time, only the last one
// returns the slots; the others return at once.
//
// A wait that would make a circle is refused. Waits and the needs of batches both count: a job waits for all jobs of the batches
// that its batch needs. So a job that waits for one of a batch that needs its own batch would wait for itself.
//
// A job is known by its id, item.seq, once it was announced by waits_add_job(). Only such jobs can be waited for.

#ifndef FAIRPAR_CORE_WAITS_H
#define FAIRPAR_CORE_WAITS_H

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

// waits_open() makes the table of the run's waits, after run->pool. waits_close() frees it, once no job runs; pending waits end
// without a call of `done`. NULL-safe.
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

// Register an attempt (origin->number), which may wait from waits_attempt_begin() to waits_attempt_end(); the pointers are
// borrowed as long. waits_attempt_end() turns its pending waits into those of an outsider, and returns true if the attempt has
// its slots and the terminal, false if it still lends them. On the worker's thread. `waits` may be NULL.
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

// Cancels the wait, because its client has gone: frees it, and `done` is not called. If it was the attempt's last wait, its job
// goes on at once; its slots count as taken again, so nothing else starts before there is room.
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
