// Collects a table of the run's jobs, one row each: all jobs, or those that matter and a sample of the others.

#include "draw/draw.h"

#include "base/alloc.h"
#include "base/text.h"

enum { COMMAND_BYTES = 240 };

void rows_init(struct rows *rows, const struct palette *palette, const struct first_pass *first_pass) {
	*rows = (struct rows){.palette = palette, .jobs = first_pass->jobs, .texts = ARENA_INIT};
	if (first_pass->jobs > ROWS_ALL) {
		rows->stride = first_pass->jobs / ROWS_SAMPLE;
		rows->slow = first_pass_longest(first_pass, ROWS_SLOWEST);
	}
}

void rows_fini(struct rows *rows) {
	free(rows->rows);
	running_table_fini(&rows->unfinished);
	arena_fini(&rows->texts);
}

static bool is_wanted(struct rows *rows, const struct row *row) {
	if (rows->stride == 0 || rows->seen++ % rows->stride == 0) {
		return true;
	}
	if ((row->result.outcome != OUTCOME_OK || row->attempts > 1) && rows->marked++ < ROWS_MARKED) {
		return true;
	}
	return rows->slow > 0 && row->to - row->from >= rows->slow;
}

// What all attempts at all steps were so far, but for the texts.
static struct row sum_up(const struct event_job_end *end, const struct running_attempt *before) {
	const struct result *result = &end->result;
	struct row row = {
		.allowed = end->allowed,
		.result = *result,
		.from = before ? before->at : result->start,
		.to = result->end > 0 ? result->end : before ? before->so_far.end : 0,
		.queued = end->queued + (before ? before->start.queued : 0),
		.cpu = timeval_ns(result->usage.ru_utime) + timeval_ns(result->usage.ru_stime) + (before ? before->so_far.cpu : 0),
		.maxrss = (uint64_t)result->usage.ru_maxrss * 1024,
		.attempts = before ? before->so_far.attempts + (result->start > 0 && end->id.attempt > 1) : end->id.attempt,
		.step = end->id.step,
		.slot = end->source == FROM_LONG ? 0 : end->id.slot,
	};
	row.maxrss = before && before->so_far.maxrss > row.maxrss ? before->so_far.maxrss : row.maxrss;
	row.to = row.to > row.from ? row.to : row.from;
	return row;
}

// The job goes on: keeps what it was so far.
static void keep(struct rows *rows, const struct event_job *id, const struct row *row) {
	struct event_job_start start = {
		.id = {.batch = id->batch, .number = id->number}, .queued = row->queued, .command = row->command, .command_len = row->command_len,
	};
	struct running_attempt *kept = running_add(&rows->unfinished, &start, row->from);
	if (kept) {
		kept->so_far = (struct running_sum){.end = row->to, .cpu = row->cpu, .maxrss = row->maxrss, .attempts = row->attempts};
	}
}

// Adds the row, whose texts are borrowed.
static void add(struct rows *rows, const struct event_job_end *end, struct row row) {
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT, command = BUF_INIT;
	text_add_job(&name, end->id.batch, end->id.number, end->id.seq, SIZE_MAX);
	markup_add_cut(&command, row.command, row.command_len, COMMAND_BYTES);
	row.class = (unsigned char)palette_class(rows->palette, end->id.batch);
	row.name = arena_text(&rows->texts, name.data, name.len);
	row.host = end->id.host ? arena_text(&rows->texts, end->id.host, strlen(end->id.host)) : NULL;
	row.why = end->why ? arena_text(&rows->texts, end->why, strlen(end->why)) : NULL;
	row.command = arena_text(&rows->texts, buf_str(&command), command.len);
	row.command_len = command.len;
	grow_array(&rows->rows, &rows->cap, rows->n + 1, sizeof(*rows->rows));
	rows->rows[rows->n++] = row;
}

void rows_on_event(void *arg, const struct event *event) {
	struct rows *rows = arg;
	const struct event_job_end *end = &event->u.job_end;
	if (event->kind != EVENT_JOB_END || end->id.role != ROLE_JOB) {
		return;
	}
	FP_CLEANUP(free_later) struct running_attempt *before =
		running_take(&rows->unfinished, &(struct event_job){.batch = end->id.batch, .number = end->id.number});
	if (!before && end->result.start == 0) {
		return; // it never ran
	}
	struct row row = sum_up(end, before);
	bool is_last = end->next == NEXT_NOTHING;
	bool is_own = end->command && (!before || (is_last && end->result.outcome != OUTCOME_OK)); // of the step that failed, else of the first
	row.command = is_own ? end->command : before ? before->start.command : "";
	row.command_len = is_own ? end->command_len : before ? before->start.command_len : 0;
	if (!is_last) {
		keep(rows, &end->id, &row);
	} else if (is_wanted(rows, &row)) {
		add(rows, end, row);
	}
}
