// Whether there are descriptors enough: for a run at all, and for how many jobs at once.

#ifndef FAIRPAR_RUN_LIMITS_H
#define FAIRPAR_RUN_LIMITS_H

#include "base/attr.h"
#include "cli/options.h"

// Checks, before anything is opened, that with a limit of `nofile` descriptors a job can be run as the options say. Returns
// 0, or -1 after a message.
int limits_check(const struct options *options, unsigned long nofile) FP_NODISCARD;

enum {
	LIMITS_TASKS = 2,      // of a slot: a thread, which is not to take the room of a job, and a process
	LIMITS_TASKS_AUTO = 4, // … and where nobody has chosen the number, two that the job itself starts
};

// How many of `slots`, of so many tasks each, fit under a tight limit of processes, at least 1. *ret_spare: there is one more, for
// the guardian.
unsigned limits_for_processes(unsigned slots, unsigned tasks, bool *ret_spare);

// Those of the limit that the jobs may have: not the files of batches, which are open as long as they have items.
unsigned long limits_for_jobs(const struct options *options, unsigned long nofile);

#endif
