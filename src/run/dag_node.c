// A batch of a manifest while it runs, as the threads see it: its queue and its batch, what workers post of it, and how it
// stands. What follows from that is decided in dag.c.

#include "run/dag_internal.h"

#include "run/publish.h"

struct dag_node *dag_node_of(const struct run *run, const struct manifest_batch *plan) {
	return &run->dag->all[plan - run->manifest->batches];
}

struct batch *dag_node_batch(const struct dag_node *stage) {
	return stage->batch;
}

struct queue *dag_node_queue(const struct dag_node *stage) {
	return stage->queue;
}

bool dag_node_is_skipped(const struct dag_node *stage) {
	return atomic_load_relaxed(&stage->skipped);
}

void dag_node_job_runs(struct dag_node *stage) {
	if (!atomic_load_relaxed(&stage->has_run)) {
		atomic_store_relaxed(&stage->has_run, true);
	}
}

bool dag_node_has_failed(const struct dag_node *stage) {
	return atomic_load_relaxed(&stage->has_failed);
}

struct result dag_node_result(const struct dag_node *stage) {
	struct dag *dag = stage->run->dag;
	mutex_lock(&dag->lock);
	struct result result = stage->failed ? stage->first : (struct result){.outcome = OUTCOME_OK};
	mutex_unlock(&dag->lock);
	return result;
}

const struct manifest_batch *dag_node_plan(const struct dag_node *stage) {
	return stage->plan;
}

void dag_node_lost_why(struct dag_node *stage, const char *why) {
	if (stage->run->publisher) {
		publish_lost_why(stage->batch, why);
	}
}

// ---- its queue ----

void dag_node_release(struct dag_node *stage) {
	struct queue *queue = stage->queue;
	struct batch *batch = stage->batch;
	stage->queue = NULL;
	stage->batch = NULL;
	pool_queue_close(stage->run->pool, queue);
	batch_unref(batch);
}

void dag_node_settle(struct dag_node *stage) {
	if (!stage->queue || !stage->fed || stage->nfeeders > 0) {
		return;
	}
	if (stage->state == STAGE_SKIPPED) {
		pool_cancel(stage->run->pool, stage->queue); // what was emitted into it meanwhile
	}
	dag_node_release(stage);
}

void dag_node_fed(struct dag_node *stage) {
	stage->fed = true;
	dag_node_settle(stage);
}

// ---- what workers post ----

// Under the lock of stages.
static void post(struct dag_node *stage) {
	struct dag *dag = stage->run->dag;
	if (!stage->is_posted) {
		stage->is_posted = true;
		stage->next_posted = NULL;
		*dag->posted_end = stage;
		dag->posted_end = &stage->next_posted;
	}
}

void dag_node_job_failed(struct dag_node *stage, const struct result *result) {
	struct dag *dag = stage->run->dag;
	mutex_lock(&dag->lock);
	bool first = !stage->failed;
	if (first) {
		stage->failed = true;
		atomic_store_relaxed(&stage->has_failed, true); // only spares others the lock
		stage->first = *result;
		post(stage);
	}
	mutex_unlock(&dag->lock);
	if (first) {
		run_wake(stage->run);
	}
}

void dag_node_ended(struct dag_node *stage) {
	struct dag *dag = stage->run->dag;
	mutex_lock(&dag->lock);
	stage->ended = true;
	post(stage);
	mutex_unlock(&dag->lock);
	run_wake(stage->run);
}

struct dag_node *dag_take_posted(struct dag *dag, bool *ret_failed, bool *ret_ended) {
	mutex_lock(&dag->lock);
	struct dag_node *stage = dag->posted;
	if (stage) {
		dag->posted = stage->next_posted;
		if (!dag->posted) {
			dag->posted_end = &dag->posted;
		}
		stage->is_posted = false;
		*ret_failed = stage->failed;
		*ret_ended = stage->ended;
	}
	mutex_unlock(&dag->lock);
	return stage;
}
