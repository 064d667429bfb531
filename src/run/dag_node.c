// A batch of a manifest while it runs, as the threads see it: its queue and its batch, what workers post of it, and how it
// stands. What follows from that is decided in dag.c.

#include "run/dag_internal.h"

#include "run/publish.h"

struct dag_node *dag_node_of(const struct run *run, const struct manifest_batch *plan) {
	return &run->dag->all[plan - run->manifest->batches];
}

struct batch *dag_node_batch(const struct dag_node *node) {
	return node->batch;
}

struct queue *dag_node_queue(const struct dag_node *node) {
	return node->queue;
}

bool dag_node_is_skipped(const struct dag_node *node) {
	return atomic_load_relaxed(&node->skipped);
}

void dag_node_job_runs(struct dag_node *node) {
	if (!atomic_load_relaxed(&node->has_run)) {
		atomic_store_relaxed(&node->has_run, true);
	}
}

bool dag_node_has_failed(const struct dag_node *node) {
	return atomic_load_relaxed(&node->has_failed);
}

struct result dag_node_result(const struct dag_node *node) {
	struct dag *dag = node->run->dag;
	mutex_lock(&dag->lock);
	struct result result = node->failed ? node->first : (struct result){.outcome = OUTCOME_OK};
	mutex_unlock(&dag->lock);
	return result;
}

const struct manifest_batch *dag_node_plan(const struct dag_node *node) {
	return node->plan;
}

void dag_node_lost_why(struct dag_node *node, const char *why) {
	if (node->run->publisher) {
		publish_lost_why(node->batch, why);
	}
}

// ---- its queue ----

void dag_node_release(struct dag_node *node) {
	struct queue *queue = node->queue;
	struct batch *batch = node->batch;
	node->queue = NULL;
	node->batch = NULL;
	pool_queue_close(node->run->pool, queue);
	batch_unref(batch);
}

void dag_node_settle(struct dag_node *node) {
	if (!node->queue || !node->fed || node->nfeeders > 0) {
		return;
	}
	if (node->state == NODE_SKIPPED) {
		pool_cancel(node->run->pool, node->queue); // what was emitted into it meanwhile
	}
	dag_node_release(node);
}

void dag_node_fed(struct dag_node *node) {
	node->fed = true;
	dag_node_settle(node);
}

// ---- what workers post ----

// Under the lock of nodes.
static void post(struct dag_node *node) {
	struct dag *dag = node->run->dag;
	if (!node->is_posted) {
		node->is_posted = true;
		node->next_posted = NULL;
		*dag->posted_end = node;
		dag->posted_end = &node->next_posted;
	}
}

void dag_node_job_failed(struct dag_node *node, const struct result *result) {
	struct dag *dag = node->run->dag;
	mutex_lock(&dag->lock);
	bool first = !node->failed;
	if (first) {
		node->failed = true;
		atomic_store_relaxed(&node->has_failed, true); // only spares others the lock
		node->first = *result;
		post(node);
	}
	mutex_unlock(&dag->lock);
	if (first) {
		run_wake(node->run);
	}
}

void dag_node_ended(struct dag_node *node) {
	struct dag *dag = node->run->dag;
	mutex_lock(&dag->lock);
	node->ended = true;
	post(node);
	mutex_unlock(&dag->lock);
	run_wake(node->run);
}

struct dag_node *dag_take_posted(struct dag *dag, bool *ret_failed, bool *ret_ended) {
	mutex_lock(&dag->lock);
	struct dag_node *node = dag->posted;
	if (node) {
		dag->posted = node->next_posted;
		if (!dag->posted) {
			dag->posted_end = &dag->posted;
		}
		node->is_posted = false;
		*ret_failed = node->failed;
		*ret_ended = node->ended;
	}
	mutex_unlock(&dag->lock);
	return node;
}
