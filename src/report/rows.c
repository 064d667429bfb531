// The jobs of a run, one row each: all of them, or of many those that matter and a sample.

#include "report/rows.h"

#include "base/alloc.h"
#include "report/figures.h"
#include "report/plain.h"

enum { COMMAND_BYTES = 240 };

void rows_init(struct rows *rows, const struct palette *palette, const struct survey *survey) {
	*rows = (struct rows){.palette = palette, .jobs = survey->jobs, .texts = ARENA_INIT};
	if (survey->jobs > ROWS_ALL) {
		rows->stride = survey->jobs / ROWS_SAMPLE;
		rows->slow = survey_longest(survey, ROWS_SLOWEST);
	}
}

void rows_fini(struct rows *rows) {
	free(rows->rows);
	arena_fini(&rows->texts);
	*rows = (struct rows){0};
}

static bool is_wanted(struct rows *rows, const struct attempt *attempt) {
	if (rows->stride == 0 || rows->seen++ % rows->stride == 0) {
		return true;
	}
	if (attempt->end->result.outcome != OUTCOME_OK && rows->failed++ < ROWS_FAILED) {
		return true;
	}
	if (attempt->id.attempt > 1 && rows->retried++ < ROWS_RETRIED) {
		return true;
	}
	return rows->slow > 0 && attempt->to - attempt->from >= rows->slow;
}

void rows_add(void *arg, const struct attempt *attempt) {
	struct rows *rows = arg;
	const struct event_job_end *end = attempt->end;
	if (!end || end->next != NEXT_NOTHING || attempt->id.role != ROLE_JOB || !is_wanted(rows, attempt)) {
		return;
	}
	grow_array(&rows->rows, &rows->cap, rows->n + 1, sizeof(*rows->rows));
	struct row *row = &rows->rows[rows->n++];
	struct buf name = BUF_INIT, command = BUF_INIT;
	plain_add_job(&name, attempt->id.batch, attempt->id.number, attempt->id.seq);
	const char *text = end->command ? end->command : attempt->start ? attempt->start->command : "";
	size_t len = end->command ? end->command_len : attempt->start ? attempt->start->command_len : 0;
	figures_add_cut(&command, text, len, COMMAND_BYTES);
	*row = (struct row){
		.class = (unsigned char)palette_class(rows->palette, attempt->id.batch),
		.allowed = end->allowed,
		.name = arena_text(&rows->texts, name.data, name.len),
		.result = end->result,
		.from = attempt->from,
		.to = attempt->to,
		.queued = attempt->queued,
		.seq = attempt->id.seq,
		.out_bytes = end->out_bytes + end->err_bytes,
		.attempts = attempt->id.attempt,
		.step = attempt->id.step,
		.slot = attempt->beside ? 0 : attempt->id.slot,
		.command = arena_text(&rows->texts, buf_str(&command), command.len),
		.command_len = command.len,
	};
	buf_fini(&name);
	buf_fini(&command);
}
