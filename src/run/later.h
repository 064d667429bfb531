// Jobs that wait for the time of their next attempt, without a slot.

#ifndef FAIRPAR_RUN_LATER_H
#define FAIRPAR_RUN_LATER_H

#include "run/run.h"

struct job;

struct later *later_create(void);
void later_destroy(struct later *later); // empty

// Keeps the job until `due` (now_ns() time), and its queue open; from the worker whose item it is. The job is handed
// over. Returns false, with nothing done, if the run takes no more work.
bool later_add(struct run *run, const struct queue *queue, struct job *job, uint64_t due);

// Queues the jobs whose time has come; when the next comes, or TIME_NEVER. From the event loop.
uint64_t later_submit(struct run *run, uint64_t now);

// Ends all that wait, which had failed, and takes no more. From any thread.
void later_stop(struct run *run);

#endif
