// Writes spools and records, by who has the turn: bytes into the sinks, receipts to who waits for them.
//
// Without the lock: the turn alone gives the right to the sinks, `unpacked`, `record`, `scratch` and `receipts`.

#include "output/internal.h"

#include "base/alloc.h"

#include <errno.h>

void writer_fail(struct writer *writer, int stream, int error) {
	mutex_lock(&writer->lock);
	bool first = !writer->lost;
	writer->lost = true;
	mutex_unlock(&writer->lock);
	if (first && writer->config.failed) {
		writer->config.failed(writer->config.arg, stream, error);
	}
}

// Writes from one place in memory. Returns the bytes taken, 0 if it would block.
static size_t turn_put(struct writer *writer, struct spool *spool, int i, const char *mem, size_t len, bool wait) {
	if (spool->tag_len == 0) {
		return streams_put(writer->streams, i, mem, len, wait);
	}
	return streams_put_tagged(writer->streams, i, spool->tag, spool->tag_len, &spool->stream[i].tag, mem, len, wait);
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
	spool->tag = writer->unpack_buf; // where a record begins with it
	spool->tag_len = writer->record.tag_len;
	spool->receipt_len = writer->record.receipt_len;
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
	if (spool->receipt_len > 0) {
		buf_add(&writer->receipts, spool == &writer->unpacked ? writer->record.receipt : spool->receipt, spool->receipt_len);
	}
	return true;
}

bool turn_flush(struct writer *writer, bool wait) {
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
	turn_write_stream(writer, spool, stream, /* wait */ true);
	streams_flush(writer->streams, /* wait */ true);
	spool_compact(spool);
}

ssize_t writer_splice(struct spool *spool, int stream, int fd) {
	return streams_splice(spool->writer->streams, stream, fd);
}
