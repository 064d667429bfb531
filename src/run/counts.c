// What has become of the jobs so far: the tally, the failures that the last line names, and the halt that follows from them.

#include "run/counts.h"

#include "run/admission.h"
#include "run/dag_node.h"
#include "run/publish.h"
#include "run/retry_queue.h"

#include <stdio.h>
#include <string.h>

static void note_failure(struct run *run, const char *label, const char *how) {
	if (run->nfailures >= FAILURES_NAMED) {
		return;
	}
	buf_adds(&run->failures, run->nfailures > 0 ? ", " : "");
	buf_add_escaped(&run->failures, label, strlen(label), SIZE_MAX);
	buf_printf(&run->failures, " (%s)", how);
	++run->nfailures;
}

// Adds to the tally. Returns true if it makes the run stop. The run's lock is held.
static bool tally_job(struct run *run, const struct result *result) {
	tally_add(&run->tally, result);
	bool stop = !run->halted && result->outcome != OUTCOME_CANCELLED && halt_is_met(&run->halt, &run->tally);
	if (stop) {
		run->halted = true;
		run->halted_by = *result;
	}
	return stop;
}

// Counts the items that went along with the job. The run's lock is held.
static void count_along(struct run *run, const struct job *job, enum outcome outcome) {
	uint64_t *count = outcome == OUTCOME_OK ? &run->along.ok
		: outcome == OUTCOME_CANCELLED ? &run->along.cancelled : &run->along.failed;
	*count += job->along;
}

static void tell_halt(struct run *run) {
	struct buf why = BUF_INIT;
	if (run->manifest && run->manifest->fail_fast && !run->options->halt_given) {
		buf_adds(&why, "fail_fast");
	} else {
		buf_adds(&why, "--halt ");
		halt_add(&why, &run->halt);
	}
	publish_cut(run, why.data);
	buf_fini(&why);
}

void run_halt(struct run *run) {
	tell_halt(run);
	if (run->halt.when == HALT_NOW) {
		atomic_store_release(&run->halt_now, true); // pairs with the event loop's load after the wake
	}
	retry_queue_stop(run); // first: a `finally` is to know how these have ended
	pool_shutdown(run->pool, POOL_CANCELLING);
	if (run->admission) {
		admission_stop(run);
	}
	run_wake(run);
}

bool counts_job(struct worker_state *state, const struct job *job, const struct result *result, bool current) {
	struct run *run = state->run;
	bool failed = outcome_is_failure(result->outcome);
	char how[120];
	bool stop = false;
	result_describe(result, how, sizeof(how));
	if (failed && job->along > 0) {
		size_t len = strlen(how);
		snprintf(how + len, sizeof(how) - len, ", %llu items", (unsigned long long)job->along + 1);
	}
	mutex_lock(&run->lock);
	count_along(run, job, result->outcome);
	if (failed) {
		note_failure(run, worker_state_label(state, job), how);
	}
	if (failed && job->batch->allow_failure) {
		++run->allowed;
	} else {
		run->current += current;
		stop = tally_job(run, result);
	}
	mutex_unlock(&run->lock);
	if (job->batch->node && result->outcome != OUTCOME_OK) {
		dag_node_job_failed(job->batch->node, result);
	}
	return stop;
}

void counts_trouble(struct batch *batch, const char *what, const struct result *how) {
	struct run *run = batch->run;
	struct result result;
	if (how) {
		result = *how;
	} else {
		result_cannot_start(&result, 126);
	}
	bool stop = false;
	mutex_lock(&run->lock);
	note_failure(run, batch->name, what);
	if (batch->allow_failure) {
		++run->allowed;
	} else {
		stop = tally_job(run, &result);
	}
	mutex_unlock(&run->lock);
	if (batch->stats && !how) {
		publish_trouble(batch, &result, what);
	}
	dag_node_job_failed(batch->node, &result);
	if (stop) {
		run_halt(run);
	}
}

void counts_lost(struct batch *batch, uint64_t n) {
	struct run *run = batch->run;
	bool skipped = batch->node && dag_node_is_skipped(batch->node);
	mutex_lock(&run->lock);
	*(skipped ? &run->tally.skipped : &run->tally.cancelled) += n;
	mutex_unlock(&run->lock);
	if (batch->stats && n > 0) {
		publish_lost(batch, skipped ? OUTCOME_SKIPPED : OUTCOME_CANCELLED, n);
	}
	if (batch->node && !skipped && n > 0 && !dag_node_has_failed(batch->node)) {
		dag_node_job_failed(batch->node, &(struct result){.outcome = OUTCOME_CANCELLED});
	}
}
