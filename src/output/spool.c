// The bytes that a spool holds: its areas, ropes and pieces, which bytes may be written, the last line; and spools for reuse.

#include "output/internal.h"

#include "base/alloc.h"

enum {
	UNUSED_SPOOLS = 8,       // how many free spools are kept, in addition to one for each open spool
	SMALL_MAX = 32 * 1024,  // the most bytes of an output that is held as one piece
};

void spool_free(struct spool *spool) {
	for (int i = 0; i < STREAMS; ++i) {
		rope_clear(spool->writer->store, &spool->stream[i].rope);
		buf_fini(&spool->recent[i]);
	}
	free(spool->block);
	mutex_fini(&spool->lock);
	buf_fini(&spool->tag);
	buf_fini(&spool->receipt);
	free(spool);
}

char *spool_need_block(struct spool *spool) {
	if (!spool->block) {
		spool->block = xmalloc(BLOCK_SIZE);
	}
	return spool->block;
}

void spool_end_line(struct spool *spool, int i, size_t end) {
	struct stream *stream = &spool->stream[i];
	stream->ready = stream->rope.len + (end - stream->start);
}

void spool_compact(struct spool *spool) {
	for (int i = 0; i < STREAMS; ++i) {
		struct stream *stream = &spool->stream[i];
		if (stream->start > 0) {
			stream->len -= stream->start;
			memmove(spool_area(spool, i), spool_area(spool, i) + stream->start, stream->len);
			stream->start = 0;
		}
	}
}

void spool_set_receipt(struct spool *spool, const char *mem, size_t len) {
	buf_reset(&spool->receipt);
	buf_add(&spool->receipt, mem, len);
}

// ---- pieces

// The head of a piece: the lengths of the tag, the receipt and the bytes of each stream, which follow the head in this order.
struct piece_head {
	uint32_t tag_len, receipt_len;
	uint32_t len[STREAMS];
};

static size_t piece_size(const struct spool *spool) {
	return sizeof(struct piece_head) + spool->tag.len + spool->receipt.len + (size_t)(spool->stream[0].ready + spool->stream[1].ready);
}

bool spool_fits_piece(const struct spool *spool) {
	for (int i = 0; i < STREAMS; ++i) {
		const struct stream *stream = &spool->stream[i];
		if (stream->tag.in_line || (stream->rope.len > 0 && stream->ready > 0)) {
			return false;
		}
	}
	return piece_size(spool) <= SMALL_MAX;
}

bool spool_to_piece(const struct spool *spool, struct piece *ret_piece) {
	size_t size = piece_size(spool);
	struct piece_head head = {(uint32_t)spool->tag.len, (uint32_t)spool->receipt.len,
		{(uint32_t)spool->stream[0].ready, (uint32_t)spool->stream[1].ready}};
	char *mem = xmalloc(size), *to = put_bytes(mem, &head, sizeof(head));
	to = put_bytes(to, spool->tag.data, head.tag_len);
	to = put_bytes(to, spool->receipt.data, head.receipt_len);
	for (int i = 0; i < STREAMS; ++i) {
		to = put_bytes(to, spool->block ? spool_area(spool, i) + spool->stream[i].start : NULL, head.len[i]);
	}
	bool is_held = store_take(spool->writer->store, mem, size, ret_piece);
	if (!is_held) {
		free_later(&mem);
	}
	return is_held;
}

void spool_from_piece(struct spool *spool, const char *mem) {
	struct piece_head head;
	memcpy(&head, mem, sizeof(head));
	mem += sizeof(head);
	buf_add(&spool->tag, mem, head.tag_len);
	mem += head.tag_len;
	buf_add(&spool->receipt, mem, head.receipt_len);
	mem += head.receipt_len;
	spool_need_block(spool);
	for (int i = 0; i < STREAMS; ++i) {
		put_bytes(spool_area(spool, i), mem, head.len[i]);
		spool->stream[i].ready = spool->stream[i].len = head.len[i];
		mem += head.len[i];
	}
}

// ---- ropes

bool stream_to_rope(struct spool *spool, int i, size_t until, bool force) {
	struct stream *stream = &spool->stream[i];
	while (stream->start < until) {
		size_t ready = area_ready(stream); // an incomplete line begins a new piece
		size_t end = stream->start < ready && ready < until ? ready : until;
		stream->start += rope_add(spool->writer->store, &stream->rope, spool_area(spool, i) + stream->start, end - stream->start, force);
		if (stream->start < end) {
			return false;
		}
	}
	return true;
}

bool spool_to_ropes(struct spool *spool) {
	bool all = true;
	for (int i = 0; i < STREAMS; ++i) {
		all = stream_to_rope(spool, i, area_ready(&spool->stream[i]), false) && all;
		buf_fini(&spool->recent[i]); // nobody looks at the last lines of this job any more
	}
	if (all) {
		free(spool->block);
		spool->block = NULL;
	}
	return all;
}

// ---- the last line

static bool ends_line(char c) {
	return c == '\n' || c == '\r';
}

// Finds the last line of the bytes that is not empty, without its end. Returns its length, which is at most RECENT.
static size_t last_line(const struct buf *recent, const char **ret_line) {
	const char *start = buf_str(recent), *end = start + recent->len;
	while (end > start && ends_line(end[-1])) {
		--end;
	}
	const char *line = end;
	while (line > start && end - line < RECENT && !ends_line(line[-1])) {
		--line;
	}
	*ret_line = line;
	return (size_t)(end - line);
}

// Finds the last line of the stream that was written last or, if that stream has no line, of the other stream. Returns its length.
static size_t latest_line(const struct spool *spool, const char **ret_line) {
	size_t len = last_line(&spool->recent[spool->latest], ret_line);
	return len > 0 ? len : last_line(&spool->recent[!spool->latest], ret_line);
}

size_t spool_last_line(struct spool *spool, bool tagged, char *text, size_t size) {
	size_t tag = tagged && spool->tag.len < size ? spool->tag.len : 0;
	const char *line;
	put_bytes(text, spool->tag.data, tag); // needs no lock: the tag does not change while the job runs
	FP_HOLD(&spool->lock);
	size_t len = latest_line(spool, &line);
	len = len < size - tag ? len : size - tag;
	memcpy(text + tag, line, len);
	return len > 0 ? tag + len : 0;
}

void spool_keep_latest(struct spool *spool) {
	const char *line;
	size_t len = latest_line(spool, &line);
	spool->mode = WRITER_GROUP;
	if (len > 0) {
		char *area = spool_need_block(spool);
		memcpy(area, line, len);
		area[len] = '\n';
		spool->stream[0].len = len + 1;
		spool_end_line(spool, 0, len + 1);
	}
	spool->stream[0].last = spool->stream[1].last = '\n';
}

// ---- spools for reuse

struct spool *spool_new_locked(struct writer *writer) {
	struct spool *spool = writer->unused;
	if (spool) {
		writer->unused = spool->next;
		--writer->nunused;
	} else {
		spool = NEW(struct spool);
		spool->writer = writer;
		mutex_init(&spool->lock, LOCK_SPOOL);
	}
	return spool;
}

void spool_recycle_locked(struct spool *spool) {
	struct writer *writer = spool->writer;
	for (int i = 0; i < STREAMS; ++i) {
		rope_clear(writer->store, &spool->stream[i].rope); // frees the array of the rope, which has no bytes
		spool->stream[i] = (struct stream){.len = 0};
		buf_reset(&spool->recent[i]);
	}
	buf_reset(&spool->tag);
	buf_reset(&spool->receipt);
	writer->beyond -= spool->beyond;
	spool->has_turn = spool->idle = spool->lost = spool->busy = spool->beyond = false;
	atomic_store_relaxed(&spool->live, false);
	if (writer->nunused >= writer->open + UNUSED_SPOOLS) {
		spool_free(spool);
		return;
	}
	spool->next = writer->unused;
	writer->unused = spool;
	++writer->nunused;
}

struct spool *spool_split_locked(struct spool *spool) {
	struct spool *part = spool_new_locked(spool->writer);
	part->queue = spool->queue;
	buf_add(&part->tag, spool->tag.data, spool->tag.len);
	char *block = spool_need_block(part);
	part->block = spool->block;
	spool->block = block;
	for (int i = 0; i < STREAMS; ++i) {
		struct stream *source = &spool->stream[i], *moved = &part->stream[i];
		size_t ready = area_ready(source), rest = source->len - ready;
		moved->start = source->start;
		moved->len = ready;
		if (source->ready > 0) { // the first ready line may be half written: its tag is not put again
			moved->tag = source->tag;
			source->tag = (struct tag_state){.in_line = false};
		}
		rope_split(&source->rope, source->ready, &moved->rope); // a piece that is only partly ready (after spool_reset()) stays in `source`
		moved->ready = stream_held(moved);
		if (rest > 0) {
			memcpy(spool_area(spool, i), spool_area(part, i) + ready, rest);
		}
		source->ready = source->start = 0;
		source->len = rest;
	}
	return part;
}
