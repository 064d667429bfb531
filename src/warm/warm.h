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

// Called and used on the worker's thread. `children` is borrowed until warm_destroy(). Returns NULL with WARM_OFF, and with
// WARM_AUTO in a build without servers. The other calls accept that NULL.
struct warm *warm_create(enum warm_mode mode, struct children *children);

// Ends the servers. NULL-safe.
void warm_destroy(struct warm *warm);

// The child_config.starter of the worker's next job (`by_shell`: its program is the shell), valid until the next call for this
// worker; or NULL: the job is not to be started by a server.
const struct starter *warm_starter(struct warm *warm, bool by_shell);

// Says whether the last job was started by a server: "yes" or "no, REASON"; NULL if it was not meant to be, or not yet
// (WARM_AUTO). Valid until the next call.
const char *warm_report(struct warm *warm);

#endif
