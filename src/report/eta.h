// Estimates when a run will be done, from the time that the jobs of each batch have taken so far, and from the log of a
// former run.
//
// With m the mean time of a batch's jobs, the work left of the batch is (jobs that have not started or will be retried)·m,
// plus the expected rest of the running jobs. A job that the former run had too has its time there in place of m. The
// batches then share the slots by weight, as the run does; none gets more slots than max_parallel, its rate or its jobs can use. When
// a batch is done, the batches that need it begin, and its slots go to the others. A batch is not done before its running
// jobs have ended and its pauses between attempts are over.

#ifndef FAIRPAR_REPORT_ETA_H
#define FAIRPAR_REPORT_ETA_H

#include "job/event.h"

enum { ETA_FROM_S = 2 }; // seconds of a run before there is an estimate without a former run

struct eta;

// The caller frees it with eta_free().
struct eta *eta_new(void);
void eta_free(struct eta *eta);

// An event_fn, `arg` is the struct eta: adds an event of a former run, read from its log. All before the first
// eta_on_event().
void eta_learn(void *arg, const struct event *event);

// An event_fn, `arg` is the struct eta: adds an event of this run.
void eta_on_event(void *arg, const struct event *event);

// A batch whose end is asked for.
struct eta_batch {
	const char *name;
	uint64_t jobs;         // all that are known
	const uint32_t *needs; // places of those that must be done before it begins, without circles; or NULL
	size_t nneeds;
	uint64_t eta;          // set by eta_at(): nanoseconds until it is done, or NOT_KNOWN (also if there are many)
	uint64_t work;         // its own: nanoseconds of slots
};

// Returns the nanoseconds until the run is done, and sets the results in `batches`, which are all batches of the run with all
// their jobs known. NOT_KNOWN if all jobs left are running and take longer than expected, or if there is no former run to
// go by and fewer than 3 jobs have ended or less than ETA_FROM_S has passed.
uint64_t eta_at(struct eta *eta, uint64_t now, unsigned slots, struct eta_batch *batches, size_t n);

uint64_t eta_mean(const struct eta *eta);      // nanoseconds of a job so far, or NOT_KNOWN

#endif
