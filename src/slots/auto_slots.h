// -j auto for whoever runs jobs (a run, a worker): samples the running jobs and the machine, and lets the controller (controller.h) decide how many
// slots there are.
//
// A sample covers at most 64 jobs and costs some system calls for each. The pause before the next sample is so long that sampling
// takes at most a hundredth of one processor. Nothing is sampled while no item waits for a slot or no job runs.

#pragma once

#include "job/job.h"
#include "process/child.h"
#include "slots/slots.h"

struct auto_slots;
struct observation; // slots/protocol.h

// What the owner of the jobs reports when a sample is taken.
struct auto_demand {
	struct children *children; // the jobs' processes; borrowed
	unsigned taken;            // slots that are taken
	unsigned lent;             // slots that are lent to the fairpars in jobs, not counting the slots of the attempts
	bool wanted;               // items wait for a slot
};

struct auto_owner {
	void (*demand)(void *arg, struct auto_demand *ret_demand);
	void (*changed)(void *arg, unsigned slots, enum controller_reason reason); // the number of slots is `slots` from now on
	void *arg;
	int wake_fd;               // wakes the thread that calls auto_slots_tick() (wakeup_post())
};

// Begins with as many slots as there are processors, within the bounds; or, if `bounds` is NULL, only samples for the server of a pool, which
// decides. `owner` is copied. auto_slots_free() is NULL-safe.
struct auto_slots *auto_slots_new(const struct slots_bounds *bounds, const struct auto_owner *owner);
void auto_slots_free(struct auto_slots *auto_slots);

// Returns the number of slots; 0 if the server of a pool decides. Only on the thread that calls auto_slots_tick().
unsigned auto_slots_number(const struct auto_slots *auto_slots);

// To be called when items wait for a slot: sampling resumes. Any thread. NULL-safe.
void auto_slots_starving(struct auto_slots *auto_slots);

// Count an attempt of `width` slots. auto_slots_begin(): the attempt has its slots, and has not begun to wait for anything else.
// auto_slots_end(): the attempt has ended with `result`; `pace`, which only this function uses, is that of the attempt's batch. Any thread.
void auto_slots_begin(struct auto_slots *auto_slots, unsigned width);
void auto_slots_end(struct auto_slots *auto_slots, struct controller_batch *pace, unsigned width, const struct result *result);

// Samples if that is due. Returns when to call again (now_ns() time), or TIME_NEVER. NULL-safe.
uint64_t auto_slots_tick(struct auto_slots *auto_slots, uint64_t now);

// Samples the jobs for the server of a pool.
void auto_slots_observe(struct auto_slots *auto_slots, struct observation *ret_observation);
