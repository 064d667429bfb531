// How busy some processes and their descendants are, from one sample to the next.

#ifndef FAIRPAR_PROCESS_ACTIVITY_H
#define FAIRPAR_PROCESS_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ACTIVITY_PROCESSES = 64 }; // at most, in a sample

// The last sample. It is {0} before the first one, and is set to {0} to begin anew.
struct activity {
	pid_t pids[ACTIVITY_PROCESSES];
	uint64_t ticks[ACTIVITY_PROCESSES];
	size_t n;
	uint64_t at;             // now_ns() time
};

// Samples the trees of `n` (at most ACTIVITY_PROCESSES) processes, each with its descendants, at time `now` (now_ns()). Makes a few
// system calls for each process. Returns how many processes run, could run, or wait for a disk (proc(5): R, D). A tree with threads
// counts as the number of processors that it has used since the last sample, if it was in that sample and this number is larger.
// Sets *ret_alive to the number of trees that still have a living process.
double activity_sample(struct activity *activity, const pid_t *pids, size_t n, uint64_t now, unsigned *ret_alive);

#endif
