// The life of one job on a worker, and what is done for jobs beside them.

#ifndef FAIRPAR_RUN_JOB_RUN_H
#define FAIRPAR_RUN_JOB_RUN_H

#include "run/submission.h"

struct job;

extern const struct work_type work_item;

// The pool's unhandled-failure event: queues the on-failure command of the job that failed on this worker.
void work_failed(void *arg, struct worker *worker, struct queue *queue);

// Starts nothing more, because the halt was met; from any thread.
void work_stop_run(struct run *run);

// Counts a failure that was no job's: `what` the batch could not do, as the last line has it in brackets; `how` the
// result of its command, or NULL if there was none.
void work_count_trouble(struct batch *batch, const char *what, const struct result *how);

// Queues a job that has waited for its next attempt, at the end of its batch's queue. Returns false if there is no room
// now. If the run takes no more work the job is cut off.
bool work_resume(struct queue *queue, struct job *job);

// Ends a job, which is handed over, whose next attempt or step will not come: failed, if its last attempt had, else
// cancelled. From any thread.
void work_cut_off(struct job *job);

// The job's pause before its next attempt is over, or cut off: tells so, if that has not been told.
void work_end_pause(struct job *job);

#endif
