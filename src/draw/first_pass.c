// Counts the attempts of a run and their lengths in a first pass over its log.

#include "draw/timeline.h"

static void add_attempt(void *arg, const struct attempt_span *attempt) {
	struct first_pass *first_pass = arg;
	if (!attempt->slotless && (attempt->phase == ATTEMPT_STARTED || !attempt->start)) {
		machines_enter(&first_pass->machines, attempt->id.host, attempt->nslots);
	}
	if (attempt->phase == ATTEMPT_STARTED) {
		return;
	}
	if (!attempt->slotless) {
		machines_leave(&first_pass->machines, attempt->id.host, attempt->nslots);
	}
	uint64_t bars = attempt->nslots <= 1 ? 1 : attempt->nslots < FIRST_PASS_SLOTS ? attempt->nslots : FIRST_PASS_SLOTS;
	first_pass->bars += bars;
	first_pass->durations[bucket_of(attempt->to - attempt->from, FIRST_PASS_BITS)] += bars;
	const struct event_job_end *end = attempt->end;
	first_pass->jobs += end && end->next == NEXT_NOTHING && attempt->id.role == ROLE_JOB;
}

void first_pass_init(struct first_pass *first_pass) {
	*first_pass = (struct first_pass){0};
	first_pass->attempts = (struct attempts){.fn = add_attempt, .arg = first_pass};
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
	first_pass->attempts.rows = machines_set_rows(&first_pass->machines) ? &first_pass->machines : NULL;
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
