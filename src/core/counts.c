// What follows from the end of jobs: for their batch, and for the run, which may halt.

#include "core/run.h"

#include "core/dag_node.h"
#include "core/publish.h"

void run_start_no_more(struct run *run) {
	retry_queue_stop(run->retry_queue); // first: a `finally` is to know how these have ended
	pool_shutdown(run->pool);
	run_wake(run);
}

void run_halt(struct run *run) {
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

void counts_ended(struct batch *batch, const struct result *result, bool stop) {
	if (batch->node && result->outcome != OUTCOME_OK) {
		dag_node_job_failed(batch->node, result);
	}
	if (stop) {
		run_halt(batch->run);
	}
}

void counts_trouble(struct batch *batch, const char *what) {
	struct result result;
	result_cannot_start(&result, 126);
	counts_ended(batch, &result, publish_batch_failure(batch, &result, what));
}

void counts_lost(struct batch *batch, uint64_t n) {
	bool skipped = batch->node && dag_node_state(batch->node) == NODE_SKIPPED;
	publish_lost(batch, skipped ? OUTCOME_SKIPPED : OUTCOME_CANCELLED, n);
	if (batch->node && !skipped && n > 0) {
		dag_node_job_failed(batch->node, &(struct result){.outcome = OUTCOME_CANCELLED});
	}
}
