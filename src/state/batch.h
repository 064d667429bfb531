// The batches of a run, and the options that set attributes of batches (--weight PATTERN=N and so on).

#pragma once

#include "base/atomic.h"
#include "engine/pool.h"
#include "job/event.h"
#include "job/pack_size.h"
#include "output/writer.h"
#include "slots/controller.h"

#include <stdbool.h>

struct job_spec;
struct run;
struct dag_node;
struct memory_learned;

// A batch: the user pointer of its queue, and the owner of its jobs' specs. A batch is reference-counted, because a run that is cut
// short removes queues at once, even queues that are still held open. Each of the following has one reference:
//	the queue, from batch_new() until the event loop has seen that it was removed (batches_reap()): so the queue's items, queued
//	    or running, with their steps, on_failure, finally and listing, need no references of their own
//	the batch's node in a manifest, while the node holds the queue open
//	each submission of items to the batch, from its beginning to its close: by a feed, or by a job that emits
//	each job that waits for its next attempt (retry_queue.c)
// Nothing else keeps a pointer to the batch or to one of its specs. Dropping the last reference frees the batch and its specs.
struct batch {
	struct run *run;
	atomic_int refs;
	struct dag_node *node;              // the batch's node in the manifest; NULL: the items come from the input of the command line
	struct job_spec **specs;            // indexed by item.spec; a batch of a manifest has them once its node has begun
	size_t nspecs;                      // number of `specs`, which are owned (NULL: a command without keys of its own); 0: they are the run's
	struct job_spec *finally, *listing; // specs of the `finally` command, and of the command that lists the items; owned, or NULL
	struct batch *next_dead;            // the next batch in the list run->dead
	unsigned width;              // slots that an item of the first spec takes; set before that spec is made
	char *name;                  // owned
	struct hosts_binding *binding;   // machines of its jobs; owned, or NULL: any
	struct queue *emits;         // the queue that gets each line of the jobs' stdout as an item, or NULL
	bool is_fed;                 // other batches emit into this batch, perhaps before this batch has begun
	bool again;                  // all jobs of this batch run again, because a batch that this one needs has run. Set when this batch begins
	atomic_bool is_low;          // --pack=auto: the batch's queue lacks packs; the pool or the feed sets is_low, the feed clears it
	bool has_failed;             // a job of the batch has failed, and allow_failure is not set; under the publisher's lock
	bool allow_failure;          // a failed job is reported, and has no other consequences
	atomic_bool cancelled;       // by --cancel: none of its jobs starts any more
	struct output_queue *output_queue; // the jobs' outputs, to be written in the order of their ranks; NULL: in any order
	atomic_uint_least64_t order; // how many items have got a rank in the order of output so far
	struct queue_attrs attrs;    // of its queue
	uint64_t number;             // tells the batch from the other batches of the run; from 1
	int64_t jobs;                // number of jobs that the batch will have; -1: not known
	bool started;                // EVENT_BATCH_START was published; used only by the thread that opens queues
	uint64_t ready_at;           // when the batches that this one needs had ended, and its jobs began to wait for a turn (now_ns() time); or 0
	char *why;                   // why its remaining jobs never start (publish_set_lost_reason()), or NULL; owned
	struct event_batch_end ended; // the counts of its jobs that have ended; all but `longest_wait` under the publisher's lock
	struct packsize pack_size;   // of --pack=auto; guarded by run->lock
	struct controller_batch pace; // for -j auto; used only by slots/auto_slots.c
	struct memory_learned *memory; // --memory=auto: how much memory its jobs took; or NULL; owned, guarded by the lock of process/memory.h
};

// Whether the run learns how much memory jobs need (options_learn_memory()).
bool batches_learn_memory(const struct run *run);

// Makes a batch, whose queue will have these attributes; `name` is copied. `jobs`: how many jobs it will have; -1: not known.
// Returns the batch with one reference, which becomes that of the pool's queue.
struct batch *batch_new(struct run *run, const char *name, const struct queue_attrs *attrs, int64_t jobs);

// Reports that no output comes for rank `order` in the batch's order of output; does nothing for 0, which is no rank.
void batch_skip_output(struct batch *batch, uint64_t order);

// batch_ref() adds a reference and returns `batch`; batch_unref() drops one. Any thread.
struct batch *batch_ref(struct batch *batch);
void batch_unref(struct batch *batch);

// Called when the pool has removed the batch's queue: puts the batch on the list run->dead, with the reference that the queue
// had. Any thread.
void batch_retire(struct batch *batch);

// Drops the references that run->dead has to its batches. Only on the event loop's thread, which also opens queues: so no batch is freed while its
// queue is being opened.
void batches_reap(struct run *run);

// Overwrites attributes in *attrs with those that the options set for a batch of that name, or for all batches. Called on the thread that
// opens queues.
void batch_override(struct run *run, const char *name, struct queue_attrs *attrs);

// Warns of options whose PATTERN (other than `*`) matches the name of no batch, unless --quiet is given. To be called when all batches
// are known: with --batch-by that is at the end of the run.
void batches_warn_unused(const struct run *run);
