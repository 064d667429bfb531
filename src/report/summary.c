// Writes the summary of a run: totals, the table of batches, the slowest and the failed jobs, the reasons of waits, and the last line.

#include "report/run_stats.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "report/attempts.h"

enum {
	SLOWEST = 3,            // slowest jobs that are named
	NAME_COLUMNS = 30,
	COMMAND_COLUMNS = 400,  // columns of a failed job's command
	OUTPUT_COLUMNS = 400,   // columns of a line of output
};

static const uint64_t WORTH_A_HINT = 1000000000; // nanoseconds of slot-time

// ---- colours: red failed, yellow a retry or a warning, green ok, bold headings, dim details ----

#define RED "31"
#define YELLOW "33"
#define GREEN "32"
#define BOLD "1"
#define DIM "2"
#define PLAIN ""

// Begins text of that style; does nothing for NULL.
static void colour(struct buf *buf, const struct summary_form *form, const char *style) {
	if (form->colour && style) {
		buf_printf(buf, "\033[%sm", style);
	}
}

FP_PRINTF(4, 5) static void add_coloured(struct buf *buf, const struct summary_form *form, const char *style,
                                         const char *format, ...) {
	colour(buf, form, style);
	BUF_ADD_ARGUMENTS(buf, format);
	colour(buf, form, style ? PLAIN : NULL);
}

// ---- the first line ----

void summary_add_totals(struct buf *buf, const struct run_stats *stats, const struct summary_form *form) {
	const struct stats_batch *total = &stats->total;
	uint64_t jobs = stats_jobs(total);
	buf_printf(buf, "%llu %s%s in ", ull(jobs), stats->counts_items ? "item" : "job", jobs == 1 ? "" : "s");
	text_add_time(buf, stats_wall(stats));
	const char *style = total->counts.ok > 0 && total->counts.failed == 0 ? GREEN : NULL;
	const struct { uint64_t n; const char *what, *style; uint64_t part; const char *part_what; } counts[] = {
		{total->counts.ok, "ok", style, total->up_to_date, "up to date"}, {total->counts.failed, "failed", RED, total->allowed, "allowed to"},
		{total->counts.cancelled, "cancelled", NULL, 0, ""}, {total->counts.skipped, "skipped", NULL, 0, ""},
		{stats->run_end.resumed, "done before", NULL, 0, ""},
	};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
		if (i == 0 || counts[i].n > 0) {
			buf_adds(buf, i == 0 ? ": " : ", ");
			add_coloured(buf, form, counts[i].style, "%llu %s", ull(counts[i].n), counts[i].what);
		}
		if (counts[i].part > 0) {
			buf_printf(buf, " (%llu %s)", ull(counts[i].part), counts[i].part_what);
		}
	}
	buf_adds(buf, stats->run_end.unread ? ", the rest of the input not read" : "");
	if (stats->run_end.signal > 0) {
		const char *name = signal_name(stats->run_end.signal);
		buf_adds(buf, ", ended by ");
		add_coloured(buf, form, YELLOW, "%s%s", name ? "SIG" : "a signal", name ? name : "");
	}
	if (stats->end == 0 && total->running > 0) {
		buf_adds(buf, ", ");
		add_coloured(buf, form, YELLOW, "%llu running when the log ends", ull(total->running));
	} else if (stats->end == 0) {
		buf_adds(buf, ", and the log ends before the run");
	}
	if (stats->run.slots > 0) { // otherwise the number of slots is not known, or the log lacks its first line
		buf_adds(buf, "; ");
		stats_add_slots(buf, stats);
		buf_printf(buf, ", %u%% busy", (unsigned)(stats->busy * 100));
	}
}

// ---- the table ----

enum { NAME = BATCH_COLUMNS }; // the column of the name, which stands first

// The rows are batches; a row that is NULL is the row of the headings, and `others` is shared by the batches without a row of their own.
struct table {
	const struct run_stats *stats;
	const struct stats_batch **rows;
	size_t nrows;
	struct stats_batch others;
	uint64_t nothers;        // how many batches share `others`
	size_t widths[BATCH_COLUMNS + 1];
	bool is_shown[BATCH_COLUMNS];
};

static void fill_table(struct table *table, const struct run_stats *stats) {
	size_t n = stats->nbatches;
	FP_CLEANUP(free_later) bool *is_named = stats_largest(stats, SUMMARY_BATCHES, /* with_long */ false);
	*table = (struct table){.stats = stats, .rows = xcalloc(n + 2, sizeof(*table->rows)), .nrows = 1, .nothers = stats->hidden_batches};
	for (size_t i = 0; i < n; ++i) {
		const struct stats_batch *batch = &stats->batches[i];
		if (is_named[i]) {
			table->rows[table->nrows++] = batch;
			continue;
		}
		stats_add(&table->others, batch);
		table->nothers += batch->name[0] != '\0';
	}
	if (table->nothers > 0) {
		table->others.p50 = NOT_KNOWN; // there is no median of several medians
		table->rows[table->nrows++] = &table->others;
	}
}

static void format_cell(struct buf *buf, const struct table *table, const struct stats_batch *batch, unsigned column) {
	uint64_t value = batch ? batch_column_value((enum batch_column)column, batch) : NOT_KNOWN;
	buf_reset(buf);
	if (!batch) {
		buf_adds(buf, column == NAME ? "batch" : column == COLUMN_JOBS && table->stats->counts_items ? "items" : batch_headings[column].name);
	} else if (column == NAME && batch == &table->others) {
		buf_printf(buf, "(%llu more)", ull(table->nothers));
	} else if (column == NAME) {
		text_add_cut(buf, batch->name, strlen(batch->name), NAME_COLUMNS);
	} else if (value == NOT_KNOWN) {
		buf_addc(buf, '-');
	} else if (batch_headings[column].unit == UNIT_TIME) {
		text_add_time(buf, value);
	} else {
		buf_printf(buf, "%llu%s", ull(value), batch_headings[column].unit == UNIT_PERCENT ? "%" : "");
	}
}

static void measure(struct table *table) {
	FP_CLEANUP(buf_fini) struct buf cell = BUF_INIT;
	for (size_t row = 0; row < table->nrows; ++row) {
		for (unsigned i = 0; i <= NAME; ++i) {
			format_cell(&cell, table, table->rows[row], i);
			size_t width = text_columns(buf_str(&cell), cell.len);
			table->widths[i] = width > table->widths[i] ? width : table->widths[i];
		}
	}
}

// Leaves out columns until the table is no wider than the terminal: first the least informative ones.
static void fit_columns(struct table *table, unsigned width) {
	static const enum batch_column optional[] = {
		COLUMN_RETRIED, COLUMN_WAITED, COLUMN_WALL, COLUMN_P50, COLUMN_SLOT_TIME, COLUMN_MAX, COLUMN_BESIDE, COLUMN_RETRIED, COLUMN_SHARE,
		COLUMN_OK,
	};
	size_t all = table->widths[NAME] + 2;
	for (unsigned i = 0; i < BATCH_COLUMNS; ++i) {
		table->is_shown[i] = batch_column_is_shown((enum batch_column)i, table->stats);
		all += table->is_shown[i] ? table->widths[i] + 2 : 0;
	}
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]) && width > 0 && all > width; ++i) {
		bool is_of_use = i == 0 && table->stats->total.retried > 0; // without retries, COLUMN_RETRIED is of no use
		if (table->is_shown[optional[i]] && !is_of_use) {
			table->is_shown[optional[i]] = false;
			all -= table->widths[optional[i]] + 2;
		}
	}
}

static void add_row(struct buf *buf, const struct table *table, const struct stats_batch *batch, const struct summary_form *form) {
	FP_CLEANUP(buf_fini) struct buf cell = BUF_INIT;
	format_cell(&cell, table, batch, NAME);
	buf_printf(buf, "  %s%*s", cell.data, (int)(table->widths[NAME] - text_columns(cell.data, cell.len)), "");
	for (unsigned i = 0; i < BATCH_COLUMNS; ++i) {
		if (!table->is_shown[i]) {
			continue;
		}
		format_cell(&cell, table, batch, i);
		buf_printf(buf, "  %*s", (int)(table->widths[i] - cell.len), "");
		bool is_marked = batch && (i == COLUMN_FAILED || i == COLUMN_RETRIED) && strcmp(cell.data, "0") != 0;
		if (is_marked) {
			add_coloured(buf, form, i == COLUMN_FAILED ? RED : YELLOW, "%s", cell.data);
		} else {
			buf_add(buf, cell.data, cell.len);
		}
	}
}

static void add_table(struct buf *buf, const struct run_stats *stats, const struct summary_form *form) {
	struct table table;
	fill_table(&table, stats);
	measure(&table);
	fit_columns(&table, form->width);
	for (size_t row = 0; row < table.nrows; ++row) {
		if (row == 0) {
			colour(buf, form, BOLD);
		}
		add_row(buf, &table, table.rows[row], form);
		if (row == 0) {
			colour(buf, form, PLAIN);
		}
		buf_addc(buf, '\n');
	}
	free(table.rows);
}

// ---- the slowest ----

static void add_slowest(struct buf *buf, const struct run_stats *stats, const struct summary_form *form) {
	for (size_t i = 0; i < stats->nslowest && i < SLOWEST; ++i) {
		const struct event_job_end *job = stats->slowest[i];
		size_t from = buf->len;
		buf_adds(buf, i == 0 ? "  slowest: " : "           ");
		text_add_job(buf, job->id.batch, job->id.number, job->id.seq, TEXT_BATCH_COLUMNS);
		buf_addc(buf, ' ');
		text_add_time(buf, result_wall(&job->result));
		size_t taken = text_columns(buf->data + from, buf->len - from) + 2;
		size_t room = form->width > taken ? form->width - taken : form->width == 0 ? COMMAND_COLUMNS : 0;
		if (room > 3 && job->command_len > 0) {
			buf_adds(buf, "  ");
			colour(buf, form, DIM);
			text_add_command(buf, job->command, job->command_len, room);
			colour(buf, form, PLAIN);
		}
		buf_addc(buf, '\n');
	}
}

// ---- what failed ----

static void add_tail(struct buf *buf, const struct event_job_end *job, const struct summary_form *form) {
	const char *end = job->tail + (form->err_seen ? job->tail_out : job->tail_len);
	for (const char *at = job->tail + (form->out_seen ? job->tail_out : 0); at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;
		colour(buf, form, DIM);
		buf_adds(buf, "    | ");
		text_add_output(buf, at, (size_t)(line_end - at), OUTPUT_COLUMNS);
		colour(buf, form, PLAIN);
		buf_addc(buf, '\n');
		at = line_end + (newline != NULL);
	}
}

static void add_host(struct buf *buf, const struct event_job_end *job) {
	if (job->id.host) {
		buf_adds(buf, " on ");
		text_add_cut(buf, job->id.host, strlen(job->id.host), NAME_COLUMNS);
	}
}

static void add_failure(struct buf *buf, const struct event_job_end *job, const struct summary_form *form) {
	char how[80];
	add_coloured(buf, form, RED, "  FAILED ");
	text_add_job(buf, job->id.batch, job->id.number, job->id.seq, TEXT_BATCH_COLUMNS);
	add_host(buf, job);
	buf_adds(buf, ": ");
	if (job->why && (form->table || job->result.lacks_results)) {
		text_add_cut(buf, job->why, strlen(job->why), COMMAND_COLUMNS);
	} else {
		buf_adds(buf, result_describe(&job->result, how, sizeof(how)));
	}
	if (job->items > 1) {
		buf_printf(buf, ", %llu items", ull(job->items));
	}
	stats_add_attempts(buf, &job->id);
	if (job->allowed) {
		buf_adds(buf, ", allowed to");
	}
	if (job->result.start > 0 && job->result.outcome != OUTCOME_SPAWN_ERROR) {
		buf_adds(buf, ", ");
		text_add_time(buf, result_wall(&job->result));
	}
	if (job->command_len > 0) {
		buf_adds(buf, ": ");
		text_add_command(buf, job->command, job->command_len, COMMAND_COLUMNS);
	}
	buf_addc(buf, '\n');
	if (job->tail_len > 0 && !job->why) {
		add_tail(buf, job, form);
	}
}

static void add_failures(struct buf *buf, const struct run_stats *stats, const struct summary_form *form) {
	size_t listed = !form->table && stats->nfailures > SUMMARY_BRIEF ? SUMMARY_BRIEF : stats->nfailures;
	for (size_t i = 0; i < listed; ++i) {
		add_failure(buf, stats->failures[i], form);
	}
	uint64_t failed = stats->total.failed_processes;
	if (failed > listed) {
		add_coloured(buf, form, RED, "  FAILED ");
		buf_printf(buf, "and %llu more\n", ull(failed - listed));
	}
}

// ---- what never started ----

static void add_losses(struct buf *buf, const struct run_stats *stats, const struct summary_form *form) {
	for (size_t i = 0; i < stats->nlosses; ++i) {
		const struct event_lost *loss = &stats->losses[i];
		add_coloured(buf, form, YELLOW, loss->outcome == OUTCOME_SKIPPED ? "  SKIPPED " : "  CANCELLED ");
		if (loss->batch) {
			text_add_cut(buf, loss->batch, strlen(loss->batch), NAME_COLUMNS);
			buf_adds(buf, ": ");
		}
		buf_printf(buf, "%llu job%s: ", ull(loss->jobs), loss->jobs == 1 ? "" : "s");
		text_add_cut(buf, loss->why, strlen(loss->why), COMMAND_COLUMNS);
		buf_addc(buf, '\n');
	}
}

// ---- the reasons of waits (--explain) ----

static void add_wait(struct buf *buf, const struct stats_batch *batch, enum event_why why) {
	const struct stats_wait *wait = &batch->waits[why];
	const char *name = batch->name[0] ? batch->name : "others";
	buf_adds(buf, "  ");
	text_add_cut(buf, name, strlen(name), NAME_COLUMNS);
	buf_printf(buf, ": waited %s: ", attempt_waits[why]);
	if (wait->times > 1) {
		buf_printf(buf, "%llu times, ", ull(wait->times));
		text_add_time(buf, wait->time);
		buf_adds(buf, " in all, ");
	}
	text_add_time(buf, wait->longest);
	buf_adds(buf, wait->times > 1 ? " at most\n" : "\n");
}

void summary_add_reasons(struct buf *buf, const struct run_stats *stats, const struct summary_form *form) {
	for (size_t i = 0; i < stats->nchanges; ++i) {
		const struct stats_slots *change = &stats->changes[i];
		buf_printf(buf, "  slots: %u from ", change->slots);
		text_add_time(buf, u64_minus(change->at, stats->start));
		buf_printf(buf, " on%s", change->why ? ": " : "\n");
		if (change->why) {
			text_add_cut(buf, change->why, strlen(change->why), COMMAND_COLUMNS);
			buf_addc(buf, '\n');
		}
	}
	for (size_t i = 0; i < stats->nbatches; ++i) {
		for (int why = 0; why < NO_WHY; ++why) {
			if (stats->batches[i].waits[why].times > 0) {
				add_wait(buf, &stats->batches[i], (enum event_why)why);
			}
		}
	}
	add_losses(buf, stats, form);
}

// ---- the last line ----

static void add_clause(struct buf *buf, size_t from, const char *unit, uint64_t n, const char *what) {
	if (n > 0) {
		bool is_first = buf->len == from;
		buf_printf(buf, "%s%s%llu %s", is_first ? unit : "; ", is_first ? ": " : "", ull(n), what);
	}
}

// Adds a failed job as "A#7 (signal 9)"; or, for a command that belongs to no item and never ran, the text that says why.
static void add_named(struct buf *buf, const struct event_job_end *job) {
	char how[80];
	text_add_job(buf, job->id.batch, job->id.number, job->id.seq, SIZE_MAX);
	buf_adds(buf, " (");
	if (job->id.number == 0 && job->result.start == 0 && job->tail) {
		text_add_cut(buf, job->tail, job->tail_len, COMMAND_COLUMNS);
	} else {
		buf_printf(buf, "%s%s", job->id.number == 0 ? "args_from: " : "", result_describe(&job->result, how, sizeof(how)));
	}
	add_host(buf, job);
	if (job->items > 1) {
		buf_printf(buf, ", %llu items", ull(job->items));
	}
	buf_addc(buf, ')');
}

void summary_add_last(struct buf *buf, const struct run_stats *stats, bool listed) {
	const struct stats_batch *total = &stats->total;
	const char *unit = stats->counts_items ? "items" : "jobs";
	size_t from = buf->len;
	if (total->counts.failed > 0) {
		buf_printf(buf, "%llu of %llu %s failed", ull(total->counts.failed), ull(stats_ended(total)), unit);
	}
	for (size_t i = 0; i < stats->nfailures && !listed; ++i) {
		buf_adds(buf, i > 0 ? ", " : ": ");
		add_named(buf, stats->failures[i]);
	}
	uint64_t unnamed = total->failed_processes - stats->nfailures;
	if (unnamed > 0 && !listed) {
		buf_printf(buf, " and %llu more%s", ull(unnamed), stats->counts_items ? " processes" : "");
	}
	add_clause(buf, from, unit, total->allowed, "allowed to");
	add_clause(buf, from, unit, total->counts.skipped, "skipped");
	add_clause(buf, from, unit, total->counts.cancelled, "cancelled");
	add_clause(buf, from, unit, total->up_to_date, "up to date");
	if (stats->run_end.unread) {
		buf_printf(buf, "%sthe rest of the input was not read", buf->len == from ? "" : "; ");
	}
	add_clause(buf, from, unit, stats->run_end.resumed, "done before");
}

// ---- the hint ----

static uint64_t overlap(const struct stats_batch *a, const struct stats_batch *b) {
	uint64_t from = a->first_start > b->first_start ? a->first_start : b->first_start;
	uint64_t to = a->last_end < b->last_end ? a->last_end : b->last_end;
	return to > from ? to - from : 0;
}

// Hints at --fair=time if batches got equal turns, but unequal time: one batch had three fifths of the slots' time, its jobs took three
// times as long as the jobs of other batches, and during half of its time another batch had jobs, too.
static void add_hint(struct buf *buf, const struct run_stats *stats, const struct summary_form *form) {
	const struct stats_batch *greedy = NULL, *total = &stats->total;
	for (size_t i = 0; i < stats->nbatches; ++i) {
		greedy = stats->batches[i].share >= 0.6 && stats->batches[i].name[0] != '\0' ? &stats->batches[i] : greedy;
	}
	if (!greedy || stats->run.fair_time || greedy->attempts == total->attempts || stats->busy < 0.5 ||
	    greedy->slot_time < WORTH_A_HINT) {
		return;
	}
	double mean = (double)greedy->slot_time / (double)greedy->attempts;
	double others = (double)(total->slot_time - greedy->slot_time) / (double)(total->attempts - greedy->attempts);
	uint64_t shared = 0;
	for (size_t i = 0; i < stats->nbatches; ++i) {
		uint64_t more = &stats->batches[i] != greedy && stats->batches[i].attempts > 1 ? overlap(greedy, &stats->batches[i]) : 0;
		shared = more > shared ? more : shared;
	}
	if (mean < 3 * others || shared < (greedy->last_end - greedy->first_start) / 2) {
		return;
	}
	buf_adds(buf, "  ");
	add_coloured(buf, form, YELLOW, "hint:");
	buf_adds(buf, " '");
	text_add_cut(buf, greedy->name, strlen(greedy->name), NAME_COLUMNS);
	buf_printf(buf, "' had %u%% of the slots' time with %llu of %llu jobs: slots are shared by turns, not by time; see --fair=time\n",
	           (unsigned)(greedy->share * 100 + 0.5), ull(stats_jobs(greedy)),
	           ull(stats_ended(total)));
}

void summary_add(struct buf *buf, const struct run_stats *stats, const struct summary_form *form) {
	if (form->table) {
		buf_adds(buf, "fairpar: ");
		if (stats->run.name) {
			text_add_cut(buf, stats->run.name, strlen(stats->run.name), NAME_COLUMNS);
			buf_adds(buf, ": ");
		}
		summary_add_totals(buf, stats, form);
		buf_addc(buf, '\n');
		if (stats->nbatches > 0) {
			add_table(buf, stats, form);
		}
		add_slowest(buf, stats, form);
		add_hint(buf, stats, form);
	}
	add_failures(buf, stats, form);
	if (form->table) {
		add_losses(buf, stats, form);
	}
}
