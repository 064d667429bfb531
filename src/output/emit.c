// Orders and writes spools: the lanes, the turn to write, and the thread that waits for a slow reader.
//
// Whoever has the turn (`writing`) writes, without the lock, until nothing more may be written; nobody else touches the
// sinks, `current` and `unpacked`. The turn is taken under the lock, given up under the lock when nothing is left, or
// handed over to the flusher as it is, with `current` half written.
//
// A lane holds what waits to be written as references, one number for each job:
//	queue   what may be written, in this order (the lane `arrival` of a run without keep_order uses only this)
//	window  with keep_order: job `window.first` is the one whose turn it is
// Lanes that have something to be written are in `ready` and are served in turn.

#include "output/spool.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/list.h"
#include "base/sync.h"

#include <errno.h>

enum {
	STINT = 256 * 1024,         // bytes that a worker writes for others, then it is the flusher's
	FLUSHER_STACK = 64 * 1024,
	RING_KEEP = 4096,           // slots of an empty ring that are kept
	RECEIPTS_MAX = 16 * 1024,   // bytes of them that wait for what was gathered to be written
	SPARE_SPOOLS = 8,           // kept beyond one for each open spool
};

// What stands for a job in a lane: 0 not finished, REF_DONE nothing to write, a pack reference, a pointer to its spool,
// or REF_OPEN with a pointer to the spool that is still being filled (EMIT_LINE_BUFFER).
enum { REF_NONE = 0, REF_DONE = 1, REF_OPEN = 3 };

// References by number, from first to end; those never set are REF_NONE.
struct ring {
	uint64_t *slot;   // by number modulo cap
	uint64_t cap;     // a power of two, or 0
	uint64_t first, end;
};

struct emit_lane {
	struct list all;     // in emit.lanes
	struct list ready;   // in emit.ready, while something of it may be written
	struct ring queue;
	struct ring window;
	bool is_ready;
	bool closed;         // to be freed when all is written
};

// A thread that waits for room, on its stack.
struct waiter {
	struct list link;
	const struct spool *spool;
};

struct emit {
	struct emit_config config;
	struct store *store;
	struct sinks *sinks;

	mutex lock;
	cond changed;            // something was released, or the turn was given up
	cond handed_over;
	struct list lanes;
	struct list ready;
	struct emit_lane arrival; // order of arrival, for all lanes of a run without keep_order
	struct spool *spare;     // free list, with their blocks
	size_t nspare;
	bool writing;            // somebody has the turn
	uint64_t released;
	size_t open, idle;       // spools not finished; those of them between two attempts
	atomic_int wide_pipes;
	size_t waiting;          // threads in emit_wait()
	struct list waiters;     // they
	bool lost;               // something of the output, and that was reported

	thread flusher;
	enum { FLUSHER_NONE, FLUSHER_RUNS, FLUSHER_IMPOSSIBLE } flusher_state;
	bool handed;             // the turn is the flusher's
	bool stop;

	// of whoever has the turn
	struct spool *current;
	struct spool unpacked;   // stands for a record of a pack
	uint64_t unpacked_ref;   // to be taken, or 0
	char *unpack_buf;        // PACK_MAX bytes
	char *scratch;           // BLOCK_SIZE bytes, for bytes read back
	struct record record;    // what `unpacked` stands for
	struct buf receipts;     // of what is gathered in the sinks, or written
};

// ---- rings

static uint64_t *ring_slot(const struct ring *ring, uint64_t n) {
	return &ring->slot[n & (ring->cap - 1)];
}

static uint64_t ring_get(const struct ring *ring, uint64_t n) {
	return n < ring->end ? *ring_slot(ring, n) : REF_NONE;
}

static bool ring_is_empty(const struct ring *ring) {
	return ring->first == ring->end;
}

static void ring_grow(struct ring *ring, uint64_t need) {
	struct ring grown = *ring;
	grown.cap = ring->cap ? ring->cap : 16;
	while (grown.cap < need) {
		grown.cap *= 2;
	}
	grown.slot = xcalloc((size_t)grown.cap, sizeof(grown.slot[0]));
	for (uint64_t n = ring->first; n < ring->end; ++n) {
		*ring_slot(&grown, n) = *ring_slot(ring, n);
	}
	free(ring->slot);
	*ring = grown;
}

static void ring_set(struct ring *ring, uint64_t n, uint64_t ref) {
	verify(n >= ring->first);
	if (n - ring->first >= ring->cap) {
		ring_grow(ring, n - ring->first + 1);
	}
	for (; ring->end <= n; ++ring->end) {
		*ring_slot(ring, ring->end) = REF_NONE;
	}
	*ring_slot(ring, n) = ref;
}

static void ring_push(struct ring *ring, uint64_t ref) {
	ring_set(ring, ring->end, ref);
}

// Forgets the first. An empty ring that was large gives its memory back.
static void ring_pop(struct ring *ring) {
	++ring->first;
	if (ring->end < ring->first) {
		ring->end = ring->first;
	}
	if (ring_is_empty(ring) && ring->cap > RING_KEEP) {
		free(ring->slot);
		ring->slot = NULL;
		ring->cap = 0;
	}
}

static uint64_t spool_ref(const struct spool *spool) {
	return (uint64_t)(uintptr_t)spool;
}

static struct spool *ref_spool(uint64_t ref) {
	return (struct spool *)(uintptr_t)(ref & ~(uint64_t)PACK_REF_MASK);
}

// ---- small questions

struct store *emit_store(struct emit *emit) {
	return emit->store;
}

atomic_int *emit_wide_pipes(struct emit *emit) {
	return &emit->wide_pipes;
}

static bool turn_is_free(const struct emit *emit) {
	return !emit->writing && list_is_empty(&emit->ready);
}

// False without keep_order, and for a job that has no place in the order.
static bool spool_is_ordered(const struct spool *spool) {
	return spool->lane != &spool->emit->arrival;
}

bool spool_is_line_ordered(const struct spool *spool) {
	return spool_is_line_buffered(spool) && spool_is_ordered(spool);
}

// True if what this job writes may be written now, were the turn free.
static bool spool_is_next(const struct spool *spool) {
	return !spool_is_ordered(spool) || spool->order == spool->lane->window.first;
}

// ---- spools, old and new

static struct spool *spool_new_locked(struct emit *emit) {
	struct spool *spool = emit->spare;
	if (spool) {
		emit->spare = spool->next;
		--emit->nspare;
	} else {
		spool = NEW(struct spool);
		spool->emit = emit;
		mutex_init(&spool->look);
	}
	return spool;
}

// Keeps the spool for the next job, with its block and the memory of its tag.
static void spool_recycle_locked(struct spool *spool) {
	struct emit *emit = spool->emit;
	for (int i = 0; i < STREAMS; ++i) {
		rope_clear(emit->store, &spool->stream[i].rope); // has no bytes, but may have a piece that a full disk left
		rope_clear(emit->store, &spool->stream[i].line);
		spool->stream[i] = (struct stream){.len = 0};
	}
	spool->tag_len = spool->noted_len = spool->receipt_len = 0;
	spool->has_turn = spool->idle = spool->lost = spool->busy = false;
	atomic_store_relaxed(&spool->live, false);
	if (emit->nspare >= emit->open + SPARE_SPOOLS) {
		spool_clear(spool);
		spool_free(spool);
		return;
	}
	spool->next = emit->spare;
	emit->spare = spool;
	++emit->nspare;
}

// A new spool with what is ready of this one, which goes on being filled.
static struct spool *spool_split_locked(struct spool *spool) {
	struct spool *part = spool_new_locked(spool->emit);
	part->lane = spool->lane;
	spool_move_ready(part, spool);
	return part;
}

// ---- lanes

static struct emit_lane *lane_init(struct emit_lane *lane) {
	list_init(&lane->all);
	list_init(&lane->ready);
	lane->window.first = lane->window.end = 1; // orders count from 1
	return lane;
}

static void lane_fini(struct emit_lane *lane) {
	list_remove(&lane->all);
	list_remove(&lane->ready);
	free(lane->queue.slot);
	free(lane->window.slot);
}

// It has become this job's turn in its lane while it is still running: the lines it has so far may be written.
static void lane_promote(struct emit *emit, struct emit_lane *lane, struct spool *spool) {
	if (spool->busy) {
		// its own thread looks again when it leaves, or when it wakes from waiting for room
		++emit->released;
		cond_broadcast(&emit->changed);
	} else if (spool_is_ready(spool)) {
		ring_push(&lane->queue, spool_ref(spool_split_locked(spool)));
	}
}

// Brings the lane's place among the ready ones up to date after any change; at the end of a closed lane frees it.
static void lane_refresh(struct emit *emit, struct emit_lane *lane) {
	struct ring *window = &lane->window;
	for (uint64_t ref = REF_DONE; ring_is_empty(&lane->queue) && !ring_is_empty(window);) {
		ref = ring_get(window, window->first);
		if (ref == REF_DONE || (ref == REF_NONE && lane->closed)) {
			ring_pop(window);
			continue;
		}
		if ((ref & PACK_REF_MASK) == REF_OPEN) {
			lane_promote(emit, lane, ref_spool(ref));
		}
		break;
	}
	if (emit->waiting > 0) {
		cond_broadcast(&emit->changed); // it may have become the turn of one of them
	}
	uint64_t first = ring_get(window, window->first);
	bool is_ready = !ring_is_empty(&lane->queue) || (first != REF_NONE && (first & PACK_REF_MASK) != REF_OPEN);
	if (is_ready && !lane->is_ready) {
		list_push_back(&emit->ready, &lane->ready);
	} else if (!is_ready && lane->is_ready) {
		list_remove(&lane->ready);
	}
	lane->is_ready = is_ready;
	if (lane->closed && !is_ready && ring_is_empty(window)) {
		lane_fini(lane);
		free(lane);
	}
}

// The next reference of the lane, which is ready.
static uint64_t lane_pop(struct emit_lane *lane) {
	struct ring *from = ring_is_empty(&lane->queue) ? &lane->window : &lane->queue;
	uint64_t ref = ring_get(from, from->first);
	ring_pop(from);
	return ref;
}

// ---- waiting for room

static void note_release_locked(struct emit *emit) {
	++emit->released;
	if (emit->waiting > 0) {
		cond_broadcast(&emit->changed);
	}
}

static void note_release(struct emit *emit) {
	mutex_lock(&emit->lock);
	note_release_locked(emit);
	mutex_unlock(&emit->lock);
}

uint64_t emit_released(struct emit *emit) {
	mutex_lock(&emit->lock);
	uint64_t released = emit->released;
	mutex_unlock(&emit->lock);
	return released;
}

// Whether something can make room for a job that may not be written now: somebody is writing; or a job runs that does
// not wait itself, so it may end; or one waits whose turn it is, so it will go through.
static bool can_release(const struct spool *spool) {
	struct emit *emit = spool->emit;
	if (!turn_is_free(emit) || emit->waiting < emit->open - emit->idle) {
		return true;
	}
	bool someone_next = false;
	list_for_each(&emit->waiters, at) {
		someone_next = someone_next || spool_is_next(list_entry(at, struct waiter, link)->spool);
	}
	return someone_next;
}

enum room emit_wait(struct spool *spool, uint64_t seen, bool take_turn) {
	struct emit *emit = spool->emit;
	struct waiter waiter = {.spool = spool};
	enum room room = ROOM_AGAIN;
	mutex_lock(&emit->lock);
	list_push_back(&emit->waiters, &waiter.link);
	++emit->waiting;
	cond_broadcast(&emit->changed); // this may have been the last one that the others could hope for
	while (emit->released == seen && room == ROOM_AGAIN) {
		if (turn_is_free(emit) && spool_is_next(spool)) {
			room = ROOM_THROUGH;
		} else if (!can_release(spool)) {
			room = ROOM_NEVER;
		} else {
			cond_wait(&emit->changed, &emit->lock);
		}
	}
	if (room == ROOM_THROUGH && take_turn) {
		spool->has_turn = emit->writing = true;
	}
	--emit->waiting;
	list_remove(&waiter.link);
	mutex_unlock(&emit->lock);
	return room;
}

void emit_set_idle(struct spool *spool, bool idle) {
	struct emit *emit = spool->emit;
	mutex_lock(&emit->lock);
	spool->idle = idle;
	emit->idle += idle ? 1 : (size_t)-1;
	note_release_locked(emit); // what it held is gone, and who waited for it must think again
	mutex_unlock(&emit->lock);
}

void emit_fail(struct emit *emit, int stream, int error) {
	mutex_lock(&emit->lock);
	bool first = !emit->lost;
	emit->lost = true;
	mutex_unlock(&emit->lock);
	if (first && emit->config.failed) {
		emit->config.failed(emit->config.arg, stream, error);
	}
}

static void sink_failed(void *arg, int stream, int error) {
	emit_fail(arg, stream, error);
}

// ---- the turn: writing

// Writes from one place in memory. Returns the bytes taken, 0 if it would block.
static size_t turn_put(struct emit *emit, struct spool *spool, int i, const char *mem, size_t len, bool wait) {
	if (spool->tag_len == 0) {
		return sinks_put(emit->sinks, i, mem, len, wait);
	}
	return sinks_put_tagged(emit->sinks, i, spool->tag, spool->tag_len, &spool->stream[i].tag, mem, len, wait);
}

// Returns false if it would block.
static bool turn_write_rope(struct emit *emit, struct spool *spool, int i, bool wait) {
	struct rope *rope = &spool->stream[i].rope;
	while (rope->len > 0) {
		const char *mem;
		if (!emit->scratch) {
			emit->scratch = xmalloc(BLOCK_SIZE);
		}
		ssize_t n = rope_peek(emit->store, rope, emit->scratch, &mem);
		if (n < 0) {
			emit_fail(emit, 2, errno);
			rope_skip_piece(emit->store, rope);
			continue;
		}
		size_t taken = turn_put(emit, spool, i, mem, (size_t)n, wait);
		if (taken == 0) {
			return false;
		}
		if (rope_drop(emit->store, rope, taken)) {
			note_release(emit);
		}
	}
	return true;
}

// Writes what is ready of the stream. Returns false if it would block, with the rest ready.
static bool turn_write_stream(struct emit *emit, struct spool *spool, int i, bool wait) {
	struct stream *stream = &spool->stream[i];
	if (!turn_write_rope(emit, spool, i, wait)) {
		return false;
	}
	while (stream->start < stream->ready) {
		const char *area = spool == &emit->unpacked ? emit->record.data[i] : spool_area(spool, i);
		size_t n = turn_put(emit, spool, i, area + stream->start, stream->ready - stream->start, wait);
		if (n == 0) {
			return false;
		}
		stream->start += n;
	}
	return true;
}

// Makes `unpacked` stand for the record that is next.
static void turn_unpack(struct emit *emit) {
	if (!emit->unpack_buf) {
		emit->unpack_buf = xmalloc(PACK_MAX);
	}
	struct spool *spool = &emit->unpacked;
	if (pack_take(emit->store, emit->unpacked_ref, emit->unpack_buf, &emit->record) != 0) {
		emit->record = (struct record){.tag_len = 0};
		emit_fail(emit, 2, errno);
	}
	emit->unpacked_ref = 0;
	spool->tag = emit->unpack_buf; // where a record begins with it
	spool->tag_len = emit->record.tag_len;
	spool->receipt_len = emit->record.receipt_len;
	for (int i = 0; i < STREAMS; ++i) {
		spool->stream[i] = (struct stream){.ready = emit->record.len[i], .len = emit->record.len[i]};
	}
}

static bool turn_write(struct emit *emit, struct spool *spool, bool wait) {
	if (spool == &emit->unpacked && emit->unpacked_ref) {
		turn_unpack(emit);
	}
	if (!turn_write_stream(emit, spool, 0, wait) || !turn_write_stream(emit, spool, 1, wait)) {
		return false;
	}
	if (spool->receipt_len > 0) {
		buf_add(&emit->receipts, spool == &emit->unpacked ? emit->record.receipt : spool->receipt, spool->receipt_len);
	}
	return true;
}

// Writes what was gathered, and says of which jobs that was all. Returns false if it would block.
static bool turn_flush(struct emit *emit, bool wait) {
	if (!sinks_flush(emit->sinks, wait)) {
		return false;
	}
	if (emit->receipts.len > 0) {
		emit->config.written(emit->config.arg, emit->receipts.data, emit->receipts.len);
		buf_reset(&emit->receipts);
	}
	return true;
}

// ---- the turn: who has it

// The spool to go on with, or NULL: nothing may be written now.
static struct spool *turn_next(struct emit *emit) {
	if (emit->current || list_is_empty(&emit->ready)) {
		return emit->current;
	}
	struct emit_lane *lane = list_entry(emit->ready.next, struct emit_lane, ready);
	uint64_t ref = lane_pop(lane);
	// behind the other lanes
	list_remove(&lane->ready);
	lane->is_ready = false;
	lane_refresh(emit, lane);
	if ((ref & PACK_REF_MASK) == PACK_REF) {
		emit->unpacked_ref = ref;
		emit->current = &emit->unpacked;
	} else {
		emit->current = ref_spool(ref);
	}
	return emit->current;
}

static void turn_work(struct emit *emit, bool wait);

static void *flusher_main(void *arg) {
	struct emit *emit = arg;
	mutex_lock(&emit->lock);
	for (;;) {
		while (!emit->handed && !emit->stop) {
			cond_wait(&emit->handed_over, &emit->lock);
		}
		if (!emit->handed) {
			break;
		}
		emit->handed = false;
		turn_work(emit, /* wait */ true);
	}
	mutex_unlock(&emit->lock);
	return NULL;
}

// Gives the turn to the flusher. False if there is none and none can be had.
static bool turn_hand_over(struct emit *emit) {
	if (emit->flusher_state == FLUSHER_NONE) {
		mutex_unlock(&emit->lock); // the turn keeps others from coming here
		int error = thread_start(&emit->flusher, flusher_main, emit, FLUSHER_STACK);
		mutex_lock(&emit->lock);
		emit->flusher_state = error ? FLUSHER_IMPOSSIBLE : FLUSHER_RUNS;
	}
	if (emit->flusher_state == FLUSHER_IMPOSSIBLE) {
		return false;
	}
	emit->handed = true;
	cond_signal(&emit->handed_over);
	return true;
}

// Writes what may be written and gives up the turn, or hands it over. With `wait` false it never waits for a reader.
// Called with the lock held and the turn taken; returns with the lock held.
static void turn_work(struct emit *emit, bool wait) {
	uint64_t stint = 0;
	for (;;) {
		struct spool *spool = emit->receipts.len < RECEIPTS_MAX ? turn_next(emit) : NULL;
		if (!spool && emit->receipts.len == 0 && !sinks_pending(emit->sinks)) {
			break;
		}
		if (spool && spool != &emit->unpacked) {
			stint += stream_ready(&spool->stream[0]) + stream_ready(&spool->stream[1]);
		} else if (spool) {
			stint += PACK_MAX / 16; // as good as any guess: what bounds the stint is the number of them
		}
		if (!wait && stint > STINT && turn_hand_over(emit)) {
			return;
		}
		mutex_unlock(&emit->lock);
		bool done = spool ? turn_write(emit, spool, wait) : turn_flush(emit, wait);
		mutex_lock(&emit->lock);
		if (!done) {
			if (turn_hand_over(emit)) {
				return;
			}
			wait = true;
		} else if (spool) {
			emit->current = NULL;
			if (spool != &emit->unpacked) {
				spool_recycle_locked(spool);
			}
			note_release_locked(emit);
		}
	}
	emit->writing = false;
	cond_broadcast(&emit->changed);
}

// Starts writing if nobody does.
static void turn_pump(struct emit *emit) {
	if (!emit->writing && !list_is_empty(&emit->ready)) {
		emit->writing = true;
		turn_work(emit, false);
	}
}

bool emit_take_turn(struct spool *spool) {
	struct emit *emit = spool->emit;
	mutex_lock(&emit->lock);
	spool->has_turn = turn_is_free(emit) && spool_is_next(spool);
	if (spool->has_turn) {
		emit->writing = true;
	}
	mutex_unlock(&emit->lock);
	return spool->has_turn;
}

void emit_drop_turn(struct spool *spool) {
	struct emit *emit = spool->emit;
	mutex_lock(&emit->lock);
	spool->has_turn = false;
	turn_work(emit, false);
	mutex_unlock(&emit->lock);
}

void emit_pass(struct spool *spool, int stream) {
	struct emit *emit = spool->emit;
	spool_end_line(spool, stream, spool->stream[stream].len);
	turn_write_stream(emit, spool, stream, /* wait */ true);
	sinks_flush(emit->sinks, /* wait */ true);
	spool_compact(spool);
}

ssize_t emit_splice(struct spool *spool, int stream, int fd) {
	return sinks_splice(spool->emit->sinks, stream, fd);
}

// ---- what jobs leave

// Holds what is ready of the spool for later: in a pack, or as a spool, which is `spool` itself if the job has ended.
// Returns its reference. Blocks as spool_make_room() does, but loses nothing. Called and returns with the lock held;
// releases it.
static uint64_t spool_park_locked(struct spool *spool, bool ended) {
	struct emit *emit = spool->emit;
	struct record record;
	struct spool *part = spool;
	bool packs = spool_record(spool, &record);
	if (!packs && !ended) {
		part = spool_split_locked(spool);
	}
	mutex_unlock(&emit->lock);
	uint64_t ref = 0, seen = 0;
	for (bool again = true; again && !ref;) {
		seen = emit_released(emit);
		if (packs) {
			ref = pack_add(emit->store, &record);
		} else if (spool_settle(part)) {
			ref = spool_ref(part);
		}
		again = !ref && emit_wait(spool, seen, false) == ROOM_AGAIN;
	}
	mutex_lock(&emit->lock);
	if (packs && ref) {
		for (int i = 0; i < STREAMS; ++i) {
			spool->stream[i].start = spool->stream[i].ready;
		}
		spool_compact(spool);
		return ref;
	}
	if (!ref && packs && !ended) {
		part = spool_split_locked(spool);
	}
	return spool_ref(part); // settled, or with its block beyond the bound
}

void emit_lines(struct spool *spool) {
	struct emit *emit = spool->emit;
	mutex_lock(&emit->lock);
	while (!spool->has_turn && spool_is_ready(spool) && spool_is_next(spool)) {
		if (turn_is_free(emit)) {
			emit->writing = true;
			mutex_unlock(&emit->lock);
			bool done = turn_write(emit, spool, false);
			mutex_lock(&emit->lock);
			emit->current = done ? NULL : spool_split_locked(spool);
			spool_compact(spool);
			turn_work(emit, false);
		} else {
			struct emit_lane *lane = spool->lane;
			ring_push(&lane->queue, spool_park_locked(spool, false));
			lane_refresh(emit, lane);
			turn_pump(emit);
		}
	}
	mutex_unlock(&emit->lock);
}

void emit_enter(struct spool *spool) {
	mutex_lock(&spool->emit->lock);
	spool->busy = true;
	mutex_unlock(&spool->emit->lock);
}

void emit_leave(struct spool *spool) {
	struct emit *emit = spool->emit;
	mutex_lock(&emit->lock);
	while (!spool->has_turn && spool_is_ready(spool) && spool_is_next(spool)) {
		mutex_unlock(&emit->lock);
		emit_lines(spool);
		mutex_lock(&emit->lock);
	}
	spool->busy = false;
	mutex_unlock(&emit->lock);
}

size_t emit_find_last(struct spool *spool, char *text, size_t size) {
	mutex_lock(&spool->emit->lock);
	size_t n = spool->busy ? 0 : spool_find_last(spool, text, size);
	mutex_unlock(&spool->emit->lock);
	return n;
}

struct spool *spool_open(struct emit *emit, struct emit_lane *lane, uint64_t order, enum emit_mode mode,
                         const char *tag, size_t tag_len) {
	mutex_lock(&emit->lock);
	struct spool *spool = spool_new_locked(emit);
	spool->lane = lane ? lane : &emit->arrival;
	spool->order = order;
	spool->mode = mode;
	++emit->open;
	if (spool_is_line_ordered(spool)) {
		ring_set(&lane->window, order, spool_ref(spool) | REF_OPEN);
	}
	mutex_unlock(&emit->lock);
	spool_set_tag(spool, tag, tag ? tag_len : 0);
	return spool;
}

// Takes the lane past the job, whose output is written by the caller or was empty.
static void lane_done(struct spool *spool) {
	if (spool_is_ordered(spool)) {
		ring_set(&spool->lane->window, spool->order, REF_DONE);
	}
	lane_refresh(spool->emit, spool->lane);
}

// Writes an ended spool as the first thing of a turn that was just taken.
static void turn_begin(struct spool *spool) {
	struct emit *emit = spool->emit;
	emit->writing = true;
	emit->current = spool;
	lane_done(spool);
	turn_work(emit, false);
}

// Holds what is ready of an ended spool until its turn comes.
static void finish_later(struct spool *spool) {
	struct emit *emit = spool->emit;
	struct emit_lane *lane = spool->lane;
	uint64_t ref = spool_park_locked(spool, true);
	--emit->open;
	if (spool_is_ordered(spool)) {
		ring_set(&lane->window, spool->order, ref);
	} else {
		ring_push(&lane->queue, ref);
	}
	if (ref != spool_ref(spool)) {
		spool_recycle_locked(spool);
	}
	lane_refresh(emit, lane);
	turn_pump(emit);
}

void spool_finish(struct spool *spool) {
	struct emit *emit = spool->emit;
	spool_narrow(spool);
	if (spool->mode == EMIT_LATEST) {
		spool_keep_latest(spool);
	}
	if (spool_is_line_ordered(spool)) {
		emit_enter(spool); // for good
	}
	for (int i = 0; i < STREAMS; ++i) {
		spool_end_line(spool, i, spool->stream[i].len);
	}
	mutex_lock(&emit->lock);
	emit->idle -= spool->idle;
	spool->idle = false;
	bool has_rest = spool_is_ready(spool) || spool->receipt_len > 0; // its lines may still wait to be written
	if (spool->has_turn || (has_rest && spool_is_next(spool) && turn_is_free(emit))) {
		--emit->open;
		turn_begin(spool);
	} else if (has_rest) {
		finish_later(spool);
	} else {
		--emit->open;
		lane_done(spool);
		spool_recycle_locked(spool);
		turn_pump(emit);
	}
	mutex_unlock(&emit->lock);
}

void emit_skip(struct emit *emit, struct emit_lane *lane, uint64_t order) {
	if (!emit->config.keep_order) {
		return;
	}
	mutex_lock(&emit->lock);
	ring_set(&lane->window, order, REF_DONE);
	lane_refresh(emit, lane);
	turn_pump(emit);
	mutex_unlock(&emit->lock);
}

// ---- the whole

struct emit *emit_create(const struct emit_config *config) {
	struct emit *emit = NEW(struct emit);
	emit->config = *config;
	emit->store = store_create(config->spool_mem, config->spool_dir);
	emit->sinks = sinks_create(config->out_fd, config->err_fd, sink_failed, emit);
	mutex_init(&emit->lock);
	cond_init(&emit->changed);
	cond_init(&emit->handed_over);
	list_init(&emit->waiters);
	list_init(&emit->lanes);
	list_init(&emit->ready);
	lane_init(&emit->arrival);
	return emit;
}

struct emit_lane *emit_lane_open(struct emit *emit) {
	if (!emit->config.keep_order) {
		return &emit->arrival;
	}
	struct emit_lane *lane = lane_init(NEW(struct emit_lane));
	mutex_lock(&emit->lock);
	list_push_back(&emit->lanes, &lane->all);
	mutex_unlock(&emit->lock);
	return lane;
}

void emit_lane_close(struct emit *emit, struct emit_lane *lane) {
	if (lane == &emit->arrival) {
		return;
	}
	mutex_lock(&emit->lock);
	lane->closed = true;
	lane_refresh(emit, lane);
	turn_pump(emit);
	mutex_unlock(&emit->lock);
}

int emit_destroy(struct emit *emit) {
	mutex_lock(&emit->lock);
	verify(emit->open == 0);
	list_for_each(&emit->lanes, at) {
		struct emit_lane *lane = list_entry(at, struct emit_lane, all);
		lane->closed = true; // numbers that never came hold nobody up any more
		lane_refresh(emit, lane);
	}
	turn_pump(emit);
	while (emit->writing) {
		cond_wait(&emit->changed, &emit->lock);
	}
	verify(list_is_empty(&emit->lanes) && list_is_empty(&emit->ready));
	emit->stop = true;
	cond_signal(&emit->handed_over);
	bool joins = emit->flusher_state == FLUSHER_RUNS;
	bool lost = emit->lost;
	mutex_unlock(&emit->lock);
	if (joins) {
		thread_join(emit->flusher);
	}
	while (emit->spare) {
		struct spool *spool = emit->spare;
		emit->spare = spool->next;
		spool_clear(spool);
		spool_free(spool);
	}
	lane_fini(&emit->arrival);
	sinks_destroy(emit->sinks);
	store_destroy(emit->store);
	free(emit->unpack_buf);
	buf_fini(&emit->receipts);
	free(emit->scratch);
	cond_fini(&emit->changed);
	cond_fini(&emit->handed_over);
	mutex_fini(&emit->lock);
	free(emit);
	return lost ? -1 : 0;
}
