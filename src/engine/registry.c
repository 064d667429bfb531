// What the pool knows by name or number: queues, and what removed queues leave behind.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <errno.h>

// ---- hash table of names: linear probing ----
//
// A name keeps its place when its queue is removed. What means nothing any more goes when the table is full.

#define HASH_MASK ((UINT64_C(1) << 55) - 1) // the bits that struct name has for it

// Multiplies and folds word by word, as wyhash does (Wang Yi); names are short, and only need to be spread. Never 0.
static uint64_t name_hash(const char *name, size_t len) {
	uint64_t hash = UINT64_C(0x9E3779B97F4A7C15) ^ len;
	for (size_t at = 0; at < len; at += 8) {
		uint64_t word = 0;
		memcpy(&word, name + at, len - at < 8 ? len - at : 8);
		hash = (hash ^ word) * UINT64_C(0xBF58476D1CE4E5B9);
		hash ^= hash >> 29;
		hash *= UINT64_C(0x94D049BB133111EB);
		hash ^= hash >> 32;
	}
	return (hash >> 10 | UINT64_C(1) << 54) & HASH_MASK;
}

static struct name *name_find(const struct pool *pool, uint64_t hash, const char *name) {
	for (size_t i = hash & (pool->names_cap - 1);; i = (i + 1) & (pool->names_cap - 1)) {
		struct name *at = &pool->names[i];
		if (at->hash == 0 || (at->hash == hash && (!at->is_open || strcmp(at->u.queue->name, name) == 0))) {
			return at;
		}
	}
}

// The queue of that name that is there, or NULL.
static struct queue *queue_find(const struct pool *pool, uint64_t hash, const char *name) {
	const struct name *at = pool->names_cap > 0 ? name_find(pool, hash, name) : NULL;
	return at && at->is_open ? at->u.queue : NULL;
}

static struct fair_tag name_tag(const struct pool *pool, const struct name *at) {
	return (struct fair_tag){.virt = at->u.virt, .due = pool->dues ? pool->dues[at - pool->names] : 0, .tier = at->tier};
}

// Worth its place: it has a queue, or the owner has left a number, or it was ahead and has not been passed, or its rate's next
// token has not come.
static bool name_matters(const struct pool *pool, const struct name *at, uint64_t now) {
	if (at->hash == 0 || at->is_open || at->user_count != 0) {
		return at->hash != 0;
	}
	struct fair_tag tag = name_tag(pool, at);
	return tag.due > now || !fair_has_passed(&pool->groups[0].fair, tag);
}

// Makes room for one more: leaves out those that mean nothing any more, and grows if that is not half of the table.
static void names_grow(struct pool *pool) {
	if ((pool->nnames + 1) * 4 <= pool->names_cap * 3) {
		return;
	}
	struct name *old = pool->names;
	uint64_t *old_dues = pool->dues, now = pool_now(pool);
	size_t old_cap = pool->names_cap, n = 0;
	for (size_t i = 0; i < old_cap; ++i) {
		old[i].hash = name_matters(pool, &old[i], now) ? old[i].hash : 0;
		n += old[i].hash != 0;
	}
	pool->names_cap = old_cap == 0 ? 16 : n * 2 > old_cap ? old_cap * 2 : old_cap;
	pool->names = xcalloc(pool->names_cap, sizeof(pool->names[0]));
	pool->dues = old_dues ? xcalloc(pool->names_cap, sizeof(pool->dues[0])) : NULL;
	pool->nnames = n;
	for (size_t i = 0; i < old_cap; ++i) {
		if (old[i].hash != 0) {
			size_t at = old[i].hash & (pool->names_cap - 1);
			while (pool->names[at].hash != 0) { // all names differ
				at = (at + 1) & (pool->names_cap - 1);
			}
			pool->names[at] = old[i];
			if (old_dues) {
				pool->dues[at] = old_dues[i];
			}
		}
	}
	free(old);
	free(old_dues);
}

// Enters a queue that is new. Returns what one of that name has left behind, and gives it its number back.
static struct fair_tag name_enter(struct queue *queue) {
	struct pool *pool = queue->pool;
	struct fair_tag tag = {0};
	names_grow(pool);
	struct name *at = name_find(pool, queue->hash, queue->name);
	if (at->hash != 0) {
		queue->user_count = at->user_count;
		tag = name_tag(pool, at);
		tag.tier = queue->group == &pool->groups[0] ? tag.tier : 0;
	} else {
		++pool->nnames;
	}
	*at = (struct name){.hash = queue->hash & HASH_MASK, .is_open = true, .u.queue = queue};
	return tag;
}

// Leaves a tombstone in the place of the queue. (Long-running items are not charged for slots.)
static void name_retire(const struct queue *queue, struct fair_tag tag) {
	const struct pool *pool = queue->pool;
	struct name *at = name_find(pool, queue->hash, queue->name);
	if (pool->dues) {
		pool->dues[at - pool->names] = tag.due;
	}
	*at = (struct name){
		.hash = queue->hash & HASH_MASK,
		.tier = queue->group == &pool->groups[0] ? tag.tier : 0,
		.u.virt = tag.virt,
		.user_count = queue->user_count,
	};
}

// ---- open ----

static size_t queue_bytes(const struct queue *queue) {
	// with what the table of names, the heap of the fair choice and the allocator need for it
	return sizeof(*queue) + strlen(queue->name) + 1 + sizeof(struct name) * 2 + sizeof(void *) * 4;
}

// Needs no lock.
static struct queue *queue_new(struct pool *pool, uint64_t hash, const char *name, const struct queue_attrs *attrs,
                               void *user) {
	struct queue *queue = xcalloc(1, sizeof(struct queue) + strlen(name) + 1);
	memcpy(queue->name, name, strlen(name) + 1);
	queue->pool = pool;
	queue->group = &pool->groups[attrs->long_running];
	queue->attrs = *attrs;
	queue->user = user;
	queue->hash = hash;
	list_init(&queue->locals);
	list_init(&queue->exempt);
	list_init(&queue->items);
	list_init(&queue->extents);
	list_init(&queue->tail);
	list_init(&queue->spillable);
	return queue;
}

// The table grows here, with the lock: seldom, and never on the way of a job.
static void queue_insert(struct queue *queue) {
	struct pool *pool = queue->pool;
	const struct queue_attrs *attrs = &queue->attrs;
	struct fair_tag tag = name_enter(queue);
	fair_add(&queue->group->fair, &queue->fair, attrs->weight, attrs->priority, attrs->max_parallel, &tag);
	if (attrs->paused) {
		fair_pause(&queue->group->fair, &queue->fair, true, pool_now(pool));
	}
	queue_set_rate(queue, attrs);
	list_push_back(&pool->queues, &queue->link);
	pool->struct_mem += queue_bytes(queue);
	++pool->nqueues;
	++pool->nopen;
}

void queue_set_rate(struct queue *queue, const struct queue_attrs *attrs) {
	struct pool *pool = queue->pool;
	if (attrs->start_interval == queue->fair.interval) {
		return;
	}
	if (!pool->dues) {
		pool->dues = xcalloc(pool->names_cap, sizeof(pool->dues[0]));
	}
	fair_set_rate(&queue->group->fair, &queue->fair, attrs->start_interval, pool_now(pool));
}

static void open_once_more(struct queue *queue) {
	if (queue->closed) {
		queue->closed = false;
		++queue->pool->nopen;
	}
	++queue->opens;
}

struct queue *pool_queue_open(struct pool *pool, const char *name, const struct queue_attrs *attrs, void *user) {
	uint64_t hash = name_hash(name, strlen(name));
	struct queue *queue, *fresh = NULL;
	mutex_lock(&pool->lock);
	queue = queue_find(pool, hash, name);
	if (!queue && !pool->shut) {
		mutex_unlock(&pool->lock);
		fresh = queue_new(pool, hash, name, attrs, user);
		mutex_lock(&pool->lock);
		queue = queue_find(pool, hash, name);
	}
	if (pool->shut) {
		mutex_unlock(&pool->lock);
		free(fresh);
		errno = ESHUTDOWN;
		return NULL;
	}
	if (!queue) {
		queue = fresh;
		fresh = NULL;
		queue_insert(queue);
	}
	open_once_more(queue);
	mutex_unlock(&pool->lock);
	free(fresh);
	return queue;
}

struct queue *pool_queue_find(struct pool *pool, const char *name) {
	mutex_lock(&pool->lock);
	struct queue *queue = pool->shut ? NULL : queue_find(pool, name_hash(name, strlen(name)), name);
	if (queue) {
		open_once_more(queue);
	}
	mutex_unlock(&pool->lock);
	return queue;
}

bool queue_ref(struct pool *pool, struct queue *queue) {
	mutex_lock(&pool->lock);
	bool takes = !pool->shut;
	if (takes) {
		verify(!queue->removed);
		open_once_more(queue);
	}
	mutex_unlock(&pool->lock);
	return takes;
}

// ---- close and remove ----

// Everything else of the queue is done or dropped: its last item is the next to start, even if the queue is paused.
static void last_item_due(struct queue *queue, struct deferred *deferred) {
	struct pool *pool = queue->pool;
	front_add(queue->last);
	queue->last = NULL;
	++queue->submitted;
	++pool->queued;
	group_wake(pool, queue->group, deferred);
}

void queue_check_removal(struct queue *queue, struct deferred *deferred) {
	struct pool *pool = queue->pool;
	if (!queue->closed || queue->fair.backlog > 0 || queue->fair.running > 0 || queue->removed || queue->pins > 0) {
		return;
	}
	if (queue->last) {
		last_item_due(queue, deferred);
		return;
	}
	queue->removed = true;
	name_retire(queue, fair_remove(&queue->group->fair, &queue->fair, pool_now(pool)));
	list_remove(&queue->link);
	list_push_back(&pool->zombies, &queue->link);
	queue->next_removed = deferred->removed;
	deferred->removed = queue;
	deferred->any = true;
	++pool->nbusy;
}

void queue_shut(struct queue *queue, struct deferred *deferred) {
	if (!queue->closed) {
		queue->closed = true;
		--queue->pool->nopen;
		queue_check_removal(queue, deferred);
	}
}

// The last one of those who know a removed queue.
void queue_retire(struct queue *queue) {
	struct pool *pool = queue->pool;
	list_remove(&queue->link);
	pool->struct_mem -= queue_bytes(queue);
	queue_free(queue);
}

void names_fini(struct pool *pool) {
	list_for_each_entry(&pool->zombies, struct queue, queue, link) {
		queue_retire(queue);
	}
	verify(list_is_empty(&pool->queues));
	free(pool->names);
	free(pool->dues);
}

uint64_t queue_longest_wait(const struct queue *queue) {
	return queue->fair.longest_wait;
}

const char *queue_name(const struct queue *queue) {
	return queue->name;
}

void *queue_user(const struct queue *queue) {
	return queue->user;
}

atomic_uint_least64_t *queue_user_count(struct queue *queue) {
	return &queue->user_count;
}
