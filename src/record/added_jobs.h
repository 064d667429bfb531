// The jobs that were added by --add, and the waits for them (--wait): the spec of each until it ends, and its state and exit
// status until the run ends.
//
// A job that waits lends its slots, its place in max_parallel, its declared memory (not what --memory=auto has learned) and the
// terminal to other jobs. The jobs that it waits for move to the front of their queues. When they have ended the job is first in
// line for its slots, and its wait returns only when it has these. If it has several waits at the same time, only the last one
// returns the slots; the others return at once.
//
// A wait that would make a circle is refused. Waits and the needs of batches both count: a job waits for all jobs of the batches
// that its batch needs. So a job that waits for one of a batch that needs its own batch would wait for itself.

#pragma once

#include "base/list.h"
#include "state/job_state.h"
#include "job/job.h"

struct live_attempt;
struct wait;

// Private to added_jobs.c and waits.c.
struct added_entry {
	uint64_t id;              // the first member, for ids_find(): item.seq of the job
	uint64_t number;          // item.number
	uint64_t by;              // id of the job that has added it, or 0
	struct added_job *job;    // NULL: it has ended
	int code;                 // the exit status of --wait for it, once it has ended
	bool reported;            // --wait-any has reported its end
	bool finished;            // the row of the job that added it need not wait for it any more
	struct queue *queue;      // which is there until the job has ended
	uint64_t ended;           // 0: it has not ended; else how many had ended then, with it
	bool is_awaited;          // somebody waits for it: it was brought forward, and is so again when it is queued again
	uint64_t seen;            // the number of the last search that came by
	bool leads;               // that search found it on the way to the waiter
};

struct added_jobs {
	struct run *run;
	atomic_bool any;          // a job was added; read without the lock, so that rows of the joblog need no lock before
	atomic_uint nwaits;       // waits under way; read without the lock, changed with it
	// with nested_lock()
	struct added_entry *entries; // by id
	size_t n, cap;
	struct parent *parents;   // by id
	size_t n_parents, parents_cap;
	struct list waits;
	uint64_t nsearches, nended;
};

// Makes the table of the run's added jobs, after run->nested; and frees it (NULL is fine) once no job runs and nobody waits.
struct added_jobs *added_jobs_open(struct run *run);
void added_jobs_close(struct added_jobs *jobs);

// Frees an added job (NULL is fine) whose item is gone. From any thread.
void added_job_free(struct added_job *added);

// Enters the added job, whose id is set, in the table. In the queue it is job `number`: item.number, struct work.id. `by` is the
// id of the job that has added it, or 0. From the event loop, before the item is submitted.
void added_jobs_register(struct added_jobs *jobs, struct added_job *added, uint64_t by, struct queue *queue, uint64_t number);

// The entry of that id, or NULL. With nested_lock(); good until it is released.
struct added_entry *added_jobs_find(const struct added_jobs *jobs, uint64_t id);

// Records that the job has ended for good with that result, or will never run, for jobs that wait for it. To be called before its
// item returns: so a job that waited for it is first in line for its slot. A second call is ignored. Any thread.
void added_job_ended(struct run *run, struct added_job *added, const struct result *result);

// Whether there is or was an added job of that id. *ret_code: the exit status of --wait for it, once it has ended.
enum added_state { ADDED_UNKNOWN, ADDED_THERE, ADDED_ENDED };
enum added_state added_jobs_state(struct added_jobs *jobs, uint64_t id, int *ret_code);

// Appends to `ids`, as uint64_t, the ids of the jobs that job `by` has added; with `unreported` only of those whose end was not reported
// yet: for which no waits_done_fn was called with `any` (--wait-any).
void added_jobs_by(struct added_jobs *jobs, uint64_t by, bool unreported, struct buf *ids);

// ---- rows of the joblog
//
// The row of a job is written after the rows of all jobs that it has added, directly or through others. If one of these was cut
// off or never started, the job has no row, so --resume runs it again and it adds them again.

// Keeps the row (copied) of job `seq` if a job that it has added is not finished yet. Returns false if it is to be written now.
// NULL-safe, as the next one. Any thread.
bool added_jobs_keep_row(struct added_jobs *jobs, uint64_t seq, const char *row, size_t len);

// Finishes the added job `seq`: it need not run again, because its row is in the joblog, or the job that added it has cancelled
// it. If it was the last unfinished one of the job that added it, that job's kept row is appended to `ret_rows`. Does nothing for
// a job that was not added or is finished. Any thread.
void added_jobs_finish(struct added_jobs *jobs, uint64_t seq, struct buf *ret_rows);

// Marks the job of that id as cancelled. If `runs`, the caller ends its process, and added_job_ended() follows; else this call
// records its end.
void added_jobs_cancel(struct run *run, uint64_t id, bool runs);

// ---- waits.c: with `jobs` NULL nothing can be waited for, and these do nothing

// Private to added_jobs.c: the entry has ended. With nested_lock().
void waits_note_end(struct added_jobs *jobs, struct added_entry *entry);

// The job is queued again, for another attempt or step: it is brought forward again if somebody waits for it. Any thread.
void waits_requeued(struct added_jobs *jobs, uint64_t id);

// The attempt is in the table of attempts, and its processes may wait from now on until waits_attempt_end(). waits_attempt_end()
// makes pending waits of the attempt those of an outsider, and returns true if the attempt has its slots and the terminal, false
// if it still lends them. On the worker's thread.
void waits_attempt_begin(struct added_jobs *jobs, struct live_attempt *attempt);
bool waits_attempt_end(struct added_jobs *jobs, struct live_attempt *attempt);

// The next four: from the event loop.

// What was waited for has ended, and the waiter has its slots. `id`: with `any` the job that ended first, else the job that ended
// last. Called once, from waits_tick() and never from waits_begin(). Then the wait is freed.
typedef void waits_done_fn(void *arg, uint64_t id);

// Begins to wait until all of the `n` (> 0) added jobs have ended, or with `any` the first of them. `waiter`: number of the
// attempt in which somebody waits; 0: somebody outside this run waits. The ids are copied. Returns the wait, which is the
// caller's until `done` is called or waits_cancel(); or NULL, with the reason in `why` (no full stop, names escaped): the
// attempt does not run, or there would be a circle, with its names.
struct wait *waits_begin(struct added_jobs *jobs, uint64_t waiter, const uint64_t *ids, size_t n, bool any, waits_done_fn *done,
                         void *arg, struct buf *why) FP_NODISCARD;

// Cancels the wait, because its client has gone: frees it, and `done` is not called. If it was the attempt's last wait, its job
// goes on at once; its slots count as taken again, so nothing else starts before there is room.
void waits_cancel(struct wait *wait);

// Calls `done` for the waits that are over. To be called whenever the loop wakes.
void waits_tick(struct added_jobs *jobs);

struct wait_view {
	const char *waiter;  // "BATCH#7", or "" for an outsider; escaped
	const uint64_t *ids; // what it waits for and has not ended yet
	size_t n;
	bool returns;        // all jobs have ended: the waiter waits for its slots
};

// For each wait, in the order in which they began. What is in the view is borrowed for the call. With nested_lock().
void waits_each(struct added_jobs *jobs, void (*fn)(void *arg, const struct wait_view *view), void *arg);
