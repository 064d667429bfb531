// A batch of a manifest while it runs.

#ifndef FAIRPAR_RUN_DAG_NODE_H
#define FAIRPAR_RUN_DAG_NODE_H

#include "run/run.h"

struct dag_node;

// ---- from the thread that feeds ----

// The batch's next own item, of a list that the manifest holds; borrowed until the next call. Returns false at its end.
bool dag_node_next(struct dag_node *node, struct record *ret_record, unsigned *ret_spec, const char **ret_bad);

// Items that dag_node_next() would still give.
size_t dag_node_left(const struct dag_node *node);

// All its own items are queued.
void dag_node_fed(struct dag_node *node);

// Its queue and its batch, kept as long as it is not fed.
struct queue *dag_node_queue(const struct dag_node *node);
struct batch *dag_node_batch(const struct dag_node *node);

// ---- from any thread ----

// A job of the batch failed or was cancelled: what needs the batch can be skipped.
void dag_node_job_failed(struct dag_node *node, const struct result *result);

// A job of it runs, and not just for what it emits.
void dag_node_job_runs(struct dag_node *node);

// A job of it is known to have failed or to have been cancelled: cheap, where very many are.
bool dag_node_has_failed(const struct dag_node *node);

// The batch's queue is removed.
void dag_node_ended(struct dag_node *node);

bool dag_node_is_skipped(const struct dag_node *node);

// How the batch has ended so far: ok, or its first failure.
struct result dag_node_result(const struct dag_node *node);

const struct manifest_batch *dag_node_plan(const struct dag_node *node);
void dag_node_lost_why(struct dag_node *node, const char *why); // publish_lost_why() of its batch, if there is a subscriber

#endif
