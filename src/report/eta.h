// When a run will be done: by what jobs of each batch have taken so far, and by what they took the last time.
//
// With m the mean of a batch's jobs, its work left is W = (jobs that have not started, or are to be tried again)·m + the rest
// of those that run; a job of which a former log is known has its own time in place of m. The batches that have begun share
// the slots as the run does, each with at most max_parallel of them and as many as it has jobs; when one is done, those that
// need it begin, and the others have its share. None is done before its running jobs and its pauses are over.

#ifndef FAIRPAR_REPORT_ETA_H
#define FAIRPAR_REPORT_ETA_H

#include "job/event.h"

#define FORECAST_UNKNOWN UINT64_MAX

enum { FORECAST_FROM_S = 2 }; // of the run, before there is one without a former run

struct eta;

struct eta *eta_new(void);
void eta_free(struct eta *forecast);

// An event_fn, `arg` is the forecast: of a former run, from its log. Before the first eta_on_event().
void eta_learn(void *arg, const struct event *event);

// An event_fn, `arg` is the forecast: of this run.
void eta_on_event(void *arg, const struct event *event);

// A batch whose end is asked for.
struct eta_batch {
	const char *name;
	uint64_t jobs;         // all that are known
	const uint32_t *needs; // places of those that must be done before it begins, without circles; or NULL
	size_t nneeds;
	uint64_t eta;          // set by eta_at(): nanoseconds until it is done, or FORECAST_UNKNOWN (also if there are many)
	uint64_t work;         // its own: nanoseconds of slots
};

// Nanoseconds until the run is done, or FORECAST_UNKNOWN: all that is left runs longer than it should, or fewer than 3 jobs or FORECAST_FROM_S of it have been seen, and no former
// run. All batches of the run in `batches`, and all their jobs known.
uint64_t eta_at(struct eta *forecast, uint64_t now, unsigned slots, struct eta_batch *batches, size_t n);

uint64_t eta_started(const struct eta *forecast);   // jobs
uint64_t eta_mean(const struct eta *forecast);      // nanoseconds of a job, or FORECAST_UNKNOWN
double eta_rate(const struct eta *forecast);        // jobs that ended in a second, over the last `slots`; < 0: unknown

#endif
