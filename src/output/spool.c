// The bytes that a spool holds: its areas and ropes, what of them may be written, the last line; and spools for reuse.

#include "output/internal.h"

#include "base/alloc.h"

enum { SPARE_SPOOLS = 8 }; // kept beyond one for each open spool

struct store *writer_store(struct writer *writer) {
	return writer->store;
}

atomic_int *writer_wide_pipes(struct writer *writer) {
	return &writer->wide_pipes;
}

bool spool_is_line_ordered(const struct spool *spool) {
	return spool_is_line_buffered(spool) && spool_is_ordered(spool);
}

void spool_narrow(struct spool *spool) {
	if (spool->wide_pipes > 0) {
		atomic_add_relaxed(writer_wide_pipes(spool->writer), -spool->wide_pipes);
		spool->wide_pipes = 0;
	}
}

void spool_clear(struct spool *spool) {
	struct store *store = writer_store(spool->writer);
	for (int i = 0; i < STREAMS; ++i) {
		rope_clear(store, &spool->stream[i].rope);
		rope_clear(store, &spool->stream[i].line);
	}
	if (spool->block) {
		store_block_put(store, spool->block);
		spool->block = NULL;
	}
}

void spool_free(struct spool *spool) {
	mutex_fini(&spool->lock);
	free(spool->tag);
	free(spool->receipt);
	free(spool);
}

uint64_t stream_ready(const struct stream *stream) {
	return stream->rope.len + (stream->ready - stream->start);
}

bool spool_is_ready(const struct spool *spool) {
	return stream_ready(&spool->stream[0]) > 0 || stream_ready(&spool->stream[1]) > 0;
}

void spool_end_line(struct spool *spool, int i, size_t end) {
	rope_join(writer_store(spool->writer), &spool->stream[i].rope, &spool->stream[i].line);
	spool->stream[i].ready = end;
}

void spool_compact(struct spool *spool) {
	for (int i = 0; i < STREAMS; ++i) {
		struct stream *stream = &spool->stream[i];
		if (stream->start == 0) {
			continue;
		}
		size_t rest = stream->len - stream->start;
		if (rest > 0) {
			char *area = spool_area(spool, i);
			memmove(area, area + stream->start, rest);
		}
		stream->ready -= stream->start;
		stream->len = rest;
		stream->start = 0;
	}
}

void spool_set_tag(struct spool *to, const char *tag, size_t tag_len) {
	if (tag_len > to->tag_cap) {
		to->tag = xrealloc(to->tag, tag_len);
		to->tag_cap = tag_len;
	}
	if (tag_len > 0) {
		memcpy(to->tag, tag, tag_len);
	}
	to->tag_len = tag_len;
}

void spool_set_receipt(struct spool *spool, const char *mem, size_t len) {
	if (len > spool->receipt_cap) {
		spool->receipt = xrealloc(spool->receipt, len);
		spool->receipt_cap = len;
	}
	memcpy(spool->receipt, mem, len);
	spool->receipt_len = len;
}

void spool_move_ready(struct spool *to, struct spool *from) {
	spool_set_tag(to, from->tag, from->tag_len);
	char *block = to->block ? to->block : store_block_get(writer_store(from->writer));
	to->block = from->block;
	from->block = block;
	for (int i = 0; i < STREAMS; ++i) {
		struct stream *source = &from->stream[i], *moved = &to->stream[i];
		moved->start = source->start;
		moved->ready = moved->len = source->ready;
		if (stream_ready(source) > 0) { // a line may be half written already
			moved->tag = source->tag;
			source->tag = (struct tag_state){.in_line = false};
		}
		moved->rope = source->rope;
		source->rope = (struct rope){.len = 0};
		size_t rest = source->len - source->ready;
		if (rest > 0) {
			memcpy(spool_area(from, i), spool_area(to, i) + source->ready, rest);
		}
		source->start = source->ready = 0;
		source->len = rest;
	}
}

bool spool_record(const struct spool *spool, struct output_record *ret_record) {
	struct output_record record = {
		.tag = spool->tag, .tag_len = (uint32_t)spool->tag_len,
		.receipt = spool->receipt, .receipt_len = (uint32_t)spool->receipt_len,
	};
	if (spool->tag_len > PACK_MAX || spool->receipt_len > PACK_MAX) {
		return false;
	}
	for (int i = 0; i < STREAMS; ++i) {
		const struct stream *stream = &spool->stream[i];
		if (stream->rope.len > 0 || stream->tag.in_line) {
			return false;
		}
		record.data[i] = spool->block ? spool_area(spool, i) + stream->start : NULL;
		record.len[i] = (uint32_t)(stream->ready - stream->start);
	}
	*ret_record = record;
	return record_fits(&record);
}

bool stream_settle(struct spool *spool, int i, size_t until, bool force) {
	struct stream *stream = &spool->stream[i];
	while (stream->start < until) {
		bool is_ready = stream->start < stream->ready;
		size_t end = is_ready && stream->ready < until ? stream->ready : until;
		stream->start += rope_add(writer_store(spool->writer), is_ready ? &stream->rope : &stream->line,
		                          spool_area(spool, i) + stream->start, end - stream->start, force);
		if (stream->ready < stream->start) {
			stream->ready = stream->start;
		}
		if (stream->start < end) {
			return false;
		}
	}
	return true;
}

bool spool_settle(struct spool *spool) {
	bool all = true;
	for (int i = 0; i < STREAMS; ++i) {
		all = stream_settle(spool, i, spool->stream[i].ready, false) && all;
	}
	if (all && spool->block) {
		store_block_put(writer_store(spool->writer), spool->block);
		spool->block = NULL;
	}
	return all;
}

// ---- the last line

static bool ends_line(char c) {
	return c == '\n' || c == '\r';
}

// The last line of the bytes that is not empty, without its end. Returns its length.
static size_t last_line(const char *mem, size_t len, const char **ret_line) {
	while (len > 0 && ends_line(mem[len - 1])) {
		--len;
	}
	size_t from = len;
	while (from > 0 && !ends_line(mem[from - 1])) {
		--from;
	}
	*ret_line = mem + from;
	return len - from;
}

void spool_note_line(struct spool *spool, int i) {
	const struct stream *stream = &spool->stream[i];
	const char *line;
	size_t len = last_line(spool_area(spool, i) + stream->start, stream->len - stream->start, &line);
	if (len > 0 && i == spool->latest) {
		spool->noted_len = len < NOTED ? len : NOTED;
		memcpy(spool->noted, line, spool->noted_len);
	}
}

size_t spool_find_last(const struct spool *spool, char *text, size_t size) {
	const struct stream *stream = &spool->stream[spool->latest];
	const char *line = spool->noted;
	size_t len = 0;
	if (spool->block) {
		len = last_line(spool_area(spool, spool->latest) + stream->start, stream->len - stream->start, &line);
	}
	if (len == 0) {
		line = spool->noted;
		len = spool->noted_len;
	}
	len = len < size ? len : size;
	memcpy(text, line, len);
	return len;
}

void stream_keep_latest(struct spool *spool, int i) {
	struct stream *stream = &spool->stream[i];
	char *area = spool_area(spool, i);
	size_t open = stream->len; // where the last line begins, if it is not ended
	while (open > 0 && !ends_line(area[open - 1])) {
		--open;
	}
	const char *line;
	size_t len = last_line(area, open, &line);
	size_t rest = stream->len - open, most = area_size(i) / 4;
	len = len < most ? len : most;
	rest = rest < most ? rest : most;
	size_t head = len > 0 ? len + 1 : 0;
	if (len > 0) {
		memmove(area, line, len);
		area[len] = '\n';
	}
	memmove(area + head, area + open, rest);
	stream->len = head + rest;
	stream->ready = 0;
}

void spool_keep_latest(struct spool *spool) {
	const struct stream *stream = &spool->stream[spool->latest];
	spool->mode = WRITER_GROUP;
	if (!spool->block) {
		return;
	}
	const char *line;
	size_t len = last_line(spool_area(spool, spool->latest), stream->len, &line);
	memmove(spool_area(spool, 0), line, len);
	spool_area(spool, 0)[len] = '\n';
	spool->stream[0].len = spool->stream[0].ready = len > 0 ? len + 1 : 0;
	spool->stream[0].last = spool->stream[1].last = '\n';
	spool->stream[1].len = spool->stream[1].ready = 0;
}

// ---- spools for reuse

struct spool *spool_new_locked(struct writer *writer) {
	struct spool *spool = writer->spare;
	if (spool) {
		writer->spare = spool->next;
		--writer->nspare;
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
		rope_clear(writer->store, &spool->stream[i].rope); // has no bytes, but may have a piece that a full disk left
		rope_clear(writer->store, &spool->stream[i].line);
		spool->stream[i] = (struct stream){.len = 0};
	}
	spool->tag_len = spool->noted_len = spool->receipt_len = 0;
	spool->has_turn = spool->idle = spool->lost = spool->busy = false;
	atomic_store_relaxed(&spool->live, false);
	if (writer->nspare >= writer->open + SPARE_SPOOLS) {
		spool_clear(spool);
		spool_free(spool);
		return;
	}
	spool->next = writer->spare;
	writer->spare = spool;
	++writer->nspare;
}

struct spool *spool_split_locked(struct spool *spool) {
	struct spool *part = spool_new_locked(spool->writer);
	part->lane = spool->lane;
	spool_move_ready(part, spool);
	return part;
}
