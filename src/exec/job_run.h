// The life of one job on a worker: its attempts, its output, the files it creates, and the commands beside its batch's items.

#pragma once

#include "state/job_state.h"
#include "exec/submission.h"

struct retry_calls;

extern const struct work_type work_item;

// For retry_queue_create().
extern const struct retry_calls work_retries;

// ---- attempt.c ----

// One attempt at one step of a job: its command, its environment, its child, its output.

// Makes one attempt on job->slot and waits for its end, which is *ret_result: OUTCOME_CANCELLED if the run was cut short before the attempt could
// start, OUTCOME_SPAWN_ERROR after a message if it cannot be made. state->text is its command then. With --dry-run only shows the command.
void attempt_run(struct worker_state *state, struct job *job, struct result *ret_result);

// ---- job_output.c ----

// Where the output of a job goes, and who sees it.

// Must fairpar read what jobs write even with --ungroup? In a run that shares its slots, a job whose output is a full pipe keeps
// its slot until somebody reads, and the reader may be another run, which waits for that slot.
bool job_output_is_relayed(const struct run *run);

// Opens the job's spool, with its tag, before its first attempt.
void job_output_open_spool(struct worker_state *state, struct job *job);

// Returns the reader for child_run(): it takes the output of the attempt of state->live, whose job has a spool or results.
struct output_reader job_output_reader(struct worker_state *state);

// Switches the job's spool to writing at once, if this is the last job of the run, no other runs, no retry, later step or lost
// machine can make its output obsolete, and the run does not share its slots.
void job_output_let_through(struct run *run, const struct job *job);

// Shows state->text, its command, as part of the job's output, before the rest of it.
void job_output_show_command(struct worker_state *state, const struct job *job);

// ---- created_files.c ----

// The files that jobs create (`creates`): a job whose file exists is not run, and the file of a failed job is removed.

// Makes the table of the paths that jobs are making now, for run->created_files; and frees it (NULL is fine), when no job runs.
struct created_files *created_files_create(void);
void created_files_destroy(struct created_files *created_files);

// Looks for the file that the job creates (job->spec->creates), before its first attempt. Returns true if it exists. Else sets
// job->creating, unless with --dry-run or if the path is a dangling symbolic link.
bool created_files_find(struct worker_state *state, struct job *job);

// The absolute path that the job is making, or NULL. Borrowed, until created_files_finish().
const char *created_files_path(const struct job *job);

// The job has ended, well (`ok`) or not. Removes what a failed job has left, which the next run would take for the whole file, unless another job of
// this run has made it meanwhile, or is making it. Prints a message if it cannot be removed.
void created_files_finish(struct job *job, bool ok);

// ---- batch_commands.c ----

// What runs for a batch beside its items: on-failure and finally commands, and the listing of its items.

// Runs the on-failure command of the job, which has ended with `ended`, in the job's slot; also when the run starts no more jobs.
void batch_command_on_failure(struct worker_state *state, const struct job *failed, const struct result *ended);

// Has the `finally` command of a manifest's batch run once, as the last of the batch.
void batch_command_finally(struct run *run, struct queue *queue);

// Queues the listing of the batch's items by a command or a pattern. Returns as pool_submit().
enum submit_status batch_command_listing(struct run *run, struct queue *queue);
