// The statistics of a run, gathered from its events, live or read back from a log.
//
// All times are cut to whole microseconds, counted from the run's start, as the log has them: so the numbers of a run and of
// its log are the same.

#include "report/run_stats.h"

#include "base/alloc.h"
#include "base/units.h"

enum {
	BITS = 5,               // `bits` of the buckets of durations: the middle of a bucket is within 1.6 % of each duration in it
	TEXT_MAX = 64 * 1024,   // the most bytes of a command that are kept
	SHARED = STATS_BATCHES, // the entry that later batches share
};

// ---- the median of many durations ----

struct histogram {
	uint64_t n, min, max;
	uint64_t counts[BUCKETS(BITS)];
};

static void histogram_add(struct histogram *histogram, uint64_t value) {
	histogram->min = histogram->n == 0 || value < histogram->min ? value : histogram->min;
	histogram->max = value > histogram->max ? value : histogram->max;
	++histogram->n;
	++histogram->counts[bucket_of(value, BITS)];
}

// Returns the median (of two middle durations the lower one); 0 if there are no durations.
static uint64_t histogram_median(const struct histogram *histogram) {
	uint64_t rank = (histogram->n + 1) / 2;
	unsigned bucket = 0;
	for (uint64_t below = histogram->counts[0]; below < rank; below += histogram->counts[bucket]) {
		++bucket;
	}
	uint64_t start = bucket_start(bucket, BITS), middle = start + (bucket_start(bucket + 1, BITS) - 1 - start) / 2;
	return middle < histogram->min ? histogram->min : middle > histogram->max ? histogram->max : middle;
}

// ---- what is kept ----

void stats_free(struct run_stats *stats) {
	if (!stats) {
		return;
	}
	arena_fini(&stats->texts);
	for (size_t i = 0; i < stats->nbatches; ++i) {
		free(stats->batches[i].name);
		free(stats->batches[i].durations);
	}
	for (size_t i = 0; i < stats->nslowest; ++i) {
		free(stats->slowest[i]);
	}
	for (size_t i = 0; i < stats->nfailures; ++i) {
		free(stats->failures[i]);
	}
	free(stats->changes);
	free(stats->batches);
	map_fini(&stats->names);
	running_table_fini(&stats->retried);
	free(stats);
}

// ---- batches ----

uint32_t stats_find(const struct run_stats *stats, const char *name) {
	return map_get(&stats->names, name, strlen(name));
}

// Returns the batch of that name, which is added if it is new; valid until the next batch is added.
static struct stats_batch *batch_of(struct run_stats *stats, const char *name) {
	uint32_t number = stats_find(stats, name);
	size_t i = number != MAP_NONE ? number : stats->nbatches < SHARED ? stats->nbatches : SHARED;
	if (i == stats->nbatches) {
		grow_array(&stats->batches, &stats->batches_cap, ++stats->nbatches, sizeof(*stats->batches));
		stats->batches[i] = (struct stats_batch){.name = xstrdup(i < SHARED ? name : ""), .jobs = -1, .durations = NEW(struct histogram)};
		if (i < SHARED) {
			map_add(&stats->names, stats->batches[i].name, strlen(name), (uint32_t)i);
		}
	}
	return &stats->batches[i];
}

static void note_batch(struct run_stats *stats, const struct event_batch *event) {
	struct stats_batch *batch = batch_of(stats, event->batch);
	batch->facts = *event;
	batch->facts.batch = NULL;
	if ((size_t)(batch - stats->batches) == SHARED) {
		++stats->hidden_batches;
		return;
	}
	if (event->jobs >= 0) { // if a batch was forgotten and has come again, its event counts only its new jobs
		int64_t before = batch->jobs > 0 ? batch->jobs : 0;
		batch->jobs = event->jobs <= INT64_MAX - before ? before + event->jobs : INT64_MAX;
	}
}

void stats_add_queued(struct run_stats *stats, const char *batch, int64_t jobs) {
	batch_of(stats, batch)->queued += (uint64_t)jobs;
}

// ---- the run ----

static char *keep(struct run_stats *stats, const char *text) {
	return text ? arena_text(&stats->texts, text, strlen(text)) : NULL;
}

static void note_start(struct run_stats *stats, const struct event_run_start *event, uint64_t at) {
	const char *end = strings_skip(event->argv, event->nargv);
	stats->run = (struct event_run_start){
		.run = keep(stats, event->run), .version = keep(stats, event->version), .host = keep(stats, event->host),
		.cwd = keep(stats, event->cwd), .name = keep(stats, event->name), .nargv = event->nargv,
		.argv = event->argv ? arena_text(&stats->texts, event->argv, (size_t)(end - event->argv)) : NULL,
		.time_ns = event->time_ns, .pid = event->pid, .slots = event->slots, .fair_time = event->fair_time,
	};
	stats->slots_now = stats->least_slots = stats->most_slots = event->slots;
	stats->start = stats->slots_since = at;
}

// Returns the event time, not before the run's start, in whole microseconds since then.
static uint64_t in_whole_us(const struct run_stats *stats, uint64_t at) {
	return stats->start + (at > stats->start ? event_us(at - stats->start) * 1000 : 0);
}

static void count_capacity(struct run_stats *stats, uint64_t until) {
	if (until > stats->slots_since) {
		stats->capacity += (double)stats->slots_now * (double)(until - stats->slots_since);
		stats->slots_since = until;
	}
}

static void note_slots(struct run_stats *stats, const struct event_slots *event, uint64_t at) {
	unsigned slots = event->slots;
	stats->slots_now = slots;
	stats->least_slots = stats->least_slots == 0 || slots < stats->least_slots ? slots : stats->least_slots;
	stats->most_slots = slots > stats->most_slots ? slots : stats->most_slots;
	bool is_kept = stats->nchanges < STATS_CHANGES;
	if (is_kept) {
		grow_array(&stats->changes, &stats->changes_cap, stats->nchanges + 1, sizeof(*stats->changes));
		++stats->nchanges;
	}
	stats->changes[stats->nchanges - 1] = (struct stats_slots){.at = at, .slots = slots, .why = is_kept ? keep(stats, event->why) : NULL};
}

void stats_add_slots(struct buf *buf, const struct run_stats *stats) {
	if (stats->least_slots < stats->most_slots) {
		buf_printf(buf, "%u to %u slots", stats->least_slots, stats->most_slots);
	} else {
		buf_printf(buf, "%u slot%s", stats->run.slots, stats->run.slots == 1 ? "" : "s");
	}
}

// ---- lists ----

void stats_add_attempts(struct buf *buf, const struct event_job *job) {
	if (job->step > 0) {
		buf_printf(buf, " at step %u", job->step + 1);
	}
	if (job->attempt > 1) {
		buf_printf(buf, " after %u attempts", job->attempt);
	}
}

// Returns a copy of the end of an attempt with its texts; a long command is cut. The caller frees the copy with free().
static struct event_job_end *copy_end(const struct event_job_end *end) {
	struct event_job_end copy = *end;
	copy.command_len = end->command_len < TEXT_MAX ? end->command_len : TEXT_MAX;
	struct text_member texts[] = {
		{&copy.id.batch, strlen(copy.id.batch)}, {&copy.id.host, text_len(copy.id.host)}, {&copy.why, text_len(copy.why)},
		{&copy.command, copy.command_len}, {&copy.tail, copy.tail_len},
	};
	return copy_with_texts(&copy, sizeof(copy), texts, sizeof(texts) / sizeof(texts[0]));
}

static uint64_t duration(const struct result *result) {
	return event_us(result_wall(result)) * 1000;
}

// Adds the job to the list of the slowest jobs if it belongs there. The list has each job only once, with its longest attempt.
static void note_slow(struct run_stats *stats, const struct event_job_end *end, uint64_t wall) {
	struct event_job_end **slowest = stats->slowest;
	bool is_again = end->id.attempt > 1 || end->id.step > 0;
	size_t i = 0;
	while (i < stats->nslowest && !(is_again && slowest[i]->id.number == end->id.number && strcmp(slowest[i]->id.batch, end->id.batch) == 0)) {
		++i;
	}
	i -= i == STATS_SLOWEST;
	if (i == stats->nslowest) {
		++stats->nslowest;
	} else if (duration(&slowest[i]->result) < wall) {
		free(slowest[i]);
	} else {
		return;
	}
	for (; i > 0 && duration(&slowest[i - 1]->result) < wall; --i) {
		slowest[i] = slowest[i - 1];
	}
	slowest[i] = copy_end(end);
}

// ---- jobs ----

static void count_start(struct run_stats *stats, const struct event_job_start *start, uint64_t at) {
	struct stats_batch *batch = batch_of(stats, start->id.batch);
	struct stats_wait *wait = &batch->waits[start->why];
	batch->first_start = batch->first_start > 0 ? batch->first_start : at;
	batch->last_start = at;
	batch->width = start->nslots;
	++batch->running;
	if (start->queued >= EVENT_WORTH_A_REASON) {
		++wait->times;
		wait->time += start->queued;
		wait->longest = start->queued > wait->longest ? start->queued : wait->longest;
	}
}

static void count_end(struct stats_batch *batch, const struct event_job_end *end) {
	bool failed = outcome_is_failure(end->result.outcome);
	counts_add(&batch->counts, end->result.outcome, end->items);
	batch->up_to_date += end->up_to_date;
	batch->failed_processes += failed;
	batch->allowed += failed && end->allowed;
}

// Extends the time in which attempts of the batch ran. `from` and `to` are the attempt's own times: its events come a little later.
static void widen(struct stats_batch *batch, uint64_t from, uint64_t to) {
	batch->first_start = batch->first_start == 0 || from < batch->first_start ? from : batch->first_start;
	batch->last_end = to > batch->last_end ? to : batch->last_end;
}

// Counts an attempt that ran and has ended.
static void count_attempt(struct run_stats *stats, struct stats_batch *batch, const struct event_job_end *end) {
	uint64_t wall = duration(&end->result), from = in_whole_us(stats, end->result.start);
	widen(batch, from, from + wall);
	++batch->attempts;
	stats->stolen += end->source == FROM_STOLEN;
	if (end->source == FROM_LONG || batch->facts.long_running) {
		batch->long_time += wall;
	} else {
		uint64_t slots = end->nslots > 0 ? end->nslots : 1;
		batch->slot_time += wall <= UINT64_MAX / slots ? wall * slots : UINT64_MAX;
	}
	if (end->id.role == ROLE_JOB) {
		histogram_add(batch->durations, wall);
		note_slow(stats, end, wall);
	}
}

// Adds a loss to the list, or to a listed loss with the same reason: skipped jobs are listed for each batch, cancelled jobs for all batches together.
static void note_loss(struct run_stats *stats, const struct event_lost *lost) {
	bool is_skipped = lost->outcome == OUTCOME_SKIPPED;
	for (size_t i = 0; i < stats->nlosses; ++i) {
		struct event_lost *loss = &stats->losses[i];
		bool is_same_batch = loss->batch && strcmp(loss->batch, lost->batch) == 0;
		if (loss->outcome == lost->outcome && strcmp(loss->why, lost->why) == 0 && (is_same_batch || !is_skipped)) {
			loss->jobs += lost->jobs;
			loss->batch = is_same_batch ? loss->batch : NULL;
			return;
		}
	}
	if (stats->nlosses < STATS_LOSSES) {
		stats->losses[stats->nlosses++] = (struct event_lost){
			.batch = keep(stats, lost->batch), .why = keep(stats, lost->why), .outcome = lost->outcome, .jobs = lost->jobs,
		};
	}
}

static void count_job_end(struct run_stats *stats, const struct event_job_end *end) {
	struct stats_batch *batch = batch_of(stats, end->id.batch);
	bool failed = outcome_is_failure(end->result.outcome);
	stats->counts_items |= end->items > 1;
	if (end->id.slot > 0) { // slot 0: a retry or a step that was announced and never began
		batch->running -= batch->running > 0;
	}
	if (end->result.start > 0) {
		count_attempt(stats, batch, end);
	}
	const struct event_job_start job = {.id = {.batch = end->id.batch, .number = end->id.number}, .command = ""};
	struct running_table *retried = &stats->retried;
	if (end->id.attempt == 2 && end->id.role == ROLE_JOB && !running_find(retried, &job.id)) { // a job counts once, however many steps are retried
		++batch->retried;
		running_add(retried, &job, /* at */ 0);
	}
	// a listing is no job, but counts as a failed one if it fails: the batch lacks the items that it should have listed
	if (end->next != NEXT_NOTHING || !(end->id.role == ROLE_JOB || (end->id.role == ROLE_LISTING && failed))) {
		return;
	}
	free(running_take(retried, &job.id));
	count_end(batch, end);
	if (end->result.outcome == OUTCOME_CANCELLED) {
		note_loss(stats, &(struct event_lost){
			.batch = end->id.batch, .outcome = OUTCOME_CANCELLED, .jobs = end->items,
			.why = end->result.start > 0 ? "cut off while running" : "not started",
		});
	}
	if (failed && stats->nfailures < STATS_FAILURES) {
		stats->failures[stats->nfailures++] = copy_end(end);
	}
}

static struct stats_inner *inner_of(struct run_stats *stats, const struct event_lent *lent) {
	for (size_t i = stats->ninner; i-- > 0;) {
		struct stats_inner *inner = &stats->inner[i];
		if (inner->lent.pid == lent->pid && inner->lent.id.number == lent->id.number && strcmp(inner->lent.id.batch, lent->id.batch) == 0) {
			return inner;
		}
	}
	if (stats->ninner == STATS_INNER) {
		return NULL;
	}
	struct stats_inner *inner = &stats->inner[stats->ninner++];
	*inner = (struct stats_inner){.lent = *lent};
	inner->lent.id.batch = keep(stats, lent->id.batch);
	inner->lent.id.host = NULL;
	inner->lent.to = keep(stats, lent->to);
	return inner;
}

static void count_lent(struct run_stats *stats, const struct event_lent *lent) {
	uint64_t time = lent->end > lent->start ? event_us(lent->end - lent->start) * 1000 : 0;
	struct stats_inner *inner = inner_of(stats, lent);
	++stats->lent;
	stats->lent_time += time;
	if (inner) {
		++inner->times;
		inner->time += time;
		inner->lent.start = lent->start < inner->lent.start ? lent->start : inner->lent.start;
	}
	if (!lent->own) { // `own`: the time is already a part of the time of the attempt, or of an outer nested run
		batch_of(stats, lent->id.batch)->slot_time += time;
	}
}

void stats_on_event(void *arg, const struct event *event) {
	struct run_stats *stats = arg;
	struct stats_batch *batch;
	if (event->kind == EVENT_RUN_START) {
		note_start(stats, &event->u.run_start, event->at);
	}
	uint64_t at = in_whole_us(stats, event->at), longest;
	stats->last = at > stats->last ? at : stats->last;
	switch (event->kind) {
	case EVENT_BATCH_START:
		note_batch(stats, &event->u.batch);
		break;
	case EVENT_JOB_START:
		count_start(stats, &event->u.job_start, at);
		break;
	case EVENT_JOB_END:
		count_job_end(stats, &event->u.job_end);
		break;
	case EVENT_LOST:
		if (event->u.lost.why) {
			note_loss(stats, &event->u.lost);
		}
		counts_add(&batch_of(stats, event->u.lost.batch)->counts, event->u.lost.outcome, event->u.lost.jobs);
		break;
	case EVENT_LENT:
		count_lent(stats, &event->u.lent);
		break;
	case EVENT_SLOTS:
		count_capacity(stats, at);
		note_slots(stats, &event->u.slots, at);
		break;
	case EVENT_RUN_END:
		stats->run_end = event->u.run_end;
		stats->end = at;
		break;
	case EVENT_BATCH_END:
		batch = batch_of(stats, event->u.batch_end.batch);
		longest = event->u.batch_end.longest_wait;
		batch->longest_wait = longest > batch->longest_wait ? longest : batch->longest_wait;
		break;
	default:
		break;
	}
}

uint64_t stats_ended(const struct stats_batch *batch) {
	const struct job_counts *counts = &batch->counts;
	return counts->ok + counts->failed + counts->cancelled + counts->skipped;
}

uint64_t stats_jobs(const struct stats_batch *batch) {
	return stats_ended(batch) + batch->running;
}

const char *stats_machine_name(const struct run_stats *stats, const char *host) {
	return host ? host : stats->run.host ? stats->run.host : "this machine";
}

uint64_t stats_wall(const struct run_stats *stats) {
	uint64_t end = stats->end > 0 ? stats->end : stats->last;
	return u64_minus(end, stats->start);
}

uint64_t stats_end(const struct run_stats *stats) {
	uint64_t end = stats->end > stats->last ? stats->end : stats->last;
	end = stats->total.last_end > end ? stats->total.last_end : end;
	return end > stats->start ? end : stats->start + 1;
}

void stats_add(struct stats_batch *sum, const struct stats_batch *batch) {
	sum->counts.ok += batch->counts.ok;
	sum->counts.failed += batch->counts.failed;
	sum->failed_processes += batch->failed_processes;
	sum->counts.cancelled += batch->counts.cancelled;
	sum->counts.skipped += batch->counts.skipped;
	sum->up_to_date += batch->up_to_date;
	sum->allowed += batch->allowed;
	sum->retried += batch->retried;
	sum->attempts += batch->attempts;
	sum->running += batch->running;
	sum->slot_time += batch->slot_time;
	sum->long_time += batch->long_time;
	sum->share += batch->share;
	sum->longest_wait = batch->longest_wait > sum->longest_wait ? batch->longest_wait : sum->longest_wait;
	sum->max = batch->max > sum->max ? batch->max : sum->max;
	if (batch->first_start > 0) {
		widen(sum, batch->first_start, batch->last_end);
	}
}

bool *stats_largest(const struct run_stats *stats, size_t most, bool with_long) {
	bool *is_chosen = xcalloc(stats->nbatches + 1, sizeof(*is_chosen));
	for (; most > 0; --most) {
		size_t best = stats->nbatches;
		uint64_t most_time = 0;
		for (size_t i = stats->nbatches; i-- > 0;) {
			const struct stats_batch *batch = &stats->batches[i];
			uint64_t time = batch->slot_time + (with_long ? batch->long_time : 0);
			if (!is_chosen[i] && batch->name[0] != '\0' && time >= most_time) {
				best = i;
				most_time = time;
			}
		}
		is_chosen[best] = true; // if no batch is left, `best` is the element behind the last one
	}
	return is_chosen;
}

static int compare_inner(const void *a, const void *b) {
	const struct event_lent *x = &((const struct stats_inner *)a)->lent, *y = &((const struct stats_inner *)b)->lent;
	int by_batch = strcmp(x->id.batch, y->id.batch);
	int by_number = compare_numbers(x->id.number, y->id.number);
	return by_batch ? by_batch : by_number ? by_number : compare_numbers(x->start, y->start);
}

void stats_finish(struct run_stats *stats, uint64_t now) {
	stats->total = (struct stats_batch){.name = NULL};
	for (size_t i = 0; i < stats->nbatches; ++i) {
		struct stats_batch *batch = &stats->batches[i];
		batch->p50 = histogram_median(batch->durations);
		batch->max = batch->durations->max;
		stats_add(&stats->total, batch);
	}
	qsort(stats->inner, stats->ninner, sizeof(stats->inner[0]), compare_inner);
	double slot_time = (double)stats->total.slot_time;
	for (size_t i = 0; i < stats->nbatches; ++i) {
		stats->batches[i].share = slot_time > 0 ? (double)stats->batches[i].slot_time / slot_time : 0;
	}
	count_capacity(stats, in_whole_us(stats, stats->end > 0 ? stats->end : now));
	stats->busy = stats->capacity > 0 ? slot_time / stats->capacity : 0;
	stats->busy = stats->busy > 1 ? 1 : stats->busy;
}

// ---- the table of batches ----

const struct batch_heading batch_headings[BATCH_COLUMNS] = {
	[COLUMN_JOBS] = {"jobs", UNIT_COUNT, false},
	[COLUMN_OK] = {"ok", UNIT_COUNT, false},
	[COLUMN_FAILED] = {"failed", UNIT_COUNT, false},
	[COLUMN_CANCELLED] = {"cancelled", UNIT_COUNT, true},
	[COLUMN_SKIPPED] = {"skipped", UNIT_COUNT, true},
	[COLUMN_RUNNING] = {"running", UNIT_COUNT, true},
	[COLUMN_RETRIED] = {"retried", UNIT_COUNT, false},
	[COLUMN_WALL] = {"wall", UNIT_TIME, false},
	[COLUMN_SLOT_TIME] = {"slot-time", UNIT_TIME, false},
	[COLUMN_BESIDE] = {"beside", UNIT_TIME, true},
	[COLUMN_SHARE] = {"share", UNIT_PERCENT, false},
	[COLUMN_P50] = {"p50", UNIT_TIME, false},
	[COLUMN_MAX] = {"max", UNIT_TIME, false},
	[COLUMN_WAITED] = {"waited", UNIT_TIME, true},
};

bool batch_column_is_shown(enum batch_column column, const struct run_stats *stats) {
	uint64_t value = batch_column_value(column, &stats->total);
	bool has_something = value > 0 && value != NOT_KNOWN;
	bool makes_sense = column == COLUMN_WAITED ? stats->nbatches > 1 : column != COLUMN_RUNNING || stats->end == 0;
	return makes_sense && (has_something || !batch_headings[column].is_optional);
}

static uint64_t known_if(bool is_known, uint64_t value) {
	return is_known ? value : NOT_KNOWN;
}

uint64_t batch_column_value(enum batch_column column, const struct stats_batch *batch) {
	bool has_run = batch->attempts > 0;
	switch (column) {
	case COLUMN_JOBS: return stats_jobs(batch);
	case COLUMN_OK: return batch->counts.ok;
	case COLUMN_FAILED: return batch->counts.failed;
	case COLUMN_CANCELLED: return batch->counts.cancelled;
	case COLUMN_SKIPPED: return batch->counts.skipped;
	case COLUMN_RUNNING: return batch->running;
	case COLUMN_RETRIED: return batch->retried;
	case COLUMN_WALL: return known_if(batch->first_start > 0 && batch->last_end >= batch->first_start, batch->last_end - batch->first_start);
	case COLUMN_SLOT_TIME: return known_if(has_run && (batch->slot_time > 0 || batch->long_time == 0), batch->slot_time);
	case COLUMN_BESIDE: return known_if(batch->long_time > 0, batch->long_time);
	case COLUMN_SHARE: return known_if(batch->slot_time > 0, (uint64_t)(batch->share * 100 + 0.5));
	case COLUMN_P50: return known_if(has_run, batch->p50);
	case COLUMN_MAX: return known_if(has_run, batch->max);
	case COLUMN_WAITED: return known_if(batch->longest_wait > 0, batch->longest_wait);
	case BATCH_COLUMNS: break;
	}
	return NOT_KNOWN;
}
