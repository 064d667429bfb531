// What a worker keeps from job to job.

#ifndef FAIRPAR_RUN_WORKER_STATE_H
#define FAIRPAR_RUN_WORKER_STATE_H

#include "run/job_state.h"
#include "run/line_items.h"
#include "template/command.h"

// What events say of the running attempt.
struct attempt_stats {
	bool started;          // that it has
	uint64_t queued;       // as of then
	uint64_t memory_since; // when it began to wait for memory; 0: it did not, or no longer does
	struct buf recent;     // of a job that writes line by line: what it wrote last
	uint64_t admission;    // of that, nanoseconds that it waited to be let in
	enum event_why admission_why;
	uint64_t out_bytes, err_bytes;
	struct buf why;  // it could not start
	struct buf tail; // last lines of its output, if it failed for good
	size_t tail_out; // bytes of that from stdout, which come first
};

// The items that one process takes together, chosen while the pool's lock is held; see autopack.c.
struct coalesced {
	uint64_t n, most;     // items; those that may be
	struct record record; // of all; its bytes are in `args`
	size_t size;          // bytes by packs_measure()
	struct buf args;
	struct buf orders; // item.order of all but the first, where there is an order
};

// What a worker keeps from job to job.
struct worker_state {
	struct run *run;
	struct worker *worker; // or NULL: a job is ended that none runs
	struct child_scratch *scratch;
	struct command command;
	char *tap;       // READ_BYTES for output that subscribers want, once needed
	struct buf text; // the command of the last attempt, by command_text()
	struct buf label;
	struct buf vars;         // the variables of the job's environment, NUL behind each
	struct buf row;          // scratch: the command of its row in the joblog
	struct buf path;         // of what the job creates
	struct context *context; // of a job in a directory of its own, or NULL
	char **env;
	size_t env_cap;
	struct line_items line_items; // of the running job
	struct coalesced coalesced;   // with run->packs
	struct job failed;            // the job that work_failed() is called for
	struct result failed_result;
	struct attempt_stats stats;
};

// What that worker keeps, made when it is first asked for.
struct worker_state *worker_state_of(struct run *run, struct worker *worker);
// The same for that worker, or for none (NULL), which the caller frees.
struct worker_state *worker_state_new(struct run *run, struct worker *worker);
void worker_state_free(void *state);

// The same as a string: borrowed from the state until the next label.
const char *worker_state_label(struct worker_state *state, const struct job *job);

// Says why the job cannot run, and keeps it for subscribers; since publish_attempt().
FP_PRINTF(3, 4) void attempt_complain(struct worker_state *state, const struct job *job, const char *format, ...);

#endif
