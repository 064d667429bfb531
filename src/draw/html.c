// Writes a run as one HTML page that needs no other file: the drawing, the batches, the failed jobs, and all jobs.

#include "draw/draw.h"

#include "base/alloc.h"
#include "base/text.h"

// The script compares the texts of cells, also those of numbers: therefore all numbers of a column have the same number of decimals.
// "openssl dgst -sha256 -binary src/draw/html.js | openssl base64" prints this hash.
const char html_script_hash[] = "sha256-YoEr78g1m1dr9wQ/8iSyxgn9UMOpiRUWoVb4UBXu1ao=";

static void add_head(struct buf *buf, const struct run_stats *stats) {
	buf_printf(buf, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
	           "script-src '%s'; base-uri 'none'; form-action 'none'\">\n"
	           "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	           "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"fairpar\">\n<title>",
	           html_script_hash);
	svg_add_title(buf, stats);
	buf_adds(buf, "</title>\n<style>");
	buf_adds(buf, html_css);
	buf_adds(buf, "</style>\n</head>\n<body>\n");
}

// Adds the command line; a word that is empty, or has blanks or special characters of a shell, stands in quotes.
static void add_argv(struct buf *buf, const struct run_stats *stats) {
	const char *word = stats->run.argv;
	for (uint32_t i = 0; i < stats->run.nargv; ++i, word += strlen(word) + 1) {
		const char *quote = *word == '\0' || strpbrk(word, " \t\n|&;<>()$\"'*?") ? "&#39;" : "";
		buf_printf(buf, "%s%s", i > 0 ? " " : "", quote);
		markup_add_text(buf, word);
		buf_adds(buf, quote);
	}
}

// Begins a fact, which is a name with a value. The caller then adds the value and END_FACT.
static void begin_fact(struct buf *buf, const char *name) {
	buf_printf(buf, "<div><dt>%s</dt><dd>", name);
}

#define END_FACT "</dd></div>\n"

static void add_facts(struct buf *buf, const struct run_stats *stats) {
	const struct stats_batch *total = &stats->total;
	const struct { const char *name; uint64_t n; bool is_always; } counts[] = {
		{stats->counts_items ? "items" : "jobs", stats_jobs(total), true}, {"ok", total->counts.ok, true}, {"failed", total->counts.failed, true},
		{"cancelled", total->counts.cancelled, false}, {"skipped", total->counts.skipped, false}, {"retried", total->retried, false},
		{"done before", stats->run_end.resumed, false}, {"up to date", total->up_to_date, false}, {"stolen", stats->stolen, false},
	};
	buf_adds(buf, "<dl class=\"facts\">\n");
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
		bool is_link = counts[i].n > 0 && strcmp(counts[i].name, "failed") == 0;
		if (counts[i].n > 0 || counts[i].is_always) {
			begin_fact(buf, counts[i].name);
			buf_adds(buf, is_link ? "<a class=\"bad\" href=\"#failed\">" : "");
			markup_add_count(buf, counts[i].n);
			buf_adds(buf, is_link ? "</a>" END_FACT : END_FACT);
		}
	}
	if (stats->lent > 0) {
		begin_fact(buf, "lent to runs in jobs");
		markup_add_count(buf, stats->lent);
		buf_adds(buf, "&nbsp;× · ");
		text_add_time(buf, stats->lent_time);
		buf_adds(buf, END_FACT);
	}
	begin_fact(buf, "time");
	text_add_time(buf, stats_wall(stats));
	buf_adds(buf, END_FACT);
	if (stats->run.slots > 0) { // otherwise the number of slots is not known, or the log lacks its first line
		begin_fact(buf, "slots");
		buf_printf(buf, stats->least_slots < stats->most_slots ? "%u to %u" END_FACT : "%u" END_FACT, stats->least_slots, stats->most_slots);
		begin_fact(buf, "busy");
		buf_printf(buf, "%u%%" END_FACT, (unsigned)(stats->busy * 100));
	}
	buf_adds(buf, "</dl>\n");
}

static void add_header(struct buf *buf, const struct run_stats *stats) {
	buf_adds(buf, "<header>\n<h1>");
	svg_add_title(buf, stats);
	buf_adds(buf, "</h1>\n");
	if (stats->run.nargv > 0) {
		buf_adds(buf, "<code class=\"dim\">");
		add_argv(buf, stats);
		buf_adds(buf, "</code>\n");
	}
	if (stats->end == 0) {
		buf_adds(buf, "<p class=\"bad\">The log ends before the run did: fairpar was killed, or still runs.</p>\n");
	}
	add_facts(buf, stats);
	buf_adds(buf, "</header>\n");
}

// ---- batches, as in the summary (report/summary.c) ----

static void add_count_cell(struct buf *buf, uint64_t n, const char *class) {
	buf_printf(buf, "<td class=\"%s\">", class);
	markup_add_count(buf, n);
	buf_adds(buf, "</td>");
}

static void add_time_cell(struct buf *buf, uint64_t ns) {
	buf_adds(buf, "<td class=\"n\">");
	if (ns != NOT_KNOWN) {
		text_add_time(buf, ns);
	} else {
		buf_adds(buf, "–");
	}
	buf_adds(buf, "</td>");
}

static void add_batch_cell(struct buf *buf, enum batch_column column, const struct stats_batch *batch, unsigned class) {
	uint64_t value = batch_column_value(column, batch);
	switch (batch_headings[column].unit) {
	case UNIT_COUNT:
		add_count_cell(buf, value, column == COLUMN_FAILED && value > 0 ? "n bad" : "n");
		break;
	case UNIT_TIME:
		add_time_cell(buf, value);
		break;
	case UNIT_PERCENT:
		if (value == NOT_KNOWN) {
			buf_adds(buf, "<td class=\"n\">–<span class=\"share\"></span></td>");
		} else {
			buf_printf(buf, "<td class=\"n\">%u%%<span class=\"share\"><b class=\"s%u\" style=\"width:%.1f%%\"></b></span></td>",
			           (unsigned)value, class, batch->share * 100);
		}
		break;
	}
}

// True if the page has the column. The page has the columns of the summary except the last.
static bool has_column(unsigned column, const struct run_stats *stats) {
	return column != COLUMN_WAITED && batch_column_is_shown((enum batch_column)column, stats);
}

static void add_batch(struct buf *buf, const struct palette *palette, size_t index) {
	const struct run_stats *stats = palette->stats;
	const struct stats_batch *batch = &stats->batches[index];
	unsigned class = palette->class_of[index];
	buf_printf(buf, "<tr><th scope=\"row\"><i class=\"s s%u\"></i>", class);
	if (batch->name[0] != '\0') {
		markup_add_name(buf, batch->name, SIZE_MAX);
	} else {
		markup_add_count(buf, stats->hidden_batches);
		buf_adds(buf, " more");
	}
	buf_adds(buf, "</th>");
	for (unsigned column = 0; column < BATCH_COLUMNS; ++column) {
		if (has_column(column, stats)) {
			add_batch_cell(buf, (enum batch_column)column, batch, class);
		}
	}
	buf_adds(buf, "</tr>\n");
}

// Adds the row of all batches together: it has no share, and no median.
static void add_total(struct buf *buf, const struct run_stats *stats) {
	buf_adds(buf, "<tfoot><tr><th scope=\"row\">all</th>");
	for (unsigned column = 0; column < BATCH_COLUMNS; ++column) {
		if (column == COLUMN_SHARE || column == COLUMN_P50) {
			buf_adds(buf, "<td></td>");
		} else if (has_column(column, stats)) {
			add_batch_cell(buf, (enum batch_column)column, &stats->total, /* class */ 0);
		}
	}
	buf_adds(buf, "</tr></tfoot>\n");
}

static void add_batches(struct buf *buf, const struct palette *palette) {
	const struct run_stats *stats = palette->stats;
	buf_adds(buf, "<h2>Batches</h2>\n<div class=\"scroll\"><table id=\"batches\">\n<thead><tr><th scope=\"col\">batch</th>");
	for (unsigned column = 0; column < BATCH_COLUMNS; ++column) {
		if (has_column(column, stats)) {
			buf_printf(buf, "<th scope=\"col\" class=\"n\">%s</th>", batch_headings[column].name);
		}
	}
	buf_adds(buf, "</tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < stats->nbatches; ++i) {
		add_batch(buf, palette, i);
	}
	buf_adds(buf, "</tbody>\n");
	if (stats->nbatches > 1) {
		add_total(buf, stats);
	}
	buf_adds(buf, "</table></div>\n");
}

// ---- jobs by name ----

void html_add_job_name(struct buf *buf, const struct event_job *id) {
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	text_add_job(&name, id->batch, id->number, id->seq, SIZE_MAX);
	markup_add_escaped(buf, buf_str(&name), name.len);
}

static void add_failure(struct buf *buf, const struct event_job_end *job) {
	char how[80];
	buf_adds(buf, "<article>\n<p><strong>");
	html_add_job_name(buf, &job->id);
	buf_adds(buf, "</strong> <span class=\"bad\">");
	markup_add_text(buf, job->why ? job->why : result_describe(&job->result, how, sizeof(how)));
	buf_adds(buf, "</span>");
	if (job->id.host) {
		buf_adds(buf, " on ");
		markup_add_text(buf, job->id.host);
	}
	stats_add_attempts(buf, &job->id);
	if (job->result.start > 0) {
		buf_adds(buf, ", ");
		text_add_time(buf, result_wall(&job->result));
	}
	buf_printf(buf, "%s</p>\n<code>", job->allowed ? " <span class=\"dim\">(allowed to fail)</span>" : "");
	markup_add_escaped(buf, job->command ? job->command : "", job->command_len);
	buf_adds(buf, "</code>\n");
	if (job->tail_len > 0) {
		buf_adds(buf, "<pre>");
		markup_add_output(buf, job->tail, job->tail_len);
		buf_adds(buf, "</pre>\n");
	}
	buf_adds(buf, "</article>\n");
}

static void add_failures(struct buf *buf, const struct run_stats *stats) {
	if (stats->nfailures == 0) {
		return;
	}
	buf_adds(buf, "<h2 id=\"failed\">Failed</h2>\n");
	for (size_t i = 0; i < stats->nfailures; ++i) {
		add_failure(buf, stats->failures[i]);
	}
	uint64_t failed = stats->total.failed_processes;
	if (failed > stats->nfailures) {
		buf_adds(buf, "<p class=\"dim\">… and ");
		markup_add_count(buf, failed - stats->nfailures);
		buf_adds(buf, " more.</p>\n");
	}
}

static void add_losses(struct buf *buf, const struct run_stats *stats) {
	buf_adds(buf, stats->nlosses > 0 ? "<h2>Not run</h2>\n" : "");
	for (size_t i = 0; i < stats->nlosses; ++i) {
		const struct event_lost *loss = &stats->losses[i];
		buf_adds(buf, "<p>");
		if (loss->batch) {
			buf_adds(buf, "<strong>");
			markup_add_name(buf, loss->batch, SIZE_MAX);
			buf_adds(buf, "</strong> ");
		}
		markup_add_count(buf, loss->jobs);
		buf_printf(buf, " job%s %s: ", loss->jobs == 1 ? "" : "s", outcome_names[loss->outcome]);
		markup_add_text(buf, loss->why);
		buf_adds(buf, "</p>\n");
	}
}

// Lists the runs in jobs; the runs in one job stand together.
static void add_inner(struct buf *buf, const struct palette *palette) {
	const struct run_stats *stats = palette->stats;
	if (stats->ninner == 0) {
		return;
	}
	buf_adds(buf, "<h2>Runs in jobs</h2>\n<div class=\"scroll\"><table id=\"inner\">\n<caption>Slots that were lent to these runs");
	buf_adds(buf, stats->ninner == STATS_INNER ? "; only the first runs are listed, the log has all runs" : "");
	buf_adds(buf, "</caption>\n<thead><tr><th scope=\"col\">job</th><th scope=\"col\">run</th><th scope=\"col\" class=\"n\">slots</th>"
	         "<th scope=\"col\" class=\"n\">time on the slots</th></tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < stats->ninner; ++i) {
		const struct stats_inner *inner = &stats->inner[i];
		const struct event_lent *lent = &inner->lent;
		buf_printf(buf, "<tr><th scope=\"row\"><i class=\"s s%u\"></i>", palette_class(palette, lent->id.batch));
		html_add_job_name(buf, &lent->id);
		buf_adds(buf, "</th><td class=\"cmd\"><code>");
		for (unsigned depth = 1; depth < lent->depth && depth < 9; ++depth) {
			buf_adds(buf, "↳ ");
		}
		markup_add_text(buf, lent->to);
		buf_adds(buf, "</code></td>");
		add_count_cell(buf, inner->times, "n");
		add_time_cell(buf, inner->time);
		buf_adds(buf, "</tr>\n");
	}
	buf_adds(buf, "</tbody>\n</table></div>\n");
}

static void add_slowest(struct buf *buf, const struct palette *palette) {
	const struct run_stats *stats = palette->stats;
	if (stats->nslowest == 0) {
		return;
	}
	buf_adds(buf, "<h2>Slowest</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">job</th>"
	         "<th scope=\"col\" class=\"n\">time</th><th scope=\"col\">command</th></tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < stats->nslowest; ++i) {
		const struct event_job_end *job = stats->slowest[i];
		buf_printf(buf, "<tr><th scope=\"row\"><i class=\"s s%u\"></i>", palette_class(palette, job->id.batch));
		html_add_job_name(buf, &job->id);
		buf_adds(buf, "</th>");
		add_time_cell(buf, result_wall(&job->result));
		buf_adds(buf, "<td class=\"cmd\"><code>");
		markup_add_escaped(buf, job->command ? job->command : "", job->command_len);
		buf_adds(buf, "</code></td></tr>\n");
	}
	buf_adds(buf, "</tbody>\n</table></div>\n");
}

static void add_footer(struct buf *buf, const struct run_stats *stats) {
	buf_adds(buf, "<footer>fairpar");
	const struct { const char *before, *text; } facts[] = {
		{" ", stats->run.version}, {" on ", stats->run.host}, {" in ", stats->run.cwd}, {", run ", stats->run.run},
	};
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); ++i) {
		if (facts[i].text && facts[i].text[0] != '\0') {
			buf_adds(buf, facts[i].before);
			markup_add_text(buf, facts[i].text);
		}
	}
	buf_printf(buf, "; batches took turns by %s</footer>\n", stats->run.fair_time ? "time" : "jobs");
}

void html_draw(struct buf *buf, const struct timeline *timeline, const struct rows *rows) {
	const struct palette *palette = timeline->palette;
	add_head(buf, palette->stats);
	add_header(buf, palette->stats);
	buf_adds(buf, "<figure>\n");
	svg_draw(buf, timeline, SVG_INLINE);
	if (timeline->merged > 0) {
		buf_adds(buf, "<figcaption class=\"dim\">");
		markup_add_count(buf, timeline->merged);
		buf_adds(buf, " short jobs are drawn as columns, which show how much of the time each batch had.</figcaption>\n");
	}
	buf_adds(buf, "</figure>\n");
	add_batches(buf, palette);
	add_failures(buf, palette->stats);
	add_losses(buf, palette->stats);
	add_inner(buf, palette);
	add_slowest(buf, palette);
	rows_add(buf, rows);
	add_footer(buf, palette->stats);
	buf_printf(buf, "<script>%s</script>\n</body>\n</html>\n", html_js);
}
