// Counts the attempts of a run and their lengths in a first pass over its log, so that a second one can draw them in bounded
// memory.

#ifndef FAIRPAR_REPORT_SURVEY_H
#define FAIRPAR_REPORT_SURVEY_H

#include "report/attempts.h"
#include "report/buckets.h"

enum {
	SURVEY_BITS = 3,                   // of the buckets
	SURVEY_SLOTS = 1 << 10,            // more of a job are not counted
};

// Zeroed it is ready.
struct survey {
	uint64_t first, last;              // event time, of what was drawn; 0: nothing was
	uint64_t bars;                     // attempts of jobs and others, once for each slot they take
	uint64_t jobs;                     // that have ended and ran
	uint64_t durations[BUCKETS(SURVEY_BITS)]; // bars by their length
};

// An attempt_fn: `arg` is the survey.
void survey_add(void *arg, const struct attempt_span *attempt);

// The smallest length in nanoseconds such that at most `most` bars are as long or longer; 0 if there are no more than that.
uint64_t survey_longest(const struct survey *survey, uint64_t most);

#endif
