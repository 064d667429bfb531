// The order of output: what waits in each lane to be written, and which lane is next. All of it under writer->lock.
//
// A lane holds what waits to be written as references, one number for each job:
//	queue   what may be written, in this order (the lane `arrival` of a run without keep_order uses only this)
//	window  with keep_order: job `window.first` is the one whose turn it is
// Lanes that have something to be written are in `ready` and are served in turn.

#include "output/internal.h"

#include "base/alloc.h"

enum { RING_KEEP = 4096 }; // slots of an empty ring that are kept

// ---- rings

static uint64_t *ring_slot(const struct ring *ring, uint64_t n) {
	return &ring->slot[n & (ring->cap - 1)];
}

static uint64_t ring_get(const struct ring *ring, uint64_t n) {
	return n < ring->end ? *ring_slot(ring, n) : REF_NONE;
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

static void ring_set(struct ring *ring, uint64_t n, uint64_t ref) {
	verify(n >= ring->first);
	if (n - ring->first >= ring->cap) {
		ring_grow(ring, n - ring->first + 1);
	}
	for (; ring->end <= n; ++ring->end) {
		*ring_slot(ring, ring->end) = REF_NONE;
	}
	*ring_slot(ring, n) = ref;
}

// Forgets the first. An empty ring that was large gives its memory back.
static void ring_pop(struct ring *ring) {
	++ring->first;
	if (ring->end < ring->first) {
		ring->end = ring->first;
	}
	if (ring_is_empty(ring) && ring->cap > RING_KEEP) {
		free(ring->slot);
		ring->slot = NULL;
		ring->cap = 0;
	}
}

// ---- lanes

struct writer_lane *writer_lane_init(struct writer_lane *lane) {
	list_init(&lane->all);
	list_init(&lane->ready);
	lane->window.first = lane->window.end = 1; // orders count from 1
	return lane;
}

void writer_lane_fini(struct writer_lane *lane) {
	list_remove(&lane->all);
	list_remove(&lane->ready);
	free(lane->queue.slot);
	free(lane->window.slot);
}

void writer_lane_push(struct writer_lane *lane, uint64_t ref) {
	ring_set(&lane->queue, lane->queue.end, ref);
}

void writer_lane_place(struct writer_lane *lane, uint64_t order, uint64_t ref) {
	ring_set(&lane->window, order, ref);
}

// It has become this job's turn in its lane while it is still running: the lines it has so far may be written.
static void lane_promote(struct writer *writer, struct writer_lane *lane, struct spool *spool) {
	if (spool->busy) {
		// its own thread looks again when it leaves, or when it wakes from waiting for room
		++writer->released;
		cond_broadcast(&writer->changed);
	} else if (spool_is_ready(spool)) {
		writer_lane_push(lane, spool_ref(spool_split_locked(spool)));
	}
}

void writer_lane_refresh(struct writer *writer, struct writer_lane *lane) {
	struct ring *window = &lane->window;
	for (uint64_t ref = REF_DONE; ring_is_empty(&lane->queue) && !ring_is_empty(window);) {
		ref = ring_get(window, window->first);
		if (ref == REF_DONE || (ref == REF_NONE && lane->closed)) {
			ring_pop(window);
			continue;
		}
		if ((ref & PACK_REF_MASK) == REF_OPEN) {
			lane_promote(writer, lane, ref_spool(ref));
		}
		break;
	}
	if (writer->waiting > 0) {
		cond_broadcast(&writer->changed); // it may have become the turn of one of them
	}
	uint64_t first = ring_get(window, window->first);
	bool is_ready = !ring_is_empty(&lane->queue) || (first != REF_NONE && (first & PACK_REF_MASK) != REF_OPEN);
	if (is_ready && !lane->is_ready) {
		list_push_back(&writer->ready, &lane->ready);
	} else if (!is_ready && lane->is_ready) {
		list_remove(&lane->ready);
	}
	lane->is_ready = is_ready;
	if (lane->closed && !is_ready && ring_is_empty(window)) {
		writer_lane_fini(lane);
		free(lane);
	}
}

uint64_t lanes_pop(struct writer *writer) {
	struct writer_lane *lane = list_entry(writer->ready.next, struct writer_lane, ready);
	struct ring *from = ring_is_empty(&lane->queue) ? &lane->window : &lane->queue;
	uint64_t ref = ring_get(from, from->first);
	ring_pop(from);
	// behind the other lanes
	list_remove(&lane->ready);
	lane->is_ready = false;
	writer_lane_refresh(writer, lane);
	return ref;
}
