// What has become of the jobs so far: the tally, the failures that the last line names, and the halt that follows from them.

#include "run/counts.h"

#include "run/admission.h"
#include "run/dag_node.h"
#include "run/publish.h"
#include "run/retry_queue.h"

#include <stdio.h>
#include <string.h>

static void note_failure(struct run *run, const char *label, const char *how) {
	if (run->counts.nfailures >= FAILURES_NAMED) {
		return;
	}
	buf_adds(&run->counts.failures, run->counts.nfailures > 0 ? ", " : "");
	buf_add_escaped(&run->counts.failures, label, strlen(label), SIZE_MAX);
	buf_printf(&run->counts.failures, " (%s)", how);
	++run->counts.nfailures;
}

// Adds to the tally. Returns true if it makes the run stop. The run's lock is held.
static bool tally_job(struct run *run, const struct result *result) {
	tally_add(&run->counts.tally, result);
	bool stop = !run->counts.halted && result->outcome != OUTCOME_CANCELLED && halt_is_met(&run->halt, &run->counts.tally);
	if (stop) {
		run->counts.halted = true;
		run->counts.halted_by = *result;
	}
	return stop;
}

// Counts the items that went with the job. The run's lock is held.
static void count_coalesced(struct run *run, const struct job *job, enum outcome outcome) {
	uint64_t *count = outcome == OUTCOME_OK ? &run->counts.coalesced.ok
		: outcome == OUTCOME_CANCELLED ? &run->counts.coalesced.cancelled : &run->counts.coalesced.failed;
	*count += job->coalesced;
}

static void publish_halt(struct run *run) {
	struct buf why = BUF_INIT;
	if (run->manifest && run->manifest->fail_fast && !run->options->given[OPT_HALT]) {
		buf_adds(&why, "fail_fast");
	} else {
		buf_adds(&why, "--halt ");
		halt_add(&why, &run->halt);
	}
	publish_cut(run, why.data);
	buf_fini(&why);
}

void run_start_no_more(struct run *run) {
	retry_queue_stop(run->retry_queue); // first: a `finally` is to know how these have ended
	pool_shutdown(run->pool, POOL_CANCELLING);
	if (run->admission) {
		admission_stop(run->admission);
	}
	run_wake(run);
}

void run_halt(struct run *run) {
	publish_halt(run);
	if (run->halt.when == HALT_NOW) {
		atomic_store_release(&run->halt_now, true); // pairs with the event loop's load after the wake
	}
	run_start_no_more(run);
}

void counts_known(struct run *run, int64_t jobs) {
	mutex_lock(&run->lock);
	run->counts.tally.total += (uint64_t)jobs;
	mutex_unlock(&run->lock);
}

void counts_all_known(struct run *run) {
	struct counts *counts = &run->counts;
	struct tally *tally = &counts->tally;
	mutex_lock(&run->lock);
	tally->total_is_final = true;
	atomic_store_relaxed(&run->all_read, true);
	bool stop = !counts->halted && tally->ok + tally->failed > 0 && halt_is_met(&run->halt, tally);
	if (stop) {
		counts->halted = true;
		counts->halted_by = tally->first;
	}
	mutex_unlock(&run->lock);
	if (stop) {
		run_halt(run);
	}
}

bool counts_halted(struct run *run) {
	mutex_lock(&run->lock);
	bool halted = run->counts.halted;
	mutex_unlock(&run->lock);
	return halted;
}

struct event_run_end counts_sum(struct run *run) {
	const struct counts *counts = &run->counts;
	const struct tally *tally = &counts->tally;
	mutex_lock(&run->lock);
	struct event_run_end sum = {
		.ok = tally->ok + counts->coalesced.ok,
		.failed = tally->failed + counts->allowed + counts->coalesced.failed,
		.cancelled = tally->cancelled + counts->coalesced.cancelled,
		.skipped = tally->skipped,
		.allowed = counts->allowed,
		.current = counts->current,
		.resumed = counts->resumed,
	};
	mutex_unlock(&run->lock);
	return sum;
}

bool counts_job(struct worker_state *state, const struct job *job, const struct result *result, bool current) {
	struct run *run = state->run;
	bool failed = outcome_is_failure(result->outcome);
	char how[120];
	bool stop = false;
	result_describe(result, how, sizeof(how));
	if (failed && job->coalesced > 0) {
		size_t len = strlen(how);
		snprintf(how + len, sizeof(how) - len, ", %llu items", (unsigned long long)job->coalesced + 1);
	}
	mutex_lock(&run->lock);
	count_coalesced(run, job, result->outcome);
	if (failed) {
		note_failure(run, worker_state_label(state, job), how);
	}
	if (failed && job->batch->allow_failure) {
		++run->counts.allowed;
	} else {
		run->counts.current += current;
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
		++run->counts.allowed;
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
	*(skipped ? &run->counts.tally.skipped : &run->counts.tally.cancelled) += n;
	mutex_unlock(&run->lock);
	if (batch->stats && n > 0) {
		publish_lost(batch, skipped ? OUTCOME_SKIPPED : OUTCOME_CANCELLED, n);
	}
	if (batch->node && !skipped && n > 0 && !dag_node_has_failed(batch->node)) {
		dag_node_job_failed(batch->node, &(struct result){.outcome = OUTCOME_CANCELLED});
	}
}
