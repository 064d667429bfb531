// The loader of a manifest, for the files in this directory. A mistake in the manifest becomes an error in loader->diagnostics, and
// loading goes on. A function returns that it found a mistake only if its comment says so.

#pragma once

#include "manifest/keys.h"
#include "manifest/manifest.h"
#include "manifest/tree.h"

struct loader {
	struct manifest *manifest;     // the manifest that is being loaded
	struct diagnostics *diagnostics;
	uint64_t cost;                 // sum of the costs (node.cost) of the nodes that were read; at most MANIFEST_VALUES
	bool overrun;                  // `cost` is too large: an error was added, nothing more is read
	struct manifest_batch base;    // a batch with the defaults: every batch begins as a copy of it
	const struct pair *pairs;      // for each batch its name and its mapping, in the order of manifest->batches
	struct found base_found;       // the keys of `defaults`
	const struct node *stdin_node; // the first `stdin: true`, or NULL
};

// Adds `cost`, the cost of reading the node, to loader->cost. Returns false, after an error at the node, if the sum is too large.
bool load_count(struct loader *loader, const struct node *node, uint64_t cost);

// Adds an error at the span of the node, as diagnostic_error() does.
#define load_error(loader, node, ...) diagnostic_error((loader)->diagnostics, node_span(node), __VA_ARGS__)

// Adds the error "'KEY' must be …, not …" for a value of that key.
struct diagnostic *load_refuse(struct loader *loader, const struct key *key, const struct node *node);

// Adds an error for an item of the list `key` that is not a text.
void load_refuse_item(struct loader *loader, const char *key, const struct node *node);

// Returns the value's text; or NULL, after an error, if the value is no text or is empty.
const char *load_text(struct loader *loader, const struct key *key, const struct node *node);

// Warns if a text without quotes is cut short by a comment: `run: echo a #b`.
void load_check_comment(struct loader *loader, struct node *node);

// Sets the fields of `base` (a struct manifest, manifest_batch or manifest_delay) to the values in `found`. If there are keys of a job,
// replaces *job by a copy of **job in the manifest's arena, and sets the values of these keys in the copy.
void load_fields(struct loader *loader, const struct found *found, void *base, const struct manifest_job **job);

// ---- batch.c ----

// Sets *batch to a copy of loader->base, with the name and the keys of the batch in `from`.
void load_batch(struct loader *loader, const struct pair *from, struct manifest_batch *batch);

// ---- templates.c ----

// Checks the replacement strings of a batch. To be called after load_graph(), which finds the feeders of each batch.
void load_check_texts(struct loader *loader, const struct manifest_batch *batch, const struct pair *from);

// Warns if the text, which is not expanded for items, has a replacement string. `node` may be NULL.
void load_check_unexpanded(struct loader *loader, const struct manifest_batch *batch, const struct node *node);

// Checks a command, or a list of commands, that `shell` is going to run. If `shell` is NULL (/bin/sh), the command must not need bash.
// If `shell` is "none", the command must be splittable into words; syntax that needs a shell gets a warning. `node` may be NULL.
void load_check_words(struct loader *loader, const char *shell, const struct node *node);

// ---- graph.c ----

// Resolves needs and emits, and looks for cycles.
void load_graph(struct loader *loader);
