// The jobs that were added by --add, and the waits for them (--wait). A job's spec is kept until the job ends, its state and exit
// status until the run ends.
//
// A job that waits lends its slots, its place in max_parallel, its declared memory (not what --memory=auto has learned) and the
// terminal to other jobs. The jobs that it waits for move to the front of their queues. When they have ended the waiting job is
// first in line for its slots, and its wait returns only when it has them. If a job has several waits at the same time, only the
// last one to return waits for the slots; the others return at once.
//
// A wait that would close a circle is refused. The needs of batches count as waits, too: a job of a batch waits for all jobs of the
// batches that this batch needs. So a job must not wait for a job of a batch that needs the waiting job's own batch.

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
	int code;                 // once the job has ended: the exit status of --wait for it
	bool reported;            // --wait-any has reported the job's end
	bool finished;            // the joblog row of the job that added this one need not wait for this one any more
	struct queue *queue;      // valid until the job has ended
	uint64_t ended;           // 0: the job has not ended; else n: it was the nth added job to end
	bool is_awaited;          // somebody waits for the job: it was moved to the front of its queue, and will be when it is queued again
	uint64_t seen;            // the number of the last search that has visited this entry
	bool leads;               // that search has found that the entry leads to the waiter
};

struct added_jobs {
	struct run *run;
	atomic_bool any;          // a job was added; read without the lock, so that rows of the joblog need no lock while there is none
	atomic_uint nwaits;       // number of waits under way; read without the lock, changed with the lock
	// with nested_lock()
	struct added_entry *entries; // by id
	size_t n, cap;
	struct parent *parents;   // by id
	size_t n_parents, parents_cap;
	struct list waits;
	uint64_t nsearches, nended;
};

// Make the table of the run's added jobs, after run->nested; and free it (NULL is fine) once no job runs and nobody waits.
struct added_jobs *added_jobs_open(struct run *run);
void added_jobs_close(struct added_jobs *jobs);

// Frees an added job (NULL is fine) whose item is gone. From any thread.
void added_job_free(struct added_job *added);

// Enters the added job, whose id is set, in the table. `number`: its number in the queue (item.number, struct work.id). `by`: the id
// of the job that has added it, or 0. From the event loop, before the item is submitted.
void added_jobs_register(struct added_jobs *jobs, struct added_job *added, uint64_t by, struct queue *queue, uint64_t number);

// Returns the entry of that id, or NULL. With nested_lock(); the entry is valid until nested_unlock().
struct added_entry *added_jobs_find(const struct added_jobs *jobs, uint64_t id);

// Records, for jobs that wait for the added job, that it has ended for good with that result, or will never run. To be called before
// its worker is done with its item, so that a job that waited for it is first in line for its slot. A second call is ignored. Any thread.
void added_job_ended(struct run *run, struct added_job *added, const struct result *result);

// Whether there is or was an added job of that id. *ret_code: the exit status of --wait for it, once it has ended.
enum added_state { ADDED_UNKNOWN, ADDED_THERE, ADDED_ENDED };
enum added_state added_jobs_state(struct added_jobs *jobs, uint64_t id, int *ret_code);

// Appends to `ids`, as uint64_t, the ids of the jobs that job `by` has added; with `unreported` only of those whose end --wait-any has not
// reported yet (by a waits_done_fn).
void added_jobs_by(struct added_jobs *jobs, uint64_t by, bool unreported, struct buf *ids);

// ---- rows of the joblog
//
// The row of a job is written after the rows of all jobs that it has added, directly or through others. If one of these was cut
// off or never started, the adding job gets no row: so --resume runs it again, and it adds those jobs again.

// Keeps the row (copied) of job `seq` if a job that it has added is not finished yet. Returns false if the caller is to write the
// row now. NULL-safe, as added_jobs_finish() is. Any thread.
bool added_jobs_keep_row(struct added_jobs *jobs, uint64_t seq, const char *row, size_t len);

// Marks the added job `seq` as finished: it need not run again, because its row is in the joblog, or its parent (the job that added
// it) has cancelled it. If all added jobs of the parent are finished now, appends the parent's kept row to `ret_rows`. Does nothing
// for a job that was not added or is finished. Any thread.
void added_jobs_finish(struct added_jobs *jobs, uint64_t seq, struct buf *ret_rows);

// Marks the job of that id as cancelled. If `runs`, the caller ends its process, and added_job_ended() follows; else this call
// records its end.
void added_jobs_cancel(struct run *run, uint64_t id, bool runs);

// ---- waits.c: with `jobs` NULL nothing can be waited for, and these do nothing

// Private to added_jobs.c: the entry has ended. With nested_lock().
void waits_note_end(struct added_jobs *jobs, struct added_entry *entry);

// The job is queued again, for another attempt or step: moves it to the front of its queue if somebody waits for it. Any thread.
void waits_requeued(struct added_jobs *jobs, uint64_t id);

// Between these two calls the attempt is in the table of attempts, and its processes may wait. waits_attempt_end() turns pending waits
// of the attempt into waits of an outsider, and returns true if the attempt has its slots and the terminal, false if it still lends
// them. On the worker's thread.
void waits_attempt_begin(struct added_jobs *jobs, struct live_attempt *attempt);
bool waits_attempt_end(struct added_jobs *jobs, struct live_attempt *attempt);

// The next four: from the event loop.

// Is called when a wait is over: the jobs have ended, and the waiter has its slots. `id`: with `any` the job that ended first, else
// the job that ended last. Called once, from waits_tick() and never from waits_begin(); then the wait is freed.
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
	const uint64_t *ids; // the jobs that it waits for and that have not ended yet
	size_t n;
	bool returns;        // all jobs have ended: now the waiter waits for its slots
};

// Calls fn for each wait, in the order in which they began. The view is borrowed for the call. With nested_lock().
void waits_each(struct added_jobs *jobs, void (*fn)(void *arg, const struct wait_view *view), void *arg);
