// Computes the bars of a run's attempts in their lanes, and the share of the slots that each batch had over time.

#include "draw/timeline.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "base/text.h"
#include "base/units.h"

enum { TEXT_COMMAND = 160 }; // bytes of a command that a bar shows

// ---- the first pass ----

static void count_attempt(void *arg, const struct attempt_span *attempt) {
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
	first_pass->attempts = (struct attempts){.fn = count_attempt, .arg = first_pass};
}

void first_pass_on_event(struct first_pass *first_pass, const struct event *event) {
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

// ---- the palette ----

// Okabe and Ito, "Color Universal Design": colours that most people can tell apart, in an order in which neighbours differ most.
static const char *const colours[PALETTE_COLOURS] = {
	"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442",
};

const char *palette_colour(unsigned class) {
	return class < PALETTE_OTHERS ? colours[class % PALETTE_COLOURS] : "#8A8A8A";
}

void palette_init(struct palette *palette, const struct run_stats *stats) {
	*palette = (struct palette){.stats = stats};
	FP_CLEANUP(free_later) bool *is_chosen = stats_largest(stats, PALETTE_OTHERS, /* with_long */ true);
	for (uint32_t i = 0; i < stats->nbatches; ++i) {
		const struct stats_batch *batch = &stats->batches[i];
		palette->class_of[i] = is_chosen[i] ? (unsigned char)palette->nclasses : (unsigned char)PALETTE_OTHERS;
		if (is_chosen[i]) {
			palette->owners[palette->nclasses++] = batch;
		} else {
			palette->nothers += batch->name[0] != '\0' ? 1 : stats->hidden_batches;
		}
	}
}

unsigned palette_class(const struct palette *palette, const char *batch) {
	uint32_t index = stats_find(palette->stats, batch);
	return index == MAP_NONE ? (unsigned)PALETTE_OTHERS : palette->class_of[index];
}

// ---- the timeline ----

// Chooses which attempts are merged: none; or those that are too narrow to be seen, and the shortest if there are too many.
static void choose_shortest(struct timeline *timeline, const struct first_pass *first_pass) {
	if (timeline->group > 1) {
		timeline->shortest = UINT64_MAX; // bars would overlap
	} else if (first_pass->bars > TIMELINE_ALL) {
		uint64_t half_pixel = (timeline->end - timeline->start) / (2 * TIMELINE_WIDTH);
		uint64_t longest = first_pass_longest(first_pass, TIMELINE_BARS);
		timeline->shortest = half_pixel > longest ? half_pixel : longest;
	}
	if (timeline->shortest > 0) {
		timeline->columns = TIMELINE_CELLS / timeline->nlanes;
		timeline->columns = timeline->columns > TIMELINE_WIDTH ? TIMELINE_WIDTH : timeline->columns;
		timeline->cells = xcalloc(timeline->columns * timeline->nlanes, sizeof(*timeline->cells));
	}
}

void timeline_fini(struct timeline *timeline) {
	free(timeline->bars);
	free(timeline->cells);
	free(timeline->lane_ends);
	free(timeline->lane_opens);
	arena_fini(&timeline->texts);
}

double timeline_x(const struct timeline *timeline, uint64_t at) {
	if (at <= timeline->start) {
		return 0;
	}
	double x = (double)(at - timeline->start) / (double)(timeline->end - timeline->start) * TIMELINE_WIDTH;
	return x < TIMELINE_WIDTH ? x : TIMELINE_WIDTH;
}

static unsigned flags_of(const struct attempt_span *attempt) {
	unsigned flags = (attempt->id.attempt > 1 ? BAR_RETRIED : 0U) | (attempt->source == FROM_STOLEN ? BAR_STOLEN : 0U) |
		(attempt->source == FROM_LENT ? BAR_LENT : 0U);
	if (!attempt->end) {
		return flags | BAR_OPEN;
	}
	enum outcome outcome = attempt->end->result.outcome;
	return flags | (outcome == OUTCOME_CANCELLED ? BAR_CANCELLED : outcome != OUTCOME_OK ? BAR_FAILED : 0U);
}

// Adds the time from `from` to `to` to the columns that it touches; a column wholly within it gets `weight`. Returns the last column.
static struct cell *spread(const struct timeline *timeline, struct cell *cells, size_t columns, unsigned class, uint64_t from, uint64_t to,
                           double weight) {
	double scale = (double)columns / TIMELINE_WIDTH, start = timeline_x(timeline, from) * scale, end = timeline_x(timeline, to) * scale;
	size_t column = (size_t)start, last = (size_t)end;
	for (; column < columns && (double)column < end; ++column) {
		double left = start > (double)column ? start : (double)column;
		double right = end < (double)column + 1 ? end : (double)column + 1;
		cells[column].part[class] += (float)((right - left) * weight);
	}
	return &cells[last < columns ? last : columns - 1];
}

// Adds to the strip of shares that the class had `nslots` slots in that time.
static void add_share(struct timeline *timeline, unsigned class, unsigned nslots, uint64_t from, uint64_t to) {
	nslots = nslots < 1 ? 1 : nslots < timeline->slots ? nslots : timeline->slots;
	spread(timeline, timeline->shares, TIMELINE_SHARES, class, from, to, (double)nslots / timeline->slots);
}

static void merge(struct timeline *timeline, unsigned lane, unsigned class, unsigned flags, uint64_t from, uint64_t to) {
	struct cell *cells = &timeline->cells[lane * timeline->columns];
	struct cell *last = spread(timeline, cells, timeline->columns, class, from, to, 1.0 / timeline->group);
	last->failed |= (flags & (BAR_FAILED | BAR_MORE)) == BAR_FAILED;
	timeline->merged += !(flags & BAR_MORE);
}

// Adds the text of a bar. Its lines are: the name, how the attempt ended, its time and its source; what it waited for; the command.
static void add_text(struct buf *buf, const struct attempt_span *attempt) {
	char how[80];
	attempt_add_title(buf, &attempt->id, SIZE_MAX);
	buf_printf(buf, " · %s · ", attempt->end ? result_describe(&attempt->end->result, how, sizeof(how)) : "still running");
	text_add_time(buf, attempt->to - attempt->from);
	if (attempt->id.attempt > 1) {
		buf_printf(buf, " · attempt %u", attempt->id.attempt);
	}
	if (attempt->nslots > 1) {
		buf_printf(buf, " · %u slots", attempt->nslots);
	}
	if (attempt->id.host) {
		buf_adds(buf, " · on ");
		text_add_cut(buf, attempt->id.host, strlen(attempt->id.host), TEXT_BATCH_COLUMNS);
	}
	buf_adds(buf, attempt->source == FROM_STOLEN ? " · stolen" : attempt->source == FROM_LENT ? " · lent" :
	         attempt->source == FROM_LONG ? " · long-running" : attempt->source == FROM_BACKFILL ? " · backfill" : "");
	if (attempt->queued >= EVENT_WORTH_A_REASON) {
		buf_adds(buf, "\nwaited ");
		text_add_time(buf, attempt->queued);
		if (attempt->start) {
			buf_printf(buf, " %s", attempt_waits[attempt->start->why]);
		}
	}
	attempt_add_command(buf, "\n", attempt, TEXT_COMMAND);
}

// Returns the event time since which the slot of the lane, which is in use at `at`, has existed; 0: since the start of the run.
static uint64_t slot_since(const struct timeline *timeline, unsigned lane, uint64_t at) {
	const struct run_stats *stats = timeline->palette->stats;
	unsigned slot = lane - timeline->nslotless + 1;
	if (timeline->attempts.rows) { // the log does not say since when the run has had the machine
		return timeline->lane_ends[lane] == 0 ? at : 0;
	}
	if (lane < timeline->nslotless || timeline->group > 1 || stats->run.slots == 0 || slot <= stats->least_slots) {
		return 0;
	}
	uint64_t since = at; // an attempt may start before the event that announces its slot
	for (size_t i = stats->nchanges; i-- > 0;) {
		const struct stats_slots *change = &stats->changes[i];
		if (change->at <= at && change->slots < slot) {
			return since;
		}
		since = change->at <= at ? change->at : since;
	}
	return stats->run.slots >= slot ? 0 : since;
}

static void add_bar(struct timeline *timeline, struct bar bar, const struct buf *text) {
	bar.text = arena_text(&timeline->texts, buf_str(text), text->len);
	bar.text_len = text->len;
	*NEW_ELEMENT(timeline->bars, timeline->nbars, timeline->bar_cap) = bar;
}

static void add_attempt_bar(struct timeline *timeline, unsigned lane, unsigned class, unsigned flags, const struct attempt_span *attempt) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	add_text(&text, attempt);
	uint64_t queued = u64_minus(attempt->from, attempt->queued);
	uint64_t before = timeline->lane_ends[lane] > timeline->start ? timeline->lane_ends[lane] : timeline->start;
	uint64_t since = slot_since(timeline, lane, attempt->from);
	before = since > before ? since : before;
	uint64_t lead = flags & BAR_MORE ? attempt->from : queued > before ? queued : before;
	bool has_lead = timeline_x(timeline, attempt->from) - timeline_x(timeline, lead) >= TIMELINE_LEAD;
	timeline->seen |= has_lead ? BAR_LEAD : 0U;
	struct bar bar = {
		.lane = lane,
		.class = (unsigned char)class,
		.flags = (unsigned char)flags,
		.from = attempt->from,
		.to = attempt->to,
		.lead = has_lead ? lead : attempt->from,
	};
	add_bar(timeline, bar, &text);
}

// Puts the attempt into a lane, as a bar or merged.
static void put(struct timeline *timeline, unsigned lane, unsigned class, unsigned flags, const struct attempt_span *attempt) {
	if (timeline->shortest > 0 && attempt->to - attempt->from < timeline->shortest) {
		merge(timeline, lane, class, flags, attempt->from, attempt->to);
	} else {
		add_attempt_bar(timeline, lane, class, flags, attempt);
	}
	timeline->lane_ends[lane] = attempt->to;
}

// Puts the other bars of a job of several slots into lanes in which nothing ran meanwhile: the log names only one of the job's slots.
static void put_more(struct timeline *timeline, unsigned own, unsigned class, unsigned flags, const struct attempt_span *attempt) {
	unsigned left = attempt->nslots - 1, lane = timeline->nslotless, end = timeline->nlanes;
	if (timeline->attempts.rows) {
		const struct machine_rows *machine = machines_find(timeline->attempts.rows, attempt->id.host);
		lane += machine->first;
		end = lane + machine->rows < end ? lane + machine->rows : end;
	}
	for (; lane < end && left > 0; ++lane) {
		uint64_t open = timeline->lane_opens[lane];
		if (lane != own && timeline->lane_ends[lane] <= attempt->from && (open == 0 || open >= attempt->to)) {
			put(timeline, lane, class, flags | BAR_MORE, attempt);
			--left;
		}
	}
}

static void add_attempt(void *arg, const struct attempt_span *attempt) {
	struct timeline *timeline = arg;
	unsigned lane = attempt->slotless ? attempt->lane : timeline->nslotless + attempt->lane / timeline->group;
	lane = lane < timeline->nlanes ? lane : timeline->nlanes - 1; // the log has grown since the first pass
	timeline->lane_opens[lane] = attempt->phase == ATTEMPT_STARTED ? attempt->from : 0;
	if (attempt->phase == ATTEMPT_STARTED) {
		return;
	}
	unsigned class = palette_class(timeline->palette, attempt->id.batch), flags = flags_of(attempt);
	if (!attempt->slotless) {
		add_share(timeline, class, attempt->nslots, attempt->from, attempt->to);
	}
	timeline->seen |= flags;
	put(timeline, lane, class, flags, attempt);
	if (!attempt->slotless && attempt->nslots > 1 && timeline->group == 1) {
		put_more(timeline, lane, class, flags, attempt);
	}
}

static void add_inner(struct timeline *timeline, const struct event_lent *lent, unsigned lane, unsigned class) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	markup_add_cut(&text, lent->to, strlen(lent->to), TEXT_COMMAND);
	buf_adds(&text, "\nin ");
	attempt_add_title(&text, &lent->id, SIZE_MAX);
	buf_printf(&text, " · pid %d · had %s slot for ", lent->pid, lent->own ? "the job's" : "a further");
	text_add_time(&text, lent->end - lent->start);
	struct bar bar = {
		.lane = lane,
		.class = (unsigned char)class,
		.flags = BAR_INNER,
		.depth = (unsigned char)(!lent->own ? 0 : lent->depth < UINT8_MAX ? lent->depth : UINT8_MAX),
		.from = lent->start,
		.to = lent->end,
		.lead = lent->start,
	};
	add_bar(timeline, bar, &text);
}

void timeline_on_event(struct timeline *timeline, const struct event *event) {
	const struct event_lent *lent = &event->u.lent;
	attempts_on_event(&timeline->attempts, event);
	if (event->kind != EVENT_LENT || lent->end < lent->start) {
		return;
	}
	unsigned slot = lent->id.slot > 0 ? lent->id.slot - 1 : 0, lane = timeline->nslotless + slot / timeline->group;
	unsigned class = palette_class(timeline->palette, lent->id.batch);
	lane = lane < timeline->nlanes ? lane : timeline->nlanes - 1;
	if (!lent->own) {
		add_share(timeline, class, /* nslots */ 1, lent->start, lent->end);
		timeline->lane_ends[lane] = lent->end;
	}
	timeline->seen |= BAR_INNER;
	if (timeline->shortest == 0 || lent->end - lent->start >= timeline->shortest) {
		add_inner(timeline, lent, lane, class);
	} else if (!lent->own) {
		merge(timeline, lane, class, BAR_MORE, lent->start, lent->end);
	}
}

void timeline_init(struct timeline *timeline, const struct palette *palette, const struct first_pass *first_pass) {
	const struct run_stats *stats = palette->stats;
	const struct attempts *all = &first_pass->attempts;
	*timeline = (struct timeline){.palette = palette, .texts = ARENA_INIT};
	timeline->attempts = (struct attempts){.fn = add_attempt, .arg = timeline, .rows = first_pass->attempts.rows};
	timeline->start = stats->start;
	timeline->end = stats_end(stats);
	unsigned rows = all->rows ? all->rows->rows : all->slots.n;
	timeline->slots = rows > stats->run.slots ? rows : stats->run.slots;
	timeline->slots = timeline->slots ? timeline->slots : 1;
	rows = all->rows ? rows : timeline->slots;
	timeline->group = (rows + TIMELINE_LANES - 1) / TIMELINE_LANES;
	timeline->nslotless = all->slotless.n;
	timeline->nlanes = timeline->nslotless + (rows + timeline->group - 1) / timeline->group;
	choose_shortest(timeline, first_pass);
	timeline->lane_ends = xcalloc(timeline->nlanes, sizeof(*timeline->lane_ends));
	timeline->lane_opens = xcalloc(timeline->nlanes, sizeof(*timeline->lane_opens));
}

uint64_t timeline_tick(const struct timeline *timeline, unsigned most) {
	static const uint32_t seconds[] = {15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400};
	uint64_t span = timeline->end - timeline->start, tick = 1000; // from a microsecond
	for (unsigned step = 0; span / tick >= most && tick < 10 * NS_PER_S; ++step) { // 1, 2, 5, 10 …
		tick = step % 3 == 1 ? tick / 2 * 5 : tick * 2;
	}
	for (size_t i = 0; span / tick >= most && i < sizeof(seconds) / sizeof(seconds[0]); ++i) {
		tick = seconds[i] * NS_PER_S;
	}
	while (span / tick >= most) {
		tick *= 2;
	}
	return tick;
}
