// What follows from the end of jobs: for their batch, and for the run, which may halt. From any thread.

#ifndef FAIRPAR_RUN_COUNTS_H
#define FAIRPAR_RUN_COUNTS_H

#include "run/run.h"

// To be called when a job of the batch was counted with that result. `stop` is what publish_job_end() or publish_up_to_date() has
// returned: that the run halts.
void counts_ended(struct batch *batch, const struct result *result, bool stop);

// Counts a failure that was no job's: `what` the batch could not do, as the last line has it in brackets.
void counts_trouble(struct batch *batch, const char *what);

// Counts items that will never start: as skipped if their batch is, else as cancelled.
void counts_lost(struct batch *batch, uint64_t n);

// Starts nothing more, because --halt was met.
void run_halt(struct run *run);

// Starts nothing more: what is queued is cancelled at once, what runs goes on.
void run_start_no_more(struct run *run);

#endif
