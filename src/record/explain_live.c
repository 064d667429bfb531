// Prints, while the run goes, why jobs have not started: on SIGUSR1, and in more detail with --explain.
//
// The pool knows at any moment for which slot or limit a batch waits. Other waits (for other batches, the load, memory, the next
// attempt) are remembered here from the events of their beginnings and ends.

#include "record/record.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "base/units.h"
#include "state/publish.h"
#include "gate/gate.h"
#include "hosts/hosts.h"
#include "sharing/leases.h"

enum {
	WAITS_MAX = 1000,    // the most waits that are remembered
	LINES_MAX = 30,      // the most lines that are printed about waits, and the most about batches
};

struct explain_live {
	// guarded by publish_mutex()
	struct event_wait *waits[WAITS_MAX]; // waits that have not ended: copies with their texts; `since` is when each began
	size_t nwaits;
};

static void begin(struct explain_live *explain_live, const struct event *event) {
	struct event_wait wait = event->u.wait;
	wait.since = event->at;
	struct text_member texts[] = {{&wait.batch, text_len(wait.batch)}, {&wait.what, text_len(wait.what)}};
	explain_live->waits[explain_live->nwaits++] = copy_with_texts(&wait, sizeof(wait), texts, sizeof(texts) / sizeof(texts[0]));
}

static void end(struct explain_live *explain_live, const struct event_wait *event) {
	for (size_t i = 0; i < explain_live->nwaits; ++i) {
		struct event_wait *wait = explain_live->waits[i];
		bool same_batch = event->batch ? wait->batch && strcmp(wait->batch, event->batch) == 0 : !wait->batch;
		if (same_batch && wait->number == event->number && wait->why == event->why) {
			free(wait);
			memmove(&explain_live->waits[i], &explain_live->waits[i + 1], (--explain_live->nwaits - i) * sizeof(explain_live->waits[0]));
			return;
		}
	}
}

static void on_event(void *arg, const struct event *event) {
	struct explain_live *explain_live = arg;
	if (event->kind == EVENT_WAIT && explain_live->nwaits < WAITS_MAX) {
		begin(explain_live, event);
	} else if (event->kind == EVENT_WAIT_END) {
		end(explain_live, &event->u.wait);
	}
}

void explain_live_subscribe(struct run *run) {
	if (run->options->given[OPT_EXPLAIN]) {
		run->explain_live = NEW(struct explain_live);
		publish_subscribe(run, on_event, run->explain_live, /* wants_output */ false);
	}
}

void explain_live_close(struct run *run) {
	struct explain_live *explain_live = run->explain_live;
	if (explain_live) {
		for (size_t i = 0; i < explain_live->nwaits; ++i) {
			free(explain_live->waits[i]);
		}
		free(explain_live);
	}
}

// ---- printing ----

// The lines to print: collected while a lock is held (publish_mutex(), or the pool's lock), and printed afterwards.
struct explain_lines {
	struct run *run;
	struct buf text;
	size_t n;            // how many lines there are; only the first LINES_MAX are in `text`
};

static void add_line(struct explain_lines *lines, const struct buf *line) {
	if (++lines->n <= LINES_MAX) {
		buf_printf(&lines->text, "%s: %s\n", diag_name(), buf_str(line));
	}
}

static void flush(struct explain_lines *lines, const char *what) {
	if (lines->n > LINES_MAX) {
		buf_printf(&lines->text, "%s: and %zu more %s\n", diag_name(), lines->n - LINES_MAX, what);
	}
	diag_text(buf_str(&lines->text), lines->text.len);
	buf_fini(&lines->text);
	lines->n = 0;
}

static void add_reason(struct buf *line, const struct run *run, const struct queue_view *view) {
	switch (view->wait) {
	case QUEUE_NEXT: {
		FP_CLEANUP(buf_fini) struct buf what = BUF_INIT;
		gate_add_reason(run->gate, &what);
		buf_printf(line, "%s%s", what.len > 0 ? "no job starts: " : "the next job is about to start", buf_str(&what));
		break;
	}
	case QUEUE_PAUSED:
		buf_adds(line, "its jobs wait for the batch to begin");
		break;
	case QUEUE_HELD:
		buf_adds(line, "the next job waits behind another job of its batch, which waits, too");
		break;
	case QUEUE_LIMIT: {
		FP_CLEANUP(buf_fini) struct buf what = BUF_INIT;
		if (run->hosts && !view->is_long && hosts_describe_limit(run->hosts, view->name, &what)) {
			buf_printf(line, "the next job waits for %s", text_shows(buf_str(&what)));
		} else {
			buf_printf(line, "the next job waits: its batch may run at most %u at once", (unsigned)view->limit);
		}
		break;
	}
	case QUEUE_RATE: {
		char rate[RATE_TEXT];
		buf_printf(line, "the next job waits for its rate of %s: next start in %.1fs", rate_show(rate, view->interval),
		           (double)view->wait_ns / 1e9);
		break;
	}
	case QUEUE_SLOTS:
		if (run->hosts && !view->is_long && view->slots == 0) {
			buf_adds(line, "the next job waits for a machine: none is connected");
		} else if (!view->is_long && view->slots < run->slots_bounds.most && run->leases) {
			buf_adds(line, "the next job waits until the run gets another slot");
		} else if (view->slots == 1) {
			buf_printf(line, "the next job waits for %s", view->is_long ? "the long-running job to end (--max-long)"
			                                                            : "its turn: the only slot is taken");
		} else {
			buf_printf(line, view->is_long ? "the next job waits for one of %u long-running jobs to end (--max-long)"
			                               : "the next job waits for its turn: all %u slots are taken", view->slots);
		}
		break;
	case QUEUE_GATHERS:
		buf_printf(line, "the next job needs %u slots at once: free slots are kept for it", view->width);
		break;
	case QUEUE_BEHIND:
		buf_printf(line, "the next job waits behind a job that needs %u slots at once", view->width);
		break;
	}
}

static void show_queue(void *arg, const struct queue_view *view) {
	struct explain_lines *lines = arg;
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	buf_printf(&line, "batch '%s': %llu queued, %llu running; ", text_shows(view->name), ull(view->queued), ull(view->running));
	add_reason(&line, lines->run, view);
	add_line(lines, &line);
}

static void show_wait(struct explain_lines *lines, const struct event_wait *wait, uint64_t now) {
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	const char *what = wait->what ? text_shows(wait->what) : "", *batch = wait->batch ? text_shows(wait->batch) : "";
	if (wait->why == WHY_RESERVE) { // the pool explains such a wait in more detail
		return;
	} else if (wait->why == WHY_NEEDS) {
		buf_printf(&line, "batch '%s': waits for %s", batch, what);
	} else if (wait->number > 0) {
		buf_printf(&line, "job %s#%llu: waits for %s", batch, ull(wait->number), what);
	} else {
		buf_printf(&line, wait->why == WHY_SUSPEND ? "stopped: %s" : "no job starts: %s", what);
	}
	buf_printf(&line, ", for %.1fs so far", (double)(now > wait->since ? now - wait->since : 0) / 1e9);
	add_line(lines, &line);
}

static void count_next(void *arg, const struct queue_view *view) {
	*(uint64_t *)arg += view->wait == QUEUE_NEXT ? view->queued : 0;
}

// Without --explain: prints why no job of any batch starts, if there is such a reason.
static void print_gates(const struct run *run) {
	uint64_t n = 0;
	FP_CLEANUP(buf_fini) struct buf what = BUF_INIT;
	pool_each_queue(run->pool, count_next, &n);
	gate_add_reason(run->gate, &what);
	if (n > 0 && what.len > 0 && atomic_load_relaxed(&run->all_read)) {
		diag_note("%llu job%s: %s", ull(n), n == 1 ? " waits" : "s wait", buf_str(&what));
	} else if (n > 0 && what.len > 0) { // the number of jobs is not known: only items that were read ahead are queued
		diag_note("no job starts: %s", buf_str(&what));
	}
}

void explain_live_print(struct run *run) {
	struct explain_live *explain_live = run->explain_live;
	struct explain_lines lines = {.run = run, .text = BUF_INIT};
	uint64_t now = now_ns();
	if (!explain_live) {
		print_gates(run);
		return;
	}
	mutex_lock(publish_mutex(run));
	for (size_t i = 0; i < explain_live->nwaits; ++i) {
		show_wait(&lines, explain_live->waits[i], now);
	}
	mutex_unlock(publish_mutex(run));
	flush(&lines, "that wait");
	pool_each_queue(run->pool, show_queue, &lines);
	flush(&lines, "batches");
	if (run->leases) {
		leases_ask_rank(run->leases);
	}
}
