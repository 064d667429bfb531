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

#include "run/stages.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "cli/option_pairs.h"
#include "plan/words.h"
#include "run/beside.h"
#include "run/feed.h"
#include "run/telling.h"
#include "run/watch.h"
#include "run/work.h"

#include <errno.h>
#include <unistd.h>

enum { SKIPS_NAMED = 20 }; // batches skipped because of one, in messages

enum stage_state { STAGE_WAITING, STAGE_RUNNING, STAGE_ENDED, STAGE_SKIPPED };

struct stage {
	struct run *run;
	const struct manifest_batch *plan; // NULL: not selected
	struct queue *queue;         // held open, or NULL
	struct batch *batch;         // a reference, as long as the queue is held; it owns what its jobs are made from
	enum stage_state state;
	atomic_bool skipped;         // the same, for the workers
	atomic_bool has_failed;      // as `failed`, to be asked without the lock
	atomic_bool has_run;         // a job of it has, and not just for what it emits
	bool again;                  // something that it needs has
	bool fed_again;              // or something that emits into it
	size_t unmet;                // needs that have not ended well yet, and one if it has to wait for a feeder
	bool awaits_feeder;          // all its items are emitted, and no batch that does so has begun
	struct stage *next_ready;
	size_t nfeeders;             // other batches that may still emit into it
	bool fed;                    // its own items are queued
	struct stage **dependents;   // the batches that need it
	size_t ndependents, dependents_cap;
	struct queue_attrs attrs;

	// its items
	size_t next;                 // of its list
	struct source_config source; // of its items, if they are read: its input borrows it to the end,
	char *path;                  // and the name of the file
	struct buf words;            // scratch of stage_next()

	// posted by workers, under the lock of stages
	bool failed, ended;
	struct result first;         // failure
	bool is_posted;
	struct stage *next_posted;
	bool failure_seen;           // the event loop knows of it
	uint64_t waits_since;        // for others, and that was told; 0: not
	bool is_tainted;             // a batch that emits into it failed or was skipped: it may lack items
};

struct stages {
	struct stage *all;           // as manifest->batches
	size_t n;
	size_t nwaiting;             // stages in STAGE_WAITING
	bool stopped;
	struct stage *ready, **ready_end; // nothing keeps them from beginning
	mutex lock;                  // guards what workers post
	struct stage *posted, **posted_end;
};

static struct stage *stage_of(const struct run *run, const struct manifest_batch *plan) {
	return &run->stages->all[plan - run->manifest->batches];
}

// ---- recipes ----

static void names_of(const struct manifest_batch *plan, struct names *ret_names) {
	*ret_names = (struct names){xcalloc(plan->matrix.naxes, sizeof(char *)), plan->matrix.naxes, NULL};
	for (size_t i = 0; i < plan->matrix.naxes; ++i) {
		ret_names->names[i] = (char *)plan->matrix.axes[i].name;
	}
}

static unsigned cut_width(const struct stage *stage, unsigned width) {
	unsigned slots = stage->run->slots;
	if (width <= slots) {
		return width;
	}
	diag_warn("batch '%s': slots_per_job: %u is cut to the %u slot%s there %s", diag_shows(stage->plan->name), width,
	          slots, slots == 1 ? "" : "s", slots == 1 ? "is" : "are");
	return slots;
}

// Returns NULL after a message.
static struct recipe *make_recipe(struct stage *stage, const struct manifest_job *job, const char *command,
                                  bool templates) {
	struct run *run = stage->run;
	struct recipe *recipe = NEW(struct recipe);
	struct names names;
	names_of(stage->plan, &names);
	struct job_texts texts = {
		.manifest = run->manifest, .batch = stage->plan, .job = job, .command = command, .templates = templates,
	};
	int failed = recipe_from_job(recipe, run->options, run->context, &texts, &names);
	free(names.names);
	if (failed) {
		recipe_free(recipe);
		return NULL;
	}
	recipe->width = job == stage->plan->job ? stage->batch->width : cut_width(stage, recipe->width);
	return recipe;
}

// For a command that is no item of the batch: it has the batch's context, and nothing that follows from a job.
static struct recipe *make_plain_recipe(struct stage *stage, const char *command) {
	struct manifest_job job = *stage->plan->job;
	job.then = (struct manifest_texts){NULL, 0};
	job.on_failure = job.creates = NULL;
	job.retries = 0;
	job.slots_per_job = 1;
	return make_recipe(stage, &job, command, /* templates */ false);
}

static int make_recipes(struct stage *stage) {
	const struct manifest_batch *plan = stage->plan;
	struct batch *batch = stage->batch;
	bool has_items = manifest_batch_has_items(plan);
	batch->nrecipes = plan->ncommands + 1; // its own, then those of `commands` with keys of their own
	batch->recipes = xcalloc(batch->nrecipes, sizeof(*batch->recipes));
	batch->recipes[0] = make_recipe(stage, plan->job, has_items ? plan->run : NULL, has_items);
	bool failed = !batch->recipes[0];
	if (plan->finally) {
		batch->finally = make_plain_recipe(stage, plan->finally);
		failed |= !batch->finally;
	}
	if (plan->source == MANIFEST_COMMAND) {
		batch->listing = make_plain_recipe(stage, plan->source_text);
		failed |= !batch->listing;
	}
	return failed ? -1 : 0;
}

// ---- the items that the manifest holds ----

static size_t list_length(const struct manifest_batch *plan) {
	switch (plan->source) {
	case MANIFEST_ARGS: return plan->args.n;
	case MANIFEST_MATRIX: return plan->matrix.nrows;
	case MANIFEST_NONE: return plan->nfeeders > 0 ? 0 : plan->run ? 1 : plan->ncommands;
	default: return 0;
	}
}

size_t stage_left(const struct stage *stage) {
	return list_length(stage->plan) - stage->next;
}

// A record that is a command: a line, or without a shell its words.
static void command_record(struct stage *stage, const char *text, unsigned recipe, struct record *ret_record,
                           const char **ret_bad) {
	*ret_record = (struct record){.args = text, .size = strlen(text) + 1, .nargs = 1};
	if (stage->batch->recipes[recipe]->by.shell) {
		return;
	}
	size_t n;
	buf_reset(&stage->words);
	if (words_split(text, &stage->words, &n, ret_bad) == 0) {
		*ret_record = (struct record){.args = buf_str(&stage->words), .size = stage->words.len, .nargs = (uint32_t)n};
	}
}

static void entry_record(struct stage *stage, size_t i, struct record *ret_record, unsigned *ret_recipe,
                         const char **ret_bad) {
	const struct manifest_command *entry = &stage->plan->commands[i];
	if (entry->job != stage->plan->job) {
		*ret_recipe = (unsigned)i + 1;
		stage->batch->recipes[i + 1] = make_recipe(stage, entry->job, NULL, /* templates */ false);
		if (!stage->batch->recipes[i + 1]) {
			*ret_recipe = 0;
			*ret_record = (struct record){.args = entry->run, .size = strlen(entry->run) + 1, .nargs = 1};
			*ret_bad = "cannot be set up";
			return;
		}
	}
	command_record(stage, entry->run, *ret_recipe, ret_record, ret_bad);
}

static void row_record(struct stage *stage, size_t row, struct record *ret_record) {
	const struct manifest_matrix *matrix = &stage->plan->matrix;
	buf_reset(&stage->words);
	for (size_t axis = 0; axis < matrix->naxes; ++axis) {
		const char *value = manifest_matrix_value(matrix, row, axis);
		buf_add(&stage->words, value, strlen(value) + 1);
	}
	*ret_record = (struct record){
		.args = buf_str(&stage->words), .size = stage->words.len, .nargs = (uint32_t)matrix->naxes,
	};
}

bool stage_next(struct stage *stage, struct record *ret_record, unsigned *ret_recipe, const char **ret_bad) {
	const struct manifest_batch *plan = stage->plan;
	if (stage_left(stage) == 0) {
		return false;
	}
	size_t i = stage->next++;
	*ret_recipe = 0;
	*ret_bad = NULL;
	if (plan->source == MANIFEST_ARGS) {
		*ret_record = (struct record){.args = plan->args.at[i], .size = strlen(plan->args.at[i]) + 1, .nargs = 1};
	} else if (plan->source == MANIFEST_MATRIX) {
		row_record(stage, i, ret_record);
	} else if (plan->run) {
		command_record(stage, plan->run, 0, ret_record, ret_bad);
	} else {
		entry_record(stage, i, ret_record, ret_recipe, ret_bad);
	}
	return true;
}

// ---- telling ----

void stages_show(const struct run *run) {
	static const char *const words[] = {
		[STAGE_WAITING] = "waits", [STAGE_RUNNING] = "running", [STAGE_ENDED] = "done", [STAGE_SKIPPED] = "skipped",
	};
	struct buf text = BUF_INIT;
	for (size_t i = 0; run->stages && i < run->stages->n; ++i) {
		const struct stage *stage = &run->stages->all[i];
		if (stage->plan) {
			buf_adds(&text, text.len > 0 ? "; " : "batches: ");
			buf_add_escaped(&text, stage->plan->name, strlen(stage->plan->name), 80);
			buf_printf(&text, " %s", words[stage->state]);
			if (stage->state == STAGE_RUNNING || stage->state == STAGE_WAITING) {
				watch_add_eta(run, stage->plan->name, &text);
			}
		}
	}
	if (text.len > 0) {
		diag_note("%s", text.data);
	}
	buf_fini(&text);
}

static void tell_met(struct stage *stage) {
	size_t jobs = manifest_batch_jobs(stage->plan);
	bool known = jobs != SIZE_MAX && stage->plan->nfeeders == 0;
	telling_meet(stage->batch, &stage->attrs, known ? (int64_t)jobs : -1);
	telling_batch_start(stage->batch);
}

// What the stage waits for: its needs, or those that have its items.
static void tell_waits(struct stage *stage) {
	const struct manifest_batch *plan = stage->plan;
	struct buf names = BUF_INIT;
	for (size_t i = 0; i < plan->nneeds; ++i) {
		buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", plan->needs[i]->name);
	}
	for (size_t i = 0; i < plan->nfeeders && stage->awaits_feeder && plan->nneeds == 0; ++i) {
		buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", plan->feeders[i]->name);
	}
	stage->waits_since = now_ns();
	telling_wait(stage->run, stage->batch, 0, WHY_NEEDS, buf_str(&names));
	buf_fini(&names);
}

static void tell_waited(struct stage *stage) {
	if (stage->waits_since > 0) {
		telling_wait_end(stage->run, stage->batch, 0, WHY_NEEDS, stage->waits_since);
		stage->waits_since = 0;
	}
}

// ---- begin ----

static void release(struct stage *stage) {
	struct queue *queue = stage->queue;
	struct batch *batch = stage->batch;
	stage->queue = NULL;
	stage->batch = NULL;
	pool_queue_close(stage->run->pool, queue);
	batch_unref(batch);
}

// Lets go of the queue, if nothing comes from outside any more.
static void settle(struct stage *stage) {
	if (!stage->queue || !stage->fed || stage->nfeeders > 0) {
		return;
	}
	if (stage->state == STAGE_SKIPPED) {
		pool_cancel(stage->run->pool, stage->queue); // what was emitted into it meanwhile
	}
	release(stage);
}

void stage_count_lost(struct stage *stage, size_t n) {
	parcel_count_lost(stage->batch, n);
}

void stage_fed(struct stage *stage) {
	stage->fed = true;
	settle(stage);
}

// A file that the batch names is seen from its working directory. The caller frees it.
static char *path_from(const struct recipe *recipe, const char *path) {
	struct buf buf = BUF_INIT;
	if (recipe->context->cwd && path[0] != '/') {
		buf_printf(&buf, "%s/", recipe->context->cwd);
	}
	buf_adds(&buf, path);
	return buf_take(&buf);
}

int stages_check_files(const struct run *run) {
	int result = 0;
	for (size_t i = 0; i < run->manifest->nbatches && result == 0; ++i) {
		const struct manifest_batch *plan = &run->manifest->batches[i];
		if (!plan->selected || (plan->source != MANIFEST_FILE && plan->source != MANIFEST_FILE0)) {
			continue;
		}
		struct buf name = BUF_INIT, path = BUF_INIT;
		const char *dir = plan->source_text[0] != '/' ? plan->job->working_dir : NULL;
		buf_printf(&name, "the items of batch '%s'", diag_shows(plan->name));
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

static int begin_source(struct stage *stage) {
	const struct manifest_batch *plan = stage->plan;
	struct run *run = stage->run;
	char delimiter = plan->source == MANIFEST_FILE0 ? '\0' : '\n';
	switch (plan->source) {
	case MANIFEST_GLOB:
	case MANIFEST_COMMAND:
		if (beside_listing(run, stage->queue, stage) != SUBMIT_OK) {
			parcel_count_lost(stage->batch, 1);
		}
		stage_fed(stage);
		return 0;
	case MANIFEST_FILE:
	case MANIFEST_FILE0:
		stage->path = path_from(stage->batch->recipes[0], plan->source_text);
		stage->source = (struct source_config){.kind = FROM_FILE, .path = stage->path};
		if (run->options->dry_run && access(stage->path, R_OK) != 0) { // an earlier batch may be going to make it
			diag_note("batch '%s': its items cannot be told yet: '%s': %s", diag_shows(plan->name),
			          diag_shows(stage->path), strerror(errno));
			stage_fed(stage);
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
	if (stage_left(stage) == 0) {
		stage_fed(stage);
		return 0;
	}
	return feeds_add_stage(run, stage, NULL, delimiter);
}

// One thing less that the stage waits for.
static void meet(struct stage *stage) {
	struct stages *stages = stage->run->stages;
	if (--stage->unmet == 0 && stage->state == STAGE_WAITING) {
		*stages->ready_end = stage;
		stages->ready_end = &stage->next_ready;
	}
}

static void begin(struct stage *stage) {
	struct run *run = stage->run;
	struct stage *target = stage->plan->emits ? stage_of(run, stage->plan->emits) : NULL;
	if (target && target->awaits_feeder) {
		target->awaits_feeder = false;
		meet(target);
	}
	--run->stages->nwaiting;
	stage->state = STAGE_RUNNING;
	if (run->telling) {
		tell_waited(stage);
		telling_batch_begun(stage->batch);
	}
	stage->batch->again = stage->again;
	bool failed = make_recipes(stage) != 0;
	if (!failed) {
		stage->attrs.paused = false;
		queue_set(run->pool, stage->queue, &stage->attrs);
		if (stage->batch->finally) {
			beside_finally(run, stage->queue, stage);
		}
		failed = begin_source(stage) != 0;
	}
	if (failed) {
		stage->state = STAGE_SKIPPED; // what is emitted into it goes nowhere
		atomic_store_relaxed(&stage->skipped, true);
		pool_cancel(run->pool, stage->queue);
		work_count_trouble(stage->batch, "could not begin", NULL);
		stage_fed(stage);
	}
}

static void begin_ready(struct run *run) {
	struct stages *stages = run->stages;
	while (stages->ready) {
		struct stage *stage = stages->ready;
		stages->ready = stage->next_ready;
		if (!stages->ready) {
			stages->ready_end = &stages->ready;
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
static bool is_starved(const struct stage *stage) {
	const struct manifest_batch *plan = stage->plan;
	bool all = plan->source == MANIFEST_NONE && plan->nfeeders > 0;
	for (size_t i = 0; i < plan->nfeeders; ++i) {
		const struct stage *feeder = stage_of(stage->run, plan->feeders[i]);
		all = all && (feeder == stage || !feeder->plan || feeder->state == STAGE_SKIPPED);
	}
	return all;
}

// Stages that others cannot follow any more, to be looked at; in the order of a stack.
struct casualties {
	struct stage **at;
	size_t n, cap;
	size_t skipped;
};

static void add_casualty(struct casualties *casualties, struct stage *stage) {
	grow_array(&casualties->at, &casualties->cap, casualties->n + 1, sizeof(casualties->at[0]));
	casualties->at[casualties->n++] = stage;
}

// What became of the one because of which others are skipped.
static const char *fate(const struct stage *because) {
	return because->state == STAGE_SKIPPED && !because->failure_seen ? "is skipped"
		: because->is_tainted ? "lacks items" : "failed";
}

static void tell_skip(struct stage *stage, const char *why, const struct stage *because) {
	struct buf text = BUF_INIT;
	buf_printf(&text, "%s '%s', which %s", why, because->plan->name, fate(because));
	tell_waited(stage);
	telling_lost_why(stage->batch, buf_str(&text));
	buf_fini(&text);
}

// Skips the stage if it waits.
static void skip_one(struct casualties *casualties, struct stage *stage, const char *why, const struct stage *because) {
	struct run *run = stage->run;
	if (stage->state != STAGE_WAITING) {
		return;
	}
	--run->stages->nwaiting;
	stage->state = STAGE_SKIPPED;
	atomic_store_relaxed(&stage->skipped, true); // what is counted by it is counted under the run's lock
	if (++casualties->skipped <= SKIPS_NAMED && !run->options->quiet) {
		diag_note("batch '%s' is skipped: %s '%s', which %s", diag_shows(stage->plan->name), why,
		          diag_shows(because->plan->name), fate(because));
	}
	if (run->telling) {
		tell_skip(stage, why, because);
	}
	pool_cancel(run->pool, stage->queue);
	parcel_count_lost(stage->batch, known_jobs(stage->plan));
	add_casualty(casualties, stage);
}

// Skips all that cannot be any more, because this stage is skipped or a job of it failed. What it emits into goes on with
// what it got, but nothing may follow that, as if it were whole.
static void skip_after(struct stage *stage) {
	struct casualties casualties = {.at = NULL};
	add_casualty(&casualties, stage);
	while (casualties.n > 0) {
		struct stage *at = casualties.at[--casualties.n];
		struct stage *target = at->plan->emits ? stage_of(at->run, at->plan->emits) : NULL;
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
			stage_fed(at);
		}
	}
	if (casualties.skipped > SKIPS_NAMED && !stage->run->options->quiet) {
		diag_note("and %zu more batches are skipped, down from '%s'", casualties.skipped - SKIPS_NAMED,
		          diag_shows(stage->plan->name));
	}
	free(casualties.at);
}

// ---- what workers post ----

// Under the lock of stages.
static void post(struct stage *stage) {
	struct stages *stages = stage->run->stages;
	if (!stage->is_posted) {
		stage->is_posted = true;
		stage->next_posted = NULL;
		*stages->posted_end = stage;
		stages->posted_end = &stage->next_posted;
	}
}

void stage_job_failed(struct stage *stage, const struct result *result) {
	struct stages *stages = stage->run->stages;
	mutex_lock(&stages->lock);
	bool first = !stage->failed;
	if (first) {
		stage->failed = true;
		atomic_store_relaxed(&stage->has_failed, true); // only spares others the lock
		stage->first = *result;
		post(stage);
	}
	mutex_unlock(&stages->lock);
	if (first) {
		run_wake(stage->run);
	}
}

void stage_ended(struct stage *stage) {
	struct stages *stages = stage->run->stages;
	mutex_lock(&stages->lock);
	stage->ended = true;
	post(stage);
	mutex_unlock(&stages->lock);
	run_wake(stage->run);
}

// The next stage that something was posted for, with what; NULL if there is none.
static struct stage *take_posted(struct stages *stages, bool *ret_failed, bool *ret_ended) {
	mutex_lock(&stages->lock);
	struct stage *stage = stages->posted;
	if (stage) {
		stages->posted = stage->next_posted;
		if (!stages->posted) {
			stages->posted_end = &stages->posted;
		}
		stage->is_posted = false;
		*ret_failed = stage->failed;
		*ret_ended = stage->ended;
	}
	mutex_unlock(&stages->lock);
	return stage;
}

static void end(struct stage *stage, bool failed) {
	if (stage->state == STAGE_RUNNING) {
		stage->state = STAGE_ENDED;
	}
	struct stage *target = stage->plan->emits ? stage_of(stage->run, stage->plan->emits) : NULL;
	bool again = stage->again || stage->fed_again || atomic_load_relaxed(&stage->has_run); // the pool's lock was between
	if (target && target != stage) {
		target->fed_again |= again;
		--target->nfeeders;
		settle(target);
	}
	if (stage->state != STAGE_ENDED || stage->is_tainted || (failed && !stage->plan->allow_failure)) {
		return; // skip_after() was called for it
	}
	for (size_t i = 0; i < stage->ndependents; ++i) {
		stage->dependents[i]->again |= again;
		meet(stage->dependents[i]);
	}
}

static void see_failure(struct stage *stage) {
	if (!stage->plan->allow_failure && !stage->failure_seen) {
		stage->failure_seen = true;
		skip_after(stage);
	}
}

void stages_advance(struct run *run) {
	struct stages *stages = run->stages;
	bool failed, ended;
	struct stage *stage;
	while (stages && !stages->stopped && (stage = take_posted(stages, &failed, &ended))) {
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

static struct queue_attrs attrs_of(const struct run *run, const struct manifest_batch *plan) {
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

static void open_one(struct run *run, struct stage *stage, const struct manifest_batch *plan) {
	stage->run = run;
	stage->plan = plan;
	stage->attrs = attrs_of(run, plan);
	stage->batch = batch_new(run, plan->name);
	stage->batch->stage = stage;
	stage->batch->allow_failure = plan->allow_failure;
	stage->batch->width = cut_width(stage, (unsigned)plan->job->slots_per_job);
	stage->queue = pool_queue_open(run->pool, plan->name, &stage->attrs, stage->batch);
	verify(stage->queue); // nothing has begun, so nothing was cut short
	batch_ref(stage->batch);
	batch_open_lane(stage->batch);
	if (run->telling) {
		tell_met(stage);
	}
	++run->stages->nwaiting;
}

static void connect(struct stage *stage) {
	const struct manifest_batch *plan = stage->plan;
	stage->unmet += plan->nneeds + 1; // one until all are connected
	for (size_t i = 0; i < plan->nneeds; ++i) {
		struct stage *needed = stage_of(stage->run, plan->needs[i]);
		grow_array(&needed->dependents, &needed->dependents_cap, needed->ndependents + 1, sizeof(needed->dependents[0]));
		needed->dependents[needed->ndependents++] = stage;
	}
	if (plan->emits) {
		struct stage *target = stage_of(stage->run, plan->emits);
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
	char *path = recipe_shell(shell, manifest_batch_has_items(plan), &error);
	if (!path) {
		diag_error("%s:%u: batch '%s': shell: '%s': %s", diag_shows(manifest->path), plan->line, diag_shows(plan->name),
		           diag_shows(shell ? shell : "/bin/sh"), error);
	}
	free(path);
	return path ? 0 : -1;
}

int stages_check(const struct manifest *manifest) {
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

int stages_open(struct run *run) {
	const struct manifest *manifest = run->manifest;
	if (stages_check(manifest) != 0) {
		return -1;
	}
	struct stages *stages = run->stages = NEW(struct stages);
	stages->n = manifest->nbatches;
	stages->all = xcalloc(stages->n, sizeof(*stages->all));
	stages->posted_end = &stages->posted;
	stages->ready_end = &stages->ready;
	mutex_init(&stages->lock);
	for (size_t i = 0; i < stages->n; ++i) {
		if (manifest->batches[i].selected) {
			open_one(run, &stages->all[i], &manifest->batches[i]);
		}
	}
	for (size_t i = 0; i < stages->n; ++i) {
		if (stages->all[i].plan) {
			connect(&stages->all[i]);
		}
	}
	for (size_t i = 0; i < stages->n; ++i) {
		if (stages->all[i].plan) {
			meet(&stages->all[i]);
		}
	}
	begin_ready(run);
	for (size_t i = 0; i < stages->n && run->telling; ++i) {
		if (stages->all[i].plan && stages->all[i].state == STAGE_WAITING) {
			tell_waits(&stages->all[i]);
		}
	}
	return 0;
}

bool stages_are_fed(const struct run *run) {
	return !run->stages || run->stages->nwaiting == 0;
}

void stages_stop(struct run *run) {
	struct stages *stages = run->stages;
	bool failed, ended;
	struct stage *posted;
	if (!stages || stages->stopped) {
		return;
	}
	while ((posted = take_posted(stages, &failed, &ended))) {
		if (failed) { // what needs these is skipped, the rest is cancelled
			see_failure(posted);
		}
	}
	stages->stopped = true;
	for (size_t i = 0; i < stages->n; ++i) {
		struct stage *stage = &stages->all[i];
		if (stage->plan && stage->state == STAGE_WAITING) {
			parcel_count_lost(stage->batch, known_jobs(stage->plan));
		}
	}
}

void stages_close(struct run *run) {
	struct stages *stages = run->stages;
	if (!stages) {
		return;
	}
	for (size_t i = 0; i < stages->n; ++i) {
		if (stages->all[i].queue) {
			release(&stages->all[i]);
		}
		buf_fini(&stages->all[i].words);
		free(stages->all[i].dependents);
		free(stages->all[i].path);
	}
	mutex_fini(&stages->lock);
	free(stages->all);
	free(stages);
	run->stages = NULL;
}

// ---- asked by others ----

struct queue *stage_queue(const struct stage *stage) {
	return stage->queue;
}

bool stage_is_skipped(const struct stage *stage) {
	return atomic_load_relaxed(&stage->skipped);
}

void stage_job_runs(struct stage *stage) {
	if (!atomic_load_relaxed(&stage->has_run)) {
		atomic_store_relaxed(&stage->has_run, true);
	}
}

bool stage_has_failed(const struct stage *stage) {
	return atomic_load_relaxed(&stage->has_failed);
}

struct result stage_result(const struct stage *stage) {
	struct stages *stages = stage->run->stages;
	mutex_lock(&stages->lock);
	struct result result = stage->failed ? stage->first : (struct result){.outcome = OUTCOME_OK};
	mutex_unlock(&stages->lock);
	return result;
}

const struct manifest_batch *stage_plan(const struct stage *stage) {
	return stage->plan;
}

void stage_lost_why(struct stage *stage, const char *why) {
	if (stage->run->telling) {
		telling_lost_why(stage->batch, why);
	}
}
