// How a run is ended, and its end. All on the event loop's thread.

#ifndef FAIRPAR_RUN_STOP_H
#define FAIRPAR_RUN_STOP_H

#include "run/run.h"

// Starts nothing more; running jobs go on.
void run_stop(struct run *run);

// Does what the signals that have come ask for.
void run_answer_signals(struct run *run);

// Does what other threads ask for by run->halt_now and run->output_failed.
void run_answer_flags(struct run *run);

// After a signal: sets a time to the wait for who reads the output, once no job runs.
void run_limit_end(struct run *run);

// The end of a run, of which setup_open() may have failed (`opened`): ends the jobs that run, writes what is left, publishes the
// end, prints the summary, and frees all that the run has. Returns the exit status, or dies by the signal that ended the run.
int run_end(struct run *run, bool opened);

#endif
