// The pool and the writer of a run, and what they call back.

#ifndef FAIRPAR_RUN_HOOKS_H
#define FAIRPAR_RUN_HOOKS_H

#include "run/run.h"

// A pool of that many slots by the options and the manifest, which has not started. Behind whatever its calls go to:
// stages and feeds come later, but before its start.
struct pool *hooks_make_pool(struct run *run, unsigned slots);

// The writer, or NULL if all jobs write for themselves. Behind shelf_open().
struct emit *hooks_make_emit(struct run *run);

#endif
