// When a run will be done: by what jobs of each batch have taken so far, and by what they took the last time.

#include "report/eta.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/sync.h"
#include "report/run_stats.h"

enum {
	JOBS_KNOWN = 1 << 19,    // of a former run, by their commands; of more, the means of the batches
	SLOTS_MAX = 1 << 20,
	BATCHES = STORY_BATCHES, // those that come later share one entry, as in the story
	RATE_MAX = 1024,         // ends that the current rate looks back
	ENOUGH_JOBS = 3,
	COURSE_MAX = 256,        // batches whose course is worked out: it takes the square of their number
	DOUBT_S = 15, DOUBT_PERCENT = 5, DOUBT_RATIO = 10, // when a former run is no guide: as ninja has it
};

// Time of jobs: of slots, so one of two slots counts twice.
struct sum {
	uint64_t time, n;
};

struct batch_history {
	char *name;
	struct sum seen;         // jobs of this run that have ended; time also of the steps of those that have not
	struct sum before;       // of the former run
	struct sum to_come;      // of these, those that have not started now
	uint64_t started;        // or never will
	uint32_t most;           // at once, 0: no limit
	uint32_t weight;
	unsigned width;          // slots of the job that started last
	bool apart;              // takes no slots
	uint64_t again;          // jobs between two attempts
	uint64_t paused;         // of these
	uint64_t pause_end;      // of the last of the pauses
	// scratch of eta_at()
	uint64_t rest;           // of its running jobs
	uint64_t longest;        // of these
	uint64_t nrunning;
};

// A command of the former run.
struct known_command {
	char *key;               // batch, newline, command
	struct sum sum;
};

// What runs on a slot.
struct busy {
	uint32_t batch;          // MAP_NONE: nothing
	unsigned nslots;
	uint64_t start;
	uint64_t expected;       // by the former run, or FORECAST_UNKNOWN
};

struct eta {
	struct map by_name;
	struct batch_history *batches;
	size_t nbatches, batches_cap;
	struct map by_key;
	struct known_command *known;
	size_t nknown, known_cap;
	struct map by_job;       // of the former run: "BATCH#n" to its place in `known`
	char **jobs;             // what by_job borrows
	size_t njobs, jobs_cap;
	struct busy *slots;
	size_t nslots, slots_cap;
	struct sum expected, taken; // of jobs that have ended and were known
	uint64_t start, started, ended;
	uint64_t ends[RATE_MAX]; // times of the last ones
	unsigned slots_now;
	bool fair_time;
	struct buf key;
};

struct eta *eta_new(void) {
	struct eta *forecast = NEW(struct eta);
	forecast->slots_now = 1;
	return forecast;
}

static void forget_jobs(struct eta *forecast) {
	map_fini(&forecast->by_job);
	for (size_t i = 0; i < forecast->njobs; ++i) {
		free(forecast->jobs[i]);
	}
	free(forecast->jobs);
	forecast->jobs = NULL;
	forecast->njobs = forecast->jobs_cap = 0;
}

void eta_free(struct eta *forecast) {
	if (!forecast) {
		return;
	}
	forget_jobs(forecast);
	map_fini(&forecast->by_name);
	map_fini(&forecast->by_key);
	for (size_t i = 0; i < forecast->nbatches; ++i) {
		free(forecast->batches[i].name);
	}
	for (size_t i = 0; i < forecast->nknown; ++i) {
		free(forecast->known[i].key);
	}
	free(forecast->batches);
	free(forecast->known);
	free(forecast->slots);
	buf_fini(&forecast->key);
	free(forecast);
}

static uint64_t mean(const struct sum *sum) {
	return sum->n > 0 ? sum->time / sum->n : FORECAST_UNKNOWN;
}

// ---- batches and commands ----

static uint32_t batch_number(struct eta *forecast, const char *name) {
	uint32_t number = map_get(&forecast->by_name, name, strlen(name));
	if (number == MAP_NONE && forecast->nbatches >= BATCHES) {
		name = ""; // the one that the others share
		number = map_get(&forecast->by_name, name, 0);
	}
	if (number != MAP_NONE) {
		return number;
	}
	grow_array(&forecast->batches, &forecast->batches_cap, forecast->nbatches + 1, sizeof(*forecast->batches));
	struct batch_history *batch = &forecast->batches[forecast->nbatches];
	*batch = (struct batch_history){.name = xstrdup(name), .weight = 1, .width = 1};
	map_add(&forecast->by_name, batch->name, strlen(name), (uint32_t)forecast->nbatches);
	return (uint32_t)forecast->nbatches++;
}

// The same as a pointer, good until the next new batch.
static struct batch_history *batch_of(struct eta *forecast, const char *name) {
	uint32_t number = batch_number(forecast, name);
	return &forecast->batches[number];
}

// The key of the command in its batch; borrowed until the next one.
static const struct buf *key_of(struct eta *forecast, const char *batch, const char *command, size_t len) {
	buf_reset(&forecast->key);
	buf_adds(&forecast->key, batch);
	buf_addc(&forecast->key, '\n');
	buf_add(&forecast->key, command, len);
	return &forecast->key;
}

static uint32_t known_number(struct eta *forecast, const struct event_job_start *start) {
	const struct buf *key = key_of(forecast, start->id.batch, start->command, start->command_len);
	return map_get(&forecast->by_key, buf_str(key), key->len);
}

// ---- the former run ----

// The job that a line of the log is about, by a text that is the key in by_job.
static void job_text(struct buf *buf, const struct event_job *id) {
	buf_reset(buf);
	buf_printf(buf, "%s#%llu", id->batch, (unsigned long long)id->number);
}

static void learn_start(struct eta *forecast, const struct event_job_start *start) {
	if (start->id.role != ROLE_JOB || start->id.step > 0 || start->id.attempt > 1 || forecast->nknown >= JOBS_KNOWN
	    || forecast->njobs >= JOBS_KNOWN || !start->command) {
		return;
	}
	uint32_t number = known_number(forecast, start);
	if (number == MAP_NONE) {
		const struct buf *key = &forecast->key;
		number = (uint32_t)forecast->nknown;
		grow_array(&forecast->known, &forecast->known_cap, forecast->nknown + 1, sizeof(*forecast->known));
		struct known_command *known = &forecast->known[forecast->nknown++];
		*known = (struct known_command){.key = xmemdup(buf_str(key), key->len)};
		map_add(&forecast->by_key, known->key, key->len, number);
	}
	struct buf text = BUF_INIT;
	job_text(&text, &start->id);
	if (map_get(&forecast->by_job, buf_str(&text), text.len) == MAP_NONE) {
		size_t len = text.len;
		grow_array(&forecast->jobs, &forecast->jobs_cap, forecast->njobs + 1, sizeof(*forecast->jobs));
		char *job = forecast->jobs[forecast->njobs++] = buf_take(&text);
		map_add(&forecast->by_job, job, len, number);
	}
	buf_fini(&text);
}

static uint64_t time_of(const struct event_job_end *end) {
	uint64_t taken = end->result.end > end->result.start ? end->result.end - end->result.start : 0;
	return taken * (end->nslots > 0 ? end->nslots : 1);
}

static void learn_end(struct eta *forecast, const struct event_job_end *end) {
	if (end->id.role != ROLE_JOB || end->current || end->result.outcome == OUTCOME_CANCELLED) {
		return;
	}
	struct batch_history *batch = batch_of(forecast, end->id.batch);
	bool is_end = end->next == NEXT_NOTHING;
	uint64_t time = time_of(end);
	batch->before.time += time;
	batch->before.n += is_end;
	job_text(&forecast->key, &end->id);
	uint32_t number = map_get(&forecast->by_job, buf_str(&forecast->key), forecast->key.len);
	if (number != MAP_NONE) {
		forecast->known[number].sum.time += time;
		forecast->known[number].sum.n += is_end;
	}
}

void eta_learn(void *arg, const struct event *event) {
	struct eta *forecast = arg;
	switch (event->kind) {
	case EVENT_JOB_START: learn_start(forecast, &event->u.job_start); break;
	case EVENT_JOB_END: learn_end(forecast, &event->u.job_end); break;
	default: break;
	}
}

// ---- this run ----

static void run_starts(struct eta *forecast, const struct event *event) {
	forecast->start = event->at;
	forecast->slots_now = event->u.run_start.slots;
	forecast->fair_time = event->u.run_start.fair_time;
	forget_jobs(forecast);
	for (size_t i = 0; i < forecast->nbatches; ++i) {
		forecast->batches[i].to_come = forecast->batches[i].before;
	}
}

static struct busy *busy_of(struct eta *forecast, unsigned slot) {
	if (slot == 0 || slot > SLOTS_MAX) {
		return NULL;
	}
	grow_array(&forecast->slots, &forecast->slots_cap, slot, sizeof(*forecast->slots));
	for (; forecast->nslots < slot; ++forecast->nslots) {
		forecast->slots[forecast->nslots] = (struct busy){.batch = MAP_NONE};
	}
	return &forecast->slots[slot - 1];
}

// A job of the batch has started. Returns what it took the last time.
static uint64_t take_known(struct eta *forecast, struct batch_history *batch, const struct event_job_start *start) {
	if (forecast->nknown == 0 || !start->command) {
		return FORECAST_UNKNOWN;
	}
	uint32_t number = known_number(forecast, start);
	uint64_t took = number == MAP_NONE ? FORECAST_UNKNOWN : mean(&forecast->known[number].sum);
	if (took != FORECAST_UNKNOWN && batch->to_come.n > 0) {
		--batch->to_come.n;
		batch->to_come.time -= took < batch->to_come.time ? took : batch->to_come.time;
	}
	return took;
}

static void job_starts(struct eta *forecast, const struct event *event) {
	const struct event_job_start *start = &event->u.job_start;
	uint32_t number = batch_number(forecast, start->id.batch);
	struct batch_history *batch = &forecast->batches[number];
	struct busy *busy = busy_of(forecast, start->id.slot);
	uint64_t expected = FORECAST_UNKNOWN;
	if (start->id.role == ROLE_JOB && start->id.step == 0 && start->id.attempt <= 1) {
		++batch->started;
		++forecast->started;
		expected = take_known(forecast, batch, start);
	} else if (start->id.role == ROLE_JOB && start->id.attempt > 1 && batch->again > 0) {
		--batch->again;
	}
	if (busy) {
		batch->width = start->nslots > 0 ? start->nslots : 1;
		*busy = (struct busy){.batch = number, .nslots = batch->width, .start = event->at, .expected = expected};
	}
}

static void job_ends(struct eta *forecast, const struct event *event) {
	const struct event_job_end *end = &event->u.job_end;
	struct batch_history *batch = batch_of(forecast, end->id.batch);
	struct busy *busy = end->current ? NULL : busy_of(forecast, end->id.slot);
	if (end->id.role == ROLE_JOB && end->current) {
		++batch->started;
		++forecast->started;
	} else if (end->id.role == ROLE_JOB && end->result.outcome == OUTCOME_CANCELLED) {
		batch->again -= end->result.start == 0 && end->id.attempt > 1 && batch->again > 0; // it is not tried again after all
	} else if (end->id.role == ROLE_JOB) {
		batch->again -= end->id.slot == 0 && batch->again > 0; // the same
		batch->seen.time += time_of(end);
		batch->again += end->next == NEXT_RETRY;
		if (end->next == NEXT_NOTHING) {
			++batch->seen.n;
			forecast->ends[forecast->ended++ % RATE_MAX] = event->at;
		}
		if (busy && busy->batch != MAP_NONE && busy->expected != FORECAST_UNKNOWN) {
			forecast->expected.time += busy->expected;
			forecast->taken.time += time_of(end);
			++forecast->expected.n;
		}
	}
	if (busy) {
		busy->batch = MAP_NONE;
	}
}

// A job of the batch waits for its next attempt, or does no longer.
static void pauses(struct eta *forecast, const struct event_wait *wait, bool ends) {
	if (wait->why != WHY_RETRY || !wait->batch) {
		return;
	}
	struct batch_history *batch = batch_of(forecast, wait->batch);
	if (!ends) {
		++batch->paused;
		batch->pause_end = wait->until > batch->pause_end ? wait->until : batch->pause_end;
	} else if (batch->paused > 0 && --batch->paused == 0) {
		batch->pause_end = 0;
	}
}

void eta_on_event(void *arg, const struct event *event) {
	struct eta *forecast = arg;
	struct batch_history *batch;
	switch (event->kind) {
	case EVENT_RUN_START:
		run_starts(forecast, event);
		break;
	case EVENT_BATCH_START:
		batch = batch_of(forecast, event->u.batch.batch);
		batch->most = event->u.batch.max_parallel;
		batch->apart = event->u.batch.long_running;
		batch->weight = event->u.batch.weight > 0 ? event->u.batch.weight : 1;
		break;
	case EVENT_JOB_START:
		job_starts(forecast, event);
		break;
	case EVENT_JOB_END:
		job_ends(forecast, event);
		break;
	case EVENT_LOST:
		batch_of(forecast, event->u.lost.batch)->started += event->u.lost.jobs;
		break;
	case EVENT_SLOTS:
		forecast->slots_now = event->u.slots.slots;
		break;
	case EVENT_WAIT:
	case EVENT_WAIT_END:
		pauses(forecast, &event->u.wait, event->kind == EVENT_WAIT_END);
		break;
	default:
		break;
	}
}

// ---- the end ----

uint64_t eta_started(const struct eta *forecast) {
	return forecast->started;
}

static struct sum sum_seen(const struct eta *forecast) {
	struct sum sum = {.n = 0};
	for (size_t i = 0; i < forecast->nbatches; ++i) {
		sum.time += forecast->batches[i].seen.time;
		sum.n += forecast->batches[i].seen.n;
	}
	return sum;
}

uint64_t eta_mean(const struct eta *forecast) {
	struct sum sum = sum_seen(forecast);
	return mean(&sum);
}

double eta_rate(const struct eta *forecast) {
	uint64_t n = forecast->slots_now < RATE_MAX ? forecast->slots_now : RATE_MAX;
	n = n < forecast->ended ? n : forecast->ended;
	if (n < 2) {
		return -1;
	}
	uint64_t last = forecast->ends[(forecast->ended - 1) % RATE_MAX], first = forecast->ends[(forecast->ended - n) % RATE_MAX];
	return last > first ? (double)(n - 1) / ((double)(last - first) / 1e9) : -1;
}

// What the former run says is so far from this one that it is no guide.
static bool is_doubtful(const struct eta *forecast, uint64_t now, uint64_t jobs) {
	double was = (double)forecast->expected.time, is = (double)forecast->taken.time;
	bool enough = now - forecast->start >= DOUBT_S * NS_PER_S && forecast->ended * 100 >= jobs * DOUBT_PERCENT;
	return enough && forecast->expected.n > 0 && (was >= DOUBT_RATIO * is || is >= DOUBT_RATIO * was);
}

static uint64_t first_known(const uint64_t *times, size_t n) {
	for (size_t i = 0; i < n; ++i) {
		if (times[i] != FORECAST_UNKNOWN) {
			return times[i];
		}
	}
	return 0;
}

// What a job of the batch that has not started takes: the best that is known.
static uint64_t takes_of(const struct batch_history *batch, uint64_t guess, bool trusts) {
	uint64_t takes[] = {
		trusts ? mean(&batch->to_come) : FORECAST_UNKNOWN, mean(&batch->seen),
		trusts ? mean(&batch->before) : FORECAST_UNKNOWN, guess,
	};
	return first_known(takes, 4);
}

// Adds up what is left of running jobs, by batch. Returns the longest.
static uint64_t sum_rests(struct eta *forecast, uint64_t now, uint64_t guess, bool trusts) {
	uint64_t longest = 0;
	for (size_t i = 0; i < forecast->nbatches; ++i) {
		forecast->batches[i].rest = forecast->batches[i].longest = forecast->batches[i].nrunning = 0;
	}
	for (size_t i = 0; i < forecast->nslots; ++i) {
		const struct busy *busy = &forecast->slots[i];
		if (busy->batch == MAP_NONE) {
			continue;
		}
		struct batch_history *batch = &forecast->batches[busy->batch];
		uint64_t takes[] = {trusts ? busy->expected : FORECAST_UNKNOWN, mean(&batch->seen), trusts ? mean(&batch->before) : FORECAST_UNKNOWN, guess};
		uint64_t all = first_known(takes, 4) / busy->nslots, age = now > busy->start ? now - busy->start : 0;
		uint64_t rest = all > age ? all - age : 0;
		batch->rest += rest * busy->nslots;
		batch->longest = rest > batch->longest ? rest : batch->longest;
		++batch->nrunning;
		longest = rest > longest ? rest : longest;
	}
	return longest;
}

// ---- the course of the batches ----

// What becomes of a batch: it waits, is worked off, rests until its running jobs and its pauses are over, and ends. Times are
// nanoseconds from now, rates slots.
struct course {
	double work;             // left
	double most;             // slots that it can use
	double weight;           // its part of the slots, beside those of the others
	double rest;             // the least that it takes, whatever the slots
	double begun;            // or -1
	double end;              // or -1
	double rate;
	bool apart;
	size_t waits;            // batches that it needs
};

static bool is_at_work(const struct course *course) {
	return course->begun >= 0 && course->work > 0;
}

// Shares the slots: each as its weight, none more than it can use, which is then for the others.
static void set_rates(struct course *courses, size_t n, double slots) {
	double weights = 0;
	for (size_t i = 0; i < n; ++i) {
		struct course *course = &courses[i];
		course->rate = is_at_work(course) && course->apart ? course->most : 0;
		weights += is_at_work(course) && !course->apart ? course->weight : 0;
	}
	for (bool again = true; again && slots > 0;) {
		again = false;
		for (size_t i = 0; i < n; ++i) {
			struct course *course = &courses[i];
			if (is_at_work(course) && course->rate == 0 && course->most * weights <= slots * course->weight) {
				course->rate = course->most;
				weights -= course->weight;
				slots -= course->most;
				again = true;
			}
		}
	}
	for (size_t i = 0; i < n; ++i) {
		if (is_at_work(&courses[i]) && courses[i].rate == 0 && weights > 0) {
			courses[i].rate = slots * courses[i].weight / weights;
		}
	}
}

// When the next batch is worked off or ends, not before `at`; or -1.
static double next_change(const struct course *courses, size_t n, double at) {
	double next = -1;
	for (size_t i = 0; i < n; ++i) {
		const struct course *course = &courses[i];
		if (course->begun < 0 || course->end >= 0 || (course->work > 0 && course->rate <= 0)) {
			continue;
		}
		double until = course->work > 0 ? at + course->work / course->rate : course->begun + course->rest;
		until = until > at ? until : at;
		next = next < 0 || until < next ? until : next;
	}
	return next;
}

// Lets the time from `at` to `next` pass.
static void pass(struct course *courses, size_t n, double at, double next) {
	for (size_t i = 0; i < n; ++i) {
		struct course *course = &courses[i];
		if (is_at_work(course) && course->rate > 0) {
			bool is_done = at + course->work / course->rate <= next; // whatever rounding would leave of it
			course->work = is_done ? 0 : course->work - course->rate * (next - at);
		}
		if (course->begun >= 0 && course->end < 0 && course->work <= 0 && course->begun + course->rest <= next) {
			course->end = next;
		}
	}
}

// Begins what now waits for nothing more.
static void begin_batches(struct course *courses, const struct eta_batch *batches, size_t n, double at) {
	for (size_t i = 0; i < n; ++i) {
		bool waits = false;
		for (size_t k = 0; k < batches[i].nneeds; ++k) {
			waits = waits || courses[batches[i].needs[k]].end < 0;
		}
		if (courses[i].begun < 0 && !waits) {
			courses[i].begun = at;
		}
	}
}

// Fills in batches[].eta. Returns the last.
static uint64_t run_courses(struct course *courses, struct eta_batch *batches, size_t n, unsigned slots) {
	double at = 0;
	for (size_t changes = 0; changes <= 2 * n; ++changes) { // each is worked off once, and ends once
		begin_batches(courses, batches, n, at);
		set_rates(courses, n, slots);
		double next = next_change(courses, n, at);
		if (next < 0) {
			break;
		}
		pass(courses, n, at, next);
		at = next;
	}
	uint64_t last = 0;
	for (size_t i = 0; i < n; ++i) {
		batches[i].eta = courses[i].end >= 0 ? (uint64_t)(courses[i].end + 0.5) : FORECAST_UNKNOWN;
		last = courses[i].end >= 0 && batches[i].eta > last ? batches[i].eta : last;
	}
	return last;
}

// ---- the time that is left ----

// What is known of one batch.
static void look_at(const struct eta *forecast, const struct batch_history *batch, struct eta_batch *ret_batch, struct course *ret_course,
                    uint64_t now, uint64_t takes) {
	uint64_t left = ret_batch->jobs > batch->started ? ret_batch->jobs - batch->started : 0;
	uint64_t jobs = left + batch->again + batch->nrunning;
	uint64_t pause = batch->paused > 0 ? (batch->pause_end > now ? batch->pause_end - now : 0) + takes / batch->width : 0;
	ret_batch->work = (left + batch->again) * takes + batch->rest;
	*ret_course = (struct course){
		.work = (double)ret_batch->work,
		.most = (double)(batch->most > 0 && batch->most < jobs ? batch->most : jobs > 0 ? jobs : 1) * batch->width,
		.weight = batch->weight * (forecast->fair_time || takes == 0 ? 1 : (double)takes),
		.rest = (double)(pause > batch->longest ? pause : batch->longest),
		.begun = -1,
		.end = -1,
		.apart = batch->apart,
	};
}

static bool is_busy(const struct eta *forecast) {
	for (size_t i = 0; i < forecast->nslots; ++i) {
		if (forecast->slots[i].batch != MAP_NONE) {
			return true;
		}
	}
	return false;
}

uint64_t eta_at(struct eta *forecast, uint64_t now, unsigned slots, struct eta_batch *batches, size_t n) {
	uint64_t jobs = 0, all = 0, bound = 0;
	for (size_t i = 0; i < n; ++i) {
		jobs += batches[i].jobs;
		batches[i].eta = FORECAST_UNKNOWN;
	}
	bool trusts = forecast->nknown > 0 && !is_doubtful(forecast, now, jobs);
	bool enough = forecast->ended >= ENOUGH_JOBS && now - forecast->start >= FORECAST_FROM_S * NS_PER_S;
	if (!enough && !trusts) {
		return FORECAST_UNKNOWN;
	}
	uint64_t guess = eta_mean(forecast), longest = sum_rests(forecast, now, guess, trusts);
	struct course *courses = xcalloc(n + 1, sizeof(struct course));
	slots = slots > 0 ? slots : 1;
	for (size_t i = 0; i < n; ++i) {
		const struct batch_history *batch = batch_of(forecast, batches[i].name);
		look_at(forecast, batch, &batches[i], &courses[i], now, takes_of(batch, guess, trusts));
		all += batch->apart ? 0 : batches[i].work;
		uint64_t own = batches[i].work / (uint64_t)courses[i].most;
		bound = own > bound ? own : bound;
	}
	uint64_t eta = n <= COURSE_MAX ? run_courses(courses, batches, n, slots) : all / slots;
	free(courses);
	eta = bound > eta ? bound : eta;
	eta = longest > eta ? longest : eta;
	return eta > 0 || !is_busy(forecast) ? eta : FORECAST_UNKNOWN; // it may take as long again
}
