// The table of keys as data: the name of each key, where it may stand, what its value is, and what other programs call it; and the JSON
// Schema that is made from the table.

#include "manifest/keys.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "engine/fair.h"
#include "manifest/manifest.h"

#include <ctype.h>
#include <limits.h>

#define TOP_(field) (int)offsetof(struct manifest, field)
#define BATCH_(field) (int)offsetof(struct manifest_batch, field)
#define JOB(field) (int)offsetof(struct manifest_job, field)
#define DELAY(field) (int)offsetof(struct manifest_delay, field)
#define NOWHERE (-1)

#define KEY(id, name, scopes, type, field, least, most, choices, value, example, text, others) \
	[id] = {name, scopes, type, field, least, most, choices, value, example, text, others},
#define FOREIGN(...)
const struct key key_table[NKEYS] = {
#include "manifest/keys.def"
};

#define KEY(...)
#define FOREIGN(...) {__VA_ARGS__},
static const struct { const char *key, *names, *more; } foreign_names[] = {
#include "manifest/keys.def"
};

static const struct key *find(const char *name, size_t len, unsigned scopes) {
	for (const struct key *key = key_table; key < key_table + NKEYS; ++key) {
		if ((key->scopes & scopes) && strncmp(key->name, name, len) == 0 && key->name[len] == '\0') {
			return key;
		}
	}
	return NULL;
}

// Turns "continue-on-error", "continueOnError" and "Continue On Error" into continue_on_error.
static void spell(const char *name, size_t len, struct buf *ret_name) {
	for (size_t i = 0; i < len && i < 64; ++i) {
		char c = name[i];
		if (isupper((unsigned char)c) && i > 0 && islower((unsigned char)name[i - 1])) {
			buf_addc(ret_name, '_');
		}
		buf_addc(ret_name, c == '-' || c == ' ' || c == '.' ? '_' : (char)tolower((unsigned char)c));
	}
}

// Returns where the keys of that scope stand, in words for hints.
static const char *scope_text(unsigned scopes) {
	return scopes & IN_TOP ? "at the top of the file" : scopes & IN_BATCH ? "in a batch, below 'batches'" :
	       scopes & IN_ARGS_FROM ? "below 'args_from'" : "below 'retry_delay'";
}

// Returns the key that has the name among its other names, preferably a key that may stand in that scope; or NULL.
static const struct key *find_other(const char *name, size_t len, enum key_scope scope) {
	const struct key *found = NULL;
	for (const struct key *key = key_table; key < key_table + NKEYS; ++key) {
		bool is_better = !found || ((key->scopes & scope) && !(found->scopes & scope));
		found = is_better && word_is_in(key->others, name, len) ? key : found;
	}
	return found;
}

// Adds a hint that names the key of fairpar if `name` is a word of another program. Returns false if `name` is no such word.
static bool hint_foreign(struct diagnostic *diagnostic, const char *name, size_t len, const char *typed, enum key_scope scope) {
	const struct key *key = find_other(name, len, scope);
	const char *more = !key || (key->scopes & scope) ? "" : scope_text(key->scopes);
	for (size_t i = 0; i < sizeof(foreign_names) / sizeof(foreign_names[0]) && !(key && (key->scopes & scope)); ++i) {
		if (word_is_in(foreign_names[i].names, name, len)) {
			more = foreign_names[i].more;
			key = find(foreign_names[i].key, strlen(foreign_names[i].key), ~0U);
			break;
		}
	}
	if (key) {
		diagnostic_hint(diagnostic, "'%s' is called '%s' here%s%s", typed, key->name, *more ? ": " : "", more);
	} else if (*more) {
		diagnostic_hint(diagnostic, "%s", more);
	}
	return key || *more;
}

static const char *find_nearest(const char *name, size_t len, enum key_scope scope) {
	struct nearest nearest = NEAREST_INIT(name, len);
	for (int id = 0; id < NKEYS; ++id) {
		if (key_table[id].scopes & scope) {
			nearest_offer(&nearest, key_table[id].name, strlen(key_table[id].name));
		}
	}
	return nearest.found;
}

static void refuse(const struct node *node, enum key_scope scope, const char *batch, struct diagnostics *diagnostics) {
	FP_CLEANUP(buf_fini) struct buf spelt = BUF_INIT;
	const char *shown = text_show(node->text, node->n);
	const char *where = scope == IN_TOP ? "at the top" : scope == IN_DEFAULTS ? "in 'defaults'" :
		scope == IN_ARGS_FROM ? "in 'args_from'" : scope == IN_RETRY_DELAY ? "in 'retry_delay'" :
		scope == IN_COMMAND ? "in an entry of 'commands' of batch" : "in batch";
	spell(node->text, node->n, &spelt);
	const char *name = buf_str(&spelt);
	bool is_nested = scope & (IN_ARGS_FROM | IN_RETRY_DELAY);
	const struct key *misplaced = find(name, spelt.len, ~0U);
	const char *nearest = find_nearest(name, spelt.len, scope);
	struct diagnostic *diagnostic = diagnostic_error(diagnostics, node_span(node), "unknown key '%s' %s%s%s%s", shown, where,
	                                                 batch ? " '" : "", batch ? text_shows(batch) : "", batch ? "'" : "");
	if (find(name, spelt.len, scope)) {
		diagnostic_note(diagnostic, "the key is written '%s'", name);
	} else if (!is_nested && hint_foreign(diagnostic, name, spelt.len, shown, scope)) {
		// the hint was added
	} else if (misplaced && scope == IN_COMMAND && (misplaced->scopes & IN_BATCH)) {
		diagnostic_hint(diagnostic, "'%s' is for a whole batch, beside 'commands'", misplaced->name);
	} else if (misplaced && !is_nested) {
		diagnostic_hint(diagnostic, "'%s' stands %s", misplaced->name, scope_text(misplaced->scopes));
	} else if (nearest) {
		diagnostic_note(diagnostic, "did you mean '%s'?", nearest);
	}
	if (strstr(node->text, "\xC2\xA0")) {
		diagnostic_hint(diagnostic, "the key has a no-break space (U+00A0); in YAML only plain spaces indent");
	}
}

static void refuse_missing(const struct node *name, enum key_scope scope, const struct key *key, struct diagnostics *diagnostics) {
	enum key_id id = (enum key_id)(key - key_table);
	bool is_required = id == KEY_VERSION || id == KEY_BATCHES || id == KEY_RUN || id == KEY_FIRST || scope == IN_ARGS_FROM;
	diagnostic_hint(diagnostic_error(diagnostics, node_span(name), "'%s' has no value", key->name), "as in '%s: %s'%s", key->name,
	             key->example, is_required ? "" : "; or leave the key out");
}

void keys_find(const struct node *map, enum key_scope scope, const char *batch, struct diagnostics *diagnostics,
               struct found *ret_found) {
	*ret_found = (struct found){{NULL}};
	for (uint32_t i = 0; map->kind == NODE_MAP && i < map->n && !(diagnostics && diagnostics_are_full(diagnostics)); ++i) {
		const struct node *name = map->pairs[i].key;
		struct node *value = map->pairs[i].value;
		const struct key *key = find(name->text, name->n, scope);
		if (key && !node_is_missing(value)) {
			ret_found->at[key - key_table] = value;
		} else if (!diagnostics) {
			continue;
		} else if (key) {
			refuse_missing(name, scope, key, diagnostics);
		} else if (scope != IN_TOP || strncmp(name->text, "x-", 2) != 0) {
			refuse(name, scope, batch, diagnostics);
		}
	}
}

// Members of an object of the JSON Schema that refer to the definition of that name.
#define DEFINED(name) "\"allOf\": [{\"$ref\": \"#/definitions/" name "\"}]"

// By enum key_type: what a value must be, for messages ("must be …"), and the members that say the same in the JSON Schema, without the
// bounds of a number and the words of a choice.
static const struct { const char *wants, *schema; } key_types[] = {
	[TYPE_VERSION] = {"1", "\"enum\": [1, \"1\"]"},
	[TYPE_TEXT] = {"text", DEFINED("text")},
	[TYPE_COMMAND] = {"a command", DEFINED("text")},
	[TYPE_SHELL] = {"one program", "\"type\": \"string\", \"pattern\": \"^[^ \\\\t\\\\n]+$\""},
	[TYPE_SLOTS] = {"a number of slots such as 8, -1 or 50%", DEFINED("slots")},
	[TYPE_NAME] = {"the name of a batch", DEFINED("text")},
	[TYPE_BOOL] = {"true or false", "\"type\": \"boolean\""},
	[TYPE_TRUE] = {"true", "\"const\": true"},
	[TYPE_INT] = {"a whole number", "\"type\": \"integer\""},
	[TYPE_FACTOR] = {"a number from 1 to 1000", "\"type\": \"number\", \"minimum\": 1, \"maximum\": 1000"},
	[TYPE_DURATION] = {"a duration such as 90, 10m or 1h30m", DEFINED("duration")},
	[TYPE_RATE] = {"a rate such as 5/s, 30/m or 100/h", DEFINED("rate")},
	[TYPE_SIZE] = {"a size such as 512M or 2G", DEFINED("size")},
	[TYPE_UMASK] = {"an octal number such as 022", DEFINED("umask")},
	[TYPE_CHOICE] = {"one of: ", ""},
	[TYPE_TEXTS] = {"a list of texts", DEFINED("texts")},
	[TYPE_NAMES] = {"a list of batches", DEFINED("names")},
	[TYPE_STEPS] = {"a command or a list of commands", DEFINED("steps")},
	[TYPE_MACHINES] = {"a machine or a list of machines", DEFINED("steps")},
	[TYPE_ENV] = {"a mapping of names to values", DEFINED("env")},
	[TYPE_RETRY_DELAY] = {"a duration, or a mapping of first, factor and max", DEFINED("retry_delay")},
	[TYPE_COMMANDS] = {"a list of commands", DEFINED("commands")},
	[TYPE_ARGS_FROM] = {"a mapping with one of file, file0, glob, command and stdin", DEFINED("args_from")},
	[TYPE_MATRIX] = {"a mapping of names to lists of values", DEFINED("matrix")},
	[TYPE_DEFAULTS] = {"a mapping of keys to values", DEFINED("defaults")},
	[TYPE_BATCHES] = {"a mapping of names to batches", DEFINED("batches")},
};

void key_wants(const struct key *key, char *text, size_t size) {
	const char *wants = key_types[key->type].wants;
	if (key->type != TYPE_INT) {
		snprintf(text, size, "%s%s", wants, key->type == TYPE_CHOICE ? key->choices : "");
	} else if (key->most == INT_MAX) {
		snprintf(text, size, key->least < 0 ? "%s" : "%s, at least %d", wants, key->least);
	} else {
		snprintf(text, size, "%s from %d to %d", wants, key->least, key->most);
	}
}

// ---- the JSON Schema: the keys of the table, put into completions/skeleton.json ----
//
// In the schema a text may also be a number, a boolean or null, because YAML readers turn some words into these; fairpar takes the words
// as they are written. The schema cannot tell a missing value, which fairpar refuses, from null. $ref stands inside allOf, because
// draft-07 ignores the members beside a $ref (§8.3).

static void add_string(struct buf *buf, const char *text) {
	(void)json_add_text(buf, text, strlen(text)); // the table's texts are UTF-8
}

static void add_type(struct buf *buf, const struct key *key) {
	const char *separator = "\"enum\": [", *choices = key->choices, *word;
	for (size_t len; (word = word_next(&choices, &len)); separator = ", ") {
		buf_printf(buf, "%s\"%.*s\"", separator, (int)len, word);
	}
	buf_adds(buf, *key->choices ? "]" : key_types[key->type].schema);
	if (key->type == TYPE_INT && key->least > -INT_MAX) {
		buf_printf(buf, ", \"minimum\": %d", key->least);
	}
	if (key->type == TYPE_INT && key->most < INT_MAX) {
		buf_printf(buf, ", \"maximum\": %d", key->most);
	}
}

static void add_default(struct buf *buf, const char *value) {
	if (value[0] == '\0' || strpbrk(value, " '")) { // there is no default, or it is a sentence
		return;
	}
	buf_adds(buf, ", \"default\": ");
	if (word_is_in("true false", value, strlen(value)) || value[strspn(value, "0123456789")] == '\0') {
		buf_adds(buf, value);
	} else {
		add_string(buf, value);
	}
}

// Appends the keys of that scope, as members of an object.
static void add_keys(struct buf *buf, enum key_scope scope) {
	const char *separator = "";
	const char *indent = scope == IN_TOP ? "\t\t" : "\t\t\t\t";
	for (int id = 0; id < NKEYS; ++id) {
		const struct key *key = &key_table[id];
		if (key->scopes & scope) {
			buf_printf(buf, "%s%s\"%s\": {\n%s\t\"description\": ", separator, indent, key->name, indent);
			add_string(buf, key->text);
			buf_printf(buf, ",\n%s\t", indent);
			add_type(buf, key);
			add_default(buf, key->value);
			buf_printf(buf, "\n%s}", indent);
			separator = ",\n";
		}
	}
}

extern const char skeleton_json[]; // the file skeleton.json, as the Makefile puts it into the program

void manifest_schema(struct buf *buf) {
	static const struct { const char *mark; enum key_scope scope; } marks[] = { // in the order of skeleton.json
		{"@TOP@", IN_TOP}, {"@ARGS_FROM@", IN_ARGS_FROM}, {"@RETRY_DELAY@", IN_RETRY_DELAY}, {"@COMMAND@", IN_COMMAND},
		{"@DEFAULTS@", IN_DEFAULTS}, {"@BATCH@", IN_BATCH},
	};
	const char *rest = skeleton_json;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); ++i) {
		rest = buf_add_until(buf, rest, marks[i].mark);
		add_keys(buf, marks[i].scope);
	}
	buf_adds(buf, rest);
}
