// The life of one job on a worker: its attempts, its output, the files it creates, and the commands of its batch that run no item.

#pragma once

#include "state/job_state.h"
#include "exec/submission.h"

struct retry_calls;

extern const struct work_type work_item;

// The functions that the queue of retries calls with a job: the argument of retry_queue_create().
extern const struct retry_calls work_retries;

// ---- attempt.c: one attempt at one step of a job: its command, its environment, its child ----

// Makes one attempt on job->slot. Returns true when the attempt has ended. *ret_result says how: OUTCOME_CANCELLED if the run was cut short before
// the attempt had started; OUTCOME_SPAWN_ERROR, after a message, if it could not be started. Leaves the command in state->text. With --dry-run only
// shows the command. Returns false if the attempt waits for another machine: the worker's item is then pending, and attempt_resume(), called when the
// item is resumed, returns as this function does. Only an attempt of an item's job (ROLE_JOB) can wait in this way.
bool attempt_run(struct worker_state *state, struct job *job, struct result *ret_result);
bool attempt_resume(struct worker_state *state, struct job *job, struct result *ret_result);

// To be called when a thread begins or ends work that may take long: a child process, or work on the files of --results, whose disk may stall.
// In a run on several machines a few threads of the pool serve all jobs, so the pool gets one more thread meanwhile.
void job_keeps_thread(const struct run *run, bool begins);

// ---- loan.c: slots that the run lends to the fairpars in its jobs, beyond the slots of these jobs ----

// Sets the function by which run->nested requests slots for the fairpars in jobs on this machine.
void loans_attach(struct run *run);

// Requests the slots that fairpars in the worker's job, which is on another machine, want since the last call.
void loans_request_elsewhere(struct worker_state *state);

// ---- job_output.c: where the output of a job goes, and who sees it ----

// True if fairpar reads the output of jobs even with --ungroup: in a run that shares its slots, and writes to a pipe or socket. A job that writes to
// a full pipe itself would keep its slot until somebody reads, and the reader may be another run, which waits for that slot.
bool job_output_is_relayed(const struct run *run);

// Opens the job's spool, with its tag, before its first attempt.
void job_output_open_spool(struct worker_state *state, struct job *job);

// Returns the output reader for child_run(), which takes the output of the attempt state->live. The job of this attempt has a spool or results.
struct output_reader job_output_reader(struct worker_state *state);

// Lets the job's spool pass its output on at once, if this is the last job of the run and no other job runs; no retry, later step or
// lost machine can make the output obsolete; and the run does not share its slots.
void job_output_let_through(struct run *run, const struct job *job);

// Shows the job's command (state->text) as the first part of its output.
void job_output_show_command(struct worker_state *state, const struct job *job);

// ---- created_files.c: the files that jobs create (`creates`): a job whose file exists is not run, and the file of a failed job is removed ----

// Looks for the file that the job creates (job->spec->creates), before its first attempt. Returns true if the file exists. Else sets
// job->creating, unless with --dry-run or if the path is a dangling symbolic link.
bool created_files_find(struct worker_state *state, struct job *job);

// Returns the absolute path that the job is creating, or NULL. Borrowed until created_files_finish().
const char *created_files_path(const struct job *job);

// To be called when the job has ended; `ok`: it has succeeded. Removes the file of a failed job, which the next run would take for complete, unless
// another job of this run has created the same path meanwhile, or is creating it. Prints a message if the file cannot be removed.
void created_files_finish(struct job *job, bool ok);

// ---- batch_commands.c: the commands of a batch other than its items: on-failure, finally, and the listing of its items ----

// Runs the on-failure command of the job `failed`, whose result is `ended`, in that job's slot, even if the run starts no more jobs.
void batch_command_on_failure(struct worker_state *state, const struct job *failed, const struct result *ended);

// Queues the `finally` command of a manifest's batch, which runs once, after all jobs of the batch.
void batch_command_finally(struct run *run, struct queue *queue);

// Queues the listing of the batch's items by a command or a pattern. Returns as pool_submit().
enum submit_status batch_command_listing(struct run *run, struct queue *queue);
