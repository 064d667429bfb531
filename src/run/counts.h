// What has become of the jobs so far. From any thread, without run->lock.

#ifndef FAIRPAR_RUN_COUNTS_H
#define FAIRPAR_RUN_COUNTS_H

#include "run/worker_state.h"

// So many more jobs are known of; or, with -1, one was none.
void counts_known(struct run *run, int64_t jobs);

// All input was read: halts the run if a --halt of N% is met by what has ended meanwhile.
void counts_all_known(struct run *run);

// True if the halt was met: nothing is started any more.
bool counts_halted(struct run *run);

// The counts as the end of the run says them, without its status; with --pack=auto of items.
struct event_run_end counts_sum(struct run *run);

// Counts the end of the job; `current`: what it creates was there. Returns true if that makes the run halt: then the caller
// calls run_halt().
bool counts_job(struct worker_state *state, const struct job *job, const struct result *result, bool current) FP_NODISCARD;

// Counts a failure that was no job's: `what` the batch could not do, as the last line has it in brackets; `how` the
// result of its command, or NULL if there was none. Halts the run if that follows.
void counts_trouble(struct batch *batch, const char *what, const struct result *how);

// Counts items that will never start: as skipped if their batch is, else as cancelled.
void counts_lost(struct batch *batch, uint64_t n);

// Starts nothing more, because --halt was met.
void run_halt(struct run *run);

// Starts nothing more: what is queued is cancelled at once, what runs goes on. From any thread.
void run_start_no_more(struct run *run);

#endif
