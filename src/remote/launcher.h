// The process that brings a worker to life on another machine (ssh, srun, sh -c): its stdin and stdout are the connection to the worker.

#ifndef FAIRPAR_REMOTE_LAUNCHER_H
#define FAIRPAR_REMOTE_LAUNCHER_H

#include "process/context.h"
#include "process/spawn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct launcher_config {
	const char *path;              // program file, already searched
	char *const *argv, *const *env; // NULL-terminated
	const struct context *context;
	bool prompts;                     // it may ask on the terminal, as ssh does: it stays in this process group, or it would be stopped
};

// Non-blocking ends of its three pipes. An end that was closed is -1.
struct launcher {
	pid_t pid;
	pid_t target;                  // for kill(2): it, or its group
	int pidfd;                     // readable when it has ended
	int in_fd;                     // to write: its stdin
	int out_fd, err_fd;            // to read
};

// Starts it, with SIGKILL for it when the calling thread ends; all signals are blocked in that thread. A process group of its own keeps
// the signals of the terminal from it; for one that asks, the context ignores them. Returns 0; the same thread calls launcher_end().
// Or returns -1 with *ret_error.
int launcher_start(struct launcher *launcher, const struct launcher_config *config, struct spawn_error *ret_error) FP_NODISCARD;

// The path of this program, for a launcher that runs it; the caller frees it.
char *launcher_self(void);

// Closes the connection, so that the worker ends and with it the launcher; waits for that, but not beyond `until` (now_ns() time): then
// it (its group, if it has one) gets SIGTERM, and SIGKILL soon after. Writes into `ret_how` of `size` bytes how it has ended ("exit 255",
// "signal 9 (KILL)"), or "" if it was killed here.
void launcher_end(struct launcher *launcher, uint64_t until, char *ret_how, size_t size);

#endif
