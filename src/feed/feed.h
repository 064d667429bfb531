// From inputs to batches: reads records just ahead of need, gives them their numbers, and queues them.

#pragma once

#include "state/run.h"
#include "slots/control.h"

enum { FEED_LOW_BYTES = 32 * 1024 }; // queued bytes of a batch at which the pool asks for more

// Opens all inputs of the command line, reads the header if there is one, and parses the templates that need its names.
// Returns 0, or -1 after a message.
int feeds_open(struct run *run);

// Begins to feed a batch of the manifest with its own items, from `source` or, with NULL, from dag_node_next(). dag_node_fed() is
// called when all of them are queued. Returns 0, or -1 after a message.
int feeds_add_node(struct run *run, struct dag_node *node, const struct source_config *source, char delimiter);

// Moves records from inputs that have some into queues that want some; never blocks. Returns true if there may be more to
// move: it returns now and then, so that the event loop answers signals, and is to be called again at once.
bool feeds_fill(struct run *run);

// Adds the descriptors of the inputs that wait for data.
void feeds_add_polls(struct run *run, struct polls *polls);

// Adds a job to the batch that it names, which is opened if it does not exist. Without a name it goes to the batch of the job
// that adds it, and runs next on the same slot; from outside the run it goes to the command line's batch. Returns its id; or 0,
// with the reason appended to *why. `number`: of the attempt in which it is added, and `by` the id of that attempt's job; 0 from outside
// the run. From the event loop.
uint64_t feeds_add_job(struct run *run, uint64_t number, uint64_t by, const struct control_job *job, struct buf *why);

// feeds_stop() stops reading, and closes the inputs and their queues. Items that were not submitted count as lost (publish_lost()); an input that was
// not read to its end is noted (publish_unread()). feeds_close() calls feeds_stop(), and frees run->feeds. Both do nothing without run->feeds.
void feeds_stop(struct run *run);
void feeds_close(struct run *run);
