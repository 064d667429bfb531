// Counts the attempts of a run and their lengths in a first pass over its log.

#include "report/first_pass.h"

static void add_attempt(void *arg, const struct attempt_span *attempt) {
	struct first_pass *first_pass = arg;
	if (attempt->phase == ATTEMPT_STARTED) {
		return;
	}
	if (first_pass->first == 0 || attempt->from < first_pass->first) {
		first_pass->first = attempt->from;
	}
	first_pass->last = attempt->to > first_pass->last ? attempt->to : first_pass->last;
	uint64_t bars = attempt->nslots <= 1 ? 1 : attempt->nslots < FIRST_PASS_SLOTS ? attempt->nslots : FIRST_PASS_SLOTS;
	first_pass->bars += bars;
	first_pass->durations[bucket_of(attempt->to - attempt->from, FIRST_PASS_BITS)] += bars;
	const struct event_job_end *end = attempt->end;
	first_pass->jobs += end && end->next == NEXT_NOTHING && attempt->id.role == ROLE_JOB;
}

void first_pass_init(struct first_pass *first_pass) {
	*first_pass = (struct first_pass){0};
	first_pass->attempts = (struct attempts){.fn = add_attempt, .arg = first_pass, .count = &first_pass->machines};
}

void first_pass_fini(struct first_pass *first_pass) {
	machines_fini(&first_pass->machines);
}

void first_pass_on_event(void *arg, const struct event *event) {
	struct first_pass *first_pass = arg;
	attempts_on_event(&first_pass->attempts, event);
	if (event->kind == EVENT_LENT && event->u.lent.end >= event->u.lent.start) {
		++first_pass->bars;
		++first_pass->durations[bucket_of(event->u.lent.end - event->u.lent.start, FIRST_PASS_BITS)];
	}
}

void first_pass_finish(struct first_pass *first_pass) {
	attempts_finish(&first_pass->attempts);
	first_pass->attempts.rows = machines_place(&first_pass->machines) ? &first_pass->machines : NULL;
}

void first_pass_bounds(const struct first_pass *first_pass, const struct run_stats *stats, uint64_t *ret_start, uint64_t *ret_end) {
	bool is_earlier = first_pass->first > 0 && (stats->start == 0 || first_pass->first < stats->start);
	uint64_t end = stats->end > first_pass->last ? stats->end : first_pass->last;
	*ret_start = is_earlier ? first_pass->first : stats->start;
	*ret_end = end > *ret_start ? end : *ret_start + 1;
}

uint64_t first_pass_longest(const struct first_pass *first_pass, uint64_t most) {
	uint64_t n = 0;
	for (unsigned bucket = BUCKETS(FIRST_PASS_BITS); bucket-- > 0;) {
		n += first_pass->durations[bucket];
		if (n > most) {
			return bucket_start(bucket + 1, FIRST_PASS_BITS);
		}
	}
	return 0;
}
