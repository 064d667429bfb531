// fairpar: xargs for many queues. Starts up, picks the mode, returns the exit status.
//
// The map of src/; docs/design.md is the design. Data flows one way; only the rooms from state/ to xargs/ put the others together.
//
//   stdin, files, :::, manifest -> input: record -> feed: item in a batch's queue -> engine: whose turn -> worker
//     -> exec: the job -> process: child -> output: spool -> stdout, stderr
//   what happens -> state/publish: event -> log, report (statistics, summary, status line) -> draw
//
//   base/        memory, byte strings, maps, JSON, messages, threads, descriptors; src/LAYERS says where Linux alone is called
//   term/        screen_write()     the status line's place on the terminal, and colours
//   job/         halt_is_met()      the nouns and the pure rules: outcomes, events, --halt, exit status
//   shell/       shell_is_needed()  which shell runs a command, where in it an item stands, and how it is quoted there
//   input/       input_next()       records: lines, columns, CSV, blocks, globs
//   template/    template_expand()  commands with replacement strings, and what execve() gets: command_build()
//   engine/      pool_submit()      named queues that take turns (fair.c) on slots, local lists, stealing
//   slots/       slots_parse()      how many jobs at once (controller.c: by -j auto); semaphores; pools: lease.c decides, server.c
//                                   serves, client.c asks; make's jobserver
//   process/     child_run()        one child from start to end; contexts, signals, the guardian, cgroups, how busy it is (proctree.c), the memory that
//                                   a job needs (memory.c)
//   warm/        warm_starter()     --warm: shells that are started once and cloned for each job (server.c is what is cloned)
//   remote/      worker_serve()     a worker on another machine, and the connection to it: frames (frames.def), both ends of it without their I/O;
//                                   sshlogin.c: the machines, and the command that starts a worker there (ssh, --launch). Another launcher is a
//                                   file like slurm.c, which makes such a command; cli/option_hosts.c adds it
//   output/      writer_create()    jobs' output: spooled, whole, in the promised order
//   log/         event_encode()     the log of events (one table: events.def) and the joblog, written and read back
//   report/      stats_on_event()   what is said of a run in words: statistics, summary, status line, --explain
//   draw/        html_draw()        each file that is made of a whole log (--report, --trace): the page, the timeline, Chrome's trace. Another format is
//                                   a file here, also one without pictures; record/pictures.c chooses it, cli/option_special.c allows it
//   manifest/    manifest_load()    a YAML file, by the one table of its keys (keys.def): typed batches, or all mistakes with their places
//   cli/         options_parse()    the one option table (options.def): struct options, --help, completions
//   hosts/       hosts_acquire_place()      hosts.c, the machines of a run; host.c, one of them and the connection to it (host_attempt.c: an attempt there)
//     host_places.c       how many slots they have, and which attempt gets which
//     host_list.c         machines that come and leave with a file that changes
//     host_files.c        files to these machines and back, around an attempt there
//     launcher.c          the process of the command that starts a worker, with pipes; whichever command it is
//     pilots.c            jobs of Slurm that are such machines: asked for and released (pilot_policy.c) by Slurm's commands
//   sharing/     leases_open()      slots that are shared with other programs; an attempt begins and ends there:
//     leases.c            slots that come from a pool, or from the run in whose job this one is started (pool_client.c)
//     nested.c            slots that are lent to the fairpars in this run's jobs, and the table of attempts that run
//     jobserver_slots.c   slots that are shared by make's jobserver, as its client or its server (jobserver_server.c; in a pool
//                         jobserver_spare.c)
//   xargs/       xargs_main()       `fairpar --xargs`, or called xargs: a run of its own kind
//   pipe/        blockfeed_step()   --pipe: data cut into blocks, one for each job (block_feed.c, block.c); dealer.c: to jobs that run
//   state/       struct run         the state of a run and of its parts, from which exec/, feed/ and run/ work:
//     batch.c             the batches of a run, counted, and what the command line says of each
//     dag_node.c          a batch of a manifest: its state, its own items
//     job_spec.c          how the items of a batch become jobs: templates, context, environment
//     job_state.c         a job that has begun, and what its worker keeps from job to job
//     publish.c           events, to all who subscribe: run, batches, attempts, waits; the ends of jobs, counted, and what follows
//     retry_queue.c       jobs that wait for their next attempt
//     terminal.c          jobs that get the terminal (--tty), and questions before jobs (-p)
//     auto_slots.c        how many jobs run at once by -j auto
//   gate/        gate_ask()         whether any job may start now, before it has a slot: --delay, --load, --memfree. What one job alone needs (as
//                                   manifest/keys.def and state/job_spec.h have it) its attempt claims (exec/attempt.c), without a slot meanwhile
//                                   (engine/lend.c): memory (process/memory.c); what is counted for the run alone, from a file in state/
//   record/      log_sink_open()    what a run leaves and shows:
//     job_records.c       --joblog, and the jobs that --resume leaves out
//     added_jobs.c        the jobs of --add; waits.c: jobs that wait for these, and the slots that they give up meanwhile
//     result_files.c      --results and --files
//     log_sink.c          --log; pictures.c: --report and --trace, from a log
//     status_display.c    the status line while the run goes (explain_live.c: why something has not started)
//     end_summary.c       what is said at the end
//   exec/        work_item          a job on its worker:
//     submission.c        items, numbered and submitted together
//     job_run.c           the life of a job: run, retry, end
//     attempt.c           one attempt: what it must have first (a machine, memory), command, environment, child
//     job_output.c        where its output goes: spool, files, or items of another batch (submission.c)
//     created_files.c     what jobs create, and who may remove a half one
//     batch_commands.c    what runs for a batch beside its items: on-failure, finally, listings
//   feed/        feeds_fill()       inputs, just ahead of need, into the queues of their batches:
//     feed.c              reads them; feed_open.c, feed_route.c (which batch), feed_stock.c (--pack), feed_added.c (--add)
//   run/         run_all()          run.c, the event loop: input, wake-ups; stop.c: signals, what ends a run
//     setup.c             composition root: what a run is put together from, and what its pool and its writer call back
//     dag.c               a manifest's batches: which wait, which run, which are skipped
//     limits.c            how many descriptors and processes there may be
//     control.c           a run is spoken to: --status (control_status.c), --add
//   modes/       sem_run()          what is no run, or stands around one:
//     show_mode.c         what is shown without a run: --check, --list, --from-log
//     sem_mode.c, pool_mode.c        one command behind a semaphore, or in a slot of a pool
//     control_mode.c      --status, --add, --wait, --cancel: the side that asks a run (run/control.c answers)
//     worker_mode.c       --worker: the other end of a connection
//
// src/LAYERS says which room may use which; tests/lint/layers checks the includes, tests/lint/symbols the calls.

#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "cli/options.h"
#include "run/run.h"
#include "modes/modes.h"
#include "process/context.h"
#include "process/guardian.h"
#include "process/signals.h"
#include "slots/client.h"
#include "term/screen.h"
#include "xargs/xargs.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

enum { STACK_LEAST = 64 * 1024 }; // bytes, of the first thread; the others have stacks of their own

int main(int argc, char *argv[]) {
	sigset_t mask;
	signals_defer(&mask);
	if (argc > 1 && strcmp(argv[1], GUARDIAN_ARG) == 0) {
		return guardian_main(argc, argv);
	}
	if (argc > 1 && strcmp(argv[1], POOL_SERVER_ARG) == 0) {
		return server_main(argc, argv);
	}
	diag_set_writer(screen_say);
	struct context *context = context_capture(); // what jobs get is what fairpar got: before anything changes
	context->mask = mask;
	context->closed = fds_sanitize();
	if (context->closed < 0) { // 0, 1 and 2 are open, or nothing is safe
		diag_error("cannot open /dev/null: %s", strerror(errno));
		return EXIT_TROUBLE;
	}
	int status = EXIT_TROUBLE;
	struct rlimit stack;
	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < STACK_LEAST) {
		diag_error("a stack of %llu bytes (ulimit -s) is too small", ull(stack.rlim_cur));
		return status;
	}
	if (xargs_is_meant(argc, argv)) {
		status = xargs_main(argc, argv, context);
		context_unref(context);
		return status;
	}
	struct options options;
	switch (options_parse(&options, argc, argv)) {
	case MODE_RUN: status = run_all(&options, context); break;
	case MODE_SEM: status = sem_run(&options, context); break;
	case MODE_POOL: status = pool_run(&options, context); break;
	case MODE_WORKER: status = worker_run(&options, context); break;
	case MODE_ASK: status = control_ask(&options, context); break;
	case MODE_SHOW: status = show_manifest(&options); break;
	case MODE_FROM_LOG: status = show_log(&options); break;
	case MODE_EXIT: status = options.status; break;
	case MODE_ERROR: break;
	}
	options_fini(&options);
	context_unref(context);
	return status;
}
