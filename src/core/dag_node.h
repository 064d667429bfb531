// A batch of a manifest while the run goes: its state, its queue, the specs and items of its jobs, and what workers report of it.
// dag.c decides what follows.

#pragma once

#include "base/list.h"
#include "core/run.h"
#include "input/input.h"

enum dag_node_state { NODE_WAITING, NODE_RUNNING, NODE_ENDED, NODE_SKIPPED };

// Only the event loop's thread touches it, but for what is atomic or posted by workers.
struct dag_node {
	struct run *run;
	const struct manifest_batch *plan; // NULL: not selected
	struct queue *queue;               // held open until all its items are queued, then NULL
	struct batch *batch;               // a reference, as long as the queue is held; it owns what its jobs are made from
	atomic_int state;    // enum dag_node_state; the event loop sets it, any thread may read it: dag_node_state()
	atomic_bool has_run; // a job of it ran, and not only because its lines must come again (EARLIER_DONE): who needs it runs again
	bool again;          // has_run of a batch that it needs: all its jobs run again
	bool fed_again;      // has_run of a batch that emits into it
	size_t unmet;        // needs that have not ended well yet, and one if it has to wait for a feeder
	bool awaits_feeder;  // all its items are emitted, and no batch that does so has begun
	struct list ready;   // in dag->ready: nothing keeps it from beginning
	struct list affected; // in the list of skip_after()
	size_t nfeeders;     // other batches that may still emit into it
	bool fed;            // its own items are queued
	struct dag_node **dependents; // the batches that need it
	size_t ndependents, dependents_cap;
	bool failure_seen;    // skip_after() was called for its failure
	uint64_t waits_since; // for others, and that was published; 0: not
	bool is_tainted;      // a batch that emits into it failed or was skipped: it may lack items

	uint64_t seen;        // of waits.c: the number of the last search that came here,
	bool leads;           // and whether it found a circle

	// its items
	size_t next;                 // of its list
	struct source_config source; // of its items, if they are read: its input borrows it to the end,
	char *path;                  // and the name of the file
	struct buf words;            // scratch of dag_node_next()

	// posted by workers, under dag->lock
	atomic_bool failed; // a job failed or was cancelled (publish.c); without the lock it only spares taking that
	bool ended;
	struct result first; // the first failure
	struct list posted;  // in dag->posted
};

struct dag {
	struct dag_node *all; // as manifest->batches
	size_t n;
	size_t nwaiting; // nodes in NODE_WAITING
	struct list ready;
	mutex lock; // guards what workers post
	struct list posted;
};

// Returns the node of a batch, which is one of those selected. Borrowed.
struct dag_node *dag_node_of(const struct run *run, const struct manifest_batch *plan);

// ---- from the event loop

// Makes the specs of its batch: its own, of `finally` and of the command that lists its items; those of `commands` are made
// with their items. Returns 0, or -1 after a message.
int dag_node_make_specs(struct dag_node *node);

// Slots of one of its jobs: `width`, or after a warning as many as there are.
unsigned dag_node_width(const struct dag_node *node, unsigned width);

// The batch's next own item, of a list that the manifest holds; borrowed until the next call. Returns false at its end.
// *ret_bad: why it cannot be an item, or NULL.
bool dag_node_next(struct dag_node *node, struct record *ret_record, unsigned *ret_spec, const char **ret_bad);

// Items that dag_node_next() would still give.
size_t dag_node_left(const struct dag_node *node);

// Notes that all its own items are queued.
void dag_node_fed(struct dag_node *node);

// Lets go of its queue, if neither its own items nor other batches add to that any more.
void dag_node_settle(struct dag_node *node);

// Closes its queue and drops its reference to the batch.
void dag_node_release(struct dag_node *node);

// ---- from any thread

// Returns the state of the batch.
static inline enum dag_node_state dag_node_state(const struct dag_node *node) {
	return (enum dag_node_state)atomic_load_relaxed(&node->state);
}

// Puts the batch on the list of those whose state the event loop looks at again. With dag->lock; the caller wakes the loop.
static inline void dag_node_post(struct dag_node *node, struct dag *dag) {
	if (list_is_empty(&node->posted)) {
		list_push_back(&dag->posted, &node->posted);
	}
}

// Posts to the event loop that the batch has ended: its queue was removed.
void dag_node_ended(struct dag_node *node);

// Returns how the batch has ended so far: OUTCOME_OK, or its first failure.
struct result dag_node_result(const struct dag_node *node);
