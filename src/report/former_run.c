// How long the jobs of a former run took, by batch and command, from its log (--eta=LOG).

#include "report/former_run.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "log/running.h"

struct sum {
	uint64_t time, n;
};

// A batch, or a command of one.
struct known {
	char *key;               // the batch's name, and for a command a NUL and the command
	struct sum all;
	struct sum taken;        // of a batch: of the jobs that this run has started
};

struct former_run {
	struct map by_key;
	struct known *known;
	size_t n, cap;
	struct running_table unfinished; // jobs that have ended a step or an attempt and had another: `at` is their place in `known`
};

struct former_run *former_run_new(void) {
	return NEW(struct former_run);
}

void former_run_free(struct former_run *former) {
	if (!former) {
		return;
	}
	running_table_fini(&former->unfinished);
	map_fini(&former->by_key);
	for (size_t i = 0; i < former->n; ++i) {
		free(former->known[i].key);
	}
	free(former->known);
	free(former);
}

static void add_key(struct buf *key, const char *batch, const char *command, size_t len) {
	buf_adds(key, batch);
	if (command) {
		buf_addc(key, '\0');
		buf_add(key, command, len);
	}
}

// The batch, or with `command` that command of it, or NULL.
static struct known *find(const struct former_run *former, const char *batch, const char *command, size_t len) {
	FP_CLEANUP(buf_fini) struct buf key = BUF_INIT;
	add_key(&key, batch, command, len);
	uint32_t number = map_get(&former->by_key, buf_str(&key), key.len);
	return number != MAP_NONE ? &former->known[number] : NULL;
}

// The place of it in `known`, added if there is room; or MAP_NONE.
static uint32_t place_of(struct former_run *former, const char *batch, const char *command, size_t len) {
	struct buf key = BUF_INIT;
	add_key(&key, batch, command, len);
	size_t key_len = key.len;
	uint32_t number = map_get(&former->by_key, buf_str(&key), key_len);
	if (number != MAP_NONE || former->n >= FORMER_RUN_MAX) {
		buf_fini(&key);
		return number;
	}
	grow_array(&former->known, &former->cap, former->n + 1, sizeof(*former->known));
	former->known[former->n] = (struct known){.key = buf_take(&key)};
	map_add(&former->by_key, former->known[former->n].key, key_len, (uint32_t)former->n);
	return (uint32_t)former->n++;
}

static void add(struct former_run *former, uint32_t place, uint64_t time, bool is_end) {
	if (place != MAP_NONE) {
		former->known[place].all.time += time;
		former->known[place].all.n += is_end;
	}
}

void former_run_on_event(void *arg, const struct event *event) {
	struct former_run *former = arg;
	const struct event_job_end *end = &event->u.job_end;
	if (event->kind != EVENT_JOB_END || end->id.role != ROLE_JOB || end->up_to_date || end->result.outcome == OUTCOME_CANCELLED) {
		return;
	}
	bool is_end = end->next == NEXT_NOTHING;
	uint64_t time = result_wall(&end->result) * (end->nslots > 0 ? end->nslots : 1);
	const struct event_job_start job = {.id = {.batch = end->id.batch, .number = end->id.number}};
	FP_CLEANUP(free_later) struct running_attempt *before = running_take(&former->unfinished, &job.id);
	uint32_t place = before ? (uint32_t)before->at
		: end->id.step == 0 && end->command ? place_of(former, end->id.batch, end->command, end->command_len) : MAP_NONE;
	add(former, place_of(former, end->id.batch, NULL, 0), time, is_end);
	add(former, place, time, is_end);
	if (!is_end && place != MAP_NONE) {
		running_add(&former->unfinished, &job, place);
	}
}

static uint64_t mean(const struct sum *sum) {
	return sum->n > 0 ? sum->time / sum->n : NOT_KNOWN;
}

uint64_t former_run_time(const struct former_run *former, const char *batch, const char *command, size_t len) {
	const struct known *known = find(former, batch, command, len);
	return known ? mean(&known->all) : NOT_KNOWN;
}

void former_run_take(struct former_run *former, const struct event_job_start *start) {
	struct known *batch = find(former, start->id.batch, NULL, 0);
	bool is_first = start->id.role == ROLE_JOB && start->id.step == 0 && start->id.attempt <= 1 && start->command;
	uint64_t took = is_first && batch ? former_run_time(former, start->id.batch, start->command, start->command_len) : NOT_KNOWN;
	if (took != NOT_KNOWN && batch->taken.n < batch->all.n) {
		++batch->taken.n;
		batch->taken.time += took;
	}
}

uint64_t former_run_mean(const struct former_run *former, const char *batch) {
	const struct known *known = find(former, batch, NULL, 0);
	if (!known) {
		return NOT_KNOWN;
	}
	uint64_t time = known->all.time > known->taken.time ? known->all.time - known->taken.time : 0;
	const struct sum left = {.time = time, .n = known->all.n - known->taken.n};
	return mean(left.n > 0 ? &left : &known->all);
}
