// Why jobs have not started, said while the run goes: --explain and SIGUSR1.

#ifndef FAIRPAR_RUN_EXPLAIN_LIVE_H
#define FAIRPAR_RUN_EXPLAIN_LIVE_H

#include "run/run.h"

// With --explain makes run->explain_live, and subscribes it to what jobs and batches wait for. Before publish_begin().
void explain_live_subscribe(struct run *run);

// Frees run->explain_live, if there is one. After publish_end().
void explain_live_close(struct run *run);

// Prints for each batch that has work why its next job has not started. From the event loop, with run->explain_live.
void explain_live_print(struct run *run);

#endif
