// The state of a job that has begun, and the state that its worker keeps from job to job.

#pragma once

#include "state/job_spec.h"
#include "state/run.h"
#include "hosts/hosts.h"
#include "job/event.h"
#include "log/joblog.h"
#include "log/resume.h"
#include "output/results.h"
#include "process/child.h"
#include "pipe/block.h"
#include "sharing/nested.h"
#include "template/command.h"

struct sshlogin;

// ---- a queued item: the thread that queues an item writes it as bytes, and the worker that runs it reads these (exec/submission.h)

// What the bytes of a queued item begin with.
struct item {
	uint32_t nargs;       // number of arguments; of a pack, those of all its items
	uint32_t spec : 26;   // index in batch->specs of the spec that its job is made from
	uint32_t earlier : 2; // enum resume_answer: whether an earlier run has done the item; see job_records_leave_out()
	uint32_t bad : 1;     // the item cannot be run: its job fails with item_view.reason
	uint32_t added : 1;   // the item is a job of --add
	uint32_t items;       // how many items one process gets; more than 1: a pack
	uint64_t seq;         // {#}: the number of the item in the run
	uint64_t number;      // the number of the item in its batch: FAIRPAR_JOB is BATCH#number
	uint64_t order;       // rank of its output within its batch, from 1; 0: it has none
	uint64_t queued;      // when it was queued, now_ns() time
	uint64_t from;        // seq of the job that emitted it, or 0
	void *own;            // of --add the struct added_job, of --pipe the struct block; the item's job frees it; or NULL
};

// One item, or a pack of items. After item_read() the view borrows from the bytes that were read.
struct item_view {
	struct item item;
	struct record record; // its arguments
	const char *reason;   // with item.bad: why the item cannot be run; else NULL
};

// ---- a job

// A job of --add (record/added_jobs.h) that has not ended.
struct added_job {
	uint64_t id;              // its item.seq, set when the item gets that number
	struct job_spec spec;
	atomic_bool cancelled;    // the job must not start, or is being ended
};

// Between attempts a job is on the heap (job_run.c); else it is in the state of its worker, or a variable of the function that runs it.
struct job {
	struct batch *batch;          // borrowed: the job's queue has a reference
	const struct job_spec *spec;  // of the batch
	struct item item;             // item.queued: when this attempt was queued; 0: it was not queued
	struct record record;         // its arguments; borrowed from the queued item, or from `kept`
	struct block *block;          // of --pipe and --pipe-part: its standard input, which job_run.c frees; or NULL
	struct added_job *added;      // of --add: owns `spec`, and is freed by job_run.c; or NULL
	const char *reason;           // with item.bad: why the item cannot be run; borrowed as the record
	enum event_role role;
	const struct result *told;    // the end of the job or batch after which an on-failure or finally command runs; or NULL
	struct line_items *line_items; // takes the lines of its attempt's stdout, or NULL
	struct created_file *creating; // the file that it creates, which did not exist when the job began (created_files.c); or NULL
	unsigned step;                // 0: the command; n: the nth of spec->then
	unsigned attempt;             // of this step, from 1
	unsigned slot;                // number of the slot that it runs on, or ran on last
	const struct sshlogin *login; // the machine of its latest attempt; NULL: the job waits for a machine, or the run has no other machines
	struct hosts_tries tries;     // the machines of this step's earlier attempts
	unsigned losses;              // how many attempts were lost with their machine and made again
	unsigned uncounted;           // of this step: how many attempts were lost or never sent, and do not count as attempts
	uint64_t start;               // when the last attempt at its first step started, now_ns() time; 0 before
	struct spool *spool;          // takes all its output; NULL if the job writes directly (--ungroup)
	struct results *results;      // takes its output in place of `spool` (--results), or NULL
	struct job *kept;             // the copy on the heap from which this job, queued again, was restored; job_run.c frees it after the job; or NULL

	// between two attempts
	enum event_next pending;      // why it was queued again: for another attempt or the next step
	struct result result;         // of the previous attempt
	struct list waiting;          // link in the list of retry_queue.c, which also uses `due` and `queue`
	uint64_t due;                 // when the pause ends, now_ns() time
	struct queue *queue;          // the job's queue, held open

	// for events
	uint64_t pause;               // nanoseconds of its last pause before an attempt
	bool pauses;                  // EVENT_WAIT was published for that pause, and EVENT_WAIT_END was not
	enum event_next cancelled_next; // the attempt or step that an event announced after the last attempt, but that the end of the run cancelled
};

// Appends the name of the job in messages: "BATCH#7", "#7" in the default batch, or "BATCH finally".
void job_label(const struct job *job, struct buf *buf);

// The template of the job's present step; NULL: the record is the command.
const struct template *job_template(const struct job *job);

// What the job's templates are expanded with; borrows its record.
struct expansion job_expansion(const struct job *job);

// How many bytes the job has written to the stream (0 stdout, 1 stderr), without bytes that became items. To be called before its
// spool and its results are freed.
uint64_t job_bytes(const struct job *job, int stream);

// Whether the job's latest attempt is made on this machine.
bool job_is_here(const struct job *job);

// True if --cancel names the job or its batch. From any thread.
bool job_is_cancelled(const struct job *job);

// Returns the row of the joblog, or of a table of --results, for a job that has ended. The row borrows from all arguments.
struct joblog_row joblog_row_of(const struct job *job, const struct result *result, uint64_t received, const struct buf *command);

// ---- its worker ----

// What is known of the running attempt, gathered for the event of its end (publish_job_end()).
struct attempt_stats {
	bool started;          // publish_job_start() was called for it
	uint64_t queued;       // nanoseconds from its queueing to its start
	uint64_t wait_since;   // since when the attempt waits for memory or a machine, now_ns() time; 0: it does not wait
	enum event_why wait_why; // what the attempt waits for, while wait_since is not 0
	uint64_t held;         // nanoseconds of the attempt's longest wait: for memory, for a machine, or for gate_ask() to let it start
	enum event_why held_why; // what the attempt waited for in its longest wait
	uint64_t out_bytes, err_bytes; // bytes that the job has written to stdout, to stderr
	uint64_t item_bytes;   // bytes of stdout that became items (exec/submission.h)
	struct buf why;        // why the attempt could not be started
	struct buf tail;       // last lines of its output, if the job has failed for good
	size_t tail_out;       // how many bytes of `tail` are from stdout; these come first
};

// Only the thread that runs the worker's item uses the state. Buffers keep their memory from job to job.
struct worker_state {
	struct run *run;
	struct worker *worker;        // NULL: no worker runs the job; the state only serves to publish the job's end
	struct job job;               // the item's job
	void *stack_top;              // the stack on which this worker's children start; NULL before the first child on this machine, as is `warm`
	struct warm *warm;            // the shells that are cloned for jobs (--warm), or NULL
	struct command command;       // of the attempt
	char *output_bytes;           // buffer for output that becomes items or that subscribers want, allocated when it is first needed
	struct buf text;              // the command of the last attempt, by command_text()
	struct buf label;             // of the job, with its command
	struct buf vars;              // the variables of its environment that differ from job to job, NUL behind each
	struct buf row;               // scratch: the command of its row in the joblog
	struct buf path;              // scratch: the path of the file that the job creates
	struct context *context;      // the job's context, if the job has a directory of its own (job_spec.workdir); else NULL
	char **env;                   // the attempt's environment: pointers into `vars` and into the job's spec
	size_t env_cap;
	struct attempt_stats stats;   // of the attempt
	struct live_attempt live; // the attempt, for as long as its process runs
	struct child_config config;   // how the attempt's process is started
	struct output_reader reader;
	struct result result;         // of the job's attempt
	// in a run on several machines, while the worker's item is pending
	struct hosts_request request; // asks for the attempt's place: slots on a machine
	struct host_attempt *elsewhere; // the attempt on another machine; NULL: the attempt still waits for its place
	struct job_files files;       // the files that are transferred for the attempt
};

// Returns the state of that worker, which the first call makes; the pool frees it with the worker.
struct worker_state *worker_state_of(struct run *run, struct worker *worker);

// Makes another state, for that worker or (NULL) for no worker. The caller frees it with worker_state_free().
struct worker_state *worker_state_new(struct run *run, struct worker *worker);
void worker_state_free(void *state); // a struct worker_state

// The job's label (job_label()) as a string: borrowed from the state until the next call.
const char *worker_state_label(struct worker_state *state, const struct job *job);

// Prints why the attempt cannot run, as a message about the job, and keeps the reason in state->stats.why for the event of the attempt's
// end. To be called after publish_attempt_begin().
FP_PRINTF(3, 4) void attempt_complain(struct worker_state *state, const struct job *job, const char *format, ...);
