// Writes the table of jobs for the HTML page. A job's row is added when the job ends; if there are many jobs, only some have rows (draw/draw.h).

#include "draw/draw.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

enum { COMMAND_BYTES = 240 };

void rows_init(struct rows *rows, const struct palette *palette, const struct first_pass *first_pass) {
	*rows = (struct rows){.palette = palette, .jobs = first_pass->jobs, .has_machines = first_pass->attempts.rows};
	if (first_pass->jobs > ROWS_ALL) {
		rows->stride = first_pass->jobs / ROWS_SAMPLE;
		rows->slow = first_pass_longest(first_pass, ROWS_SLOWEST);
	}
}

void rows_fini(struct rows *rows) {
	running_table_fini(&rows->unfinished);
	buf_fini(&rows->text);
}

static bool is_wanted(struct rows *rows, const struct event_job_end *end, const struct running_sum *sum) {
	if (rows->stride == 0 || rows->seen++ % rows->stride == 0) {
		return true;
	}
	if ((end->result.outcome != OUTCOME_OK || sum->attempts > 1) && rows->marked++ < ROWS_MARKED) {
		return true;
	}
	return rows->slow > 0 && sum->to - sum->from >= rows->slow;
}

// ---- a row ----

// Adds a cell with the time in seconds, as a number by which the page's script can sort the rows.
static void add_seconds(struct buf *buf, uint64_t ns) {
	buf_printf(buf, "<td class=\"n\">%llu.%03llu</td>", ull(ns / 1000000000), ull(ns / 1000000 % 1000));
}

// Adds the row of a job: its end, the sums over all of its attempts, and the command that the row shows.
static void add_row(struct rows *rows, const struct event_job_end *end, const struct running_sum *sum, const char *command, size_t len) {
	char how[80];
	struct buf *buf = &rows->text;
	const struct run_stats *stats = rows->palette->stats;
	bool fine = end->result.outcome == OUTCOME_OK, bad = !fine && end->result.outcome != OUTCOME_CANCELLED;
	++rows->n;
	buf_printf(buf, "<tr><th scope=\"row\"><i class=\"s s%u\"></i>", palette_class(rows->palette, end->id.batch));
	html_add_job_name(buf, &end->id);
	buf_printf(buf, "</th><td class=\"end%s\">", bad ? " bad" : "");
	markup_add_text(buf, fine ? "ok" : end->why ? end->why : result_describe(&end->result, how, sizeof(how)));
	if (end->id.step > 0 && !fine) {
		buf_printf(buf, " at step %u", end->id.step + 1);
	}
	buf_printf(buf, "%s</td><td class=\"n\">%u</td>", end->allowed ? " (allowed to fail)" : "", sum->attempts);
	buf_printf(buf, end->id.slot > 0 && end->source != FROM_LONG ? "<td class=\"n\">%u</td>" : "<td class=\"n\">–</td>", end->id.slot);
	if (rows->has_machines) {
		buf_adds(buf, "<td>");
		markup_add_text(buf, stats_machine_name(stats, end->id.host));
		buf_adds(buf, "</td>");
	}
	add_seconds(buf, sum->queued);
	add_seconds(buf, u64_minus(sum->from, stats->start));
	add_seconds(buf, sum->to - sum->from);
	add_seconds(buf, sum->cpu);
	buf_printf(buf, "<td class=\"n\">%.1f</td><td class=\"cmd\"><code>", (double)sum->maxrss / 1e6);
	FP_CLEANUP(buf_fini) struct buf cut = BUF_INIT;
	markup_add_cut(&cut, command, len, COMMAND_BYTES);
	markup_add_escaped(buf, buf_str(&cut), cut.len);
	buf_adds(buf, "</code></td></tr>\n");
}

// ---- jobs ----

// Adds the attempt to the sum of the attempts before it.
static void add_attempt(struct running_sum *sum, const struct event_job_end *end) {
	const struct result *result = &end->result;
	uint64_t maxrss = result->maxrss;
	sum->from = sum->attempts > 0 ? sum->from : result->start;
	sum->to = result->end > 0 ? result->end : sum->to;
	sum->to = sum->to > sum->from ? sum->to : sum->from;
	sum->queued += end->queued;
	sum->cpu += result->user + result->sys;
	sum->maxrss = maxrss > sum->maxrss ? maxrss : sum->maxrss;
	sum->attempts = sum->attempts == 0 ? end->id.attempt : sum->attempts + (result->start > 0 && end->id.attempt > 1);
}

void rows_on_event(struct rows *rows, const struct event *event) {
	const struct event_job_end *end = &event->u.job_end;
	if (event->kind != EVENT_JOB_END || end->id.role != ROLE_JOB) {
		return;
	}
	struct event_job_start job = {.id = {.batch = end->id.batch, .number = end->id.number}};
	FP_CLEANUP(free_later) struct running_attempt *before = running_take(&rows->unfinished, &job.id);
	if (!before && end->result.start == 0) {
		return; // the job never ran
	}
	struct running_sum sum = before ? before->so_far : (struct running_sum){0};
	add_attempt(&sum, end);
	bool is_last = end->next == NEXT_NOTHING;
	bool is_own = end->command && (!before || (is_last && end->result.outcome != OUTCOME_OK)); // the command of the failed step, else of the first step
	job.command = is_own ? end->command : before ? before->start.command : "";
	job.command_len = is_own ? end->command_len : before ? before->start.command_len : 0;
	if (is_last && is_wanted(rows, end, &sum)) {
		add_row(rows, end, &sum, job.command, job.command_len);
	}
	struct running_attempt *after = is_last ? NULL : running_add(&rows->unfinished, &job, /* at */ 0);
	if (after) {
		after->so_far = sum;
	}
}

// ---- the table ----

// Appends the sentence that says which jobs have a row.
static void add_choice(struct buf *buf, const struct rows *rows) {
	markup_add_count(buf, rows->n);
	if (rows->stride == 0) {
		buf_adds(buf, rows->n == 1 ? " job that ran" : " jobs that ran");
		return;
	}
	buf_adds(buf, " of the ");
	markup_add_count(buf, rows->jobs);
	buf_printf(buf, " jobs that ran: jobs that failed or were tried again (the first %d), the slowest jobs, and one in ", ROWS_MARKED);
	markup_add_count(buf, rows->stride);
	buf_adds(buf, " of the other jobs. The log has all jobs.");
}

void rows_add(struct buf *buf, const struct rows *rows) {
	enum { MACHINE = 4 }; // the column of the machine, which only runs on several machines have
	static const struct { const char *name; bool number; } heads[] = {
		{"job", false}, {"end", false}, {"attempts", true}, {"slot", true}, {"machine", false}, {"waited, s", true}, {"start, s", true},
		{"time, s", true}, {"CPU, s", true}, {"memory, MB", true}, {"command", false},
	};
	if (rows->n == 0) {
		return;
	}
	buf_adds(buf, "<h2>Jobs</h2>\n<div class=\"scroll\"><table id=\"jobs\">\n<caption>");
	add_choice(buf, rows);
	buf_adds(buf, "</caption>\n<thead><tr>");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); ++i) {
		if (i != MACHINE || rows->has_machines) {
			buf_printf(buf, "<th scope=\"col\"%s>%s</th>", heads[i].number ? " class=\"n\"" : "", heads[i].name);
		}
	}
	buf_adds(buf, "</tr></thead>\n<tbody>\n");
	buf_add(buf, rows->text.data, rows->text.len);
	buf_adds(buf, "</tbody>\n</table></div>\n");
}
