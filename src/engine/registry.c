// What the pool knows by name or number: queues, what removed queues leave behind, types of work.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <errno.h>

// ---- hash table of open queues: linear probing ----

// Multiplies and folds word by word, as wyhash does (Wang Yi); names are short, and only need to be spread.
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
	return hash;
}

static size_t name_home(const struct pool *pool, uint64_t hash) {
	return (size_t)hash & (pool->names_cap - 1);
}

static struct queue **name_find(const struct pool *pool, uint64_t hash, const char *name) {
	for (size_t i = name_home(pool, hash);; i = (i + 1) & (pool->names_cap - 1)) {
		struct queue *queue = pool->names[i];
		if (!queue || (queue->hash == hash && strcmp(queue->name, name) == 0)) {
			return &pool->names[i];
		}
	}
}

static void names_grow(struct pool *pool) {
	if ((pool->nnames + 1) * 4 <= pool->names_cap * 3) {
		return;
	}
	struct queue **old = pool->names;
	size_t old_cap = pool->names_cap;
	pool->names_cap = old_cap ? old_cap * 2 : 16;
	pool->names = xcalloc(pool->names_cap, sizeof(pool->names[0]));
	for (size_t i = 0; i < old_cap; ++i) {
		if (old[i]) {
			*name_find(pool, old[i]->hash, old[i]->name) = old[i];
		}
	}
	free(old);
	pool->struct_mem += (pool->names_cap - old_cap) * sizeof(pool->names[0]);
}

// Backward shift (Knuth, TAOCP 3, 6.4, algorithm R): no deleted entries stay, so a million names leave nothing here.
static void name_forget(struct pool *pool, const struct queue *queue) {
	size_t mask = pool->names_cap - 1;
	size_t hole = (size_t)(name_find(pool, queue->hash, queue->name) - pool->names);
	for (size_t i = (hole + 1) & mask; pool->names[i]; i = (i + 1) & mask) {
		size_t home = name_home(pool, pool->names[i]->hash);
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			pool->names[hole] = pool->names[i];
			hole = i;
		}
	}
	pool->names[hole] = NULL;
	--pool->nnames;
}

// ---- tombstones: what removed queues leave behind ----

static struct tombstone *tombstone_find(const struct pool *pool, uint64_t hash) {
	size_t mask = pool->tombstones_cap - 1;
	for (size_t i = (size_t)(hash >> 8) & mask;; i = (i + 1) & mask) {
		struct tombstone *tombstone = &pool->tombstones[i];
		if (tombstone->hash == 0 || (tombstone->hash ^ hash) >> 8 == 0) {
			return tombstone;
		}
	}
}

static struct fair_tag tombstone_tag(const struct tombstone *tombstone) {
	return (struct fair_tag){.virt = tombstone->virt, .tier = (uint8_t)tombstone->hash};
}

// Worth its place: the owner has left a number, or the name was ahead and has not been passed.
static bool tombstone_matters(const struct pool *pool, const struct tombstone *tombstone) {
	return tombstone->hash != 0 && (tombstone->user_count != 0 || !fair_has_passed(&pool->groups[0].fair, tombstone_tag(tombstone)));
}

// Makes room for one more: throws away those that mean nothing any more, and grows if that is not half of them.
static void tombstones_grow(struct pool *pool) {
	if ((pool->ntombstones + 1) * 8 <= pool->tombstones_cap * 7) {
		return;
	}
	struct tombstone *old = pool->tombstones;
	size_t old_cap = pool->tombstones_cap, n = 0;
	for (size_t i = 0; i < old_cap; ++i) {
		n += tombstone_matters(pool, &old[i]);
	}
	pool->tombstones_cap = old_cap == 0 ? 16 : n * 2 > old_cap ? old_cap * 2 : old_cap;
	alloc_forbid(-1); // each time the table doubles or is cleared of half of it
	pool->tombstones = xcalloc(pool->tombstones_cap, sizeof(pool->tombstones[0]));
	alloc_forbid(+1);
	pool->ntombstones = n;
	for (size_t i = 0; i < old_cap; ++i) {
		if (tombstone_matters(pool, &old[i])) {
			*tombstone_find(pool, old[i].hash) = old[i];
		}
	}
	free(old);
}

// A tombstone that means nothing is not kept. (Long-running items are not charged for slots.)
static void tombstone_add(struct pool *pool, const struct queue *queue, struct fair_tag tag) {
	if (queue->group == &pool->groups[1]) {
		tag.tier = 0;
	}
	if (queue->user_count == 0 && tag.tier == 0 && pool->ntombstones == 0) {
		return;
	}
	tombstones_grow(pool);
	struct tombstone *tombstone = tombstone_find(pool, queue->hash);
	if (tombstone->hash == 0) {
		if (queue->user_count == 0 && tag.tier == 0) {
			return;
		}
		++pool->ntombstones;
	}
	tombstone->hash = (queue->hash & ~UINT64_C(0xFF)) | tag.tier;
	tombstone->virt = tag.virt;
	tombstone->user_count = queue->user_count;
}

static struct fair_tag tombstone_recall(const struct pool *pool, struct queue *queue) {
	struct fair_tag tag = {0};
	if (pool->ntombstones > 0) {
		const struct tombstone *tombstone = tombstone_find(pool, queue->hash);
		if (tombstone->hash != 0) {
			tag = queue->group == &pool->groups[0] ? tombstone_tag(tombstone) : tag;
			queue->user_count = tombstone->user_count;
		}
	}
	return tag;
}

// ---- work types by number ----

uint8_t pool_type_add(struct pool *pool, const struct work_type *type) {
	verify(pool->ntypes < MAX_TYPES);
	pool->types[pool->ntypes] = type;
	return (uint8_t)pool->ntypes++;
}

// ---- open ----

static size_t queue_bytes(const struct queue *queue) {
	return sizeof(*queue) + strlen(queue->name) + 1 + sizeof(void *) * 4; // the heap's and the allocator's part
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
	return queue;
}

// The tables grow here, with the lock: seldom, and never on the way of a job.
static void queue_insert(struct queue *queue) {
	struct pool *pool = queue->pool;
	const struct queue_attrs *attrs = &queue->attrs;
	names_grow(pool);
	*name_find(pool, queue->hash, queue->name) = queue;
	++pool->nnames;
	struct fair_tag tag = tombstone_recall(pool, queue);
	fair_add(&queue->group->fair, &queue->fair, attrs_weight(attrs), attrs->priority, attrs->max_parallel, &tag);
	if (attrs->paused) {
		fair_pause(&queue->group->fair, &queue->fair, true, pool_now(pool));
	}
	list_push_back(&pool->queues, &queue->link);
	pool->struct_mem += queue_bytes(queue);
	++pool->nqueues;
	++pool->nopen;
}

static void open_once_more(struct queue *queue) {
	if (queue->closed) {
		queue->closed = false;
		++queue->pool->nopen;
	}
	++queue->opens;
}

struct queue *pool_queue_open(struct pool *pool, const char *name, const struct queue_attrs *attrs, void *user) {
	uint64_t hash = name_hash(name, strlen(name)) | UINT64_C(1) << 63; // never 0, also in a tombstone
	struct queue *queue, *fresh = NULL;
	mutex_lock(&pool->lock);
	queue = pool->nnames > 0 ? *name_find(pool, hash, name) : NULL;
	if (!queue && pool->stage == POOL_OPEN) {
		mutex_unlock(&pool->lock);
		fresh = queue_new(pool, hash, name, attrs, user);
		mutex_lock(&pool->lock);
		queue = pool->nnames > 0 ? *name_find(pool, hash, name) : NULL;
	}
	if (pool->stage != POOL_OPEN) {
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

bool queue_ref(struct pool *pool, struct queue *queue) {
	mutex_lock(&pool->lock);
	bool takes = pool->stage == POOL_OPEN;
	if (takes) {
		verify(!queue->removed);
		open_once_more(queue);
	}
	mutex_unlock(&pool->lock);
	return takes;
}

// ---- close and remove ----

// Everything else of the queue is done or dropped: its last item waits now, whether the queue is paused or not.
static void last_item_due(struct queue *queue, struct deferred *deferred) {
	struct pool *pool = queue->pool;
	struct fair *fair = &queue->group->fair;
	uint64_t now = pool_now(pool);
	queue->last_state = LAST_DUE;
	++queue->submitted;
	++pool->queued;
	queue->attrs.paused = false;
	queue_reach(queue);
	fair_pause(fair, &queue->fair, false, now);
	fair_arrive(fair, &queue->fair, 1, now);
	group_wake(pool, queue->group, deferred);
}

void queue_check_removal_now(struct queue *queue, struct deferred *deferred) {
	struct pool *pool = queue->pool;
	if (queue->removed || queue->pins > 0) {
		return;
	}
	if (queue->last_state == LAST_SET) {
		last_item_due(queue, deferred);
		return;
	}
	queue->removed = true;
	name_forget(pool, queue);
	tombstone_add(pool, queue, fair_remove(&queue->group->fair, &queue->fair, pool_now(pool)));
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
	list_for_each(&pool->zombies, at) {
		queue_retire(list_entry(at, struct queue, link));
	}
	verify(list_is_empty(&pool->queues));
	free(pool->names);
	free(pool->tombstones);
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
