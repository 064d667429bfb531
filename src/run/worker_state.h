// What a worker keeps from job to job.

#ifndef FAIRPAR_RUN_WORKER_STATE_H
#define FAIRPAR_RUN_WORKER_STATE_H

#include "run/job_state.h"
#include "run/line_items.h"
#include "run/nested.h"
#include "run/waits.h"
#include "template/command.h"
#include "warm/warm.h"

// What the events of the running attempt say of it, gathered for publish_job_end().
struct attempt_stats {
	bool started;          // publish_job_start() was called for it
	uint64_t queued;       // nanoseconds from its queueing to its start
	uint64_t memory_since; // when it began to wait for memory, now_ns() time; 0: it did not, or no longer does
	uint64_t host_since;   // the same of a machine with a slot for it
	struct buf recent;     // of a job that writes line by line: what it wrote last
	uint64_t admission;    // nanoseconds that it waited to be let in (admission.h), for memory or for a machine, whichever was longest
	enum event_why admission_why; // … and for which
	uint64_t out_bytes, err_bytes;
	struct buf why;        // what it could not start for
	struct buf tail;       // last lines of its output, if it failed for good
	size_t tail_out;       // bytes of that from stdout, which come first
};

// So many items, the first of which has this item.order.
struct order_range {
	uint64_t first, n;
};

// The items that one process takes together, chosen while the pool's lock is held; see autopack.c.
struct coalesced {
	uint64_t n, most;     // items; those that may be
	struct record record; // of all; its bytes are in `args`
	size_t size;          // bytes by packs_measure()
	struct buf args;
	struct buf orders; // where there is an order: struct order_range of all but the first
};

// Only its worker touches it. Buffers keep their memory from job to job.
struct worker_state {
	struct run *run;
	struct worker *worker;        // NULL: a job is ended that no worker runs
	struct child_scratch *scratch;
	struct warm *warm;            // with --warm, or NULL
	struct command command;       // of the attempt
	char *output_bytes;           // room for output that subscribers want, made when it is first needed
	struct buf text;              // the command of the last attempt, by command_text()
	struct buf label;             // of the job, with its command
	struct buf vars;              // the variables of its environment that differ from job to job, NUL behind each
	struct buf row;               // scratch: the command of its row in the joblog
	struct buf path;              // scratch: of what it creates
	struct context *context;      // of a job in a directory of its own, or NULL
	char **env;                   // of the attempt: pointers into `vars` and into the job's spec
	size_t env_cap;
	struct line_items line_items; // of the attempt, if its lines become items
	struct coalesced coalesced;   // of the job that begins next, with run->packs
	struct job failed;            // the job that work_failed() is called for, and its result
	struct result failed_result;
	struct attempt_stats stats;   // of the attempt, if there are subscribers
	struct attempt_origin origin; // of the attempt, with run->nested
	struct waits_attempt waiter;  // the attempt, for as long as its process runs
};

// What that worker keeps, made when it is first asked for; the pool frees it with the worker.
struct worker_state *worker_state_of(struct run *run, struct worker *worker);

// Another one, for that worker or for none (NULL). The caller frees it.
struct worker_state *worker_state_new(struct run *run, struct worker *worker);
void worker_state_free(void *state); // a struct worker_state

// The job's label (job_label()) as a string: borrowed from the state until the next call.
const char *worker_state_label(struct worker_state *state, const struct job *job);

// Prints why the attempt cannot run, as a message about the job, and keeps it for subscribers. Behind publish_attempt().
FP_PRINTF(3, 4) void attempt_complain(struct worker_state *state, const struct job *job, const char *format, ...);

#endif
