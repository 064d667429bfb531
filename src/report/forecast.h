// When a run will be done: by what jobs of each batch have taken so far, and by what they took the last time.
//
// With m the mean of a batch's jobs, its work left is W = (jobs that have not started)·m + the rest of those that run; a
// job of which a former log is known has its own time in place of m. All is done at the greatest of ΣW / slots,
// W / max_parallel of a batch, and the longest rest of a running job.

#ifndef FAIRPAR_REPORT_FORECAST_H
#define FAIRPAR_REPORT_FORECAST_H

#include "job/event.h"

#define FORECAST_UNKNOWN UINT64_MAX

struct forecast;

struct forecast *forecast_new(void);
void forecast_free(struct forecast *forecast);

// An event_fn, `arg` is the forecast: of a former run, from its log. Before the first forecast_tell().
void forecast_learn(void *arg, const struct event *event);

// An event_fn, `arg` is the forecast: of this run.
void forecast_tell(void *arg, const struct event *event);

// A batch whose end is asked for.
struct forecast_batch {
	const char *name;
	uint64_t jobs;         // all that are known
	uint64_t eta;          // set by forecast_eta(): nanoseconds until it is done, under equal shares, or FORECAST_UNKNOWN
	uint64_t work;         // its own: nanoseconds of slots
};

// Nanoseconds until the run is done, or FORECAST_UNKNOWN: fewer than 3 jobs or 2 s of it have been seen, and no former
// run. All batches of the run in `batches`, and all their jobs known.
uint64_t forecast_eta(struct forecast *forecast, uint64_t now, unsigned slots, struct forecast_batch *batches, size_t n);

uint64_t forecast_started(const struct forecast *forecast);   // jobs
uint64_t forecast_mean(const struct forecast *forecast);      // nanoseconds of a job, or FORECAST_UNKNOWN
double forecast_rate(const struct forecast *forecast);        // jobs that ended in a second, over the last `slots`; < 0: unknown

#endif
