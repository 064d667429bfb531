// fairpar: xargs for many queues. Starts up, picks the mode, returns the exit status.
//
// The map of src/; docs/design.md is the design. The rooms (directories) from state/ on in src/LAYERS make a run out of the other rooms.
//
//   stdin, files, :::, manifest -> input: record -> feed: item in a batch's queue -> engine: whose turn -> worker
//     -> exec: the job -> process: child -> output: spool -> stdout, stderr
//   what happens -> state/publish: event -> log, report (statistics, summary, status line) -> draw
//
//   base/        memory, byte strings, maps, JSON, messages, threads, descriptors; src/LAYERS lists the files with calls that only Linux has
//   term/        screen_write()     keeps the status line at the bottom of the terminal; says whether to write colours
//   job/         halt_is_met()      what a job is and how it ends: outcomes, events, --halt, exit status; only types and pure functions
//   shell/       shell_is_needed()  which shell runs a command, where in the command an item stands, and how the item is quoted there
//   input/       input_next()       records: lines, columns, CSV, blocks, globs
//   template/    template_expand()  commands with replacement strings, and what execve() gets: command_build()
//   engine/      pool_submit()      named queues that take turns (fair.c) on slots, local lists, stealing
//   slots/       slots_parse()      how many jobs run at once (auto_slots.c: with -j auto); semaphores; pools (lease.c decides, server.c
//                                   serves, client.c asks); make's jobserver
//   process/     child_run()        one child from start to end; contexts, signals, guardian, cgroups; descendants (proctree.c), memory (memory.c)
//   warm/        warm_starter()     --warm: shells that are started once and cloned for each job (server.c: the library in the shell that clones it)
//   remote/      channel_send()     the protocol of the connection to a worker on another machine, without its reads and writes: frames (frames.def);
//                                   sshlogin.c: the machines, and the command that starts a worker there. To add a launcher for machines that share
//                                   this machine's files (SSHLOGIN_LAUNCH; directory and environment are sent, and replace those there), write a file
//                                   like slurm.c that makes the command, and follow OPT_LAUNCH, opt_launch in cli/: sshlogins_add_launch() gets the
//                                   command (one {}; each name once). For machines with files of their own, follow SSHLOGIN_SSH in remote/ and hosts/
//   output/      writer_create()    jobs' output: spooled, whole, in the promised order
//   log/         event_encode()     the log of events (one table: events.def) and the joblog, written and read back
//   report/      stats_on_event()   a run in words: statistics, summary, status line, --explain
//   draw/        html_draw()        the files made from a whole log (--report, --trace): the page, the timeline, Chrome's trace. To add a format,
//                                   write a file here, follow OPT_TRACE and ->trace in cli/ and record/pictures.c (OPT_REPORT, opt_report: FILE.html)
//   manifest/    manifest_load()    turns a YAML file, by the table of its keys (keys.def), into typed batches, or reports all mistakes in it
//   cli/         options_parse()    the one option table (options.def): struct options, --help, completions
//   hosts/       hosts_request_place()      hosts.c: the machines of a run; host.c: a machine and its connection; host_attempt.c: a command there
//     connections.c       the thread that serves all connections
//     host_places.c       how many slots the machines have, and which attempt gets which slot; host_loans.c: slots lent to fairpars in jobs
//     host_list.c         machines that come and leave as the file that lists them changes
//     host_files.c        the steps of an attempt on a machine: files are copied there before its command, and back after it
//     launcher.c          runs a command that starts a worker, or a short command of Slurm, with pipes to it
//     pilots.c            jobs of Slurm that serve as machines: requested and released (pilot_policy.c) by Slurm's commands
//   sharing/     leases_open()      slots that are shared with other programs; exec/ calls this room when an attempt begins and ends:
//     leases.c            slots that come from a pool, or from the run in whose job this run was started (pool_client.c)
//     nested.c            slots that are lent to the fairpars in this run's jobs, and the table of attempts that run
//     jobserver_slots.c   slots that are shared by a jobserver of make; the run is its client, or its server (jobserver_server.c; in a pool
//                         jobserver_spare.c)
//   xargs/       xargs_main()       `fairpar --xargs`, or a fairpar that is called xargs: has its own kind of run, without state/, exec/ and run/
//   pipe/        blockfeed_step()   --pipe: data cut into blocks, one for each job (block_feed.c, block.c); dealer.c: data for jobs that run already
//   state/       struct run         the state of a run and of its parts, which exec/, feed/ and run/ use:
//     batch.c             the batches of a run with their counts, and what the command line says of each batch
//     dag_node.c          a batch of a manifest: its state, and the items that the manifest gives it
//     job_spec.c          how the items of a batch become jobs: templates, context, environment
//     job_state.c         a job that has begun, and what its worker keeps from job to job
//     publish.c           passes the events of run, batches, attempts and waits to subscribers; counts the ends of jobs (for --halt and statistics)
//     retry_queue.c       jobs that wait for their next attempt
//     terminal.c          jobs that get the terminal (--tty), and questions before jobs (-p)
//   gate/        gate_ask()         whether any job may start now, before it has a slot: --delay, --load, --memfree
//   record/      log_sink_open()    the records that a run writes and shows:
//     job_records.c       --joblog, and the jobs that --resume leaves out
//     added_jobs.c        the jobs of --add; waits.c: jobs that wait for added jobs, and lend their slots meanwhile
//     result_files.c      --results and --files
//     log_sink.c          --log; pictures.c: --report and --trace, from a log
//     status_display.c    the status line while the run goes (explain_live.c: why jobs have not started)
//     end_summary.c       the messages at the end of a run
//   exec/        work_item          a job on its worker:
//     submission.c        items, numbered and submitted together
//     job_run.c           the life of a job: run, retry, end
//     attempt.c           one attempt: what it must have first (a machine, memory), its command, environment, child. To add a counted need of jobs,
//                         follow memory (grep WHY_MEMORY, memory_claim, memory_wake, memory_.*_waiting): declare it in manifest/, cli/, job_spec.c;
//                         run/dag.c refuses what never fits; count as "admit" in process/memory.c; claim here, all needs in one step; wait
//                         between worker_wait_begin() and worker_wait_end(): its batch waits, others pass. Elsewhere host_places.c, remote/, modes/
//     loan.c              lends slots to the fairpars in jobs: each loan is an item in the batch of the job
//     job_output.c        where a job's output goes: to the spool, to files, or as items to another batch (submission.c)
//     created_files.c     the files that jobs create (`creates`); the files of failed jobs are removed
//     batch_commands.c    the commands of a batch that run no item: on-failure, finally, listings
//   feed/        feeds_fill()       moves items from inputs, just ahead of need, into the queues of their batches:
//     feed.c              reads inputs; feed_open.c, feed_route.c (which batch), feed_stock.c (--pack), feed_added.c (--add)
//   run/         run_all()          run.c: the event loop (input, wake-ups); stop.c: signals, what ends a run
//     setup.c             puts a run together; has the functions that its pool and its writer call back
//     dag.c               a manifest's batches: which wait, which run, which are skipped
//     limits.c            how many jobs at once the limits of descriptors and processes allow
//     control.c           answers requests to the run: --status (control_status.c), --add, --wait, --cancel
//   modes/       sem_run()          the modes in which fairpar does not run jobs from items:
//     show_mode.c         what is shown without a run: --check, --list, --from-log
//     sem_mode.c, pool_mode.c        one command that waits for a semaphore, or for a slot of a pool
//     control_mode.c      --status, --add, --wait, --cancel: the side that asks a run (run/control.c answers)
//     worker.c            --worker: the other end of a connection, and the jobs there
//
// src/LAYERS says which room may use which rooms; tests/lint/layers checks the includes, tests/lint/symbols the calls.

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
#include "slots/pool_dir.h"
#include "term/screen.h"
#include "xargs/xargs.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

enum { STACK_LEAST = 64 * 1024 }; // bytes of stack that the first thread needs; other threads have stacks of their own

int main(int argc, char *argv[]) {
	sigset_t mask;
	signals_defer(&mask);
	if (argc > 1 && strcmp(argv[1], GUARDIAN_ARG) == 0) {
		return guardian_main(argc, argv, socket_tidy);
	}
	if (argc > 1 && strcmp(argv[1], POOL_SERVER_ARG) == 0) {
		return server_main(argc, argv);
	}
	diag_set_writer(screen_say);
	struct context *context = context_capture(); // before anything changes: jobs get the signals, limits and so on that fairpar got
	context->mask = mask;
	context->closed = fds_sanitize();
	if (context->closed < 0) { // while descriptor 0, 1 or 2 is closed, the next file that is opened gets its number
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
