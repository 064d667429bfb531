// The jobs that were added to a run from outside of its input (--add): what each is made from while it is there, and what has
// become of it, for as long as the run.

#ifndef FAIRPAR_RUN_ADDED_JOBS_H
#define FAIRPAR_RUN_ADDED_JOBS_H

#include "job/job.h"
#include "run/item.h"
#include "run/job_spec.h"

struct added_jobs;
struct run;

// One that has not ended. The item that is queued for it has a pointer to it behind its words.
struct added_job {
	uint64_t id;              // item.seq, once it is known
	struct job_spec spec;
	atomic_bool cancelled;    // it is not to start, or is being ended
};

// One for the run; NULL-safe close, once no job runs.
struct added_jobs *added_jobs_open(void);
void added_jobs_close(struct added_jobs *added_jobs);

// Appends the pointer to the words; and gets it from a record that was made so.
void added_job_write(struct added_job *added, const char *words, size_t size, struct buf *ret_bytes);
struct added_job *added_job_of(const struct record *record, struct record *ret_words);

// Frees it: its item is no more. From any thread, and NULL-safe.
void added_job_free(struct added_job *added);

// It has its id, and `by` is the id of the job that has added it, or 0. From the event loop, before it is submitted.
void added_jobs_register(struct added_jobs *added_jobs, struct added_job *added, uint64_t by);

// The job has ended so, or will never run; a second call is ignored. From any thread. Tells run->waits.
void added_job_ended(struct run *run, struct added_job *added, const struct result *result);

// What is known of a job by its id.
enum added_state { ADDED_UNKNOWN, ADDED_THERE, ADDED_ENDED };
enum added_state added_jobs_look(struct added_jobs *added_jobs, uint64_t id, int *ret_code);

// The ids of the jobs that `by` has added; with `untold` without those that added_jobs_tell() was called for. Appends them to
// `ids`, as uint64_t.
void added_jobs_by(struct added_jobs *added_jobs, uint64_t by, bool untold, struct buf *ids);
void added_jobs_tell(struct added_jobs *added_jobs, uint64_t id);

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
