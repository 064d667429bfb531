// Says in one line for each job why it ran when and where it did, or why it did not run, from the events of its run.
//
// The line of a job grows with its attempts and steps, and is given out when the job ends. So memory is needed for the jobs
// between their first start and their end, and for the batches.

#include "report/explain.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "base/units.h"
#include "report/attempts.h"

#include <limits.h>

enum {
	BATCHES_MAX = 1000,     // those that come later share an entry, without a name
	CLAUSES_MAX = 8,        // attempts and steps of a job that its line names
	OTHERS_MAX = 3,         // batches that are named because they had their turns before
};

struct batch_facts {
	char *name;
	uint64_t last_start;    // event time
	uint32_t max_parallel;
	uint64_t skipped, cancelled;
	char *needs;            // what it last waited for, or NULL
	char *place;            // the same of one of its jobs that waited for a machine
	uint64_t reserved;      // ns that its next job has had its turn and waited for slots
	char *skipped_why, *cancelled_why;
};

struct explain {
	char *which_batch;      // or NULL: any
	uint64_t which_number, which_seq; // 0: any
	struct batch_facts *batches;
	size_t nbatches, cap;
	struct batch_facts later_batches; // those beyond BATCHES_MAX, together
	struct map names;
	struct running_table lines; // of jobs between their first start and their end: `at` is the start of the attempt that runs,
	                            // or 0, and so_far.attempts the number of attempts and steps
	struct running_table memory_waits; // jobs that have waited for memory and not started since: `at` is for how long
	struct buf text;
	uint64_t nlines;
};

// ---- which jobs ----

// The number from 1 on in the text, or 0.
static uint64_t number_in(const char *text) {
	long number;
	return parse_number(text, 1, LONG_MAX, &number) == 0 ? (uint64_t)number : 0;
}

static bool is_selected(const struct explain *explain, const struct event_job *id) {
	return (!explain->which_batch || strcmp(explain->which_batch, id->batch) == 0) &&
	       (explain->which_number == 0 || (explain->which_number == id->number && id->role != ROLE_FINALLY)) &&
	       (explain->which_seq == 0 || explain->which_seq == id->seq);
}

struct explain *explain_new(const char *which) {
	struct explain *explain = NEW(struct explain);
	const char *hash = which ? strrchr(which, '#') : NULL;
	if (which && (which[0] == '#' || (!hash && number_in(which) > 0))) {
		explain->which_seq = number_in(which + (which[0] == '#'));
	} else if (which) {
		explain->which_number = hash ? number_in(hash + 1) : 0;
		explain->which_batch = explain->which_number > 0 ? xmemdup(which, (size_t)(hash - which)) : xstrdup(which);
	}
	return explain;
}

struct buf *explain_text(struct explain *explain) {
	return &explain->text;
}

// ---- what is kept ----

static struct batch_facts *facts_of(struct explain *explain, const char *name) {
	uint32_t number = map_get(&explain->names, name, strlen(name));
	if (number != MAP_NONE) {
		return &explain->batches[number];
	}
	if (explain->nbatches >= BATCHES_MAX) {
		return &explain->later_batches;
	}
	grow_array(&explain->batches, &explain->cap, explain->nbatches + 1, sizeof(*explain->batches));
	struct batch_facts *facts = &explain->batches[explain->nbatches];
	*facts = (struct batch_facts){.name = xstrdup(name)};
	map_add(&explain->names, facts->name, strlen(name), (uint32_t)explain->nbatches++);
	return facts;
}

static void set_text(char **text, const char *new) {
	free(*text);
	*text = new ? xstrdup(new) : NULL;
}

// The line of the job, begun if there is none. NULL if there are too many.
static struct running_attempt *line_of(struct explain *explain, const struct event_job *id) {
	static const char *const roles[] = {
		[ROLE_JOB] = "", [ROLE_ON_FAILURE] = " on_failure", [ROLE_FINALLY] = " finally", [ROLE_LISTING] = " listing",
	};
	const struct event_job_start job = {.id = {.batch = id->batch, .number = id->number, .role = id->role}};
	struct running_attempt *line = running_find(&explain->lines, &job.id);
	if (!line && (line = running_add(&explain->lines, &job, /* at */ 0))) {
		bool is_item = id->role != ROLE_FINALLY && id->role != ROLE_LISTING;
		text_add_job(&line->text, id->batch, is_item ? id->number : 0, id->seq, TEXT_BATCH_COLUMNS);
		buf_adds(&line->text, roles[id->role]);
	}
	return line;
}

// Ends a line, with its reason or NULL in so many columns.
static void end_line(struct explain *explain, const char *why, size_t columns) {
	if (why) {
		buf_adds(&explain->text, ": ");
		text_add_cut(&explain->text, why, strlen(why), columns);
	}
	buf_addc(&explain->text, '\n');
	++explain->nlines;
}

// Emits the line, which has been taken out of the table.
static void emit_line(struct explain *explain, struct running_attempt *line) {
	buf_add(&explain->text, buf_str(&line->text), line->text.len);
	end_line(explain, /* why */ NULL, 0);
	buf_fini(&line->text);
	free(line);
}

static void facts_fini(struct batch_facts *facts) {
	free(facts->name);
	free(facts->needs);
	free(facts->place);
	free(facts->skipped_why);
	free(facts->cancelled_why);
}

void explain_free(struct explain *explain) {
	if (!explain) {
		return;
	}
	running_table_fini(&explain->lines);
	running_table_fini(&explain->memory_waits);
	for (size_t i = 0; i < explain->nbatches; ++i) {
		facts_fini(&explain->batches[i]);
	}
	facts_fini(&explain->later_batches);
	free(explain->batches);
	map_fini(&explain->names);
	free(explain->which_batch);
	buf_fini(&explain->text);
	free(explain);
}

// ---- clauses ----

// Appends the conjunction before an attempt or step. Returns false if the line names enough of them.
static bool begin_clause(struct running_attempt *job) {
	++job->so_far.attempts;
	if (job->so_far.attempts > CLAUSES_MAX) {
		if (job->so_far.attempts == CLAUSES_MAX + 1) {
			buf_adds(&job->text, ", then more attempts");
		}
		return false;
	}
	buf_adds(&job->text, job->so_far.attempts > 1 ? ", then " : " ");
	return true;
}

// The other batches that had turns since then.
static void add_others(struct explain *explain, struct buf *text, const char *batch, uint64_t since) {
	size_t n = 0;
	FP_CLEANUP(buf_fini) struct buf names = BUF_INIT;
	for (size_t i = 0; i < explain->nbatches; ++i) {
		const struct batch_facts *other = &explain->batches[i];
		if (other->last_start < since || other->last_start == 0 || strcmp(other->name, batch) == 0) {
			continue;
		}
		if (n++ < OTHERS_MAX) {
			buf_adds(&names, n > 1 ? ", " : "");
			text_add_cut(&names, other->name, strlen(other->name), 30);
		}
	}
	if (n > OTHERS_MAX) {
		buf_printf(&names, " and %zu more", n - OTHERS_MAX);
	}
	if (n > 0) {
		buf_printf(text, " (%s had theirs before)", names.data);
	} else if (facts_of(explain, batch)->last_start >= since) {
		buf_adds(text, " (others of its batch were before it)");
	}
}

// Appends for how long the job that starts waited for memory, if that is not what it waited for most.
static void add_memory_wait(struct explain *explain, struct buf *text, const struct event_job_start *start) {
	struct running_attempt *wait = running_take(&explain->memory_waits,
	                                            &(struct event_job){.batch = start->id.batch, .number = start->id.number});
	if (wait && text && start->why != WHY_MEMORY && wait->at >= EVENT_WORTH_A_REASON) {
		buf_adds(text, ", ");
		text_add_time(text, wait->at);
		buf_adds(text, " of it for memory");
	}
	free(wait);
}

static void add_wait(struct explain *explain, struct buf *text, const struct event_job_start *start, uint64_t at) {
	const struct batch_facts *facts = facts_of(explain, start->id.batch);
	const char *what = start->why == WHY_NEEDS ? facts->needs : start->why == WHY_HOST ? facts->place : NULL;
	if (start->queued < EVENT_WORTH_A_REASON) {
		return;
	}
	buf_adds(text, start->why == WHY_RETRY ? "paused for " : "waited ");
	text_add_time(text, start->queued);
	if (what) {
		buf_adds(text, " for ");
		text_add_cut(text, what, strlen(what), start->why == WHY_NEEDS ? 60 : 80);
	} else if (start->why == WHY_LIMIT && facts->max_parallel > 0) {
		buf_printf(text, ", for its batch runs at most %u at once", (unsigned)facts->max_parallel);
	} else if (start->why == WHY_RESERVE) {
		buf_printf(text, " for %u slots to be free at once", start->nslots);
	} else if (start->why == WHY_TURN && start->source == FROM_LONG) {
		buf_adds(text, " for its start");
	} else {
		buf_printf(text, " %s", attempt_waits[start->why]);
	}
	if (start->why == WHY_TURN && start->source != FROM_LONG) {
		add_others(explain, text, start->id.batch, minus(at, start->queued));
	}
	uint64_t turn = minus(start->queued, facts->reserved);
	bool is_reserve = start->why == WHY_RESERVE;
	if (start->nslots > 1 && (is_reserve || start->why == WHY_TURN) && (is_reserve ? turn : facts->reserved) >= EVENT_WORTH_A_REASON) {
		buf_adds(text, ", ");
		text_add_time(text, is_reserve ? turn : facts->reserved);
		buf_printf(text, is_reserve ? " of it for its turn" : " of it for %u slots to be free at once", start->nslots);
	}
	add_memory_wait(explain, text, start);
	buf_adds(text, ", then ");
}

static void add_place(struct buf *text, const struct event_job_start *start) {
	static const char *const sources[] = {
		[FROM_OWN] = " (from the list of its worker)",
		[FROM_STOLEN] = " (stolen from another worker)",
		[FROM_QUEUE] = "",
		[FROM_LENT] = " (lent to it)",
		[FROM_LONG] = "",
		[FROM_BACKFILL] = " (while a job waited for several slots)",
	};
	if (start->source == FROM_LONG) {
		buf_adds(text, "ran beside the slots");
	} else if (start->nslots > 1) {
		buf_printf(text, "ran on %u slots", start->nslots);
	} else {
		buf_printf(text, "ran in slot %u", start->id.slot);
	}
	buf_adds(text, sources[start->source]);
	if (start->warm && strcmp(start->warm, "yes") != 0) {
		buf_adds(text, " (warm: ");
		text_add_cut(text, start->warm, strlen(start->warm), SIZE_MAX);
		buf_addc(text, ')');
	}
}

static void add_start(struct explain *explain, const struct event_job_start *start, uint64_t at) {
	const struct event_job *id = &start->id;
	struct running_attempt *job = is_selected(explain, id) ? line_of(explain, id) : NULL;
	if (job) {
		job->at = at;
		if (begin_clause(job)) {
			add_wait(explain, &job->text, start, at);
			if (start->pid > 0 || start->id.slot > 0) {
				add_place(&job->text, start);
			}
		}
	}
	add_memory_wait(explain, /* text */ NULL, start); // of one whose line does not name it
	struct batch_facts *facts = facts_of(explain, id->batch);
	facts->last_start = at;
	facts->reserved = 0;
}

static void add_end(struct explain *explain, const struct event_job_end *end) {
	char how[80];
	struct running_attempt *job = is_selected(explain, &end->id) ? line_of(explain, &end->id) : NULL;
	if (!job) {
		return;
	}
	bool is_named = job->so_far.attempts <= CLAUSES_MAX || end->next == NEXT_NOTHING;
	if (end->up_to_date) {
		buf_adds(&job->text, " had nothing to do: what it creates was there");
	} else if (is_named) {
		if (job->at == 0 && end->result.start > 0) { // its start is not in the log
			buf_adds(&job->text, " ran");
		}
		if (end->result.start > 0 && end->result.outcome != OUTCOME_SPAWN_ERROR) {
			buf_adds(&job->text, " for ");
			text_add_time(&job->text, end->result.end - end->result.start);
		}
		const char *why = end->why ? end->why : result_describe(&end->result, how, sizeof(how));
		buf_adds(&job->text, ": ");
		text_add_cut(&job->text, why, strlen(why), SIZE_MAX);
		if (end->allowed) {
			buf_adds(&job->text, ", allowed to");
		}
	}
	job->at = 0;
	if (end->next == NEXT_NOTHING) {
		emit_line(explain, running_take(&explain->lines, &job->start.id));
	}
}

static void count_lost(struct explain *explain, const struct event_lost *lost) {
	struct batch_facts *facts = facts_of(explain, lost->batch);
	bool skipped = lost->outcome == OUTCOME_SKIPPED;
	*(skipped ? &facts->skipped : &facts->cancelled) += lost->jobs;
	if (lost->why) {
		set_text(skipped ? &facts->skipped_why : &facts->cancelled_why, lost->why);
	}
}

// Said where no job is asked for.
static void add_slots(struct explain *explain, const struct event_slots *slots) {
	if (explain->which_seq == 0 && !explain->which_batch) {
		buf_printf(&explain->text, "slots: %u from now on", slots->slots);
		end_line(explain, slots->why, 60);
	}
}

void explain_on_event(void *arg, const struct event *event) {
	struct explain *explain = arg;
	const struct event_wait *wait = &event->u.wait;
	switch (event->kind) {
	case EVENT_BATCH_START:
		facts_of(explain, event->u.batch.batch)->max_parallel = event->u.batch.max_parallel;
		break;
	case EVENT_JOB_START:
		add_start(explain, &event->u.job_start, event->at);
		break;
	case EVENT_JOB_END:
		add_end(explain, &event->u.job_end);
		break;
	case EVENT_LOST:
		count_lost(explain, &event->u.lost);
		break;
	case EVENT_SLOTS:
		add_slots(explain, &event->u.slots);
		break;
	case EVENT_WAIT:
		if (wait->batch && (wait->why == WHY_NEEDS || wait->why == WHY_HOST)) {
			struct batch_facts *facts = facts_of(explain, wait->batch);
			set_text(wait->why == WHY_NEEDS ? &facts->needs : &facts->place, wait->what);
		}
		break;
	case EVENT_WAIT_END:
		if (wait->why == WHY_RESERVE && wait->batch && event->at > wait->since) {
			facts_of(explain, wait->batch)->reserved = event->at - wait->since;
		} else if (wait->why == WHY_MEMORY && wait->batch && wait->number > 0) {
			const struct event_job_start job = {.id = {.batch = wait->batch, .number = wait->number}, .command = ""};
			running_add(&explain->memory_waits, &job, minus(event->at, wait->since));
		}
		break;
	default:
		break;
	}
}

// ---- the end ----

static void add_lost(struct explain *explain, const struct batch_facts *facts, uint64_t n, const char *what, const char *why) {
	if (n == 0) {
		return;
	}
	text_add_cut(&explain->text, facts->name, strlen(facts->name), 60);
	buf_printf(&explain->text, ": %llu job%s %s before %s start", ull(n), n == 1 ? " was" : "s were", what,
	           n == 1 ? "its" : "their");
	end_line(explain, why, 200);
}

uint64_t explain_finish(struct explain *explain, uint64_t now) {
	for (struct running_attempt *job; (job = running_take_any(&explain->lines));) {
		if (job->at > 0) {
			buf_adds(&job->text, ", and has run for ");
			text_add_time(&job->text, minus(now, job->at));
			buf_adds(&job->text, " when the log ends");
		} else {
			buf_adds(&job->text, ", and was to go on when it was cancelled");
		}
		emit_line(explain, job);
	}
	bool is_answered = explain->nlines > 0 && (explain->which_number > 0 || explain->which_seq > 0);
	for (size_t i = 0; i < explain->nbatches && !is_answered; ++i) {
		const struct batch_facts *facts = &explain->batches[i];
		if (explain->which_seq == 0 && (!explain->which_batch || strcmp(explain->which_batch, facts->name) == 0)) {
			add_lost(explain, facts, facts->skipped, "skipped", facts->skipped_why);
			add_lost(explain, facts, facts->cancelled, "cancelled", facts->cancelled_why);
		}
	}
	return explain->nlines;
}
