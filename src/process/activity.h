// How busy some processes and their descendants are, from one sample to the next.

#ifndef FAIRPAR_PROCESS_ACTIVITY_H
#define FAIRPAR_PROCESS_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ACTIVITY_PROCESSES = 64 }; // at most, in a sample

// The last sample; {0} before the first, and to begin anew.
struct activity {
	pid_t pids[ACTIVITY_PROCESSES];
	uint64_t ticks[ACTIVITY_PROCESSES];
	size_t n;
	uint64_t at;             // now_ns() time
};

// Samples the trees of `n` (at most ACTIVITY_PROCESSES) processes: each with its descendants, at some system calls for each.
// Returns how many processes run, could run or wait for a disk (proc(5): R, D). A tree that has threads counts as the processors
// that it has used since the last sample, if it was in that one and this is more. *ret_alive: how many trees still live.
double activity_sample(struct activity *activity, const pid_t *pids, size_t n, uint64_t now, unsigned *ret_alive);

#endif
