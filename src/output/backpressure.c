// Jobs that wait for room: memory and disk are full, and something must be written before more can be held.
//
// They wait for writer->changed until something is released, or they are the next to be written, or nobody is left who
// could release anything. Whatever changes one of these broadcasts `changed`.

#include "output/internal.h"

void note_release_locked(struct writer *writer) {
	++writer->released;
	if (!list_is_empty(&writer->waiters)) {
		cond_broadcast(&writer->changed);
	}
}

uint64_t writer_released(struct writer *writer) {
	mutex_lock(&writer->lock);
	uint64_t released = writer->released;
	mutex_unlock(&writer->lock);
	return released;
}

// True if something can make room for a job that may not be written now: somebody is writing; or a job runs that does
// not wait itself, so it may end; or a waiting job is the next, so its output will go through.
static bool can_release(const struct spool *spool) {
	struct writer *writer = spool->writer;
	size_t waiting = 0;
	bool can = !turn_is_free(writer);
	list_for_each_entry(&writer->waiters, struct spool, waiter, waiting) {
		can = can || spool_is_next(waiter);
		++waiting;
	}
	return can || waiting < writer->open - writer->idle;
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
	cond_broadcast(&writer->changed); // the others may have hoped that this job makes room
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
	mutex_lock(&writer->lock);
	spool->idle = idle;
	writer->idle += idle ? 1 : (size_t)-1;
	note_release_locked(writer); // what the spool held is gone, and jobs that waited for it must look again
	mutex_unlock(&writer->lock);
}
