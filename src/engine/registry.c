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

// Backward shift (Knuth, TAOCP 3, 6.4, algorithm R): no tombstones, so a million keys leave nothing here.
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

// ---- what removed queues leave behind ----

static struct past *past_find(const struct pool *pool, uint64_t hash) {
	size_t mask = pool->pasts_cap - 1;
	for (size_t i = (size_t)(hash >> 8) & mask;; i = (i + 1) & mask) {
		struct past *past = &pool->pasts[i];
		if (past->hash == 0 || (past->hash ^ hash) >> 8 == 0) {
			return past;
		}
	}
}

static struct fair_tag past_tag(const struct past *past) {
	return (struct fair_tag){.virt = past->virt, .tier = (uint8_t)past->hash};
}

// Worth its place: the owner has left a number, or the name was ahead and has not been passed.
static bool past_matters(const struct pool *pool, const struct past *past) {
	return past->hash != 0 && (past->keep != 0 || !fair_has_passed(&pool->sides[0].fair, past_tag(past)));
}

// Makes room for one more: throws away those that mean nothing any more, and grows if that is not half of them.
static void pasts_grow(struct pool *pool) {
	if ((pool->npasts + 1) * 8 <= pool->pasts_cap * 7) {
		return;
	}
	struct past *old = pool->pasts;
	size_t old_cap = pool->pasts_cap, n = 0;
	for (size_t i = 0; i < old_cap; ++i) {
		n += past_matters(pool, &old[i]);
	}
	pool->pasts_cap = old_cap == 0 ? 16 : n * 2 > old_cap ? old_cap * 2 : old_cap;
	alloc_forbid(-1); // each time the table doubles or is cleared of half of it
	pool->pasts = xcalloc(pool->pasts_cap, sizeof(pool->pasts[0]));
	alloc_forbid(+1);
	pool->npasts = n;
	for (size_t i = 0; i < old_cap; ++i) {
		if (past_matters(pool, &old[i])) {
			*past_find(pool, old[i].hash) = old[i];
		}
	}
	free(old);
}

// A past that means nothing is not kept. (Long-running items are not charged for slots.)
static void past_keep(struct pool *pool, const struct queue *queue, struct fair_tag tag) {
	if (queue->side == &pool->sides[1]) {
		tag.tier = 0;
	}
	if (queue->keep == 0 && tag.tier == 0 && pool->npasts == 0) {
		return;
	}
	pasts_grow(pool);
	struct past *past = past_find(pool, queue->hash);
	if (past->hash == 0) {
		if (queue->keep == 0 && tag.tier == 0) {
			return;
		}
		++pool->npasts;
	}
	past->hash = (queue->hash & ~UINT64_C(0xFF)) | tag.tier;
	past->virt = tag.virt;
	past->keep = queue->keep;
}

static struct fair_tag past_recall(const struct pool *pool, struct queue *queue) {
	struct fair_tag tag = {0};
	if (pool->npasts > 0) {
		const struct past *past = past_find(pool, queue->hash);
		if (past->hash != 0) {
			tag = queue->side == &pool->sides[0] ? past_tag(past) : tag;
			queue->keep = past->keep;
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
	queue->side = &pool->sides[attrs->long_running];
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
	struct fair_tag tag = past_recall(pool, queue);
	fair_add(&queue->side->fair, &queue->fair, attrs_weight(attrs), attrs->priority, attrs->max_parallel, &tag);
	if (attrs->paused) {
		fair_pause(&queue->side->fair, &queue->fair, true, pool_now(pool));
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
	uint64_t hash = name_hash(name, strlen(name)) | UINT64_C(1) << 63; // never 0, also in a past
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
static void finale_due(struct queue *queue, struct errands *errands) {
	struct pool *pool = queue->pool;
	struct fair *fair = &queue->side->fair;
	uint64_t now = pool_now(pool);
	queue->finale_state = FINALE_DUE;
	++queue->submitted;
	++pool->queued;
	queue->attrs.paused = false;
	queue_reach(queue);
	fair_pause(fair, &queue->fair, false, now);
	fair_arrive(fair, &queue->fair, 1, now);
	side_wake(pool, queue->side, errands);
}

void queue_check_removal_now(struct queue *queue, struct errands *errands) {
	struct pool *pool = queue->pool;
	if (queue->removed || queue->pins > 0) {
		return;
	}
	if (queue->finale_state == FINALE_KEPT) {
		finale_due(queue, errands);
		return;
	}
	queue->removed = true;
	name_forget(pool, queue);
	past_keep(pool, queue, fair_remove(&queue->side->fair, &queue->fair, pool_now(pool)));
	list_remove(&queue->link);
	list_push_back(&pool->zombies, &queue->link);
	queue->next_removed = errands->removed;
	errands->removed = queue;
	errands->any = true;
	++pool->nbusy;
}

void queue_shut(struct queue *queue, struct errands *errands) {
	if (!queue->closed) {
		queue->closed = true;
		--queue->pool->nopen;
		queue_check_removal(queue, errands);
	}
}

// The last one of those who know a removed queue.
void queue_bury(struct queue *queue) {
	struct pool *pool = queue->pool;
	list_remove(&queue->link);
	pool->struct_mem -= queue_bytes(queue);
	queue_free(queue);
}

void names_fini(struct pool *pool) {
	list_for_each(&pool->zombies, at) {
		queue_bury(list_entry(at, struct queue, link));
	}
	verify(list_is_empty(&pool->queues));
	free(pool->names);
	free(pool->pasts);
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

atomic_uint_least64_t *queue_keep(struct queue *queue) {
	return &queue->keep;
}
