// The status of a run, for --status: its batches, its machines, the jobs that run, and which jobs wait for what.

#include "run/run.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/map.h"
#include "core/job_state.h"
#include "core/publish.h"
#include "hosts/hosts.h"
#include "record/added_jobs.h"
#include "report/run_stats.h"
#include "sharing/nested.h"

#include <inttypes.h>

enum { NAME_MAX_SHOWN = 60, COMMAND_MAX_SHOWN = 200 };

struct batch_row {
	char *batch;
	uint64_t queued, running;
	uint64_t ok, failed, cancelled, skipped;
};

struct batch_rows {
	struct batch_row *list;
	size_t n, cap;
	struct map numbers;
	unsigned slots; // of the run now; 0: nobody knows
};

static struct batch_row *find_row(struct batch_rows *rows, const char *batch) {
	uint32_t number = map_get(&rows->numbers, batch, strlen(batch));
	if (number == MAP_NONE) {
		number = (uint32_t)rows->n;
		grow_array(&rows->list, &rows->cap, rows->n + 1, sizeof(*rows->list));
		rows->list[rows->n++] = (struct batch_row){.batch = xstrdup(batch)};
		map_add(&rows->numbers, rows->list[number].batch, strlen(batch), number);
	}
	return &rows->list[number];
}

static void add_queued(void *arg, const struct queue_view *view) {
	find_row(arg, view->name)->queued = view->queued;
}

static void fill_rows(struct run *run, struct batch_rows *rows) {
	publish_lock(run);
	const struct run_stats *stats = publish_stats(run);
	rows->slots = stats->slots_now;
	for (size_t i = 0; i < stats->nbatches; ++i) {
		const struct stats_batch *batch = &stats->batches[i];
		struct batch_row *row = find_row(rows, batch->name);
		row->ok = batch->ok;
		row->failed = batch->failed;
		row->cancelled = batch->cancelled;
		row->skipped = batch->skipped;
	}
	publish_unlock(run);
	pool_each_queue(run->pool, add_queued, rows);
	for (const struct live_attempt *attempt = NULL; (attempt = nested_next(run->nested, attempt));) {
		++find_row(rows, attempt->id.batch)->running;
	}
}

static double seconds_since(uint64_t then, uint64_t now) {
	return (double)(now > then ? now - then : 0) / (double)NS_PER_S;
}

// ---- text ----

static void add_job_text(struct buf *out, const struct live_attempt *attempt, uint64_t now) {
	const struct event_job *id = &attempt->id;
	buf_printf(out, "%7" PRIu64 "  %7.1fs  ", id->seq, seconds_since(attempt->since, now));
	buf_add_escaped(out, id->batch, strlen(id->batch), NAME_MAX_SHOWN);
	buf_printf(out, "#%" PRIu64 "%s%s  ", id->number, id->host ? " on " : "", id->host ? id->host : "");
	buf_add_escaped(out, attempt->command, strlen(attempt->command), COMMAND_MAX_SHOWN);
	buf_addc(out, '\n');
}

static void add_wait_text(void *arg, const struct wait_view *view) {
	struct buf *out = arg;
	buf_printf(out, "%s waits for %s", view->waiter[0] ? view->waiter : "somebody outside", view->returns ? "its slot" : "");
	for (size_t i = 0; i < view->n; ++i) {
		buf_printf(out, "%s%" PRIu64, i > 0 ? " " : "", view->ids[i]);
	}
	buf_addc(out, '\n');
}

static void add_host_text(void *arg, const struct host_view *view) {
	struct buf *out = arg;
	buf_adds(out, out->len == 0 ? "  SLOTS     USED  MACHINE\n" : "");
	buf_printf(out, "%7u  %7u  %s%s", view->slots, view->used, view->name, view->is_here ? " (this machine)" : "");
	buf_printf(out, "%s%s%s%s\n", view->node ? ", on " : "", view->node ? view->node : "", view->says[0] ? ": " : "", view->says);
}

static void add_text(struct run *run, const struct batch_rows *rows, const struct buf *hosts, const struct buf *waits, uint64_t now,
                     struct buf *out) {
	const char *name = run->options->control.run;
	uint64_t queued = 0, running = 0;
	for (size_t i = 0; i < rows->n; ++i) {
		queued += rows->list[i].queued;
		running += rows->list[i].running;
	}
	buf_printf(out, "run %s%sof process %d: %" PRIu64 " running", name ? name : "", name ? " " : "", run->pid, running);
	if (rows->slots > 0) {
		buf_printf(out, " on %u slot%s", rows->slots, rows->slots == 1 ? "" : "s");
	}
	buf_printf(out, ", %" PRIu64 " queued, %.1fs so far\n", queued, seconds_since(run->start, now));
	buf_adds(out, rows->n > 0 ? " QUEUED  RUNNING       OK   FAILED  BATCH\n" : "");
	for (size_t i = 0; i < rows->n; ++i) {
		const struct batch_row *row = &rows->list[i];
		buf_printf(out, "%7" PRIu64 "  %7" PRIu64 "  ", row->queued, row->running);
		buf_printf(out, "%7" PRIu64 "  %7" PRIu64 "  ", row->ok, row->failed);
		buf_add_escaped(out, row->batch, strlen(row->batch), NAME_MAX_SHOWN);
		buf_addc(out, '\n');
	}
	buf_add(out, hosts->data, hosts->len);
	buf_adds(out, running > 0 ? "     ID      TIME  JOB  COMMAND\n" : "");
	for (const struct live_attempt *attempt = NULL; (attempt = nested_next(run->nested, attempt));) {
		add_job_text(out, attempt, now);
	}
	buf_add(out, waits->data, waits->len);
}

// ---- JSON ----

static void add_name(struct buf *out, const char *key, const char *text) {
	json_add_string(out, key, text, strlen(text));
}

static void add_job_json(struct buf *out, const struct live_attempt *attempt, uint64_t now) {
	const struct event_job *id = &attempt->id;
	buf_printf(out, "{\"id\":%" PRIu64 ",", id->seq);
	add_name(out, "batch", id->batch);
	buf_printf(out, ",\"n\":%" PRIu64 ",\"attempt\":%u,\"slot\":%u,\"seconds\":%.3f,", id->number, id->attempt, id->slot,
	           seconds_since(attempt->since, now));
	if (id->host) {
		add_name(out, "host", id->host);
		buf_addc(out, ',');
	}
	add_name(out, "command", attempt->command);
	buf_addc(out, '}');
}

static void add_wait_json(void *arg, const struct wait_view *view) {
	struct buf *out = arg;
	buf_adds(out, out->len == 0 ? "\n{" : ",\n{");
	if (view->waiter[0]) {
		add_name(out, "job", view->waiter);
		buf_addc(out, ',');
	}
	buf_printf(out, "\"returns\":%s,\"for\":[", view->returns ? "true" : "false");
	for (size_t i = 0; i < view->n; ++i) {
		buf_printf(out, "%s%" PRIu64, i > 0 ? "," : "", view->ids[i]);
	}
	buf_adds(out, "]}");
}

static void add_host_json(void *arg, const struct host_view *view) {
	static const char *const states[] = {
		[HOST_UP] = "up", [HOST_HELD] = "held", [HOST_CONNECTING] = "connecting", [HOST_LOST] = "lost", [HOST_UNREACHABLE] = "unreachable",
		[HOST_REMOVED] = "removed",
	};
	struct buf *out = arg;
	buf_adds(out, out->len == 0 ? "\n{" : ",\n{");
	add_name(out, "host", view->name);
	if (view->node) {
		buf_addc(out, ',');
		add_name(out, "node", view->node);
	}
	buf_printf(out, ",\"state\":\"%s\",\"slots\":%u,\"used\":%u", states[view->state], view->slots, view->used);
	if (view->says[0]) {
		buf_addc(out, ',');
		add_name(out, "why", view->says);
	}
	buf_addc(out, '}');
}

static void add_json(struct run *run, const struct batch_rows *rows, const struct buf *hosts, const struct buf *waits, uint64_t now,
                     struct buf *out) {
	buf_adds(out, "{");
	if (run->options->control.run) {
		add_name(out, "run", run->options->control.run);
		buf_addc(out, ',');
	}
	buf_printf(out, "\"pid\":%d,\"slots\":", run->pid);
	if (rows->slots > 0) {
		buf_printf(out, "%u", rows->slots);
	} else {
		buf_adds(out, "null");
	}
	buf_printf(out, ",\"seconds\":%.3f,\"batches\":[", seconds_since(run->start, now));
	for (size_t i = 0; i < rows->n; ++i) {
		const struct batch_row *row = &rows->list[i];
		buf_adds(out, i > 0 ? ",\n{" : "\n{");
		add_name(out, "batch", row->batch);
		buf_printf(out, ",\"queued\":%" PRIu64 ",\"running\":%" PRIu64, row->queued, row->running);
		buf_printf(out, ",\"ok\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"cancelled\":%" PRIu64 ",\"skipped\":%" PRIu64, row->ok,
		           row->failed, row->cancelled, row->skipped);
		buf_addc(out, '}');
	}
	if (run->hosts) {
		buf_adds(out, "],\"hosts\":[");
		buf_add(out, hosts->data, hosts->len);
	}
	buf_adds(out, "],\"jobs\":[");
	const char *before = "\n";
	for (const struct live_attempt *attempt = NULL; (attempt = nested_next(run->nested, attempt)); before = ",\n") {
		buf_adds(out, before);
		add_job_json(out, attempt, now);
	}
	buf_adds(out, "],\"waits\":[");
	buf_add(out, waits->data, waits->len);
	buf_adds(out, "]}\n");
}

void control_status(struct run *run, bool json, struct buf *out) {
	struct batch_rows rows = {.numbers = MAP_INIT};
	uint64_t now = now_ns();
	FP_CLEANUP(buf_fini) struct buf waits = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf hosts = BUF_INIT;
	hosts_view(run->hosts, json ? add_host_json : add_host_text, &hosts);
	nested_lock(run->nested);
	waits_each(run->added_jobs, json ? add_wait_json : add_wait_text, &waits);
	fill_rows(run, &rows);
	(json ? add_json : add_text)(run, &rows, &hosts, &waits, now, out);
	nested_unlock(run->nested);
	for (size_t i = 0; i < rows.n; ++i) {
		free(rows.list[i].batch);
	}
	free(rows.list);
	map_fini(&rows.numbers);
}
