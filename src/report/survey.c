// Counts the attempts of a run and their lengths in a first pass over its log, so that a second one can draw them in bounded
// memory.

#include "report/survey.h"

// The bucket of a duration: its highest bit, and three bits below it.
static unsigned bucket_of(uint64_t ns) {
	if (ns < SURVEY_STEPS) {
		return (unsigned)ns;
	}
	unsigned high = 63 - (unsigned)__builtin_clzll(ns);
	return (high - 2) * SURVEY_STEPS + (unsigned)(ns >> (high - 3) & (SURVEY_STEPS - 1));
}

// The shortest duration of a bucket.
static uint64_t shortest(unsigned bucket) {
	if (bucket < SURVEY_STEPS) {
		return bucket;
	}
	unsigned high = bucket / SURVEY_STEPS + 2;
	return (SURVEY_STEPS + (uint64_t)(bucket % SURVEY_STEPS)) << (high - 3);
}

void survey_add(void *arg, const struct attempt_span *attempt) {
	struct survey *survey = arg;
	if (attempt->phase == ATTEMPT_STARTED) {
		return;
	}
	if (survey->first == 0 || attempt->from < survey->first) {
		survey->first = attempt->from;
	}
	survey->last = attempt->to > survey->last ? attempt->to : survey->last;
	uint64_t bars = attempt->nslots <= 1 ? 1 : attempt->nslots < SURVEY_SLOTS ? attempt->nslots : SURVEY_SLOTS;
	survey->bars += bars;
	survey->durations[bucket_of(attempt->to - attempt->from)] += bars;
	const struct event_job_end *end = attempt->end;
	if (end && end->next == NEXT_NOTHING && attempt->id.role == ROLE_JOB) {
		++survey->jobs;
	}
}

uint64_t survey_longest(const struct survey *survey, uint64_t most) {
	uint64_t n = 0;
	for (unsigned bucket = SURVEY_BUCKETS; bucket-- > 0;) {
		n += survey->durations[bucket];
		if (n > most) {
			return shortest(bucket + 1);
		}
	}
	return 0;
}
