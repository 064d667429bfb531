// The status of a run, for --status: its batches, its machines, the jobs that run, and which jobs wait for what.

#include "run/run.h"

#include "base/alloc.h"
#include "base/json.h"
#include "state/job_state.h"
#include "state/publish.h"
#include "hosts/hosts.h"
#include "record/added_jobs.h"
#include "report/run_stats.h"
#include "sharing/nested.h"

#include <inttypes.h>

enum { NAME_MAX_SHOWN = 60, COMMAND_MAX_SHOWN = 200 };

// The parts of the answer to one request.
struct run_status {
	struct run *run;
	uint64_t now;
	const struct run_stats *stats;  // to be read under publish_mutex()
	uint64_t queued[STATS_BATCHES + 1], running[STATS_BATCHES + 1]; // for each of stats->batches: queued jobs, running attempts
	struct buf hosts, waits;
	unsigned slots;                 // of the run; with machines, of those that are connected; 0: not known
	struct buf *out;
};

// Returns the index of the batch in stats->batches; all batches without an entry of their own share the last entry, STATS_BATCHES.
static size_t index_of(const struct run_status *status, const char *batch) {
	uint32_t index = stats_find(status->stats, batch);
	return index != MAP_NONE ? index : STATS_BATCHES;
}

static void add_queued(void *arg, const struct queue_view *view) {
	struct run_status *status = arg;
	FP_HOLD(publish_mutex(status->run));
	status->queued[index_of(status, view->name)] += view->queued;
}

static const char *name_of(const struct stats_batch *batch) {
	return batch->name[0] ? batch->name : "others";
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
	buf_printf(out, "%s waits for %s", view->waiter[0] ? view->waiter : "a program outside of the run", view->returns ? "its slot" : "");
	for (size_t i = 0; i < view->n; ++i) {
		buf_printf(out, "%s%" PRIu64, i > 0 ? " " : "", view->ids[i]);
	}
	buf_addc(out, '\n');
}

static void add_host_text(void *arg, const struct host_view *view) {
	struct run_status *status = arg;
	struct buf *out = &status->hosts;
	status->slots += view->slots;
	buf_adds(out, out->len == 0 ? "  SLOTS     USED  MACHINE\n" : "");
	buf_printf(out, "%7u  %7u  %s", view->slots, view->used, view->shown);
	buf_printf(out, "%s%s%s%s\n", view->node ? ", on " : "", view->node ? view->node : "", view->says[0] ? ": " : "", view->says);
}

static void add_text(struct run_status *status) {
	const struct run *run = status->run;
	const struct run_stats *stats = status->stats;
	const char *name = run->options->control.run;
	struct buf *out = status->out;
	uint64_t queued = 0, running = 0;
	for (size_t i = 0; i < stats->nbatches; ++i) {
		queued += status->queued[i];
		running += status->running[i];
	}
	buf_printf(out, "run %s%sof process %d: %" PRIu64 " running", name ? name : "", name ? " " : "", run->pid, running);
	if (status->slots > 0) {
		buf_printf(out, " on %u slot%s", status->slots, status->slots == 1 ? "" : "s");
	}
	buf_printf(out, ", %" PRIu64 " queued, %.1fs so far\n", queued, seconds_since(run->start, status->now));
	buf_adds(out, stats->nbatches > 0 ? " QUEUED  RUNNING       OK   FAILED  BATCH\n" : "");
	for (size_t i = 0; i < stats->nbatches; ++i) {
		const struct stats_batch *batch = &stats->batches[i];
		buf_printf(out, "%7" PRIu64 "  %7" PRIu64 "  ", status->queued[i], status->running[i]);
		buf_printf(out, "%7" PRIu64 "  %7" PRIu64 "  ", batch->counts.ok, batch->counts.failed);
		buf_add_escaped(out, name_of(batch), strlen(name_of(batch)), NAME_MAX_SHOWN);
		buf_addc(out, '\n');
	}
	buf_move(out, &status->hosts);
	buf_adds(out, running > 0 ? "     ID      TIME  JOB  COMMAND\n" : "");
	for (const struct live_attempt *attempt = NULL; (attempt = nested_next(run->nested, attempt));) {
		add_job_text(out, attempt, status->now);
	}
	buf_move(out, &status->waits);
}

// ---- JSON ----

static void add_job_json(struct buf *out, const struct live_attempt *attempt, uint64_t now) {
	const struct event_job *id = &attempt->id;
	buf_printf(out, "{\"id\":%" PRIu64, id->seq);
	json_add_string(out, "batch", id->batch);
	buf_printf(out, ",\"n\":%" PRIu64 ",\"attempt\":%u,\"slot\":%u,\"seconds\":%.3f", id->number, id->attempt, id->slot,
	           seconds_since(attempt->since, now));
	if (id->host) {
		json_add_string(out, "host", id->host);
	}
	json_add_string(out, "command", attempt->command);
	buf_addc(out, '}');
}

static void add_wait_json(void *arg, const struct wait_view *view) {
	struct buf *out = arg;
	buf_adds(out, out->len == 0 ? "\n{" : ",\n{");
	if (view->waiter[0]) {
		json_add_string(out, "job", view->waiter);
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
	struct run_status *status = arg;
	struct buf *out = &status->hosts;
	status->slots += view->slots;
	buf_adds(out, out->len == 0 ? "\n{" : ",\n{");
	json_add_string(out, "host", view->name);
	if (view->node) {
		json_add_string(out, "node", view->node);
	}
	buf_printf(out, ",\"state\":\"%s\",\"slots\":%u,\"used\":%u", states[view->state], view->slots, view->used);
	if (view->says[0]) {
		json_add_string(out, "why", view->says);
	}
	buf_addc(out, '}');
}

static void add_json(struct run_status *status) {
	const struct run *run = status->run;
	const struct run_stats *stats = status->stats;
	struct buf *out = status->out;
	buf_addc(out, '{');
	if (run->options->control.run) {
		json_add_string(out, "run", run->options->control.run);
		buf_addc(out, ',');
	}
	buf_printf(out, "\"pid\":%d,\"slots\":", run->pid);
	buf_printf(out, status->slots > 0 ? "%u" : "null", status->slots);
	buf_printf(out, ",\"seconds\":%.3f,\"batches\":[", seconds_since(run->start, status->now));
	for (size_t i = 0; i < stats->nbatches; ++i) {
		const struct stats_batch *batch = &stats->batches[i];
		buf_adds(out, i > 0 ? ",\n{" : "\n{");
		json_add_string(out, "batch", name_of(batch));
		buf_printf(out, ",\"queued\":%" PRIu64 ",\"running\":%" PRIu64, status->queued[i], status->running[i]);
		buf_printf(out, ",\"ok\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"cancelled\":%" PRIu64 ",\"skipped\":%" PRIu64 "}", batch->counts.ok,
		           batch->counts.failed, batch->counts.cancelled, batch->counts.skipped);
	}
	if (run->hosts) {
		buf_adds(out, "],\"hosts\":[");
		buf_move(out, &status->hosts);
	}
	buf_adds(out, "],\"jobs\":[");
	const char *before = "\n";
	for (const struct live_attempt *attempt = NULL; (attempt = nested_next(run->nested, attempt)); before = ",\n") {
		buf_adds(out, before);
		add_job_json(out, attempt, status->now);
	}
	buf_adds(out, "],\"waits\":[");
	buf_move(out, &status->waits);
	buf_adds(out, "]}\n");
}

void control_status(struct run *run, bool json, struct buf *out) {
	struct run_status *status = NEW(struct run_status);
	*status = (struct run_status){.run = run, .now = now_ns(), .stats = publish_stats(run), .out = out};
	hosts_view(run->hosts, json ? add_host_json : add_host_text, status);
	mutex_lock(nested_mutex(run->nested));
	waits_each(run->added_jobs, json ? add_wait_json : add_wait_text, &status->waits);
	pool_each_queue(run->pool, add_queued, status);
	mutex_lock(publish_mutex(run));
	status->slots = run->hosts ? status->slots : status->stats->slots_now;
	for (const struct live_attempt *attempt = NULL; (attempt = nested_next(run->nested, attempt));) {
		++status->running[index_of(status, attempt->id.batch)];
	}
	(json ? add_json : add_text)(status);
	mutex_unlock(publish_mutex(run));
	mutex_unlock(nested_mutex(run->nested));
	buf_fini(&status->hosts);
	buf_fini(&status->waits);
	free(status);
}
