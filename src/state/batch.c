// The batches of a run: their references, and the options that the command line sets for batches by a pattern.

#include "state/batch.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "state/publish.h"
#include "state/run.h"
#include "hosts/hosts.h"
#include "process/memory.h"

bool batches_learn_memory(const struct run *run) {
	bool is_auto = run->auto_slots || options_jobs_auto(run->options); // also if the pool's number of slots is fixed
	return options_learn_memory(run->options, is_auto) && !run->options->sem.is_on;
}

struct batch *batch_new(struct run *run, const char *name, const struct queue_attrs *attrs, int64_t jobs) {
	struct batch *batch = NEW(struct batch);
	atomic_init(&batch->refs, 1);
	batch->run = run;
	batch->specs = run->specs;
	batch->width = 1;
	batch->name = xstrdup(name);
	batch->attrs = *attrs;
	batch->number = ++run->nbatches;
	batch->jobs = jobs;
	batch->memory = batches_learn_memory(run) ? NEW(struct memory_learned) : NULL;
	if (run->writer && (run->options->keep_order || run->options->dry_run)) {
		batch->output_queue = output_queue_open(run->writer);
	}
	return batch;
}

void batch_skip_output(struct batch *batch, uint64_t order) {
	if (batch->output_queue && order > 0) {
		writer_skip(batch->run->writer, batch->output_queue, order);
	}
}

struct batch *batch_ref(struct batch *batch) {
	atomic_add_relaxed(&batch->refs, 1); // relaxed: another reference keeps the batch alive during this call
	return batch;
}

void batch_unref(struct batch *batch) {
	// acquire and release: the thread that frees the batch sees what other threads did before their own batch_unref()
	if (atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) > 1) {
		return;
	}
	if (batch->output_queue) {
		output_queue_close(batch->run->writer, batch->output_queue);
	}
	publish_batch_end(batch);
	for (size_t i = 0; i < batch->nspecs; ++i) {
		job_spec_free(batch->specs[i]);
	}
	job_spec_free(batch->finally);
	job_spec_free(batch->listing);
	hosts_unbind(batch->binding);
	if (batch->nspecs > 0) {
		free(batch->specs);
	}
	free(batch->memory);
	free(batch->why);
	free(batch->name);
	free(batch);
}

void batch_retire(struct batch *batch) {
	struct run *run = batch->run;
	FP_HOLD(&run->lock);
	batch->next_dead = run->dead;
	run->dead = batch;
}

void batches_reap(struct run *run) {
	mutex_lock(&run->lock);
	struct batch *dead = run->dead;
	run->dead = NULL;
	mutex_unlock(&run->lock);
	while (dead) {
		struct batch *next = dead->next_dead;
		batch_unref(dead);
		dead = next;
	}
}

void batch_override(struct run *run, const char *name, struct queue_attrs *attrs) {
	option_settings_apply(run->options, name, attrs);
	if (run->options->dry_run) {
		attrs->start_interval = 0; // nothing is started
	}
	if (run_is_serial(run)) {
		attrs->long_running = false; // jobs of long-running batches would run beside the other jobs, on threads of their own
	}
}

void batches_warn_unused(const struct run *run) {
	const struct options *options = run->options;
	for (size_t i = 0; i < options->nsettings && !options->quiet; ++i) {
		const struct batch_setting *setting = &options->settings[i];
		if (!setting->is_used && strcmp(setting->pattern, "*") != 0) {
			diag_warn(options->manifest ? "--%s: no batch that runs is called '%s'"
			          : options->batch_by ? "--%s: there was no batch '%s'" : "--%s: there is no batch '%s', unless a job adds it",
			          option_table[setting->option].name, text_shows(setting->pattern));
		}
	}
}
