// Packing by time (--pack=auto): which items go along with one that begins, and how long they have taken.

#ifndef FAIRPAR_RUN_AUTOPACK_H
#define FAIRPAR_RUN_AUTOPACK_H

#include "run/worker_state.h"

// Makes what is kept of a batch: how long its items have taken. Nothing is known yet. The caller frees it with free().
struct autopack *autopack_create(void);

// Prepares a worker of a run with run->packs for autopack_take(), which must not allocate. Before its first item.
void autopack_prepare(struct run *run, struct worker *worker);

// work_type.pack of items: as many as take 200 ms by what is known, within run->packs.
uint32_t autopack_take(struct worker *worker, struct queue *queue, const struct pack_view *view, const void *data, size_t size);

// Gives to the job that begins on this worker the items that autopack_take() has taken for it. They are the worker's
// until its next job.
void autopack_adopt(struct worker_state *state, struct job *job);

// Notes how long the job's first attempt has taken for its items, by its result.
void autopack_note(const struct job *job, const struct result *result);

#endif
