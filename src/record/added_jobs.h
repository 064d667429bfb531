// The jobs that were added by --add, and the waits for these jobs (--wait). A job's spec is kept until the job ends, its state and
// exit status until the run ends.
//
// A job that waits lends its slots, its place in max_parallel, its declared memory (not memory that --memory=auto has learned) and the
// terminal to other jobs. The jobs that it waits for move to the front of their queues. When those jobs have ended, the waiting job
// is first in line for its slots, and its wait returns only when the job has the slots. If a job has several waits at the same time, only the
// last wait to return waits for the slots; the other waits return at once.
//
// A wait that would close a circle of waiting jobs is refused. The needs of batches count as waits, too: a job of a batch waits for all jobs of the
// batches that this batch needs. So a job must not wait for a job of a batch that needs the waiting job's own batch.

#pragma once

#include "base/list.h"
#include "state/job_state.h"
#include "job/job.h"

struct live_attempt;
struct wait;

// Private to added_jobs.c and waits.c.
struct added_entry {
	uint64_t id;              // the first member, for compare_ids(): item.seq of the job
	uint64_t number;          // the job's number in its queue (item.number)
	uint64_t by;              // id of the job that has added this job; 0: a process outside the run has added it
	struct added_job *job;    // NULL: the job has ended
	int code;                 // once the job has ended: the exit status of a --wait for this job
	bool reported;            // --wait-any has reported the job's end
	bool finished;            // the joblog row of the job that added this job need no longer wait for this job
	struct queue *queue;      // valid until the job has ended
	uint64_t ended;           // 0: the job has not ended; else n: it was the nth added job to end
	bool is_awaited;          // a wait needs the job: the job is moved to the front of its queue, also when it is queued again
	uint64_t seen;            // the number of the last search (waits.c) that has visited this entry
	bool leads;               // that search has found that this job ends only after the attempt that asks to wait has ended
};

struct added_jobs {
	struct run *run;
	atomic_bool any;          // a job was added; read without the lock, so that rows of the joblog need no lock until a job is added
	atomic_bool has_waits;    // there was a wait; read without the lock, set with the lock
	// guarded by nested_mutex()
	struct added_entry *entries; // sorted by id
	size_t n, cap;
	struct parent *parents;   // sorted by id
	size_t n_parents, parents_cap;
	struct list waits;        // the waits, in the order in which they began
	uint64_t nsearches, nended; // how many searches there were; how many added jobs have ended
};

// added_jobs_open() makes the table of the run's added jobs, after run->nested was made. added_jobs_close() frees it (NULL is fine).
struct added_jobs *added_jobs_open(struct run *run);
void added_jobs_close(struct added_jobs *jobs);

// Frees an added job (NULL is fine) whose item is gone. From any thread.
void added_job_free(struct added_job *added);

// Enters the added job, whose id is set, in the table. `by` is the id of the job that has added it, or 0; `number` is the new job's
// number in the queue (item.number, struct work.id). Called from the event loop, before the item is submitted.
void added_jobs_register(struct added_jobs *jobs, struct added_job *added, uint64_t by, struct queue *queue, uint64_t number);

// Returns the entry of the job with that id, or NULL. With nested_mutex(); the entry is valid while this lock is held.
struct added_entry *added_jobs_find(const struct added_jobs *jobs, uint64_t id);

// Records that the added job has ended for good with that result, or will never run: ends waits for the job. To be called before the
// worker is done with the job's item, so that a job that waited is first in line for the slot. A second call is ignored. Any thread.
void added_job_ended(struct run *run, struct added_job *added, const struct result *result);

// Returns whether there is or was an added job of that id. Once it has ended, *ret_code is the exit status of --wait for the job.
enum added_state { ADDED_UNKNOWN, ADDED_THERE, ADDED_ENDED };
enum added_state added_jobs_state(struct added_jobs *jobs, uint64_t id, int *ret_code);

// Appends to `ids`, as uint64_t, the ids of the jobs that job `by` has added; with `unreported` only the ids of jobs whose end --wait-any
// has not reported yet.
void added_jobs_by(struct added_jobs *jobs, uint64_t by, bool unreported, struct buf *ids);

// ---- rows of the joblog
//
// The row of a job is written after the rows of all jobs that it has added, directly or through other jobs. If an added job was cut
// off or never started, the adding job gets no row: so --resume runs the adding job again, which adds those jobs again.

// Keeps the row (copied) of job `seq` if a job that it has added is not finished yet. Returns false if the caller is to write the
// row now. NULL-safe, as added_jobs_finish() is. Any thread.
bool added_jobs_keep_row(struct added_jobs *jobs, uint64_t seq, const char *row, size_t len);

// Marks the added job `seq` as finished: it need not run again, because its row is in the joblog, or it was cancelled. If all jobs
// that were added by the job's parent (the job that added it) are finished now, appends the parent's kept row to `ret_rows`. Does nothing
// for a job that was not added or is finished. Any thread.
void added_jobs_finish(struct added_jobs *jobs, uint64_t seq, struct buf *ret_rows);

// Marks the job of that id as cancelled. If the job `runs`, the caller ends its process, and added_job_ended() follows; else this
// call records the end of the job.
void added_jobs_cancel(struct run *run, uint64_t id, bool runs);

// ---- waits.c: if `jobs` is NULL, there are no waits, and these functions do nothing

// For added_jobs.c only: notes that the job of the entry has ended. With nested_mutex().
void waits_note_end(struct added_jobs *jobs, struct added_entry *entry);

// Called when the job is queued again, for another attempt or step: moves it to the front of its queue if a wait needs it. Any thread.
void waits_requeued(struct added_jobs *jobs, uint64_t id);

// waits_attempt_begin() is called when the attempt has entered the table of attempts: from then on its processes may wait. waits_attempt_end()
// takes the attempt out of the table and detaches it from its waits, which go on without an attempt; returns true if the attempt has its slots and
// the terminal, false if other jobs still have these on loan. Called on the worker's thread.
void waits_attempt_begin(struct added_jobs *jobs, struct live_attempt *attempt);
bool waits_attempt_end(struct added_jobs *jobs, struct live_attempt *attempt);

// ---- the following functions are called from the event loop only ----

// Begins to wait until all of the `n` (> 0) added jobs have ended, or with `any` the first of them. `waiter` is the number of the
// attempt whose process waits, or 0 if a process outside this run waits. The ids are copied. Returns the wait, which is freed by
// waits_end_next() or waits_cancel(); or NULL with the reason in `why` (no full stop, names escaped): the attempt does not
// run, or the wait would close a circle, whose jobs are named.
struct wait *waits_begin(struct added_jobs *jobs, uint64_t waiter, const uint64_t *ids, size_t n, bool any, void *arg, struct buf *why) FP_NODISCARD;

// Cancels the wait, because its client has gone, and frees it. If it was the attempt's last wait, the job
// goes on at once; the job's slots count as taken again, so no other job starts before there is room.
void waits_cancel(struct wait *wait);

// Ends and frees a wait that is over: the jobs have ended, and the waiter has its slots. Returns the `arg` of its waits_begin(), and *ret_id: the job
// that ended first (with `any`), or last; or NULL if no wait is over. To be called whenever the loop wakes, until it returns NULL.
void *waits_end_next(struct added_jobs *jobs, uint64_t *ret_id);

struct wait_view {
	const char *waiter;  // "BATCH#7", or "" for a process outside the run; escaped
	const uint64_t *ids; // the jobs that the waiter waits for and that have not ended yet
	size_t n;
	bool returns;        // all these jobs have ended: now the waiter waits for its slots
};

// Calls fn for each wait, in the order in which they began. The view is borrowed for the call. With nested_mutex().
void waits_each(struct added_jobs *jobs, void (*fn)(void *arg, const struct wait_view *view), void *arg);
