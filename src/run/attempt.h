// One attempt at one step of a job: its command, its environment, its child, its output.

#ifndef FAIRPAR_RUN_ATTEMPT_H
#define FAIRPAR_RUN_ATTEMPT_H

#include "job/event.h"
#include "output/results.h"
#include "run/block.h"
#include "run/line_items.h"
#include "run/submission.h"

// A job that has begun.
struct job {
	struct batch *batch;
	const struct job_spec *spec;
	struct item item;
	struct record record;
	struct block *block;       // of --pipe: its standard input; or NULL
	const char *reason;        // item.bad: why
	const char *name;          // of what is no item ("finally"), or NULL
	enum event_role role;
	bool makes_product;        // what it creates was not there when it began
	unsigned step;             // 0: the command; n: the nth of recipe->then
	unsigned attempt;          // of this step, from 1
	uint64_t start;            // of its first step's last attempt, now_ns() time; 0 before
	uint64_t along;            // items that went along with it (--pack=auto): their arguments are in `record`
	enum event_next pending;   // what it was queued again for; and of the attempt before:
	struct result result;
	unsigned slot;
	struct spool *spool;       // of all its output; NULL if it is ungrouped
	struct results *results;   // takes its output instead (--results), or NULL
	char *owned;               // its own copy of the record, once it has left the worker; else NULL
	// for who listens
	uint64_t queued;           // when this attempt was queued, now_ns() time; 0: it was not, or nobody listens
	uint64_t pause;            // of the time since, nanoseconds that it had to wait before its next attempt
	uint64_t from;             // seq of the job that emitted the item, or 0
	bool pauses;               // that it waits was told, and not yet that it does no longer
	enum event_next unmade;    // what the attempt before was to be followed by, and cannot be any more
};

// What is told of the running attempt.
struct told {
	bool started;              // that it has
	uint64_t queued;           // as of then
	uint64_t memory_since;     // when it began to wait for memory; 0: it did not, or no longer does
	struct buf recent;         // of a job that writes line by line: what it wrote last
	uint64_t admission;        // of that, nanoseconds that it waited to be let in
	enum event_why admission_why;
	uint64_t out_bytes, err_bytes;
	struct buf why;            // it could not start
	struct buf tail;           // last lines of its output, if it failed for good
	size_t tail_out;           // bytes of that from stdout, which come first
};

// What goes along with an item, while the pool's lock is held; see autopack.c.
struct along {
	uint64_t n, most;          // items; those that may be
	struct record record;      // of all; its bytes are in `args`
	size_t size;               // bytes by packs_measure()
	struct buf args;
	struct buf orders;         // item.order of all but the first, where there is an order
};

// What a worker keeps from job to job.
struct desk {
	struct run *run;
	struct worker *worker;     // or NULL: a job is ended that none runs
	struct child_scratch *scratch;
	struct command command;
	char *tap;                 // READ_BYTES for what is told of output, once needed
	struct buf text;           // the command for people
	struct buf label;
	struct buf vars;           // the variables of the job's environment, NUL behind each
	struct buf row;            // scratch: the command of its row in the joblog
	struct buf path;           // of what the job creates
	struct context *context;   // of a job in a directory of its own, or NULL
	char **env;
	size_t env_cap;
	struct line_items emission;  // of the running job
	struct along along;        // with run->packs
	struct job failed;         // the job that work_failed() is called for
	struct result failed_result;
	struct told told;
};

// The worker's desk, made when it is first asked for.
struct desk *desk_of(struct run *run, struct worker *worker);
// A desk for that worker, or NULL, which the caller frees.
struct desk *desk_new(struct run *run, struct worker *worker);
void desk_free(void *desk);

// Appends how messages call the job: "BATCH#7", "#7" in the default batch, or "BATCH finally".
void job_label(const struct job *job, struct buf *buf);
// The same as a string: borrowed from the desk until the next label.
const char *desk_label(struct desk *desk, const struct job *job);

// What the job's templates are expanded with.
struct expansion job_expansion(const struct job *job, unsigned slot);

// Opens the job's spool, with its tag, before its first attempt (job_output.c).
void job_open_spool(struct desk *desk, struct job *job, unsigned slot);

// Says why the job cannot run, and keeps it for who listens; since publish_attempt().
FP_PRINTF(3, 4) void attempt_complain(struct desk *desk, const struct job *job, const char *format, ...);

// Fills in the result of a job that never ran.
void result_cannot_start(struct result *ret_result, int exit_code);

// Bytes of data that the job was given on its standard input (--pipe).
uint64_t job_sent(const struct job *job);

// The absolute path that the recipe says the job creates; put into `path` and borrowed from it.
const char *job_product(const struct job *job, unsigned slot, struct buf *path);

struct attempt {
	const struct template *template; // NULL: the record is the command
	unsigned slot;
	const struct result *ended;      // what an on-failure command is told of, or NULL
	struct line_items *emission;       // takes the lines of its stdout, or NULL
	bool cleanup;                    // a `finally`: also after a cancel
};

// Makes one attempt and waits for its end.
void attempt_run(struct desk *desk, struct job *job, const struct attempt *attempt, struct result *ret_result);

#endif
