// The table of the jobs that were added by --add: the spec of each until it ends, and its state and exit status until the run
// ends.

#ifndef FAIRPAR_RECORD_ADDED_JOBS_H
#define FAIRPAR_RECORD_ADDED_JOBS_H

#include "core/job_state.h"
#include "job/job.h"

struct added_jobs;
struct run;

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

// Records that the job has ended with that result, or will never run, and reports that to run->waits, for jobs that wait for it.
// A second call is ignored. Any thread.
void added_job_ended(struct run *run, struct added_job *added, const struct result *result);

// Whether there is or was an added job of that id. *ret_code: the exit status of --wait for it, once it has ended.
enum added_state { ADDED_UNKNOWN, ADDED_THERE, ADDED_ENDED };
enum added_state added_jobs_state(struct added_jobs *added_jobs, uint64_t id, int *ret_code);

// Appends to `ids`, as uint64_t, the ids of the jobs that job `by` has added; with `unreported` only of those whose end was not reported
// yet (--wait-any). added_jobs_mark_reported() notes that the end of a job was reported.
void added_jobs_by(struct added_jobs *added_jobs, uint64_t by, bool unreported, struct buf *ids);
void added_jobs_mark_reported(struct added_jobs *added_jobs, uint64_t id);

// ---- rows of the joblog
//
// The row of a job is written after the rows of all jobs that it has added, directly or through others. If one of these was cut
// off or never started, the job has no row, so --resume runs it again and it adds them again.

// Keeps the row (copied) of job `seq` if a job that it has added is not settled yet. Returns false if it is to be written now.
// Any thread.
bool added_jobs_keep_row(struct added_jobs *added_jobs, uint64_t seq, const char *row, size_t len);

// Settles the added job `seq`: it need not run again, because its row is in the joblog, or the job that added it has cancelled
// it. If it was the last unsettled one of the job that added it, that job's kept row is appended to `ret_rows`. Does nothing for
// a job that was not added or is settled. Any thread.
void added_jobs_settle(struct added_jobs *added_jobs, uint64_t seq, struct buf *ret_rows);

// Marks the job of that id as cancelled. If `runs`, the caller ends its process, and added_job_ended() follows; else this call
// records its end.
void added_jobs_cancel(struct run *run, uint64_t id, bool runs);

#endif
