// Feeds batches from inputs: reads records just ahead of need, gives them their numbers, and queues them.

#pragma once

#include "state/run.h"
#include "slots/control.h"

enum { FEED_LOW_BYTES = 32 * 1024 }; // for a batch of a manifest: when fewer bytes are queued, the pool asks for more items

// Opens all inputs of the command line, reads the header if there is one, and parses the templates that need its names.
// Returns 0, or -1 after a message.
int feeds_open(struct run *run);

// Begins to feed a batch of the manifest with its own items, from `source` or, if `source` is NULL, from dag_node_next(). When all
// these items are queued, dag_node_fed() is called. Returns 0, or -1 after a message.
int feeds_add_node(struct run *run, struct dag_node *node, const struct source_config *source);

// Moves records from inputs that are ready into queues that want records; never blocks. Returns true if there may be more to
// move: it has returned so that the event loop can answer signals, and is to be called again at once.
bool feeds_fill(struct run *run);

// Adds the descriptors of the inputs for whose data feeds wait.
void feeds_add_polls(struct run *run, struct polls *polls);

// Adds a job (--add) to the batch job->batch, which is opened if it does not exist. If job->batch is empty, the new job goes to the batch
// of the job that adds it and runs next on the same slot; from outside the run, it goes to the command line's batch. `number` is
// the number of the attempt that adds the job, `by` the id of that attempt's job; both are 0 from outside the run. Returns the id of
// the new job; or 0 with the reason appended to *why. Called from the event loop.
uint64_t feeds_add_job(struct run *run, uint64_t number, uint64_t by, const struct control_job *job, struct buf *why);

// feeds_stop() stops reading, and closes the inputs and their queues. Items that were not submitted count as lost (publish_lost()); an input that was
// not read to its end is noted (publish_unread()). feeds_close() calls feeds_stop(), and frees run->feeds. Both do nothing without run->feeds.
void feeds_stop(struct run *run);
void feeds_close(struct run *run);
