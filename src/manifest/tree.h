// The values of a YAML document with their places: built from events, with caps, aliases shared and merges done.

#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "manifest/diagnostics.h"

enum node_kind { NODE_TEXT, NODE_LIST, NODE_MAP };

// One value. The graph of them has no cycle, but a node may be reached in several ways.
struct node {
	uint32_t line, column;
	uint16_t width;       // for a caret
	uint8_t kind;         // enum node_kind
	bool is_plain;        // text without quotes, which others may read as a number or a boolean
	bool is_flow;         // [ ] or { }
	bool is_open;         // not read to its end yet
	uint32_t comment;     // of a plain text: the offset of a comment that may have been meant as part of it, or 0
	uint32_t n;           // bytes of the text, items, or pairs
	uint32_t cost;        // values in it but keys, each alias followed, and their texts in units of 256 bytes; or UINT32_MAX
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

// A tree that is being built from the events of a document, in their order. The caller sets the first two, which are borrowed,
// and zeroes the rest.
struct tree {
	struct diagnostics *diagnostics; // where errors are added
	struct arena *texts;  // texts outlive the tree
	struct node *root;    // NULL for an empty document
	struct arena nodes;
	struct node **stack;  // complete nodes whose parent is not complete
	size_t nstack, stack_cap;
	struct open_node {
		struct node *node;
		size_t from;         // its first child on the stack
	} *frames;            // lists and maps being read
	size_t nframes, frames_cap;
	struct map anchors;   // to numbers in `anchored`
	struct node **anchored;
	size_t nanchored, anchored_cap;
	struct pair *pairs;   // of the map that is being closed
	size_t pairs_cap;
	size_t nvalues;       // so far; against MANIFEST_VALUES
};

// Frees the nodes, and leaves the texts.
void tree_fini(struct tree *tree);

// Each of the next four adds what an event says, at that place. `anchor` is the name that the document gives to the node, or NULL.
// Where an error makes it useless to go on, it is added, and NULL or -1 returned.

// Adds a text, which is copied, or what the anchor of that name stands for. The first returns the new node.
struct node *tree_add_text(struct tree *tree, struct source_span place, const char *text, size_t len, const char *anchor);
int tree_add_alias(struct tree *tree, struct source_span place, const char *name);

// Begins a list or a map: what is added next belongs to it, until tree_close(). Returns its node.
struct node *tree_open(struct tree *tree, struct source_span place, enum node_kind kind, const char *anchor);

// Ends the innermost list or map. In a map a key that stands twice is an error, and << is replaced by what it merges.
int tree_close(struct tree *tree);

// The place of the node in the file, for a message.
struct source_span node_place(const struct node *node);

// True for a value that was not written: `key:` and nothing behind it.
bool node_is_missing(const struct node *node);

// ---- yaml.c, the only file that uses libyaml ----

// Reads the only document of a file into the tree; a NUL must follow the data. Returns 0, also if errors were added that do not hide
// others; or -1 with an error added. By libyaml's events: its document loader knows no limits, finds anchors by a linear
// search, refuses an anchor that is defined again, and loses the places of aliases.
int tree_read(struct tree *tree, const char *data, size_t len);
