// A process with pipes for its three standard streams: the launcher that starts a worker on another machine (ssh, srun, sh -c), whose stdin and
// stdout are the connection to it; also Slurm's commands.

#ifndef FAIRPAR_REMOTE_LAUNCHER_H
#define FAIRPAR_REMOTE_LAUNCHER_H

#include "process/context.h"
#include "process/spawn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct launcher_config {
	const char *path;              // of the program's file, not searched in PATH
	char *const *argv, *const *env; // NULL-terminated
	const struct context *context;
	bool prompts;                  // it may read the terminal, as ssh does: it stays in this process group, or that would stop it
};

// Non-blocking ends of its three pipes. An end that was closed is -1.
struct launcher {
	pid_t pid;
	pid_t target;                  // for kill(2): the process, or its group
	int pidfd;                     // readable when it has ended
	int in_fd;                     // to write: its stdin
	int out_fd, err_fd;            // to read
};

// Starts the process, which gets SIGKILL when the calling thread ends; all signals are blocked in that thread. It has a process group of its own,
// out of reach of the terminal's signals, unless it prompts: then the context is to ignore them. Returns 0, and the same thread calls
// launcher_end(); or -1 with *ret_error.
int launcher_start(struct launcher *launcher, const struct launcher_config *config, struct spawn_error *ret_error) FP_NODISCARD;

// Closes the pipes, so that the worker ends and with it the launcher, and waits for the end of the process until `until` (now_ns() time). Then
// its target gets SIGTERM, and SIGKILL half a second later. Writes into `ret_how` of `size` bytes how it has ended ("exit 255", "signal 9
// (KILL)"), or "" if it was killed here.
void launcher_end(struct launcher *launcher, uint64_t until, char *ret_how, size_t size);

#endif
