// --pack=auto: decides how many queued items one process gets, by how long the items of the batch have taken.
//
// Items are queued one by one, as without packing, and put together when a slot is free: so a batch that comes late has
// its turn at once, each item is a turn of its batch, and the size of packs follows what the items before have taken.
// The size is decided under the pool's lock, where nothing is computed but sums: an item's length was measured when it
// was read (packs_measure()), and what takes 200 ms is worked out at the end of each job.

#include "core/autopack.h"

#include "base/alloc.h"
#include "job/pack_size.h"
#include "template/packs.h"

enum {
	ROOM_BYTES = 128 * 1024,       // for the arguments of a pack: what execve() takes as one string (Linux); and for orders
	ALL_BYTES = 256 * 1024 * 1024, // of address space for those of all workers, where packs may be longer
};

struct autopack {
	struct packsize size;              // the run's lock guards it
	atomic_uint_least32_t want, least; // of it, for those who must not wait for that lock
};

struct autopack *autopack_create(void) {
	return NEW(struct autopack);
}

void autopack_prepare(struct run *run, struct worker *worker) {
	struct coalesced *coalesced = &worker_state_of(run, worker)->coalesced;
	size_t share = ALL_BYTES / (run->slots + 1), room = run->packs->fills ? run->packs->room : ROOM_BYTES;
	buf_reserve(&coalesced->args, room < share ? room : share > ROOM_BYTES ? share : ROOM_BYTES);
	buf_reserve(&coalesced->orders, ROOM_BYTES);
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

uint32_t autopack_take(struct worker *worker, struct queue *queue, const struct pack_view *view, const void *data, size_t size) {
	const struct batch *batch = queue_user(queue);
	struct coalesced *coalesced = &worker_state_of(batch->run, worker)->coalesced; // autopack_prepare() has made it
	struct item_view next;
	if (view->taken == 0) {
		coalesced->n = 1;
		coalesced->most = choose_most(batch, view);
		coalesced->record = (struct record){.size = 0};
		coalesced->size = 0;
		buf_reset(&coalesced->args);
		buf_reset(&coalesced->orders);
	}
	if (view->taken >= coalesced->most || coalesced->most == 1) {
		return 0;
	}
	item_read(&next, data, size);
	bool are_several = next.items > 1;
	if (are_several && view->taken > 0) {
		item_skip(&next, next.record.nargs - view->left);
	}
	uint64_t n = coalesced->most - view->taken < view->left ? coalesced->most - view->taken : view->left;
	if (are_several) { // measured together, and taken all or, at the end of the pack, the first of them
		next.record.size = record_bytes_of(&next.record, (uint32_t)n);
		next.record.nargs = (uint32_t)n;
	}
	uint32_t nargs = coalesced->record.nargs + next.record.nargs;
	if (view->taken > 0 && !packs_fit(batch->run->packs, nargs, coalesced->size + next.measured)) {
		return 0;
	}
	struct order_range order = {.first = next.item.order, .n = n};
	if (!has_room(&coalesced->args, next.record.size) || !has_room(&coalesced->orders, sizeof(order))) {
		return 0;
	}
	buf_add(&coalesced->args, next.record.args, next.record.size);
	coalesced->record.nargs = nargs;
	coalesced->size += next.measured;
	coalesced->n = view->taken + n;
	if (view->taken > 0 && batch->output_queue) {
		buf_add(&coalesced->orders, &order, sizeof(order));
	}
	return (uint32_t)n;
}

void autopack_adopt(struct worker_state *state, struct job *job) {
	struct coalesced *coalesced = &state->coalesced;
	if (coalesced->n <= 1) {
		return;
	}
	job->coalesced = coalesced->n - 1;
	job->item.nargs = coalesced->record.nargs;
	job->record = (struct record){.args = coalesced->args.data, .size = coalesced->args.len, .nargs = coalesced->record.nargs};
	struct order_range order;
	for (size_t at = 0; at < coalesced->orders.len; at += sizeof(order)) {
		memcpy(&order, coalesced->orders.data + at, sizeof(order));
		for (uint64_t i = 0; i < order.n; ++i) { // their output is where the first one's is
			batch_skip_output(job->batch, order.first + i);
		}
	}
}

void autopack_note(const struct job *job, const struct result *result) {
	struct autopack *autopack = job->batch->autopack;
	bool ran = result->outcome != OUTCOME_CANCELLED && result->outcome != OUTCOME_SPAWN_ERROR;
	if (!ran || result->end <= result->start) { // also --dry-run
		return;
	}
	mutex_lock(&job->batch->run->lock);
	packsize_note(&autopack->size, (uint32_t)job->coalesced + 1, result->end - result->start);
	atomic_store_relaxed(&autopack->want, autopack->size.want);
	atomic_store_relaxed(&autopack->least, autopack->size.least);
	mutex_unlock(&job->batch->run->lock);
}
