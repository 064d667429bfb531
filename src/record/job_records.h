// The joblog of a run: writes it, and reads that of an earlier run for --resume, --resume-failed and --retry-failed.

#pragma once

#include "core/job_state.h"

struct job_records;

// Reads and opens the joblog as the options say; run->job_records stays NULL if they name none. Returns 0, or -1 after a message.
// Called after run->writer was made.
int job_records_open(struct run *run);

// With --retry-failed returns the source of the run's items, the failed commands of the log; else NULL. Borrowed from
// run->job_records.
const struct source_config *job_records_source(const struct run *run);

// The number of the item that is the nth of the run (from 1): n, or with --retry-failed the one that the log says.
uint64_t job_records_seq(const struct run *run, uint64_t n);

// Decides whether --resume leaves the item out. Returns true if the log has it as done: it was counted as that, and its place in
// the order of output was skipped. Else returns false and sets item->earlier.
//
// An item of a batch that emits is never left out, because its lines must come again. Neither is one whose batch needs, or that
// was emitted by, something that runs again (batch->again; EARLIER_CHANGED in item->earlier). Called when the item gets its
// number; in a batch that others emit into, when its job starts. `record`: its arguments. `spec`: NULL for
// batch->specs[item->spec]. Any
// thread.
bool job_records_leave_out(struct batch *batch, const struct job_spec *spec, const struct record *record, struct item *item);

// Logs the end of a job that was not cut off. `received`: bytes of its output. With `spool` it is called right before
// spool_finish(), and the row is written after the job's output. Returns false, with nothing done, if the caller is to call it
// again after spool_finish(), with NULL for the spool.
bool job_records_add(struct worker_state *state, const struct job *job, const struct result *result,
                uint64_t received, struct spool *spool);

// For the writer's config.written(): appends these rows to the log, since the output of their jobs was written. `arg` is the run.
void job_records_written(void *arg, const char *rows, size_t len);

// The added job of that number need not run again though it has no row in the log of this run. From any thread.
void job_records_settle(struct run *run, uint64_t seq);

// Closes the joblog, with a message and run->trouble if rows could not be written, and frees run->job_records, which may be NULL.
// After the last job, before the output is closed.
void job_records_close(struct run *run);
