// Jobs that wait for room: memory and disk are full, and something must be written before more can be held.
//
// They wait for `changed`, with the lock, until something is released, or it is their turn, or nobody is left who could
// release anything. Whatever changes one of these broadcasts it.

#include "output/inside.h"

// On the stack of the thread that waits.
struct waiter {
	struct list link;
	const struct spool *spool;
};

void note_release_locked(struct emit *emit) {
	++emit->released;
	if (emit->waiting > 0) {
		cond_broadcast(&emit->changed);
	}
}

void note_release(struct emit *emit) {
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
		turn_take(emit);
		spool->has_turn = true;
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
