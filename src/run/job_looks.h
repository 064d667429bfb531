// What running jobs do: how many processors they use or want, or disks they wait for. Looked at again and again.

#ifndef FAIRPAR_RUN_JOB_LOOKS_H
#define FAIRPAR_RUN_JOB_LOOKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { JOB_LOOKS = 64 };     // jobs in a look

// The last look; {0} before the first, and to begin anew.
struct job_looks {
	pid_t pids[JOB_LOOKS];
	uint64_t ticks[JOB_LOOKS];
	size_t n;
	uint64_t at;             // now_ns() time
};

// Looks at the processes of `n` jobs, at most JOB_LOOKS, by their first ones: some system calls for each process. Returns how busy
// they are: at least 1 for each process that is not asleep. *ret_alive: jobs that have a process.
double job_looks_busy(struct job_looks *looks, const pid_t *pids, size_t n, uint64_t now, unsigned *ret_alive);

// How many slots the jobs take that were `seen` to have a process, of `jobs` with `theirs` slots, where so many are `taken`: jobs may
// have several, or lend them. A slot that is between two jobs is nobody's, and no job that sleeps.
double job_looks_slots(unsigned taken, unsigned theirs, unsigned jobs, unsigned seen);

// The processor time of this thread, in ns: what a look costs.
uint64_t job_looks_clock(void);

#endif
