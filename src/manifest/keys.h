// The table of keys as data: the name of each key, where it may stand, what its value is, and what other programs call it.

#pragma once

#include "manifest/diagnostics.h"
#include "manifest/tree.h"

enum key_scope {
	IN_TOP = 1 << 0,
	IN_DEFAULTS = 1 << 1,
	IN_BATCH = 1 << 2,
	IN_COMMAND = 1 << 3,      // an entry of `commands`
	IN_ARGS_FROM = 1 << 4,
	IN_RETRY_DELAY = 1 << 5,
};

enum key_type {
	TYPE_VERSION, TYPE_TEXT, TYPE_COMMAND, TYPE_SHELL, TYPE_SLOTS, TYPE_NAME, TYPE_BOOL, TYPE_TRUE, TYPE_INT, TYPE_FACTOR,
	TYPE_DURATION, TYPE_RATE, TYPE_SIZE, TYPE_UMASK, TYPE_CHOICE, TYPE_TEXTS, TYPE_NAMES, TYPE_STEPS, TYPE_MACHINES, TYPE_ENV, TYPE_RETRY_DELAY,
	TYPE_COMMANDS, TYPE_ARGS_FROM, TYPE_MATRIX, TYPE_DEFAULTS, TYPE_BATCHES,
};

#define KEY(id, ...) id,
#define FOREIGN(...)
enum key_id {
#include "manifest/keys.def"
	NKEYS
};

// A row of the table; keys.def explains the columns.
struct key {
	const char *name;
	unsigned scopes;          // enum key_scope
	enum key_type type;
	int field;                // offset of the field that gets the value; -1: the loader stores the value in another way
	int least, most;
	const char *choices, *value, *example, *text, *others;
};

extern const struct key key_table[NKEYS];

// The values that a mapping gives to its keys; NULL for a key that it does not have.
struct found {
	struct node *at[NKEYS];
};

// Finds the keys of a mapping in that scope. Adds an error for each key that is not allowed in the scope, and suggests the nearest
// name or fairpar's own name for the key. `batch` is the name of the batch that the mapping belongs to, or NULL. If `diagnostics` is
// NULL, adds no errors: the mapping was checked before. A node that is no mapping has no keys.
void keys_find(const struct node *map, enum key_scope scope, const char *batch, struct diagnostics *diagnostics,
               struct found *ret_found);

// Writes what a value of that key must be ("a duration such as 90, 10m or 1h30m") into `text` of `size` bytes.
void key_wants(const struct key *key, char *text, size_t size);
