// Fills spools: reads a job's pipes, finds its lines, and makes room where a job writes much.

#include "output/spool.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { WIDE_PIPE = 1 << 20 };

static size_t area_size(int stream) {
	return stream == 0 ? AREA_OUT : AREA_ERR;
}

void spool_clear(struct spool *spool) {
	struct store *store = emit_store(spool->emit);
	for (int i = 0; i < STREAMS; ++i) {
		rope_clear(store, &spool->stream[i].rope);
	}
	if (spool->block) {
		store_block_put(store, spool->block);
		spool->block = NULL;
	}
}

void spool_free(struct spool *spool) {
	free(spool->tag);
	free(spool);
}

uint64_t stream_ready(const struct stream *stream) {
	return (stream->midline ? 0 : stream->rope.len) + (stream->ready - stream->start);
}

bool spool_is_ready(const struct spool *spool) {
	return stream_ready(&spool->stream[0]) > 0 || stream_ready(&spool->stream[1]) > 0;
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

void spool_move_ready(struct spool *to, struct spool *from) {
	spool_set_tag(to, from->tag, from->tag_len);
	char *block = store_block_get(emit_store(from->emit));
	to->block = from->block;
	from->block = block;
	for (int i = 0; i < STREAMS; ++i) {
		struct stream *source = &from->stream[i], *moved = &to->stream[i];
		moved->start = source->start;
		moved->ready = moved->len = source->ready;
		if (!source->midline) {
			moved->rope = source->rope;
			source->rope = (struct rope){.len = 0};
			moved->tag = source->tag; // a line may be half written already
			source->tag = (struct tag_state){.in_line = false};
		}
		size_t rest = source->len - source->ready;
		if (rest > 0) {
			memcpy(spool_area(from, i), spool_area(to, i) + source->ready, rest);
		}
		source->start = source->ready = 0;
		source->len = rest;
	}
}

bool spool_record(const struct spool *spool, struct record *ret_record) {
	struct record record = {.tag = spool->tag, .tag_len = (uint32_t)spool->tag_len};
	if (spool->tag_len > PACK_MAX) {
		return false;
	}
	for (int i = 0; i < STREAMS; ++i) {
		const struct stream *stream = &spool->stream[i];
		if (!stream->midline && stream->rope.len > 0) {
			return false;
		}
		record.data[i] = spool->block ? spool_area(spool, i) + stream->start : NULL;
		record.len[i] = (uint32_t)(stream->ready - stream->start);
	}
	*ret_record = record;
	return record_fits(&record);
}

// Moves bytes of the area up to `until` to the rope. False with errno if there is no room for all.
static bool stream_settle(struct spool *spool, int i, size_t until, bool force) {
	struct stream *stream = &spool->stream[i];
	if (stream->start >= until) {
		return true;
	}
	stream->start += rope_add(emit_store(spool->emit), &stream->rope, spool_area(spool, i) + stream->start,
	                          until - stream->start, force);
	if (stream->ready < stream->start) {
		stream->ready = stream->start;
	}
	return stream->start == until;
}

bool spool_settle(struct spool *spool) {
	bool all = true;
	for (int i = 0; i < STREAMS; ++i) {
		all = stream_settle(spool, i, spool->stream[i].ready, false) && all;
	}
	if (all && spool->block) {
		store_block_put(emit_store(spool->emit), spool->block);
		spool->block = NULL;
	}
	return all;
}

// Nothing can hold more of this job's output. If it may be written now it goes straight through from here on; else what
// comes is lost.
static void spool_stuck(struct spool *spool, int error) {
	bool passes = spool->has_turn || emit_take_turn(spool);
	for (int i = 0; i < STREAMS; ++i) {
		spool->stream[i].pass = passes;
		if (passes) {
			emit_pass(spool, i);
		} else {
			stream_settle(spool, i, spool->stream[i].len, true);
		}
	}
	if (passes) {
		return;
	}
	spool->lost = true;
	spool_compact(spool);
	emit_fail(spool->emit, 2, error);
}

// Makes room in the area, of at least a half. Blocks while memory and disk are full and something else can free them.
static void spool_make_room(struct spool *spool, int i) {
	struct stream *stream = &spool->stream[i];
	while (stream->len > area_size(i) / 2 && !spool->lost) {
		if (emit_is_line_buffered(spool->emit)) {
			emit_lines(spool);
			if (stream->len <= area_size(i) / 2) {
				return;
			}
		}
		// whole lines where there are any, so that the rope ends with one
		size_t until = stream->ready > stream->start ? stream->ready : stream->len;
		stream->midline = emit_is_line_buffered(spool->emit) && until > stream->ready;
		bool settled = stream_settle(spool, i, until, false);
		if (!settled) {
			uint64_t seen = emit_released(spool->emit);
			settled = stream_settle(spool, i, until, false);
			int error = errno;
			if (!settled && (spool->has_turn || !emit_wait(spool, seen))) {
				spool_stuck(spool, error);
				return;
			}
		}
		spool_compact(spool);
	}
}

// Takes note of `n` bytes that were put behind stream->len.
static void spool_took(struct spool *spool, int i, size_t n) {
	struct stream *stream = &spool->stream[i];
	stream->bytes += n;
	if (spool->lost) {
		return;
	}
	if (stream->pass || !emit_is_line_buffered(spool->emit)) {
		stream->len += n;
		stream->ready = stream->len;
		if (stream->pass) {
			emit_pass(spool, i);
		}
		return;
	}
	const char *from = spool_area(spool, i) + stream->len;
	const char *newline = memrchr(from, '\n', n);
	if (newline) {
		stream->ready = stream->len + (size_t)(newline - from) + 1;
		stream->midline = false;
	}
	stream->len += n;
	if (newline) {
		emit_lines(spool);
	}
}

static void spool_start(struct spool *spool) {
	if (spool->idle) {
		emit_set_idle(spool, false);
	}
	if (!spool->block) {
		spool->block = store_block_get(emit_store(spool->emit));
	}
}

// A job that is alone and writes much streams its stdout through: only then, so that a small output stays one write.
static bool spool_goes_live(struct spool *spool, int i) {
	if (i != 0 || spool->stream[0].pass || emit_is_line_buffered(spool->emit) ||
	    spool->stream[0].bytes < AREA_OUT / 2 || !atomic_load_relaxed(&spool->live)) {
		return false;
	}
	if (!spool->has_turn && !emit_take_turn(spool)) {
		return false;
	}
	spool->stream[0].pass = true;
	emit_pass(spool, 0);
	return true;
}

// Fewer switches between the job and this thread. Refused beyond the user's share of pipe memory (pipe(7)): no matter.
static void stream_widen(struct stream *stream, int fd) {
	if (!stream->wide) {
		stream->wide = true;
		(void)!fcntl(fd, F_SETPIPE_SZ, WIDE_PIPE);
	}
}

static ssize_t spool_read(struct spool *spool, int i, int fd) {
	struct stream *stream = &spool->stream[i];
	if (stream->pass || spool_goes_live(spool, i)) {
		stream_widen(stream, fd);
		ssize_t n = spool->tag_len > 0 || spool->lost ? -1 : emit_splice(spool, i, fd);
		if (n >= 0) {
			stream->bytes += (uint64_t)n;
			return n;
		}
		if (spool->tag_len == 0 && errno != ENOTSUP) {
			return -1;
		}
	}
	spool_make_room(spool, i);
	size_t room = area_size(i) - stream->len;
	ssize_t n;
	do {
		n = read(fd, spool_area(spool, i) + stream->len, room);
	} while (n < 0 && errno == EINTR);
	if (n <= 0) {
		return n;
	}
	if ((size_t)n == room) {
		stream_widen(stream, fd);
	}
	spool_took(spool, i, (size_t)n);
	return n;
}

ssize_t spool_readable(struct spool *spool, int stream, int fd) {
	spool_start(spool);
	bool shared = emit_is_line_ordered(spool->emit);
	if (shared) {
		emit_enter(spool);
	}
	ssize_t n = spool_read(spool, stream, fd);
	if (shared) {
		int error = errno;
		emit_leave(spool);
		errno = error;
	}
	return n;
}

void spool_add(struct spool *spool, int stream, const void *mem, size_t len) {
	const char *from = mem;
	if (len == 0) {
		return;
	}
	spool_start(spool);
	bool shared = emit_is_line_ordered(spool->emit);
	if (shared) {
		emit_enter(spool);
	}
	while (len > 0) {
		spool_make_room(spool, stream);
		struct stream *to = &spool->stream[stream];
		size_t room = area_size(stream) - to->len;
		size_t n = len < room ? len : room;
		memcpy(spool_area(spool, stream) + to->len, from, n);
		spool_took(spool, stream, n);
		from += n;
		len -= n;
	}
	if (shared) {
		emit_leave(spool);
	}
}

void spool_reset(struct spool *spool) {
	bool shared = emit_is_line_ordered(spool->emit);
	if (shared) {
		emit_enter(spool);
	}
	for (int i = 0; i < STREAMS; ++i) {
		struct stream *stream = &spool->stream[i];
		rope_clear(emit_store(spool->emit), &stream->rope);
		*stream = (struct stream){.bytes = 0};
	}
	if (shared) {
		emit_leave(spool);
	}
	spool->lost = false;
	if (spool->has_turn) {
		emit_drop_turn(spool);
	}
	if (!spool->idle) {
		emit_set_idle(spool, true);
	}
}

uint64_t spool_bytes(const struct spool *spool, int stream) {
	return spool->stream[stream].bytes;
}

void spool_set_live(struct spool *spool) {
	atomic_store_relaxed(&spool->live, true);
}
