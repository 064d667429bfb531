// A batch of a manifest during the run: its state, its queue, the specs and items of its jobs, and what workers report about it.
// dag.c decides what follows from these reports.

#pragma once

#include "base/list.h"
#include "state/run.h"
#include "input/input.h"

enum dag_node_state { NODE_WAITING, NODE_RUNNING, NODE_ENDED, NODE_SKIPPED };

// Only the event loop's thread uses a node, except for the fields that are atomic or that workers post.
struct dag_node {
	struct run *run;
	const struct manifest_batch *plan; // the batch as the manifest has it; NULL: the batch is not selected
	struct queue *queue;               // held open until all its items are queued, then NULL
	struct batch *batch;               // a reference, as long as the queue is held open
	atomic_int state;    // enum dag_node_state; the event loop sets it, any thread may read it: dag_node_state()
	atomic_bool has_run; // a job of the batch ran, and not just to emit its lines again (RESUME_DONE): batches that need this one run again
	bool again;          // a batch that this one needs has run, or was to run again: all jobs of this one run again
	bool fed_again;      // the same of a batch that emits into this one: the batches that need this one run again
	size_t unmet;        // how many of the batches that this one needs have not succeeded yet, and 1 more if awaits_feeder
	bool awaits_feeder;  // all items of the batch are emitted by other batches, none of which has begun
	struct list ready;   // link in dag->ready, while nothing keeps the batch from beginning
	struct list affected; // link in the list of nodes whose dependents skip_after() still has to look at
	size_t nfeeders;     // number of other batches that may still emit into the batch
	bool fed;            // all items of the batch's own list or file are queued
	struct dag_node **dependents; // the nodes of the batches that need this one
	size_t ndependents, dependents_cap;
	bool failure_seen;    // skip_after() was called, because a job of the batch has failed
	uint64_t waits_since; // when the batch began to wait for other batches (now_ns() time), if EVENT_WAIT was published for that wait; else 0
	bool is_tainted;      // a batch that emits into this batch failed or was skipped: this batch may lack items

	uint64_t seen;        // for waits.c: the number of the last search that has visited the node
	bool leads;           // for waits.c: the search `seen` has found that this node leads into a circle of waits

	// its items
	size_t next;                 // index of the next item in the manifest's list
	struct source_config source; // the file or stdin that has the items, if any; the input borrows the struct until input_close(); source.path is owned
	struct buf words;            // memory that dag_node_next() reuses

	// posted by workers, under dag->lock
	atomic_bool failed; // a job failed or was cancelled (publish.c); also read without the lock
	bool ended;         // the batch's queue was removed
	struct result first; // the first failure
	struct list posted;  // link in dag->posted
};

struct dag {
	struct dag_node *all; // a node for each of manifest->batches, in the same order
	size_t n;
	size_t nwaiting; // number of nodes in NODE_WAITING
	struct list ready; // nodes of waiting batches that nothing keeps from beginning
	mutex lock; // guards what workers post
	struct list posted; // nodes about which workers have posted something that the event loop has not looked at
};

// Returns the node, borrowed, of a batch that is selected.
struct dag_node *dag_node_of(const struct run *run, const struct manifest_batch *plan);

// ---- from the event loop

// Makes the specs of the node's batch: for its items, for `finally` and for the command that lists its items. The specs for `commands`
// are made with their items. Returns 0, or -1 after a message.
int dag_node_make_specs(struct dag_node *node);

// Returns how many slots a job of the node takes if the manifest says `width`: `width`, or after a warning all slots, if there are fewer.
unsigned dag_node_width(const struct dag_node *node, unsigned width);

// Gets the next item of the list that the manifest has for the node; borrowed until the next call. Returns false at the end of the list.
// *ret_bad: why this entry of the list cannot be an item, or NULL.
bool dag_node_next(struct dag_node *node, struct record *ret_record, unsigned *ret_spec, const char **ret_bad);

// Returns the number of items that dag_node_next() has not returned yet.
size_t dag_node_left(const struct dag_node *node);

// Notes that all items of the node's own list or file are queued.
void dag_node_fed(struct dag_node *node);

// Closes the node's queue (dag_node_release()), if no further items of its own or of other batches can come into it.
void dag_node_try_close(struct dag_node *node);

// Closes the node's queue and drops the node's reference to the batch.
void dag_node_release(struct dag_node *node);

// ---- from any thread

// Returns the state of the batch.
static inline enum dag_node_state dag_node_state(const struct dag_node *node) {
	return (enum dag_node_state)atomic_load_relaxed(&node->state);
}

// Puts the node on the list of nodes that the event loop looks at again, and wakes the loop. With dag->lock.
static inline void dag_node_post(struct dag_node *node) {
	if (list_is_empty(&node->posted)) {
		list_push_back(&node->run->dag->posted, &node->posted);
	}
	run_wake(node->run);
}

// Posts to the event loop that the batch has ended: its queue was removed.
void dag_node_ended(struct dag_node *node);

// Returns how the batch has ended so far: OUTCOME_OK, or the result of its first job that failed or was cancelled.
struct result dag_node_result(const struct dag_node *node);
