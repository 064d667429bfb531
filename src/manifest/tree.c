// The values of a YAML document with their places: built from events, with caps, aliases shared and merges done.
//
// Aliases share their node, so a document is never expanded ("billion laughs"). A merge copies pairs, so it counts
// each one against the cap. Nothing here recurses: a chain of aliases may be as long as the file.

#include "manifest/tree.h"

#include "base/alloc.h"
#include "manifest/manifest.h"

enum { MOST_KEY = 1000 }; // bytes of a key: libyaml has such a limit for keys that are no aliases and have no '?'

void tree_fini(struct tree *tree) {
	free(tree->stack);
	free(tree->frames);
	free(tree->anchored);
	free(tree->pairs);
	map_fini(&tree->anchors);
	arena_fini(&tree->nodes);
	*tree = (struct tree){.root = NULL};
}

struct source_span node_place(const struct node *node) {
	return (struct source_span){node->line, node->column, node->width};
}

bool node_is_missing(const struct node *node) {
	return node->kind == NODE_TEXT && node->n == 0 && node->is_plain;
}

static int count(struct tree *tree, struct source_span place, size_t n) {
	tree->nvalues += n;
	if (tree->nvalues <= MANIFEST_VALUES) {
		return 0;
	}
	diagnostic_error(tree->diagnostics, place, "more than %d values in one manifest", MANIFEST_VALUES);
	return -1;
}

static void push(struct tree *tree, struct node *node) {
	if (tree->nframes == 0) {
		tree->root = node;
		return;
	}
	grow_array(&tree->stack, &tree->stack_cap, tree->nstack + 1, sizeof(struct node *));
	tree->stack[tree->nstack++] = node;
}

static struct node *add_node(struct tree *tree, struct source_span place, enum node_kind kind, const char *anchor) {
	if (count(tree, place, 1) != 0) {
		return NULL;
	}
	struct node *node = arena_alloc(&tree->nodes, sizeof(*node));
	node->line = place.line;
	node->column = place.column;
	node->width = place.width < UINT16_MAX ? (uint16_t)place.width : UINT16_MAX;
	node->kind = (uint8_t)kind;
	if (anchor) {
		size_t len = strlen(anchor);
		grow_array(&tree->anchored, &tree->anchored_cap, tree->nanchored + 1, sizeof(struct node *));
		tree->anchored[tree->nanchored] = node;
		map_set(&tree->anchors, arena_text(&tree->nodes, anchor, len), len, (uint32_t)tree->nanchored++);
	}
	return node;
}

struct node *tree_add_text(struct tree *tree, struct source_span place, const char *text, size_t len, const char *anchor) {
	struct node *node = add_node(tree, place, NODE_TEXT, anchor);
	if (!node) {
		return NULL;
	}
	if (memchr(text, '\0', len)) {
		diagnostic_error(tree->diagnostics, place, "a NUL byte cannot be part of a text");
		len = strlen(text);
	}
	node->text = arena_text(tree->texts, text, len);
	node->n = (uint32_t)len;
	node->cost = node->n / 256 + 1;
	push(tree, node);
	return node;
}

int tree_add_alias(struct tree *tree, struct source_span place, const char *name) {
	uint32_t number = map_get(&tree->anchors, name, strlen(name));
	struct node *node = number != MAP_NONE ? tree->anchored[number] : NULL;
	if (!node || node->is_open) {
		struct diagnostic *diagnostic = diagnostic_error(tree->diagnostics, place, node ? "the alias '*%s' stands inside what it names"
		                                                                    : "nothing above is named '&%s'", name);
		if (!node) {
			diagnostic_hint(diagnostic, "a value that starts with '*' must be quoted: '*%s'", name);
		}
		return -1;
	}
	push(tree, node);
	return count(tree, place, 1);
}

struct node *tree_open(struct tree *tree, struct source_span place, enum node_kind kind, const char *anchor) {
	if (tree->nframes >= MANIFEST_DEPTH) {
		diagnostic_error(tree->diagnostics, place, "nested deeper than %d levels", MANIFEST_DEPTH);
		return NULL;
	}
	struct node *node = add_node(tree, place, kind, anchor);
	if (node) {
		node->is_open = true;
		grow_array(&tree->frames, &tree->frames_cap, tree->nframes + 1, sizeof(struct open_node));
		tree->frames[tree->nframes++] = (struct open_node){node, tree->nstack};
	}
	return node;
}

// ---- maps ----

// The pairs of a map while they are collected, in tree->pairs.
struct collection {
	size_t n;
	struct map numbers; // by key
};

// The key that is there already, or NULL and the pair is added.
static struct node *collect(struct tree *tree, struct collection *pairs, struct pair pair) {
	struct node *key = pair.key;
	uint32_t had = map_add(&pairs->numbers, key->text, key->n, (uint32_t)pairs->n);
	if (had != MAP_NONE) {
		return tree->pairs[had].key;
	}
	grow_array(&tree->pairs, &tree->pairs_cap, pairs->n + 1, sizeof(struct pair));
	tree->pairs[pairs->n++] = pair;
	return NULL;
}

static void add_pair(struct tree *tree, struct collection *pairs, struct node *key, struct node *value) {
	if (key->kind != NODE_TEXT) {
		struct diagnostic *diagnostic = diagnostic_error(tree->diagnostics, node_place(key), "a key must be text, not a %s",
		                                        key->kind == NODE_LIST ? "list" : "mapping");
		if (key->is_flow) {
			diagnostic_hint(diagnostic, "quote a value that starts with '%c'", key->kind == NODE_LIST ? '[' : '{');
		}
		return;
	}
	if (key->n > MOST_KEY) {
		diagnostic_error(tree->diagnostics, node_place(key), "a key has at most %d bytes", MOST_KEY);
		return;
	}
	struct node *had = collect(tree, pairs, (struct pair){key, value});
	if (had) {
		FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
		buf_add_escaped(&shown, key->text, key->n, 60);
		struct diagnostic *diagnostic = diagnostic_error(tree->diagnostics, node_place(key), "the key '%s' stands twice in one mapping",
		                                        buf_str(&shown));
		diagnostic_hint(diagnostic, "the first one is in line %u, column %u", had->line, had->column);
	}
}

// Adds the pairs of one mapping that << names, as far as their keys are new: own ones come first.
static int merge_map(struct tree *tree, struct collection *pairs, const struct node *key, const struct node *map) {
	if (map->kind != NODE_MAP) {
		diagnostic_error(tree->diagnostics, node_place(map->kind == NODE_TEXT ? key : map),
		              "'<<' merges a mapping or a list of mappings, as in '<<: *name'");
		return 0;
	}
	for (uint32_t i = 0; i < map->n; ++i) {
		collect(tree, pairs, map->pairs[i]);
	}
	return count(tree, node_place(key), map->n);
}

static int merge(struct tree *tree, struct collection *pairs, const struct pair *from) {
	const struct node *value = from->value;
	if (value->kind != NODE_LIST) {
		return merge_map(tree, pairs, from->key, value);
	}
	for (uint32_t i = 0; i < value->n; ++i) {
		if (merge_map(tree, pairs, from->key, value->items[i]) != 0) {
			return -1;
		}
	}
	return 0;
}

static bool is_merge(const struct node *key) {
	return key->kind == NODE_TEXT && key->is_plain && strcmp(key->text, "<<") == 0;
}

static int close_map(struct tree *tree, struct node *node, struct node *const *children, size_t n) {
	struct collection pairs = {0, MAP_INIT};
	size_t nmerges = 0;
	int status = 0;
	for (size_t i = 0; i + 1 < n; i += 2) {
		struct node *key = children[i];
		if (is_merge(key)) {
			if (nmerges++ > 0) {
				struct diagnostic *diagnostic = diagnostic_error(tree->diagnostics, node_place(key), "'<<' stands twice in one mapping");
				diagnostic_hint(diagnostic, "merge several mappings by a list: '<<: [*a, *b]'");
			}
		} else {
			add_pair(tree, &pairs, key, children[i + 1]);
		}
	}
	for (size_t i = 0; nmerges > 0 && status == 0 && i + 1 < n; i += 2) {
		if (is_merge(children[i])) {
			status = merge(tree, &pairs, &(struct pair){children[i], children[i + 1]});
		}
	}
	node->n = (uint32_t)pairs.n;
	if (pairs.n > 0) {
		node->pairs = arena_alloc(&tree->nodes, pairs.n * sizeof(struct pair));
		memcpy(node->pairs, tree->pairs, pairs.n * sizeof(struct pair));
	}
	map_fini(&pairs.numbers);
	return status;
}

int tree_close(struct tree *tree) {
	struct open_node frame = tree->frames[--tree->nframes];
	size_t n = tree->nstack - frame.from;
	struct node *const *children = n > 0 ? tree->stack + frame.from : NULL;
	int status = 0;
	frame.node->is_open = false;
	if (frame.node->kind == NODE_MAP) {
		status = close_map(tree, frame.node, children, n);
	} else if (n > 0) {
		frame.node->n = (uint32_t)n;
		frame.node->items = arena_alloc(&tree->nodes, n * sizeof(struct node *));
		memcpy(frame.node->items, children, n * sizeof(struct node *));
	}
	uint64_t cost = 1;
	for (uint32_t i = 0; i < frame.node->n; ++i) {
		cost += frame.node->kind == NODE_MAP ? frame.node->pairs[i].value->cost : frame.node->items[i]->cost;
	}
	frame.node->cost = cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
	tree->nstack = frame.from;
	push(tree, frame.node);
	return status;
}
