// `fairpar --worker`: runs the jobs that a dispatcher sends over descriptors 0 and 1, as fairpar-worker(7) has it.
//
// The thread of the loop reads and writes the connection; each job has a thread, on which child_run() executes it. When the connection ends
// or breaks, all jobs are ended, as by --term-seq, before the worker is.

#ifndef FAIRPAR_REMOTE_WORKER_H
#define FAIRPAR_REMOTE_WORKER_H

#include "process/child.h"
#include "process/context.h"

#include <stdint.h>

struct remote_worker_config {
	unsigned slots;      // jobs at once
	uint64_t left;       // seconds until its time is over, 0: no end. A little before it takes no further job
	const char *node;    // its name
	struct term_seq term_seq; // how jobs are ended
	double max_load;     // no job starts from that load of the machine on; 0: any
	uint64_t memfree;    // … with fewer bytes of memory free
};

// Runs until the dispatcher lets it go, or the connection breaks, or a signal ends it. Returns the exit status: 0 in the first case, else
// EXIT_TROUBLE after a message; does not return from a signal. The process has one thread.
int worker_serve(const struct remote_worker_config *config, struct context *context);

#endif
