// The items a queue holds: chunks in memory and on disk, local lists.
//
// A queue is a row of chunks. The head is read, the tail is written; they stay in memory. When memory is short, full
// chunks between them go to the spill file, the one filled last first, as it is needed last. The chunk behind the head
// is read back by the worker that sees the head half empty, before it runs its item. If a queue gets there first, it is
// blocked in the fair choice (and keeps its place) until the chunk has come.
//
// The first chunk of a queue is small and the next ones grow, so that a million queues of one item are cheap; where
// there are many queues they grow less, as each has a head and a tail in memory.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/fault.h"
#include "base/io.h"

#include <errno.h>

enum {
	FIRST_BYTES = 256,
	GROWTH = 4,
	LEAST_BYTES = 2048,        // of a full-grown chunk
	MOST_BYTES = SCRATCH_UNIT,
	SPILL_BYTES = 1024,        // of a chunk that is worth being spilled
};

static size_t mem_used(const struct pool *pool) {
	return pool->item_mem + pool->struct_mem;
}

// ---- chunks ----

// Heads and tails together must not take more than half of the memory.
static uint32_t chunk_most(const struct pool *pool) {
	size_t each = pool->config.queue_mem / (4 * (pool->nqueues ? pool->nqueues : 1));
	return (uint32_t)(each < LEAST_BYTES ? LEAST_BYTES : each > MOST_BYTES ? MOST_BYTES : each);
}

// Needs no lock; whoever has it counts its bytes in pool->item_mem.
static struct chunk *chunk_new(size_t cap) {
	verify(cap <= UINT32_MAX);
	struct chunk *chunk = NEW(struct chunk);
	list_init(&chunk->spillable);
	chunk->cap = (uint32_t)cap;
	chunk->refs = 1;
	if (cap > 0) {
		chunk->data = xmalloc(cap);
	}
	return chunk;
}

static void chunk_forget_data(struct pool *pool, struct chunk *chunk) {
	free(chunk->data);
	chunk->data = NULL;
	pool->item_mem -= chunk->cap;
	chunk->cap = 0;
}

static void chunk_free_disk(struct pool *pool, struct chunk *chunk, struct deferred *deferred) {
	if (chunk->disk_len > 0) {
		int fd = scratch_free(pool->spill, chunk->offset, chunk->disk_len);
		if (fd >= 0) {
			fd_close(&deferred->close_fd); // that of a file before this one, which is seldom there
			deferred->close_fd = fd;
			deferred->any = true;
		}
		pool->spill_fails = false; // there is room again
		chunk->disk_len = 0;
	}
}

void chunk_unref(struct pool *pool, struct chunk *chunk, struct deferred *deferred) {
	if (--chunk->refs > 0) {
		return;
	}
	list_remove(&chunk->spillable);
	chunk_free_disk(pool, chunk, deferred);
	chunk_forget_data(pool, chunk);
	pool->item_mem -= sizeof(*chunk);
	free(chunk);
}

// ---- in ----

// How long a chunk behind the tail is.
static size_t next_cap(const struct queue *queue) {
	size_t cap = queue->tail ? (size_t)queue->tail->cap * GROWTH : FIRST_BYTES;
	size_t most = chunk_most(queue->pool);
	return cap > most ? most : cap;
}

struct chunk *queue_spare_chunk(struct queue *queue, size_t need) {
	if (need > MOST_BYTES) {
		return NULL;
	}
	size_t cap = next_cap(queue);
	mutex_unlock(&queue->pool->lock);
	struct chunk *chunk = chunk_new(cap < need ? need : cap);
	mutex_lock(&queue->pool->lock);
	return chunk;
}

void chunk_free(struct chunk *chunk) {
	if (chunk) {
		free(chunk->data);
		free(chunk);
	}
}

static void append_tail(struct queue *queue, const struct item_record *record, struct chunk **spare) {
	struct pool *pool = queue->pool;
	size_t bytes = record_bytes(record, queue->tail_id);
	struct chunk *tail = queue->tail;
	if (!queue_tail_fits(queue, bytes)) {
		size_t cap = next_cap(queue);
		if (tail && tail->begin == tail->end) { // kept from before, and too small
			struct deferred none = DEFERRED_INIT;
			chunk_unref(pool, tail, &none);
			tail = NULL;
		}
		struct chunk *chunk = *spare;
		*spare = NULL;
		if (!chunk || chunk->cap < bytes) { // more than a chunk at once
			chunk_free(chunk);
			alloc_forbid(-1);
			chunk = chunk_new(cap < bytes ? bytes : cap);
			alloc_forbid(+1);
		}
		pool->item_mem += sizeof(*chunk) + chunk->cap;
		if (!tail) {
			queue->head = chunk;
		} else {
			tail->next = chunk;
			if (tail != queue->head && tail->end >= SPILL_BYTES) {
				list_push_back(&pool->spillable, &tail->spillable);
			}
		}
		queue->tail = tail = chunk;
	}
	tail->end += (uint32_t)record_encode(record, queue->tail_id, tail->data + tail->end);
	queue->tail_id = record->id;
}

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
		pool->struct_mem += sizeof(**at);
	}
	return *at;
}

// None of its items so far was as wide.
static void note_width(struct queue *queue, uint32_t width) {
	struct pool *pool = queue->pool;
	queue->widest = width;
	if (width > 1 && queue->group == &pool->groups[0]) {
		pool_learn(pool);
	}
}

void queue_append(struct queue *queue, const struct item_record *record, struct worker *from, struct chunk **spare) {
	struct pool *pool = queue->pool;
	if (from) {
		alloc_forbid(-1); // once for a worker and queue, and as the list doubles
		struct local *local = local_get(queue, from);
		pool->item_mem += deque_growth(&local->deque, record);
		deque_push(&local->deque, record);
		alloc_forbid(+1);
		if (list_is_empty(&local->link)) {
			list_push_back(&queue->locals, &local->link);
		}
		++queue->nlocal;
	} else {
		append_tail(queue, record, spare);
	}
	if (record->width > queue->widest) {
		note_width(queue, record->width);
	}
	queue->bytes += RECORD_HEAD + record->size;
	++queue->submitted;
	++pool->queued;
}

void queue_append_exempt(struct queue *queue, const struct item_record *record) {
	alloc_forbid(-1); // these are few: one for each slot that is lent, or that a failed job has left
	struct front *item = NEW(struct front);
	*item = (struct front){.queue = queue, .record = *record};
	item->record.data = xmemdup(record->data, record->size);
	alloc_forbid(+1);
	list_push_back(&queue->exempt, &item->link);
	++queue->submitted;
	++queue->pool->queued;
}

// ---- out ----

static bool head_is_ready(const struct queue *queue) {
	return queue->head && queue->head->data && queue->head->begin < queue->head->end;
}

// Has the chunk read back by this thread, once it has given back the lock.
static void want_chunk(struct queue *queue, struct chunk *chunk, struct deferred *deferred) {
	if (chunk->state == CHUNK_DISK) {
		verify(!deferred->load);
		chunk->state = CHUNK_LOADING;
		++chunk->refs;
		++queue->pins;
		deferred->load = chunk;
		deferred->load_queue = queue;
		deferred->any = true;
	}
}

static void want_more(struct queue *queue, struct deferred *deferred) {
	struct chunk *head = queue->head;
	if (!head) {
		return;
	}
	if (!head->data) {
		want_chunk(queue, head, deferred);
	} else if (head->next && !head->next->data && head->end - head->begin < head->cap / 2) {
		want_chunk(queue, head->next, deferred);
	}
}

// Goes on to the next chunk, or uses the only one again from the start.
static void head_is_done(struct queue *queue, struct deferred *deferred) {
	struct pool *pool = queue->pool;
	struct chunk *head = queue->head, *next = head->next;
	bool tight = mem_used(pool) > pool->config.queue_mem / 4;
	if (!next && (head->cap <= FIRST_BYTES * GROWTH || (head->cap <= MOST_BYTES && !tight))) {
		head->begin = head->end = 0;
		return;
	}
	queue->head = next;
	if (!next) {
		queue->tail = NULL;
	} else {
		list_remove(&next->spillable);
		if (next->state == CHUNK_WRITING) {
			next->state = CHUNK_MEMORY; // whoever writes it sees that, and frees what it took of the file
		}
	}
	chunk_unref(pool, head, deferred);
}

// The record's data must outlive the chunk: copied to the worker.
static void copy_data(struct worker *worker, struct item_record *record) {
	if (record->size > worker->data_cap) {
		alloc_forbid(-1); // some times in a worker's life, as it doubles
		free(worker->data);
		worker->data_cap = record->size < 256 ? 256 : (size_t)record->size * 2;
		worker->data = xmalloc(worker->data_cap);
		alloc_forbid(+1);
	}
	if (record->size > 0) {
		memcpy(worker->data, record->data, record->size);
	}
	record->data = worker->data;
}

// The record that stands next in the queue's chunks, if that is in memory. Returns its bytes, or 0. Its data is borrowed.
static size_t queue_peek(const struct queue *queue, struct item_record *ret_record) {
	return head_is_ready(queue) ? record_decode(queue->head->data + queue->head->begin, queue->head_id, ret_record) : 0;
}

// Lets the head go on to the next item, past those that are gone. Enforces that the first record of a head in memory is none.
static void skip_gone(struct queue *queue, struct deferred *deferred) {
	struct item_record record;
	for (size_t bytes; queue->ngone > 0 && (bytes = queue_peek(queue, &record)) > 0 && (record.flags & RECORD_GONE);) {
		struct chunk *head = queue->head;
		head->begin += (uint32_t)bytes;
		queue->head_id = record.id;
		--queue->ngone;
		if (head->begin == head->end) {
			head_is_done(queue, deferred);
		}
	}
}

static void take_head(struct queue *queue, struct worker *worker, struct item_record *record, struct deferred *deferred) {
	struct chunk *head = queue->head;
	head->begin += (uint32_t)queue_peek(queue, record);
	copy_data(worker, record);
	queue->bytes -= RECORD_HEAD + record->size;
	queue->head_id = record->id;
	if (head->begin == head->end) {
		head_is_done(queue, deferred);
	}
	skip_gone(queue, deferred);
}

static enum work_source take_local(struct queue *queue, struct worker *worker, struct item_record *record) {
	struct local *local = worker->index < queue->nlocal_of ? queue->local_of[worker->index] : NULL;
	enum work_source source = SOURCE_OWN;
	if (local && local->deque.nitems > 0) {
		deque_take_newest(&local->deque, record);
	} else {
		local = list_entry(queue->locals.next, struct local, link);
		list_remove(&local->link);
		list_push_back(&queue->locals, &local->link); // the next thief begins with the next one
		deque_take_oldest(&local->deque, record);
		source = SOURCE_STOLEN;
	}
	copy_data(worker, record);
	queue->bytes -= RECORD_HEAD + record->size;
	--queue->nlocal;
	if (local->deque.nitems == 0) {
		list_remove(&local->link);
		if (local->deque.cap > MOST_BYTES) {
			queue->pool->item_mem -= local->deque.cap;
			deque_fini(&local->deque);
		}
	}
	return source;
}

// Its last item, which is in no chunk so that nobody cancels it.
static void take_last_item(struct queue *queue, struct worker *worker, struct item_record *record) {
	struct last_item *last_item = queue->last_item;
	*record = last_item->record;
	record->data = last_item->data;
	record->flags |= RECORD_LAST_ITEM;
	copy_data(worker, record);
	queue->pool->struct_mem -= sizeof(*last_item) + record->size;
	free(last_item);
	queue->last_item = NULL;
	queue->last_state = LAST_TAKEN;
	--queue->pool->queued;
	queue_reach(queue);
}

void front_open(struct front *front, struct worker *worker, struct item_record *ret_record) {
	*ret_record = front->record;
	free(front);
	free(worker->data);
	worker->data = (char *)(uintptr_t)ret_record->data;
	worker->data_cap = ret_record->size;
	--worker->pool->queued;
}

enum work_source queue_take(struct queue *queue, struct worker *worker, struct item_record *ret_record, struct deferred *deferred) {
	enum work_source source = SOURCE_QUEUE;
	if (queue->fair.picks_exempt) {
		struct front *item = list_entry(queue->exempt.next, struct front, link);
		queue->fair.picks_exempt = false;
		list_remove(&item->link);
		front_open(item, worker, ret_record);
		return source;
	}
	if (queue->last_state == LAST_DUE) {
		take_last_item(queue, worker, ret_record);
		return source;
	}
	bool head_first = ++queue->picks % HEAD_EVERY == 0;
	if (queue->nlocal > 0 && !(head_first && head_is_ready(queue))) {
		source = take_local(queue, worker, ret_record);
	} else {
		take_head(queue, worker, ret_record, deferred);
	}
	--queue->pool->queued;
	want_more(queue, deferred);
	queue_reach(queue);
	return source;
}

// ---- out of the middle ----

static bool take_local_id(struct queue *queue, uint64_t id, struct item_record *ret_record) {
	list_for_each_entry(&queue->locals, struct local, local, link) {
		if (deque_take_id(&local->deque, id, ret_record)) {
			--queue->nlocal;
			if (local->deque.nitems == 0) {
				list_remove(&local->link);
			}
			return true;
		}
	}
	return false;
}

// Looks through the chunks from the head, up to the first that is on disk or on its way there: from there on no id is known.
static bool take_chunk_id(struct queue *queue, uint64_t id, struct item_record *ret_record, struct deferred *deferred) {
	uint64_t prev = queue->head_id;
	for (const struct chunk *chunk = queue->head; chunk && chunk->data && chunk->state == CHUNK_MEMORY; chunk = chunk->next) {
		for (size_t at = chunk->begin, bytes; at < chunk->end; at += bytes) {
			bytes = record_decode(chunk->data + at, prev, ret_record);
			prev = ret_record->id;
			if (prev == id && !(ret_record->flags & RECORD_GONE)) {
				ret_record->data = xmemdup(ret_record->data, ret_record->size);
				record_mark_gone(chunk->data + at);
				++queue->ngone;
				skip_gone(queue, deferred);
				want_more(queue, deferred);
				return true;
			}
		}
	}
	return false;
}

bool queue_take_id(struct queue *queue, uint64_t id, struct item_record *ret_record, struct deferred *deferred) {
	if (!take_local_id(queue, id, ret_record) && !take_chunk_id(queue, id, ret_record, deferred)) {
		return false;
	}
	queue->bytes -= RECORD_HEAD + ret_record->size;
	--queue->pool->queued;
	fair_withdraw(&queue->group->fair, &queue->fair, 1, pool_now(queue->pool));
	queue_reach(queue);
	return true;
}

// ---- to disk ----

static bool can_spill(const struct pool *pool) {
	return !list_is_empty(&pool->spillable) && !pool->spill_fails;
}

bool storage_has_room(const struct pool *pool, size_t need) {
	// a pool with nothing queued takes anything: no room would come from waiting
	return pool->queued == 0 || mem_used(pool) + need <= pool->config.queue_mem || can_spill(pool);
}

// Writes one chunk; gives the lock back meanwhile. Returns 0 or an errno.
static int spill_chunk(struct pool *pool, struct chunk *chunk, struct deferred *deferred) {
	size_t len = chunk->end - chunk->begin;
	const char *data = chunk->data + chunk->begin; // `begin` changes if the queue gets here meanwhile
	uint64_t offset;
	list_remove(&chunk->spillable);
	chunk->state = CHUNK_WRITING;
	++chunk->refs;
	mutex_unlock(&pool->lock);
	int error = fault_errno("spill");
	if (!error && scratch_write(pool->spill, data, len, /* whole */ true, &offset) == 0) {
		error = errno;
	}
	mutex_lock(&pool->lock);
	bool wanted = chunk->state == CHUNK_WRITING; // neither begun nor cancelled meanwhile
	chunk->state = CHUNK_MEMORY;
	if (error) {
		pool->spill_fails = true;
		if (wanted) {
			list_push_back(&pool->spillable, &chunk->spillable);
		}
	} else {
		chunk->offset = offset;
		chunk->disk_len = (uint32_t)len;
		if (wanted) {
			chunk_forget_data(pool, chunk);
			chunk->state = CHUNK_DISK;
			chunk->end = (uint32_t)len;
			chunk->begin = 0;
			pool->spilled += len;
		} else {
			chunk_free_disk(pool, chunk, deferred);
		}
	}
	chunk_unref(pool, chunk, deferred);
	return error;
}

bool storage_make_room(struct pool *pool, size_t need, struct deferred *deferred) {
	while (pool->queued > 0 && mem_used(pool) + need > pool->config.queue_mem) {
		if (!can_spill(pool)) {
			return false;
		}
		int error = spill_chunk(pool, list_entry(pool->spillable.prev, struct chunk, spillable), deferred);
		if (error) {
			deferred->spill_error = pool->warned_spill ? 0 : error;
			deferred->any = true;
			pool->warned_spill = true;
		}
	}
	return true;
}

// ---- from disk ----

// Reads as many whole records as fit in `most` bytes, at least one. Returns the bytes; *ret_data is the caller's.
static uint32_t read_records(struct pool *pool, const struct chunk *chunk, uint32_t most, char **ret_data) {
	uint32_t left = chunk->end - chunk->begin;
	for (uint32_t want = left < most ? left : most;; want = left) {
		char *data = xmalloc(want);
		if (scratch_read(pool->spill, chunk->offset + chunk->begin, data, want) != 0) {
			diag_die("cannot read the spill file: %s", strerror(errno)); // the items are gone: no run can make up for that
		}
		uint32_t whole = 0;
		for (size_t bytes; whole < want && (bytes = record_peek(data + whole, want - whole)) > 0;) {
			whole += (uint32_t)bytes;
		}
		if (whole > 0) {
			*ret_data = data;
			return whole;
		}
		free(data);
		verify(want < left);
	}
}

struct chunk_loaded chunk_read(struct pool *pool, const struct chunk *chunk) {
	mutex_lock(&pool->lock);
	uint32_t most = chunk_most(pool);
	mutex_unlock(&pool->lock);
	struct chunk_loaded loaded;
	loaded.len = read_records(pool, chunk, most, &loaded.data); // begin and end do not change while it is LOADING
	loaded.rest = chunk->begin + loaded.len < chunk->end ? chunk_new(0) : NULL;
	return loaded;
}

void queue_load(struct queue *queue, struct chunk *chunk, struct chunk_loaded *loaded, struct deferred *deferred) {
	struct pool *pool = queue->pool;
	if (chunk->state == CHUNK_LOADING) { // not cancelled meanwhile
		struct chunk *rest = loaded->rest;
		if (rest) {
			pool->item_mem += sizeof(*rest);
			rest->state = CHUNK_DISK;
			rest->offset = chunk->offset;
			rest->disk_len = chunk->disk_len;
			rest->begin = chunk->begin + loaded->len;
			rest->end = chunk->end;
			rest->next = chunk->next;
			chunk->next = rest;
			chunk->disk_len = 0;
		}
		chunk_free_disk(pool, chunk, deferred);
		chunk->data = loaded->data;
		chunk->begin = 0;
		chunk->end = chunk->cap = loaded->len;
		chunk->state = CHUNK_MEMORY;
		pool->item_mem += loaded->len;
		pool->spilled -= loaded->len;
		loaded->data = NULL;
		loaded->rest = NULL;
	}
	chunk_unref(pool, chunk, deferred);
	skip_gone(queue, deferred);
	want_more(queue, deferred);
	queue_reach(queue);
}

uint32_t chunk_read_all(struct pool *pool, const struct chunk *chunk, char **ret_data) {
	return read_records(pool, chunk, UINT32_MAX, ret_data);
}

void queue_free(struct queue *queue) {
	struct pool *pool = queue->pool;
	struct deferred deferred = DEFERRED_INIT;
	verify(queue->fair.backlog == 0 && (!queue->head || !queue->head->next));
	if (queue->head) {
		chunk_unref(pool, queue->head, &deferred);
	}
	for (unsigned i = 0; i < queue->nlocal_of; ++i) {
		struct local *local = queue->local_of[i];
		if (local) {
			pool->item_mem -= local->deque.cap;
			pool->struct_mem -= sizeof(*local);
			deque_fini(&local->deque);
			free(local);
		}
	}
	pool->struct_mem -= queue->nlocal_of * sizeof(queue->local_of[0]);
	free(queue->local_of);
	free(queue->lengths);
	free(queue);
}
