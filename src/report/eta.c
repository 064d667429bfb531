// Estimates when a run will be done: the jobs left of each batch times the mean time of its jobs, divided by its slots. Jobs that a
// former run had, too, are expected to take as long as they took there (--eta=LOG).

#include "report/status_line.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/sync.h"
#include "base/units.h"

enum {
	ENOUGH_JOBS = 3,
	FORMER_MOST = 1 << 19, // the most commands and batches of a former run that are kept; later ones are ignored
};

// ---- the former run ----

struct sum {
	uint64_t time, n;
};

// A batch of the former run, or the command of a step in a batch.
struct known {
	char *key;               // the batch's name, and for a command a NUL and the command
	struct sum all;          // of a batch: its jobs; of a command: the steps that have run it
	struct sum taken;        // of a batch: the part of `all` for the jobs that this run has started already
};

struct former_run {
	struct map by_key;
	struct known *known;
	size_t n, cap;
};

struct former_run *former_run_new(void) {
	return NEW(struct former_run);
}

void former_run_free(struct former_run *former) {
	if (!former) {
		return;
	}
	map_fini(&former->by_key);
	for (size_t i = 0; i < former->n; ++i) {
		free(former->known[i].key);
	}
	free(former->known);
	free(former);
}

// Finds the batch, or with `command` that command of the batch. If the former run does not have it, adds it if `adds` and there is room,
// else returns NULL.
static struct known *find(struct former_run *former, const char *batch, const char *command, size_t len, bool adds) {
	FP_CLEANUP(buf_fini) struct buf key = BUF_INIT;
	buf_adds(&key, batch);
	if (command) {
		buf_addc(&key, '\0');
		buf_add(&key, command, len);
	}
	uint32_t number = map_get(&former->by_key, buf_str(&key), key.len);
	if (number == MAP_NONE && adds && former->n < FORMER_MOST) {
		number = (uint32_t)former->n++;
		grow_array(&former->known, &former->cap, former->n, sizeof(*former->known));
		former->known[number] = (struct known){.key = xmemdup(buf_str(&key), key.len)};
		map_add(&former->by_key, former->known[number].key, key.len, number);
	}
	return number != MAP_NONE ? &former->known[number] : NULL;
}

// Adds the time to the batch, or with `command` to that command of the batch. `is_end`: the job, or with `command` the step, has ended.
static void add(struct former_run *former, const char *batch, const char *command, size_t len, uint64_t time, bool is_end) {
	struct known *known = find(former, batch, command, len, /* adds */ true);
	if (known) {
		known->all.time += time;
		known->all.n += is_end;
	}
}

void former_run_on_event(void *arg, const struct event *event) {
	struct former_run *former = arg;
	const struct event_job_end *end = &event->u.job_end;
	if (event->kind != EVENT_JOB_END || end->id.role != ROLE_JOB || end->up_to_date || end->result.outcome == OUTCOME_CANCELLED) {
		return;
	}
	uint64_t time = result_wall(&end->result) * (end->nslots > 0 ? end->nslots : 1);
	add(former, end->id.batch, NULL, 0, time, end->next == NEXT_NOTHING);
	if (end->command) {
		add(former, end->id.batch, end->command, end->command_len, time, end->next != NEXT_RETRY);
	}
}

static uint64_t mean_of(const struct sum *sum) {
	return sum->n > 0 ? sum->time / sum->n : NOT_KNOWN;
}

void former_run_take(struct former_run *former, const struct event_job_start *start) {
	struct known *batch = find(former, start->id.batch, NULL, 0, /* adds */ false);
	bool is_first = start->id.role == ROLE_JOB && start->id.attempt <= 1 && start->command;
	const struct known *step = is_first ? find(former, start->id.batch, start->command, start->command_len, /* adds */ false) : NULL;
	bool begins = start->id.step == 0;
	if (batch && step && step->all.n > 0 && (batch->taken.n < batch->all.n || !begins)) {
		batch->taken.n += begins;
		batch->taken.time += mean_of(&step->all);
	}
}

// Returns the mean time that the batch's jobs took in the former run: of the jobs that are still to come or, if none is, of all jobs; or NOT_KNOWN.
static uint64_t former_mean(struct former_run *former, const char *batch) {
	const struct known *known = find(former, batch, NULL, 0, /* adds */ false);
	if (!known) {
		return NOT_KNOWN;
	}
	const struct sum left = {.time = u64_minus(known->all.time, known->taken.time), .n = known->all.n - known->taken.n};
	return mean_of(left.n > 0 ? &left : &known->all);
}

// ---- the estimate ----

static uint64_t mean(const struct stats_batch *batch, uint64_t otherwise) {
	uint64_t jobs = batch->counts.ok + batch->counts.failed - batch->up_to_date;
	return jobs > 0 ? (batch->slot_time + batch->long_time) / jobs : otherwise;
}

static void sum_up(const struct run_stats *stats, struct stats_batch *ret_sum) {
	*ret_sum = (struct stats_batch){.name = NULL};
	for (size_t i = 0; i < stats->nbatches; ++i) {
		stats_add(ret_sum, &stats->batches[i]);
	}
}

uint64_t eta_mean(const struct run_stats *stats) {
	struct stats_batch sum;
	sum_up(stats, &sum);
	return mean(&sum, NOT_KNOWN);
}

// Returns the time in whole nanoseconds, at most 1e9 s (some 32 years): with a low rate a batch may take longer than 64 bits can hold.
static uint64_t to_time(double ns) {
	double most = 1e9 * (double)NS_PER_S;
	return (uint64_t)(ns < most ? ns + 0.5 : most);
}

// What is left to do of a batch.
struct rest {
	double work;           // slot-time that its jobs will still take: nanoseconds times slots
	double alone;          // nanoseconds until the batch is done, if it had all the slots that it can use
	double weight;         // its weight; 0 if no job is left, or if its jobs take no slots
};

// Returns what is left of the batch. `takes`: the slot-time of one of its jobs.
static struct rest rest_of(const struct stats_batch *batch, const struct status_batch *counts, uint64_t takes, unsigned slots, uint64_t now) {
	uint64_t jobs = u64_minus(counts->jobs, counts->finished), left = u64_minus(jobs, counts->running);
	uint64_t at_once = batch->facts.max_parallel > 0 && batch->facts.max_parallel < jobs ? batch->facts.max_parallel : jobs;
	double width = batch->width > 0 ? batch->width : 1, most = (double)at_once * width;
	struct rest rest = {.work = ((double)left + (double)counts->running / 2) * (double)takes}; // a job that runs counts as half done
	if (left == 0) {
		rest.alone = counts->running > 0 ? (double)takes / width - (double)u64_minus(now, batch->last_start) : 0;
		rest.alone = rest.alone > 0 ? rest.alone : 0;
		rest.work = rest.alone * width;
	} else {
		double at_rate = (double)left * (double)batch->facts.interval;
		rest.alone = rest.work / (batch->facts.long_running || most < slots ? most : slots);
		rest.alone = rest.alone > at_rate ? rest.alone : at_rate;
	}
	rest.weight = jobs > 0 && !batch->facts.long_running ? (batch->facts.weight > 0 ? batch->facts.weight : 1) : 0;
	return rest;
}

uint64_t eta_set(struct status_batch *batches, const struct run_stats *stats, struct former_run *former, unsigned slots, uint64_t now) {
	struct stats_batch sum;
	sum_up(stats, &sum);
	bool enough = sum.counts.ok + sum.counts.failed >= ENOUGH_JOBS && u64_minus(now, stats->start) >= (uint64_t)ETA_FROM_S * NS_PER_S;
	FP_CLEANUP(free_later) struct rest *rests = xcalloc(stats->nbatches + 1, sizeof(*rests));
	double work = 0, weights = 0, all = 0;
	slots = slots > 0 ? slots : 1;
	for (size_t i = 0; i < stats->nbatches; ++i) {
		const struct stats_batch *batch = &stats->batches[i];
		uint64_t was = former ? former_mean(former, batch->name) : NOT_KNOWN;
		enough = enough || was != NOT_KNOWN;
		uint64_t takes = was != NOT_KNOWN ? was : mean(batch, mean(&sum, 0));
		rests[i] = rest_of(batch, &batches[i], takes, slots, now);
		work += rests[i].weight > 0 ? rests[i].work : 0;
		weights += rests[i].weight;
		all = rests[i].alone > all ? rests[i].alone : all;
	}
	if (!enough) {
		return NOT_KNOWN;
	}
	all = work / slots > all ? work / slots : all;
	for (size_t i = 0; i < stats->nbatches; ++i) {
		double shared = rests[i].weight > 0 ? rests[i].work * weights / rests[i].weight / slots : 0;
		double own = shared > rests[i].alone ? shared : rests[i].alone;
		batches[i].eta = to_time(own < all ? own : all);
	}
	return all > 0 || sum.running == 0 ? to_time(all) : NOT_KNOWN; // all jobs that are left run longer than expected, and may take as long again
}
