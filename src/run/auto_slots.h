// -j auto: the number of a run's slots, by what its jobs do. It looks, the controller decides (slots/controller.h); that of a pool's
// server for all of its clients, which are asked what they see.
//
// A look costs some system calls for each job that is looked at, of which there are at most 64; the next one follows so much
// later that they take no more than a hundredth of one processor. Nothing is looked at while no item waits for a slot or no
// job runs.

#ifndef FAIRPAR_RUN_AUTO_SLOTS_H
#define FAIRPAR_RUN_AUTO_SLOTS_H

#include "job/job.h"
#include "run/batch.h"
#include "run/run.h"
#include "slots/slots.h"

struct observation;

// Makes run->auto_slots, which auto_slots_close() frees (NULL-safe). Returns the slots to begin with.
unsigned auto_slots_open(struct run *run, const struct slots_bounds *bounds);

// The same in a pool whose server decides: the run has `slots` now, and never more than `most`.
void auto_slots_open_in_pool(struct run *run, unsigned most, unsigned slots);
void auto_slots_close(struct run *run);

// How many slots there are, from the event loop.
unsigned auto_slots_now(const struct auto_slots *auto_slots);

// The fewest and the most slots that the run is ever going to have, also where their number is fixed; the fewest are 0 where nobody
// knows it.
struct slots_bounds auto_slots_bounds(const struct run *run);

// hooks.starving of the pool: items wait for a slot again. From any thread.
void auto_slots_starving(struct auto_slots *auto_slots);

// An attempt of a job of the batch, with `width` slots, begins, before it waits for anything else than these; and has ended. On its
// worker.
void auto_slots_begin(struct auto_slots *auto_slots, unsigned width);
void auto_slots_end(struct auto_slots *auto_slots, struct batch *batch, unsigned width, const struct result *result);

// In a pool, from the event loop: it has so many slots now, because of `why` (NULL: the server begins anew with so many). And: what the
// server is to know of the jobs (slots/protocol.h).
void auto_slots_set(struct auto_slots *auto_slots, unsigned slots, const char *why);
void auto_slots_observe(struct auto_slots *auto_slots, struct observation *ret_observation);

// Says on standard error how many slots there are, and why. From the event loop.
void auto_slots_show(const struct auto_slots *auto_slots);

// For the event loop: looks if that is due. Returns when to call again (now_ns() time), or TIME_NEVER.
uint64_t auto_slots_tick(struct auto_slots *auto_slots, uint64_t now);

#endif
