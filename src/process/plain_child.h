// A child that keeps what the caller has: process group, stdin, stdout, stderr and terminal.
//
// If fairpar is killed, a guardian ends the child, its descendants, and the processes with the cookie in their environment, as it
// ends a run's jobs (process/guardian.h). This guardian spares processes outside of the caller's session, which have called setsid(2).

#pragma once

#include "base/attr.h"
#include "process/context.h"
#include "process/guardian.h"
#include "process/spawn.h"

#include <sys/types.h>

struct plain_child {
	pid_t pid;
	int pidfd;   // readable when the child has ended
	struct guardian guardian; // for guardian_fd() and guardian_revive()
};

// Starts the program at `path`, or the shell if the file is a script without "#!", in that context. `cookie` is "NAME=VALUE",
// which only the environment of this child has on this machine; or "". To be called while there is one thread. Returns 0, with a
// child for plain_child_wait(), or -1 with *ret_error.
int plain_child_start(const char *path, char *const *argv, const struct context *context, const char *cookie,
                      struct plain_child *ret_child, struct spawn_error *ret_error) FP_NODISCARD;

// Waits for the child's end and reaps it. Returns the child's exit status, and *ret_signal: the signal that has ended it, or 0.
int plain_child_wait(struct plain_child *child, int *ret_signal);

// Waits until the child, which was sent a stop signal, has stopped or ended; but not for long, as it may ignore the signal. To be called
// before this process stops itself: else the child would still read from the terminal what is typed for the shell.
void plain_child_await_stop(const struct plain_child *child);
