// The inside of the writer, shared by the files of this room that order and write spools. Everything here is under
// writer->lock unless it says otherwise.
//
//	spool_fill.c    a job's thread fills its spool
//	writer.c        opens spools, writes their output at once or holds it, finishes them; the writer as a whole
//	turn.c          which worker has the turn to write, what it does, and the thread that waits for a slow reader
//	order.c         the order: what waits in each queue, and which queue is next
//	backpressure.c  makes jobs wait for room, and says when waiting cannot help
//	spool.c         the bytes that a spool holds, and spools for reuse
//
// Each file calls only those below it.
//
// Whoever has the turn writes, without the lock, until nothing more may be written; nobody else touches the sinks and
// `current`. The turn is taken under the lock (turn_take()), given up under the lock when nothing is left,
// or handed over to the flusher as it is, with `current` half written:
//
//	free -turn_take()-> a worker -turn_work()-> free, or, when the reader is slow or the quota used up, the flusher's
//	free -turn_take()-> a job that streams (has_turn) -writer_drop_turn() or spool_finish()-> its worker, as above
//	the flusher -turn_work()-> free

#pragma once

#include "output/writer.h"

#include "base/atomic.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/list.h"
#include "base/sync.h"
#include "base/units.h"
#include "output/store.h"
#include "output/streams.h"

// ---- a spool: the bytes that a job has written and that are not written yet
//
// A spool has one block of memory, its slot's: small outputs never leave it. Each stream is a rope of older bytes (held
// by store.c, in memory or in the file) followed by the newest ones in the stream's part of the block, its area:
//
//	rope ................ | area:  start ........ len
//	the first `ready` of these may be written
//
// Behind what is ready is a line that is not complete (WRITER_LINE_BUFFER only). In a rope such a line begins a new piece.
//
// A spool is used by its job's thread until spool_finish(), then by whoever has the turn to write. The one exception is
// WRITER_LINE_BUFFER with a rank in an order: the lines of a job that becomes the next of its queue are taken by the thread that
// ended the job before it (output_queue_promote()), under the lock of the writer, and only while `busy` says that the job's own
// thread does not use the spool.

enum {
	STREAMS = 2,
	AREA_OUT = 48 * 1024,
	AREA_ERR = 16 * 1024,
	BLOCK_SIZE = AREA_OUT + AREA_ERR,
	RECENT = 8 * 1024,      // the last bytes of a stream, which are kept however much the job writes
};

struct stream {
	struct rope rope;       // older bytes
	size_t start;           // offset in the area: the bytes before it are written, or in the rope
	size_t len;
	uint64_t ready;         // how many of the first bytes that are held may be written
	bool pass;              // bytes go straight to the reader; only with has_turn
	struct tag_state tag;
	char last;              // the newest byte
	uint64_t bytes;         // bytes that the job has written so far, without those that were lost or taken back
	uint64_t mark;          // how many of the first bytes stay when the spool is reset
	uint64_t mark_ready;    // how many of these could be written at the mark: lines end there
};

struct spool {
	struct spool *next;         // free list
	struct list waiting;        // in writer->waiters, while the job's thread is in writer_wait()
	struct writer *writer;
	struct output_queue *queue;
	uint64_t order;
	enum writer_mode mode;
	char *block;                // or NULL: not yet needed, or given back
	struct piece piece;        // if it has bytes: the spool is empty and stands for this piece until it is written
	struct stream stream[STREAMS];
	struct buf tag, receipt;    // their memory is kept from job to job
	atomic_bool live;           // spool_set_live()
	void *job;                  // spool_set_job(), or NULL
	bool stalls;                // the last call of config.stalls said true
	mutex lock;                 // of `latest` and `recent`, which any thread may look at
	int latest;                 // the stream that was written last
	struct buf recent[STREAMS]; // the last RECENT bytes of each stream, or up to twice as many, whether or not they are written
	bool has_turn;              // nobody else may write until this job ends
	bool idle;                  // the job is between two attempts: others do not wait for it to make room
	bool lost;                  // nothing could hold the job's output: what comes is discarded
	bool beyond;                // under the lock of the writer: the block of the ended job is held beyond the bound
	bool busy;                  // under the lock of the writer: the job's thread uses the spool
};

// What stands for a job in a queue.
enum ref_kind {
	REF_NONE,    // the job has not finished
	REF_DONE,    // there is nothing to write
	REF_OPEN,    // the job's spool, which is still being filled (WRITER_LINE_BUFFER)
	REF_SPOOL,
	REF_PIECE,
};

struct ref {
	enum ref_kind kind;
	union {
		struct spool *spool;
		struct piece piece;
	};
};

// References by number, from first to end; those never set are REF_NONE.
struct ring {
	struct ref *slot; // the references, by number modulo cap
	uint64_t cap;     // a power of two, or 0
	uint64_t first, end;
};

struct output_queue {
	struct list all;      // in writer.queues
	struct list ready;    // in writer.ready, while something of it may be written
	struct ring writable; // what may be written, in this order
	struct ring window;   // with keep_order: by number, from the job that is next
	struct output_queue *next; // the queue that is written behind this one, or NULL
	bool waits;           // nothing of this queue may be written yet, as a queue before it is not done
	bool closed;          // to be freed when all is written
};

enum flusher { FLUSHER_NONE, FLUSHER_RUNS, FLUSHER_IMPOSSIBLE };

struct writer {
	struct writer_config config;
	struct store *store;
	struct streams streams;

	mutex lock;
	cond changed;            // something was released, or the turn was given up
	cond handed_over;
	struct list queues;
	struct list ready;
	struct output_queue arrival; // order of arrival, for all queues of a run without keep_order
	struct spool *unused;     // free list, with their blocks
	size_t nunused;
	bool writing;            // somebody has the turn
	uint64_t released;
	size_t open, idle;       // spools that are not finished; those of them that are between two attempts
	size_t beyond;           // blocks that are held beyond the bound
	struct list waiters;     // spools whose threads are in writer_wait()
	bool lost[3];            // output of that stream was lost, and this was reported; 2 is the spool

	thread flusher;
	enum flusher flusher_state;
	bool handed;             // the turn is the flusher's
	bool stop;

	// used only by the thread that has the turn
	struct spool *current;
	char *scratch;           // PIECE_MAX bytes, for bytes read back
	struct buf receipts;     // receipts of jobs whose output is gathered in the sinks, or written
};

static inline bool spool_is_line_buffered(const struct spool *spool) {
	return spool->mode == WRITER_LINE_BUFFER;
}

static inline size_t area_size(int stream) {
	return stream == 0 ? AREA_OUT : AREA_ERR;
}

static inline char *spool_area(const struct spool *spool, int stream) {
	return spool->block + (stream == 0 ? 0 : AREA_OUT);
}

// Returns how many bytes the stream holds: those that are not written yet.
static inline uint64_t stream_held(const struct stream *stream) {
	return stream->rope.len + (stream->len - stream->start);
}

// Returns the offset in the area up to which bytes may be written.
static inline size_t area_ready(const struct stream *stream) {
	return stream->start + (size_t)u64_minus(stream->ready, stream->rope.len);
}

// True if any bytes may be written, in either stream.
static inline bool spool_is_ready(const struct spool *spool) {
	return spool->stream[0].ready > 0 || spool->stream[1].ready > 0;
}

// True if the job has a rank in an order: never without keep_order. This does not change, so the lock is not needed.
static inline bool spool_is_ordered(const struct spool *spool) {
	return spool->queue != &spool->writer->arrival;
}

// True if what this job writes may be written now, provided that the turn is free.
static inline bool spool_is_next(const struct spool *spool) {
	return !spool_is_ordered(spool) || (spool->order == spool->queue->window.first && !spool->queue->waits);
}

// True for WRITER_LINE_BUFFER with a rank in an order: the spool is shared with output_queue_promote().
static inline bool spool_is_line_ordered(const struct spool *spool) {
	return spool_is_line_buffered(spool) && spool_is_ordered(spool);
}

// True if config.stalls is to be called when the job has to wait for a reader.
static inline bool spool_can_stall(const struct spool *spool) {
	return spool->job && spool->writer->config.stalls;
}

static inline bool turn_is_free(const struct writer *writer) {
	return !writer->writing && list_is_empty(&writer->ready);
}

// Takes the turn, which nobody has. The caller writes, and then calls turn_work(), or sets has_turn of a spool.
static inline void turn_take(struct writer *writer) {
	verify(!writer->writing);
	writer->writing = true;
}

// ---- writer.c: for the thread of a job, with no lock held

// WRITER_LINE_BUFFER: writes or queues the ready lines if the job may be written now.
void writer_lines(struct spool *spool);

// For a spool that spool_is_line_ordered(): writer_enter() keeps output_queue_promote() away from it until writer_leave().
void writer_enter(struct spool *spool);
void writer_leave(struct spool *spool);

// ---- order.c

// Makes an empty queue. Returns it.
struct output_queue *output_queue_init(struct output_queue *queue);

// Takes the queue out of its lists, and frees what it holds, but not the queue itself.
void output_queue_fini(struct output_queue *queue);

// Adds the reference to what may be written of the queue, as the last one. To be followed by output_queue_refresh().
void output_queue_push(struct output_queue *queue, struct ref ref);

// Sets the reference of the job with number `order`, which the queue has not passed yet. To be followed by
// output_queue_refresh(), unless it is REF_OPEN.
void output_queue_put(struct output_queue *queue, uint64_t order, struct ref ref);

// Brings the queue's position in writer->ready up to date after any change; frees a closed queue when all of it is written.
void output_queue_refresh(struct writer *writer, struct output_queue *queue);

// Returns the next reference that may be written, of the queue that has waited longest: queues take turns. One queue must be ready.
struct ref output_queues_pop(struct writer *writer);

// ---- turn.c

// Writes what may be written and gives up the turn, or hands it over. With `wait` false it never waits for a reader.
// Called with the lock held and the turn taken; returns with the lock held.
void turn_work(struct writer *writer, bool wait);

// Starts writing if nobody does. Releases the lock meanwhile.
void turn_pump(struct writer *writer);

// If the job may be written now and nobody else is writing, writer_take_turn() takes the turn to write until the job ends,
// and returns true. writer_drop_turn() gives the turn up before the job ends. No lock held.
bool writer_take_turn(struct spool *spool);
void writer_drop_turn(struct spool *spool);

// Ends the flusher, if there is one; nothing may be left for it to do. No lock held.
void flusher_end(struct writer *writer);

// Writes what is ready of both streams, and keeps the receipt until these bytes are flushed. With `wait` it waits for the
// reader; else it returns false if it would block, and what is not written stays ready. Called with the turn, and no lock held.
bool turn_write(struct writer *writer, struct spool *spool, bool wait);

// As turn_write() with `wait`, for one stream.
void writer_pass(struct spool *spool, int stream);

// Reports that output of this run is lost, once for each stream; `arg` is the writer. No lock held.
void writer_fail(void *arg, int stream, int error);

// ---- backpressure.c

// Returns how often held memory or file space was released; the caller reads it before it tries to get some. The next two, too: no lock held.
uint64_t writer_released(struct writer *writer);

// Waits for room for the job's output. Returns ROOM_AGAIN when writer_released() is no longer `seen`: try again. ROOM_THROUGH:
// the job may be written now and nobody else is writing; with `take_turn` it has the turn. ROOM_NEVER: nothing that is being
// written or running can release anything.
enum room { ROOM_AGAIN, ROOM_THROUGH, ROOM_NEVER };
enum room writer_wait(struct spool *spool, uint64_t seen, bool take_turn);

// Waits until no block is held beyond the bound, or waiting cannot help. Called before the job's first output is read.
void writer_await_bound(struct spool *spool);

// Calls config.stalls, if there is one: the job's thread is about to wait for a reader (`stalls`), or goes on. No lock held.
void spool_stall(struct spool *spool, bool stalls);

// Notes that held memory or file space is free again: threads that wait for some look again.
void note_release_locked(struct writer *writer);

// Counts the job as between two attempts, or as running again.
void writer_set_idle(struct spool *spool, bool idle);

// ---- spool.c

// Frees the spool, its block and its ropes.
void spool_free(struct spool *spool);

// Returns the spool's block, which it allocates if there is none.
char *spool_need_block(struct spool *spool);

// Makes the stream's incomplete line, and its area up to offset `end`, ready to be written: the line has ended, or will not grow.
void spool_end_line(struct spool *spool, int stream, size_t end);

// Forgets what was written of the areas and moves the incomplete line to the front.
void spool_compact(struct spool *spool);

// WRITER_LATEST, at the end of the job: makes its last line all of its output, to be written as with WRITER_GROUP.
void spool_keep_latest(struct spool *spool);

// True if what is ready of the output, with its tag and its receipt, can be held as one piece: it is not too long, not
// in a rope, and not the rest of a line with a tag.
bool spool_fits_piece(const struct spool *spool);

// Copies what is ready into a piece. False with errno if there is no room for it.
bool spool_to_piece(const struct spool *spool, struct piece *ret_piece);

// Fills the empty spool with the output that the bytes `mem` of a piece hold.
void spool_from_piece(struct spool *spool, const char *mem);

// Moves bytes of the area up to `until` to the rope; with `force` also beyond the store's bounds. False with errno if
// there is no room for all.
bool stream_to_rope(struct spool *spool, int i, size_t until, bool force);

// For a spool that nobody fills any more: moves the areas' ready bytes to the ropes, and frees the block if all of them were
// moved. False with errno if there is no room for all.
bool spool_to_ropes(struct spool *spool);

// The next three are called with the writer's lock held.

// Returns a spool without output, from the free list.
struct spool *spool_new_locked(struct writer *writer);

// Keeps the spool for the next job, with its block and the memory of its tag.
void spool_recycle_locked(struct spool *spool);

// Moves what is ready into a new spool, and returns that; `spool` goes on being filled.
struct spool *spool_split_locked(struct spool *spool);
