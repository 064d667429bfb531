// What runs for a batch beside its items: on-failure and finally commands, and the listing of its items.

#ifndef FAIRPAR_RUN_BATCH_COMMANDS_H
#define FAIRPAR_RUN_BATCH_COMMANDS_H

#include "run/run.h"

struct job;
struct dag_node;

// Queues the on-failure command of the failed job, which is handed over, from the worker whose item it was.
void batch_command_on_failure(struct worker *worker, struct queue *queue, struct job *failed, const struct result *result);

// Sets the command that runs once, as the last of the node's batch.
void batch_command_finally(struct run *run, struct queue *queue, struct dag_node *node);

// Queues the listing of the node's items by a command or a pattern. Returns as pool_submit().
enum submit_status batch_command_listing(struct run *run, struct queue *queue, struct dag_node *node);

#endif
