// The order of output: what waits in each queue to be written, and which queue is next. All functions here are called with writer->lock.
//
// A queue holds a reference (struct ref) to each output that waits to be written, in two rings:
//	writable  outputs that may be written, in the order of writing (the queue `arrival` uses only this ring)
//	window    with keep_order: the outputs by job number; job `window.first` is the next to be written
// Queues with output that may be written are in writer->ready and are served one after the other.

#include "output/internal.h"

#include "base/alloc.h"

enum { RING_KEEP = 4096 }; // an empty ring keeps its memory only if it has at most this many slots

// ---- rings

static struct ref *ring_slot(const struct ring *ring, uint64_t n) {
	return &ring->slot[n & (ring->cap - 1)];
}

static struct ref ring_get(const struct ring *ring, uint64_t n) {
	return n < ring->end ? *ring_slot(ring, n) : (struct ref){.kind = REF_NONE};
}

static bool ring_is_empty(const struct ring *ring) {
	return ring->first == ring->end;
}

static void ring_grow(struct ring *ring, uint64_t need) {
	struct ring grown = *ring;
	grown.cap = ring->cap ? ring->cap : 16;
	while (grown.cap < need) {
		grown.cap *= 2;
	}
	grown.slot = xcalloc((size_t)grown.cap, sizeof(grown.slot[0]));
	for (uint64_t n = ring->first; n < ring->end; ++n) {
		*ring_slot(&grown, n) = *ring_slot(ring, n);
	}
	free(ring->slot);
	*ring = grown;
}

static void ring_set(struct ring *ring, uint64_t n, struct ref ref) {
	verify(n >= ring->first);
	if (n - ring->first >= ring->cap) {
		ring_grow(ring, n - ring->first + 1);
	}
	for (; ring->end <= n; ++ring->end) {
		*ring_slot(ring, ring->end) = (struct ref){.kind = REF_NONE};
	}
	*ring_slot(ring, n) = ref;
}

// Removes the first reference. If the ring is then empty and has much memory, frees the memory.
static void ring_pop(struct ring *ring) {
	++ring->first;
	if (ring_is_empty(ring) && ring->cap > RING_KEEP) {
		free(ring->slot);
		ring->slot = NULL;
		ring->cap = 0;
	}
}

// ---- queues

struct output_queue *output_queue_init(struct output_queue *queue) {
	list_init(&queue->all);
	list_init(&queue->ready);
	queue->window.first = queue->window.end = 1; // jobs' numbers count from 1
	return queue;
}

void output_queue_fini(struct output_queue *queue) {
	list_remove(&queue->all);
	list_remove(&queue->ready);
	free(queue->writable.slot);
	free(queue->window.slot);
}

void output_queue_push(struct output_queue *queue, struct ref ref) {
	ring_set(&queue->writable, queue->writable.end, ref);
}

void output_queue_put(struct output_queue *queue, uint64_t order, struct ref ref) {
	ring_set(&queue->window, order, ref);
}

// Called when a job that still runs is the next of its queue: the lines that the job has so far may be written.
static void output_queue_promote(struct writer *writer, struct output_queue *queue, struct spool *spool) {
	if (spool->busy) {
		note_release_locked(writer); // the job's own thread writes the lines at writer_leave(), or when its wait for room ends
	} else if (spool_is_ready(spool)) {
		output_queue_push(queue, (struct ref){REF_SPOOL, .spool = spool_split_locked(spool)});
	}
}

void output_queue_refresh(struct writer *writer, struct output_queue *queue) {
	struct ring *window = &queue->window;
	if (queue->waits) {
		return;
	}
	while (ring_is_empty(&queue->writable) && !ring_is_empty(window)) {
		struct ref ref = ring_get(window, window->first);
		if (ref.kind == REF_DONE || (ref.kind == REF_NONE && queue->closed)) {
			ring_pop(window);
			continue;
		}
		if (ref.kind == REF_OPEN) {
			output_queue_promote(writer, queue, ref.spool);
		}
		break;
	}
	cond_broadcast(&writer->changed); // a job that waits for room may be the next job now
	enum ref_kind first = ring_get(window, window->first).kind;
	bool is_ready = !ring_is_empty(&queue->writable) || (first != REF_NONE && first != REF_OPEN);
	if (!is_ready) {
		list_remove(&queue->ready);
	} else if (list_is_empty(&queue->ready)) {
		list_push_back(&writer->ready, &queue->ready);
	}
	if (queue->closed && !is_ready && ring_is_empty(window)) {
		struct output_queue *next = queue->next;
		output_queue_fini(queue);
		free(queue);
		if (next) {
			next->waits = false;
			output_queue_refresh(writer, next);
		}
	}
}

struct ref output_queues_pop(struct writer *writer) {
	struct output_queue *queue = list_entry(writer->ready.next, struct output_queue, ready);
	struct ring *from = ring_is_empty(&queue->writable) ? &queue->window : &queue->writable;
	struct ref ref = ring_get(from, from->first);
	ring_pop(from);
	// the queue goes behind the other queues
	list_remove(&queue->ready);
	output_queue_refresh(writer, queue);
	return ref;
}
