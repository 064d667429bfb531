// The turn to write: who has it, for how long, and the thread that waits for a slow reader.
//
// A worker that has the turn writes also for others, but never blocks on a reader, and no longer than a stint; then the
// flusher goes on, a thread that is started when it is first needed.

#include "output/inside.h"

enum {
	STINT = 256 * 1024,         // bytes that a worker writes for others, then it is the flusher's
	FLUSHER_STACK = 64 * 1024,
	RECEIPTS_MAX = 16 * 1024,   // bytes of them that wait for what was gathered to be written
};

// The spool to go on with, or NULL: nothing may be written now.
static struct spool *turn_next(struct emit *emit) {
	if (emit->current || list_is_empty(&emit->ready)) {
		return emit->current;
	}
	uint64_t ref = lanes_pop(emit);
	if ((ref & PACK_REF_MASK) == PACK_REF) {
		emit->unpacked_ref = ref;
		emit->current = &emit->unpacked;
	} else {
		emit->current = ref_spool(ref);
	}
	return emit->current;
}

static void *flusher_main(void *arg) {
	struct emit *emit = arg;
	mutex_lock(&emit->lock);
	for (;;) {
		while (!emit->handed && !emit->stop) {
			cond_wait(&emit->handed_over, &emit->lock);
		}
		if (!emit->handed) {
			break;
		}
		emit->handed = false;
		turn_work(emit, /* wait */ true);
	}
	mutex_unlock(&emit->lock);
	return NULL;
}

// Gives the turn to the flusher. False if there is none and none can be had.
static bool turn_hand_over(struct emit *emit) {
	if (emit->flusher_state == FLUSHER_NONE) {
		mutex_unlock(&emit->lock); // the turn keeps others from coming here
		int error = thread_start(&emit->flusher, flusher_main, emit, FLUSHER_STACK);
		mutex_lock(&emit->lock);
		emit->flusher_state = error ? FLUSHER_IMPOSSIBLE : FLUSHER_RUNS;
	}
	if (emit->flusher_state == FLUSHER_IMPOSSIBLE) {
		return false;
	}
	emit->handed = true;
	cond_signal(&emit->handed_over);
	return true;
}

void turn_work(struct emit *emit, bool wait) {
	uint64_t stint = 0;
	for (;;) {
		struct spool *spool = emit->receipts.len < RECEIPTS_MAX ? turn_next(emit) : NULL;
		if (!spool && emit->receipts.len == 0 && !sinks_pending(emit->sinks)) {
			break;
		}
		if (spool && spool != &emit->unpacked) {
			stint += stream_ready(&spool->stream[0]) + stream_ready(&spool->stream[1]);
		} else if (spool) {
			stint += PACK_MAX / 16; // as good as any guess: what bounds the stint is the number of them
		}
		if (!wait && stint > STINT && turn_hand_over(emit)) {
			return;
		}
		mutex_unlock(&emit->lock);
		bool done = spool ? turn_write(emit, spool, wait) : turn_flush(emit, wait);
		mutex_lock(&emit->lock);
		if (!done) {
			if (turn_hand_over(emit)) {
				return;
			}
			wait = true;
		} else if (spool) {
			emit->current = NULL;
			if (spool != &emit->unpacked) {
				spool_recycle_locked(spool);
			}
			note_release_locked(emit);
		}
	}
	emit->writing = false;
	cond_broadcast(&emit->changed);
}

void turn_pump(struct emit *emit) {
	if (!emit->writing && !list_is_empty(&emit->ready)) {
		turn_take(emit);
		turn_work(emit, false);
	}
}

void flusher_end(struct emit *emit) {
	mutex_lock(&emit->lock);
	emit->stop = true;
	cond_signal(&emit->handed_over);
	bool joins = emit->flusher_state == FLUSHER_RUNS;
	mutex_unlock(&emit->lock);
	if (joins) {
		thread_join(emit->flusher);
	}
}

bool emit_take_turn(struct spool *spool) {
	struct emit *emit = spool->emit;
	mutex_lock(&emit->lock);
	spool->has_turn = turn_is_free(emit) && spool_is_next(spool);
	if (spool->has_turn) {
		turn_take(emit);
	}
	mutex_unlock(&emit->lock);
	return spool->has_turn;
}

void emit_drop_turn(struct spool *spool) {
	struct emit *emit = spool->emit;
	mutex_lock(&emit->lock);
	spool->has_turn = false;
	turn_work(emit, false);
	mutex_unlock(&emit->lock);
}
