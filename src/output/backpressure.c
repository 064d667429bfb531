// Makes jobs wait for room when memory and disk are full: output must be written before more output can be held.
//
// A job waits for writer->changed until memory or file space is released, or its own output may be written next, or no other job
// is left that could release memory or space. Each event that may change one of these three conditions broadcasts `changed`.

#include "output/internal.h"

void note_release_locked(struct writer *writer) {
	++writer->released;
	cond_broadcast(&writer->changed);
}

uint64_t writer_released(struct writer *writer) {
	FP_HOLD(&writer->lock);
	return writer->released;
}

// True if room can be made for a job whose output may not be written now: other output is being written, or may be written; or a job runs
// that does not wait for room, so that job may end; or the output of a waiting job is the next of its queue, so that job will write it.
static bool can_release(const struct spool *spool) {
	struct writer *writer = spool->writer;
	bool can = !turn_is_free(writer);
	list_for_each_entry(&writer->waiters, struct spool, waiter, waiting) {
		can = can || spool_is_next(waiter);
	}
	return can || list_length(&writer->waiters) < writer->open - writer->idle;
}

void spool_stall(struct spool *spool, bool stalls) {
	const struct writer_config *config = &spool->writer->config;
	if (spool_can_stall(spool) && spool->stalls != stalls) {
		spool->stalls = stalls;
		config->stalls(config->arg, spool->job, stalls);
	}
}

enum room writer_wait(struct spool *spool, uint64_t seen, bool take_turn) {
	struct writer *writer = spool->writer;
	enum room room = ROOM_AGAIN;
	mutex_lock(&writer->lock);
	list_push_back(&writer->waiters, &spool->waiting);
	cond_broadcast(&writer->changed); // other waiting jobs may have counted on this job to make room: they check again
	while (writer->released == seen && room == ROOM_AGAIN) {
		if (turn_is_free(writer) && spool_is_next(spool)) {
			room = ROOM_THROUGH;
		} else if (!can_release(spool)) {
			room = ROOM_NEVER;
		} else if (spool_can_stall(spool) && !spool->stalls) {
			mutex_unlock(&writer->lock);
			spool_stall(spool, true);
			mutex_lock(&writer->lock);
		} else {
			cond_wait(&writer->changed, &writer->lock);
		}
	}
	if (room == ROOM_THROUGH && take_turn) {
		turn_take(writer);
		spool->has_turn = true;
	}
	list_remove(&spool->waiting);
	mutex_unlock(&writer->lock);
	return room;
}

void writer_await_bound(struct spool *spool) {
	struct writer *writer = spool->writer;
	bool waits = spool->job;
	while (waits) {
		mutex_lock(&writer->lock);
		waits = writer->beyond > 0;
		uint64_t seen = writer->released;
		mutex_unlock(&writer->lock);
		waits = waits && writer_wait(spool, seen, /* take_turn */ false) == ROOM_AGAIN;
	}
}

void writer_set_idle(struct spool *spool, bool idle) {
	struct writer *writer = spool->writer;
	FP_HOLD(&writer->lock);
	spool->idle = idle;
	writer->idle += idle ? 1 : (size_t)-1;
	note_release_locked(writer); // waiting jobs check again whether any job can make room
}
