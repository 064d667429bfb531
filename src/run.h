// The run as its three files see it: run.c (composition and event loop), feed.c (input into batches), work.c (the life
// of a job on a worker). Nothing else includes this header.

#ifndef FAIRPAR_RUN_H
#define FAIRPAR_RUN_H

#include "base/atomic.h"
#include "base/buf.h"
#include "base/sync.h"
#include "engine/pool.h"
#include "job/halt.h"
#include "options.h"
#include "output/emit.h"
#include "plan/template.h"
#include "process/child.h"
#include "process/context.h"
#include "report/trace.h"

struct feeds;

// How the items of a batch become jobs; from the command line, the same for all batches.
struct recipe {
	struct template *command;  // NULL: each record is a command
	struct template **then;    // the steps after it
	size_t nthen;
	struct template *on_failure; // or NULL
	struct template *tag;      // or NULL
	char *shell;               // that runs commands with shell syntax
	struct context *context;   // what the jobs run with; borrowed from main
	char **env;                // of the context, without the variables that are set for each job
	size_t nenv;
	uint64_t timeout;          // nanoseconds, 0: none
	unsigned attempts;         // in all, of each step; UINT_MAX: without end
};

// A batch as long as its queue lives: the queue's user.
struct batch {
	struct run *run;
	const struct recipe *recipe;
	char *name;                // owned
	struct emit_lane *lane;    // its order of output, or NULL without --keep-order
	uint64_t order;            // items given an order so far; only the feeding thread counts
};

enum { FAILURES_NAMED = 20 };  // failed jobs named in the last line (issue text and DESIGN §8)

struct run {
	const struct options *options;
	struct recipe recipe;
	struct template *batch_by; // or NULL
	struct pool *pool;
	struct children *children;
	struct emit *emit;         // NULL with --ungroup
	struct trace *trace;       // --trace-service, or NULL
	struct feeds *feeds;
	const char *temp_dir;      // for spilled items and held output
	struct source_config *file_sources; // of --batch NAME=FILE

	// what happened so far
	mutex lock;                // guards tally to failures
	struct tally tally;
	bool halted;               // --halt was met
	struct result halted_by;
	struct buf failures;       // "#3 (exit 1), A#7 (signal 9)", up to FAILURES_NAMED

	atomic_bool all_read;      // every input was read to its end

	// told to the event loop, with a write to wake_fd
	int wake_fd;
	atomic_bool idle;          // the pool's last call
	atomic_bool halt_now;      // end the running jobs
	atomic_bool output_failed; // output could not be written, for output_error
	atomic_int output_error;   // errno, or 0
	atomic_bool trouble;       // something was lost or could not be done: exit EXIT_TROUBLE

	// the event loop's own
	int signal_fd;
	int signal;                // that ends the run, or 0
	bool killing;              // a second one came
	bool stopping;             // no input any more, nothing new is started
	bool terminating;          // running jobs are being ended
	uint64_t start;            // of the run, now_ns() time
	struct pollfd *fds;        // scratch
	size_t fds_cap;
};

// Does what the options say, from the first record to the exit status.
int run_all(const struct options *options, struct context *context);

// Wakes the event loop. From any thread.
void run_wake(struct run *run);

// Waits until the descriptor can be read. Returns false if a signal ends the run first.
bool run_wait_input(struct run *run, int fd);

// Parses all templates, for the columns of these names. Returns 0, or -1 after a message.
int run_parse_templates(struct run *run, const struct names *names);

// ---- feed.c ----

// Opens all inputs, reads the header if there is one, and parses the templates that need its names.
// Returns 0, or -1 after a message.
int feeds_open(struct run *run);

// Moves records from the inputs that have some into queues that want some; never blocks. Returns true if it should be
// called again at once (it stops now and then, so that signals are answered).
bool feeds_fill(struct run *run);

// The next descriptor to poll for input, from *at = 0 on; -1 when there are no more.
int feeds_poll_fd(struct run *run, size_t *at);

// Takes no more input; closes what is open.
void feeds_stop(struct run *run);
void feeds_close(struct run *run);

// Frees a batch whose queue was removed.
void batch_free(struct run *run, struct batch *batch);

// ---- work.c ----

// The payload of a queued item, followed by the record's arguments, and with `bad` by the reason as a string.
struct item {
	uint64_t seq;      // {#}, over the run
	uint64_t number;   // within its batch: FAIRPAR_JOB is BATCH#number
	uint64_t order;    // of its output within its batch, from 1
	uint32_t nargs;
	uint32_t bad;      // cannot be run: fails with the reason
};

extern const struct work_type work_item;

// The pool's unhandled-failure event: queues the --on-failure command of the job that failed on this worker.
void work_failed(void *arg, struct worker *worker, struct queue *queue);

// Starts nothing more, because --halt was met; from any thread.
void work_stop_run(struct run *run);

// Counts a job that never started because the run was cut short.
void work_count_cancelled(struct run *run, uint64_t n);

// "BATCH#7", or "#7" for the default batch, into buf.
void work_label(const struct batch *batch, uint64_t seq, uint64_t number, struct buf *buf);

#endif
