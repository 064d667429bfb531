// A fixture for tests of the pool that decide when each item ends. Each item is an actor, which has a digit as its name.
//
// `notes` has what the pool did, in order: "a1 " actor 1 of queue a starts, "a1*" it passes an item that gathers slots,
// "+1 " it has its slots back, "-1 " it was dropped.

#pragma once

#include "pool_fixture.h"

#include <sched.h>

enum { ACTORS = 10 };

static struct actor {
	struct worker *worker;
	struct queue *queue;
	bool on_stage; // it has begun
	struct gate end;
} actors[ACTORS];

static mutex notes_lock;
static cond notes_changed;
static char notes[4096];
static size_t notes_len;

// Called with the pool's lock held, or without it.
static inline void note(char what, uint64_t id, char mark) {
	mutex_lock(&notes_lock);
	const char text[] = {what, (char)('0' + id), mark};
	memcpy(notes + notes_len, text, sizeof(text));
	notes_len += sizeof(text);
	mutex_unlock(&notes_lock);
	cond_broadcast(&notes_changed);
}

static inline void note_start(void *arg, const struct service *service) {
	(void)arg;
	note(service->batch[0], service->id, service->source == SOURCE_BACKFILL ? '*' : ' ');
}

static inline void note_return(void *arg, struct worker *worker) {
	(void)arg;
	for (uint64_t i = 0; i < ACTORS; ++i) {
		mutex_lock(&notes_lock); // an item is told to end, or to be pending, while its slots come back
		bool is_it = actors[i].worker == worker && actors[i].on_stage;
		mutex_unlock(&notes_lock);
		if (is_it) {
			note('+', i, ' ');
		}
	}
}

static inline enum work_status act(struct worker *worker, struct queue *queue, void *data, size_t size) {
	uint64_t id;
	memcpy(&id, data, size);
	mutex_lock(&notes_lock);
	actors[id].worker = worker;
	actors[id].queue = queue;
	actors[id].on_stage = true;
	mutex_unlock(&notes_lock);
	cond_broadcast(&notes_changed);
	gate_wait(&actors[id].end, 1);
	mutex_lock(&notes_lock);
	actors[id].on_stage = false;
	mutex_unlock(&notes_lock);
	atomic_add_relaxed(&seen.ran, 1);
	return WORK_OK;
}

static inline void act_drop(struct queue *queue, void *data, size_t size) {
	uint64_t id;
	(void)queue;
	memcpy(&id, data, size);
	note('-', id, ' ');
	atomic_add_relaxed(&seen.dropped, 1);
}

FP_UNUSED static const struct work_type act_type = {.run = act, .drop = act_drop};

static inline void open_stage(unsigned slots) {
	config.hooks.trace = config.hooks.trace ? config.hooks.trace : note_start;
	config.hooks.returned = note_return;
	mutex_init(&notes_lock, LOCK_OF_TEST);
	cond_init(&notes_changed);
	for (int i = 0; i < ACTORS; ++i) {
		mutex_init(&actors[i].end.lock, LOCK_OF_TEST);
		cond_init(&actors[i].end.changed);
	}
	open_pool(slots);
}

// Queues the actors of the string, by their digits.
static inline void queue_up_as(struct queue *queue, const struct work_type *type, const char *ids, unsigned width) {
	for (; *ids; ++ids) {
		uint64_t id = (uint64_t)(*ids - '0');
		struct work work = {.type = type, .data = &id, .size = sizeof(id), .id = id, .width = width};
		check_equal(pool_submit(pool, queue, NULL, &work, 1), SUBMIT_OK);
	}
}

static inline void queue_up(struct queue *queue, const char *ids, unsigned width) {
	queue_up_as(queue, &act_type, ids, width);
}

static inline void await_actor(int id) {
	mutex_lock(&notes_lock);
	while (!actors[id].worker) {
		cond_wait(&notes_changed, &notes_lock);
	}
	mutex_unlock(&notes_lock);
}

// Waits until `notes` is as long as `text`, checks that both are equal, and waits until all actors that have started are on stage.
static inline void expect(const char *text) {
	mutex_lock(&notes_lock);
	while (notes_len < strlen(text)) {
		cond_wait(&notes_changed, &notes_lock);
	}
	check_string(notes, text);
	for (size_t i = 0; i < notes_len; i += 3) {
		uint64_t id = (uint64_t)(notes[i + 1] - '0');
		while (notes[i] != '-' && notes[i] != '+' && !actors[id].worker) {
			cond_wait(&notes_changed, &notes_lock);
		}
	}
	mutex_unlock(&notes_lock);
}

static inline struct pool_stat stat_now(void) {
	struct pool_stat stat;
	pool_stat(pool, &stat);
	return stat;
}

// Ends the actor, and waits until the pool no longer counts it.
static inline void end(int id) {
	struct pool_stat stat = stat_now();
	uint64_t items = stat.running + stat.running_long + stat.lending, begun = stat.dispatched;
	gate_raise(&actors[id].end);
	do {
		sched_yield();
		stat = stat_now();
	} while (stat.running + stat.running_long + stat.lending + begun >= items + stat.dispatched);
}

static inline void close_stage(struct queue *a, struct queue *b) {
	for (int i = 0; i < ACTORS; ++i) {
		gate_raise(&actors[i].end);
	}
	pool_queue_close(pool, a);
	if (b) {
		pool_queue_close(pool, b);
	}
	close_pool();
}
