// How many jobs the limits of descriptors and processes allow at once.

#ifndef FAIRPAR_CORE_LIMITS_H
#define FAIRPAR_CORE_LIMITS_H

#include "base/attr.h"
#include "cli/options.h"

// Checks, before anything is opened, that a limit of `nofile` descriptors is enough to run one job with these options. Returns 0,
// or -1 after a message that names the limit needed.
int limits_check(const struct options *options, unsigned long nofile) FP_NODISCARD;

enum {
	LIMITS_TASKS = 2,      // of a slot: a thread, which is not to take the room of a job, and a process
	LIMITS_TASKS_AUTO = 4, // … and where nobody has chosen the number, two that the job itself starts
};

// Returns how many of `slots` slots, of `tasks` threads and processes each, RLIMIT_NPROC allows, at least 1. A low limit is
// tested by starting threads. *ret_spare: one more process fits, for the guardian.
unsigned limits_for_processes(unsigned slots, unsigned tasks, bool *ret_spare);

// Returns how many of `nofile` descriptors the jobs may use: all but those of --batch NAME=FILE, which stay open while they have
// items.
unsigned long limits_for_jobs(const struct options *options, unsigned long nofile);

#endif
