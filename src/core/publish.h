// Publishes the events of a run to its subscribers, and counts its jobs.
//
// Each end of a job is counted once, here: for the halt and the exit status, for the end of its batch, and, as the event that
// is published with it, in the run's statistics, which the status line, the summary, the last line and the end of the log read.
//
// Subscribers are called one at a time, in the same order of events for all, on the thread on which something happens, with
// the publisher's lock held. They may take the locks that base/locks.def has behind it; they must not wait, write, or publish.
//
// Without a subscriber no event is built, batch->stats is NULL, and queued items carry no stamp. The functions here then only
// count, so callers need no test. All may be called from any thread unless they say otherwise.

#ifndef FAIRPAR_CORE_PUBLISH_H
#define FAIRPAR_CORE_PUBLISH_H

#include "core/job_state.h"
#include "job/event.h"

// Makes run->publisher, which has no subscriber. publish_close() frees it with the statistics, after the last worker has ended.
void publish_open(struct run *run);
void publish_close(struct run *run);

// Makes the statistics of the run the first subscriber, unless they are. publish_subscribe() does the same. Before publish_begin().
void publish_keep_stats(struct run *run);

// The statistics so far, or NULL; the publisher's. To be read between publish_lock() and publish_unlock(), which keep all other
// threads from publishing, or once no job runs.
struct run_stats *publish_stats(struct run *run);
void publish_lock(struct run *run);
void publish_unlock(struct run *run);

// Adds a subscriber, which gets EVENT_OUTPUT only if it wants it. Before publish_begin(). `arg` lives until publish_end() has
// returned.
void publish_subscribe(struct run *run, event_fn *fn, void *arg, bool wants_output);

// When a subscriber that buffers events may write them: after an event, without the publisher's lock.
enum publish_flush {
	FLUSH_AT_ONCE,  // the event loop: a slow reader does not hold it up
	FLUSH_MAY_WAIT, // a worker, which a slow reader may hold up
	FLUSH_OR_LEAVE, // a worker at the end of a job: the same, or it is left to the next event
};

// Sets the function that makes it write. `flush` returns true if events stay buffered (FLUSH_OR_LEAVE only): then it is called
// again before the worker sleeps (worker_request_flush()). Before publish_begin().
void publish_set_flush(struct run *run, bool (*flush)(struct run *run, enum publish_flush how));

// True if there is a subscriber: for those who would have to prepare what they publish.
bool publish_is_on(const struct run *run);

// True if a subscriber wants EVENT_OUTPUT.
bool publish_wants_output(const struct run *run);

// ---- the run

// Publishes EVENT_RUN_START, and gives the run its ULID, if there is a subscriber. Once, before any other event.
void publish_begin(struct run *run);
// Publishes the pending event of publish_lost(), which merges calls, and has buffered events written. From the event loop,
// whenever it wakes.
void publish_tick(struct run *run);
// Publishes EVENT_SLOTS: the run has so many slots now, because of `why`, in words.
void publish_slots(struct run *run, unsigned slots, const char *why);

// Publishes EVENT_LENT: a slot that was lent to a run in a job has come back.
void publish_lent(struct run *run, const struct event_lent *lent);
// The end of the run, if it has begun, with its exit status and the signal that ends it, or 0. Once no job runs.
void publish_end(struct run *run, int exit_status, int signal);

// The run's ULID; "" before publish_begin() and without a subscriber.
const char *publish_run(const struct run *run);

// All input was read: the number of jobs is known. Returns true if a --halt of N% is met by what has ended meanwhile: then the
// caller calls run_halt().
bool publish_all_read(struct run *run) FP_NODISCARD;

// True if the halt was met: nothing is started any more.
bool publish_halted(const struct run *run);

// The exit status by what was counted (exit_status()). Once no job runs.
int publish_exit_status(const struct run *run);

// ---- batches

// Notes how long the batch has waited for a turn at most, in nanoseconds (queue_longest_wait()), for publish_batch_end().
void publish_longest_wait(struct batch *batch, uint64_t ns);

// Makes batch->stats, if there is a subscriber. `jobs`: how many jobs the batch will have, or -1 if that is not known.
void publish_batch_known(struct batch *batch, const struct queue_attrs *attrs, int64_t jobs);
// Publishes EVENT_BATCH_START at the first call for the batch; later calls do nothing.
void publish_batch_start(struct batch *batch);
// Counts `jobs` more jobs of the batch as known, before any of them can end; -1 takes one back that came to nothing. Publishes
// the batch's start, too.
void publish_queued(struct batch *batch, int64_t jobs);
// Counts a job that was done before this run (--resume), and is in no other count.
void publish_resumed(struct run *run);
// Notes that the batch may begin now. What its jobs have waited so far, they have waited for other batches, not for a turn.
void publish_batch_begun(struct batch *batch);
// Publishes EVENT_BATCH_END, if the batch has started, and frees batch->stats. The last call for the batch.
void publish_batch_end(struct batch *batch);

// Counts `jobs` jobs of the batch that never start; `outcome` is OUTCOME_CANCELLED or OUTCOME_SKIPPED. Calls for the same batch in a
// row make one event.
void publish_lost(struct batch *batch, enum outcome outcome, uint64_t jobs);
// Sets the reason, in words, that publish_lost() and publish_trouble() give for this batch from now on. Copied.
void publish_lost_why(struct batch *batch, const char *why);
// Sets the reason of all batches without one of their own: why the run is cut short, in words (copied), or by which signal. The
// first call counts. To be called before the jobs are lost.
void publish_cut(struct run *run, const char *why);
void publish_cut_by(struct run *run, int signal);

// Publishes EVENT_WAIT and EVENT_WAIT_END: job `number` of the batch, the batch (0), or all batches (NULL) wait for `what`, in words; or
// do no longer, since the now_ns() time `since`.
void publish_wait(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, const char *what);
void publish_wait_end(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, uint64_t since);

// Publishes EVENT_WAIT of a job whose next attempt comes in `pause` nanoseconds.
void publish_pause(const struct job *job, uint64_t pause);

// ---- attempts

// Returns how events name the attempt of the job on this worker. The name of the batch is borrowed.
struct event_job publish_identify(const struct worker_state *state, const struct job *job);
// Resets state->stats for an attempt that begins on this worker. Before any other call for the attempt.
void publish_attempt(struct worker_state *state);
// Notes that the attempt has waited `ns` nanoseconds for what `why` says, before its process was started.
void publish_admitted(struct worker_state *state, enum event_why why, uint64_t ns);
// Publishes that the attempt waits for `what`, in words: a machine or memory (`why`); and that it no longer does, if it did.
void publish_attempt_wait(struct worker_state *state, const struct job *job, enum event_why why, const char *what);
void publish_attempt_wait_end(struct worker_state *state, const struct job *job);
// Publishes EVENT_JOB_START: the process of the attempt runs since `start` (now_ns() time); pid 0: it could not be started.
void publish_job_start(struct worker_state *state, const struct job *job, int pid, uint64_t start);
// Publishes EVENT_OUTPUT: bytes that the attempt wrote to `stream` (0 stdout, 1 stderr). Only if publish_wants_output().
void publish_output(struct worker_state *state, const struct job *job, int stream, const char *data, size_t len);
// Notes in state->stats what publish_job_end() says of the attempt's output: its bytes, and the last lines if the job has failed for
// good. Before the spool and the results are let go of.
void publish_output_stats(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next);
// Each of the next three returns true if the job that it counts makes the run halt: then the caller calls run_halt() (as
// counts_ended() does).

// Publishes EVENT_JOB_END, after publish_output_stats(). With NEXT_NOTHING it is the end of the job too, and counts it. If
// job->cancelled_next is set, the end of the last attempt was published before, and only that of the job is missing: then `state` may
// be one without a worker.
bool publish_job_end(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next);
// Publishes and counts the end of a job that was not run, as what it creates was there.
bool publish_up_to_date(struct batch *batch, const struct job *job);
// Publishes and counts a failure of the batch that was no job's, as a listing that could not begin. `what` the batch could not do, in
// words.
bool publish_trouble(struct batch *batch, const struct result *result, const char *what);

#endif
