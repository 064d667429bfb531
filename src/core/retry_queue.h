// Jobs that wait for the time of their next attempt, without a slot.

#ifndef FAIRPAR_CORE_RETRY_QUEUE_H
#define FAIRPAR_CORE_RETRY_QUEUE_H

#include "core/run.h"

struct job;

// What becomes of a job that has waited.
struct retry_calls {
	bool (*resume)(struct queue *queue, struct job *job); // its time has come: queues it; false: there is no room now
	void (*cut_off)(struct job *job);                     // its time will not come: ends it
};

// Makes an empty queue. `calls` is borrowed until retry_queue_destroy(), by which the caller frees the queue when it is empty.
struct retry_queue *retry_queue_create(const struct retry_calls *calls);
void retry_queue_destroy(struct retry_queue *retry_queue);

// Keeps the job until `due` (now_ns() time), and its queue open; from the worker whose item it is. The job is handed
// over. Returns false, with nothing done, if the run takes no more work.
bool retry_queue_add(struct retry_queue *retry_queue, struct queue *queue, struct job *job, uint64_t due);

// Queues the jobs whose time has come. Returns when to call it again (now_ns() time), or TIME_NEVER. From the event loop.
uint64_t retry_queue_submit(struct retry_queue *retry_queue, uint64_t now);

// Makes the jobs that were cancelled meanwhile (job_is_cancelled()) due at once. From the event loop.
void retry_queue_recheck(struct retry_queue *retry_queue);

// Ends all jobs that wait, by retry_calls.cut_off, and takes no more. From any thread.
void retry_queue_stop(struct retry_queue *retry_queue);

#endif
