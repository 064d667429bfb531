// Warm programs: a program that many jobs run is started once, and cloned for each of them (DESIGN §9d).
//
// A job that is started so is a process like any other, a child of this one. What cannot be, or fails, is executed as ever.

#ifndef FAIRPAR_WARM_WARM_H
#define FAIRPAR_WARM_WARM_H

#include "base/attr.h"
#include "process/child.h"

#include <stdbool.h>

// Which programs are.
enum warm_mode {
	WARM_OFF,
	WARM_AUTO, // as WARM_SH, from when a worker has executed the same shell some times
	WARM_SH,   // the shell that runs commands
	WARM_ALL,  // each program that can be
};

// The servers of one worker.
struct warm;

// For the worker's thread; the children outlive it. Returns NULL with WARM_OFF, and with WARM_AUTO in a build that cannot do it.
struct warm *warm_create(enum warm_mode mode, struct children *children);

// Ends the servers. NULL-safe.
void warm_destroy(struct warm *warm);

// The child_config.starter of a job, of which `by_shell` says whether the program is the shell. Valid until the next call for the worker.
const struct starter *warm_starter(struct warm *warm, bool by_shell);

// How the job that was started last was: "yes", "no, REASON", or NULL: it was not to be warm, or not yet. Valid until the next call.
const char *warm_report(struct warm *warm);

#endif
