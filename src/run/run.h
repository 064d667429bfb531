// A run from its start to its end: the event loop (run.c), what it is put together from (setup.c), and what ends it (stop.c).
// Outside this room only main.c and modes/ include this header, for run_all().

#ifndef FAIRPAR_RUN_RUN_H
#define FAIRPAR_RUN_RUN_H

#include "core/run.h"

// Does what the options say, from the first record to the exit status. `executor` takes the place of child processes; NULL:
// nothing does.
int run_all(struct options *options, struct context *context, const struct executor *executor);

// ---- setup.c

// Opens all that the run needs, for run->context and `options`, which are run->options and take what the manifest says. Returns 0, or
// -1 after a message. What was opened by then is run_end()'s to close, in either case.
int setup_open(struct run *run, struct options *options) FP_NODISCARD;

// ---- stop.c; all on the event loop's thread

// Starts nothing more; running jobs go on.
void run_stop(struct run *run);

// Does what the signals that have come ask for.
void run_answer_signals(struct run *run);

// Does what other threads ask for by run->halt_now and run->output_failed.
void run_answer_flags(struct run *run);

// After a signal: once no job runs, limits how long the run still waits for the reader of its output; then it dies by the signal.
void run_limit_end(struct run *run);

// The end of a run, of which setup_open() may have failed (`opened`): ends the jobs that run, writes what is left, publishes the
// end, prints the summary, and frees all that the run has. Returns the exit status, or dies by the signal that ended the run.
int run_end(struct run *run, bool opened);

#endif
