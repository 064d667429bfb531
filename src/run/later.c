// Jobs that wait for the time of their next attempt, without a slot.
//
// A binary heap by time. Workers add, the event loop takes.

#include "run/later.h"

#include "base/alloc.h"
#include "run/attempt.h"
#include "run/work.h"

struct waiting {
	uint64_t due;
	uint64_t n;          // first come, first served
	struct queue *queue; // held open
	struct job *job;
};

struct later {
	mutex lock;
	struct waiting *heap;
	size_t nheap, cap;
	uint64_t n;
	bool stopped;
};

struct later *later_create(void) {
	struct later *later = NEW(struct later);
	mutex_init(&later->lock);
	return later;
}

void later_destroy(struct later *later) {
	if (later) {
		mutex_fini(&later->lock);
		free(later->heap);
		free(later);
	}
}

// ---- heap; under the lock ----

static bool before(const struct waiting *a, const struct waiting *b) {
	return a->due != b->due ? a->due < b->due : a->n < b->n;
}

static void push(struct later *later, struct waiting waiting) {
	grow_array(&later->heap, &later->cap, later->nheap + 1, sizeof(later->heap[0]));
	size_t at = later->nheap++;
	while (at > 0 && before(&waiting, &later->heap[(at - 1) / 2])) {
		later->heap[at] = later->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	later->heap[at] = waiting;
}

static struct waiting pop(struct later *later) {
	struct waiting first = later->heap[0];
	struct waiting last = later->heap[--later->nheap];
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < later->nheap; at = child) {
		if (child + 1 < later->nheap && before(&later->heap[child + 1], &later->heap[child])) {
			++child;
		}
		if (!before(&later->heap[child], &last)) {
			break;
		}
		later->heap[at] = later->heap[child];
	}
	later->heap[at] = last;
	return first;
}

// ---- the calls ----

bool later_add(struct run *run, const struct queue *queue, struct job *job, uint64_t due) {
	struct later *later = run->later;
	static const struct queue_attrs nothing_new = {.weight = 1};
	// its running item keeps it, so it is found, and this open keeps it from now on
	struct queue *held = pool_queue_open(run->pool, queue_name(queue), &nothing_new, NULL);
	if (!held) {
		return false;
	}
	mutex_lock(&later->lock);
	bool taken = !later->stopped;
	bool first = later->nheap == 0 || due < later->heap[0].due;
	if (taken) {
		batch_ref(job->batch);
		push(later, (struct waiting){.due = due, .n = later->n++, .queue = held, .job = job});
	}
	mutex_unlock(&later->lock);
	if (!taken) {
		pool_queue_close(run->pool, held);
	} else if (first) {
		run_wake(run);
	}
	return taken;
}

uint64_t later_submit(struct run *run, uint64_t now) {
	struct later *later = run->later;
	for (;;) {
		mutex_lock(&later->lock);
		uint64_t next = later->nheap > 0 ? later->heap[0].due : TIME_NEVER;
		struct waiting waiting = {0};
		if (next <= now) {
			waiting = pop(later);
		}
		mutex_unlock(&later->lock);
		if (!waiting.job) {
			return next;
		}
		struct batch *batch = waiting.job->batch;
		work_end_pause(waiting.job);
		if (!work_resume(waiting.queue, waiting.job)) {
			mutex_lock(&later->lock);
			bool kept = !later->stopped;
			if (kept) {
				push(later, waiting);
			}
			mutex_unlock(&later->lock);
			if (kept) {
				return TIME_NEVER; // the pool wakes the loop when it has room
			}
			work_cut_off(waiting.job);
		}
		pool_queue_close(run->pool, waiting.queue);
		batch_unref(batch);
	}
}

void later_stop(struct run *run) {
	struct later *later = run->later;
	for (;;) {
		mutex_lock(&later->lock);
		later->stopped = true;
		bool more = later->nheap > 0;
		struct waiting waiting = more ? pop(later) : (struct waiting){0};
		mutex_unlock(&later->lock);
		if (!more) {
			return;
		}
		struct batch *batch = waiting.job->batch;
		work_cut_off(waiting.job);
		pool_queue_close(run->pool, waiting.queue);
		batch_unref(batch);
	}
}
