// The batches of a manifest while it runs: which wait for others, which are at work, which are skipped.

#ifndef FAIRPAR_RUN_STAGES_H
#define FAIRPAR_RUN_STAGES_H

#include "run/run.h"

struct stage; // a batch of the manifest

// Checks, before any file is opened, that none of which the manifest reads items is written for an option. Returns 0, or -1
// after a message.
int stages_check_files(const struct run *run);

// Looks for what can be known to fail before anything runs: the shells of the selected batches. Returns 0, or -1 after
// messages.
int stages_check(const struct manifest *manifest);

// Opens the queues of all selected batches, in the order of the file, and begins those that need nothing. Returns 0, or
// -1 after a message.
int stages_open(struct run *run);

// Does what the ends of jobs and batches have led to: begins batches, skips others. From the event loop, when it was
// woken.
void stages_advance(struct run *run);

// True when no batch waits and no item can come any more but from running jobs.
bool stages_are_fed(const struct run *run);

// Says in one line where the selected batches are.
void stages_show(const struct run *run);

// Begins no batch any more and lets go of all queues; what was not begun counts as cancelled.
void stages_stop(struct run *run);
void stages_close(struct run *run);

// ---- from the thread that feeds ----

// The batch's next own item, of a list that the manifest holds; borrowed until the next call. Returns false at its end.
bool stage_next(struct stage *stage, struct record *ret_record, unsigned *ret_recipe, const char **ret_bad);

// Items that stage_next() would still give.
size_t stage_left(const struct stage *stage);

// Counts items of it that will never start.
void stage_count_lost(struct stage *stage, size_t n);

// All its own items are queued.
void stage_fed(struct stage *stage);

// Its queue, open as long as it is not fed, and its batch.
struct queue *stage_queue(const struct stage *stage);

// ---- from any thread ----

// A job of the batch failed or was cancelled: what needs the batch can be skipped.
void stage_job_failed(struct stage *stage, const struct result *result);

// A job of it runs, and not just for what it emits.
void stage_job_runs(struct stage *stage);

// A job of it is known to have failed or to have been cancelled: cheap, where very many are.
bool stage_has_failed(const struct stage *stage);

// The batch's queue is removed.
void stage_ended(struct stage *stage);

bool stage_is_skipped(const struct stage *stage);

// How the batch has ended so far: ok, or its first failure.
struct result stage_result(const struct stage *stage);

const struct manifest_batch *stage_plan(const struct stage *stage);
void stage_lost_why(struct stage *stage, const char *why); // telling_lost_why() of its batch, if anybody listens

#endif
