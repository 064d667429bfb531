// fairpar: xargs for many queues. Starts up, picks the mode, returns the exit status.
//
// The map of src/. Data flows one way; only run/ and xargs/ put the other rooms together.
//
//   stdin, files, :::, manifest -> plan: record -> run/feed: item in a batch's queue -> engine: whose turn -> worker
//     -> run/work: the job -> process: child -> output: spool -> stdout, stderr
//   what happens -> run/telling -> report: log, story, summary, pictures, status line
//
//   cli/           options_parse()    the one option table (options.def): struct options, --help, completions
//   xargs/         xargs_main()       `fairpar --xargs`, or called xargs: a run of its own kind
//   run/           run_all()          the event loop: input, signals, the end
//     setup.c      setup_open()       composition root: what a run is put together from (hooks.c: pool and writer)
//     batch.c      batch_new()        the batches of a run, counted, and what the command line says of each
//     show.c       show_manifest()    --check and --list
//     retell.c     retell_log()       --from-log: what a log tells, without a run
//     sem_mode.c   sem_run()          one command behind a semaphore, then run_all()
//     recipe.c     recipe_from_job()  how the items of a batch become jobs: templates, context, environment
//     feed_open.c  feeds_open()       the inputs of the command line, their headers, and templates that need them
//     feed.c       feeds_fill()       inputs, just ahead of need, into the queues of their batches (feed_route.c)
//     stages.c     stages_advance()   a manifest's batches: which wait, which run, which are skipped
//     item.c       item_write()       an item as bytes, between its queueing (parcel.c) and its job
//     work.c       work_item          the life of a job on a worker: run, retry (later.c), then, count
//     attempt.c    attempt_run()      one attempt: command, environment (vars.c), child
//     outlet.c     outlet_open()      where a job's output goes: spool, files, or items (emission.c)
//     beside.c     beside_finally()   what runs beside the items: on-failure, finally, listings
//     admission.c  admission_enter()  when a job may start: --load, --memfree, --delay auto (terminal.c: --tty, -p)
//     blockfeed.c  blockfeed_open()   --pipe: data cut into blocks, one for each job (block.c)
//     dealer.c     dealer_deal()      data to jobs that run: --round-robin and --tee (tee.c)
//     ledger.c     ledger_add()       --joblog, and the jobs that --resume leaves out
//     shelf.c      shelf_begin()      --results and --files: output in files and tables
//     products.c   products_end()     what jobs create, and who may remove a half one
//     telling.c    telling_listen()   events, to all who listen: run, batches, attempts, waits (telling_log.c: --log)
//     watch.c      watch_open()       the status line while the run goes (explaining.c: why something has not started)
//     ending.c     ending_listen()    what is said at the end: the summary, and the last line
//     pictures.c   pictures_draw()    --report and --trace, from a log
//   plan/          input_next()       records from sources; template_expand(), command_build(): what to run
//   engine/        pool_submit()      named queues that take turns (fair.c) on slots, local lists, stealing
//   process/       child_run()        one child from start to end; signals, contexts, the guardian
//   output/        spool_readable()   a job's output, whole and in the promised order
//   report/        story_tell()       what is told of a run: joblog, events and their reader, summary, drawings
//   job/           halt_is_met()      the nouns and the pure rules: outcomes, events, --halt, exit status
//   slots/         slots_parse()      how many jobs at once; semaphores
//   base/                             memory, byte strings, messages, threads, descriptors, the screen
//
// src/LAYERS says which room may include which; tests/lint/layers checks it.

#include "base/diag.h"
#include "base/io.h"
#include "cli/options.h"
#include "process/context.h"
#include "process/guardian.h"
#include "process/signals.h"
#include "run/retell.h"
#include "run/run.h"
#include "run/sem_mode.h"
#include "run/show.h"
#include "xargs/xargs.h"

#include <errno.h>
#include <string.h>

int main(int argc, char *argv[]) {
	sigset_t mask;
	signals_defer(&mask);
	if (argc > 1 && strcmp(argv[1], GUARDIAN_ARG) == 0) {
		return guardian_main(argc, argv);
	}
	struct context *context = context_capture(); // what jobs get is what fairpar got: before anything changes
	context->mask = mask;
	if (fds_sanitize() < 0) { // 0, 1 and 2 are open, or nothing is safe
		diag_error("cannot open /dev/null: %s", strerror(errno));
		return EXIT_TROUBLE;
	}
	int status = EXIT_TROUBLE;
	if (xargs_is_meant(argc, argv)) {
		status = xargs_main(argc, argv, context);
		context_unref(context);
		return status;
	}
	struct options options;
	switch (options_parse(&options, argc, argv)) {
	case MODE_RUN: status = run_all(&options, context); break;
	case MODE_SEM: status = sem_run(&options, context); break;
	case MODE_SHOW: status = show_manifest(&options); break;
	case MODE_RETELL: status = retell_log(&options); break;
	case MODE_EXIT: status = options.status; break;
	case MODE_ERROR: break;
	}
	options_fini(&options);
	context_unref(context);
	return status;
}
