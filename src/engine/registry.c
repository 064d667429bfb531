// What the pool knows by name: queues, and what removed queues leave behind.

#include "engine/internal.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <errno.h>

enum { QUEUE_BYTES = sizeof(struct queue) + 4 * sizeof(void *) }; // a queue, and what the heap of the fair choice and the allocator need for it

// ---- open ----

// Returns the name's number in pool->names; a name that is not there is added.
static uint32_t name_number(struct pool *pool, const char *name) {
	size_t len = strlen(name);
	uint32_t number = map_get(&pool->name_numbers, name, len);
	if (number == MAP_NONE) {
		number = (uint32_t)pool->nnames;
		grow_array(&pool->names, &pool->names_cap, ++pool->nnames, sizeof(pool->names[0]));
		pool->names[number] = (struct name){.text = arena_text(&pool->name_texts, name, len)};
		map_add(&pool->name_numbers, pool->names[number].text, len, number);
	}
	return number;
}

// Makes the queue of that name, with what an earlier queue of this name has left behind. Allocates with the lock held, which happens seldom, and
// never for a job.
static struct queue *queue_create(struct pool *pool, uint32_t number, const struct queue_attrs *attrs, void *user) {
	struct name *name = &pool->names[number];
	struct queue *queue = NEW(struct queue);
	struct group *group = &pool->groups[attrs->long_running];
	*queue = (struct queue){
		.pool = pool, .group = group, .attrs = *attrs, .user = user, .name = name->text, .number = number, .user_count = name->user_count,
	};
	list_init(&queue->locals);
	list_init(&queue->exempt);
	list_init(&queue->items);
	list_init(&queue->extents);
	list_init(&queue->tail);
	list_init(&queue->spillable);
	name->tag.tier = group == &pool->groups[0] ? name->tag.tier : 0; // long-running items are not charged for slots
	fair_add(&group->fair, &queue->fair, attrs->weight, attrs->priority, attrs->max_parallel, &name->tag);
	queue_set_fair(queue);
	list_push_back(&pool->queues, &queue->link);
	pool->struct_mem += QUEUE_BYTES;
	++pool->nqueues;
	return name->queue = queue;
}

void queue_set_pause(struct queue *queue) {
	fair_pause(&queue->group->fair, &queue->fair, queue->attrs.paused || queue->holds > 0, pool_now(queue->pool));
}

void queue_set_fair(struct queue *queue) {
	struct pool *pool = queue->pool;
	const struct queue_attrs *attrs = &queue->attrs;
	pool->has_rates |= attrs->start_interval > 0;
	fair_set(&queue->group->fair, &queue->fair, attrs->weight, attrs->priority, attrs->max_parallel, attrs->start_interval, pool_now(pool));
	queue_set_pause(queue);
}

static void open_once_more(struct queue *queue) {
	queue->closed = false;
	++queue->opens;
}

struct queue *pool_queue_open(struct pool *pool, const char *name, const struct queue_attrs *attrs, void *user) {
	FP_HOLD(&pool->lock);
	if (pool->shut) {
		errno = ESHUTDOWN;
		return NULL;
	}
	uint32_t number = name_number(pool, name);
	struct queue *queue = pool->names[number].queue;
	queue = queue ? queue : queue_create(pool, number, attrs, user);
	open_once_more(queue);
	return queue;
}

struct queue *pool_queue_find(struct pool *pool, const char *name) {
	FP_HOLD(&pool->lock);
	uint32_t number = map_get(&pool->name_numbers, name, strlen(name));
	struct queue *queue = pool->shut || number == MAP_NONE ? NULL : pool->names[number].queue;
	if (queue) {
		open_once_more(queue);
	}
	return queue;
}

bool queue_ref(struct pool *pool, struct queue *queue) {
	FP_HOLD(&pool->lock);
	if (pool->shut) {
		return false;
	}
	verify(!queue->removed);
	open_once_more(queue);
	return true;
}

// ---- close and remove ----

// Puts the last item at the head of the front, to start even if the queue is paused: everything else of the queue is done or dropped.
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
	struct name *name = &pool->names[queue->number];
	name->queue = NULL;
	name->tag = fair_remove(&queue->group->fair, &queue->fair, pool_now(pool));
	name->tag.tier = queue->group == &pool->groups[0] ? name->tag.tier : 0;
	name->user_count = queue->user_count;
	list_remove(&queue->link);
	list_push_back(&pool->zombies, &queue->link);
	queue->next_removed = deferred->removed;
	deferred->removed = queue;
	deferred->any = true;
}

void queue_shut(struct queue *queue, struct deferred *deferred) {
	if (!queue->closed) {
		queue->closed = true;
		queue_check_removal(queue, deferred);
	}
}

void queue_retire(struct queue *queue) {
	struct pool *pool = queue->pool;
	list_remove(&queue->link);
	pool->struct_mem -= QUEUE_BYTES;
	queue_free(queue);
}

void names_fini(struct pool *pool) {
	list_for_each_entry(&pool->zombies, struct queue, queue, link) {
		queue_retire(queue);
	}
	verify(list_is_empty(&pool->queues));
	map_fini(&pool->name_numbers);
	arena_fini(&pool->name_texts);
	free(pool->names);
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
