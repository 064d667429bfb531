// The life of one job on a worker, and what is done for jobs beside them.

#ifndef FAIRPAR_RUN_JOB_RUN_H
#define FAIRPAR_RUN_JOB_RUN_H

#include "run/submission.h"

struct retry_calls;

extern const struct work_type work_item;

// For retry_queue_create().
extern const struct retry_calls work_retries;

// The pool's unhandled-failure event: queues the on-failure command of the job that failed on this worker.
void work_failed(void *arg, struct worker *worker, struct queue *queue);

#endif
