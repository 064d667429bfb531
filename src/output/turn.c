// The turn to write: which worker has the turn, for how long, and what this worker writes; and the thread that waits for a slow reader.
//
// A worker that has the turn also writes the output of other jobs, but no more than its quota, and does not wait for the reader. When a write would
// block, or the quota is used up, the flusher goes on: a thread that is started when it is first needed. (If it cannot be started, the worker waits.)

#include "output/internal.h"

#include <errno.h>

enum {
	QUOTA = 256 * 1024,         // bytes that a worker writes for other jobs before it hands the turn to the flusher
	SPOOL_WORK = 2048,          // each job counts as this many bytes of the quota, in addition to its output
	FLUSHER_STACK = 64 * 1024,
	RECEIPTS_MAX = 16 * 1024,   // once there are this many bytes of receipts, the gathered output is written
};

// ---- writing: only the thread that has the turn uses `streams`, `scratch` and `receipts`, and needs no lock for them

void writer_fail(void *arg, int stream, int error) {
	struct writer *writer = arg;
	mutex_lock(&writer->lock);
	bool first = !writer->lost[stream];
	writer->lost[stream] = true;
	mutex_unlock(&writer->lock);
	if (first && writer->config.failed) {
		writer->config.failed(writer->config.arg, stream, error);
	}
}

// Writes the ready bytes of the stream. Returns false if a write would block; the bytes that are left stay ready.
static bool turn_write_stream(struct writer *writer, struct spool *spool, int i, bool wait) {
	struct stream *stream = &spool->stream[i];
	struct buf *tag = &spool->tag;
	while (stream->ready > 0) {
		bool in_rope = stream->rope.len > 0;
		size_t n = in_rope && rope_first(&stream->rope) < stream->ready ? rope_first(&stream->rope) : (size_t)stream->ready;
		const char *mem = in_rope ? rope_peek(writer->store, &stream->rope, writer->scratch) : spool_area(spool, i) + stream->start;
		if (!mem) { // the file cannot be read
			writer_fail(writer, 2, errno);
		} else if (tag->len == 0) {
			n = streams_put(&writer->streams, i, mem, n, wait);
		} else {
			n = streams_put_tagged(&writer->streams, i, tag->data, tag->len, &stream->tag, mem, n, wait);
		}
		if (n == 0) {
			return false;
		}
		stream->ready -= n;
		if (!in_rope) {
			stream->start += n;
		} else if (rope_drop(writer->store, &stream->rope, n)) {
			FP_HOLD(&writer->lock);
			note_release_locked(writer);
		}
	}
	return true;
}

// Fills the spool from its piece.
static void turn_read_piece(struct writer *writer, struct spool *spool) {
	struct piece piece = spool->piece;
	spool->piece = (struct piece){.len = 0};
	const char *mem = piece_peek(writer->store, &piece, 0, writer->scratch);
	if (mem) {
		spool_from_piece(spool, mem);
	} else {
		writer_fail(writer, 2, errno);
	}
	piece_free(writer->store, &piece);
}

bool turn_write(struct writer *writer, struct spool *spool, bool wait) {
	if (spool->piece.len > 0) {
		turn_read_piece(writer, spool);
	}
	if (!turn_write_stream(writer, spool, 0, wait) || !turn_write_stream(writer, spool, 1, wait)) {
		return false;
	}
	buf_add(&writer->receipts, spool->receipt.data, spool->receipt.len);
	return true;
}

// Writes the output that is gathered in `streams`, and then passes on the receipts of the jobs whose output is all written. Returns
// false if a write would block.
static bool turn_flush(struct writer *writer, bool wait) {
	if (!streams_flush(&writer->streams, wait)) {
		return false;
	}
	if (writer->receipts.len > 0) {
		writer->config.written(writer->config.arg, writer->receipts.data, writer->receipts.len);
		buf_reset(&writer->receipts);
	}
	return true;
}

void writer_pass(struct spool *spool, int stream) {
	struct writer *writer = spool->writer;
	spool_end_line(spool, stream, spool->stream[stream].len);
	bool wait = !spool_can_stall(spool);
	if (!turn_write_stream(writer, spool, stream, wait) || !streams_flush(&writer->streams, wait)) {
		spool_stall(spool, true);
		(void)turn_write_stream(writer, spool, stream, /* wait */ true);
		(void)streams_flush(&writer->streams, /* wait */ true);
	}
	spool_compact(spool);
}

// ---- the turn itself

// Returns the spool to write next: `current`, if it is half written, or the next output of the queues. NULL: nothing may be written now.
static struct spool *turn_next(struct writer *writer) {
	if (writer->current || list_is_empty(&writer->ready)) {
		return writer->current;
	}
	struct ref ref = output_queues_pop(writer);
	if (ref.kind == REF_PIECE) {
		writer->current = spool_new_locked(writer);
		writer->current->piece = ref.piece;
	} else {
		writer->current = ref.spool;
	}
	return writer->current;
}

static void *flusher_main(void *arg) {
	struct writer *writer = arg;
	FP_HOLD(&writer->lock);
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
	return NULL;
}

// Gives the turn to the flusher. Returns false if there is no flusher and none can be started.
static bool turn_hand_over(struct writer *writer) {
	if (writer->flusher_state == FLUSHER_NONE) {
		mutex_unlock(&writer->lock); // no other thread calls this function meanwhile, as this thread has the turn
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
		if (!spool && writer->receipts.len == 0 && !streams_pending(&writer->streams)) {
			break;
		}
		if (spool) {
			written += SPOOL_WORK + spool->piece.len + spool->stream[0].ready + spool->stream[1].ready;
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
			spool_recycle_locked(spool);
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
	FP_HOLD(&writer->lock);
	spool->has_turn = turn_is_free(writer) && spool_is_next(spool);
	if (spool->has_turn) {
		turn_take(writer);
	}
	return spool->has_turn;
}

void writer_drop_turn(struct spool *spool) {
	struct writer *writer = spool->writer;
	FP_HOLD(&writer->lock);
	spool->has_turn = false;
	turn_work(writer, false);
}
