// The jobs that were added to a run from outside of its input (--add): what each is made from while it is there, and what has
// become of it, for as long as the run.

#ifndef FAIRPAR_RUN_ADDED_JOBS_H
#define FAIRPAR_RUN_ADDED_JOBS_H

#include "job/job.h"
#include "run/item.h"
#include "run/job_spec.h"

struct added_jobs;
struct run;

// An added job that has not ended. The item that is queued for it holds a pointer to it behind its words.
struct added_job {
	uint64_t id;              // item.seq, once it is known
	struct job_spec spec;
	atomic_bool cancelled;    // it is not to start, or is being ended
};

// Makes the table of the run's added jobs, and frees it (NULL is fine) once no job runs.
struct added_jobs *added_jobs_open(void);
void added_jobs_close(struct added_jobs *added_jobs);

// added_job_write() appends the words and behind them the pointer `added`, as an item has them. added_job_of() reads such a record:
// it returns the pointer, and the words in *ret_words, borrowed.
void added_job_write(struct added_job *added, const char *words, size_t size, struct buf *ret_bytes);
struct added_job *added_job_of(const struct record *record, struct record *ret_words);

// Frees an added job (NULL is fine) whose item is gone. From any thread.
void added_job_free(struct added_job *added);

// Enters the job, which has its id, in the table; `by` is the id of the job that has added it, or 0. From the event loop, before the
// item is submitted.
void added_jobs_register(struct added_jobs *added_jobs, struct added_job *added, uint64_t by);

// Notes that the job has ended with that result, or that it will never run, and lets those go on that wait for it (run->waits). A
// second call is ignored. From any thread.
void added_job_ended(struct run *run, struct added_job *added, const struct result *result);

// Whether there is or was an added job of that id. *ret_code: the exit status of --wait for it, once it has ended.
enum added_state { ADDED_UNKNOWN, ADDED_THERE, ADDED_ENDED };
enum added_state added_jobs_state(struct added_jobs *added_jobs, uint64_t id, int *ret_code);

// Appends to `ids`, as uint64_t, the ids of the jobs that job `by` has added; with `untold` only of those whose end was not reported
// yet (--wait-any). added_jobs_mark_reported() notes that the end of a job was reported.
void added_jobs_by(struct added_jobs *added_jobs, uint64_t by, bool untold, struct buf *ids);
void added_jobs_mark_reported(struct added_jobs *added_jobs, uint64_t id);

// ---- rows of the joblog
//
// A job has its row behind those of all jobs that it has added, and these behind those that they have added. So --resume runs it
// again, which adds them again, where one of them was cut off or never started.

// Keeps the row (copied) of the job `seq`, if jobs that it has added are not settled. Returns whether it was kept. From any thread.
bool added_jobs_keep_row(struct added_jobs *added_jobs, uint64_t seq, const char *row, size_t len);

// The job `seq` need not run again: its row was written, or was there, or who added it has cancelled it. Appends the row of the job
// that has added it to `ret_rows`, if that was kept for it alone. Not for a job that was not added, and not for the second time.
// From any thread.
void added_jobs_settle(struct added_jobs *added_jobs, uint64_t seq, struct buf *ret_rows);

// Cancels the job of that id. If `runs`, it is being ended by somebody; else it has ended with this.
void added_jobs_cancel(struct run *run, uint64_t id, bool runs);

#endif
