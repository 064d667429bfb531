// Pairs the start and the end of each attempt, and gives the attempt a lane: pictures are drawn from that.

#include "report/attempts.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"

// A lane beside the slots.
struct beside_lane {
	uint64_t user;       // key_of() the attempt that runs in it; 0: free
	uint64_t end;        // event time, of the last attempt in it
};

static bool takes_slot(const struct event_job *id, enum event_source source) {
	return id->slot > 0 && source != FROM_LONG;
}

// Tells attempts apart that run at once. Two that have the same key share a lane, no more.
static uint64_t key_of(const struct event_job *id) {
	uint64_t hash = hash_bytes(id->batch, strlen(id->batch), 0);
	hash ^= id->number << 8 ^ (uint64_t)id->role << 5 ^ id->step;
	return hash ? hash : 1;
}

static unsigned slot_lane(struct attempts *all, unsigned slot) {
	unsigned lane = slot <= LANES_SLOTS ? slot - 1 : LANES_SLOTS - 1;
	if (lane >= all->nslots) {
		grow_array(&all->slot_ends, &all->slot_cap, lane + 1, sizeof(*all->slot_ends));
		memset(all->slot_ends + all->nslots, 0, (lane + 1 - all->nslots) * sizeof(*all->slot_ends));
		all->nslots = lane + 1;
	}
	return lane;
}

// The lane of the user, else the first that is free and was so at `from`; it is the user's then.
static unsigned take_beside_lane(struct attempts *all, uint64_t user, uint64_t from) {
	if (!all->beside) {
		all->beside = xcalloc(LANES_BESIDE, sizeof(*all->beside));
	}
	unsigned found = LANES_BESIDE;
	for (unsigned i = 0; i < all->nbeside; ++i) {
		const struct beside_lane *lane = &all->beside[i];
		if (lane->user == user) {
			return i;
		}
		if (lane->user == 0 && lane->end <= from && found == LANES_BESIDE) {
			found = i;
		}
	}
	if (found == LANES_BESIDE) {
		found = all->nbeside < LANES_BESIDE ? all->nbeside++ : LANES_BESIDE - 1;
	}
	all->beside[found].user = user;
	return found;
}

// Puts it in its lane, behind what was there before.
static void put(struct attempts *all, struct attempt_span *attempt) {
	attempt->beside = !takes_slot(&attempt->id, attempt->source);
	uint64_t *end;
	if (attempt->beside) {
		attempt->lane = take_beside_lane(all, key_of(&attempt->id), attempt->from);
		end = &all->beside[attempt->lane].end;
	} else {
		attempt->lane = slot_lane(all, attempt->id.slot);
		end = &all->slot_ends[attempt->lane];
	}
	attempt->from = attempt->from < *end ? *end : attempt->from;
	attempt->to = attempt->to < attempt->from ? attempt->from : attempt->to;
	if (attempt->phase != ATTEMPT_STARTED) {
		*end = attempt->to;
		if (attempt->beside) {
			all->beside[attempt->lane].user = 0;
		}
	}
}

static struct attempt_span from_running(const struct running_attempt *running, enum attempt_phase phase, uint64_t now) {
	return (struct attempt_span){
		.phase = phase,
		.id = running->start.id,
		.nslots = running->start.nslots,
		.source = running->start.source,
		.from = running->at,
		.to = now,
		.queued = running->start.queued,
		.start = &running->start,
	};
}

static void tell_start(struct attempts *all, const struct event_job_start *start, uint64_t at) {
	running_add(&all->running, start, at);
	struct running_attempt here = {.at = at, .start = *start};
	struct attempt_span attempt = from_running(&here, ATTEMPT_STARTED, at);
	put(all, &attempt);
	all->fn(all->arg, &attempt);
}

static void tell_end(struct attempts *all, const struct event_job_end *end, uint64_t at) {
	struct running_attempt *running = running_take(&all->running, &end->id);
	const struct result *result = &end->result;
	if (running || result->start > 0) { // else it never ran
		struct attempt_span attempt = {
			.phase = ATTEMPT_ENDED,
			.id = end->id,
			.nslots = running ? running->start.nslots : end->nslots,
			.source = running ? running->start.source : end->source,
			.from = result->start > 0 ? result->start : running->at,
			.to = result->end > 0 ? result->end : at,
			.queued = end->queued,
			.start = running ? &running->start : NULL,
			.end = end,
		};
		put(all, &attempt);
		all->fn(all->arg, &attempt);
	}
	free(running);
}

const char *attempt_command(const struct attempt_span *attempt, size_t *ret_len) {
	bool in_end = attempt->end && attempt->end->command;
	*ret_len = in_end ? attempt->end->command_len : attempt->start ? attempt->start->command_len : 0;
	return in_end ? attempt->end->command : attempt->start ? attempt->start->command : NULL;
}

void attempt_add_title(struct buf *buf, const struct event_job *id, bool whole) {
	static const char *const roles[] = {
		[ROLE_JOB] = "", [ROLE_ON_FAILURE] = " on_failure", [ROLE_FINALLY] = " finally", [ROLE_LISTING] = " args_from",
	};
	(whole ? text_add_whole_job : text_add_job)(buf, id->batch, id->number, id->seq);
	buf_adds(buf, roles[id->role]);
	if (id->step > 0) {
		buf_printf(buf, " then %u", id->step);
	}
}

void attempts_on_event(void *arg, const struct event *event) {
	struct attempts *all = arg;
	all->last = event->at > all->last ? event->at : all->last;
	if (event->kind == EVENT_JOB_START) {
		tell_start(all, &event->u.job_start, event->at);
	} else if (event->kind == EVENT_JOB_END) {
		tell_end(all, &event->u.job_end, event->at);
	}
}

void attempts_finish(struct attempts *all, uint64_t now) {
	for (struct running_attempt *running; (running = running_take_any(&all->running));) {
		struct attempt_span attempt = from_running(running, ATTEMPT_LEFT, now);
		put(all, &attempt);
		all->fn(all->arg, &attempt);
		free(running);
	}
	free(all->slot_ends);
	free(all->beside);
	*all = (struct attempts){.fn = all->fn, .arg = all->arg, .nslots = all->nslots, .nbeside = all->nbeside};
}
