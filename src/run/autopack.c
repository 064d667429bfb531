// Packing by time (--pack=auto): which items go along with one that begins, and how long they have taken.
//
// Items are queued one by one, as without packing, and put together when a slot is free: so a batch that comes late has
// its turn at once, each item is a turn of its batch, and the size of packs follows what the items before have taken.
// The size is decided under the pool's lock, where nothing is computed but sums: an item's length was measured when it
// was read (packs_measure()), and what takes 200 ms is worked out at the end of each job.

#include "run/autopack.h"

#include "base/alloc.h"
#include "job/pack_size.h"
#include "template/packs.h"

enum { ROOM_BYTES = 128 * 1024 }; // for the arguments of a pack: what execve() takes as one string (Linux); and for orders

struct autopack {
	struct packsize size;              // the run's lock guards it
	atomic_uint_least32_t want, least; // of it, for those who must not wait for that lock
};

struct autopack *autopack_create(void) {
	return NEW(struct autopack);
}

void autopack_prepare(struct run *run, struct worker *worker) {
	struct along *along = &worker_state_of(run, worker)->along;
	buf_reserve(&along->args, ROOM_BYTES);
	buf_reserve(&along->orders, ROOM_BYTES);
}

// Items for the process that begins.
static uint64_t choose_most(const struct batch *batch, const struct pack_view *view) {
	const struct pack_limits *limits = batch->run->packs;
	// relaxed: both are guesses, and which of two jobs that end is the first does not matter
	uint32_t want = atomic_load_relaxed(&batch->autopack->want), least = atomic_load_relaxed(&batch->autopack->least);
	uint64_t most = packsize_share(want, least, view->waiting + 1, view->slots, view->closed);
	return limits->items > 0 && most > limits->items ? limits->items : most;
}

// Under the pool's lock nothing is allocated: a pack ends where the memory reserved for it does.
static bool has_room(const struct buf *buf, size_t size) {
	return size < buf->cap - buf->len; // a NUL stands behind the bytes
}

bool autopack_take(struct worker *worker, struct queue *queue, const struct pack_view *view, const void *data, size_t size) {
	const struct batch *batch = queue_user(queue);
	struct along *along = &worker_state_of(batch->run, worker)->along; // autopack_prepare() has made it
	struct item_view one;
	if (view->taken == 0) {
		along->n = 1;
		along->most = choose_most(batch, view);
		along->record = (struct record){.size = 0};
		along->size = 0;
		buf_reset(&along->args);
		buf_reset(&along->orders);
	}
	if (view->taken >= along->most || along->most == 1) {
		return false;
	}
	item_read(&one, data, size);
	uint32_t nargs = along->record.nargs + one.record.nargs;
	if (view->taken > 0 && !packs_fit(batch->run->packs, nargs, along->size + one.measured)) {
		return false;
	}
	if (!has_room(&along->args, one.record.size) || !has_room(&along->orders, sizeof(one.item.order))) {
		return false;
	}
	buf_add(&along->args, one.record.args, one.record.size);
	along->record.nargs = nargs;
	along->size += one.measured;
	along->n = view->taken + 1;
	if (view->taken > 0 && batch->lane) {
		buf_add(&along->orders, &one.item.order, sizeof(one.item.order));
	}
	return true;
}

void autopack_adopt(struct worker_state *state, struct job *job) {
	struct along *along = &state->along;
	if (along->n <= 1) {
		return;
	}
	job->along = along->n - 1;
	job->item.nargs = along->record.nargs;
	job->record = (struct record){.args = along->args.data, .size = along->args.len, .nargs = along->record.nargs};
	for (size_t at = 0; at < along->orders.len; at += sizeof(uint64_t)) {
		uint64_t order;
		memcpy(&order, along->orders.data + at, sizeof(order));
		writer_skip(job->batch->run->writer, job->batch->lane, order); // their output is where the first one's is
	}
}

void autopack_note(const struct job *job, const struct result *result) {
	struct autopack *autopack = job->batch->autopack;
	bool ran = result->outcome != OUTCOME_CANCELLED && result->outcome != OUTCOME_SPAWN_ERROR;
	if (!ran || result->end <= result->start) { // also --dry-run
		return;
	}
	mutex_lock(&job->batch->run->lock);
	packsize_note(&autopack->size, (uint32_t)job->along + 1, result->end - result->start);
	atomic_store_relaxed(&autopack->want, autopack->size.want);
	atomic_store_relaxed(&autopack->least, autopack->size.least);
	mutex_unlock(&job->batch->run->lock);
}
