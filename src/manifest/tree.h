// The values of a YAML document, and where they stand in the file.

#pragma once

#include "base/buf.h"
#include "manifest/diagnostics.h"

enum node_kind { NODE_TEXT, NODE_LIST, NODE_MAP };

// One value. The graph of values has no cycle, but aliases may lead to the same node from several places.
struct node {
	uint32_t line, column;
	uint16_t width;       // how many characters a message marks with carets
	uint8_t kind;         // enum node_kind
	bool is_plain;        // text without quotes, which other YAML readers may take for a number or a boolean
	bool is_flow;         // written as [ ] or { }
	bool is_open;         // a list or map that was not read to its end yet
	uint32_t comment;     // offset in the file of a comment behind a plain text, which may have been meant as part of the text; or 0
	uint32_t n;           // bytes of the text, items, or pairs
	uint32_t cost;        // 1, plus 1 for each 256 bytes of text, plus the costs of all values in the list or map (not of keys); at most UINT32_MAX
	union {
		const char *text;    // no NUL inside
		struct node **items;
		struct pair *pairs;  // no key twice
	};
};

struct pair {
	struct node *key;     // a text
	struct node *value;
};

// Reads the only document in diagnostics->data, which has a NUL behind it, and adds its errors to the diagnostics. Returns 0 with the
// root in *ret_root (NULL: the document is empty), even if there were errors; or -1 if an error has stopped the reading. The arena
// `nodes` holds the nodes, `texts` their texts. Uses libyaml's events, because libyaml's document loader has no limits, finds anchors
// by a linear search, refuses an anchor that is defined again, and loses the spans of aliases.
int tree_read(struct diagnostics *diagnostics, struct arena *nodes, struct arena *texts, struct node **ret_root);

// Returns the span of the node in the file, for a message.
static inline struct source_span node_span(const struct node *node) {
	return (struct source_span){node->line, node->column, node->width};
}

// True if the value was not written: `key:` has nothing behind it.
static inline bool node_is_missing(const struct node *node) {
	return node->kind == NODE_TEXT && node->n == 0 && node->is_plain;
}
