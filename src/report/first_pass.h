// Counts the attempts of a run and their lengths in a first pass over its log, so that a second one can draw them in bounded
// memory.

#ifndef FAIRPAR_REPORT_FIRST_PASS_H
#define FAIRPAR_REPORT_FIRST_PASS_H

#include "report/attempts.h"
#include "report/run_stats.h"

enum {
	FIRST_PASS_BITS = 3,                   // of the buckets
	FIRST_PASS_SLOTS = 1 << 10,            // more of a job are not counted
};

struct first_pass {
	struct attempts attempts;          // after first_pass_finish() with the `rows` and numbers of lanes that a second pass needs
	struct machines machines;
	uint64_t bars;                     // attempts of jobs and others, once for each slot they take
	uint64_t jobs;                     // that have ended and ran
	uint64_t durations[BUCKETS(FIRST_PASS_BITS)]; // bars by their length
};

// Begins the pass; it must stay in its place until first_pass_fini().
void first_pass_init(struct first_pass *first_pass);
void first_pass_fini(struct first_pass *first_pass);

// An event_fn: counts attempts, and slots that were lent; `arg` is the struct first_pass.
void first_pass_on_event(void *arg, const struct event *event);

// Ends the pass, once.
void first_pass_finish(struct first_pass *first_pass);

// The smallest length in nanoseconds such that at most `most` bars are as long or longer; 0 if there are no more than that.
uint64_t first_pass_longest(const struct first_pass *first_pass, uint64_t most);

#endif
