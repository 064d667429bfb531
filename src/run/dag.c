// The batches of a manifest while it runs: which wait for others, which are at work, which are skipped.
//
//   WAITING -> all needs met -> RUNNING -> queue removed -> ENDED
//           -> a need failed, or no batch is left to emit into it -> SKIPPED
//
// Each batch has its queue from the start, so that the order of the file is the order of turns. The queue of one that
// waits is paused: what others emit into it stays there. A stage holds its queue open until its own items are queued
// and the batches that emit into it have ended; then the pool removes it when its last item is done, which is the end
// of the batch.
//
// Workers only post that a job failed or a queue was removed; what follows is decided by the event loop's thread, which
// alone changes states. So there is no recursion, however long the chain of batches.

#include "run/dag_internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli/option_files.h"
#include "run/batch_commands.h"
#include "run/counts.h"
#include "run/feed.h"
#include "run/status_display.h"
#include "run/publish.h"

#include <errno.h>
#include <unistd.h>

enum { SKIPS_NAMED = 20 }; // batches skipped because of one, in messages

// ---- telling ----

void dag_show(const struct run *run) {
	static const char *const words[] = {
		[STAGE_WAITING] = "waits", [STAGE_RUNNING] = "running", [STAGE_ENDED] = "done", [STAGE_SKIPPED] = "skipped",
	};
	struct buf text = BUF_INIT;
	for (size_t i = 0; run->dag && i < run->dag->n; ++i) {
		const struct dag_node *stage = &run->dag->all[i];
		if (stage->plan) {
			buf_adds(&text, text.len > 0 ? "; " : "batches: ");
			buf_add_escaped(&text, stage->plan->name, strlen(stage->plan->name), 80);
			buf_printf(&text, " %s", words[stage->state]);
			if (stage->state == STAGE_RUNNING || stage->state == STAGE_WAITING) {
				status_display_add_eta(run, stage->plan->name, &text);
			}
		}
	}
	if (text.len > 0) {
		diag_note("%s", text.data);
	}
	buf_fini(&text);
}

static void tell_met(struct dag_node *stage) {
	size_t jobs = manifest_batch_jobs(stage->plan);
	bool known = jobs != SIZE_MAX && stage->plan->nfeeders == 0;
	publish_meet(stage->batch, &stage->attrs, known ? (int64_t)jobs : -1);
	publish_batch_start(stage->batch);
}

// What the stage waits for: its needs, or those that have its items.
static void tell_waits(struct dag_node *stage) {
	const struct manifest_batch *plan = stage->plan;
	struct buf names = BUF_INIT;
	for (size_t i = 0; i < plan->nneeds; ++i) {
		buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", plan->needs[i]->name);
	}
	for (size_t i = 0; i < plan->nfeeders && stage->awaits_feeder && plan->nneeds == 0; ++i) {
		buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", plan->feeders[i]->name);
	}
	stage->waits_since = now_ns();
	publish_wait(stage->run, stage->batch, 0, WHY_NEEDS, buf_str(&names));
	buf_fini(&names);
}

static void tell_waited(struct dag_node *stage) {
	if (stage->waits_since > 0) {
		publish_wait_end(stage->run, stage->batch, 0, WHY_NEEDS, stage->waits_since);
		stage->waits_since = 0;
	}
}

// ---- begin ----

// A file that the batch names is seen from its working directory. The caller frees it.
static char *path_from(const struct job_spec *spec, const char *path) {
	struct buf buf = BUF_INIT;
	if (spec->context->cwd && path[0] != '/') {
		buf_printf(&buf, "%s/", spec->context->cwd);
	}
	buf_adds(&buf, path);
	return buf_take(&buf);
}

int dag_check_files(const struct run *run) {
	int result = 0;
	for (size_t i = 0; i < run->manifest->nbatches && result == 0; ++i) {
		const struct manifest_batch *plan = &run->manifest->batches[i];
		if (!plan->selected || (plan->source != MANIFEST_FILE && plan->source != MANIFEST_FILE0)) {
			continue;
		}
		struct buf name = BUF_INIT, path = BUF_INIT;
		const char *dir = plan->source_text[0] != '/' ? plan->job->working_dir : NULL;
		buf_printf(&name, "the items of batch '%s'", text_shows(plan->name));
		if (dir) {
			buf_printf(&path, "%s%s%s/", dir[0] != '/' ? run->manifest->dir : "", dir[0] != '/' ? "/" : "", dir);
		}
		buf_adds(&path, plan->source_text);
		result = option_file_check_read(run->options, buf_str(&name), buf_str(&path));
		buf_fini(&name);
		buf_fini(&path);
	}
	return result;
}

static int begin_source(struct dag_node *stage) {
	const struct manifest_batch *plan = stage->plan;
	struct run *run = stage->run;
	char delimiter = plan->source == MANIFEST_FILE0 ? '\0' : '\n';
	switch (plan->source) {
	case MANIFEST_GLOB:
	case MANIFEST_COMMAND:
		if (batch_command_listing(run, stage->queue, stage) != SUBMIT_OK) {
			counts_lost(stage->batch, 1);
		}
		dag_node_fed(stage);
		return 0;
	case MANIFEST_FILE:
	case MANIFEST_FILE0:
		stage->path = path_from(stage->batch->specs[0], plan->source_text);
		stage->source = (struct source_config){.kind = FROM_FILE, .path = stage->path};
		if (run->options->dry_run && access(stage->path, R_OK) != 0) { // an earlier batch may be going to make it
			diag_note("batch '%s': its items cannot be told yet: '%s': %s", text_shows(plan->name),
			          text_shows(stage->path), strerror(errno));
			dag_node_fed(stage);
			return 0;
		}
		return feeds_add_stage(run, stage, &stage->source, delimiter);
	case MANIFEST_STDIN:
		stage->source = (struct source_config){.kind = FROM_STDIN};
		return feeds_add_stage(run, stage, &stage->source, delimiter);
	case MANIFEST_NONE:
	case MANIFEST_ARGS:
	case MANIFEST_MATRIX:
		break;
	}
	if (dag_node_left(stage) == 0) {
		dag_node_fed(stage);
		return 0;
	}
	return feeds_add_stage(run, stage, NULL, delimiter);
}

// One thing less that the stage waits for.
static void meet(struct dag_node *stage) {
	struct dag *dag = stage->run->dag;
	if (--stage->unmet == 0 && stage->state == STAGE_WAITING) {
		*dag->ready_end = stage;
		dag->ready_end = &stage->next_ready;
	}
}

static void begin(struct dag_node *stage) {
	struct run *run = stage->run;
	struct dag_node *target = stage->plan->emits ? dag_node_of(run, stage->plan->emits) : NULL;
	if (target && target->awaits_feeder) {
		target->awaits_feeder = false;
		meet(target);
	}
	--run->dag->nwaiting;
	stage->state = STAGE_RUNNING;
	if (run->publisher) {
		tell_waited(stage);
		publish_batch_begun(stage->batch);
	}
	stage->batch->again = stage->again;
	bool failed = dag_node_make_specs(stage) != 0;
	if (!failed) {
		stage->attrs.paused = false;
		queue_set(run->pool, stage->queue, &stage->attrs);
		if (stage->batch->finally) {
			batch_command_finally(run, stage->queue, stage);
		}
		failed = begin_source(stage) != 0;
	}
	if (failed) {
		stage->state = STAGE_SKIPPED; // what is emitted into it goes nowhere
		atomic_store_relaxed(&stage->skipped, true);
		pool_cancel(run->pool, stage->queue);
		counts_trouble(stage->batch, "could not begin", NULL);
		dag_node_fed(stage);
	}
}

static void begin_ready(struct run *run) {
	struct dag *dag = run->dag;
	while (dag->ready) {
		struct dag_node *stage = dag->ready;
		dag->ready = stage->next_ready;
		if (!dag->ready) {
			dag->ready_end = &dag->ready;
		}
		if (stage->state == STAGE_WAITING) {
			begin(stage);
		}
	}
}

// ---- skip ----

static size_t known_jobs(const struct manifest_batch *plan) {
	size_t n = manifest_batch_jobs(plan);
	return n == SIZE_MAX ? 1 : n;
}

// Was everything that would have emitted into the batch skipped? Then nothing is done by doing nothing.
static bool is_starved(const struct dag_node *stage) {
	const struct manifest_batch *plan = stage->plan;
	bool all = plan->source == MANIFEST_NONE && plan->nfeeders > 0;
	for (size_t i = 0; i < plan->nfeeders; ++i) {
		const struct dag_node *feeder = dag_node_of(stage->run, plan->feeders[i]);
		all = all && (feeder == stage || !feeder->plan || feeder->state == STAGE_SKIPPED);
	}
	return all;
}

// Stages that others cannot follow any more, to be looked at; in the order of a stack.
struct casualties {
	struct dag_node **at;
	size_t n, cap;
	size_t skipped;
};

static void add_casualty(struct casualties *casualties, struct dag_node *stage) {
	grow_array(&casualties->at, &casualties->cap, casualties->n + 1, sizeof(casualties->at[0]));
	casualties->at[casualties->n++] = stage;
}

// What became of the one because of which others are skipped.
static const char *fate(const struct dag_node *because) {
	return because->state == STAGE_SKIPPED && !because->failure_seen ? "is skipped"
		: because->is_tainted ? "lacks items" : "failed";
}

static void tell_skip(struct dag_node *stage, const char *why, const struct dag_node *because) {
	struct buf text = BUF_INIT;
	buf_printf(&text, "%s '%s', which %s", why, because->plan->name, fate(because));
	tell_waited(stage);
	publish_lost_why(stage->batch, buf_str(&text));
	buf_fini(&text);
}

// Skips the stage if it waits.
static void skip_one(struct casualties *casualties, struct dag_node *stage, const char *why, const struct dag_node *because) {
	struct run *run = stage->run;
	if (stage->state != STAGE_WAITING) {
		return;
	}
	--run->dag->nwaiting;
	stage->state = STAGE_SKIPPED;
	atomic_store_relaxed(&stage->skipped, true); // what is counted by it is counted under the run's lock
	if (++casualties->skipped <= SKIPS_NAMED && !run->options->quiet) {
		diag_note("batch '%s' is skipped: %s '%s', which %s", text_shows(stage->plan->name), why,
		          text_shows(because->plan->name), fate(because));
	}
	if (run->publisher) {
		tell_skip(stage, why, because);
	}
	pool_cancel(run->pool, stage->queue);
	counts_lost(stage->batch, known_jobs(stage->plan));
	add_casualty(casualties, stage);
}

// Skips all that cannot be any more, because this stage is skipped or a job of it failed. What it emits into goes on with
// what it got, but nothing may follow that, as if it were whole.
static void skip_after(struct dag_node *stage) {
	struct casualties casualties = {.at = NULL};
	add_casualty(&casualties, stage);
	while (casualties.n > 0) {
		struct dag_node *at = casualties.at[--casualties.n];
		struct dag_node *target = at->plan->emits ? dag_node_of(at->run, at->plan->emits) : NULL;
		for (size_t i = 0; i < at->ndependents; ++i) {
			skip_one(&casualties, at->dependents[i], "it needs", at);
		}
		if (target && is_starved(target)) {
			skip_one(&casualties, target, "its items come from", at);
		} else if (target && target != at && !target->is_tainted) {
			target->is_tainted = true;
			add_casualty(&casualties, target);
		}
		if (at->state == STAGE_SKIPPED) {
			dag_node_fed(at);
		}
	}
	if (casualties.skipped > SKIPS_NAMED && !stage->run->options->quiet) {
		diag_note("and %zu more batches are skipped, down from '%s'", casualties.skipped - SKIPS_NAMED,
		          text_shows(stage->plan->name));
	}
	free(casualties.at);
}

// ---- what workers have posted ----

static void end(struct dag_node *stage, bool failed) {
	if (stage->state == STAGE_RUNNING) {
		stage->state = STAGE_ENDED;
	}
	struct dag_node *target = stage->plan->emits ? dag_node_of(stage->run, stage->plan->emits) : NULL;
	bool again = stage->again || stage->fed_again || atomic_load_relaxed(&stage->has_run); // the pool's lock was between
	if (target && target != stage) {
		target->fed_again |= again;
		--target->nfeeders;
		dag_node_settle(target);
	}
	if (stage->state != STAGE_ENDED || stage->is_tainted || (failed && !stage->plan->allow_failure)) {
		return; // skip_after() was called for it
	}
	for (size_t i = 0; i < stage->ndependents; ++i) {
		stage->dependents[i]->again |= again;
		meet(stage->dependents[i]);
	}
}

static void see_failure(struct dag_node *stage) {
	if (!stage->plan->allow_failure && !stage->failure_seen) {
		stage->failure_seen = true;
		skip_after(stage);
	}
}

void dag_advance(struct run *run) {
	struct dag *dag = run->dag;
	bool failed, ended;
	struct dag_node *stage;
	while (dag && !dag->stopped && (stage = dag_take_posted(dag, &failed, &ended))) {
		if (failed) {
			see_failure(stage);
		}
		if (ended) {
			end(stage, failed);
		}
		begin_ready(run);
	}
}

// ---- open and close ----

static struct queue_attrs attrs_of(struct run *run, const struct manifest_batch *plan) {
	struct queue_attrs attrs = {
		.weight = (uint32_t)plan->weight,
		.priority = plan->priority,
		.max_parallel = (uint32_t)plan->max_parallel,
		.long_running = plan->long_running,
		.prefer_fairness = plan->prefer_fairness,
		.low_water = FEED_LOW_BYTES,
		.paused = true,
	};
	batch_override(run, plan->name, &attrs);
	return attrs;
}

static void open_one(struct run *run, struct dag_node *stage, const struct manifest_batch *plan) {
	stage->run = run;
	stage->plan = plan;
	stage->attrs = attrs_of(run, plan);
	stage->batch = batch_new(run, plan->name);
	stage->batch->stage = stage;
	stage->batch->allow_failure = plan->allow_failure;
	stage->batch->width = dag_node_width(stage, (unsigned)plan->job->slots_per_job);
	stage->queue = pool_queue_open(run->pool, plan->name, &stage->attrs, stage->batch);
	verify(stage->queue); // nothing has begun, so nothing was cut short
	batch_ref(stage->batch);
	batch_open_lane(stage->batch);
	if (run->publisher) {
		tell_met(stage);
	}
	++run->dag->nwaiting;
}

static void connect(struct dag_node *stage) {
	const struct manifest_batch *plan = stage->plan;
	stage->unmet += plan->nneeds + 1; // one until all are connected
	for (size_t i = 0; i < plan->nneeds; ++i) {
		struct dag_node *needed = dag_node_of(stage->run, plan->needs[i]);
		grow_array(&needed->dependents, &needed->dependents_cap, needed->ndependents + 1, sizeof(needed->dependents[0]));
		needed->dependents[needed->ndependents++] = stage;
	}
	if (plan->emits) {
		struct dag_node *target = dag_node_of(stage->run, plan->emits);
		stage->batch->emits = target->queue;
		target->batch->is_fed = true;
		target->nfeeders += target != stage;
		if (target != stage && plan->emits->source == MANIFEST_NONE && !target->awaits_feeder) {
			target->awaits_feeder = true;
			++target->unmet;
		}
	}
}

// Is what runs the commands there? Returns 0, or -1 after a message.
static int check_shell(const struct manifest *manifest, const struct manifest_batch *plan, const char *shell) {
	const char *error;
	if (shell && strcmp(shell, "none") == 0) {
		return 0;
	}
	char *path = job_spec_shell(shell, manifest_batch_has_items(plan), &error);
	if (!path) {
		diag_error("%s:%u: batch '%s': shell: '%s': %s", text_shows(manifest->path), plan->line, text_shows(plan->name),
		           text_shows(shell ? shell : "/bin/sh"), error);
	}
	free(path);
	return path ? 0 : -1;
}

int dag_check(const struct manifest *manifest) {
	int result = 0;
	for (size_t i = 0; i < manifest->nbatches; ++i) {
		const struct manifest_batch *plan = &manifest->batches[i];
		const char *last = plan->job->shell;
		if (!plan->selected) {
			continue;
		}
		result |= check_shell(manifest, plan, last);
		for (size_t k = 0; k < plan->ncommands; ++k) {
			const char *shell = plan->commands[k].job->shell;
			if (shell != last) {
				result |= check_shell(manifest, plan, shell);
				last = shell;
			}
		}
	}
	return result;
}

int dag_open(struct run *run) {
	const struct manifest *manifest = run->manifest;
	if (dag_check(manifest) != 0) {
		return -1;
	}
	struct dag *dag = run->dag = NEW(struct dag);
	dag->n = manifest->nbatches;
	dag->all = xcalloc(dag->n, sizeof(*dag->all));
	dag->posted_end = &dag->posted;
	dag->ready_end = &dag->ready;
	mutex_init(&dag->lock);
	for (size_t i = 0; i < dag->n; ++i) {
		if (manifest->batches[i].selected) {
			open_one(run, &dag->all[i], &manifest->batches[i]);
		}
	}
	for (size_t i = 0; i < dag->n; ++i) {
		if (dag->all[i].plan) {
			connect(&dag->all[i]);
		}
	}
	for (size_t i = 0; i < dag->n; ++i) {
		if (dag->all[i].plan) {
			meet(&dag->all[i]);
		}
	}
	begin_ready(run);
	for (size_t i = 0; i < dag->n && run->publisher; ++i) {
		if (dag->all[i].plan && dag->all[i].state == STAGE_WAITING) {
			tell_waits(&dag->all[i]);
		}
	}
	return 0;
}

bool dag_are_fed(const struct run *run) {
	return !run->dag || run->dag->nwaiting == 0;
}

void dag_stop(struct run *run) {
	struct dag *dag = run->dag;
	bool failed, ended;
	struct dag_node *posted;
	if (!dag || dag->stopped) {
		return;
	}
	while ((posted = dag_take_posted(dag, &failed, &ended))) {
		if (failed) { // what needs these is skipped, the rest is cancelled
			see_failure(posted);
		}
	}
	dag->stopped = true;
	for (size_t i = 0; i < dag->n; ++i) {
		struct dag_node *stage = &dag->all[i];
		if (stage->plan && stage->state == STAGE_WAITING) {
			counts_lost(stage->batch, known_jobs(stage->plan));
		}
	}
}

void dag_close(struct run *run) {
	struct dag *dag = run->dag;
	if (!dag) {
		return;
	}
	for (size_t i = 0; i < dag->n; ++i) {
		if (dag->all[i].queue) {
			dag_node_release(&dag->all[i]);
		}
		buf_fini(&dag->all[i].words);
		free(dag->all[i].dependents);
		free(dag->all[i].path);
	}
	mutex_fini(&dag->lock);
	free(dag->all);
	free(dag);
	run->dag = NULL;
}

