// The writer for jobs: opens and finishes spools, writes their output at once or holds it for later; creates and destroys the writer.
//
// internal.h says what is under the lock, and which thread has the turn to write.

#include "output/internal.h"

#include "base/alloc.h"

// ---- the output of jobs

// Holds the ready output of the spool for later, as a piece or as a spool, and returns a reference to the piece or spool. If the job has `ended`,
// all of its output is ready, and a spool in the reference is `spool` itself. If the job has not ended, waits for room as to_rope_or_wait() does,
// but loses nothing. Called and returns with the lock held; releases the lock meanwhile.
static struct ref spool_park_locked(struct spool *spool, bool ended) {
	struct writer *writer = spool->writer;
	struct spool *part = ended ? spool : spool_split_locked(spool);
	struct ref ref = {.kind = REF_PIECE};
	bool fits = spool_fits_piece(part), is_held = false;
	mutex_unlock(&writer->lock);
	for (bool again = true; again;) {
		uint64_t seen = writer_released(writer);
		is_held = fits ? spool_to_piece(part, &ref.piece) : spool_to_ropes(part);
		again = !is_held && !ended && writer_wait(spool, seen, false) == ROOM_AGAIN;
	}
	mutex_lock(&writer->lock);
	if (fits && is_held) {
		spool_recycle_locked(part);
		return ref;
	}
	part->beyond = part->block;
	writer->beyond += part->beyond;
	return (struct ref){REF_SPOOL, .spool = part};
}

// As writer_lines(), but is called and returns with the lock held; releases it meanwhile.
static void write_lines_locked(struct spool *spool) {
	struct writer *writer = spool->writer;
	while (!spool->has_turn && spool_is_ready(spool) && spool_is_next(spool)) {
		if (turn_is_free(writer)) {
			turn_take(writer);
			mutex_unlock(&writer->lock);
			bool done = turn_write(writer, spool, false);
			mutex_lock(&writer->lock);
			writer->current = done ? NULL : spool_split_locked(spool);
			spool_compact(spool);
			turn_work(writer, false);
		} else {
			struct output_queue *queue = spool->queue;
			output_queue_push(queue, spool_park_locked(spool, false));
			output_queue_refresh(writer, queue);
			turn_pump(writer);
		}
	}
}

void writer_lines(struct spool *spool) {
	FP_HOLD(&spool->writer->lock);
	write_lines_locked(spool);
}

void writer_enter(struct spool *spool) {
	FP_HOLD(&spool->writer->lock);
	spool->busy = true;
}

void writer_leave(struct spool *spool) {
	FP_HOLD(&spool->writer->lock);
	write_lines_locked(spool);
	spool->busy = false;
}

struct spool *spool_open(struct writer *writer, struct output_queue *queue, uint64_t order, enum writer_mode mode,
                         const char *tag, size_t tag_len) {
	FP_HOLD(&writer->lock);
	struct spool *spool = spool_new_locked(writer);
	spool->queue = queue ? queue : &writer->arrival;
	spool->order = order;
	spool->mode = mode;
	++writer->open;
	if (spool_is_line_ordered(spool)) {
		output_queue_put(queue, order, (struct ref){REF_OPEN, .spool = spool});
	}
	buf_add(&spool->tag, tag, tag ? tag_len : 0);
	return spool;
}

void spool_finish(struct spool *spool) {
	struct writer *writer = spool->writer;
	struct output_queue *queue = spool->queue;
	uint64_t order = spool->order;
	bool is_ordered = spool_is_ordered(spool);
	if (spool->mode == WRITER_LATEST) {
		spool_keep_latest(spool);
	}
	if (spool_is_line_ordered(spool)) {
		writer_enter(spool); // and never writer_leave(): from now on output_queue_promote() does not touch the spool
	}
	for (int i = 0; i < STREAMS; ++i) {
		spool_end_line(spool, i, spool->stream[i].len);
	}
	FP_HOLD(&writer->lock);
	writer->idle -= spool->idle;
	spool->idle = false;
	bool has_rest = spool_is_ready(spool) || spool->receipt.len > 0; // some output of the job, or its receipt, still waits to be written
	bool is_first = spool->has_turn || (has_rest && spool_is_next(spool) && turn_is_free(writer));
	struct ref ref = has_rest && !is_first ? spool_park_locked(spool, true) : (struct ref){.kind = REF_DONE};
	--writer->open;
	if (is_first) {
		writer->writing = true; // takes the turn, unless the job has it already
		writer->current = spool;
	} else if (!has_rest) {
		spool_recycle_locked(spool);
	}
	if (is_ordered) {
		output_queue_put(queue, order, ref);
	} else if (ref.kind != REF_DONE) {
		output_queue_push(queue, ref);
	}
	output_queue_refresh(writer, queue);
	if (is_first) {
		turn_work(writer, false);
	} else {
		turn_pump(writer);
	}
}

void writer_skip(struct writer *writer, struct output_queue *queue, uint64_t order) {
	if (!writer->config.keep_order) {
		return;
	}
	FP_HOLD(&writer->lock);
	output_queue_put(queue, order, (struct ref){.kind = REF_DONE});
	output_queue_refresh(writer, queue);
	turn_pump(writer);
}

// ---- the writer itself

struct writer *writer_create(const struct writer_config *config) {
	struct writer *writer = NEW(struct writer);
	writer->config = *config;
	writer->store = store_create(config->spool_mem, config->spool_dir);
	writer->scratch = xmalloc(PIECE_MAX);
	streams_init(&writer->streams, config->out_fd, config->err_fd, writer_fail, writer);
	mutex_init(&writer->lock, LOCK_WRITER);
	cond_init(&writer->changed);
	cond_init(&writer->handed_over);
	list_init(&writer->waiters);
	list_init(&writer->queues);
	list_init(&writer->ready);
	output_queue_init(&writer->arrival);
	return writer;
}

struct output_queue *output_queue_open(struct writer *writer) {
	if (!writer->config.keep_order) {
		return &writer->arrival;
	}
	struct output_queue *queue = output_queue_init(NEW(struct output_queue));
	FP_HOLD(&writer->lock);
	list_push_back(&writer->queues, &queue->all);
	return queue;
}

void output_queue_follow(struct writer *writer, struct output_queue *queue, struct output_queue *before) {
	if (queue != &writer->arrival) {
		FP_HOLD(&writer->lock);
		before->next = queue;
		queue->waits = true;
	}
}

void output_queue_close(struct writer *writer, struct output_queue *queue) {
	if (queue == &writer->arrival) {
		return;
	}
	FP_HOLD(&writer->lock);
	queue->closed = true;
	output_queue_refresh(writer, queue);
	turn_pump(writer);
}

int writer_destroy(struct writer *writer, uint64_t *ret_unread) {
	mutex_lock(&writer->lock);
	verify(writer->open == 0);
	for (const struct list *at = writer->queues.prev; at != &writer->queues;) { // backwards: a queue that is freed may free the queues that follow it
		struct output_queue *queue = list_entry(at, struct output_queue, all);
		at = at->prev;
		queue->closed = true; // no output waits any more for jobs whose numbers never came
		output_queue_refresh(writer, queue);
	}
	turn_pump(writer);
	while (writer->writing) {
		cond_wait(&writer->changed, &writer->lock);
	}
	verify(list_is_empty(&writer->queues) && list_is_empty(&writer->ready));
	bool lost = writer->lost[0] || writer->lost[1] || writer->lost[2];
	mutex_unlock(&writer->lock);
	flusher_end(writer);
	*ret_unread = writer->streams.unread;
	while (writer->unused) {
		struct spool *spool = writer->unused;
		writer->unused = spool->next;
		spool_free(spool);
	}
	output_queue_fini(&writer->arrival);
	streams_fini(&writer->streams);
	store_destroy(writer->store);
	buf_fini(&writer->receipts);
	free(writer->scratch);
	cond_fini(&writer->changed);
	cond_fini(&writer->handed_over);
	mutex_fini(&writer->lock);
	free(writer);
	return lost ? -1 : 0;
}
