// The account of a run: publishes what happens in it to its subscribers, and counts its jobs.
//
// Each end of a job is counted once, here: for the halt and the exit status, for the end of its batch, and, as the event that
// is published with it, in the run's statistics, which the status line, the summary, the last line and the end of the log read.
//
// Subscribers are called one at a time, in the same order of events for all, on the thread on which something happens, with
// the publisher's lock held. They may take the locks that base/locks.def has behind it; they must not wait, write, or publish.
//
// Without a subscriber no event is built, batch->stats is NULL, and queued items carry no stamp: the functions here then only
// count, and what is published needs no test before it. All may be called from any thread unless they say otherwise.

#ifndef FAIRPAR_RUN_PUBLISH_H
#define FAIRPAR_RUN_PUBLISH_H

#include "job/event.h"
#include "run/worker_state.h"

enum publish_wants {
	WANTS_OUTPUT = 1 << 0,  // EVENT_OUTPUT too, as jobs write
	WANTS_TAILS = 1 << 1,   // event_job_end.tail of every job that fails, not only of the first
	WANTS_QUEUED = 1 << 2,  // stats_batch.queued
};

// Makes run->publisher, which has no subscriber. publish_close() frees it with the statistics, after the last worker has ended.
void publish_open(struct run *run);
void publish_close(struct run *run);

// Has the statistics kept, as the first subscriber; so does any other. Before publish_begin().
void publish_keep_stats(struct run *run);

// The statistics so far, or NULL; the publisher's. To be read between publish_lock() and publish_unlock(), which keep all other
// threads from publishing, or once no job runs.
struct run_stats *publish_stats(struct run *run);
void publish_lock(struct run *run);
void publish_unlock(struct run *run);

// Adds a subscriber. Before publish_begin(). `arg` lives until publish_end() has returned.
void publish_subscribe(struct run *run, event_fn *fn, void *arg, unsigned wants);

// How a subscriber that gathers events is made to write them: behind an event, without the publisher's lock.
struct publish_flush {
	// A worker may be held up by a slow reader, the event loop may not.
	void (*now)(void *arg, bool may_wait);
	// At the end of a job: does the same, or leaves it to the next event and returns true. Then the worker flushes before it
	// sleeps (worker_request_flush()).
	bool (*later)(void *arg);
	void *arg;
};

// Sets the one that there is. As publish_subscribe().
void publish_set_flush(struct run *run, const struct publish_flush *flush);

// True if there is a subscriber: for those who would have to prepare what they publish.
bool publish_is_on(const struct run *run);

// True if a subscriber wants that.
bool publish_wants(const struct run *run, enum publish_wants want);

// ---- the run

void publish_begin(struct run *run);
// Publishes what was put together and is not published yet. From the event loop, whenever it wakes.
void publish_tick(struct run *run);
void publish_slots(struct run *run, unsigned slots, const char *why);

// A slot has come back that was lent to a run in a job.
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

// The longest that it waited for a turn (queue_longest_wait()); before its end.
void publish_longest_wait(struct batch *batch, uint64_t ns);

// Makes batch->stats. `jobs`: known number of them, or -1.
void publish_batch_known(struct batch *batch, const struct queue_attrs *attrs, int64_t jobs);
void publish_batch_start(struct batch *batch); // the first time; later calls do nothing
// So many more jobs are known of, before any of them can have ended; or, with -1, one was none. Publishes the batch's start.
void publish_queued(struct batch *batch, int64_t jobs);
// A job was done before this run (--resume): it is in no other count.
void publish_resumed(struct run *run);
// It may begin now: what was queued before did not wait for its turn.
void publish_batch_begun(struct batch *batch);
// Nobody knows of the batch any more. Frees batch->stats.
void publish_batch_end(struct batch *batch);

// Counts jobs of it that never start: OUTCOME_CANCELLED or OUTCOME_SKIPPED. Calls for the same batch in a row make one event.
void publish_lost(struct batch *batch, enum outcome outcome, uint64_t jobs);
// What publish_lost() and publish_trouble() will say why. Copied.
void publish_lost_why(struct batch *batch, const char *why);
// The same of all batches without a reason of their own: why the run is cut short. Copied; the first one counts. Before the
// jobs are lost. publish_cut_by(): a signal does so.
void publish_cut(struct run *run, const char *why);
void publish_cut_by(struct run *run, int signal);

// Something begins or ends to wait; `number` of a job, or 0; `batch` NULL: all of them.
void publish_wait(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, const char *what);
void publish_wait_end(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, uint64_t since);

// A job was queued again, for an attempt in so many nanoseconds.
void publish_pause(const struct job *job, uint64_t pause);

// ---- attempts

// How events name the attempt of the job on this worker. It borrows the name of the batch.
struct event_job publish_identify(const struct worker_state *state, const struct job *job);
// An attempt begins on this worker; before any other event of it.
void publish_attempt(struct worker_state *state);
// The job was let in after so many nanoseconds in admission, or in waiting for memory.
void publish_admitted(struct worker_state *state, enum event_why why, uint64_t ns);
// It waits for the memory it has declared, or does no longer, if it did.
void publish_memory(struct worker_state *state, const struct job *job, bool waits);
// Its process runs, since `start`; pid 0: it could not be started.
void publish_job_start(struct worker_state *state, const struct job *job, int pid, uint64_t start);
// What it wrote just now; only if publish_wants(run, WANTS_OUTPUT).
void publish_output(struct worker_state *state, const struct job *job, int stream, const char *data, size_t len);
// Keeps what the end says of its output, before that is let go of: bytes, and where it has failed for good the tail.
void publish_output_stats(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next);
// These return true if the job that is counted makes the run halt: then the caller calls run_halt() (counts_ended()).
//
// After publish_output_stats(): the end of the attempt, which with NEXT_NOTHING is that of the job and counts it. With
// job->cancelled_next the end of the job, whose last attempt's end was published already, with what was to follow; also on a state
// without a worker.
bool publish_job_end(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next);
// What the job creates was there.
bool publish_current(struct batch *batch, const struct job *job);
// A failure of a batch that was no job's, and had no attempt.
bool publish_trouble(struct batch *batch, const struct result *result, const char *what);

#endif
