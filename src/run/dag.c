// The batches of a manifest during the run: which of them wait for other batches, which are at work, and which are skipped.
//
//   WAITING -> all needs met -> RUNNING -> queue removed -> ENDED
//           -> a need failed, or no batch is left to emit into the batch -> SKIPPED
//
// Each batch has its queue from the start, so that the order of the file is the order of turns. The queue of a waiting
// batch is paused: the items that other batches emit into it stay there. The batch's node (struct dag_node) holds the queue open until the
// batch's own items are queued and all batches that emit into it have ended. From then on, the pool removes the queue when its last
// item is done, which is the end of the batch.
//
// Workers only post that a job failed or a queue was removed. The event loop's thread decides what follows, and only this thread changes
// states. So no function recurses, however long a chain of batches is.

#include "run/run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli/options.h"
#include "state/dag_node.h"
#include "state/publish.h"
#include "exec/job_run.h"
#include "feed/feed.h"
#include "hosts/hosts.h"
#include "record/record.h"

#include <errno.h>
#include <unistd.h>

enum { SKIPS_NAMED = 20 }; // if a failed batch causes other batches to be skipped, messages name at most this many skipped batches

// ---- events ----

void dag_show(const struct run *run) {
	static const char *const names[] = {
		[NODE_WAITING] = "waits", [NODE_RUNNING] = "running", [NODE_ENDED] = "done", [NODE_SKIPPED] = "skipped",
	};
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	for (size_t i = 0; run->dag && i < run->dag->n; ++i) {
		const struct dag_node *node = &run->dag->all[i];
		if (node->plan) {
			buf_adds(&text, text.len > 0 ? "; " : "batches: ");
			buf_add_escaped(&text, node->plan->name, strlen(node->plan->name), 80);
			buf_printf(&text, " %s", names[dag_node_state(node)]);
			if (dag_node_state(node) == NODE_RUNNING || dag_node_state(node) == NODE_WAITING) {
				status_display_add_eta(run, node->plan->name, &text);
			}
		}
	}
	if (text.len > 0) {
		diag_note("%s", text.data);
	}
}

// Publishes what the node waits for: the batches that it needs, or the batches that emit its items.
static void publish_waiting(struct dag_node *node) {
	const struct manifest_batch *plan = node->plan;
	FP_CLEANUP(buf_fini) struct buf names = BUF_INIT;
	for (size_t i = 0; i < plan->nneeds; ++i) {
		buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", plan->needs[i]->name);
	}
	bool awaits = node->awaits_feeder && plan->nneeds == 0;
	for (const struct manifest_batch *feeder = plan->feeders; feeder && awaits; feeder = feeder->next_feeder) {
		buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", feeder->name);
	}
	node->waits_since = now_ns();
	publish_wait(node->run, node->batch, 0, WHY_NEEDS, buf_str(&names));
}

static void publish_waited(struct dag_node *node) {
	if (node->waits_since > 0) {
		publish_wait_end(node->run, node->batch, 0, WHY_NEEDS, node->waits_since);
		node->waits_since = 0;
	}
}

// ---- begin ----

// Returns the path of the file from which the batch reads its items; a relative path is below the batch's working directory. The caller frees it.
static char *source_path(const struct manifest *manifest, const struct manifest_batch *plan) {
	const char *dir = plan->source_text[0] != '/' ? plan->job->working_dir : NULL;
	struct buf path = BUF_INIT;
	if (dir) {
		buf_printf(&path, "%s%s%s/", dir[0] != '/' ? manifest->dir : "", dir[0] != '/' ? "/" : "", dir);
	}
	buf_adds(&path, plan->source_text);
	return buf_take(&path);
}

int dag_check_files(const struct run *run) {
	int result = 0;
	for (size_t i = 0; i < run->manifest->nbatches && result == 0; ++i) {
		const struct manifest_batch *plan = &run->manifest->batches[i];
		if (!plan->selected || (plan->source != MANIFEST_FILE && plan->source != MANIFEST_FILE0)) {
			continue;
		}
		FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
		FP_CLEANUP(free_later) char *path = source_path(run->manifest, plan);
		buf_printf(&name, "the items of batch '%s'", text_shows(plan->name));
		result = option_files_check(run->options, buf_str(&name), path);
	}
	return result;
}

static int begin_source(struct dag_node *node) {
	const struct manifest_batch *plan = node->plan;
	struct run *run = node->run;
	switch (plan->source) {
	case MANIFEST_GLOB:
	case MANIFEST_COMMAND:
		if (batch_command_listing(run, node->queue) != SUBMIT_OK) {
			publish_lost(node->batch, 1);
		}
		dag_node_fed(node);
		return 0;
	case MANIFEST_FILE:
	case MANIFEST_FILE0:
		node->source = (struct source_config){.kind = FROM_FILE, .path = source_path(run->manifest, plan)};
		if (run->options->dry_run && access(node->source.path, R_OK) != 0) { // without --dry-run, an earlier batch may make the file
			diag_note("batch '%s': its items are not known yet: '%s': %s", text_shows(plan->name),
			          text_shows(node->source.path), strerror(errno));
			dag_node_fed(node);
			return 0;
		}
		return feeds_add_node(run, node, &node->source);
	case MANIFEST_STDIN:
		node->source = (struct source_config){.kind = FROM_STDIN};
		return feeds_add_node(run, node, &node->source);
	case MANIFEST_NONE:
	case MANIFEST_ARGS:
	case MANIFEST_MATRIX:
		break;
	}
	if (dag_node_left(node) == 0) {
		dag_node_fed(node);
		return 0;
	}
	return feeds_add_node(run, node, NULL);
}

// Notes that one of the conditions that node->unmet counts is met. If it was the last condition, the node is ready to begin.
static void satisfy(struct dag_node *node) {
	if (--node->unmet == 0 && dag_node_state(node) == NODE_WAITING) {
		list_push_back(&node->run->dag->ready, &node->ready);
	}
}

static void begin(struct dag_node *node) {
	struct run *run = node->run;
	struct dag_node *target = node->plan->emits ? dag_node_of(run, node->plan->emits) : NULL;
	if (target && target->awaits_feeder) {
		target->awaits_feeder = false;
		satisfy(target);
	}
	--run->dag->nwaiting;
	atomic_store_relaxed(&node->state, NODE_RUNNING);
	publish_waited(node);
	node->batch->ready_at = now_ns();
	node->batch->again = node->again;
	bool failed = dag_node_make_specs(node) != 0;
	if (!failed) {
		node->batch->attrs.paused = false;
		if (node->batch->binding) {
			hosts_set_queue(node->batch->binding, node->queue, &node->batch->attrs, node->batch->width);
		} else {
			queue_set(run->pool, node->queue, &node->batch->attrs);
		}
		if (node->batch->finally) {
			batch_command_finally(run, node->queue);
		}
		failed = begin_source(node) != 0;
	}
	if (failed) {
		atomic_store_relaxed(&node->state, NODE_SKIPPED); // items that are emitted into the batch are dropped
		pool_cancel(run->pool, node->queue);
		publish_batch_failure(node->batch, "could not begin");
		dag_node_fed(node);
	}
}

static void begin_ready(struct run *run) {
	struct list *ready = &run->dag->ready;
	while (!list_is_empty(ready)) {
		struct dag_node *node = list_entry(ready->next, struct dag_node, ready);
		list_remove(&node->ready);
		if (dag_node_state(node) == NODE_WAITING) {
			begin(node);
		}
	}
}

// ---- skip ----

static size_t known_jobs(const struct manifest_batch *plan) {
	size_t n = manifest_batch_jobs(plan);
	return n == SIZE_MAX ? 1 : n;
}

// True if all batches that would have emitted into this batch were skipped: then it would end without a job, and must not count as done.
static bool is_starved(const struct dag_node *node) {
	const struct manifest_batch *plan = node->plan;
	bool all = plan->source == MANIFEST_NONE && plan->nfeeders > 0;
	for (const struct manifest_batch *at = plan->feeders; at; at = at->next_feeder) {
		const struct dag_node *feeder = dag_node_of(node->run, at);
		all = all && (feeder == node || !feeder->plan || dag_node_state(feeder) == NODE_SKIPPED);
	}
	return all;
}

// `nodes`: a stack of nodes that failed, were skipped or lack items, and whose dependents were not looked at yet. `nskipped`: batches skipped so far.
struct affected {
	struct list nodes;
	size_t nskipped;
};

static void affected_add(struct affected *affected, struct dag_node *node) {
	list_remove(&node->affected);
	list_push_front(&affected->nodes, &node->affected);
}

// Skips the batch of the node if it still waits. `why` and the name of `because` give the reason: "it needs 'a', which failed".
static void skip_one(struct affected *affected, struct dag_node *node, const char *why, const struct dag_node *because) {
	struct run *run = node->run;
	if (dag_node_state(node) != NODE_WAITING) {
		return;
	}
	--run->dag->nwaiting;
	atomic_store_relaxed(&node->state, NODE_SKIPPED); // relaxed: threads that count by this state do so under the publisher's lock
	bool is_skipped = dag_node_state(because) == NODE_SKIPPED && !because->failure_seen;
	const char *how = is_skipped ? "is skipped" : because->is_tainted ? "lacks items" :
		dag_node_result(because).outcome == OUTCOME_CANCELLED ? "was cancelled" : "failed";
	if (++affected->nskipped <= SKIPS_NAMED && !run->options->quiet) {
		diag_note("batch '%s' is skipped: %s '%s', which %s", text_shows(node->plan->name), why, text_shows(because->plan->name), how);
	}
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	buf_printf(&text, "%s '%s', which %s", why, because->plan->name, how);
	publish_waited(node);
	publish_set_lost_reason(node->batch, text.data);
	pool_cancel(run->pool, node->queue);
	publish_lost(node->batch, known_jobs(node->plan));
	affected_add(affected, node);
}

// Skips all batches that cannot run any more, because this node is skipped or one of its jobs failed. The batch that the node emits into
// goes on with the items that it has. But it lacks items, so the batches that need it are skipped, too.
static void skip_after(struct dag_node *node) {
	struct affected affected = {.nskipped = 0};
	list_init(&affected.nodes);
	affected_add(&affected, node);
	while (!list_is_empty(&affected.nodes)) {
		struct dag_node *at = list_entry(affected.nodes.next, struct dag_node, affected);
		struct dag_node *target = at->plan->emits ? dag_node_of(at->run, at->plan->emits) : NULL;
		list_remove(&at->affected);
		for (size_t i = 0; i < at->ndependents; ++i) {
			skip_one(&affected, at->dependents[i], "it needs", at);
		}
		if (target && is_starved(target)) {
			skip_one(&affected, target, "its items come from", at);
		} else if (target && target != at && !target->is_tainted) {
			target->is_tainted = true;
			affected_add(&affected, target);
		}
		if (dag_node_state(at) == NODE_SKIPPED) {
			dag_node_fed(at);
		}
	}
	if (affected.nskipped > SKIPS_NAMED && !node->run->options->quiet) {
		diag_note("and %zu more batches are skipped because of '%s'", affected.nskipped - SKIPS_NAMED,
		          text_shows(node->plan->name));
	}
}

// ---- what workers have posted ----

static void end(struct dag_node *node) {
	if (dag_node_state(node) == NODE_RUNNING) {
		atomic_store_relaxed(&node->state, NODE_ENDED);
	}
	struct dag_node *target = node->plan->emits ? dag_node_of(node->run, node->plan->emits) : NULL;
	bool again = node->again || node->fed_again || atomic_load_relaxed(&node->has_run); // has_run was set before the pool removed the queue
	if (target && target != node) {
		target->fed_again |= again;
		--target->nfeeders;
		dag_node_try_close(target);
	}
	if (dag_node_state(node) != NODE_ENDED || node->is_tainted || node->failure_seen) {
		return; // skip_after() has reached the node, and has skipped the batches that need it
	}
	for (size_t i = 0; i < node->ndependents; ++i) {
		node->dependents[i]->again |= again;
		satisfy(node->dependents[i]);
	}
}

static void see_failure(struct dag_node *node) {
	if (atomic_load_relaxed(&node->failed) && !node->plan->allow_failure && !node->failure_seen) {
		node->failure_seen = true;
		skip_after(node);
	}
}

// Takes the next node for which workers have posted something, and sets *ret_ended to whether its batch has ended. Returns NULL if no node is left.
static struct dag_node *take_posted(struct dag *dag, bool *ret_ended) {
	struct dag_node *node = NULL;
	FP_HOLD(&dag->lock);
	if (!list_is_empty(&dag->posted)) {
		node = list_entry(dag->posted.next, struct dag_node, posted);
		list_remove(&node->posted);
		*ret_ended = node->ended;
	}
	return node;
}

void dag_advance(struct run *run) {
	struct dag *dag = run->dag;
	struct dag_node *node;
	bool ended;
	while (dag && run->phase == RUN_RUNNING && (node = take_posted(dag, &ended))) {
		see_failure(node);
		if (ended) {
			end(node);
		}
		begin_ready(run);
	}
}

// ---- open and close ----

static void open_one(struct run *run, struct dag_node *node, const struct manifest_batch *plan) {
	node->run = run;
	node->plan = plan;
	list_init(&node->ready);
	list_init(&node->affected);
	list_init(&node->posted);
	size_t jobs = manifest_batch_jobs(plan);
	struct queue_attrs attrs = plan->attrs;
	attrs.low_water = FEED_LOW_BYTES;
	attrs.paused = true;
	batch_override(run, plan->name, &attrs);
	node->batch = batch_new(run, plan->name, &attrs, jobs != SIZE_MAX && plan->nfeeders == 0 ? (int64_t)jobs : -1);
	node->batch->node = node;
	node->batch->allow_failure = plan->allow_failure;
	node->batch->binding = plan->hosts.n > 0 && run->hosts ? hosts_bind(run->hosts, NULL, plan->hosts.at, plan->hosts.n) : NULL;
	node->batch->width = dag_node_width(node, (unsigned)plan->job->slots_per_job);
	node->queue = pool_queue_open(run->pool, plan->name, &attrs, node->batch);
	verify(node->queue); // the pool has not begun, so it has not been shut down
	batch_ref(node->batch);
	publish_batch_start(node->batch);
	++run->dag->nwaiting;
}

static void connect(struct dag_node *node) {
	const struct manifest_batch *plan = node->plan;
	node->unmet += plan->nneeds + 1; // plus 1, which dag_open() subtracts when all nodes are connected: no node begins earlier
	for (size_t i = 0; i < plan->nneeds; ++i) {
		struct dag_node *needed = dag_node_of(node->run, plan->needs[i]);
		*NEW_ELEMENT(needed->dependents, needed->ndependents, needed->dependents_cap) = node;
	}
	if (plan->emits) {
		struct dag_node *target = dag_node_of(node->run, plan->emits);
		node->batch->emits = target->queue;
		target->batch->is_fed = true;
		target->nfeeders += target != node;
		if (target != node && plan->emits->source == MANIFEST_NONE && !target->awaits_feeder) {
			target->awaits_feeder = true;
			++target->unmet;
		}
	}
}

// Checks that the shell which runs the commands exists. Returns 0, or -1 after a message.
static int check_shell(const struct manifest *manifest, const struct manifest_batch *plan, const char *shell) {
	const char *error;
	if (shell && strcmp(shell, "none") == 0) {
		return 0;
	}
	FP_CLEANUP(free_later) char *path = job_spec_shell(shell, manifest_batch_has_items(plan), &error);
	return path ? 0 : diag_error("%s:%u: batch '%s': shell: '%s': %s", text_shows(manifest->path), plan->line, text_shows(plan->name),
	                             text_shows(shell ? shell : "/bin/sh"), error);
}

static bool is_machine(const struct sshlogins *list, const char *name) {
	for (size_t i = 0; i < list->n; ++i) {
		if (sshlogin_matches(&list->logins[i], name)) {
			return true;
		}
	}
	return false;
}

// Checks that the machines of the batch are among those of the run. Returns 0, or -1 after a message.
static int check_hosts(const struct options *options, const struct manifest *manifest, const struct manifest_batch *plan) {
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	if (plan->hosts.n > 0 && plan->attrs.long_running) {
		buf_adds(&why, "jobs of long_running run on this machine");
	} else if (plan->hosts.n > 0 && options->hosts.n == 0) {
		buf_adds(&why, "the run has no other machines: they are named by -S, --sshloginfile or --slurm");
	}
	for (size_t i = 0; i < plan->hosts.n && why.len == 0; ++i) {
		if (!is_machine(&options->hosts, plan->hosts.at[i])) {
			buf_printf(&why, "'%s' is none of the machines of the run", text_shows(plan->hosts.at[i]));
		}
	}
	if (why.len == 0) {
		return 0;
	}
	return diag_error("%s:%u: batch '%s': hosts: %s", text_shows(manifest->path), plan->line, text_shows(plan->name), buf_str(&why));
}

int dag_check(const struct options *options, const struct manifest *manifest) {
	int result = 0;
	for (size_t i = 0; i < manifest->nbatches; ++i) {
		const struct manifest_batch *plan = &manifest->batches[i];
		const char *last = plan->job->shell;
		if (!plan->selected) {
			continue;
		}
		result |= check_hosts(options, manifest, plan);
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
	if (dag_check(run->options, manifest) != 0) {
		return -1;
	}
	struct dag *dag = run->dag = NEW(struct dag);
	dag->n = manifest->nbatches;
	dag->all = xcalloc(dag->n, sizeof(*dag->all));
	list_init(&dag->posted);
	list_init(&dag->ready);
	mutex_init(&dag->lock, LOCK_DAG);
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
			satisfy(&dag->all[i]);
		}
	}
	begin_ready(run);
	for (size_t i = 0; i < dag->n; ++i) {
		if (dag->all[i].plan && dag_node_state(&dag->all[i]) == NODE_WAITING) {
			publish_waiting(&dag->all[i]);
		}
	}
	return 0;
}

void dag_stop(struct run *run) {
	struct dag *dag = run->dag;
	struct dag_node *posted;
	bool ended;
	if (!dag) {
		return;
	}
	while ((posted = take_posted(dag, &ended))) {
		see_failure(posted); // batches that need a failed batch are skipped; other waiting batches are cancelled
	}
	for (size_t i = 0; i < dag->n; ++i) {
		struct dag_node *node = &dag->all[i];
		if (node->plan && dag_node_state(node) == NODE_WAITING) {
			publish_lost(node->batch, known_jobs(node->plan));
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
		free((char *)dag->all[i].source.path);
	}
	mutex_fini(&dag->lock);
	free(dag->all);
	free(dag);
	run->dag = NULL;
}

