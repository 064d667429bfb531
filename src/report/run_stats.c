// The statistics of a run, gathered from its events, live or read back from a log.
//
// All times are kept in whole microseconds, as the log has them, and moments as those since the run's start: so the
// numbers of a run and of its log are the same.

#include "report/run_stats.h"

#include "base/alloc.h"
#include "base/map.h"
#include "log/running.h"

enum {
	EXACT = 64,             // values of which the median is exact
	SUB_BITS = 5,           // buckets of an octave: 32, each at most 1/32 wide, so its middle is right within 1.6 %
	SUBS = 1 << SUB_BITS,
	OCTAVES = 64 - SUB_BITS,
	TEXT_MAX = 64 * 1024,   // of a command or a tail that is kept
	SHARED = STORY_BATCHES, // the entry of later batches
};

// ---- the middle of many durations ----

struct histogram {
	uint64_t n, min, max;
	uint64_t exact[EXACT];      // the first of them
	uint64_t *octaves[OCTAVES]; // counts, allocated when one is needed
};

static void histogram_fini(struct histogram *histogram) {
	for (size_t i = 0; i < OCTAVES; ++i) {
		free(histogram->octaves[i]);
	}
}

// The octave of the value; below 2 × SUBS each value has a bucket of its own.
static unsigned octave_of(uint64_t value) {
	return value < 2 * SUBS ? 0 : (unsigned)(63 - __builtin_clzll(value)) - SUB_BITS;
}

// Where the bucket is among those of its octave.
static uint64_t bucket_of(uint64_t value, unsigned octave) {
	return (value >> octave) - (octave > 0 ? SUBS : 0);
}

static void histogram_count(struct histogram *histogram, uint64_t value) {
	unsigned octave = octave_of(value);
	if (!histogram->octaves[octave]) {
		histogram->octaves[octave] = xcalloc(octave > 0 ? SUBS : 2 * SUBS, sizeof(uint64_t));
	}
	++histogram->octaves[octave][bucket_of(value, octave)];
}

static void histogram_add(struct histogram *histogram, uint64_t value) {
	histogram->min = histogram->n == 0 || value < histogram->min ? value : histogram->min;
	histogram->max = value > histogram->max ? value : histogram->max;
	if (histogram->n < EXACT) {
		histogram->exact[histogram->n++] = value;
		return;
	}
	for (size_t i = 0; histogram->n == EXACT && i < EXACT; ++i) {
		histogram_count(histogram, histogram->exact[i]);
	}
	++histogram->n;
	histogram_count(histogram, value);
}

static int compare(const void *a, const void *b) {
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

// The middle one, the lower of two.
static uint64_t histogram_median(const struct histogram *histogram) {
	if (histogram->n == 0) {
		return 0;
	}
	uint64_t rank = (histogram->n - 1) / 2;
	if (histogram->n <= EXACT) {
		uint64_t sorted[EXACT];
		memcpy(sorted, histogram->exact, histogram->n * sizeof(sorted[0]));
		qsort(sorted, histogram->n, sizeof(sorted[0]), compare);
		return sorted[rank];
	}
	for (unsigned octave = 0; octave < OCTAVES; ++octave) {
		uint64_t base = octave > 0 ? SUBS : 0, nbuckets = octave > 0 ? SUBS : 2 * SUBS;
		for (uint64_t i = 0; histogram->octaves[octave] && i < nbuckets; ++i) {
			uint64_t count = histogram->octaves[octave][i];
			if (rank >= count) {
				rank -= count;
				continue;
			}
			uint64_t middle = ((base + i) << octave) + ((UINT64_C(1) << octave) - 1) / 2;
			return middle < histogram->min ? histogram->min : middle > histogram->max ? histogram->max : middle;
		}
	}
	return histogram->max;
}

// ---- the story ----

// What belongs to batches[i].
struct batch_extra {
	struct histogram durations;
	bool long_running;
};

struct stats_private {
	size_t cap;             // of story.batches
	struct batch_extra *sides;
	size_t sides_cap;
	struct map names;       // number of a batch
	struct running_table retried; // jobs counted in stats_batch.retried that have not ended
	struct histogram durations; // of all
	uint64_t origin;        // event time of the run's start
	unsigned slots;         // now
	uint64_t slots_since;   // moment
	double capacity;        // slots × nanoseconds until then
};

struct run_stats *stats_new(void) {
	struct run_stats *story = NEW(struct run_stats);
	story->inside = NEW(struct stats_private);
	story->total.jobs = -1;
	return story;
}

static void job_fini(struct stats_job *job) {
	free(job->batch);
	free(job->command);
	free(job->why);
	free(job->tail);
}

static void free_facts(struct run_stats *story) {
	free(story->run);
	free(story->version);
	free(story->host);
	free(story->cwd);
	free(story->manifest);
	free(story->joblog);
	free(story->name);
	for (char **arg = story->argv; arg && *arg; ++arg) {
		free(*arg);
	}
	free(story->argv);
}

void stats_free(struct run_stats *story) {
	if (!story) {
		return;
	}
	struct stats_private *inside = story->inside;
	free_facts(story);
	for (size_t i = 0; i < story->nbatches; ++i) {
		free(story->batches[i].name);
		histogram_fini(&inside->sides[i].durations);
	}
	for (size_t i = 0; i < story->nslowest; ++i) {
		job_fini(&story->slowest[i]);
	}
	for (size_t i = 0; i < story->nfailures; ++i) {
		job_fini(&story->failures[i]);
	}
	for (size_t i = 0; i < story->nlosses; ++i) {
		free(story->losses[i].batch);
		free(story->losses[i].why);
	}
	free(story->batches);
	free(inside->sides);
	map_fini(&inside->names);
	running_table_fini(&inside->retried);
	histogram_fini(&inside->durations);
	free(inside);
	free(story);
}

static char *copy(const char *text) {
	return text ? xstrdup(text) : NULL;
}

// ---- batches ----

static size_t add_batch(struct run_stats *story, const char *name) {
	struct stats_private *inside = story->inside;
	size_t i = story->nbatches++;
	grow_array(&story->batches, &inside->cap, i + 1, sizeof(*story->batches));
	grow_array(&inside->sides, &inside->sides_cap, i + 1, sizeof(*inside->sides));
	story->batches[i] = (struct stats_batch){.name = xstrdup(name), .weight = 1, .jobs = -1};
	inside->sides[i] = (struct batch_extra){.long_running = false};
	return i;
}

// The number of the batch in story->batches.
static size_t batch_of(struct run_stats *story, const char *name) {
	struct stats_private *inside = story->inside;
	uint32_t number = map_get(&inside->names, name, strlen(name));
	if (number != MAP_NONE) {
		return number;
	}
	if (story->nbatches < SHARED) {
		size_t i = add_batch(story, name);
		map_add(&inside->names, story->batches[i].name, strlen(name), (uint32_t)i);
		return i;
	}
	if (story->nbatches == SHARED) {
		add_batch(story, "");
	}
	return SHARED;
}

static void add_jobs(int64_t *sum, int64_t n) {
	*sum = *sum < 0 ? n : *sum > INT64_MAX - n ? INT64_MAX : *sum + n;
}

static void tell_batch(struct run_stats *story, const struct event_batch *event) {
	size_t i = batch_of(story, event->batch);
	struct stats_batch *batch = &story->batches[i];
	story->inside->sides[i].long_running = event->long_running;
	if (i == SHARED) {
		++story->hidden_batches;
		return;
	}
	batch->weight = event->weight;
	if (event->jobs >= 0) { // one that was forgotten and comes again starts anew
		add_jobs(&batch->jobs, event->jobs);
	}
}

// ---- the run ----

static void tell_start(struct run_stats *story, const struct event_run_start *event, uint64_t at) {
	struct stats_private *inside = story->inside;
	free_facts(story);
	story->run = copy(event->run);
	story->version = copy(event->version);
	story->host = copy(event->host);
	story->cwd = copy(event->cwd);
	story->manifest = copy(event->manifest);
	story->joblog = copy(event->joblog);
	story->name = copy(event->name);
	size_t n = 0;
	while (event->argv && event->argv[n]) {
		++n;
	}
	story->argv = event->argv ? xcalloc(n + 1, sizeof(*story->argv)) : NULL;
	for (size_t i = 0; i < n; ++i) {
		story->argv[i] = xstrdup(event->argv[i]);
	}
	story->time_ns = event->time_ns;
	story->slots = inside->slots = event->slots;
	story->fair_time = event->fair_time;
	story->start = inside->origin = at;
}

// Nanoseconds since the start, cut to microseconds.
static uint64_t moment(const struct run_stats *story, uint64_t at) {
	uint64_t origin = story->inside->origin;
	return at > origin ? event_us(at - origin) * 1000 : 0;
}

// The event time of a moment: what the story shows.
static uint64_t event_time(const struct run_stats *story, uint64_t since) {
	return story->inside->origin + since;
}

static void count_capacity(struct stats_private *inside, uint64_t until) {
	if (until > inside->slots_since) {
		inside->capacity += (double)inside->slots * (double)(until - inside->slots_since);
		inside->slots_since = until;
	}
}

// ---- lists ----

static char *copy_bytes(const char *mem, size_t len, size_t *ret_len) {
	*ret_len = len < TEXT_MAX ? len : TEXT_MAX;
	return mem ? xmemdup(mem, *ret_len) : NULL;
}

static void job_set(struct stats_job *job, const struct event_job_end *end) {
	*job = (struct stats_job){
		.batch = xstrdup(end->id.batch),
		.number = end->id.number,
		.seq = end->id.seq,
		.attempts = end->id.attempt,
		.step = end->id.step,
		.result = end->result,
		.items = end->along + 1,
		.allowed = end->allowed,
	};
	job->command = copy_bytes(end->command, end->command_len, &job->command_len);
	job->why = copy(end->why);
	// of the output the end is what counts
	size_t cut = end->tail_len > TEXT_MAX ? end->tail_len - TEXT_MAX : 0;
	job->tail = copy_bytes(end->tail ? end->tail + cut : NULL, end->tail_len - cut, &job->tail_len);
	job->tail_out = end->tail_out > cut ? end->tail_out - cut : 0;
}

static uint64_t duration(const struct result *result) {
	return result->end > result->start ? event_us(result->end - result->start) * 1000 : 0;
}

// Takes an attempt of the same job out of the list. Returns false if it took longer, and stays.
static bool replace_slow(struct run_stats *story, const struct event_job *id, uint64_t wall) {
	for (size_t i = 0; i < story->nslowest; ++i) {
		struct stats_job *job = &story->slowest[i];
		if (job->number != id->number || strcmp(job->batch, id->batch) != 0) {
			continue;
		}
		if (duration(&job->result) >= wall) {
			return false;
		}
		job_fini(job);
		memmove(job, job + 1, (--story->nslowest - i) * sizeof(*job));
		return true;
	}
	return true;
}

// A job is listed once, by its longest attempt.
static void note_slow(struct run_stats *story, const struct event_job_end *end, uint64_t wall) {
	if ((end->id.attempt > 1 || end->id.step > 0) && !replace_slow(story, &end->id, wall)) {
		return;
	}
	size_t n = story->nslowest;
	if (n == STORY_SLOWEST) {
		if (wall <= duration(&story->slowest[n - 1].result)) {
			return;
		}
		job_fini(&story->slowest[--n]);
	}
	size_t i = n;
	for (; i > 0 && duration(&story->slowest[i - 1].result) < wall; --i) {
		story->slowest[i] = story->slowest[i - 1];
	}
	job_set(&story->slowest[i], end);
	story->nslowest = n + 1;
}

// ---- jobs ----

// The job has had another attempt: counted once, whatever follows and at however many of its steps.
static void note_retry(struct run_stats *story, struct stats_batch *batch, const struct event_job *id) {
	const struct event_job_start job = {.id = {.batch = id->batch, .number = id->number}, .command = ""};
	struct running_attempt *before = running_take(&story->inside->retried, &job.id);
	if (!before) {
		++batch->retried;
		++story->total.retried;
	}
	free(before);
	running_add(&story->inside->retried, &job, /* at */ 0);
}

static void forget_retry(struct run_stats *story, const struct event_job *id) {
	const struct event_job job = {.batch = id->batch, .number = id->number};
	free(running_take(&story->inside->retried, &job));
}

static void count_end(struct stats_batch *batch, const struct event_job_end *end) {
	switch (end->result.outcome) {
	case OUTCOME_OK:
		batch->ok += 1 + end->along;
		batch->current += end->current;
		break;
	case OUTCOME_CANCELLED:
		batch->cancelled += 1 + end->along;
		break;
	case OUTCOME_SKIPPED:
		++batch->skipped;
		break;
	case OUTCOME_FAILED:
	case OUTCOME_SIGNAL:
	case OUTCOME_TIMEOUT:
	case OUTCOME_SPAWN_ERROR:
		batch->failed += 1 + end->along;
		batch->along_failed += end->along;
		batch->allowed += end->allowed;
		break;
	}
}

static bool is_failure(const struct event_job_end *end) {
	return outcome_is_failure(end->result.outcome);
}

// From when to when something of it ran: by the clock of the attempt, which is told of a little later.
static void widen(struct stats_batch *batch, uint64_t from, uint64_t to) {
	batch->first_start = batch->first_start == 0 || from < batch->first_start ? from : batch->first_start;
	batch->last_end = to > batch->last_end ? to : batch->last_end;
}

// An attempt that ran has ended.
static void count_attempt(struct run_stats *story, size_t i, const struct event_job_end *end) {
	struct stats_batch *batch = &story->batches[i], *total = &story->total;
	uint64_t wall = duration(&end->result), from = event_time(story, moment(story, end->result.start));
	widen(batch, from, from + wall);
	widen(total, from, from + wall);
	bool is_long = end->source == FROM_LONG || story->inside->sides[i].long_running;
	++batch->attempts;
	++total->attempts;
	if (is_long) {
		batch->long_time += wall;
		total->long_time += wall;
	} else {
		uint64_t slots = end->nslots > 0 ? end->nslots : 1;
		uint64_t slot_time = wall <= UINT64_MAX / slots ? wall * slots : UINT64_MAX;
		batch->slot_time += slot_time;
		total->slot_time += slot_time;
	}
	if (end->id.role == ROLE_JOB) {
		histogram_add(&story->inside->sides[i].durations, wall);
		histogram_add(&story->inside->durations, wall);
		note_slow(story, end, wall);
	}
}

static void tell_end(struct run_stats *story, const struct event_job_end *end) {
	size_t i = batch_of(story, end->id.batch);
	struct stats_batch *batch = &story->batches[i], *total = &story->total;
	bool failed = is_failure(end);
	story->counts_items |= end->along > 0;
	if (end->id.slot > 0) { // else it was announced, and came to nothing
		batch->running -= batch->running > 0;
		total->running -= total->running > 0;
	}
	if (end->result.start > 0) {
		count_attempt(story, i, end);
	}
	if (end->id.attempt == 2 && end->id.role == ROLE_JOB) {
		note_retry(story, batch, &end->id);
	}
	// a listing is no job, but one that fails is counted as such: its batch lacks its items
	if (end->next != NEXT_NOTHING || !(end->id.role == ROLE_JOB || (end->id.role == ROLE_LISTING && failed))) {
		return;
	}
	forget_retry(story, &end->id);
	count_end(batch, end);
	count_end(total, end);
	if (failed && story->nfailures < STORY_FAILURES) {
		job_set(&story->failures[story->nfailures++], end);
	}
}

// What cuts the run short is one reason for all batches.
static void note_loss(struct run_stats *story, const struct event_lost *lost) {
	bool is_skipped = lost->outcome == OUTCOME_SKIPPED;
	for (size_t i = 0; i < story->nlosses; ++i) {
		struct stats_loss *loss = &story->losses[i];
		bool is_same_batch = loss->batch && strcmp(loss->batch, lost->batch) == 0;
		if (loss->outcome == lost->outcome && strcmp(loss->why, lost->why) == 0 && (is_same_batch || !is_skipped)) {
			loss->jobs += lost->jobs;
			if (!is_same_batch) {
				free(loss->batch);
				loss->batch = NULL;
			}
			return;
		}
	}
	if (story->nlosses < STORY_LOSSES) {
		story->losses[story->nlosses++] = (struct stats_loss){
			.batch = xstrdup(lost->batch), .why = xstrdup(lost->why), .outcome = lost->outcome, .jobs = lost->jobs,
		};
	}
}

static void tell_lost(struct run_stats *story, const struct event_lost *lost) {
	if (lost->why) {
		note_loss(story, lost);
	}
	size_t i = batch_of(story, lost->batch);
	struct stats_batch *batch = &story->batches[i];
	if (lost->outcome == OUTCOME_SKIPPED) {
		batch->skipped += lost->jobs;
		story->total.skipped += lost->jobs;
	} else {
		batch->cancelled += lost->jobs;
		story->total.cancelled += lost->jobs;
	}
}

static void tell_batch_end(struct run_stats *story, const struct event_batch_end *end) {
	size_t i = batch_of(story, end->batch); // may move the batches
	struct stats_batch *batch = &story->batches[i], *total = &story->total;
	batch->longest_wait = end->longest_wait > batch->longest_wait ? end->longest_wait : batch->longest_wait;
	total->longest_wait = batch->longest_wait > total->longest_wait ? batch->longest_wait : total->longest_wait;
}

void stats_on_event(void *arg, const struct event *event) {
	struct run_stats *story = arg;
	struct stats_private *inside = story->inside;
	if (event->kind == EVENT_RUN_START) {
		tell_start(story, &event->u.run_start, event->at);
	}
	uint64_t now = moment(story, event->at), at = event_time(story, now);
	story->last = at > story->last ? at : story->last;
	switch (event->kind) {
	case EVENT_BATCH_START:
		tell_batch(story, &event->u.batch);
		break;
	case EVENT_JOB_START: {
		size_t i = batch_of(story, event->u.job_start.id.batch);
		struct stats_batch *batch = &story->batches[i];
		batch->first_start = batch->first_start > 0 ? batch->first_start : at;
		story->total.first_start = story->total.first_start > 0 ? story->total.first_start : at;
		++batch->running;
		++story->total.running;
		break;
	}
	case EVENT_JOB_END:
		tell_end(story, &event->u.job_end);
		break;
	case EVENT_LOST:
		tell_lost(story, &event->u.lost);
		break;
	case EVENT_SLOTS:
		count_capacity(inside, now);
		inside->slots = event->u.slots.slots;
		break;
	case EVENT_RUN_END:
		story->has_end = true;
		story->run_end = event->u.run_end;
		story->end = at;
		break;
	case EVENT_RUN_START:
	case EVENT_OUTPUT:
	case EVENT_WAIT:
	case EVENT_WAIT_END:
		break;
	case EVENT_BATCH_END:
		tell_batch_end(story, &event->u.batch_end);
		break;
	}
}

uint64_t stats_jobs(const struct stats_batch *batch) {
	return batch->ok + batch->failed + batch->cancelled + batch->skipped + batch->running;
}

void stats_finish(struct run_stats *story, uint64_t now) {
	struct stats_private *inside = story->inside;
	struct stats_batch *total = &story->total;
	total->jobs = story->nbatches > 0 ? 0 : -1;
	for (size_t i = 0; i < story->nbatches; ++i) {
		struct stats_batch *batch = &story->batches[i];
		const struct histogram *durations = &inside->sides[i].durations;
		batch->p50 = histogram_median(durations);
		batch->max = durations->max;
		batch->share = total->slot_time > 0 ? (double)batch->slot_time / (double)total->slot_time : 0;
		if (batch->jobs < 0) {
			total->jobs = -1;
		} else if (total->jobs >= 0) {
			add_jobs(&total->jobs, batch->jobs);
		}
	}
	total->p50 = histogram_median(&inside->durations);
	total->max = inside->durations.max;
	total->share = total->slot_time > 0 ? 1 : 0;
	count_capacity(inside, moment(story, story->end > 0 ? story->end : now));
	story->busy = inside->capacity > 0 ? (double)total->slot_time / inside->capacity : 0;
	story->busy = story->busy > 1 ? 1 : story->busy;
}
