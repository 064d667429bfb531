// The pool and the writer of a run, and what they call back.

#ifndef FAIRPAR_RUN_POOL_CALLBACKS_H
#define FAIRPAR_RUN_POOL_CALLBACKS_H

#include "run/run.h"

// A pool of that many slots by the options and the manifest, which has not started. Behind whatever its calls go to:
// nodes and feeds come later, but before its start.
struct pool *make_pool(struct run *run, unsigned slots);

// The writer, or NULL if all jobs write for themselves. Behind result_files_open().
struct writer *make_writer(struct run *run);

#endif
