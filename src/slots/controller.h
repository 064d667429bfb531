// How many slots a run should have: the decisions of -j auto.
//
// A pure state machine: no clock, no threads, no I/O. What was observed of the jobs and of the machine since the last sample
// goes in; the number of slots, the reason, and when to sample again come out.
//
// The aim: as many jobs run or want a processor as there are processors, so for each job that sleeps one more job may run. Let u
// be the share of its time for which a job is busy. While processors are idle, the aim needs processors / u slots; once none is
// idle, it needs processors + sleeping jobs. Both numbers are equal at the point where the last processor becomes busy. The
// second number also falls again when jobs that slept begin to compute. A job that waits for a disk counts as busy: more such
// jobs would only wait longer.
//
// The throughput shows what the states of jobs cannot (a lock, a server that is slow because it has many clients): if more slots bring
// hardly more throughput, the controller takes these slots away, and does not try them again for a while.

#pragma once

#include "process/sysload.h"

#include <stdbool.h>
#include <stdint.h>

enum controller_reason {
	CONTROLLER_KEPT,        // nothing has changed
	CONTROLLER_CPUS_IDLE,   // more slots: there are fewer than processors
	CONTROLLER_JOBS_SLEEP,  // more slots: jobs leave processors idle
	CONTROLLER_JOBS_RUN,    // fewer slots: jobs wait for processors
	CONTROLLER_NO_GAIN,     // fewer slots: the slots that were added have brought no throughput
	CONTROLLER_MEMORY,      // fewer slots: all tasks have waited for memory
	CONTROLLER_DISK,        // fewer slots: all tasks have waited for a disk
};

// What was observed since the last sample.
struct controller_observation {
	uint64_t now;           // ns
	double cpus;            // processors that affinity and the CPU quota allow; above 0, perhaps a fraction
	unsigned running;       // slots that are taken now
	bool wanted;            // do items wait for nothing but a slot?
	double sampled;         // slots whose jobs were sampled
	double busy;            // processes of these jobs that ran, could run or waited for a disk; see activity_sample()
	struct pressure_observation pressure;
	uint64_t ended;         // number of jobs that have ended; wall_ns (their run times) and work_ns are sums over these jobs
	double wall_ns;
	double work_ns;         // sum of controller_work()
	uint64_t cost_ns;       // processor time of the sample; the next sample is so late that sampling takes at most a hundredth of a processor
};

// The throughput in a time in which the number of slots hardly changed.
struct controller_window {
	double slots;           // mean number of slots that were taken
	double gain;            // work done per time: the same as `slots` if jobs take as long as the first ones did; 0: not known
	uint64_t end;
};

enum { CONTROLLER_LEVELS = 32 };

// Other files use only `slots`, `reason` and `last`.
struct controller {
	unsigned least, most;
	unsigned slots;
	enum controller_reason reason; // reason of the last change of `slots`
	uint64_t last;          // time of the last sample
	uint64_t tick;          // ns from the last sample to the next
	uint64_t looks_start;   // when the next two sums were last set to 0 or halved
	double sampled, busy;    // sums of `sampled` and `busy` of the observations
	double wall_mean;       // mean run time of the jobs that ended last, ns
	uint64_t brake_after;   // before this time `slots` is not lowered again for memory or a disk
	uint64_t grow_after;    // before this time `slots` is not raised
	uint64_t window_start;  // when the next four sums began
	double work, slot_ns, wall, ended; // sums of work_ns, of slots taken × ns, of wall_ns and of `ended` of the observations
	struct controller_window levels[CONTROLLER_LEVELS]; // [n]: the last window with at least 2^n slots, but fewer than 2^(n+1)
	unsigned ceiling;       // the most slots to which `slots` may be raised now
	uint64_t ceiling_end;   // from this time on the ceiling may rise
	uint64_t ceiling_ns;    // how long the next ceiling will hold before it may rise
};

// Returns the number rounded up, at least 1: of a quota of 1.5 processors one job would waste a part, but two jobs use it all.
unsigned whole_cpus(double cpus);

// Begins with as many slots as there are processors, within `least` and `most` (both at least 1). Nothing is to be freed.
void controller_init(struct controller *controller, unsigned least, unsigned most, double cpus, uint64_t now);

// Begins anew after a time in which nothing was sampled: what was learned of throughput stays. Returns when to sample.
uint64_t controller_resume(struct controller *controller, uint64_t now);

// Decides from the observation how many slots there are from now on (controller->slots). Returns when to sample again.
uint64_t controller_decide(struct controller *controller, const struct controller_observation *observation);

// The amount of work that each job of a batch counts as, even if it takes longer under load: the mean time of the batch's first jobs.
struct controller_batch {
	double mean_ns;
	unsigned n;
};

// A job of the batch has ended after `wall_ns`. Returns what the job adds to controller_observation.work_ns.
double controller_work(struct controller_batch *batch, double wall_ns);

// Returns how many slots a sample stands for, if `sampled` of the `jobs` jobs had a process. `taken`: slots that are taken; `width`: the slots of
// the jobs together, which may be fewer (a slot is between two jobs) or more (a job lends its slots). The smaller of the two counts.
double controller_sampled_slots(unsigned taken, unsigned width, unsigned jobs, unsigned sampled);

// Returns the reason in words, such as "jobs sleep", for the log. Static text.
const char *controller_reason_name(enum controller_reason reason);
