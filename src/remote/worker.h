// `fairpar --worker`: runs the jobs that a dispatcher sends over descriptors 0 and 1, as fairpar-worker(7) has it.
//
// The thread of the loop reads and writes the connection; each job has a thread, on which child_run() executes it. When the connection ends
// or breaks, all jobs are ended, as by --term-seq, before the worker is.

#pragma once

#include "process/child.h"
#include "process/context.h"

#include <stdint.h>

struct remote_worker_config {
	unsigned slots;      // jobs at once
	uint64_t left;       // seconds until its time is over, 0: no end; two seconds and term_seq before that the jobs are ended, and for up to a
	                     // minute before none is taken
	const char *node;    // the machine's name
	struct term_seq term_seq; // how jobs are ended
	double max_load;     // no job starts at this load of the machine or above; 0: no limit
	uint64_t memfree;    // no job starts with fewer bytes of memory free; 0: no limit
};

// Runs until the dispatcher releases the worker, the connection breaks, or a signal ends the process. Returns 0 after a release, else
// EXIT_TROUBLE after a message; dies by a signal itself. Called while the process has one thread. `context` is borrowed; jobs inherit it.
int worker_serve(const struct remote_worker_config *config, struct context *context);
