// A child that is left as it is: in the process group of the caller, with its stdin, stdout, stderr and terminal. It
// runs on when fairpar is killed.

#ifndef FAIRPAR_PROCESS_PLAIN_CHILD_H
#define FAIRPAR_PROCESS_PLAIN_CHILD_H

#include "base/attr.h"
#include "process/context.h"
#include "process/spawn.h"

#include <sys/types.h>

struct plain_child {
	pid_t pid;
	int pidfd;   // readable when it has ended
};

// Starts the program at `path`, or the shell if that is a script without "#!", in that context. While there is one
// thread. Returns 0, with a child for plain_child_wait(), or -1 with *ret_error.
int plain_child_start(const char *path, char *const *argv, const struct context *context, struct plain_child *ret_child,
                      struct spawn_error *ret_error) FP_NODISCARD;

// Waits for its end and forgets it. Returns its exit status, and *ret_signal: the signal that has ended it, or 0.
int plain_child_wait(struct plain_child *child, int *ret_signal);

// Sends it a signal, if it has not ended.
void plain_child_signal(const struct plain_child *child, int signal);

// Waits, for a moment at most, until it has stopped or ended; it may have ignored the signal. To be called before this process
// stops itself: else the child would still read from the terminal what is typed for the shell.
void plain_child_await_stop(const struct plain_child *child);

#endif
