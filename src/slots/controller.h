// How many slots a run should have: the decisions of -j auto.
//
// A pure state machine: no clock, no threads, no I/O. What was observed of the jobs and of the machine since the last sample
// goes in; the number of slots, the reason, and when to sample again come out.
//
// Jobs that run or want a processor are as many as there are processors; each job that sleeps gives its slot to one more.
// If u is the part of its time that a job is busy, that is processors / u slots, as long as the processors are not full;
// then it is processors + jobs that sleep. Both are the same number at the point where they become full, and the second
// also finds the way back when jobs that slept begin to compute. Jobs that wait for a disk are busy: more of them would
// only wait longer.
//
// The throughput shows what the states of jobs cannot (a lock, a server that is slow because it has many clients): if twice the
// slots bring no more, the controller takes the second half away, and does not try it again for a while.

#pragma once

#include <stdbool.h>
#include <stdint.h>

enum controller_reason {
	CONTROLLER_KEPT,        // nothing has changed
	CONTROLLER_CPUS_IDLE,   // more: there are fewer slots than processors
	CONTROLLER_JOBS_SLEEP,  // more: jobs leave processors idle
	CONTROLLER_JOBS_RUN,    // fewer: jobs wait for processors
	CONTROLLER_NO_GAIN,     // fewer: the slots that were added have brought no throughput
	CONTROLLER_MEMORY,      // fewer: all tasks have waited for memory
	CONTROLLER_DISK,        // fewer: all tasks have waited for a disk
};

// What was observed since the last sample. Shares are of that time, 0 to 1; 0 where the system does not tell.
struct controller_observation {
	uint64_t now;           // ns
	double cpus;            // that may be used, above 0: affinity, and the quota, which may be a fraction
	unsigned running;       // slots that are taken now
	bool wanted;            // do items wait for nothing but a slot?
	double sampled;         // slots whose jobs were sampled
	double busy;            // processes of these jobs that ran, could run or waited for a disk; see activity_sample()
	double idle;            // share of the processors that nobody used
	uint64_t ended;         // jobs, and of these, in all:
	double wall_ns;
	double work_ns;         // controller_work()
	double memory_full;     // share of the time in which no task ran, for all waited for memory (PSI "full")
	double disk_full;       // the same for I/O
};

// What was done in some time in which the number of slots hardly changed.
struct controller_window {
	double slots;           // the mean of those taken
	double gain;            // work done per time: as many as `slots`, if jobs took as long as the first ones; 0: not known
	uint64_t end;
};

enum { CONTROLLER_LEVELS = 32 };

// Samples may take 1/CONTROLLER_COST_PART of one processor's time: the caller puts the next one off accordingly.
enum { CONTROLLER_COST_PART = 100 };

// Others read `slots` and `reason`.
struct controller {
	unsigned least, most;
	unsigned slots;
	enum controller_reason reason; // of the last change
	uint64_t last;          // sample
	uint64_t tick;          // ns until the next
	uint64_t looks_start;
	double sampled, busy;    // as in controller_observation, all since then
	double wall_mean;       // of the jobs that ended last
	uint64_t brake_after;   // no further step down before
	uint64_t grow_after;    // nor one up
	uint64_t window_start;
	double work, slot_ns, wall, ended; // since then
	struct controller_window levels[CONTROLLER_LEVELS]; // the last one with 2^n slots or more
	unsigned ceiling;       // slots: not to be exceeded
	uint64_t ceiling_end;   // … before this time
	uint64_t ceiling_ns;    // how long the next ceiling will hold
};

// Begins with as many slots as there are processors, within `least` and `most` (both at least 1). Nothing is to be freed.
void controller_init(struct controller *controller, unsigned least, unsigned most, double cpus, uint64_t now);

// Begins anew after a time in which nothing was sampled: what was learned of throughput stays. Returns when to sample.
uint64_t controller_resume(struct controller *controller, uint64_t now);

// Decides. Returns when to sample again; controller->slots may be another number then.
uint64_t controller_decide(struct controller *controller, const struct controller_observation *observation);

// What a job of a batch is worth, whatever the load made of it: the mean time that its first jobs took.
struct controller_batch {
	double mean_ns;
	unsigned n;
};

// A job of the batch has ended after `wall_ns`. Returns what it counts in controller_observation.work_ns.
double controller_work(struct controller_batch *batch, double wall_ns);

// Returns for how many slots a sample stands: `sampled` of `jobs` jobs had a process. `taken`: slots that are taken; `width`: the
// slots of the jobs together, which may be fewer (a slot between two jobs) or more (a job lends its slots). The lesser counts.
double controller_sampled_slots(unsigned taken, unsigned width, unsigned jobs, unsigned sampled);

// For the log: "jobs sleep" and so on.
const char *controller_reason_name(enum controller_reason reason);
