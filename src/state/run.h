// A run: what is to be done, the parts that do it, and how far the run is. run/setup.c puts a run together. Files of src/state, record, exec, feed
// and run see all members; a part that is a pointer is made, used and freed by the file of its name.

#pragma once

#include "base/atomic.h"
#include "base/io.h"
#include "base/sync.h"
#include "cli/options.h"
#include "state/batch.h"
#include "state/job_spec.h"
#include "engine/pool.h"
#include "job/halt.h"
#include "log/event_log.h"
#include "manifest/manifest.h"
#include "output/writer.h"
#include "process/child.h"
#include "slots/auto_slots.h"

// How far the run is. The phase only moves forward (stop.c).
enum run_phase {
	RUN_RUNNING,
	RUN_DRAINING, // no more input is read, and no more jobs start
	RUN_ENDING,   // as RUN_DRAINING, and running jobs are being ended
	RUN_KILLING,  // running jobs are ended by SIGKILL: a second signal came
};

struct run {
	// what is to be done: set before the first job starts, constant from then on
	const struct options *options;
	struct context *context;                    // what fairpar was started with; borrowed from main
	const char *cwd;                            // fairpar's current directory if there is a manifest, else NULL; owned
	struct manifest *manifest;                  // or NULL
	struct halt halt;                           // --halt, or fail_fast of the manifest
	struct job_spec spec;                       // of the command line's jobs
	struct job_spec *specs[1];                  // the address of `spec`, for batch.specs
	unsigned slots;                             // how many slots the run begins with
	struct slots_bounds slots_bounds;           // the fewest and the most slots that it may have; equal: the number is fixed; least 0: not known
	bool slots_shared;                          // -j allows more slots than the pool, the outer run or make's jobserver has
	unsigned long nofile;                       // the limit of descriptors
	unsigned long job_fds;                      // descriptors left for jobs: `nofile` less one for each --batch NAME=FILE, whose file stays open
	bool fair_time;                             // batches get equal slot-time, not an equal number of turns
	const struct work_type *item_work;          // what workers do with a queued item (job_run.c)
	const char *temp_dir;                       // directory of the files for items and output that do not fit into memory
	int pid;                                    // of this process, for $PARALLEL_PID of each job
	uint64_t start;                             // of the run, now_ns() time
	uint64_t total;                             // jobs of all inputs (items with -X or --batch-by), if all were read before the first job; else 0

	// its parts
	struct pool *pool;
	struct gate *gate;                          // NULL: jobs wait only for slots before they start, and no load or memory is watched
	struct auto_slots *auto_slots;              // changes the number of slots (-j auto); NULL: the number is fixed, or is set elsewhere
	struct terminal *terminal;                  // the terminal, for -o and -p; or NULL
	struct status_display *status_display;      // the status line, or NULL
	struct children *children;                  // the attempts that run on this machine
	struct hosts *hosts;                        // -S: the slots are those of several machines; or NULL
	struct leases *leases;                      // slots that a pool, or the run in whose job this run was started, lends to this run; or NULL
	struct jobserver_slots *jobserver;          // make's jobserver, from which the slots come, or the run's own for its jobs (--jobserver); or NULL
	struct nested *nested;                      // knows the attempts that run, and lends their slots to fairpars in them; or NULL
	struct added_jobs *added_jobs;              // the jobs added by --add, and the processes that wait for them; NULL: there can be none
	struct control *control;                    // answers the processes that send requests to the run, or NULL
	struct writer *writer;                      // NULL: all jobs write to stdout and stderr themselves (--ungroup)
	struct event_log *trace;                    // --trace-service, or NULL
	struct end_summary *end_summary;            // or NULL: no summary
	struct explain_live *explain_live;          // --explain, or NULL
	struct publisher *publisher;                // of events, with the counts of jobs
	struct log_sink *log;                       // writes --log, and the log that pictures are made from; or NULL
	struct feeds *feeds;
	struct blockfeed *blocks;                   // of --pipe and --pipe-part, or NULL
	struct dag *dag;                            // of the manifest, or NULL
	struct retry_queue *retry_queue;            // jobs that wait for their next attempt
	struct job_records *job_records;            // --joblog and --resume; NULL: neither was given
	struct result_files *result_files;          // --results or --files, or NULL
	int wake_fd;                                // run_wake() makes it readable, which wakes the event loop
	int signal_fd;                              // readable while a signal is to be answered

	// its state, for any thread
	atomic_uint_least64_t seq;                  // {#} of the newest item
	mutex lock;                                 // guards dead, and batch.pack_size
	struct batch *dead;                         // batches whose queues were removed: the event loop drops their references
	atomic_bool all_read;                       // every input was read to its end
	atomic_bool idle;                           // the pool has called hooks.idle, its last call: no queue is left
	atomic_bool halt_now;                       // the running jobs are to be ended
	atomic_int output_error;                    // errno: output could not be written; or 0
	atomic_bool trouble;                        // something was lost or could not be done: the exit status is EXIT_TROUBLE

	// its state, for the event loop alone; `shown` for the one worker of --dry-run
	const struct batch *shown;                  // --dry-run: the batch of the command that was shown last
	uint64_t nbatches;                          // how many batches there have been
	int signal;                                 // the signal that ends the run, or 0
	enum run_phase phase;
	bool extended;                              // output that nobody reads was given up, and run_limit_end() has given the end of the run more time
};

// Wakes the event loop. From any thread.
static inline void run_wake(struct run *run) {
	wakeup_post(run->wake_fd);
}

// Whether one worker runs all jobs, one after the other: --dry-run shows them in order, and with --tty only one can have the
// terminal.
static inline bool run_is_serial(const struct run *run) {
	return run->options->dry_run || run->options->tty;
}

// ---- terminal.c: questions before jobs (-p), and jobs that get the terminal for themselves (-o)

// Makes run->terminal for -o or -p. Returns 0; or -1 after a message, if -p is given and there is no terminal. With -o alone the
// terminal may be missing: then a warning is printed, and jobs run without a terminal.
int terminal_open(struct run *run);
// Frees run->terminal, if it is not NULL, and closes the terminal.
void terminal_close(struct run *run);

// Shows the command and waits for the answer. Returns whether the command is to run; false also if the run is cut short. The
// caller makes sure that only one thread calls this at a time.
bool terminal_confirm(struct run *run, const char *command);

// Ends the wait for answers, now and later. From any thread; run->terminal may be NULL.
void terminal_cancel(struct run *run);

// Returns the descriptor of the terminal, for the standard input of a job; or -1.
int terminal_fd(const struct run *run);

// Whether this process is in the foreground of the terminal, so that it can give the foreground to the job.
bool terminal_is_ours(const struct run *run);

// Takes the foreground back from a job that has ended with `result`. If Ctrl-C has ended the job, the run ends, too, as a shell script would.
void terminal_take_back(struct run *run, const struct result *result);

// For a job that has the terminal and waits for other jobs: terminal_lend() takes the foreground from the job, so that the other jobs may
// have it; terminal_return() gives the foreground back to the job's process `pid`.
void terminal_lend(struct run *run);
void terminal_return(struct run *run, pid_t pid);

// For the event loop, when a child may have been stopped: prints a note, once for each stop. If Ctrl-Z has stopped the child,
// fairpar stops, too; when fairpar is continued, so is the job.
void terminal_note_stops(struct run *run);

// ---- retry_queue.c: jobs that wait for the time of their next attempt, without a slot

struct job;

// The functions that retry_queue.c calls with a job that has waited.
struct retry_calls {
	bool (*resume)(struct queue *queue, struct job *job); // queues the job, whose time has come; false: there is no room now
	void (*cut_off)(struct job *job);                     // ends the job, whose next attempt will not come
};

// Makes an empty queue. The caller frees it by retry_queue_destroy() when it is empty; `calls` is borrowed until then.
struct retry_queue *retry_queue_create(const struct retry_calls *calls);
void retry_queue_destroy(struct retry_queue *retry_queue);

// Takes the job over and keeps it until `due` (now_ns() time); meanwhile holds its queue open. Called by the worker that runs the
// job's item. Returns false, with nothing done, if the run takes no more work.
bool retry_queue_add(struct retry_queue *retry_queue, struct queue *queue, struct job *job, uint64_t due);

// Queues the jobs whose time has come. Returns when to call it again (now_ns() time), or TIME_NEVER. From the event loop.
uint64_t retry_queue_submit(struct retry_queue *retry_queue, uint64_t now);

// Makes waiting jobs due at once if they have been cancelled (job_is_cancelled()). From the event loop.
void retry_queue_recheck(struct retry_queue *retry_queue);

// Ends all jobs that wait, by retry_calls.cut_off, and refuses new ones. From any thread.
void retry_queue_stop(struct retry_queue *retry_queue);
