// The items that a queue holds: lists in memory, and a part between them on disk.
//
// The oldest items are in queue->items, items behind those may be in the spill file, and the newest items are in queue->tail:
//
//	items  |  extents of the spill file  |  tail
//
// Items are taken from the first list, which is filled again from what is behind it. When memory is short, the oldest items of a tail are written,
// without the lock: they stay in the tail meanwhile, and the written copy is discarded if the tail was touched. Items are read back with the lock, a
// piece at a time, in their order; they were written lately, so the kernel still has them in memory.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/fault.h"
#include "base/io.h"

#include <errno.h>

enum {
	LEAST_BYTES = 2048,        // the limit of bytes in queue->items is at least this, however many queues there are
	MOST_BYTES = SCRATCH_UNIT, // the limit of bytes in queue->items is at most this
	SPILL_BYTES = 4096,        // a tail with fewer bytes is not worth writing to disk
};

static size_t mem_used(const struct pool *pool) {
	return pool->item_mem + pool->struct_mem;
}

// Returns how many bytes each queue->items may have: these lists of all queues then take at most half of queue_mem (unless LEAST_BYTES is more).
static size_t most_bytes(const struct pool *pool) {
	size_t each = pool->config.queue_mem / (2 * (pool->nqueues ? pool->nqueues : 1));
	return each < LEAST_BYTES ? LEAST_BYTES : each > MOST_BYTES ? MOST_BYTES : each;
}

struct queued_item *item_new(const struct work *work) {
	struct queued_item *item = xmalloc(sizeof(*item) + work->size);
	*item = (struct queued_item){
		.type = work->type,
		.id = work->id,
		.size = (uint32_t)work->size,
		.turns = work->turns > 1 ? work->turns : 1,
		.width = work->width > 1 ? work->width : 1,
		.flags = work->flags,
	};
	if (work->size > 0) {
		memcpy(item->data, work->data, work->size);
	}
	return item;
}

void item_drop(struct queue *queue, struct queued_item *item) {
	if (item->type->drop) {
		item->type->drop(queue, item->data, item->size);
	}
	free(item);
}

static struct queued_item *take_from(struct list *entry) {
	list_remove(entry);
	return list_entry(entry, struct queued_item, link);
}

// ---- items are added ----

static struct local *local_get(struct queue *queue, const struct worker *worker) {
	struct pool *pool = queue->pool;
	if (worker->index >= queue->nlocal_of) {
		unsigned n = pool->nworkers;
		queue->local_of = xrealloc(queue->local_of, n * sizeof(queue->local_of[0]));
		memset(queue->local_of + queue->nlocal_of, 0, (n - queue->nlocal_of) * sizeof(queue->local_of[0]));
		pool->struct_mem += (n - queue->nlocal_of) * sizeof(queue->local_of[0]);
		queue->nlocal_of = n;
	}
	struct local **at = &queue->local_of[worker->index];
	if (!*at) {
		*at = NEW(struct local);
		list_init(&(*at)->link);
		list_init(&(*at)->items);
		pool->struct_mem += sizeof(**at);
	}
	return *at;
}

static void note_spillable(struct queue *queue) {
	if (queue->tail_bytes >= SPILL_BYTES && list_is_empty(&queue->spillable)) {
		list_push_back(&queue->pool->spillable, &queue->spillable);
	}
}

static void append_tail(struct queue *queue, struct queued_item *item) {
	struct pool *pool = queue->pool;
	if (list_is_empty(&queue->extents) && queue->tail_bytes == 0 && queue->bytes < most_bytes(pool)) {
		list_push_back(&queue->items, &item->link);
		return;
	}
	list_push_back(&queue->tail, &item->link);
	queue->tail_bytes += item_bytes(item);
	note_spillable(queue);
}

void queue_append(struct queue *queue, struct queued_item *item, const struct worker *from) {
	struct pool *pool = queue->pool;
	if (from) {
		struct local *local = local_get(queue, from);
		if (list_is_empty(&local->items)) {
			list_push_back(&queue->locals, &local->link);
		}
		list_push_back(&local->items, &item->link);
		++queue->nlocal;
	} else {
		append_tail(queue, item);
	}
	queue->widest = item->width > queue->widest ? item->width : queue->widest;
	queue->bytes += item_bytes(item);
	pool->item_mem += item_bytes(item);
	++queue->submitted;
	++pool->queued;
}

// ---- to disk and back ----

void extent_free(struct pool *pool, struct extent *extent, struct deferred *deferred) {
	int fd = scratch_free(pool->spill, extent->offset, extent->end);
	if (fd >= 0) {
		fd_close(&deferred->close_fd); // closes the descriptor that was noted before; there is seldom one
		deferred->close_fd = fd;
		deferred->any = true;
	}
	pool->spill_fails = false; // there is room again
	list_remove(&extent->link);
	free(extent);
}

size_t extent_read(struct pool *pool, struct extent *extent, size_t most, struct list *items) {
	size_t left = extent->end - extent->begin, done = 0;
	for (size_t want = left < most ? left : most; done == 0; want = left) { // reads once more if the first item is longer than `most`
		char *bytes = xmalloc(want);
		if (scratch_read(pool->spill, extent->offset + extent->begin, bytes, want) != 0) {
			diag_die("cannot read the spill file: %s", strerror(errno)); // the items are lost: the run cannot go on
		}
		struct queued_item head;
		while (want - done >= sizeof(head)) {
			memcpy(&head, bytes + done, sizeof(head));
			if (item_bytes(&head) > want - done) {
				break;
			}
			struct queued_item *item = xmemdup(bytes + done, item_bytes(&head));
			list_push_back(items, &item->link);
			done += item_bytes(item);
		}
		free(bytes);
		verify(done > 0 || want < left);
	}
	extent->begin += done;
	return done;
}

static bool can_spill(const struct pool *pool) {
	return !list_is_empty(&pool->spillable) && !pool->spill_fails;
}

bool storage_has_room(const struct pool *pool, size_t need) {
	// a pool with nothing queued takes anything: waiting would not make more room
	return pool->queued == 0 || mem_used(pool) + need <= pool->config.queue_mem || can_spill(pool);
}

// Appends the oldest items of the tail to `bytes`: up to SCRATCH_UNIT bytes, but at least one item. Returns how many items.
static size_t copy_oldest(const struct queue *queue, struct buf *bytes) {
	size_t n = 0;
	list_for_each_entry(&queue->tail, struct queued_item, item, link) {
		if (n > 0 && bytes->len + item_bytes(item) > SCRATCH_UNIT) {
			break;
		}
		buf_add(bytes, item, item_bytes(item));
		++n;
	}
	return n;
}

// Frees the `n` oldest items of the tail, which were written to the extent, and adds the extent to the queue.
static void move_to_disk(struct queue *queue, size_t n, struct extent *extent) {
	struct pool *pool = queue->pool;
	for (; n > 0; --n) {
		free(take_from(queue->tail.next));
	}
	++queue->touched;
	queue->tail_bytes -= extent->end;
	pool->item_mem -= extent->end;
	pool->spilled += extent->end;
	list_push_back(&queue->extents, &extent->link);
}

// Writes the oldest items of a tail; gives the lock back meanwhile. Returns 0 or an errno.
static int spill_some(struct pool *pool, struct deferred *deferred) {
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	struct queue *queue = list_entry(pool->spillable.next, struct queue, spillable);
	size_t n = copy_oldest(queue, &bytes);
	uint64_t touched = queue->touched;
	struct extent *extent = NEW(struct extent);
	list_init(&extent->link);
	extent->end = bytes.len;
	list_remove(&queue->spillable);
	++queue->pins;
	mutex_unlock(&pool->lock);
	bool fails = fault_fails("spill") || scratch_write(pool->spill, bytes.data, bytes.len, /* whole */ true, &extent->offset) == 0;
	int error = fails ? errno : 0;
	mutex_lock(&pool->lock);
	--queue->pins;
	if (error) {
		pool->spill_fails = true;
		free(extent);
	} else if (queue->touched == touched) {
		move_to_disk(queue, n, extent);
	} else {
		extent_free(pool, extent, deferred);
	}
	note_spillable(queue);
	queue_check_removal(queue, deferred);
	return error;
}

bool storage_make_room(struct pool *pool, size_t need, struct deferred *deferred) {
	while (pool->queued > 0 && mem_used(pool) + need > pool->config.queue_mem) {
		if (!can_spill(pool)) {
			return false;
		}
		int error = spill_some(pool, deferred);
		if (error) {
			deferred->spill_error = pool->warned_spill ? 0 : error;
			deferred->any = true;
			pool->warned_spill = true;
		}
	}
	return true;
}

// ---- items are taken ----

// Notes that the tail changes: if some of it is being written to disk, that copy is to be discarded.
static void touch_tail(struct queue *queue) {
	++queue->touched;
	list_remove(&queue->spillable);
}

// Fills queue->items, which is empty, with what stands behind it.
static void refill(struct queue *queue, struct deferred *deferred) {
	struct pool *pool = queue->pool;
	if (!list_is_empty(&queue->extents)) {
		struct extent *extent = list_entry(queue->extents.next, struct extent, link);
		size_t bytes = extent_read(pool, extent, most_bytes(pool), &queue->items);
		pool->item_mem += bytes;
		pool->spilled -= bytes;
		if (extent->begin == extent->end) {
			extent_free(pool, extent, deferred);
		}
		return;
	}
	touch_tail(queue);
	list_move_all(&queue->items, &queue->tail);
	queue->tail_bytes = 0;
}

static struct queued_item *take_local(struct queue *queue, const struct worker *worker, enum work_source *ret_source) {
	struct local *local = worker->index < queue->nlocal_of ? queue->local_of[worker->index] : NULL;
	bool own = local && !list_is_empty(&local->items);
	if (!own) {
		local = list_entry(queue->locals.next, struct local, link);
		list_remove(&local->link);
		list_push_back(&queue->locals, &local->link); // the next thief begins with the next list
	}
	*ret_source = own ? SOURCE_OWN : SOURCE_STOLEN;
	struct queued_item *item = take_from(own ? local->items.prev : local->items.next);
	--queue->nlocal;
	if (list_is_empty(&local->items)) {
		list_remove(&local->link);
	}
	return item;
}

struct queued_item *queue_take(struct queue *queue, const struct worker *worker, enum work_source *ret_source, struct deferred *deferred) {
	*ret_source = SOURCE_QUEUE;
	--queue->pool->queued;
	if (queue->fair.picks_exempt) {
		queue->fair.picks_exempt = false;
		return take_from(queue->exempt.next);
	}
	struct queued_item *item;
	bool has_head = !list_is_empty(&queue->items) || !list_is_empty(&queue->extents) || queue->tail_bytes > 0;
	bool head_first = ++queue->picks % HEAD_EVERY == 0 && has_head;
	if (queue->nlocal > 0 && !head_first) {
		item = take_local(queue, worker, ret_source);
	} else {
		if (list_is_empty(&queue->items)) {
			refill(queue, deferred);
		}
		item = take_from(queue->items.next);
	}
	queue->bytes -= item_bytes(item);
	queue->pool->item_mem -= item_bytes(item);
	return item;
}

static struct queued_item *find_id(const struct list *items, uint64_t id) {
	list_for_each_entry(items, struct queued_item, item, link) {
		if (item->id == id) {
			return item;
		}
	}
	return NULL;
}

struct queued_item *queue_take_id(struct queue *queue, uint64_t id) {
	struct queued_item *item = find_id(&queue->items, id);
	if (!item && (item = find_id(&queue->tail, id))) {
		touch_tail(queue);
		queue->tail_bytes -= item_bytes(item);
	}
	for (struct list *at = queue->locals.next; at != &queue->locals && !item; at = at->next) {
		struct local *local = list_entry(at, struct local, link);
		item = find_id(&local->items, id);
		queue->nlocal -= item != NULL;
		if (item && local->items.next == local->items.prev) {
			list_remove(at);
			break;
		}
	}
	if (item) {
		list_remove(&item->link);
		queue->bytes -= item_bytes(item);
		queue->pool->item_mem -= item_bytes(item);
		--queue->pool->queued;
		fair_withdraw(&queue->group->fair, &queue->fair, 1, pool_now(queue->pool));
	}
	return item;
}

void queue_take_all(struct queue *queue, struct list *items, struct list *extents, struct list *tail) {
	list_for_each_entry(&queue->locals, struct local, local, link) {
		list_remove(&local->link);
		list_move_all(items, &local->items);
	}
	list_move_all(items, &queue->exempt);
	list_move_all(items, &queue->items);
	size_t on_disk = 0;
	list_for_each_entry(&queue->extents, struct extent, extent, link) {
		on_disk += extent->end - extent->begin;
	}
	queue->pool->item_mem -= queue->bytes - on_disk;
	list_move_all(extents, &queue->extents);
	touch_tail(queue);
	list_move_all(tail, &queue->tail);
	queue->tail_bytes = queue->bytes = 0;
	queue->nlocal = 0;
}

void queue_free(struct queue *queue) {
	struct pool *pool = queue->pool;
	verify(queue->fair.backlog == 0 && queue->bytes == 0);
	for (unsigned i = 0; i < queue->nlocal_of; ++i) {
		pool->struct_mem -= queue->local_of[i] ? sizeof(struct local) : 0;
		free(queue->local_of[i]);
	}
	pool->struct_mem -= queue->nlocal_of * sizeof(queue->local_of[0]);
	free(queue->local_of);
	free(queue->lengths);
	free(queue);
}
