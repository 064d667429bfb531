// --pack=auto: decides how many queued items one process gets, by how long the items of the batch have taken.

#ifndef FAIRPAR_CORE_AUTOPACK_H
#define FAIRPAR_CORE_AUTOPACK_H

#include "core/job_state.h"

// Makes the state of one batch, without a measured time. The caller frees it with free().
struct autopack *autopack_create(void);

// Allocates the buffers of a worker for autopack_take(), which runs under the pool's lock and must not allocate. Before the
// worker's first item.
void autopack_prepare(struct run *run, struct worker *worker);

// For work_type.pack: adds items of the next queued record to the pack of this worker, until the pack is expected to take 200 ms
// or reaches the limits of run->packs. Returns how many it has added; 0: the pack is complete.
uint32_t autopack_take(struct worker *worker, struct queue *queue, const struct pack_view *view, const void *data, size_t size);

// Gives the job that begins on this worker the items that autopack_take() has collected. Their bytes are borrowed from the worker
// until its next job.
void autopack_adopt(struct worker_state *state, struct job *job);

// Notes how long the job's first attempt has taken for its items, by its result.
void autopack_note(const struct job *job, const struct result *result);

#endif
