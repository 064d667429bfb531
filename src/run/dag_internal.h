// The inside of the DAG, shared by three files.
//
//	dag.c        which batches begin, end and are skipped
//	dag_node.c   one batch: its queue, what workers post of it, how it stands
//	dag_items.c  what its jobs are made from: their specs, and the items that the manifest lists

#ifndef FAIRPAR_RUN_DAG_INTERNAL_H
#define FAIRPAR_RUN_DAG_INTERNAL_H

#include "input/input.h"
#include "run/dag.h"
#include "run/dag_node.h"

enum dag_node_state { NODE_WAITING, NODE_RUNNING, NODE_ENDED, NODE_SKIPPED };

struct dag_node {
	struct run *run;
	const struct manifest_batch *plan; // NULL: not selected
	struct queue *queue;               // held open, or NULL
	struct batch *batch;               // a reference, as long as the queue is held; it owns what its jobs are made from
	enum dag_node_state state;
	atomic_bool skipped;    // the same, for the workers
	atomic_bool has_failed; // as `failed`, to be asked without the lock
	atomic_bool has_run;    // a job of it has, and not just for what it emits
	bool again;             // something that it needs has
	bool fed_again;         // or something that emits into it
	size_t unmet;           // needs that have not ended well yet, and one if it has to wait for a feeder
	bool awaits_feeder;     // all its items are emitted, and no batch that does so has begun
	struct dag_node *next_ready;
	size_t nfeeders;              // other batches that may still emit into it
	bool fed;                     // its own items are queued
	struct dag_node **dependents; // the batches that need it
	size_t ndependents, dependents_cap;
	struct queue_attrs attrs;

	// its items
	size_t next;                 // of its list
	struct source_config source; // of its items, if they are read: its input borrows it to the end,
	char *path;                  // and the name of the file
	struct buf words;            // scratch of dag_node_next()

	// posted by workers, under the lock of nodes
	bool failed, ended;
	struct result first; // failure
	bool is_posted;
	struct dag_node *next_posted;
	bool failure_seen;    // the event loop knows of it
	uint64_t waits_since; // for others, and that was published; 0: not
	bool is_tainted;      // a batch that emits into it failed or was skipped: it may lack items
};

struct dag {
	struct dag_node *all; // as manifest->batches
	size_t n;
	size_t nwaiting; // nodes in NODE_WAITING
	bool stopped;
	struct dag_node *ready, **ready_end; // nothing keeps them from beginning
	mutex lock;                          // guards what workers post
	struct dag_node *posted, **posted_end;
};

// ---- dag_node.c

struct dag_node *dag_node_of(const struct run *run, const struct manifest_batch *plan);

// Closes its queue and lets go of its batch.
void dag_node_release(struct dag_node *node);

// The same if nothing comes from outside any more.
void dag_node_settle(struct dag_node *node);

// The next node that something was posted for, with what; NULL if there is none.
struct dag_node *dag_take_posted(struct dag *dag, bool *ret_failed, bool *ret_ended);

// ---- dag_items.c

// Slots of one of its jobs: `width`, or after a warning as many as there are.
unsigned dag_node_width(const struct dag_node *node, unsigned width);

// Makes the specs of its batch: its own, of `finally` and of the command that lists its items; those of `commands` are made
// with their items. Returns 0, or -1 after a message.
int dag_node_make_specs(struct dag_node *node);

#endif
