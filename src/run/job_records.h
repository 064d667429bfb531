// What of a run is kept for the next one: the joblog, and what --resume, --resume-failed and --retry-failed take from it.

#ifndef FAIRPAR_RUN_JOB_RECORDS_H
#define FAIRPAR_RUN_JOB_RECORDS_H

#include "run/worker_state.h"

struct job_records;

// Reads and opens the joblog as the options say; run->job_records stays NULL if they say nothing of it. Returns 0, or -1
// after a message. Once run->writer is there.
int job_records_open(struct run *run);

// Before a run without manifest opens its inputs: with --retry-failed these are the commands of the log. Returns the
// source, which run->job_records owns, or NULL.
const struct source_config *job_records_source(const struct run *run);

// The number of the item that is the nth of the run (from 1): n, or with --retry-failed the one that the log says.
uint64_t job_records_seq(const struct run *run, uint64_t n);

// True if the item need not run, for the log says that it is done: it is counted as such, and its place in the order of
// output is given up. Else sets item->earlier. What emits always runs, for what it emits must come again; what depends on
// something that runs again (batch->again, or EARLIER_CHANGED in item->earlier) is not taken as done. Of a batch that is fed once
// it has begun, else when the item gets its number. From any thread.
bool job_records_leave_out(struct batch *batch, const struct job_spec *spec, const struct record *record, struct item *item);

// Logs the end of a job that was not cut off. `received`: bytes of its output. With `spool`, right before
// spool_finish(): the row comes when what is in there was written. Returns false if it is to be logged behind
// spool_finish(), without the spool.
bool job_records_add(struct worker_state *state, const struct job *job, const struct result *result,
                uint64_t received, struct spool *spool);

// The writer's config.written(): these rows may be put into the log. `arg` is the run.
void job_records_written(void *arg, const char *rows, size_t len);

// The added job of that number need not run again though it has no row in the log of this run. From any thread.
void job_records_settle(struct run *run, uint64_t seq);

// Says what could not be written. After the last job, before the output is closed.
void job_records_close(struct run *run);

#endif
