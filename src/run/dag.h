// The batches of a manifest while it runs: which wait for others, which are at work, which are skipped.

#ifndef FAIRPAR_RUN_DAG_H
#define FAIRPAR_RUN_DAG_H

#include "run/run.h"

struct dag_node; // a batch of the manifest

// Checks, before any file is opened, that none of which the manifest reads items is written for an option. Returns 0, or -1
// after a message.
int dag_check_files(const struct run *run);

// Looks for what can be known to fail before anything runs: the shells of the selected batches. Returns 0, or -1 after
// messages.
int dag_check(const struct manifest *manifest);

// Opens the queues of all selected batches, in the order of the file, and begins those that need nothing. Returns 0, or
// -1 after a message.
int dag_open(struct run *run);

// Does what the ends of jobs and batches have led to: begins batches, skips others. From the event loop, when it was
// woken.
void dag_advance(struct run *run);

// True when no batch waits and no item can come any more but from running jobs.
bool dag_are_fed(const struct run *run);

// Says in one line where the selected batches are.
void dag_show(const struct run *run);

// Begins no batch any more and lets go of all queues; what was not begun counts as cancelled.
void dag_stop(struct run *run);
void dag_close(struct run *run);

// ---- from the thread that feeds ----

// The batch's next own item, of a list that the manifest holds; borrowed until the next call. Returns false at its end.
bool dag_node_next(struct dag_node *stage, struct record *ret_record, unsigned *ret_recipe, const char **ret_bad);

// Items that dag_node_next() would still give.
size_t dag_node_left(const struct dag_node *stage);

// Counts items of it that will never start.
void dag_node_count_lost(struct dag_node *stage, size_t n);

// All its own items are queued.
void dag_node_fed(struct dag_node *stage);

// Its queue, open as long as it is not fed, and its batch.
struct queue *dag_node_queue(const struct dag_node *stage);

// ---- from any thread ----

// A job of the batch failed or was cancelled: what needs the batch can be skipped.
void dag_node_job_failed(struct dag_node *stage, const struct result *result);

// A job of it runs, and not just for what it emits.
void dag_node_job_runs(struct dag_node *stage);

// A job of it is known to have failed or to have been cancelled: cheap, where very many are.
bool dag_node_has_failed(const struct dag_node *stage);

// The batch's queue is removed.
void dag_node_ended(struct dag_node *stage);

bool dag_node_is_skipped(const struct dag_node *stage);

// How the batch has ended so far: ok, or its first failure.
struct result dag_node_result(const struct dag_node *stage);

const struct manifest_batch *dag_node_plan(const struct dag_node *stage);
void dag_node_lost_why(struct dag_node *stage, const char *why); // publish_lost_why() of its batch, if anybody listens

#endif
