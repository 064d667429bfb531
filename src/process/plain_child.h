// A child that is left as it is: in the process group of the caller, with its stdin, stdout, stderr and terminal.
//
// If fairpar is killed, a guardian ends it as it ends a run's jobs (process/guardian.h): it, its descendants, and what has the
// cookie in its environment; but nothing that has called setsid(2), for the caller's session is the child's, too.

#ifndef FAIRPAR_PROCESS_PLAIN_CHILD_H
#define FAIRPAR_PROCESS_PLAIN_CHILD_H

#include "base/attr.h"
#include "process/context.h"
#include "process/guardian.h"
#include "process/spawn.h"

#include <sys/types.h>

struct plain_child {
	pid_t pid;
	int pidfd;   // readable when it has ended
	struct guardian guardian;
};

// Starts the program at `path`, or the shell if that is a script without "#!", in that context. `cookie` is a "NAME=VALUE" that
// its environment has, and that of nothing else on this machine; or "". While there is one thread. Returns 0, with a child for plain_child_wait(), or -1 with *ret_error.
int plain_child_start(const char *path, char *const *argv, const struct context *context, const char *cookie,
                      struct plain_child *ret_child, struct spawn_error *ret_error) FP_NODISCARD;

// For poll(2) without events: POLLERR says that the guardian has died, and plain_child_revive_guardian() starts another one. Or -1.
int plain_child_guardian_fd(struct plain_child *child);
void plain_child_revive_guardian(struct plain_child *child);

// Waits for its end and forgets it. Returns its exit status, and *ret_signal: the signal that has ended it, or 0.
int plain_child_wait(struct plain_child *child, int *ret_signal);

// Sends it alone a signal, if it has not ended.
void plain_child_signal(const struct plain_child *child, int signal);

// Waits, for a moment at most, until it has stopped or ended; it may have ignored the signal. To be called before this process
// stops itself: else the child would still read from the terminal what is typed for the shell.
void plain_child_await_stop(const struct plain_child *child);

#endif
