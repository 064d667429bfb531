// The front: the entries that go before the turn of any queue [E13]. They are items that were brought forward, queues' last items, and items that
// want back the slots that they have lent.

#include "engine/internal.h"

#include "base/alloc.h"

static uint32_t front_width(const struct group *group, const struct front *front) {
	bool is_long = group == &front->queue->pool->groups[1];
	return is_long ? 1 : front->worker ? front->worker->width : front->item->width;
}

static bool is_last(const struct front *front) {
	return !front->worker && (front->item->flags & ITEM_LAST);
}

static bool is_early(const struct front *front) {
	const struct queue *queue = front->queue;
	return queue->fair.interval > 0 && !front->worker && queue->group->released < queue->fair.due;
}

// Returns whether the queue keeps the entry back, by its max_parallel, its rate or attrs.paused: then the entries behind it go first. queue->holds,
// which pauses the queue in the fair choice [E17], keeps no entry back: an item that was brought forward may be needed before other jobs can go on.
static bool is_passed_over(const struct front *front) {
	const struct fair_queue *fair = &front->queue->fair;
	bool is_kept = (fair->limit > 0 && fair->running >= fair->limit) || (front->queue->attrs.paused && !front->worker) || is_early(front);
	return is_kept && !is_last(front);
}

uint64_t front_next_due(const struct group *group) {
	uint64_t due = TIME_NEVER;
	list_for_each_entry(&group->front, const struct front, front, link) {
		due = is_early(front) && !is_last(front) && front->queue->fair.due < due ? front->queue->fair.due : due;
	}
	return due;
}

struct front *front_first(const struct group *group) {
	list_for_each_entry(&group->front, struct front, front, link) {
		if (!is_passed_over(front)) {
			return front;
		}
	}
	return NULL;
}

uint64_t front_slots(const struct group *group) {
	uint64_t n = 0;
	list_for_each_entry(&group->front, struct front, front, link) {
		n += is_passed_over(front) ? 0 : front_width(group, front);
	}
	return n;
}

void front_add(struct front *front) {
	struct queue *queue = front->queue;
	(is_last(front) ? list_push_front : list_push_back)(&queue->group->front, &front->link);
	++queue->pins;
	queue->nfront += !front->worker;
}

void front_add_item(struct queue *queue, struct queued_item *item) {
	struct front *front = NEW(struct front);
	*front = (struct front){.queue = queue, .item = item};
	front_add(front);
	++queue->pool->queued;
}

void front_remove(struct front *front) {
	struct queue *queue = front->queue;
	list_remove(&front->link);
	--queue->pins;
	queue->nfront -= !front->worker;
}

void front_give_back(struct worker *worker) {
	struct pool *pool = worker->pool;
	struct group *group = worker->group;
	uint64_t now = pool_now(pool);
	if (worker->lending == RETURNS) {
		front_remove(&worker->back);
	}
	worker->lending = KEEPS;
	--group->lending;
	group->lending_pending -= worker->state == PENDING;
	group->running += worker->width;
	fair_resume(&group->fair, &worker->queue->fair, worker->extra, now);
	worker->away += now - worker->lent_at;
	if (group->fair.time) {
		fair_expect(&worker->queue->fair, &worker->job, worker->width, now);
	}
	--worker->queue->pins;
	pool->surplus_reported = false;
	if (worker->runner) {
		cond_signal(&worker->runner->wake); // the thread may be in worker_wait_end()
	}
	if (pool->config.hooks.returned) {
		pool->config.hooks.returned(pool->config.hooks.arg, worker);
	}
}

bool group_is_for_last(const struct group *group) {
	const struct front *first = front_first(group);
	return first && is_last(first);
}

void front_settle(struct group *group) {
	struct front *first;
	while ((first = front_first(group)) && first->worker && group_has_room(group, first->worker->width)) {
		front_give_back(first->worker);
	}
}

bool group_is_for_reserver(const struct group *group) {
	return group->reserver && !front_first(group) && group_has_room(group, group->reserver->width);
}

bool group_has_work(struct pool *pool, struct group *group) {
	const struct front *first = front_first(group);
	if (!pool_dispatches(pool)) {
		return false;
	}
	if (first) {
		return !first->worker && group_has_room(group, front_width(group, first));
	}
	if (group->reserver) {
		return group_is_for_reserver(group) || backfill_find(pool, group);
	}
	return group->waiting < WAITING_MOST && fair_is_eligible(&group->fair) && group->running < group->fair.slots;
}
