// Puts a run together.

#ifndef FAIRPAR_RUN_SETUP_H
#define FAIRPAR_RUN_SETUP_H

#include "run/run.h"

// Opens all that the run needs, for run->options and run->context. Returns 0, or -1 after a message. What was opened by then is
// run_end()'s to close, in either case.
int setup_open(struct run *run) FP_NODISCARD;

#endif
