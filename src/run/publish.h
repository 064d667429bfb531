// Publishes what happens in the run to its subscribers: the log, the statistics, the status line.
//
// Subscribers are called one at a time, in the same order of events for all, on the thread on which something happens, with
// the publisher's lock held and no other of the pool, the output or the run. So they may ask run->pool and take locks that are
// held for moments; they must not wait, write, or publish.
//
// Without a subscriber run->publisher is NULL, no event is built, and queued items carry no stamp: each place that publishes
// tests that pointer, or batch->stats.

#ifndef FAIRPAR_RUN_PUBLISH_H
#define FAIRPAR_RUN_PUBLISH_H

#include "job/event.h"
#include "run/worker_state.h"

enum publish_wants {
	WANTS_OUTPUT = 1 << 0,  // EVENT_OUTPUT too, as jobs write
	WANTS_TAILS = 1 << 1,   // event_job_end.tail of every job that fails, not only of the first
};

// Adds a subscriber. Between setup_open()'s begin and publish_begin(). `arg` lives until publish_end() has returned.
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

// True if a subscriber wants that.
bool publish_wants(const struct run *run, enum publish_wants want);

// ---- for run.c. All but publish_close() only with run->publisher

void publish_begin(struct run *run);
// Publishes what was put together and is not published yet. From the event loop, whenever it wakes.
void publish_tick(struct run *run);
void publish_slots(struct run *run, unsigned slots, const char *why);
// The end of the run, with its counts, its exit status and the signal that ends it, or 0.
void publish_end(struct run *run, const struct event_run_end *counts, int exit_status, int signal);
void publish_close(struct run *run);

// The run's ULID; "" before publish_begin().
const char *publish_run(const struct run *run);

// ---- batches

// The longest that it waited for a turn (queue_longest_wait()); before its end.
void publish_longest_wait(struct batch *batch, uint64_t ns);

// Makes batch->stats. `jobs`: known number of them, or -1.
void publish_batch_known(struct batch *batch, const struct queue_attrs *attrs, int64_t jobs);
void publish_batch_start(struct batch *batch); // the first time; later calls do nothing
// It may begin now: what was queued before did not wait for its turn.
void publish_batch_begun(struct batch *batch);
// Nobody knows of the batch any more. Frees batch->stats.
void publish_batch_end(struct batch *batch);

// Jobs of it that never start. Calls for the same batch in a row make one event.
void publish_lost(struct batch *batch, enum outcome outcome, uint64_t jobs);
// What publish_lost() and publish_trouble() will say why. Copied.
void publish_lost_why(struct batch *batch, const char *why);
// The same of all batches without a reason of their own: why the run is cut short. Copied; the first one counts. Before the
// jobs are lost; does nothing without run->publisher.
void publish_cut(struct run *run, const char *why);

// Something begins or ends to wait; `number` of a job, or 0; `batch` NULL: all of them.
void publish_wait(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, const char *what);
void publish_wait_end(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, uint64_t since);

// A job was queued again, for an attempt in so many nanoseconds.
void publish_pause(const struct job *job, uint64_t pause);

// ---- attempts

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
// After publish_output_stats(): the end of the attempt. With job->cancelled_next the end of the job, whose last attempt's end was
// published already, with what was to follow; also on a state without a worker.
void publish_job_end(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next);
// What the job creates was there.
void publish_current(struct batch *batch, const struct job *job);
// A failure of a batch that was no job's.
void publish_trouble(struct batch *batch, const struct result *result, const char *what);

#endif
