// -j auto: adapts the number of a run's slots to what its jobs do. This file samples the jobs, and the controller
// (slots/controller.h) decides. In a pool the controller of the server decides for all clients, and asks them for their samples.
//
// A sample covers at most 64 jobs and costs some system calls for each. The pause before the next one is so long that sampling
// takes at most a hundredth of one processor. Nothing is sampled while no item waits for a slot or no job runs.

#pragma once

#include "core/batch.h"
#include "core/run.h"
#include "job/job.h"

struct observation;

// Makes run->auto_slots, which auto_slots_close() frees (NULL-safe), for run->slots_bounds; sets run->slots to the slots to begin with.
void auto_slots_open(struct run *run);

// The same where the server of a pool decides: the run begins with run->slots.
void auto_slots_open_in_pool(struct run *run);
void auto_slots_close(struct run *run);

// For hooks.starving of the pool: items wait for a slot, so sampling resumes. Any thread.
void auto_slots_starving(struct auto_slots *auto_slots);

// Count an attempt of `width` slots: auto_slots_begin() once it has its slots, before it waits for anything else;
// auto_slots_end() when it has ended with `result`. On the thread of its worker.
void auto_slots_begin(struct auto_slots *auto_slots, unsigned width);
void auto_slots_end(struct auto_slots *auto_slots, struct batch *batch, unsigned width, const struct result *result);

// For a run in a pool, from the event loop. auto_slots_set(): the server has changed the number of slots, because of `why` (NULL:
// it is a new server). auto_slots_observe() samples the jobs for the server (slots/protocol.h).
void auto_slots_set(struct auto_slots *auto_slots, unsigned slots, const char *why);
void auto_slots_observe(struct auto_slots *auto_slots, struct observation *ret_observation);

// Prints on standard error how many slots there are, for how long, and why. From the event loop.
void auto_slots_show(const struct auto_slots *auto_slots);

// For the event loop: samples if that is due. Returns when to call again (now_ns() time), or TIME_NEVER.
uint64_t auto_slots_tick(struct auto_slots *auto_slots, uint64_t now);
