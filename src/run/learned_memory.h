// What the jobs of each batch needed in a former run, from the log that --eta names, or the --log of a run that --resume goes on
// with: for --memory=auto and -j auto.

#ifndef FAIRPAR_RUN_LEARNED_MEMORY_H
#define FAIRPAR_RUN_LEARNED_MEMORY_H

#include "process/memory_learned.h"
#include "run/run.h"

// Is it learned what jobs need, and do they wait for it?
bool learned_memory_is_on(const struct run *run);

// Reads the log, if it is on and there is one that can be read, as run->learned_memory; learned_memory_close() frees it
// (NULL-safe). Behind status_display_open(), which tells of a log that cannot be read, and before log_sink_open(), which may empty it.
void learned_memory_open(struct run *run);
void learned_memory_close(struct run *run);

// Sets what is known of a batch of that name. Nothing changes if it was not in the log.
void learned_memory_restore(const struct run *run, const char *batch, struct memory_learned *learned);

#endif
