// Jobs that wait for the time of their next attempt, without a slot.
//
// A binary heap by time. Workers add, the event loop takes.

#include "core/run.h"

#include "base/alloc.h"
#include "core/job_state.h"

struct waiting {
	uint64_t due;
	uint64_t n;          // first come, first served
	struct queue *queue; // held open
	struct batch *batch; // a reference
	struct job *job;
};

struct retry_queue {
	const struct retry_calls *calls;
	mutex lock;
	struct waiting *heap;
	size_t nheap, cap;
	bool stopped;
	atomic_uint_least64_t n; // added so far
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

// Keeps it, unless the queue was stopped. *ret_first: it is the next one.
static bool put(struct retry_queue *retry_queue, struct waiting waiting, bool *ret_first) {
	mutex_lock(&retry_queue->lock);
	bool kept = !retry_queue->stopped;
	waiting.due = job_is_cancelled(waiting.job) ? 0 : waiting.due;
	*ret_first = retry_queue->nheap == 0 || before(&waiting, &retry_queue->heap[0]);
	if (kept) {
		push(retry_queue, waiting);
	}
	mutex_unlock(&retry_queue->lock);
	return kept;
}

// Takes the next one if it is due by then; else its job is NULL, and *ret_next tells when the next is.
static struct waiting take(struct retry_queue *retry_queue, uint64_t by, uint64_t *ret_next) {
	struct waiting waiting = {.job = NULL};
	mutex_lock(&retry_queue->lock);
	*ret_next = retry_queue->nheap > 0 ? retry_queue->heap[0].due : TIME_NEVER;
	if (retry_queue->nheap > 0 && *ret_next <= by) {
		waiting = pop(retry_queue);
	}
	mutex_unlock(&retry_queue->lock);
	return waiting;
}

static void release(const struct waiting *waiting) {
	pool_queue_close(waiting->batch->run->pool, waiting->queue);
	batch_unref(waiting->batch);
}

// ---- the calls ----

bool retry_queue_add(struct retry_queue *retry_queue, struct queue *queue, struct job *job, uint64_t due) {
	struct run *run = job->batch->run;
	if (!queue_ref(run->pool, queue)) { // its running item has kept it so far
		return false;
	}
	struct waiting waiting = {
		.due = due, .n = atomic_add_relaxed(&retry_queue->n, 1), .queue = queue, .batch = batch_ref(job->batch), .job = job,
	};
	bool is_first, taken = put(retry_queue, waiting, &is_first);
	if (!taken) {
		release(&waiting);
	} else if (is_first) {
		run_wake(run);
	}
	return taken;
}

uint64_t retry_queue_submit(struct retry_queue *retry_queue, uint64_t now) {
	for (;;) {
		uint64_t next;
		struct waiting waiting = take(retry_queue, now, &next);
		bool is_first;
		if (!waiting.job) {
			return next;
		}
		if (!retry_queue->calls->resume(waiting.queue, waiting.job)) {
			if (put(retry_queue, waiting, &is_first)) {
				return TIME_NEVER; // the pool wakes the loop when it has room
			}
			retry_queue->calls->cut_off(waiting.job);
		}
		release(&waiting);
	}
}

void retry_queue_recheck(struct retry_queue *retry_queue) {
	mutex_lock(&retry_queue->lock);
	size_t n = retry_queue->nheap;
	retry_queue->nheap = 0;
	for (size_t i = 0; i < n; ++i) { // the heap of those before it takes no more room than they had
		struct waiting waiting = retry_queue->heap[i];
		waiting.due = job_is_cancelled(waiting.job) ? 0 : waiting.due;
		push(retry_queue, waiting);
	}
	mutex_unlock(&retry_queue->lock);
}

void retry_queue_stop(struct retry_queue *retry_queue) {
	uint64_t next;
	mutex_lock(&retry_queue->lock);
	retry_queue->stopped = true;
	mutex_unlock(&retry_queue->lock);
	for (struct waiting waiting; (waiting = take(retry_queue, TIME_NEVER, &next)).job;) {
		retry_queue->calls->cut_off(waiting.job);
		release(&waiting);
	}
}
