// A few queues, with shortcuts for the tests of the fair choice.

#pragma once

#include "engine/fair.h"

#include <stdint.h>
#include <string.h>

#define S UINT64_C(1000000000)

enum { MOST = 12 };

struct world {
	struct fair fair;
	struct fair_queue queues[MOST];
	int n;
	uint64_t now;
	char trace[4096];
	size_t len;
};

static inline void world_init(struct world *world, bool time) {
	memset(world, 0, sizeof(*world));
	fair_init(&world->fair, time);
}

static inline struct fair_queue *world_add(struct world *world, uint32_t weight, int32_t priority, uint32_t limit) {
	struct fair_queue *queue = &world->queues[world->n++];
	fair_add(&world->fair, queue, weight, priority, limit, /* tag */ NULL);
	return queue;
}

static inline void world_fini(struct world *world) {
	for (int i = 0; i < world->n; ++i) {
		struct fair_queue *queue = &world->queues[i];
		if (!queue->tier) {
			continue;
		}
		fair_pause(&world->fair, queue, false, world->now);
		fair_withdraw(&world->fair, queue, queue->backlog, world->now);
		while (queue->running > 0) {
			fair_done(&world->fair, queue, queue->extra, world->now);
		}
		fair_remove(&world->fair, queue, world->now);
	}
	fair_fini(&world->fair);
}

static inline struct fair_queue *pick(struct world *world) {
	struct fair_queue *queue = fair_pick(&world->fair, world->now);
	if (queue) {
		world->trace[world->len++] = (char)('A' + (queue - world->queues));
		world->trace[world->len] = '\0';
	}
	return queue;
}

// With one slot: picks `n` times; each item ends before the next pick.
static inline const char *serve(struct world *world, int n) {
	world->len = 0;
	world->trace[0] = '\0';
	for (int i = 0; i < n; ++i) {
		struct fair_queue *queue = pick(world);
		if (!queue) {
			break;
		}
		fair_done(&world->fair, queue, 0, world->now);
	}
	return world->trace;
}

static inline void arrive(struct world *world, struct fair_queue *queue, uint64_t n) {
	fair_arrive(&world->fair, queue, n, world->now);
}

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014)
static inline uint64_t roll(uint64_t *state) {
	uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}
