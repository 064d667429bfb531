// The graph of the batches of a manifest: resolves needs and emits, finds cycles, and selects the batches of a run.

#include "manifest/internal.h"

#include "base/alloc.h"
#include "base/text.h"

enum { MOST_NAMED = 10 };

struct manifest_batch *manifest_find(const struct manifest *manifest, const char *name) {
	uint32_t number = map_get(&manifest->index, name, strlen(name));
	return number != MAP_NONE && number < manifest->nbatches ? &manifest->batches[number] : NULL;
}

static struct manifest_batch *resolve(struct loader *loader, const struct key *key, const struct node *node) {
	const char *name = load_text(loader, key, node);
	struct manifest_batch *batch = name ? manifest_find(loader->manifest, name) : NULL;
	if (name && !batch) {
		load_error(loader, node, "'%s' names '%s', and no batch has that name", key->name, text_show(name, node->n));
	}
	return batch;
}

static void resolve_needs(struct loader *loader, const struct node *node, struct manifest_batch *batch) {
	const struct key *key = &key_table[KEY_NEEDS];
	bool is_one = node->kind == NODE_TEXT;
	if (node->kind == NODE_MAP) {
		load_refuse(loader, key, node);
		return;
	}
	size_t n = is_one ? 1 : node->n;
	struct manifest_batch **needs = arena_alloc(&loader->manifest->arena, n * sizeof(struct manifest_batch *));
	batch->nneeds = 0;
	for (size_t i = 0; i < n && !diagnostics_are_full(loader->diagnostics); ++i) {
		struct manifest_batch *need = resolve(loader, key, is_one ? node : node->items[i]);
		if (need) {
			needs[batch->nneeds++] = need;
		}
	}
	batch->needs = needs;
}

// Lists the batches that emit into each batch.
static void list_feeders(struct manifest *manifest) {
	for (size_t i = manifest->nbatches; i-- > 0;) {
		struct manifest_batch *batch = &manifest->batches[i], *target = batch->emits;
		if (target) {
			batch->next_feeder = target->feeders;
			target->feeders = batch;
			++target->nfeeders;
		}
	}
}

// ---- cycles ----
//
// A batch starts after the batches that it needs have ended, and ends after the batches that emit into it have ended. Batches that wait
// for each other in a cycle never end. (But a batch may emit into itself: such a batch ends when none of its jobs is left.)

struct visit {
	struct manifest_batch *batch;
	size_t next;     // the number of the edge to follow next: first `needs`, then the feeders
	struct manifest_batch *feeder; // the feeder that was followed last
};

struct graph_walk {
	struct loader *loader;
	struct visit *path;   // from the batch where the walk began to the present batch
	size_t n, cap;
	unsigned char *state; // for each batch: UNSEEN, ON_PATH or DONE
};

enum { UNSEEN, ON_PATH, DONE };

static size_t number_of(const struct graph_walk *walk, const struct manifest_batch *batch) {
	return (size_t)(batch - walk->loader->manifest->batches);
}

// Returns the next batch that visit->batch waits for: a batch that it needs, or a batch that emits into it. Returns NULL after the last.
static struct manifest_batch *next_edge(struct visit *visit, bool *ret_is_need) {
	const struct manifest_batch *batch = visit->batch;
	size_t i = visit->next++;
	*ret_is_need = i < batch->nneeds;
	if (i < batch->nneeds) {
		return batch->needs[i];
	}
	visit->feeder = i == batch->nneeds ? batch->feeders : visit->feeder->next_feeder;
	return visit->feeder;
}

// Reports a cycle: the batches on the path from index `from` to the end of the path.
static void report_cycle(struct graph_walk *walk, size_t from) {
	enum { SHOWN = 12 };
	FP_CLEANUP(buf_fini) struct buf names = BUF_INIT;
	const struct manifest_batch *first = walk->path[from].batch, *needing = NULL;
	bool emits = false;
	for (size_t i = from; i < walk->n; ++i) {
		const struct visit *visit = &walk->path[i];
		bool is_need = visit->next - 1 < visit->batch->nneeds;
		needing = is_need ? visit->batch : needing;
		emits = emits || !is_need;
		if (i - from < SHOWN || i + 1 == walk->n) {
			buf_printf(&names, "%s → ", visit->batch->name);
		} else if (i - from == SHOWN) {
			buf_adds(&names, "… → ");
		}
	}
	buf_adds(&names, first->name);
	const struct pair *origin = &walk->loader->pairs[number_of(walk, needing ? needing : walk->path[walk->n - 1].batch)];
	struct found found;
	keys_find(origin->value, IN_BATCH, NULL, NULL, &found);
	const struct node *node = found.at[needing ? KEY_NEEDS : KEY_EMITS];
	struct source_span span = node_span(node ? node : origin->key);
	if (!emits && walk->n - from == 1) {
		diagnostic_error(walk->loader->diagnostics, span, "batch '%s' needs itself", first->name);
	} else if (!emits) {
		diagnostic_error(walk->loader->diagnostics, span, "batches need each other: %s", buf_str(&names));
	} else {
		diagnostic_hint(diagnostic_error(walk->loader->diagnostics, span, "batches wait for each other: %s", buf_str(&names)),
		             "a batch waits for the batches that it needs, and for those that emit into it%s",
		             !needing ? "; a batch may emit into itself, but not in a longer circle" : "");
	}
}

static void enter(struct graph_walk *walk, struct manifest_batch *batch) {
	walk->state[number_of(walk, batch)] = ON_PATH;
	*NEW_ELEMENT(walk->path, walk->n, walk->cap) = (struct visit){.batch = batch};
}

static void walk_from(struct graph_walk *walk, struct manifest_batch *batch) {
	enter(walk, batch);
	while (walk->n > 0 && !diagnostics_are_full(walk->loader->diagnostics)) {
		struct visit *visit = &walk->path[walk->n - 1];
		bool is_need;
		struct manifest_batch *next = next_edge(visit, &is_need);
		if (!next) {
			walk->state[number_of(walk, visit->batch)] = DONE;
			--walk->n;
		} else if (next == visit->batch && !is_need) {
			continue;
		} else if (walk->state[number_of(walk, next)] == UNSEEN) {
			enter(walk, next);
		} else if (walk->state[number_of(walk, next)] == ON_PATH) {
			size_t from = walk->n - 1;
			while (walk->path[from].batch != next) {
				--from;
			}
			report_cycle(walk, from);
		}
	}
}

static void check_cycles(struct loader *loader) {
	struct manifest *manifest = loader->manifest;
	struct graph_walk walk = {.loader = loader, .state = xcalloc(manifest->nbatches, 1)};
	for (size_t i = 0; i < manifest->nbatches && !diagnostics_are_full(loader->diagnostics); ++i) {
		if (walk.state[i] == UNSEEN) {
			walk_from(&walk, &manifest->batches[i]);
		}
	}
	free(walk.path);
	free(walk.state);
}

void load_graph(struct loader *loader) {
	for (size_t i = 0; i < loader->manifest->nbatches && !diagnostics_are_full(loader->diagnostics); ++i) {
		struct found found;
		keys_find(loader->pairs[i].value, IN_BATCH, NULL, NULL, &found);
		if (found.at[KEY_NEEDS]) {
			resolve_needs(loader, found.at[KEY_NEEDS], &loader->manifest->batches[i]);
		}
		if (found.at[KEY_EMITS]) {
			loader->manifest->batches[i].emits = resolve(loader, &key_table[KEY_EMITS], found.at[KEY_EMITS]);
		}
	}
	list_feeders(loader->manifest);
	check_cycles(loader);
}

// ---- selecting ----

// A search for the batches that manifest_select() selects.
struct selection {
	const struct manifest *manifest;
	bool *is_whole;                // for each batch: whether all its items are wanted, because it was named, is needed, or feeds a whole batch
	struct manifest_batch **queue; // has each batch twice at most: it is added when it is selected, and when it becomes whole
	size_t n;
};

static void select_one(struct selection *selection, struct manifest_batch *batch, bool whole) {
	bool *is_whole = &selection->is_whole[batch - selection->manifest->batches];
	if (!batch->selected || (whole && !*is_whole)) {
		batch->selected = true;
		*is_whole = whole;
		selection->queue[selection->n++] = batch;
	}
}

static void select_from(struct selection *selection, const struct manifest_batch *batch) {
	for (size_t i = 0; i < batch->nneeds; ++i) {
		select_one(selection, batch->needs[i], true);
	}
	if (batch->emits) {
		select_one(selection, batch->emits, false);
	}
	bool wants_feeders = batch->source == MANIFEST_NONE && selection->is_whole[batch - selection->manifest->batches];
	for (struct manifest_batch *feeder = batch->feeders; wants_feeders && feeder; feeder = feeder->next_feeder) {
		select_one(selection, feeder, true);
	}
}

// Adds "; it has a, b" with the names of the first few batches.
static void add_names(const struct manifest *manifest, struct buf *error) {
	for (size_t i = 0; i < manifest->nbatches && i < MOST_NAMED; ++i) {
		buf_printf(error, "%s%s", i == 0 ? "; it has " : ", ", manifest->batches[i].name);
	}
	buf_adds(error, manifest->nbatches > MOST_NAMED ? " …" : "");
}

int manifest_select(struct manifest *manifest, const char *const *names, size_t n, struct buf *error) {
	for (size_t i = 0; i < n; ++i) {
		if (manifest_find(manifest, names[i])) {
			continue;
		}
		buf_printf(error, "no batch is called '%s' in %s", text_shows(names[i]), manifest->path);
		add_names(manifest, error);
		return -1;
	}
	struct selection selection = {
		.manifest = manifest,
		.is_whole = xcalloc(manifest->nbatches, sizeof(bool)),
		.queue = xcalloc(2 * manifest->nbatches, sizeof(struct manifest_batch *)),
	};
	for (size_t i = 0; i < manifest->nbatches; ++i) {
		manifest->batches[i].selected = n == 0;
	}
	for (size_t i = 0; i < n; ++i) {
		select_one(&selection, manifest_find(manifest, names[i]), true);
	}
	for (size_t at = 0; at < selection.n; ++at) {
		select_from(&selection, selection.queue[at]);
	}
	free(selection.is_whole);
	free(selection.queue);
	return 0;
}
