// The inside of the writer, shared by the files of this room that order and write spools. Everything here is under
// writer->lock unless it says otherwise.
//
//	spool_fill.c    a job's thread fills its spool
//	writer.c        the whole, and what jobs leave: spools opened, written at once or held, finished
//	turn.c          which worker has the turn to write, what it does, and the thread that waits for a slow reader
//	order.c         the order: what waits in each queue, and which queue is next
//	backpressure.c  jobs that wait for room, and when there is no sense in it
//	spool.c         the bytes that a spool holds, and spools for reuse
//
// Each calls only those below it.
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
#include "output/spool.h"
#include "output/store.h"
#include "output/streams.h"

// What stands for a job in a queue.
enum ref_kind {
	REF_NONE,    // it has not finished
	REF_DONE,    // there is nothing to write
	REF_OPEN,    // its spool, which is still being filled (WRITER_LINE_BUFFER)
	REF_SPOOL,
	REF_RECORD,
};

struct ref {
	enum ref_kind kind;
	union {
		struct spool *spool;
		struct piece record;
	};
};

// References by number, from first to end; those never set are REF_NONE.
struct ring {
	struct ref *slot; // by number modulo cap
	uint64_t cap;     // a power of two, or 0
	uint64_t first, end;
};

struct output_queue {
	struct list all;      // in writer.queues
	struct list ready;    // in writer.ready, while something of it may be written
	struct ring writable; // what may be written, in this order
	struct ring window;   // with keep_order: by number, from the one whose turn it is
	struct output_queue *next; // which is written behind this one, or NULL
	bool waits;           // there is one before it: nothing of this is written
	bool closed;          // to be freed when all is written
};

enum flusher { FLUSHER_NONE, FLUSHER_RUNS, FLUSHER_IMPOSSIBLE };

struct writer {
	struct writer_config config;
	struct store *store;
	struct streams *streams;

	mutex lock;
	cond changed;            // something was released, or the turn was given up
	cond handed_over;
	struct list queues;
	struct list ready;
	struct output_queue arrival; // order of arrival, for all queues of a run without keep_order
	struct spool *spare;     // free list, with their blocks
	size_t nspare;
	bool writing;            // somebody has the turn
	uint64_t released;
	size_t open, idle;       // spools not finished; those of them between two attempts
	size_t beyond;           // blocks that are held beyond the bound
	struct list waiters;     // spools whose threads are in writer_wait()
	bool lost[3];            // output of that stream was lost, and this was reported; 2 is the spool

	thread flusher;
	enum flusher flusher_state;
	bool handed;             // the turn is the flusher's
	bool stop;

	// of whoever has the turn
	struct spool *current;
	char *scratch;           // PIECE_MAX bytes, for bytes read back
	struct buf receipts;     // of what is gathered in the sinks, or written
};

// False without keep_order, and for a job that has no place in the order. Never changes: with or without the lock.
static inline bool spool_is_ordered(const struct spool *spool) {
	return spool->queue != &spool->writer->arrival;
}

// True if what this job writes may be written now, were the turn free.
static inline bool spool_is_next(const struct spool *spool) {
	return !spool_is_ordered(spool) || (spool->order == spool->queue->window.first && !spool->queue->waits);
}

// True for WRITER_LINE_BUFFER with a place in an order: the spool is shared with output_queue_promote().
static inline bool spool_is_line_ordered(const struct spool *spool) {
	return spool_is_line_buffered(spool) && spool_is_ordered(spool);
}

// Is config.stalls to be called when the job has to wait for a reader?
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

// If spool_is_line_ordered(): keeps output_queue_promote() away from the spool, or not any more.
void writer_enter(struct spool *spool);
void writer_leave(struct spool *spool);

// ---- order.c

// Makes an empty queue. Returns it.
struct output_queue *output_queue_init(struct output_queue *queue);

// Takes it out of its lists, and frees what it holds but not the queue.
void output_queue_fini(struct output_queue *queue);

// Puts the reference behind all else that may be written of the queue. To be followed by output_queue_refresh().
void output_queue_push(struct output_queue *queue, struct ref ref);

// Puts the reference in the place of job `order`, which has not had its turn. To be followed by output_queue_refresh(),
// unless it is REF_OPEN.
void output_queue_place(struct output_queue *queue, uint64_t order, struct ref ref);

// Brings the queue's place in writer->ready up to date after any change; frees a closed queue when all of it is written.
void output_queue_refresh(struct writer *writer, struct output_queue *queue);

// The next reference that may be written, of the queue that has waited longest; all queues take turns. One is ready.
struct ref output_queues_pop(struct writer *writer);

// ---- turn.c

// Writes what may be written and gives up the turn, or hands it over. With `wait` false it never waits for a reader.
// Called with the lock held and the turn taken; returns with the lock held.
void turn_work(struct writer *writer, bool wait);

// Starts writing if nobody does. Releases the lock meanwhile.
void turn_pump(struct writer *writer);

// Takes the turn to write until the job ends, if the job may be written now and nobody else is writing; or gives it up before.
// No lock held.
bool writer_take_turn(struct spool *spool);
void writer_drop_turn(struct spool *spool);

// Ends the flusher, if there is one, which has nothing to do any more. No lock held.
void flusher_end(struct writer *writer);

// With the turn and no lock held: writes what is ready of both streams, and keeps the receipt until that was flushed. With `wait`
// it waits for the reader; else it returns false if it would block, and what is not written stays ready.
bool turn_write(struct writer *writer, struct spool *spool, bool wait);

// As turn_write() with `wait`, for one stream.
void writer_pass(struct spool *spool, int stream);

// Reports that output of this run is lost, once for each stream; `arg` is the writer. No lock held.
void writer_fail(void *arg, int stream, int error);

// ---- backpressure.c

// Counts releases of held memory and file space; to be read before trying to get some. No lock held, as with the next two.
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

// Held memory or file space is free again: those who wait look again.
void note_release_locked(struct writer *writer);

// Counts the job as between two attempts, or as running again.
void writer_set_idle(struct spool *spool, bool idle);
