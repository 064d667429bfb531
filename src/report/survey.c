// Counts the attempts of a run and their lengths in a first pass over its log, so that a second one can draw them in bounded
// memory.

#include "report/survey.h"

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
	survey->durations[bucket_of(attempt->to - attempt->from, SURVEY_BITS)] += bars;
	const struct event_job_end *end = attempt->end;
	if (end && end->next == NEXT_NOTHING && attempt->id.role == ROLE_JOB) {
		++survey->jobs;
	}
}

uint64_t survey_longest(const struct survey *survey, uint64_t most) {
	uint64_t n = 0;
	for (unsigned bucket = BUCKETS(SURVEY_BITS); bucket-- > 0;) {
		n += survey->durations[bucket];
		if (n > most) {
			return bucket_start(bucket + 1, SURVEY_BITS);
		}
	}
	return 0;
}
