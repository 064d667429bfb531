// Holds back jobs until the machine's load and memory, --delay auto and -p let them start; suspends or ends running jobs for
// memory and --timeout N%; rereads the file of -j FILE.
//
// A worker that has taken a job waits here until the job may start. Jobs are let in one at a time, in the order in which they
// came. The conditions are checked again when a job ends and, while one waits, once a second.

#ifndef FAIRPAR_CORE_ADMISSION_H
#define FAIRPAR_CORE_ADMISSION_H

#include "core/run.h"
#include "job/event.h"

// Makes run->admission, if the options ask for any of it; `jobs` is the value of -j (borrowed). Returns 0, or -1 after a
// message.
int admission_open(struct run *run, const char *jobs);

// Frees run->admission, which may be NULL, when no worker waits any more.
void admission_close(struct run *run);

// What a job waits for, in words.
#define ADMISSION_DELAY "the last start was too short a time ago (--delay)"

// How long a child had to wait.
struct admission_wait {
	uint64_t ns;          // 0: not at all
	enum event_why why;
};

// Waits on the worker's thread until the child may start; the next item may be dispatched meanwhile (worker_pass()). Returns true, and
// admission_leave() follows; or false if admission_stop() was called. `must`: returns true even then, without waiting any longer. `elsewhere`: the child runs on another
// machine, so the load and memory of this one are not checked.
bool admission_enter(struct admission *admission, struct worker *worker, bool must, bool elsewhere, struct admission_wait *ret_wait);

// To be called when the child that was let in runs: the next reading of load and memory sees it.
void admission_started(struct admission *admission);

// To be called when a child that was let in has ended, or has not started after all; `result` is its own.
void admission_leave(struct admission *admission, const struct result *result);

// Says on standard error how many jobs wait here, if any, and for what. From any thread.
void admission_show(struct admission *admission);

// Lets no more children start: admission_enter() returns false, but for those with `must`. From any thread.
void admission_stop(struct admission *admission);

// What the event loop does for running children. Returns when to call again (now_ns() time), or TIME_NEVER.
uint64_t admission_tick(struct admission *admission, uint64_t now);

#endif
