// The captured output of one job: the bytes that it has written and that are not written yet. For the files of this room, of
// which internal.h says who does what; others see a spool as writer.h has it.
//
// A spool has one block of memory, its slot's: small outputs never leave it. Each stream is a rope of older bytes (held
// by store.c, in memory or in the file) followed by the newest ones in the stream's part of the block, its area:
//
//	rope ................ | area:  start ........ len
//	the first `ready` of these may be written
//
// Behind what is ready is a line that is not complete (WRITER_LINE_BUFFER only). In a rope that line begins with a piece.
//
// A spool is used by its job's thread until spool_finish(), then by whoever has the turn to write. The one exception is
// WRITER_LINE_BUFFER with a place in an order: the lines of a job whose turn in its queue comes are taken by the thread that
// ended the turn before it (output_queue_promote()), under the lock of the writer, and only while `busy` says that the job's own
// thread does not use the spool.

#pragma once

#include "output/writer.h"

#include "base/atomic.h"
#include "base/list.h"
#include "base/sync.h"
#include "base/units.h"
#include "output/store.h"
#include "output/streams.h"

enum {
	STREAMS = 2,
	AREA_OUT = 48 * 1024,
	AREA_ERR = 16 * 1024,
	BLOCK_SIZE = AREA_OUT + AREA_ERR,
	RECENT = 8 * 1024,      // the last bytes of a stream, which are kept however much it writes
};

struct stream {
	struct rope rope;       // older bytes
	size_t start;           // of the area: already written, or in the rope, below this
	size_t len;
	uint64_t ready;         // of the bytes that are held, so many of the first may be written
	bool pass;              // goes straight through; only with has_turn
	struct tag_state tag;
	char last;              // the newest byte
	uint64_t bytes;         // so far, but for those that were lost or taken back
	uint64_t mark;          // as many of them stay, whatever is reset
	uint64_t mark_ready;    // as many of those could be written: lines end there
};

struct spool {
	struct spool *next;         // free list
	struct list waiting;        // in writer->waiters, while its thread is in writer_wait()
	struct writer *writer;
	struct output_queue *queue;
	uint64_t order;
	enum writer_mode mode;
	char *block;                // or NULL: not yet needed, or given back
	struct piece record;        // if it has bytes: the spool is empty and stands for this record until it is written
	struct stream stream[STREAMS];
	struct buf tag, receipt;    // their memory is kept from job to job
	atomic_bool live;           // spool_set_live()
	void *job;                  // spool_set_job(), or NULL
	bool stalls;                // config.stalls was called with true last
	mutex lock;                 // of `latest` and `recent`, which any thread may look at
	int latest;                 // the stream that was written last
	struct buf recent[STREAMS]; // the last RECENT bytes of each, or up to twice as many, whether or not they are written
	bool has_turn;              // nobody else may write until this job ends
	bool idle;                  // between two attempts: it cannot be what others wait for
	bool lost;                  // nothing could hold its output: what comes is discarded
	bool beyond;                // under the lock of the writer: the block of the ended job is held beyond the bound
	bool busy;                  // under the lock of the writer: its own thread is at it
};

// Frees the spool, its block and its ropes.
void spool_free(struct spool *spool);

static inline bool spool_is_line_buffered(const struct spool *spool) {
	return spool->mode == WRITER_LINE_BUFFER;
}

static inline size_t area_size(int stream) {
	return stream == 0 ? AREA_OUT : AREA_ERR;
}

static inline char *spool_area(const struct spool *spool, int stream) {
	return spool->block + (stream == 0 ? 0 : AREA_OUT);
}

// Bytes that are not written.
static inline uint64_t stream_held(const struct stream *stream) {
	return stream->rope.len + (stream->len - stream->start);
}

// The offset in the area up to which it may be written.
static inline size_t area_ready(const struct stream *stream) {
	return stream->start + (size_t)minus(stream->ready, stream->rope.len);
}

// Whether any bytes may be written, in either stream.
static inline bool spool_is_ready(const struct spool *spool) {
	return spool->stream[0].ready > 0 || spool->stream[1].ready > 0;
}

// The block, which is there from now on.
char *spool_need_block(struct spool *spool);

// Makes the stream's incomplete line, and its area up to offset `end`, ready to be written: the line has ended, or will not grow.
void spool_end_line(struct spool *spool, int stream, size_t end);

// Forgets what was written of the areas and moves the incomplete line to the front.
void spool_compact(struct spool *spool);

// WRITER_LATEST, at the end of the job: its last line is all that it has, to be written as with WRITER_GROUP.
void spool_keep_latest(struct spool *spool);

// A record is what is ready of a small output, tag and receipt included, in one piece. Whether it fits in one: it is not too
// long, not in a rope, and not the rest of a line with a tag.
bool spool_fits_record(const struct spool *spool);

// Copies what is ready into a record. False with errno if there is no room for it.
bool spool_to_record(const struct spool *spool, struct piece *ret_record);

// Makes the empty spool what a record was made of, of which `mem` are the bytes.
void spool_unpack(struct spool *spool, const char *mem);

// Moves bytes of the area up to `until` to the rope; with `force` also beyond the store's bounds. False with errno if
// there is no room for all.
bool stream_to_rope(struct spool *spool, int i, size_t until, bool force);

// Of what nobody fills any more: moves the areas' ready bytes to the ropes, and gives the block back if nothing is left in it. False
// with errno if there is no room for all.
bool spool_to_ropes(struct spool *spool);

// ---- under the lock of the writer

// A spool without output, from the free list.
struct spool *spool_new_locked(struct writer *writer);

// Keeps the spool for the next job, with its block and the memory of its tag.
void spool_recycle_locked(struct spool *spool);

// Moves what is ready into a new spool, and returns that; `spool` goes on being filled.
struct spool *spool_split_locked(struct spool *spool);
