// The life of one job on a worker, and what is done for jobs beside them.

#ifndef FAIRPAR_RUN_JOB_RUN_H
#define FAIRPAR_RUN_JOB_RUN_H

#include "run/run.h"
#include "run/submission.h"
#include "run/worker_state.h"

struct retry_calls;

extern const struct work_type work_item;

// For retry_queue_create().
extern const struct retry_calls work_retries;

// The pool's unhandled-failure event: queues the on-failure command of the job that failed on this worker.
void work_failed(void *arg, struct worker *worker, struct queue *queue);

// ---- attempt.c ----

// One attempt at one step of a job: its command, its environment, its child, its output.

struct attempt {
	const struct template *template; // NULL: the record is the command
	const struct result *ended;    // what an on-failure or finally command is told of, or NULL
	struct line_items *line_items; // takes the lines of its stdout, or NULL
};

// Makes one attempt on job->slot and waits for its end, which is *ret_result: OUTCOME_CANCELLED if the run was cut short before
// it could start, OUTCOME_SPAWN_ERROR after a message where it cannot be made. state->text is its command then. With --dry-run
// only shows that.
void attempt_run(struct worker_state *state, struct job *job, const struct attempt *attempt, struct result *ret_result);

// ---- job_output.c ----

// Where the output of a job goes, and who sees it.

// The output of a running child.
struct job_output {
	struct worker_state *state;
	const struct job *job;
	bool is_watched;               // a subscriber wants to see it
	struct line_items *line_items; // takes the lines of its stdout, or NULL
	struct output_reader output_reader; // for child_run()
};

// Opens the job's spool, with its tag, before its first attempt.
void job_output_open_spool(struct worker_state *state, struct job *job);

// For an attempt of a job that has a spool or results; `line_items` takes the lines of its stdout, or is NULL. The output
// stays where it is until the child has ended.
void job_output_open(struct job_output *output, struct worker_state *state, const struct job *job, struct line_items *line_items);

// Lets the output of a job that is the last one and alone go straight through, if nothing can take it back: there is
// nobody whose output it could mix with or hold up.
void job_output_let_through(struct run *run, const struct job *job);

// Shows state->text, its command, as part of the job's output, before the rest of it.
void job_output_show_command(struct worker_state *state, const struct job *job);

// ---- batch_commands.c ----

// What runs for a batch beside its items: on-failure and finally commands, and the listing of its items.

struct job;
struct dag_node;

// Queues the on-failure command of the failed job, which is handed over, from the worker whose item it was.
void batch_command_on_failure(struct worker *worker, struct queue *queue, struct job *failed, const struct result *result);

// Sets the command that runs once, as the last of the node's batch.
void batch_command_finally(struct run *run, struct queue *queue, struct dag_node *node);

// Queues the listing of the node's items by a command or a pattern. Returns as pool_submit().
enum submit_status batch_command_listing(struct run *run, struct queue *queue, struct dag_node *node);

#endif
