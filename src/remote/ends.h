// What both ends of a connection know of a job.

#ifndef FAIRPAR_REMOTE_ENDS_H
#define FAIRPAR_REMOTE_ENDS_H

#include "job/job.h"
#include "process/spawn.h"

#include <stddef.h>
#include <stdint.h>

enum {
	OUTPUT_WINDOW = 256 * 1024, // bytes of a job's output that may be under way
	INPUT_WINDOW = 64 * 1024,   // the same of its input
	MARK_SIZE = 32,             // hexadecimal digits
};

// The first line of a dispatcher is this, the mark and a newline; a worker answers with a newline, the mark and a newline.
#define GREETING "fairpar-worker 1 "

// How a job is to be ended, as numbers of a frame.
enum stop_how {
	STOP_CANCEL,  // its outcome is OUTCOME_CANCELLED; by the steps of --term-seq
	STOP_EXPIRE,  // OUTCOME_TIMEOUT; likewise
	STOP_KILL,    // cancelled, by SIGKILL
	STOP_HOWS
};

// What a worker says of itself.
struct worker_hello {
	unsigned slots;
	uint64_t left;    // seconds until its time is over, 0: no end
	uint64_t memory;  // bytes of the machine, 0: not known
	const char *node; // its name
};

// How an attempt has ended, by the worker's account: times of `result` are from 0.
struct job_end {
	struct result result;
	struct spawn_error error; // of OUTCOME_SPAWN_ERROR
};

#endif
