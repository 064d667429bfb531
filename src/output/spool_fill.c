// Fills spools on the thread of the job: reads the job's pipes, finds the ends of lines, and makes room if a job writes much.

#include "output/internal.h"

#include "base/alloc.h"
#include "base/io.h"

#include <errno.h>
#include <unistd.h>

enum { WIDE_PIPE = 1 << 20 };

// Moves bytes of the area up to `until` to the rope. If memory and disk are full, waits for room, or writes the output straight
// to the reader, or marks the spool as `lost`. The caller then checks again whether there is room.
static void to_rope_or_wait(struct spool *spool, int i, size_t until) {
	if (stream_to_rope(spool, i, until, false)) {
		return;
	}
	uint64_t seen = writer_released(spool->writer);
	if (stream_to_rope(spool, i, until, false)) {
		return;
	}
	int error = errno;
	enum room room = spool->has_turn ? ROOM_THROUGH : writer_wait(spool, seen, /* take_turn */ true);
	for (int j = 0; j < STREAMS && room != ROOM_AGAIN; ++j) {
		if (room == ROOM_THROUGH) { // from here on the job's output goes straight to the reader
			spool->stream[j].pass = true;
			writer_pass(spool, j);
		} else { // no room for more, and nothing may be written now: keeps what the area holds; further output is lost
			stream_to_rope(spool, j, spool->stream[j].len, true);
		}
	}
	if (room == ROOM_NEVER) {
		spool->lost = true;
		spool_compact(spool);
		writer_fail(spool->writer, 2, error);
	}
}

// Makes at least half of the area free, unless the spool is `lost`. May block as to_rope_or_wait() does.
static void spool_make_room(struct spool *spool, int i) {
	struct stream *stream = &spool->stream[i];
	while (stream->len > area_size(i) / 2 && !spool->lost) {
		if (spool_is_line_buffered(spool)) {
			writer_lines(spool);
			if (stream->len <= area_size(i) / 2) {
				return;
			}
		}
		// moves only the ready bytes, if there are any: the incomplete line behind them stays, unless it fills half of the area
		size_t ready = area_ready(stream);
		to_rope_or_wait(spool, i, ready > stream->start ? ready : stream->len);
		spool_compact(spool);
	}
}

static void keep_recent(struct spool *spool, int i, const char *data, size_t len) {
	struct buf *recent = &spool->recent[i];
	size_t n = len < RECENT ? len : RECENT;
	FP_HOLD(&spool->lock);
	spool->latest = i;
	if (recent->len + n > (size_t)2 * RECENT) {
		buf_drop(recent, recent->len + n - RECENT);
	}
	buf_add(recent, data + len - n, n);
}

// Counts `n` bytes that the caller has put into the area behind stream->len, and makes complete lines ready.
static void spool_took(struct spool *spool, int i, size_t n) {
	struct stream *stream = &spool->stream[i];
	if (spool->lost) {
		return;
	}
	const char *from = spool_area(spool, i) + stream->len;
	keep_recent(spool, i, from, n);
	stream->bytes += n;
	stream->last = from[n - 1];
	if (spool->mode == WRITER_LATEST) {
		return;
	}
	if (stream->pass || !spool_is_line_buffered(spool)) {
		stream->len += n;
		spool_end_line(spool, i, stream->len);
		if (stream->pass) {
			writer_pass(spool, i);
		}
		return;
	}
	const char *newline = memrchr(from, '\n', n);
	if (newline) {
		spool_end_line(spool, i, stream->len + (size_t)(newline - from) + 1);
	}
	stream->len += n;
	if (newline) {
		writer_lines(spool);
	}
}

// The job's thread calls spool_enter() before it uses its spool.
static void spool_enter(struct spool *spool) {
	if (spool_is_line_ordered(spool)) {
		writer_enter(spool);
	}
	if (spool->idle) {
		writer_set_idle(spool, false);
	}
}

// If the job is alone and has written much to stdout: takes the turn, writes what is held, and returns true; from then on stdout is written at
// once. (A small output stays one write.) Always false after a loss: the output would look as if nothing were missing.
static bool spool_goes_live(struct spool *spool, int i, int fd) {
	if (i != 0 || spool->lost || spool->mode != WRITER_GROUP || spool->stream[0].bytes < AREA_OUT / 2 ||
	    !atomic_load_relaxed(&spool->live)) {
		return false;
	}
	if (!spool->has_turn && !writer_take_turn(spool)) {
		return false;
	}
	(void)pipe_widen(fd, WIDE_PIPE); // a wide pipe needs fewer switches between the job and this thread; a refusal does no harm
	spool->stream[0].pass = true;
	writer_pass(spool, 0);
	return true;
}

static ssize_t spool_read(struct spool *spool, int i, int fd) {
	struct stream *stream = &spool->stream[i];
	if ((stream->pass || spool_goes_live(spool, i, fd)) && spool->tag.len == 0 && !spool_can_stall(spool)) {
		ssize_t n = streams_splice(&spool->writer->streams, i, fd);
		if (n >= 0) {
			stream->bytes += (uint64_t)n;
			return n;
		}
		if (errno != ENOTSUP) {
			return -1;
		}
	}
	spool_make_room(spool, i);
	ssize_t n = read_some(fd, spool_area(spool, i) + stream->len, area_size(i) - stream->len);
	if (n <= 0) {
		return n;
	}
	spool_took(spool, i, (size_t)n);
	return n;
}

static void spool_leave(struct spool *spool) {
	if (spool_is_line_ordered(spool)) {
		writer_leave(spool);
	}
	spool_stall(spool, false);
}

// Called before bytes are added; allocates the block that the bytes go to, if there is none.
static void spool_begin_fill(struct spool *spool) {
	spool_enter(spool);
	if (!spool->block) {
		writer_await_bound(spool);
		spool_need_block(spool);
	}
}

ssize_t spool_readable(struct spool *spool, int stream, int fd) {
	spool_begin_fill(spool);
	ssize_t n = spool_read(spool, stream, fd);
	FP_KEEP_ERRNO;
	spool_leave(spool);
	return n;
}

void spool_complete(struct spool *spool, int i) {
	if (spool->stream[i].bytes > 0 && spool->stream[i].last != '\n') {
		spool_add(spool, i, "\n", 1);
	}
}

void spool_frame_lines(struct spool *spool, const char *before, const char *after) {
	if (spool_is_line_buffered(spool)) {
		return;
	}
	if (spool->mode == WRITER_LATEST) {
		spool_keep_latest(spool);
	}
	for (int i = 0; i < STREAMS; ++i) {
		spool_complete(spool, i);
	}
	struct buf tag = BUF_INIT;
	buf_adds(&tag, before);
	buf_add(&tag, spool->tag.data, spool->tag.len);
	buf_addc(&tag, '\0');
	buf_adds(&tag, after);
	buf_fini(&spool->tag);
	spool->tag = tag;
}

void spool_add(struct spool *spool, int stream, const void *mem, size_t len) {
	const char *from = mem;
	if (len == 0) {
		return;
	}
	spool_begin_fill(spool);
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
	spool_leave(spool);
}

// Forgets the held bytes behind the mark.
static void stream_cut(struct spool *spool, int i) {
	struct stream *stream = &spool->stream[i];
	if (spool->mode == WRITER_LATEST) {
		stream->bytes = stream->mark;
		return;
	}
	uint64_t passed = stream->bytes - stream_held(stream); // how many bytes are written, or will be written by another thread
	uint64_t keep = u64_minus(stream->mark, passed), in_area = u64_minus(keep, stream->rope.len);
	stream->bytes = passed + keep;
	stream->ready = u64_minus(stream->mark_ready, passed);
	if (in_area > 0) {
		stream->len = stream->start + (size_t)in_area;
	} else {
		stream->start = stream->len = 0;
		rope_cut(spool->writer->store, &stream->rope, keep);
	}
}

// Stops passing output straight to the reader, and gives up the turn, so that no other job waits for the next attempt of this job.
static void spool_end_attempt(struct spool *spool) {
	spool->stream[0].pass = spool->stream[1].pass = false;
	if (spool->has_turn) {
		writer_drop_turn(spool);
	}
}

void spool_suspend(struct spool *spool) {
	spool_end_attempt(spool);
	if (!spool->idle) {
		writer_set_idle(spool, true);
	}
}

void spool_mark(struct spool *spool) {
	spool_enter(spool);
	for (int i = 0; i < STREAMS; ++i) {
		struct stream *stream = &spool->stream[i];
		stream->mark = stream->bytes;
		stream->mark_ready = stream->bytes - stream_held(stream) + stream->ready;
	}
	spool_leave(spool);
}

void spool_reset(struct spool *spool) {
	spool_enter(spool);
	for (int i = 0; i < STREAMS; ++i) {
		stream_cut(spool, i);
	}
	spool->lost = false;
	mutex_lock(&spool->lock);
	buf_reset(&spool->recent[0]);
	buf_reset(&spool->recent[1]);
	mutex_unlock(&spool->lock);
	spool_leave(spool);
	spool_end_attempt(spool);
}

uint64_t spool_bytes(const struct spool *spool, int stream) {
	return spool->stream[stream].bytes;
}

void spool_tail(const struct spool *spool, int i, size_t n, struct buf *buf) {
	const struct buf *recent = &spool->recent[i];
	size_t held = spool->mode == WRITER_GROUP ? (size_t)stream_held(&spool->stream[i]) : n; // WRITER_GROUP: only bytes that are not yet written
	size_t len = n < held ? n : held;
	len = len < recent->len ? len : recent->len;
	buf_add(buf, buf_str(recent) + recent->len - len, len);
}

void spool_set_job(struct spool *spool, void *job) {
	spool->job = job;
}

void spool_set_live(struct spool *spool) {
	atomic_store_relaxed(&spool->live, true);
}

void spool_add_shown(struct spool *spool, const char *mem, size_t len) {
	FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
	buf_add_for(&shown, STDOUT_FILENO, mem, len);
	spool_add(spool, 0, buf_str(&shown), shown.len);
}
