// The turn to write: who has it, for how long, and the thread that waits for a slow reader.
//
// A worker that has the turn writes also for others, but never blocks on a reader, and no more than its quota; then the
// flusher goes on, a thread that is started when it is first needed.

#include "output/internal.h"

enum {
	QUOTA = 256 * 1024,         // bytes that a worker writes for others, then it is the flusher's
	FLUSHER_STACK = 64 * 1024,
	RECEIPTS_MAX = 16 * 1024,   // bytes of them that wait for what was gathered to be written
};

// The spool to go on with, or NULL: nothing may be written now.
static struct spool *turn_next(struct writer *writer) {
	if (writer->current || list_is_empty(&writer->ready)) {
		return writer->current;
	}
	uint64_t ref = lanes_pop(writer);
	if ((ref & PACK_REF_MASK) == PACK_REF) {
		writer->unpacked_ref = ref;
		writer->current = &writer->unpacked;
	} else {
		writer->current = ref_spool(ref);
	}
	return writer->current;
}

static void *flusher_main(void *arg) {
	struct writer *writer = arg;
	mutex_lock(&writer->lock);
	for (;;) {
		while (!writer->handed && !writer->stop) {
			cond_wait(&writer->handed_over, &writer->lock);
		}
		if (!writer->handed) {
			break;
		}
		writer->handed = false;
		turn_work(writer, /* wait */ true);
	}
	mutex_unlock(&writer->lock);
	return NULL;
}

// Gives the turn to the flusher. False if there is none and none can be had.
static bool turn_hand_over(struct writer *writer) {
	if (writer->flusher_state == FLUSHER_NONE) {
		mutex_unlock(&writer->lock); // the turn keeps others from coming here
		int error = thread_start(&writer->flusher, flusher_main, writer, FLUSHER_STACK);
		mutex_lock(&writer->lock);
		writer->flusher_state = error ? FLUSHER_IMPOSSIBLE : FLUSHER_RUNS;
	}
	if (writer->flusher_state == FLUSHER_IMPOSSIBLE) {
		return false;
	}
	writer->handed = true;
	cond_signal(&writer->handed_over);
	return true;
}

void turn_work(struct writer *writer, bool wait) {
	uint64_t written = 0;
	for (;;) {
		struct spool *spool = writer->receipts.len < RECEIPTS_MAX ? turn_next(writer) : NULL;
		if (!spool && writer->receipts.len == 0 && !streams_pending(writer->streams)) {
			break;
		}
		if (spool && spool != &writer->unpacked) {
			written += stream_ready(&spool->stream[0]) + stream_ready(&spool->stream[1]);
		} else if (spool) {
			written += PACK_MAX / 16; // as good as any guess: what bounds the written is the number of them
		}
		if (!wait && written > QUOTA && turn_hand_over(writer)) {
			return;
		}
		mutex_unlock(&writer->lock);
		bool done = spool ? turn_write(writer, spool, wait) : turn_flush(writer, wait);
		mutex_lock(&writer->lock);
		if (!done) {
			if (turn_hand_over(writer)) {
				return;
			}
			wait = true;
		} else if (spool) {
			writer->current = NULL;
			if (spool != &writer->unpacked) {
				spool_recycle_locked(spool);
			}
			note_release_locked(writer);
		}
	}
	writer->writing = false;
	cond_broadcast(&writer->changed);
}

void turn_pump(struct writer *writer) {
	if (!writer->writing && !list_is_empty(&writer->ready)) {
		turn_take(writer);
		turn_work(writer, false);
	}
}

void flusher_end(struct writer *writer) {
	mutex_lock(&writer->lock);
	writer->stop = true;
	cond_signal(&writer->handed_over);
	bool joins = writer->flusher_state == FLUSHER_RUNS;
	mutex_unlock(&writer->lock);
	if (joins) {
		thread_join(writer->flusher);
	}
}

bool writer_take_turn(struct spool *spool) {
	struct writer *writer = spool->writer;
	mutex_lock(&writer->lock);
	spool->has_turn = turn_is_free(writer) && spool_is_next(spool);
	if (spool->has_turn) {
		turn_take(writer);
	}
	mutex_unlock(&writer->lock);
	return spool->has_turn;
}

void writer_drop_turn(struct spool *spool) {
	struct writer *writer = spool->writer;
	mutex_lock(&writer->lock);
	spool->has_turn = false;
	turn_work(writer, false);
	mutex_unlock(&writer->lock);
}
