// The modes of fairpar other than a plain run: one function each, which returns the exit status.

#ifndef FAIRPAR_MODES_MODES_H
#define FAIRPAR_MODES_MODES_H

#include "cli/options.h"
#include "process/context.h"

// --check and --list: loads options->manifest and does what they ask: nothing more, or a list of the batches asked for on
// stdout. Prints what is wrong with the manifest, or with the names of batches, on stderr. EXIT_TROUBLE if anything is
// wrong or could not be written.
int show_manifest(struct options *options) FP_NODISCARD;

// --from-log: reads options->from_log and writes what is asked for to stdout.
int show_log(const struct options *options);

// A command behind a semaphore: waits for the semaphore and runs the command, or with --wait only waits. In the background 0
// once the command is being run. Call it before any thread is started.
int sem_run(struct options *options, struct context *context);

// --pool with --single or --status. The exit status is that of the command; if a signal ends it, this process ends by
// that signal, too. Call it before any thread is started.
int pool_run(const struct options *options, struct context *context);

// --worker: runs the jobs that another fairpar sends (remote/worker.h). Call it before any thread is started.
int worker_run(const struct options *options, struct context *context);

// --add, --wait, --wait-any, --cancel, and --status of a run: asks the run in whose job this process is, or that of --run, and
// prints what it answers.
int control_ask(const struct options *options, const struct context *context) FP_NODISCARD;

#endif
