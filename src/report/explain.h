// Says in one line for each job why it ran when and where it did, or why it did not run, from the events of its run.

#ifndef FAIRPAR_REPORT_EXPLAIN_H
#define FAIRPAR_REPORT_EXPLAIN_H

#include "base/buf.h"
#include "job/event.h"

struct explain;

// Explains the jobs that `which` names: all (NULL); "BATCH#7" or "BATCH"; "7" or "#7", by its number in the run. The caller
// frees the result with explain_free().
struct explain *explain_new(const char *which);
void explain_free(struct explain *explain);

// An event_fn: adds the event; `arg` is the struct explain.
void explain_on_event(void *arg, const struct event *event);

// The lines so far, one for each job that has ended. Borrowed; the caller may empty it (buf_reset()) when it has shown them.
struct buf *explain_text(struct explain *explain);

// Adds the lines of the jobs that still run at the event time `now`, and of the batches whose jobs never started. Returns the
// number of all lines since explain_new().
uint64_t explain_finish(struct explain *explain, uint64_t now);

#endif
