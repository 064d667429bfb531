// The turn to write: who has it, for how long, what he writes, and the thread that waits for a slow reader.
//
// A worker that has the turn writes also for others, but never blocks on a reader, and no more than its quota; then the
// flusher goes on, a thread that is started when it is first needed.

#include "output/internal.h"

#include "base/alloc.h"

#include <errno.h>

enum {
	QUOTA = 256 * 1024,         // bytes that a worker writes for others, then it is the flusher's
	FLUSHER_STACK = 64 * 1024,
	RECEIPTS_MAX = 16 * 1024,   // bytes of them that wait for what was gathered to be written
};

// ---- what the turn alone gives the right to, without the lock: the sinks, `unpacked`, `record`, `scratch` and `receipts`

void writer_fail(struct writer *writer, int stream, int error) {
	mutex_lock(&writer->lock);
	bool first = !writer->lost[stream];
	writer->lost[stream] = true;
	mutex_unlock(&writer->lock);
	if (first && writer->config.failed) {
		writer->config.failed(writer->config.arg, stream, error);
	}
}

// Writes from one place in memory. Returns the bytes taken, 0 if it would block.
static size_t turn_put(struct writer *writer, struct spool *spool, int i, const char *mem, size_t len, bool wait) {
	if (spool->tag.len == 0) {
		return streams_put(writer->streams, i, mem, len, wait);
	}
	return streams_put_tagged(writer->streams, i, spool->tag.data, spool->tag.len, &spool->stream[i].tag, mem, len, wait);
}

// Returns false if it would block.
static bool turn_write_rope(struct writer *writer, struct spool *spool, int i, bool wait) {
	struct rope *rope = &spool->stream[i].rope;
	while (rope->len > 0) {
		const char *mem;
		if (!writer->scratch) {
			writer->scratch = xmalloc(BLOCK_SIZE);
		}
		ssize_t n = rope_peek(writer->store, rope, writer->scratch, &mem);
		if (n < 0) {
			writer_fail(writer, 2, errno);
			rope_skip_piece(writer->store, rope);
			continue;
		}
		size_t taken = turn_put(writer, spool, i, mem, (size_t)n, wait);
		if (taken == 0) {
			return false;
		}
		if (rope_drop(writer->store, rope, taken)) {
			note_release(writer);
		}
	}
	return true;
}

// Writes what is ready of the stream. Returns false if it would block, with the rest ready.
static bool turn_write_stream(struct writer *writer, struct spool *spool, int i, bool wait) {
	struct stream *stream = &spool->stream[i];
	if (!turn_write_rope(writer, spool, i, wait)) {
		return false;
	}
	while (stream->start < stream->ready) {
		const char *area = spool == &writer->unpacked ? writer->record.data[i] : spool_area(spool, i);
		size_t n = turn_put(writer, spool, i, area + stream->start, stream->ready - stream->start, wait);
		if (n == 0) {
			return false;
		}
		stream->start += n;
	}
	return true;
}

// Makes `unpacked` stand for the record that is next.
static void turn_unpack(struct writer *writer) {
	if (!writer->unpack_buf) {
		writer->unpack_buf = xmalloc(PACK_MAX);
	}
	struct spool *spool = &writer->unpacked;
	if (pack_take(writer->store, writer->unpacked_ref, writer->unpack_buf, &writer->record) != 0) {
		writer->record = (struct output_record){.tag_len = 0};
		writer_fail(writer, 2, errno);
	}
	writer->unpacked_ref = 0;
	spool->tag = (struct buf){.data = (char *)(uintptr_t)writer->record.tag, .len = writer->record.tag_len};
	spool->receipt = (struct buf){.data = (char *)(uintptr_t)writer->record.receipt, .len = writer->record.receipt_len};
	for (int i = 0; i < STREAMS; ++i) {
		spool->stream[i] = (struct stream){.ready = writer->record.len[i], .len = writer->record.len[i]};
	}
}

bool turn_write(struct writer *writer, struct spool *spool, bool wait) {
	if (spool == &writer->unpacked && writer->unpacked_ref) {
		turn_unpack(writer);
	}
	if (!turn_write_stream(writer, spool, 0, wait) || !turn_write_stream(writer, spool, 1, wait)) {
		return false;
	}
	buf_add(&writer->receipts, spool->receipt.data, spool->receipt.len);
	return true;
}

// Writes what was gathered, and says of which jobs that was all. Returns false if it would block.
static bool turn_flush(struct writer *writer, bool wait) {
	if (!streams_flush(writer->streams, wait)) {
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
	if (!turn_write_stream(writer, spool, stream, wait) || !streams_flush(writer->streams, wait)) {
		spool_stall(spool, true);
		(void)turn_write_stream(writer, spool, stream, /* wait */ true);
		(void)streams_flush(writer->streams, /* wait */ true);
	}
	spool_compact(spool);
}

// ---- the turn itself

// The spool to go on with, or NULL: nothing may be written now.
static struct spool *turn_next(struct writer *writer) {
	if (writer->current || list_is_empty(&writer->ready)) {
		return writer->current;
	}
	uint64_t ref = output_queues_pop(writer);
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
