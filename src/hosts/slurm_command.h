// One command of Slurm, run to its end: what it has printed, and how it ended.

#ifndef FAIRPAR_HOSTS_SLURM_COMMAND_H
#define FAIRPAR_HOSTS_SLURM_COMMAND_H

#include "base/attr.h"
#include "base/buf.h"
#include "process/context.h"

#include <stdint.h>

struct slurm_command {
	char *const *argv;             // the first is looked for in PATH
	char *const *env;
	const struct context *context;
	int cut_fd;                    // readable: the command is cut short; or -1
	uint64_t until;                // the same, when that time has come (now_ns() time)
};

// Runs it on the calling thread, with no input. Returns 0 with what it has printed in *ret_out; or -1 with a text in *ret_why: how it
// has failed, and the first line of what it said.
int slurm_command_run(const struct slurm_command *command, struct buf *ret_out, struct buf *ret_why) FP_NODISCARD;

// The environment for such commands: without the variables that change what they print. The caller frees the array.
char **slurm_command_env(char *const *env);

#endif
