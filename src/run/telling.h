// Tells what happens in the run to all who listen: the log, the story, the status line.
//
// Listeners are called one at a time, with one order of events for all, from whatever thread something happens on; with
// the lock of telling held, and none of the pool's, of output or of run.h. So they may ask run->pool and take locks that
// are held for moments, and must not wait, write, or tell.
//
// Without a listener run->telling is NULL, no event is built, and queued items carry no stamp: each place that tells
// tests that pointer, or batch->news.

#ifndef FAIRPAR_RUN_TELLING_H
#define FAIRPAR_RUN_TELLING_H

#include "job/event.h"
#include "run/attempt.h"

enum telling_wants {
	TELL_OUTPUT = 1 << 0,  // EVENT_OUTPUT too, as jobs write
	TELL_TAILS = 1 << 1,   // event_job_end.tail of every job that fails, not only of the first
};

// Adds a listener. Between setup_open()'s begin and telling_begin(). `arg` lives until telling_end() has returned.
void telling_listen(struct run *run, event_fn *fn, void *arg, unsigned wants);

// True if somebody wants that.
bool telling_wants(const struct run *run, enum telling_wants want);

// ---- for run.c. All but telling_close() only with run->telling

void telling_begin(struct run *run);
// Tells what was put together and not told yet. From the event loop, whenever it wakes.
void telling_tick(struct run *run);
void telling_slots(struct run *run, unsigned slots, const char *why);
// The end of the run, with its exit status and the signal that ends it, or 0.
void telling_end(struct run *run, int exit_status, int signal);
void telling_close(struct run *run);

// The run's ULID; "" before telling_begin().
const char *telling_run(const struct run *run);

// ---- batches

// The longest that it waited for a turn (queue_longest_wait()); before its end.
void telling_longest_wait(struct batch *batch, uint64_t ns);

// Makes batch->news. `jobs`: known number of them, or -1.
void telling_meet(struct batch *batch, const struct queue_attrs *attrs, int64_t jobs);
void telling_batch_start(struct batch *batch); // the first time; later calls do nothing
// It may begin now: what was queued before did not wait for its turn.
void telling_batch_begun(struct batch *batch);
// Nobody knows of the batch any more. Frees batch->news.
void telling_batch_end(struct batch *batch);

// Jobs of it that never start. Calls for the same batch in a row make one event.
void telling_lost(struct batch *batch, enum outcome outcome, uint64_t jobs);
// What telling_lost() and telling_trouble() will say why. Copied.
void telling_lost_why(struct batch *batch, const char *why);
// The same of all batches without a reason of their own: why the run is cut short. Copied; the first one counts. Before the
// jobs are lost; does nothing without run->telling.
void telling_cut(struct run *run, const char *why);

// Something begins or ends to wait; `number` of a job, or 0; `batch` NULL: all of them.
void telling_wait(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, const char *what);
void telling_wait_end(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, uint64_t since);

// A job was queued again, for an attempt in so many nanoseconds.
void telling_pause(const struct job *job, uint64_t pause);

// ---- attempts

// An attempt begins on this worker; before anything is told of it.
void telling_attempt(struct desk *desk);
// The job was let in after so many nanoseconds in admission, or in waiting for memory.
void telling_admitted(struct desk *desk, enum event_why why, uint64_t ns);
// It waits for the memory it has declared, or does no longer, if it did.
void telling_memory(struct desk *desk, const struct job *job, bool waits);
// Its process runs, since `start`; pid 0: it could not be started.
void telling_job_start(struct desk *desk, const struct job *job, int pid, uint64_t start);
// What it wrote just now; if somebody wants TELL_OUTPUT.
void telling_output(struct desk *desk, const struct job *job, int stream, const char *data, size_t len);
// Looks at its output before that is let go of: bytes, and where it has failed for good the tail.
void telling_look(struct desk *desk, const struct job *job, const struct result *result, enum event_next next);
// After telling_look(): the end of the attempt. With job->unmade the end of the job, whose last attempt's end was told
// already, with what was to follow; also on a desk without a worker.
void telling_job_end(struct desk *desk, const struct job *job, const struct result *result, enum event_next next);
// What the job creates was there.
void telling_current(struct batch *batch, const struct job *job);
// A failure of a batch that was no job's.
void telling_trouble(struct batch *batch, const struct result *result, const char *what);

#endif
