// --onall: each record goes to every machine, which has a batch of its own.

#ifndef FAIRPAR_RUN_FEED_ONALL_H
#define FAIRPAR_RUN_FEED_ONALL_H

#include "run/feed_internal.h"

// The submissions of all machines, one behind the other (submission.next), in the order of their names, as GNU parallel takes them.
// Returns NULL when the pool takes nothing any more.
struct submission *feed_onall_open(struct run *run, size_t low_water);

// Have all of them enough to do for now? Then the pool calls when one has not.
bool feed_onall_is_ahead(struct run *run, const struct submission *first);

#endif
