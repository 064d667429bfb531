// The captured output of one job, and what the two halves of this room ask of each other: spool_fill.c fills spools; writer.c
// and the files that internal.h names order and write them.
//
// A spool has one block of memory, its slot's: small outputs never leave it. Each stream is two ropes of older bytes (held
// by store.c, in memory or in the file) followed by the newest ones in the stream's part of the block, its area:
//
//	rope ................ | line ........ | area:  start ... ready ... len
//
// What is up to `ready` may be written; behind it is a line that is not complete (WRITER_LINE_BUFFER only). Where that is
// longer than the area it begins in `line`, and then nothing of the area may be written (ready == start).
//
// A spool is used by its job's thread until spool_finish(), then by whoever has the turn to write. The one exception is
// WRITER_LINE_BUFFER with a place in an order: the lines of a job whose turn in its lane comes are taken by the thread that
// ended the turn before it (lane_promote()), under the lock of the writer and only while the job's own thread is not `busy`
// with it.

#ifndef FAIRPAR_OUTPUT_SPOOL_H
#define FAIRPAR_OUTPUT_SPOOL_H

#include "output/writer.h"

#include "base/atomic.h"
#include "base/sync.h"
#include "output/store.h"
#include "output/streams.h"

enum {
	STREAMS = 2,
	AREA_OUT = 48 * 1024,
	AREA_ERR = BLOCK_SIZE - AREA_OUT,
	LAST_LINE = 512,    // bytes of it that are kept
};

struct stream {
	struct rope rope;       // older bytes that may be written
	struct rope line;       // older bytes of the incomplete line
	size_t start;           // of the area: already written, or in the rope, below this
	size_t ready;
	size_t len;
	bool wide;              // its pipe was to be enlarged
	bool pass;              // goes straight through; only with has_turn
	struct tag_state tag;
	char last;              // the newest byte
	uint64_t bytes;         // so far, but for those that were lost or taken back
	uint64_t mark;          // as many of them stay, whatever is reset
	uint64_t mark_ready;    // as many of those could be written: lines end there
};

// The last line that is not empty, without its end: what spool_last_line() returns.
struct last_line {
	char text[LAST_LINE];
	size_t len;
	bool is_open;               // its end has not come yet
};

struct spool {
	struct spool *next;         // free list
	struct writer *writer;
	struct writer_lane *lane;
	uint64_t order;
	enum writer_mode mode;
	char *block;                // or NULL: not yet needed, or given back
	struct stream stream[STREAMS];
	char *tag;                  // tag_cap bytes, kept from job to job
	size_t tag_len, tag_cap;
	char *receipt;              // receipt_cap bytes, kept likewise
	size_t receipt_len, receipt_cap;
	atomic_bool live;           // spool_set_live()
	struct buf *recent;         // spool_watch(), or NULL
	int wide_pipes;             // of this attempt
	mutex lock;                 // of `latest` and `last_line`, which any thread may look at
	int latest;                 // the stream that was written last
	struct last_line last_line[STREAMS];
	bool has_turn;              // nobody else may write until this job ends
	bool idle;                  // between two attempts: it cannot be what others wait for
	bool lost;                  // nothing could hold its output: what comes is discarded
	bool busy;                  // under the lock of the writer: its own thread is at it
};

// ---- spool.c

// Its pipes are gone: others' may be enlarged.
void spool_narrow(struct spool *spool);

// Copies the tag.
void spool_set_tag(struct spool *spool, const char *tag, size_t tag_len);

// Gives the block and the ropes back.
void spool_clear(struct spool *spool);
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

// Bytes that may be written and are not.
uint64_t stream_ready(const struct stream *stream);
bool spool_is_ready(const struct spool *spool);

// All up to `end` of the stream's area may be written: its incomplete line is complete, or does not get longer.
void spool_end_line(struct spool *spool, int stream, size_t end);

// Forgets what was written of the areas and moves the incomplete line to the front.
void spool_compact(struct spool *spool);

// Moves all that may be written from `from` to the empty spool `to`; the incomplete lines stay.
void spool_move_ready(struct spool *to, struct spool *from);

// True for WRITER_LINE_BUFFER with a place in an order: the spool is shared with lane_promote().
bool spool_is_line_ordered(const struct spool *spool);

// WRITER_LATEST: leaves of the stream its last line with an end, and what has begun behind it; too long a one is cut.
void stream_keep_latest(struct spool *spool, int i);

// WRITER_LATEST: only the last line is left, as output of WRITER_GROUP.
void spool_keep_latest(struct spool *spool);

// Takes note of the last line in the bytes, which the stream has got.
void spool_note_line(struct spool *spool, int i, const char *mem, size_t len);

// Forgets what was noted.
void spool_forget_lines(struct spool *spool);

// The ready bytes as a record. False if they are too many for one, in a rope, or the rest of a line with a tag.
bool spool_record(const struct spool *spool, struct output_record *ret_record);

// Moves bytes of the area up to `until` to the ropes; with `force` also beyond the store's bounds. False with errno if
// there is no room for all.
bool stream_settle(struct spool *spool, int i, size_t until, bool force);

// Moves the areas' ready bytes to the ropes, and gives the block back if nothing is left in it. False with errno if
// there is no room for all.
bool spool_settle(struct spool *spool);

// ---- what spool_fill.c asks of writer.c, turn.c, turn_write.c, backpressure.c

struct store *writer_store(struct writer *writer);

// Counts releases of held memory and file space; to be read before trying to get some.
uint64_t writer_released(struct writer *writer);

// Waits until writer_released() is no longer `seen` (ROOM_AGAIN), but not when there is no sense in it: the job may be
// written now and nobody else is writing (ROOM_THROUGH; with `take_turn` it has the turn then), or nothing that is
// written or running can release anything (ROOM_NEVER).
enum room { ROOM_AGAIN, ROOM_THROUGH, ROOM_NEVER };
enum room writer_wait(struct spool *spool, uint64_t seen, bool take_turn);

// Something of this run's output is lost: reports it, once. No lock held.
void writer_fail(struct writer *writer, int stream, int error);

// WRITER_LINE_BUFFER: writes or queues the ready lines if the job may be written now.
void writer_lines(struct spool *spool);

// If spool_is_line_ordered(): keeps lane_promote() away from the spool, or not any more.
void writer_enter(struct spool *spool);
void writer_leave(struct spool *spool);

// Takes the turn to write until the job ends, if the job may be written now and nobody else is writing.
bool writer_take_turn(struct spool *spool);
void writer_drop_turn(struct spool *spool);

// With the turn: writes what is ready of the stream, waiting for the reader.
void writer_pass(struct spool *spool, int stream);

// With the turn: as streams_splice().
ssize_t writer_splice(struct spool *spool, int stream, int fd);

// Counts the job as between two attempts, or as running again.
void writer_set_idle(struct spool *spool, bool idle);

// The number of pipes that are enlarged now, all spools together.
atomic_int *writer_wide_pipes(struct writer *writer);

#endif
