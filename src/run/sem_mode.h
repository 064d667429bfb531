// Semaphore mode: one command, run when there is room for it.

#ifndef FAIRPAR_RUN_SEM_MODE_H
#define FAIRPAR_RUN_SEM_MODE_H

#include "cli/options.h"
#include "process/context.h"

// Waits for the semaphore and runs the command, or with --wait only waits. Returns the exit status: in the background 0
// once the command is being run. Call it before any thread is started.
int sem_run(struct options *options, struct context *context);

#endif
