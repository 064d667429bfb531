// Jobs that wait for the time of their next attempt, without a slot.
//
// A binary heap by time. Workers add, the event loop takes.

#include "run/retry_queue.h"

#include "base/alloc.h"
#include "run/job_state.h"

struct waiting {
	uint64_t due;
	uint64_t n;          // first come, first served
	struct queue *queue; // held open
	struct job *job;
};

struct retry_queue {
	const struct retry_calls *calls;
	mutex lock;
	struct waiting *heap;
	size_t nheap, cap;
	uint64_t n;
	bool stopped;
};

struct retry_queue *retry_queue_create(const struct retry_calls *calls) {
	struct retry_queue *retry_queue = NEW(struct retry_queue);
	retry_queue->calls = calls;
	mutex_init(&retry_queue->lock, LOCK_RETRY_QUEUE);
	return retry_queue;
}

void retry_queue_destroy(struct retry_queue *retry_queue) {
	if (retry_queue) {
		mutex_fini(&retry_queue->lock);
		free(retry_queue->heap);
		free(retry_queue);
	}
}

// ---- heap; under the lock ----

static bool before(const struct waiting *a, const struct waiting *b) {
	return a->due != b->due ? a->due < b->due : a->n < b->n;
}

static void push(struct retry_queue *retry_queue, struct waiting waiting) {
	grow_array(&retry_queue->heap, &retry_queue->cap, retry_queue->nheap + 1, sizeof(retry_queue->heap[0]));
	size_t at = retry_queue->nheap++;
	while (at > 0 && before(&waiting, &retry_queue->heap[(at - 1) / 2])) {
		retry_queue->heap[at] = retry_queue->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	retry_queue->heap[at] = waiting;
}

static struct waiting pop(struct retry_queue *retry_queue) {
	struct waiting first = retry_queue->heap[0];
	struct waiting last = retry_queue->heap[--retry_queue->nheap];
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < retry_queue->nheap; at = child) {
		if (child + 1 < retry_queue->nheap && before(&retry_queue->heap[child + 1], &retry_queue->heap[child])) {
			++child;
		}
		if (!before(&retry_queue->heap[child], &last)) {
			break;
		}
		retry_queue->heap[at] = retry_queue->heap[child];
	}
	retry_queue->heap[at] = last;
	return first;
}

// ---- the calls ----

bool retry_queue_add(struct run *run, struct queue *queue, struct job *job, uint64_t due) {
	struct retry_queue *retry_queue = run->retry_queue;
	if (!queue_ref(run->pool, queue)) { // its running item has kept it so far
		return false;
	}
	mutex_lock(&retry_queue->lock);
	bool taken = !retry_queue->stopped;
	bool first = retry_queue->nheap == 0 || due < retry_queue->heap[0].due;
	if (taken) {
		batch_ref(job->batch);
		push(retry_queue, (struct waiting){.due = due, .n = retry_queue->n++, .queue = queue, .job = job});
	}
	mutex_unlock(&retry_queue->lock);
	if (!taken) {
		pool_queue_close(run->pool, queue);
	} else if (first) {
		run_wake(run);
	}
	return taken;
}

uint64_t retry_queue_submit(struct run *run, uint64_t now) {
	struct retry_queue *retry_queue = run->retry_queue;
	for (;;) {
		mutex_lock(&retry_queue->lock);
		uint64_t next = retry_queue->nheap > 0 ? retry_queue->heap[0].due : TIME_NEVER;
		struct waiting waiting = {0};
		if (next <= now) {
			waiting = pop(retry_queue);
		}
		mutex_unlock(&retry_queue->lock);
		if (!waiting.job) {
			return next;
		}
		struct batch *batch = waiting.job->batch;
		if (!retry_queue->calls->resume(waiting.queue, waiting.job)) {
			mutex_lock(&retry_queue->lock);
			bool kept = !retry_queue->stopped;
			if (kept) {
				push(retry_queue, waiting);
			}
			mutex_unlock(&retry_queue->lock);
			if (kept) {
				return TIME_NEVER; // the pool wakes the loop when it has room
			}
			retry_queue->calls->cut_off(waiting.job);
		}
		pool_queue_close(run->pool, waiting.queue);
		batch_unref(batch);
	}
}

void retry_queue_stop(struct run *run) {
	struct retry_queue *retry_queue = run->retry_queue;
	for (;;) {
		mutex_lock(&retry_queue->lock);
		retry_queue->stopped = true;
		bool more = retry_queue->nheap > 0;
		struct waiting waiting = more ? pop(retry_queue) : (struct waiting){0};
		mutex_unlock(&retry_queue->lock);
		if (!more) {
			return;
		}
		struct batch *batch = waiting.job->batch;
		retry_queue->calls->cut_off(waiting.job);
		pool_queue_close(run->pool, waiting.queue);
		batch_unref(batch);
	}
}
