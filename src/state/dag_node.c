// A batch of a manifest during the run: its state, its queue, the specs and items of its jobs, and what workers report about it.
// dag.c decides what follows from these reports.

#include "state/dag_node.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "shell/quoting.h"

#include <string.h>

struct dag_node *dag_node_of(const struct run *run, const struct manifest_batch *plan) {
	return &run->dag->all[plan - run->manifest->batches];
}

struct result dag_node_result(const struct dag_node *node) {
	struct dag *dag = node->run->dag;
	FP_HOLD(&dag->lock);
	return atomic_load_relaxed(&node->failed) ? node->first : (struct result){.outcome = OUTCOME_OK};
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

void dag_node_try_close(struct dag_node *node) {
	if (!node->queue || !node->fed || node->nfeeders > 0) {
		return;
	}
	if (dag_node_state(node) == NODE_SKIPPED) {
		pool_cancel(node->run->pool, node->queue); // cancels the items that other batches have emitted into the skipped batch
	}
	dag_node_release(node);
}

void dag_node_fed(struct dag_node *node) {
	node->fed = true;
	dag_node_try_close(node);
}

// ---- what workers post ----

void dag_node_ended(struct dag_node *node) {
	FP_HOLD(&node->run->dag->lock);
	node->ended = true;
	dag_node_post(node);
}

// ---- specs ----

unsigned dag_node_width(const struct dag_node *node, unsigned width) {
	unsigned slots = node->run->slots_bounds.most; // the run may have fewer slots now: the pool cuts the width to these
	if (width <= slots) {
		return width;
	}
	diag_warn("batch '%s': slots_per_job: %u is cut to the %u slot%s there %s", text_shows(node->plan->name), width,
	          slots, slots == 1 ? "" : "s", slots == 1 ? "is" : "are");
	return slots;
}

// Makes a spec for jobs of the batch (job_spec_from_job()), and sets how many slots a job takes. Returns NULL after a message.
static struct job_spec *make_spec(struct dag_node *node, const struct manifest_job *job, const char *command,
                                  bool templates) {
	struct job_spec *spec = NEW(struct job_spec);
	if (job_spec_from_job(spec, node->run, node->plan, job, command, templates) != 0) {
		job_spec_free(spec);
		return NULL;
	}
	spec->width = job == node->plan->job ? node->batch->width : dag_node_width(node, spec->width);
	return spec;
}

// Makes the spec of a command that is no item: in the batch's context, but with no steps, on_failure, creates or retries.
static struct job_spec *make_plain_spec(struct dag_node *node, const char *command) {
	struct manifest_job job = *node->plan->job;
	job.then = (struct manifest_texts){NULL, 0};
	job.on_failure = job.creates = NULL;
	job.retries = 0;
	job.slots_per_job = 1;
	return make_spec(node, &job, command, /* templates */ false);
}

int dag_node_make_specs(struct dag_node *node) {
	const struct manifest_batch *plan = node->plan;
	struct batch *batch = node->batch;
	bool has_items = manifest_batch_has_items(plan);
	batch->nspecs = plan->ncommands + 1; // the batch's own spec, then one for each entry of `commands` (NULL if it has no keys of its own)
	batch->specs = xcalloc(batch->nspecs, sizeof(*batch->specs));
	batch->specs[0] = make_spec(node, plan->job, has_items ? plan->run : NULL, has_items);
	bool failed = !batch->specs[0];
	if (plan->finally) {
		batch->finally = make_plain_spec(node, plan->finally);
		failed |= !batch->finally;
	}
	if (plan->source == MANIFEST_COMMAND) {
		batch->listing = make_plain_spec(node, plan->source_text);
		failed |= !batch->listing;
	}
	return failed ? -1 : 0;
}

// ---- items ----

size_t dag_node_left(const struct dag_node *node) {
	size_t n = manifest_batch_jobs(node->plan);
	return n == SIZE_MAX ? 0 : n - node->next;
}

// Makes a record that is a command: its line; or, if no shell runs it, its words.
static void command_record(struct dag_node *node, const char *text, unsigned spec, struct record *ret_record,
                           const char **ret_bad) {
	*ret_record = (struct record){.args = text, .size = strlen(text) + 1, .nargs = 1};
	if (node->batch->specs[spec]->by.shell) {
		return;
	}
	struct split split;
	buf_reset(&node->words);
	if (words_split(text, &node->words, &split) == 0) {
		*ret_record = (struct record){.args = buf_str(&node->words), .size = node->words.len, .nargs = (uint32_t)split.n};
	} else {
		*ret_bad = split.error;
	}
}

static void entry_record(struct dag_node *node, size_t i, struct record *ret_record, unsigned *ret_spec,
                         const char **ret_bad) {
	const struct manifest_command *entry = &node->plan->commands[i];
	if (entry->job != node->plan->job) {
		*ret_spec = (unsigned)i + 1;
		node->batch->specs[i + 1] = make_spec(node, entry->job, NULL, /* templates */ false);
		if (!node->batch->specs[i + 1]) {
			*ret_spec = 0;
			*ret_record = (struct record){.args = entry->run, .size = strlen(entry->run) + 1, .nargs = 1};
			*ret_bad = "cannot be set up";
			return;
		}
	}
	command_record(node, entry->run, *ret_spec, ret_record, ret_bad);
}

static void row_record(struct dag_node *node, size_t row, struct record *ret_record) {
	const struct manifest_matrix *matrix = &node->plan->matrix;
	buf_reset(&node->words);
	for (size_t axis = 0; axis < matrix->names.n; ++axis) {
		const char *value = manifest_matrix_value(matrix, row, axis);
		buf_add(&node->words, value, strlen(value) + 1);
	}
	*ret_record = (struct record){
		.args = buf_str(&node->words), .size = node->words.len, .nargs = (uint32_t)matrix->names.n,
	};
}

bool dag_node_next(struct dag_node *node, struct record *ret_record, unsigned *ret_spec, const char **ret_bad) {
	const struct manifest_batch *plan = node->plan;
	if (dag_node_left(node) == 0) {
		return false;
	}
	size_t i = node->next++;
	*ret_spec = 0;
	*ret_bad = NULL;
	if (plan->source == MANIFEST_ARGS) {
		*ret_record = (struct record){.args = plan->args.at[i], .size = strlen(plan->args.at[i]) + 1, .nargs = 1};
	} else if (plan->source == MANIFEST_MATRIX) {
		row_record(node, i, ret_record);
	} else if (plan->run) {
		command_record(node, plan->run, 0, ret_record, ret_bad);
	} else {
		entry_record(node, i, ret_record, ret_spec, ret_bad);
	}
	return true;
}
