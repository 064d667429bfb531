// Runs a command of Slurm or ssh to its end, and returns its output.

#ifndef FAIRPAR_HOSTS_HOST_COMMAND_H
#define FAIRPAR_HOSTS_HOST_COMMAND_H

#include "base/attr.h"
#include "base/buf.h"
#include "process/context.h"

#include <stdint.h>

struct host_command {
	char *const *argv;             // the first is looked for in PATH
	char *const *env;
	const struct context *context;
	int cut_fd;                    // readable: the command is cut short; or -1
	uint64_t until;                // now_ns() time, at which the command is cut short, too
};

// Runs it on the calling thread, with an empty standard input, and waits for its end. Appends what it prints to *ret_out. Returns 0 if it has
// exited with 0; or -1 with *ret_why, for a message: the first line of its standard error, or else how it
// has ended.
int host_command_run(const struct host_command *command, struct buf *ret_out, struct buf *ret_why) FP_NODISCARD;

// The environment for those of Slurm: without the variables that change what they print. The caller frees the array.
char **host_command_slurm_env(char *const *env);

#endif
