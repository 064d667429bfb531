// The ends of jobs: each is published and counted (publish.c), and what follows from it is done, for the batch and for the run, which
// may halt.

#include "core/publish.h"

#include "core/dag_node.h"

#include <string.h>

// ---- the halt ----

void run_start_no_more(struct run *run) {
	retry_queue_stop(run->retry_queue); // first: a `finally` is to know how these have ended
	pool_shutdown(run->pool);
	run_wake(run);
}

// Starts nothing more, because --halt was met. Without the lock.
static void halt(struct run *run) {
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	if (run->manifest && run->manifest->fail_fast && !run->options->given[OPT_HALT]) {
		buf_adds(&why, "fail_fast");
	} else {
		buf_adds(&why, "--halt ");
		halt_add(&why, &run->halt);
	}
	publish_set_stop_reason(run, why.data);
	if (run->halt.when == HALT_NOW) {
		atomic_store_release(&run->halt_now, true); // pairs with the event loop's load after the wake
	}
	run_start_no_more(run);
}

void publish_all_read(struct run *run) {
	if (publish_count_all_read(run)) {
		halt(run);
	}
}

// ---- jobs that never start ----

void publish_lost(struct batch *batch, uint64_t jobs) {
	bool is_skipped = batch->node && dag_node_state(batch->node) == NODE_SKIPPED;
	if (jobs == 0) {
		return;
	}
	publish_count_lost(batch, is_skipped ? OUTCOME_SKIPPED : OUTCOME_CANCELLED, jobs);
	if (batch->node && !is_skipped) {
		dag_node_job_failed(batch->node, &(struct result){.outcome = OUTCOME_CANCELLED});
	}
}

// ---- attempts ----

// True if this is the end of a job, which is counted. A listing is no job, but one that fails is counted: its batch lacks items.
static bool is_counted(const struct job *job, const struct result *result, enum event_next next) {
	bool fails = job->role == ROLE_LISTING && outcome_is_failure(result->outcome);
	return next == NEXT_NOTHING && (job->role == ROLE_JOB || fails);
}

// Makes the EVENT_JOB_END; before it EVENT_JOB_START is published for an attempt that could not be started.
static void make_end(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next,
                     struct event *ret_event) {
	const struct attempt_stats *stats = &state->stats;
	// what was lost before its worker told of it has a time at which it ended, but none at which it was seen to begin
	bool never_began = result->outcome == OUTCOME_SPAWN_ERROR || (result->lost && result->start > 0);
	if (never_began && !stats->started && job->cancelled_next == NEXT_NOTHING) {
		publish_job_start(state, job, 0, result->lost ? result->start : now_ns());
	}
	*ret_event = (struct event){
		.kind = EVENT_JOB_END,
		.u.job_end = {
			.id = publish_identify(state, job),
			.result = *result,
			.queued = stats->queued,
			.nslots = state->worker ? worker_width(state->worker) : job->spec->width,
			.source = publish_source(state),
			.next = next,
			.coalesced = job->item.items - 1,
			.allowed = is_counted(job, result, next) && outcome_is_failure(result->outcome) && job->batch->allow_failure,
			.out_bytes = stats->out_bytes,
			.err_bytes = stats->err_bytes,
			.why = result->outcome == OUTCOME_SPAWN_ERROR && stats->why.len > 0 ? stats->why.data : NULL,
			.tail = stats->tail.len > 0 ? stats->tail.data : NULL,
			.tail_len = stats->tail.len,
			.tail_out = stats->tail_out,
			.command = buf_str(&state->text),
			.command_len = state->text.len,
		},
	};
	if (job->cancelled_next != NEXT_NOTHING) { // it was announced and never began, because the run took no more work
		struct event_job_end *end = &ret_event->u.job_end;
		end->id.slot = 0;
		end->queued = 0;
		end->result.start = end->result.end = 0;
		memset(&end->result.usage, 0, sizeof(end->result.usage));
	}
}

// Publishes the end of an attempt, which is that of `jobs` jobs. `worker`: the one that ran it, or NULL.
static void end_jobs(struct batch *batch, struct event *event, uint64_t jobs, struct worker *worker) {
	const struct result *result = &event->u.job_end.result;
	bool stop = publish_count(batch, event, jobs, worker);
	if (jobs > 0 && batch->node && result->outcome != OUTCOME_OK) {
		dag_node_job_failed(batch->node, result);
	}
	if (stop) {
		halt(batch->run);
	}
}

void publish_job_end(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next) {
	struct event event;
	make_end(state, job, result, next, &event);
	end_jobs(job->batch, &event, is_counted(job, result, next) ? job->item.items : 0, state->worker);
}

static void publish_end_without_attempt(struct batch *batch, struct event_job_end end) {
	struct event event = {.kind = EVENT_JOB_END, .u.job_end = end};
	event.u.job_end.id.batch = batch->name;
	event.u.job_end.id.attempt = 1;
	end_jobs(batch, &event, 1, /* worker */ NULL);
}

void publish_up_to_date(const struct job *job) {
	publish_end_without_attempt(job->batch, (struct event_job_end){
		.id = {.number = job->item.number, .seq = job->item.seq},
		.result = {.outcome = OUTCOME_OK},
		.nslots = 1,
		.source = FROM_QUEUE,
		.up_to_date = true,
	});
}

void publish_batch_failure(struct batch *batch, const char *what) {
	struct result result;
	result_cannot_start(&result, 126);
	publish_end_without_attempt(batch, (struct event_job_end){
		.id = {.role = ROLE_LISTING},
		.result = result,
		.nslots = 1,
		.source = FROM_QUEUE,
		.allowed = batch->allow_failure,
		.why = batch->why,
		.tail = what,
		.tail_len = strlen(what),
	});
}
