// Estimates when a run will be done, from its jobs so far and the log of a former run.

#include "report/eta.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/sync.h"
#include "base/units.h"
#include "log/running.h"
#include "report/run_stats.h"

enum {
	JOBS_KNOWN = 1 << 19,    // of a former run, by their commands; of more, the means of the batches
	SLOTS_MAX = 1 << 20,
	BATCHES = STATS_BATCHES, // those that come later share one entry, as in struct run_stats
	ENOUGH_JOBS = 3,
	COURSE_MAX = 256,        // batches that are simulated one by one: that takes the square of their number
	DOUBT_S = 15, DOUBT_PERCENT = 5, DOUBT_RATIO = 10, // when a former run is no guide: as ninja has it
};

// Slot-time: a job on two slots counts twice.
struct sum {
	uint64_t time, n;
};

struct batch_history {
	char *name;
	struct sum seen;         // jobs of this run that have ended; time also of the steps of those that have not
	struct sum before;       // of the former run
	struct sum to_come;      // of `before`: jobs that this run has not started yet
	uint64_t started;        // jobs that have started, or never will
	uint32_t most;           // max_parallel; 0: no limit
	uint64_t interval;       // between two starts, by its rate; 0: none
	uint32_t weight;
	unsigned width;          // slots of the job that started last
	bool apart;              // long-running: takes no slots
	uint64_t again;          // jobs that wait for their next attempt
	uint64_t paused;         // of `again`: in the pause before it
	uint64_t pause_end;      // of the last of the pauses
	// scratch of eta_at()
	uint64_t rest;           // expected slot-time until its running jobs have ended
	uint64_t longest;        // the time of the one that ends last
	uint64_t nrunning;
};

// A command of the former run.
struct known_command {
	char *key;               // batch, newline, command
	struct sum sum;
};

// The job that runs on a slot.
struct busy {
	uint32_t batch;          // MAP_NONE: nothing
	unsigned nslots;
	uint64_t start;
	uint64_t expected;       // by the former run, or NOT_KNOWN
};

struct eta {
	struct map by_name;
	struct batch_history *batches;
	size_t nbatches, batches_cap;
	struct map by_key;
	struct known_command *known;
	size_t nknown, known_cap;
	struct running_table former; // jobs of the former run that have ended an attempt and had another: `at` is their place in `known`
	struct busy *slots;
	size_t nslots, slots_cap;
	struct sum expected, taken; // of jobs that have ended and were known
	uint64_t start, ended;
	unsigned slots_now;
	bool fair_time;
	struct buf key;
};

struct eta *eta_new(void) {
	struct eta *eta = NEW(struct eta);
	eta->slots_now = 1;
	return eta;
}

void eta_free(struct eta *eta) {
	if (!eta) {
		return;
	}
	running_table_fini(&eta->former);
	map_fini(&eta->by_name);
	map_fini(&eta->by_key);
	for (size_t i = 0; i < eta->nbatches; ++i) {
		free(eta->batches[i].name);
	}
	for (size_t i = 0; i < eta->nknown; ++i) {
		free(eta->known[i].key);
	}
	free(eta->batches);
	free(eta->known);
	free(eta->slots);
	buf_fini(&eta->key);
	free(eta);
}

static uint64_t mean(const struct sum *sum) {
	return sum->n > 0 ? sum->time / sum->n : NOT_KNOWN;
}

// ---- batches and commands ----

static uint32_t batch_number(struct eta *eta, const char *name) {
	uint32_t number = map_get(&eta->by_name, name, strlen(name));
	if (number == MAP_NONE && eta->nbatches >= BATCHES) {
		name = ""; // the one that the others share
		number = map_get(&eta->by_name, name, 0);
	}
	if (number != MAP_NONE) {
		return number;
	}
	grow_array(&eta->batches, &eta->batches_cap, eta->nbatches + 1, sizeof(*eta->batches));
	struct batch_history *batch = &eta->batches[eta->nbatches];
	*batch = (struct batch_history){.name = xstrdup(name), .weight = 1, .width = 1};
	map_add(&eta->by_name, batch->name, strlen(name), (uint32_t)eta->nbatches);
	return (uint32_t)eta->nbatches++;
}

// The same as a pointer, good until the next new batch.
static struct batch_history *batch_of(struct eta *eta, const char *name) {
	uint32_t number = batch_number(eta, name);
	return &eta->batches[number];
}

// The place of the command in `known`, or MAP_NONE. Its key is in eta->key.
static uint32_t known_number(struct eta *eta, const char *batch, const char *command, size_t len) {
	buf_reset(&eta->key);
	buf_adds(&eta->key, batch);
	buf_addc(&eta->key, '\n');
	buf_add(&eta->key, command, len);
	return map_get(&eta->by_key, eta->key.data, eta->key.len);
}

// ---- the former run ----

// The place in `known` of the command of a job whose first step has ended, added if there is room; or MAP_NONE.
static uint32_t learn_command(struct eta *eta, const struct event_job_end *end) {
	if (end->id.step > 0 || !end->command) {
		return MAP_NONE;
	}
	uint32_t number = known_number(eta, end->id.batch, end->command, end->command_len);
	if (number == MAP_NONE && eta->nknown < JOBS_KNOWN) {
		number = (uint32_t)eta->nknown;
		grow_array(&eta->known, &eta->known_cap, eta->nknown + 1, sizeof(*eta->known));
		struct known_command *known = &eta->known[eta->nknown++];
		*known = (struct known_command){.key = xmemdup(eta->key.data, eta->key.len)};
		map_add(&eta->by_key, known->key, eta->key.len, number);
	}
	return number;
}

static uint64_t time_of(const struct event_job_end *end) {
	return result_wall(&end->result) * (end->nslots > 0 ? end->nslots : 1);
}

void eta_learn(void *arg, const struct event *event) {
	struct eta *eta = arg;
	const struct event_job_end *end = &event->u.job_end;
	if (event->kind != EVENT_JOB_END || end->id.role != ROLE_JOB || end->up_to_date || end->result.outcome == OUTCOME_CANCELLED) {
		return;
	}
	bool is_end = end->next == NEXT_NOTHING;
	uint64_t time = time_of(end);
	struct sum *before = &batch_of(eta, end->id.batch)->before;
	before->time += time;
	before->n += is_end;
	const struct event_job_start job = {.id = {.batch = end->id.batch, .number = end->id.number}};
	FP_CLEANUP(free_later) struct running_attempt *former = running_take(&eta->former, &job.id);
	uint32_t number = former ? (uint32_t)former->at : learn_command(eta, end);
	if (number == MAP_NONE) {
		return;
	}
	eta->known[number].sum.time += time;
	eta->known[number].sum.n += is_end;
	if (!is_end) {
		running_add(&eta->former, &job, number);
	}
}

// ---- this run ----

static void run_starts(struct eta *eta, const struct event *event) {
	eta->start = event->at;
	eta->slots_now = event->u.run_start.slots;
	eta->fair_time = event->u.run_start.fair_time;
	running_table_fini(&eta->former);
	for (size_t i = 0; i < eta->nbatches; ++i) {
		eta->batches[i].to_come = eta->batches[i].before;
	}
}

static struct busy *busy_of(struct eta *eta, unsigned slot) {
	if (slot == 0 || slot > SLOTS_MAX) {
		return NULL;
	}
	grow_array(&eta->slots, &eta->slots_cap, slot, sizeof(*eta->slots));
	for (; eta->nslots < slot; ++eta->nslots) {
		eta->slots[eta->nslots] = (struct busy){.batch = MAP_NONE};
	}
	return &eta->slots[slot - 1];
}

// A job of the batch has started. Returns its time in the former run, which is no longer to come; or NOT_KNOWN.
static uint64_t expected_time(struct eta *eta, struct batch_history *batch, const struct event_job_start *start) {
	if (eta->nknown == 0 || !start->command) {
		return NOT_KNOWN;
	}
	uint32_t number = known_number(eta, start->id.batch, start->command, start->command_len);
	uint64_t took = number == MAP_NONE ? NOT_KNOWN : mean(&eta->known[number].sum);
	if (took != NOT_KNOWN && batch->to_come.n > 0) {
		--batch->to_come.n;
		batch->to_come.time -= took < batch->to_come.time ? took : batch->to_come.time;
	}
	return took;
}

static void job_starts(struct eta *eta, const struct event *event) {
	const struct event_job_start *start = &event->u.job_start;
	uint32_t number = batch_number(eta, start->id.batch);
	struct batch_history *batch = &eta->batches[number];
	struct busy *busy = busy_of(eta, start->id.slot);
	uint64_t expected = NOT_KNOWN;
	if (start->id.role == ROLE_JOB && start->id.step == 0 && start->id.attempt <= 1) {
		++batch->started;
		expected = expected_time(eta, batch, start);
	} else if (start->id.role == ROLE_JOB && start->id.attempt > 1 && batch->again > 0) {
		--batch->again;
	}
	if (busy) {
		batch->width = start->nslots > 0 ? start->nslots : 1;
		*busy = (struct busy){.batch = number, .nslots = batch->width, .start = event->at, .expected = expected};
	}
}

static void job_ends(struct eta *eta, const struct event *event) {
	const struct event_job_end *end = &event->u.job_end;
	struct batch_history *batch = batch_of(eta, end->id.batch);
	struct busy *busy = end->up_to_date ? NULL : busy_of(eta, end->id.slot);
	if (end->id.role == ROLE_JOB && end->up_to_date) {
		++batch->started;
	} else if (end->id.role == ROLE_JOB && end->result.outcome == OUTCOME_CANCELLED) {
		batch->again -= end->result.start == 0 && end->id.attempt > 1 && batch->again > 0; // it is not tried again after all
	} else if (end->id.role == ROLE_JOB) {
		batch->again -= end->id.slot == 0 && batch->again > 0; // the same
		batch->seen.time += time_of(end);
		batch->again += end->next == NEXT_RETRY;
		if (end->next == NEXT_NOTHING) {
			++batch->seen.n;
			++eta->ended;
		}
		if (busy && busy->batch != MAP_NONE && busy->expected != NOT_KNOWN) {
			eta->expected.time += busy->expected;
			eta->taken.time += time_of(end);
			++eta->expected.n;
		}
	}
	if (busy) {
		busy->batch = MAP_NONE;
	}
}

// A job of the batch waits for its next attempt, or does no longer.
static void pauses(struct eta *eta, const struct event_wait *wait, bool ends) {
	if (wait->why != WHY_RETRY || !wait->batch) {
		return;
	}
	struct batch_history *batch = batch_of(eta, wait->batch);
	if (!ends) {
		++batch->paused;
		batch->pause_end = wait->until > batch->pause_end ? wait->until : batch->pause_end;
	} else if (batch->paused > 0 && --batch->paused == 0) {
		batch->pause_end = 0;
	}
}

void eta_on_event(void *arg, const struct event *event) {
	struct eta *eta = arg;
	struct batch_history *batch;
	switch (event->kind) {
	case EVENT_RUN_START:
		run_starts(eta, event);
		break;
	case EVENT_BATCH_START:
		batch = batch_of(eta, event->u.batch.batch);
		batch->most = event->u.batch.max_parallel;
		batch->interval = event->u.batch.interval;
		batch->apart = event->u.batch.long_running;
		batch->weight = event->u.batch.weight > 0 ? event->u.batch.weight : 1;
		break;
	case EVENT_JOB_START:
		job_starts(eta, event);
		break;
	case EVENT_JOB_END:
		job_ends(eta, event);
		break;
	case EVENT_LOST:
		batch_of(eta, event->u.lost.batch)->started += event->u.lost.jobs;
		break;
	case EVENT_SLOTS:
		eta->slots_now = event->u.slots.slots;
		break;
	case EVENT_WAIT:
	case EVENT_WAIT_END:
		pauses(eta, &event->u.wait, event->kind == EVENT_WAIT_END);
		break;
	default:
		break;
	}
}

// ---- the end ----

uint64_t eta_mean(const struct eta *eta) {
	struct sum sum = {.n = 0};
	for (size_t i = 0; i < eta->nbatches; ++i) {
		sum.time += eta->batches[i].seen.time;
		sum.n += eta->batches[i].seen.n;
	}
	return mean(&sum);
}

// Whether the times of the former run are so far from those of this one that they are no guide.
static bool is_doubtful(const struct eta *eta, uint64_t now, uint64_t jobs) {
	double was = (double)eta->expected.time, is = (double)eta->taken.time;
	bool enough = now - eta->start >= DOUBT_S * NS_PER_S && eta->ended * 100 >= jobs * DOUBT_PERCENT;
	return enough && eta->expected.n > 0 && (was >= DOUBT_RATIO * is || is >= DOUBT_RATIO * was);
}

// The time of a job of the batch: the best estimate there is. `former` is what the former run says of it, or NOT_KNOWN.
static uint64_t takes_of(const struct batch_history *batch, uint64_t former, uint64_t guess, bool trusts) {
	uint64_t takes[] = {trusts ? former : NOT_KNOWN, mean(&batch->seen), trusts ? mean(&batch->before) : NOT_KNOWN, guess};
	for (size_t i = 0; i < sizeof(takes) / sizeof(takes[0]); ++i) {
		if (takes[i] != NOT_KNOWN) {
			return takes[i];
		}
	}
	return 0;
}

// Adds up the expected rest of the running jobs by batch. Returns the longest.
static uint64_t sum_rests(struct eta *eta, uint64_t now, uint64_t guess, bool trusts) {
	uint64_t longest = 0;
	for (size_t i = 0; i < eta->nbatches; ++i) {
		eta->batches[i].rest = eta->batches[i].longest = eta->batches[i].nrunning = 0;
	}
	for (size_t i = 0; i < eta->nslots; ++i) {
		const struct busy *busy = &eta->slots[i];
		if (busy->batch == MAP_NONE) {
			continue;
		}
		struct batch_history *batch = &eta->batches[busy->batch];
		uint64_t all = takes_of(batch, busy->expected, guess, trusts) / busy->nslots, age = minus(now, busy->start);
		uint64_t rest = minus(all, age);
		batch->rest += rest * busy->nslots;
		batch->longest = rest > batch->longest ? rest : batch->longest;
		++batch->nrunning;
		longest = rest > longest ? rest : longest;
	}
	return longest;
}

// ---- simulation of the batches ----

// The rest of a batch's life, simulated: it waits for other batches, its work is done, it waits until its running jobs and
// its pauses are over, and ends. Times are nanoseconds from now, rates are slots.
struct course {
	double work;             // left
	double most;             // slots that it can use at once
	double weight;           // its part of the slots, beside those of the others
	double rest;             // the least time that it takes, however many slots there are
	double begun;            // or -1
	double end;              // or -1
	double rate;
	bool apart;
};

static bool is_at_work(const struct course *course) {
	return course->begun >= 0 && course->work > 0;
}

// Shares the slots by weight. A batch gets no more than it can use; the others share what that leaves.
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

// The time when the next batch has done its work or ends, not before `at`; or -1.
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

// Advances the simulated time from `at` to `next`.
static void advance(struct course *courses, size_t n, double at, double next) {
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

// Begins the batches whose needs have ended.
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

// At most 30 years: jobs at a low rate may take longer than a number can say.
static uint64_t to_time(double ns) {
	double most = 1e9 * (double)NS_PER_S;
	return (uint64_t)(ns < most ? ns : most);
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
		advance(courses, n, at, next);
		at = next;
	}
	uint64_t last = 0;
	for (size_t i = 0; i < n; ++i) {
		batches[i].eta = courses[i].end >= 0 ? to_time(courses[i].end + 0.5) : NOT_KNOWN;
		last = courses[i].end >= 0 && batches[i].eta > last ? batches[i].eta : last;
	}
	return last;
}

// ---- the time that is left ----

// Works out what eta_at() needs of one batch.
static void estimate_batch(const struct eta *eta, const struct batch_history *batch, struct eta_batch *ret_batch, struct course *ret_course,
                    uint64_t now, uint64_t takes) {
	uint64_t left = minus(ret_batch->jobs, batch->started);
	uint64_t jobs = left + batch->again + batch->nrunning;
	uint64_t pause = batch->paused > 0 ? minus(batch->pause_end, now) + takes / batch->width : 0;
	ret_batch->work = (left + batch->again) * takes + batch->rest;
	double most = (double)(batch->most > 0 && batch->most < jobs ? batch->most : jobs > 0 ? jobs : 1) * batch->width;
	if (batch->interval > 0 && takes > 0) { // so many run at once, at its rate
		double at_rate = (double)takes / (double)batch->interval;
		most = at_rate < most ? at_rate : most;
	}
	*ret_course = (struct course){
		.work = (double)ret_batch->work,
		.most = most,
		.weight = batch->weight * (eta->fair_time || takes == 0 ? 1 : (double)takes),
		.rest = (double)(pause > batch->longest ? pause : batch->longest),
		.begun = -1,
		.end = -1,
		.apart = batch->apart,
	};
}

uint64_t eta_at(struct eta *eta, uint64_t now, unsigned slots, struct eta_batch *batches, size_t n) {
	uint64_t jobs = 0, all = 0, bound = 0, running = 0;
	for (size_t i = 0; i < n; ++i) {
		jobs += batches[i].jobs;
		batches[i].eta = NOT_KNOWN;
	}
	bool trusts = eta->nknown > 0 && !is_doubtful(eta, now, jobs);
	bool enough = eta->ended >= ENOUGH_JOBS && now - eta->start >= ETA_FROM_S * NS_PER_S;
	if (!enough && !trusts) {
		return NOT_KNOWN;
	}
	uint64_t guess = eta_mean(eta), longest = sum_rests(eta, now, guess, trusts);
	FP_CLEANUP(free_later) struct course *courses = xcalloc(n + 1, sizeof(struct course));
	slots = slots > 0 ? slots : 1;
	for (size_t i = 0; i < n; ++i) {
		const struct batch_history *batch = batch_of(eta, batches[i].name);
		estimate_batch(eta, batch, &batches[i], &courses[i], now, takes_of(batch, mean(&batch->to_come), guess, trusts));
		all += batch->apart ? 0 : batches[i].work;
		uint64_t own = to_time((double)batches[i].work / courses[i].most);
		bound = own > bound ? own : bound;
	}
	uint64_t left = n <= COURSE_MAX ? run_courses(courses, batches, n, slots) : all / slots;
	for (size_t i = 0; i < eta->nbatches; ++i) {
		running += eta->batches[i].nrunning;
	}
	left = bound > left ? bound : left;
	left = longest > left ? longest : left;
	return left > 0 || running == 0 ? left : NOT_KNOWN; // it may take as long again
}
