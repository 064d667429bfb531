// The writer as jobs see it: opens their spools, writes what they leave or holds it for later, and ends the whole.
//
// inside.h says what is under the lock, and who has the turn to write.

#include "output/inside.h"

#include "base/alloc.h"

enum { SPARE_SPOOLS = 8 }; // kept beyond one for each open spool

// ---- small questions

struct store *emit_store(struct emit *emit) {
	return emit->store;
}

atomic_int *emit_wide_pipes(struct emit *emit) {
	return &emit->wide_pipes;
}

bool spool_is_line_ordered(const struct spool *spool) {
	return spool_is_line_buffered(spool) && spool_is_ordered(spool);
}

// ---- spools, old and new

struct spool *spool_new_locked(struct emit *emit) {
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

void spool_recycle_locked(struct spool *spool) {
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

struct spool *spool_split_locked(struct spool *spool) {
	struct spool *part = spool_new_locked(spool->emit);
	part->lane = spool->lane;
	spool_move_ready(part, spool);
	return part;
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
			turn_take(emit);
			mutex_unlock(&emit->lock);
			bool done = turn_write(emit, spool, false);
			mutex_lock(&emit->lock);
			emit->current = done ? NULL : spool_split_locked(spool);
			spool_compact(spool);
			turn_work(emit, false);
		} else {
			struct emit_lane *lane = spool->lane;
			emit_lane_push(lane, spool_park_locked(spool, false));
			emit_lane_refresh(emit, lane);
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
		emit_lane_place(lane, order, spool_ref(spool) | REF_OPEN);
	}
	mutex_unlock(&emit->lock);
	spool_set_tag(spool, tag, tag ? tag_len : 0);
	return spool;
}

// Takes the lane past the job, whose output is written by the caller or was empty.
static void lane_done(struct spool *spool) {
	if (spool_is_ordered(spool)) {
		emit_lane_place(spool->lane, spool->order, REF_DONE);
	}
	emit_lane_refresh(spool->emit, spool->lane);
}

// Writes an ended spool as the first thing of a turn.
static void finish_now(struct spool *spool) {
	struct emit *emit = spool->emit;
	if (!spool->has_turn) {
		turn_take(emit);
	}
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
		emit_lane_place(lane, spool->order, ref);
	} else {
		emit_lane_push(lane, ref);
	}
	if (ref != spool_ref(spool)) {
		spool_recycle_locked(spool);
	}
	emit_lane_refresh(emit, lane);
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
		finish_now(spool);
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
	emit_lane_place(lane, order, REF_DONE);
	emit_lane_refresh(emit, lane);
	turn_pump(emit);
	mutex_unlock(&emit->lock);
}

// ---- the whole

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
	emit_lane_init(&emit->arrival);
	return emit;
}

struct emit_lane *emit_lane_open(struct emit *emit) {
	if (!emit->config.keep_order) {
		return &emit->arrival;
	}
	struct emit_lane *lane = emit_lane_init(NEW(struct emit_lane));
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
	emit_lane_refresh(emit, lane);
	turn_pump(emit);
	mutex_unlock(&emit->lock);
}

int emit_destroy(struct emit *emit) {
	mutex_lock(&emit->lock);
	verify(emit->open == 0);
	list_for_each(&emit->lanes, at) {
		struct emit_lane *lane = list_entry(at, struct emit_lane, all);
		lane->closed = true; // numbers that never came hold nobody up any more
		emit_lane_refresh(emit, lane);
	}
	turn_pump(emit);
	while (emit->writing) {
		cond_wait(&emit->changed, &emit->lock);
	}
	verify(list_is_empty(&emit->lanes) && list_is_empty(&emit->ready));
	bool lost = emit->lost;
	mutex_unlock(&emit->lock);
	flusher_end(emit);
	while (emit->spare) {
		struct spool *spool = emit->spare;
		emit->spare = spool->next;
		spool_clear(spool);
		spool_free(spool);
	}
	emit_lane_fini(&emit->arrival);
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
