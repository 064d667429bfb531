// What a batch runs for no item: its on-failure and finally commands, and the pattern or command that lists its items.

#include "exec/job_run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "state/dag_node.h"
#include "state/publish.h"
#include "input/input.h"
#include "record/record.h"

// Runs the job's command on this machine, to its end. The job is not counted, because the command belongs to no item.
static struct result run_beside(struct worker_state *state, struct job *job) {
	struct result result;
	(void)attempt_run(state, job, &result);
	if (job->line_items) {
		line_items_end(job->line_items, /* keep */ true);
	}
	publish_note_output(state, job, &result, NEXT_NOTHING);
	if (job->spool) {
		if (log_sink_is_on_stdout(state->run)) {
			spool_complete(job->spool, 0);
		}
		spool_finish(job->spool);
		job->spool = NULL;
	}
	publish_job_end(state, job, &result, NEXT_NOTHING);
	return result;
}

static struct job job_without_item(struct batch *batch, const struct job_spec *spec, enum event_role role, unsigned slot) {
	return (struct job){
		.batch = batch,
		.spec = spec,
		.item = {.items = 1},
		.record = {.args = "", .size = 1, .nargs = 1},
		.role = role,
		.attempt = 1,
		.slot = slot,
	};
}

// ---- on-failure ----

void batch_command_on_failure(struct worker_state *state, const struct job *failed, const struct result *ended) {
	struct job job = *failed;
	job.role = ROLE_ON_FAILURE;
	job.told = ended;
	job.item.order = job.item.queued = job.item.from = job.pause = 0; // the command runs no item: its output has no rank in the order
	job.block = NULL;
	job.step = 0;
	job.spool = NULL;
	job.results = NULL;
	struct result result = run_beside(state, &job);
	if (outcome_is_failure(result.outcome)) {
		char how[80];
		diag_warn("job %s: its on-failure command failed too: %s", worker_state_label(state, &job), result_describe(&result, how, sizeof(how)));
	}
}

// ---- finally ----

static enum work_status run_finally(struct worker *worker, struct queue *queue, void *data FP_UNUSED, size_t size FP_UNUSED) {
	struct batch *batch = queue_user(queue);
	struct worker_state *state = worker_state_of(batch->run, worker);
	struct result ended = dag_node_result(batch->node);
	struct job job = job_without_item(batch, batch->finally, ROLE_FINALLY, worker_slot(worker));
	job.told = &ended;
	struct result result = run_beside(state, &job);
	if (result.outcome != OUTCOME_OK) {
		char how[80];
		diag_warn("batch '%s': its finally command failed: %s", text_shows(batch->name), result_describe(&result, how, sizeof(how)));
	}
	return WORK_OK;
}

static const struct work_type work_finally = {.run = run_finally};

void batch_command_finally(struct run *run, struct queue *queue) {
	pool_queue_set_last_item(run->pool, queue, &(struct work){.type = &work_finally});
}

// ---- listing ----

enum { IN_THIS_ORDER = 0 }; // flags of items that run in the order of the listing (no WORK_LOCAL)

// Warns, and names the directory that was searched: a relative pattern is looked for in the user's directory, not in the manifest's.
static void warn_nothing(const struct run *run, const struct batch *batch, const char *pattern, const char *dir) {
	FP_CLEANUP(buf_fini) struct buf where = BUF_INIT;
	if (pattern[0] != '/') {
		buf_printf(&where, " in '%s", dir[0] == '/' ? "" : run->cwd);
		buf_printf(&where, "%s%s'", dir[0] == '/' || dir[0] == '\0' ? "" : "/", dir);
	}
	diag_warn("batch '%s': glob '%s' matches nothing%s", text_shows(batch->name), text_shows(pattern), text_shows(buf_str(&where)));
}

static void list_by_pattern(struct worker_state *state, struct worker *worker, struct queue *queue, const char *pattern, const char *dir) {
	FP_CLEANUP(free_later) char *error = NULL;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	struct line_items *line_items = line_items_begin(worker, queue, /* from */ 0, IN_THIS_ORDER, /* hold */ false);
	int failed = glob_expand(dir, pattern, line_items_add, line_items, &error);
	uint64_t n = line_items_end(line_items, /* keep */ true);
	struct batch *batch = queue_user(queue);
	if (!failed && n == 0) {
		warn_nothing(state->run, batch, pattern, dir ? dir : "");
	}
	buf_printf(&why, "glob '%s': %s", text_shows(pattern), failed ? error : "");
	if (failed && state->run->options->dry_run) { // without --dry-run an earlier batch might have made what is missing
		diag_note("batch '%s': its items are not known yet: %s", text_shows(batch->name), buf_str(&why));
	} else if (failed) {
		diag_error("batch '%s': %s", text_shows(batch->name), buf_str(&why));
		publish_set_lost_reason(batch, buf_str(&why));
		publish_batch_failure(batch, "its items could not be listed");
	}
}

static void list_by_command(struct worker_state *state, struct worker *worker, struct queue *queue, const struct job_spec *spec) {
	struct batch *batch = queue_user(queue);
	struct job job = job_without_item(batch, spec, ROLE_LISTING, worker_slot(worker));
	job.line_items = line_items_begin(worker, queue, /* from */ 0, IN_THIS_ORDER, /* hold */ false);
	if (run_beside(state, &job).outcome == OUTCOME_CANCELLED) {
		publish_lost(batch, 1);
	}
}

static enum work_status run_listing(struct worker *worker, struct queue *queue, void *data FP_UNUSED, size_t size FP_UNUSED) {
	struct batch *batch = queue_user(queue);
	struct run *run = batch->run;
	struct worker_state *state = worker_state_of(run, worker);
	worker_pass(worker); // lets the next item start, as the listing may have to wait until its items are taken
	const struct manifest_batch *plan = batch->node->plan;
	if (plan->source == MANIFEST_GLOB) {
		list_by_pattern(state, worker, queue, plan->source_text, batch->specs[0]->context->cwd);
	} else if (run->options->dry_run) {
		diag_note("batch '%s': its items come from a command, which is not run: %s", text_shows(batch->name), text_shows(plan->source_text));
	} else {
		list_by_command(state, worker, queue, batch->listing);
	}
	return WORK_OK;
}

static void drop_listing(struct queue *queue, void *data FP_UNUSED, size_t size FP_UNUSED) {
	publish_lost(queue_user(queue), 1);
}

static const struct work_type work_listing = {.run = run_listing, .drop = drop_listing};

enum submit_status batch_command_listing(struct run *run, struct queue *queue) {
	return pool_submit(run->pool, queue, NULL, &(struct work){.type = &work_listing, .flags = WORK_NO_TOKEN}, 1);
}
