// How many jobs the limits of descriptors and processes allow at once.

#ifndef FAIRPAR_CORE_LIMITS_H
#define FAIRPAR_CORE_LIMITS_H

#include "base/attr.h"
#include "cli/options.h"

// Checks, before anything is opened, that a limit of `nofile` descriptors is enough to run one job with these options. Returns 0,
// or -1 after a message that names the limit needed.
int limits_check(const struct options *options, unsigned long nofile) FP_NODISCARD;

// Returns how many of `nofile` descriptors are left for jobs: all but one for each --batch NAME=FILE, whose file stays open
// while it has items.
unsigned long limits_job_fds(const struct options *options, unsigned long nofile);

// Returns how many slots `nofile` descriptors are enough for, at least 1: slots_limit(limits_job_fds()).
unsigned limits_slots_by_fds(const struct options *options, unsigned long nofile);

// How many threads and processes a slot is taken to need.
enum {
	LIMITS_TASKS = 2,      // the worker's thread and the process of its job
	LIMITS_TASKS_AUTO = 4, // and, where the user has not chosen the number of slots, two that the job starts itself
};

// Returns how many slots, `slots` at most and at least 1, RLIMIT_NPROC allows if each needs `tasks` threads and processes. A low
// limit is tested by starting threads. Sets *ret_has_guardian to whether one more process fits, for the guardian.
unsigned limits_slots_by_processes(unsigned slots, unsigned tasks, bool *ret_has_guardian);

#endif
