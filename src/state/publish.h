// Publishes the events of a run to its subscribers, and counts its jobs.
//
// Each end of a job is counted here, once: for the halt and the exit status, for the end of its batch, and in the run's statistics,
// which the status line, the summary, the last line and the end of the log read.
//
// Subscribers are called one at a time, on the thread that publishes the event, with the publisher's lock held; all see the events
// in the same order. They may take the locks behind that lock in base/locks.def; they must not wait, write, or publish.
// All functions may be called from any thread unless they say otherwise.

#pragma once

#include "state/job_state.h"
#include "job/event.h"

// publish_open() makes run->publisher, without subscribers, and the run's statistics, which get each event before any subscriber.
// publish_close() frees both, after the last worker has ended.
void publish_open(struct run *run);
void publish_close(struct run *run);

// Returns the statistics so far, borrowed until publish_close(). To be read while publish_mutex() is locked, so that no other thread
// publishes, or once no job runs.
struct run_stats *publish_stats(struct run *run);
mutex *publish_mutex(struct run *run);

// Adds a subscriber: for each event `fn` is called with `arg`, which is borrowed until publish_end() has returned; for EVENT_OUTPUT
// only if `wants_output`. To be called before publish_begin().
void publish_subscribe(struct run *run, event_fn *fn, void *arg, bool wants_output);

// When a subscriber that buffers events may write them: after an event, without the publisher's lock.
enum publish_flush {
	FLUSH_AT_ONCE,  // must not wait for a slow reader: the event loop may be the caller
	FLUSH_MAY_WAIT, // called by a worker: may wait for a slow reader
	FLUSH_OR_LEAVE, // called by a worker at the end of a job: may wait, or leave the events to the next call
};

// Sets the function that writes the events which subscribers have buffered. `flush` returns true if it has left them buffered
// (FLUSH_OR_LEAVE only): then `flush` is called again before the worker sleeps (worker_request_flush()). Before publish_begin().
void publish_set_flush(struct run *run, bool (*flush)(struct run *run, enum publish_flush how));

// True if a subscriber wants EVENT_OUTPUT.
bool publish_wants_output(const struct run *run);

// ---- the run

// Publishes EVENT_RUN_START, and gives the run its ULID. To be called once, before any other event is published.
void publish_begin(struct run *run);
// Publishes the event that publish_lost() holds back to merge calls, and has buffered events written. From the event loop,
// whenever it wakes.
void publish_tick(struct run *run);
// Returns the number of slots that the events so far say. Only for callers that may read publish_stats(), and the thread that publishes EVENT_SLOTS.
unsigned publish_slots_now(struct run *run);
// Publishes EVENT_SLOTS: the run has `slots` slots now. `why`: the reason, in words.
void publish_slots(struct run *run, unsigned slots, const char *why);
// Publishes EVENT_LENT: a slot that was lent to a run in a job has come back. `run` is a struct run *; nested_attach() wants a void *.
void publish_lent(void *run, const struct event_lent *lent);
// Publishes EVENT_RUN_END with the exit status, and the signal that ends the run, or 0; does nothing if publish_begin() was not called.
// To be called when no job runs any more.
void publish_end(struct run *run, int exit_status, int signal);

// Returns the run's ULID, borrowed until publish_close(); "" before publish_begin().
const char *publish_run_id(const struct run *run);

// Notes that all input was read, so that the number of jobs is final. A --halt of N% can be checked only now: if the jobs that have ended meet it,
// the run halts.
void publish_all_read(struct run *run);

// Notes that the rest of an input is not read, so that nobody knows how many jobs are left: the run counts as incomplete.
void publish_unread(struct run *run);

// True if --halt was met: no job is started any more.
bool publish_halted(const struct run *run);

// Lets no more jobs start: cancels the queued ones at once, and lets the running ones go on.
void run_start_no_more(struct run *run);

// Returns the exit status that follows from the counts (exit_status()). To be called when no job runs any more.
int publish_exit_status(const struct run *run);

// ---- batches

// Publishes EVENT_BATCH_START at the first call for the batch; later calls do nothing.
void publish_batch_start(struct batch *batch);
// Counts `jobs` more jobs of the batch as known, before any of them can end; -1 takes back the count of a job that turns out to be done
// already. Publishes the batch's start, too.
void publish_queued(struct batch *batch, int64_t jobs);
// Counts a job that an earlier run has done (--resume); it is counted nowhere else.
void publish_resumed(struct run *run);
// Publishes EVENT_BATCH_END, if the batch has started. No other call for the batch may follow.
void publish_batch_end(struct batch *batch);

// Counts `jobs` jobs of the batch that never start: as skipped if the batch is skipped, else as cancelled. Publishes EVENT_LOST; several
// calls in a row for the same batch make one event.
void publish_lost(struct batch *batch, uint64_t jobs);
// Sets the reason, in words (copied), that publish_lost() and publish_batch_failure() give for this batch from now on.
void publish_set_lost_reason(struct batch *batch, const char *why);
// Set the reason that publish_lost() gives for batches without a reason of their own: why the run is cut short, in words (copied), or the signal that
// ends the run. Only the first call counts; to be called before the jobs are lost.
void publish_set_stop_reason(struct run *run, const char *why);
void publish_set_stop_signal(struct run *run, int signal);

// publish_wait() publishes EVENT_WAIT: job `number` of the batch waits. With `number` 0 the batch itself waits, with `batch` NULL all batches wait.
// `why` is the kind of the reason, `what` the reason in words. publish_wait_end() publishes EVENT_WAIT_END for the same wait, which began at `since`
// (now_ns() time).
void publish_wait(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, const char *what);
void publish_wait_end(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, uint64_t since);

// ---- attempts

// Returns the members that identify, in events, the attempt of the job on this worker. The name of the batch is borrowed.
struct event_job publish_identify(const struct worker_state *state, const struct job *job);
// Resets state->stats for an attempt that begins on this worker. Of the calls for the attempt this must be the first.
void publish_attempt_begin(struct worker_state *state);
// Notes that the attempt has waited `ns` nanoseconds, for the reason `why`, before its process was started.
void publish_note_wait(struct worker_state *state, enum event_why why, uint64_t ns);
// Publishes EVENT_WAIT: the attempt waits for a machine or for memory. `why` is the kind of the reason, `what` the reason in words.
void publish_attempt_wait(struct worker_state *state, const struct job *job, enum event_why why, const char *what);
// Publishes EVENT_WAIT_END if publish_attempt_wait() was called for the attempt; else does nothing.
void publish_attempt_wait_end(struct worker_state *state, const struct job *job);
// Publishes EVENT_JOB_START: the process of the attempt was started at `start` (now_ns() time), or, with pid 0, could not be started.
void publish_job_start(struct worker_state *state, const struct job *job, int pid, uint64_t start);
// Publishes EVENT_OUTPUT: bytes that the attempt wrote to `stream` (0 stdout, 1 stderr). Only if publish_wants_output().
void publish_output(struct worker_state *state, const struct job *job, int stream, const char *data, size_t len);
// Notes in state->stats, for publish_job_end(), how many bytes the attempt wrote, and the last lines of them if the job has failed for
// good. Before the spool and the results are freed.
void publish_note_output(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next);
// publish_job_end(), publish_up_to_date() and publish_batch_failure() tell the batch's node of a failure, and halt the run if --halt is met.

// Publishes EVENT_JOB_END, the end of an attempt, after publish_note_output(). With NEXT_NOTHING the job has ended too, and is counted.
// If job->cancelled_next is set, the end of its last attempt was published before, and only the end of the job is still to be published:
// then `state` may be one without a worker.
void publish_job_end(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next);
// Publishes and counts the end of a job that was not run, because the file that it creates exists.
void publish_up_to_date(const struct job *job);
// Publishes and counts a failure of the batch itself, not of a job: for example, the command that lists its items could not be started.
// `what`: what the batch could not do, in the words that the last line of the run shows in brackets.
void publish_batch_failure(struct batch *batch, const char *what);
