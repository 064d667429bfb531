// How an attempt of a job is executed: the seam behind which a child process stands, and anything else that can take its place.

#ifndef FAIRPAR_PROCESS_EXECUTOR_H
#define FAIRPAR_PROCESS_EXECUTOR_H

#include "process/child.h"

struct executor {
	// Executes one attempt on the calling worker's thread, and returns when it has ended and all that it wrote was read. Calls
	// config->started once it runs, reads its output by config->output_reader, and writes its input by config->stdin_writer. Fills
	// *ret_result, and *ret_error if that says OUTCOME_SPAWN_ERROR. All of *config is the caller's.
	void (*run)(void *arg, const struct child_config *config, struct result *ret_result, struct spawn_error *ret_error);
	// Begins to end all attempts that run but those with config->cleanup, and refuses new ones: their outcome is
	// OUTCOME_CANCELLED. From the event loop; does not wait for their end.
	void (*terminate)(void *arg);
	// The same at once, and with clean-ups too.
	void (*kill)(void *arg);
	void *arg; // of all three
};

// Executes attempts as child processes, by child_run() with that table, which outlives it.
struct executor children_executor(struct children *children);

#endif
