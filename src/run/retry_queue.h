// Jobs that wait for the time of their next attempt, without a slot.

#ifndef FAIRPAR_RUN_RETRY_QUEUE_H
#define FAIRPAR_RUN_RETRY_QUEUE_H

#include "run/run.h"

struct job;

// What becomes of a job that has waited.
struct retry_calls {
	bool (*resume)(struct queue *queue, struct job *job); // its time has come: queues it; false: there is no room now
	void (*cut_off)(struct job *job);                     // its time will not come: ends it
	bool (*is_cancelled)(const struct job *job);          // it is to have no next attempt: its time has come
};

struct retry_queue *retry_queue_create(const struct retry_calls *calls); // `calls` outlives it
void retry_queue_destroy(struct retry_queue *retry_queue); // empty

// Keeps the job until `due` (now_ns() time), and its queue open; from the worker whose item it is. The job is handed
// over. Returns false, with nothing done, if the run takes no more work.
bool retry_queue_add(struct retry_queue *retry_queue, struct queue *queue, struct job *job, uint64_t due);

// Queues the jobs whose time has come; when the next comes, or TIME_NEVER. From the event loop.
uint64_t retry_queue_submit(struct retry_queue *retry_queue, uint64_t now);

// Some may have been cancelled: their time has come. From the event loop.
void retry_queue_recheck(struct retry_queue *retry_queue);

// Ends all that wait, which had failed, and takes no more. From any thread.
void retry_queue_stop(struct retry_queue *retry_queue);

#endif
