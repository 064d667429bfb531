// Writes spools and records, by who has the turn: bytes into the sinks, receipts to who waits for them.
//
// Without the lock: the turn alone gives the right to the sinks, `unpacked`, `record`, `scratch` and `receipts`.

#include "output/inside.h"

#include "base/alloc.h"

#include <errno.h>

// Writes from one place in memory. Returns the bytes taken, 0 if it would block.
static size_t turn_put(struct emit *emit, struct spool *spool, int i, const char *mem, size_t len, bool wait) {
	if (spool->tag_len == 0) {
		return sinks_put(emit->sinks, i, mem, len, wait);
	}
	return sinks_put_tagged(emit->sinks, i, spool->tag, spool->tag_len, &spool->stream[i].tag, mem, len, wait);
}

// Returns false if it would block.
static bool turn_write_rope(struct emit *emit, struct spool *spool, int i, bool wait) {
	struct rope *rope = &spool->stream[i].rope;
	while (rope->len > 0) {
		const char *mem;
		if (!emit->scratch) {
			emit->scratch = xmalloc(BLOCK_SIZE);
		}
		ssize_t n = rope_peek(emit->store, rope, emit->scratch, &mem);
		if (n < 0) {
			emit_fail(emit, 2, errno);
			rope_skip_piece(emit->store, rope);
			continue;
		}
		size_t taken = turn_put(emit, spool, i, mem, (size_t)n, wait);
		if (taken == 0) {
			return false;
		}
		if (rope_drop(emit->store, rope, taken)) {
			note_release(emit);
		}
	}
	return true;
}

// Writes what is ready of the stream. Returns false if it would block, with the rest ready.
static bool turn_write_stream(struct emit *emit, struct spool *spool, int i, bool wait) {
	struct stream *stream = &spool->stream[i];
	if (!turn_write_rope(emit, spool, i, wait)) {
		return false;
	}
	while (stream->start < stream->ready) {
		const char *area = spool == &emit->unpacked ? emit->record.data[i] : spool_area(spool, i);
		size_t n = turn_put(emit, spool, i, area + stream->start, stream->ready - stream->start, wait);
		if (n == 0) {
			return false;
		}
		stream->start += n;
	}
	return true;
}

// Makes `unpacked` stand for the record that is next.
static void turn_unpack(struct emit *emit) {
	if (!emit->unpack_buf) {
		emit->unpack_buf = xmalloc(PACK_MAX);
	}
	struct spool *spool = &emit->unpacked;
	if (pack_take(emit->store, emit->unpacked_ref, emit->unpack_buf, &emit->record) != 0) {
		emit->record = (struct record){.tag_len = 0};
		emit_fail(emit, 2, errno);
	}
	emit->unpacked_ref = 0;
	spool->tag = emit->unpack_buf; // where a record begins with it
	spool->tag_len = emit->record.tag_len;
	spool->receipt_len = emit->record.receipt_len;
	for (int i = 0; i < STREAMS; ++i) {
		spool->stream[i] = (struct stream){.ready = emit->record.len[i], .len = emit->record.len[i]};
	}
}

bool turn_write(struct emit *emit, struct spool *spool, bool wait) {
	if (spool == &emit->unpacked && emit->unpacked_ref) {
		turn_unpack(emit);
	}
	if (!turn_write_stream(emit, spool, 0, wait) || !turn_write_stream(emit, spool, 1, wait)) {
		return false;
	}
	if (spool->receipt_len > 0) {
		buf_add(&emit->receipts, spool == &emit->unpacked ? emit->record.receipt : spool->receipt, spool->receipt_len);
	}
	return true;
}

bool turn_flush(struct emit *emit, bool wait) {
	if (!sinks_flush(emit->sinks, wait)) {
		return false;
	}
	if (emit->receipts.len > 0) {
		emit->config.written(emit->config.arg, emit->receipts.data, emit->receipts.len);
		buf_reset(&emit->receipts);
	}
	return true;
}

void emit_pass(struct spool *spool, int stream) {
	struct emit *emit = spool->emit;
	spool_end_line(spool, stream, spool->stream[stream].len);
	turn_write_stream(emit, spool, stream, /* wait */ true);
	sinks_flush(emit->sinks, /* wait */ true);
	spool_compact(spool);
}

ssize_t emit_splice(struct spool *spool, int stream, int fd) {
	return sinks_splice(spool->emit->sinks, stream, fd);
}
