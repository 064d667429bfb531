// The inside of the writer, for the files of this directory that order and write spools. writer->lock protects everything here
// unless a comment says otherwise.
//
//	spool_fill.c    a job's thread fills its spool
//	writer.c        opens spools, writes their output at once or holds it, finishes them; creates and destroys the writer
//	turn.c          which worker has the turn to write, what that worker writes, and the thread that waits for a slow reader
//	order.c         what waits in each queue to be written, and which queue is next
//	backpressure.c  makes jobs wait for room, and says when waiting cannot help
//	spool.c         the bytes that a spool holds, and spools for reuse
//
// Each file calls only files below it in this list.
//
// The thread that has the turn writes, without the lock, until nothing more may be written; no other thread uses `streams` and
// `current`. A thread takes the turn under the lock (turn_take()). It gives the turn up under the lock when nothing is left, or
// hands the turn to the flusher (the thread that waits for a slow reader), even if `current` is half written. The turn goes:
//
//	free -turn_take()-> a worker -turn_work()-> free; or to the flusher, if the reader is slow or the worker's quota is used up
//	free -turn_take()-> a job that writes straight to the reader (has_turn) -writer_drop_turn() or spool_finish()-> the job's worker, as above
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

// ---- a spool: the output of a job that the writer has not written yet
//
// A spool has one block of memory: small outputs never leave it. Each stream is a rope of older bytes (held by store.c, in
// memory or in the file), followed by the newest bytes in the stream's part of the block, its area:
//
//	rope ................ | area:  start ........ len
//	the first `ready` bytes of rope and area together may be written
//
// Behind the ready bytes there may be an incomplete line (WRITER_LINE_BUFFER only). In a rope such a line begins a new piece.
//
// A spool is used by its job's thread until spool_finish(), then by the thread that has the turn to write. There is one exception:
// with WRITER_LINE_BUFFER and keep_order, when a job becomes the next of its queue, another thread moves the job's whole lines into a
// new spool (output_queue_promote()). It does so under the lock of the writer, and only while `busy` is false, that is, while the job's
// own thread does not use the spool.

enum {
	STREAMS = 2,
	AREA_OUT = 48 * 1024,
	AREA_ERR = 16 * 1024,
	BLOCK_SIZE = AREA_OUT + AREA_ERR,
	RECENT = 8 * 1024,      // how many of the last bytes of a stream are kept, however much the job writes
};

struct stream {
	struct rope rope;       // older bytes
	size_t start;           // offset in the area: the bytes before `start` are written, or in the rope
	size_t len;
	uint64_t ready;         // how many of the held bytes, from the first on, may be written
	bool pass;              // bytes are not held, but written at once; only if the spool has_turn
	struct tag_state tag;
	char last;              // the newest byte
	uint64_t bytes;         // how many bytes the job has written so far, without bytes that were lost or taken back
	uint64_t mark;          // spool_reset() keeps this many bytes, counted from the first byte of the job
	uint64_t mark_ready;    // how many of the `mark` bytes were written or ready at spool_mark(); with WRITER_LINE_BUFFER a line ends there
};

struct spool {
	struct spool *next;         // the next spool of writer->unused
	struct list waiting;        // in writer->waiters, while the job's thread is in writer_wait()
	struct writer *writer;
	struct output_queue *queue;
	uint64_t order;
	enum writer_mode mode;
	char *block;                // the memory of both areas; NULL: not yet needed, or freed
	struct piece piece;        // if piece.len > 0: the output to write is in this piece, and must first be read into the empty areas
	struct stream stream[STREAMS];
	struct buf tag, receipt;    // of the job (receipt: see spool_set_receipt()); the next job with this spool uses their memory again
	atomic_bool live;           // spool_set_live() was called
	void *job;                  // set by spool_set_job(), or NULL
	bool stalls;                // config.stalls was last called with `stalls` true: the job waits for a reader
	mutex lock;                 // protects `latest` and `recent`, which any thread may read
	int latest;                 // which stream (0 or 1) the job has written to last
	struct buf recent[STREAMS]; // the last RECENT to 2 * RECENT bytes of each stream, whether held or already written
	bool has_turn;              // the job has the turn to write, until the job ends or writer_drop_turn() is called
	bool idle;                  // the job waits for its next attempt or step: other jobs do not count on this job to make room
	bool lost;                  // nothing could hold the job's output: further output is discarded
	bool beyond;                // the spool waits to be written, and its block is held beyond config.spool_mem; under the lock of the writer
	bool busy;                  // if spool_is_line_ordered(): the job's thread uses the spool; under the lock of the writer
};

// What a queue holds for a job, or for a part of a job's lines.
enum ref_kind {
	REF_NONE,    // the job has not finished
	REF_DONE,    // nothing is left to write
	REF_OPEN,    // the job's spool, which is still being filled (WRITER_LINE_BUFFER)
	REF_SPOOL,   // output in a spool
	REF_PIECE,   // output in a piece
};

struct ref {
	enum ref_kind kind;
	union {
		struct spool *spool;
		struct piece piece;
	};
};

// References by number, from `first` to before `end`; a reference that was never set is REF_NONE.
struct ring {
	struct ref *slot; // the references, by number modulo cap
	uint64_t cap;     // a power of two, or 0
	uint64_t first, end;
};

struct output_queue {
	struct list all;      // in writer.queues
	struct list ready;    // in writer.ready, while some output of the queue may be written
	struct ring writable; // outputs that may be written, in the order of writing
	struct ring window;   // with keep_order: the outputs by the numbers of the jobs; job `window.first` is the next to be written
	struct output_queue *next; // the queue that is written after this queue, or NULL
	bool waits;           // nothing of this queue may be written yet: the queue before it (whose `next` is this queue) is not done
	bool closed;          // no more jobs come: the queue is freed when all its output is written
};

enum flusher { FLUSHER_NONE, FLUSHER_RUNS, FLUSHER_IMPOSSIBLE };

struct writer {
	struct writer_config config;
	struct store *store;
	struct streams streams;

	mutex lock;
	cond changed;            // broadcast when threads in writer_wait() must check again (backpressure.c), and when the turn is given up
	cond handed_over;
	struct list queues;
	struct list ready;
	struct output_queue arrival; // outputs in the order in which they come: of all jobs if keep_order is not set, else of jobs without a queue
	struct spool *unused;     // list of free spools, with their blocks
	size_t nunused;
	bool writing;            // a thread has the turn
	uint64_t released;       // what writer_released() returns
	size_t open, idle;       // how many spools are not finished; how many of these are `idle`
	size_t beyond;           // how many blocks are held beyond config.spool_mem
	struct list waiters;     // spools whose threads are in writer_wait()
	bool lost[3];            // by stream (2 is the spool): output was lost, and the loss was reported

	thread flusher;
	enum flusher flusher_state;
	bool handed;             // the turn was handed to the flusher, which has not begun to write
	bool stop;

	// used only by the thread that has the turn
	struct spool *current;
	char *scratch;           // PIECE_MAX bytes of memory, for bytes that are read from the store's file
	struct buf receipts;     // receipts of jobs whose output was written, or gathered in `streams`; config.written() gets them after a flush
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

// Returns how many bytes the stream holds, which are not written yet.
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

// True if the job has a place in the order of its queue; never true without keep_order. The answer never changes, so no lock is needed.
static inline bool spool_is_ordered(const struct spool *spool) {
	return spool->queue != &spool->writer->arrival;
}

// True if no other job's output must be written before the output of this job. Another thread may have the turn all the same.
static inline bool spool_is_next(const struct spool *spool) {
	return !spool_is_ordered(spool) || (spool->order == spool->queue->window.first && !spool->queue->waits);
}

// True if the job has WRITER_LINE_BUFFER and a place in an order: output_queue_promote() may use the spool, too.
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

// Takes the turn, which no thread has. The caller writes, and then calls turn_work(), or sets has_turn of a spool.
static inline void turn_take(struct writer *writer) {
	verify(!writer->writing);
	writer->writing = true;
}

// ---- writer.c: for the thread of a job, with no lock held

// WRITER_LINE_BUFFER: if spool_is_next(), writes the ready lines, or queues them while another thread has the turn.
void writer_lines(struct spool *spool);

// For a spool with spool_is_line_ordered(): from writer_enter() to writer_leave(), output_queue_promote() does not touch the spool.
void writer_enter(struct spool *spool);
void writer_leave(struct spool *spool);

// ---- order.c

// Makes the zeroed `queue` an empty queue. Returns `queue`.
struct output_queue *output_queue_init(struct output_queue *queue);

// Takes the queue out of its lists, and frees its rings, but not the queue itself.
void output_queue_fini(struct output_queue *queue);

// Adds the reference as the last one of queue->writable. The caller then calls output_queue_refresh().
void output_queue_push(struct output_queue *queue, struct ref ref);

// Sets the reference of the job with number `order`, which is not below queue->window.first. The caller then calls
// output_queue_refresh(), unless the reference is REF_OPEN.
void output_queue_put(struct output_queue *queue, uint64_t order, struct ref ref);

// Adds the queue to writer->ready or removes it, after any change of the queue. Frees a closed queue when all its output is written.
void output_queue_refresh(struct writer *writer, struct output_queue *queue);

// Removes and returns the next reference of the queue that has waited longest: queues take turns. At least one queue must be ready.
struct ref output_queues_pop(struct writer *writer);

// ---- turn.c

// Writes all output that may be written, then gives up the turn. Without `wait`, hands the turn to the flusher when the quota is used up or a
// write would block, and waits for a reader only if no flusher can start. Called with the lock held and the turn taken; returns with the lock held.
void turn_work(struct writer *writer, bool wait);

// If output may be written and no thread has the turn, takes the turn and writes. Called with the lock held; releases it meanwhile.
void turn_pump(struct writer *writer);

// If the job's output may be written now and no thread has the turn, writer_take_turn() takes the turn until the job ends, and
// returns true. writer_drop_turn() gives the turn up before the job ends. No lock held.
bool writer_take_turn(struct spool *spool);
void writer_drop_turn(struct spool *spool);

// Ends the flusher, if it runs. To be called when no output is left to write. No lock held.
void flusher_end(struct writer *writer);

// Writes the ready bytes of both streams, and then adds the job's receipt to writer->receipts. With `wait` it waits for the reader;
// else it returns false if a write would block, and the unwritten bytes stay ready. The caller has the turn and holds no lock.
bool turn_write(struct writer *writer, struct spool *spool, bool wait);

// Writes all bytes that the stream holds, and waits for the reader. The caller has the turn and holds no lock.
void writer_pass(struct spool *spool, int stream);

// Reports that output of this run is lost, once for each stream; `arg` is the writer. No lock held.
void writer_fail(void *arg, int stream, int error);

// ---- backpressure.c

// Returns how often held memory or file space was released: `seen` for writer_wait(). To be called before memory or space is requested. No lock held.
uint64_t writer_released(struct writer *writer);

// Waits for room for the job's output. Returns ROOM_AGAIN when writer_released() no longer returns `seen`: try again; ROOM_THROUGH
// when the output may be written now and no thread is writing (with `take_turn` the job then has the turn); ROOM_NEVER when neither
// a write nor a running job can release memory or file space. No lock held, also for the next two functions.
enum room { ROOM_AGAIN, ROOM_THROUGH, ROOM_NEVER };
enum room writer_wait(struct spool *spool, uint64_t seen, bool take_turn);

// Waits while a block is held beyond config.spool_mem, unless the job's output may be written now or waiting cannot help.
void writer_await_bound(struct spool *spool);

// Calls config.stalls, if it is set and `stalls` changes: the job's thread is about to wait for a reader (`stalls`), or goes on.
void spool_stall(struct spool *spool, bool stalls);

// Notes that held memory or file space was released, and wakes the threads that wait for room. The lock is held.
void note_release_locked(struct writer *writer);

// Counts the job as between two attempts, or as running again.
void writer_set_idle(struct spool *spool, bool idle);

// ---- spool.c

// Frees the spool, its block and its ropes.
void spool_free(struct spool *spool);

// Returns the spool's block, which it allocates if there is none.
char *spool_need_block(struct spool *spool);

// Makes the bytes of the stream ready up to offset `end` of its area: the last line before `end` is complete, or will not grow.
void spool_end_line(struct spool *spool, int stream, size_t end);

// Moves the bytes that each area still holds (those from `start` on) to the front of the area.
void spool_compact(struct spool *spool);

// WRITER_LATEST, at the end of the job: keeps only the job's last line as its output, to be written as with WRITER_GROUP.
void spool_keep_latest(struct spool *spool);

// True if the ready output, with its tag and its receipt, can be held as one piece: it is not too long, not in a rope, and does
// not begin inside a line whose tag is written already.
bool spool_fits_piece(const struct spool *spool);

// Copies the ready output into a piece. Returns false with errno if there is no room for the piece.
bool spool_to_piece(const struct spool *spool, struct piece *ret_piece);

// Fills the empty spool with the output in a piece, whose bytes are `mem`.
void spool_from_piece(struct spool *spool, const char *mem);

// Moves the bytes of the area of stream `i` before offset `until` to the rope; with `force` even beyond the store's bound. Returns false
// with errno if there is no room for all of them.
bool stream_to_rope(struct spool *spool, int i, size_t until, bool force);

// For a spool that is no longer filled: moves the ready bytes of both areas to the ropes, and frees the block if all of them were
// moved. Returns false with errno if there is no room for all of them.
bool spool_to_ropes(struct spool *spool);

// The next three functions are called with the writer's lock held.

// Returns a spool without output: one of writer->unused, or a new one.
struct spool *spool_new_locked(struct writer *writer);

// Empties the spool, and keeps it with its memory for another job, or frees it if enough spools are kept.
void spool_recycle_locked(struct spool *spool);

// Moves the ready output into a new spool, and returns the new spool; the job goes on filling `spool`.
struct spool *spool_split_locked(struct spool *spool);
