// Pairs the start and the end of each attempt, and gives the attempt a lane, for the pictures of a run.

#include "report/attempts.h"

#include "base/alloc.h"
#include "base/text.h"

// ---- machines ----

void machines_fini(struct machines *machines) {
	for (size_t i = 0; i < machines->n; ++i) {
		free(machines->machines[i].name);
	}
	free(machines->machines);
	*machines = (struct machines){0};
}

// Compares machines by the numbers in their names, as people read them: n2 comes before n10.
static int compare_machines(const void *a, const void *b) {
	const char *name = ((const struct machine_rows *)a)->name, *other = ((const struct machine_rows *)b)->name;
	return name && other ? strverscmp(name, other) : (name != NULL) - (other != NULL);
}

// Returns the machine of that name, or NULL.
static struct machine_rows *find_named(const struct machines *machines, const char *host) {
	const struct machine_rows key = {.name = (char *)host};
	return machines->n > 0 ? bsearch(&key, machines->machines, machines->n, sizeof(key), compare_machines) : NULL;
}

struct machine_rows *machines_find(const struct machines *machines, const char *host) {
	struct machine_rows *found = find_named(machines, host);
	return found || machines->n == 0 ? found : &machines->machines[machines->n - 1];
}

void machines_enter(struct machines *machines, const char *host, unsigned nslots) {
	if (machines->n < MACHINES_MAX && !find_named(machines, host)) {
		const struct machine_rows added = {.name = host ? xstrdup(host) : NULL};
		struct machine_rows *at = NEW_ELEMENT(machines->machines, machines->n, machines->cap);
		for (; at > machines->machines && compare_machines(&at[-1], &added) > 0; --at) {
			*at = at[-1];
		}
		*at = added;
	}
	struct machine_rows *machine = machines_find(machines, host);
	nslots = nslots < 1 ? 1 : nslots < MACHINES_ROWS ? nslots : MACHINES_ROWS;
	machine->now = machine->now + nslots < MACHINES_ROWS ? machine->now + nslots : MACHINES_ROWS;
	machine->rows = machine->now > machine->rows ? machine->now : machine->rows;
}

void machines_leave(struct machines *machines, const char *host, unsigned nslots) {
	struct machine_rows *machine = machines_find(machines, host);
	nslots = nslots < 1 ? 1 : nslots;
	if (machine) {
		machine->now = machine->now > nslots ? machine->now - nslots : 0;
	}
}

bool machines_set_rows(struct machines *machines) {
	if (machines->n == 0 || !machines->machines[machines->n - 1].name) {
		return false;
	}
	unsigned rows = 0;
	for (size_t i = 0; i < machines->n; ++i) {
		struct machine_rows *machine = &machines->machines[i];
		machine->first = rows;
		if (machine->rows > MACHINES_ROWS - rows) { // only in a damaged log: the last machines share the last row
			machine->rows = MACHINES_ROWS - rows;
			machine->first -= machine->rows == 0;
		}
		rows += machine->rows;
	}
	machines->rows = rows;
	return true;
}

const struct machine_rows *machines_at(const struct machines *machines, unsigned row) {
	size_t i = 0;
	while (i + 1 < machines->n && machines->machines[i].first + machines->machines[i].rows <= row) {
		++i;
	}
	return &machines->machines[i];
}

// ---- lanes ----

static struct lane *lane_at(struct lanes *lanes, unsigned n) {
	grow_array(&lanes->lanes, &lanes->cap, n + 1, sizeof(*lanes->lanes));
	for (; lanes->n <= n; ++lanes->n) {
		lanes->lanes[lanes->n] = (struct lane){.end = 0};
	}
	return &lanes->lanes[n];
}

// For an attempt without a slot: returns the first lane for such attempts that is free now, and was free at `from`.
static unsigned find_slotless(const struct lanes *slotless, uint64_t from) {
	unsigned i = 0;
	while (i < slotless->n && (slotless->lanes[i].is_taken || slotless->lanes[i].end > from)) {
		++i;
	}
	return i < LANES_SLOTLESS ? i : LANES_SLOTLESS - 1;
}

// Returns the first free row of the machine; if no row is free, its last row.
static unsigned find_row(const struct attempts *all, const char *host) {
	const struct machine_rows *machine = machines_find(all->rows, host);
	unsigned row = machine->first, last = machine->first + (machine->rows > 0 ? machine->rows - 1 : 0);
	while (row < last && row < all->slots.n && all->slots.lanes[row].is_taken) {
		++row;
	}
	return row;
}

static unsigned find_lane(const struct attempts *all, const struct attempt_span *attempt) {
	return attempt->slotless ? find_slotless(&all->slotless, attempt->from)
	       : all->rows ? find_row(all, attempt->id.host) : (attempt->id.slot <= LANES_SLOTS ? attempt->id.slot : LANES_SLOTS) - 1;
}

// Gives the attempt the lane of its start, the lane of its slot, or a free lane; cuts off what overlaps the last attempt there; calls all->fn.
static void put(struct attempts *all, struct attempt_span *attempt, const struct running_attempt *started) {
	attempt->slotless = attempt->id.slot == 0 || attempt->source == FROM_LONG;
	bool has_lane = started && started->lane > 0 && (attempt->slotless || all->rows);
	attempt->lane = has_lane ? started->lane - 1 : find_lane(all, attempt);
	struct lane *lane = lane_at(attempt->slotless ? &all->slotless : &all->slots, attempt->lane);
	attempt->from = attempt->from < lane->end ? lane->end : attempt->from;
	attempt->to = attempt->to < attempt->from ? attempt->from : attempt->to;
	lane->is_taken = attempt->phase == ATTEMPT_STARTED;
	lane->end = lane->is_taken ? lane->end : attempt->to;
	all->fn(all->arg, attempt);
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

// Passes the attempt, which may be NULL, to all->fn as an attempt without an end, and frees it.
static void leave(struct attempts *all, struct running_attempt *running, uint64_t now) {
	if (running) {
		struct attempt_span attempt = from_running(running, ATTEMPT_LEFT, now);
		put(all, &attempt, running);
		free(running);
	}
}

static void add_start(struct attempts *all, const struct event_job_start *start, uint64_t at) {
	leave(all, running_take(&all->running, &start->id), at);
	const struct running_attempt here = {.at = at, .start = *start};
	struct attempt_span attempt = from_running(&here, ATTEMPT_STARTED, at);
	put(all, &attempt, /* started */ NULL);
	running_add(&all->running, start, at)->lane = attempt.lane + 1;
}

static void add_end(struct attempts *all, const struct event_job_end *end, uint64_t at) {
	FP_CLEANUP(free_later) struct running_attempt *running = running_take(&all->running, &end->id);
	const struct result *result = &end->result;
	if (running || result->start > 0) { // otherwise the attempt never ran
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
		put(all, &attempt, running);
	}
}

void attempt_add_command(struct buf *buf, const char *before, const struct attempt_span *attempt, size_t max) {
	bool in_end = attempt->end && attempt->end->command;
	size_t len = in_end ? attempt->end->command_len : attempt->start ? attempt->start->command_len : 0;
	if (len > 0) {
		buf_adds(buf, before);
		markup_add_cut(buf, in_end ? attempt->end->command : attempt->start->command, len, max);
	}
}

void attempt_add_title(struct buf *buf, const struct event_job *id, size_t columns) {
	static const char *const roles[] = {
		[ROLE_JOB] = "", [ROLE_ON_FAILURE] = " on_failure", [ROLE_FINALLY] = " finally", [ROLE_LISTING] = " args_from",
	};
	text_add_job(buf, id->batch, id->number, id->seq, columns);
	buf_adds(buf, roles[id->role]);
	if (id->step > 0) {
		buf_printf(buf, " then %u", id->step);
	}
}

const char *const attempt_waits[] = {
	[WHY_TURN] = "for its turn", [WHY_LIMIT] = "for the limit of its batch", [WHY_RATE] = "for the rate of its batch",
	[WHY_LOAD] = "for the load to fall", [WHY_MEMORY] = "for memory", [WHY_DELAY] = "for --delay", [WHY_NEEDS] = "for what its batch needs",
	[WHY_RETRY] = "before it was tried again", [WHY_RESERVE] = "for several slots to be free at once",
	[WHY_SUSPEND] = "while it was stopped", [WHY_HOST] = "for a machine",
};

void attempts_on_event(struct attempts *all, const struct event *event) {
	all->last = event->at > all->last ? event->at : all->last;
	if (event->kind == EVENT_JOB_START) {
		add_start(all, &event->u.job_start, event->at);
	} else if (event->kind == EVENT_JOB_END) {
		add_end(all, &event->u.job_end, event->at);
	}
}

void attempts_finish(struct attempts *all) {
	for (struct running_attempt *running; (running = running_take_any(&all->running));) {
		leave(all, running, all->last);
	}
	free(all->slots.lanes);
	free(all->slotless.lanes);
	all->slots.lanes = all->slotless.lanes = NULL;
	all->slots.cap = all->slotless.cap = 0;
}
