// Jobs that wait for the time of their next attempt, without a slot.
//
// A list, sorted by time. Workers insert jobs, searching from the end, because most pauses are equally long. The event loop takes jobs out.

#include "state/run.h"

#include "base/alloc.h"
#include "state/job_state.h"

struct retry_queue {
	const struct retry_calls *calls;
	mutex lock;
	struct list jobs;    // sorted by job.due; jobs that are due at the same time are in the order in which they were added, but not cancelled jobs
	bool stopped;
};

struct retry_queue *retry_queue_create(const struct retry_calls *calls) {
	struct retry_queue *retry_queue = NEW(struct retry_queue);
	retry_queue->calls = calls;
	list_init(&retry_queue->jobs);
	mutex_init(&retry_queue->lock, LOCK_RETRY_QUEUE);
	return retry_queue;
}

void retry_queue_destroy(struct retry_queue *retry_queue) {
	if (retry_queue) {
		mutex_fini(&retry_queue->lock);
		free(retry_queue);
	}
}

// Takes the first job if it is due at `by`; else returns NULL. *ret_next: when the first job is due, or TIME_NEVER.
static struct job *take(struct retry_queue *retry_queue, uint64_t by, uint64_t *ret_next) {
	struct job *job = NULL;
	*ret_next = TIME_NEVER;
	FP_HOLD(&retry_queue->lock);
	if (!list_is_empty(&retry_queue->jobs)) {
		job = list_entry(retry_queue->jobs.next, struct job, waiting);
		*ret_next = job->due;
		job = job->due <= by ? job : NULL;
	}
	if (job) {
		list_remove(&job->waiting);
	}
	return job;
}

static void release(struct queue *queue) {
	struct batch *batch = queue_user(queue);
	pool_queue_close(batch->run->pool, queue);
	batch_unref(batch);
}

static void cut_off(struct retry_queue *retry_queue, struct job *job) {
	struct queue *queue = job->queue;
	retry_queue->calls->cut_off(job);
	release(queue);
}

bool retry_queue_add(struct retry_queue *retry_queue, struct queue *queue, struct job *job, uint64_t due) {
	struct run *run = job->batch->run;
	if (!queue_ref(run->pool, queue)) { // the job's own reference: so far only the running item has kept the queue open
		return false;
	}
	(void)batch_ref(job->batch);
	job->queue = queue;
	mutex_lock(&retry_queue->lock);
	job->due = job_is_cancelled(job) ? 0 : due;
	bool taken = !retry_queue->stopped;
	struct list *before = retry_queue->jobs.prev;
	while (before != &retry_queue->jobs && list_entry(before, struct job, waiting)->due > job->due) {
		before = before->prev;
	}
	if (taken) {
		list_push_front(before, &job->waiting);
	}
	bool is_first = before == &retry_queue->jobs;
	mutex_unlock(&retry_queue->lock);
	if (!taken) {
		release(queue);
	} else if (is_first) {
		run_wake(run);
	}
	return taken;
}

uint64_t retry_queue_submit(struct retry_queue *retry_queue, uint64_t now) {
	uint64_t next;
	for (struct job *job; (job = take(retry_queue, now, &next));) {
		struct queue *queue = job->queue;
		if (retry_queue->calls->resume(queue, job)) {
			release(queue);
			continue;
		}
		mutex_lock(&retry_queue->lock);
		bool kept = !retry_queue->stopped;
		if (kept) {
			list_push_front(&retry_queue->jobs, &job->waiting);
		}
		mutex_unlock(&retry_queue->lock);
		if (kept) {
			return TIME_NEVER; // the pool wakes the loop when it has room
		}
		cut_off(retry_queue, job);
	}
	return next;
}

void retry_queue_recheck(struct retry_queue *retry_queue) {
	FP_HOLD(&retry_queue->lock);
	list_for_each_entry(&retry_queue->jobs, struct job, job, waiting) {
		if (job_is_cancelled(job)) {
			job->due = 0;
			list_remove(&job->waiting);
			list_push_front(&retry_queue->jobs, &job->waiting);
		}
	}
}

void retry_queue_stop(struct retry_queue *retry_queue) {
	uint64_t next;
	mutex_lock(&retry_queue->lock);
	retry_queue->stopped = true;
	mutex_unlock(&retry_queue->lock);
	for (struct job *job; (job = take(retry_queue, TIME_NEVER, &next));) {
		cut_off(retry_queue, job);
	}
}
