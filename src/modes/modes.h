// The modes of fairpar other than a plain run: one function each, which returns the exit status.

#pragma once

#include "cli/options.h"
#include "process/context.h"

// --check and --list: loads options->manifest, checks it, and with --list prints the batches that the options name on stdout. Prints what
// is wrong with the manifest, or with the names of batches, on stderr. Returns EXIT_TROUBLE if anything is wrong or could not be
// written.
int show_manifest(struct options *options) FP_NODISCARD;

// --from-log: reads the log options->from_log, and writes the pictures of --report and --trace. Without these, or with --summary or --explain, prints
// the summary or the explanation on stdout. Returns EXIT_TROUBLE after a message if any of that fails.
int show_log(const struct options *options);

// --semaphore: waits for the semaphore and runs the command, or with --wait only waits. Returns the exit status of the run; if the run is
// in the background, 0 once its process is started. Call it before any thread is started.
int sem_run(struct options *options, struct context *context);

// --pool with --single: runs one command in a slot of the pool; with --status: prints what runs and waits in the pool. Returns the exit
// status, with --single the command's; if a signal ends the command, it ends this process, too. Call it before any thread is started.
int pool_run(const struct options *options, struct context *context);

// --add, --wait, --wait-any, --cancel, and --status of a run: sends the request to the run in whose job this process is, or to the
// run of --run, and prints the answer. Returns the exit status: with --wait and --wait-any that of the jobs.
int control_ask(const struct options *options, const struct context *context) FP_NODISCARD;

// --worker (worker.c): runs the jobs that a dispatcher sends over descriptors 0 and 1, as fairpar-worker(7) has it, until the dispatcher releases the
// worker, the connection breaks, or a signal ends the process, which then dies by that signal. The worker may run for options->worker_seconds seconds;
// 0: no limit. When only two seconds and the length of --term-seq are left, it ends its jobs. Before that it takes no new job for a minute; or for a
// tenth of the time from its start until then, if that is less. Returns 0 after a release, else EXIT_TROUBLE after a message. Called while the process
// has one thread. `context` is borrowed; jobs inherit it.
int worker_run(const struct options *options, struct context *context);
