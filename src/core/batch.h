// The batches of a run, which are reference-counted, and the settings of the command line for them (--weight PATTERN=N and so
// on).

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

// A batch: the user pointer of its queue, and the owner of its jobs' specs. It is reference-counted, because a run that is cut
// short removes queues at once, even those still held open. Each of these has one reference:
//	the queue, from batch_new() until the event loop has seen that it was removed (batches_reap()): so what is queued
//	    in it or runs, with its steps, its on_failure, finally and listing, needs none of its own
//	its node in a manifest, as long as that holds the queue open
//	a submission, from when it is given the batch until it is closed: those of the feeds, and that of a job that emits
//	a job that waits for its next attempt (retry_queue.c)
// Nothing else keeps a pointer to the batch or to one of its specs. Dropping the last reference frees the batch and its specs.
struct batch {
	struct run *run;
	atomic_int refs;
	struct dag_node *node;              // of the manifest; NULL: its items come from the command line's input
	struct job_spec **specs;            // by item.spec; once the node has begun
	size_t nspecs;                      // owned, NULL for entries without a key of their own; 0: they are the run's
	struct job_spec *finally, *listing; // of the commands that are no items; owned, or NULL
	struct batch *next_dead;            // in run->dead
	unsigned width;              // slots of an item of the first spec, also before there is one
	char *name;                  // owned
	struct hosts_binding *binding;   // machines of its jobs; owned, or NULL: any
	struct queue *emits;         // gets the lines of its jobs' stdout as items, or NULL
	bool is_fed;                 // batches emit into it, perhaps before it has begun
	bool again;                  // what it needs runs again: so do all its jobs. Set when it begins
	atomic_bool is_low;          // --pack=auto: it lacks packs; set by the pool, until the feed has seen it
	bool has_failed;             // one of its jobs; under the publisher's lock
	bool allow_failure;          // a failed job is only reported
	atomic_bool cancelled;       // by --cancel: nothing of it starts any more
	struct output_queue *output_queue; // of its jobs, in order; NULL without --keep-order
	atomic_uint_least64_t order; // items given an order so far
	struct queue_attrs attrs;    // of its queue
	int64_t jobs;                // how many it will have, or -1: not known
	bool started;                // EVENT_BATCH_START was published; by the thread that opens queues
	uint64_t ready_at;           // when the batches that it needs had ended (now_ns() time), or 0: from then on jobs wait for a turn
	char *why;                   // publish_set_lost_reason(), or NULL; owned
	struct event_batch_end ended; // its jobs so far; but for `longest_wait` under the publisher's lock
	struct packsize pack_size;   // of --pack=auto; guarded by run->lock
	struct controller_batch pace; // of -j auto; guarded by its lock
	struct memory_learned *memory; // what its jobs had, of --memory=auto, or NULL; owned, guarded by the lock of process/memory.h
};

// Whether the memory that jobs need is learned and awaited: by --memory=auto, or -j auto without --memory.
bool batches_learn_memory(const struct run *run);

// Makes a batch, whose queue will have these attributes; `name` is copied. `jobs`: how many it will have, or -1 if that is not
// known. Returns it with one reference, which becomes the one of the pool's queue.
struct batch *batch_new(struct run *run, const char *name, const struct queue_attrs *attrs, int64_t jobs);

// With --keep-order: gives the batch its order of output, before its first item is queued.
void batch_open_output_queue(struct batch *batch);

// Reports that no output comes for that place in the batch's order; does nothing for 0, which is no place.
void batch_skip_output(struct batch *batch, uint64_t order);

// batch_ref() adds a reference and returns `batch`; batch_unref() drops one. Any thread.
struct batch *batch_ref(struct batch *batch);
void batch_unref(struct batch *batch);

// Called when the pool has removed the batch's queue: puts the batch on the list run->dead, with the reference that the queue
// had. Any thread.
void batch_retire(struct batch *batch);

// Drops the references of the batches on run->dead. On the event loop's thread, which also opens queues: so a batch that it has
// found is not freed meanwhile.
void batches_reap(struct run *run);

// Writes the attributes that the options give to a batch of that name over those in *attrs, and what the run as a whole does. On
// the thread that opens queues.
void batch_override(struct run *run, const char *name, struct queue_attrs *attrs);

// Warns of settings that no batch has a name for, but for `*`, unless --quiet. Once all batches are opened: with --batch-by at the
// end of the run.
void batches_warn_unused(const struct run *run);
