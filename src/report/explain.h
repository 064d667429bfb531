// Why each job ran when and where it did, or why it did not, in one line, from the events of its run.

#ifndef FAIRPAR_REPORT_EXPLAIN_H
#define FAIRPAR_REPORT_EXPLAIN_H

#include "base/buf.h"
#include "job/event.h"

struct explain;

// Which jobs: all (NULL); "BATCH#7" or "BATCH"; "7" or "#7", by its number in the run. Borrowed until explain_free().
struct explain *explain_new(const char *which);
void explain_free(struct explain *explain);

// An event_fn: `arg` is the struct explain.
void explain_tell(void *arg, const struct event *event);

// What was found out so far, a line for each job that has ended. The caller takes it away as it likes (buf_reset()).
struct buf *explain_text(struct explain *explain);

// Adds the lines of the jobs that run yet as of the event time `now`, and of those asked for that never started. Returns
// the number of lines since explain_new().
uint64_t explain_finish(struct explain *explain, uint64_t now);

#endif
