// The JSON Schema of a manifest: the keys of the table, put into completions/skeleton.json.
//
// In the schema a text may be a number, a boolean or null, which YAML makes of some words: fairpar takes them as they are written.
// A missing value, which fairpar refuses, cannot be told from null there. $ref stands inside allOf, for draft-07 ignores what
// stands beside it (§8.3).

#include "manifest/manifest.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/units.h"
#include "manifest/keys.h"

#include <limits.h>

static void add_string(struct buf *buf, const char *text) {
	(void)json_add_text(buf, text, strlen(text)); // all of it is UTF-8
}

static void add_choices(struct buf *buf, const char *choices) {
	const char *separator = "\"enum\": [";
	size_t len;
	for (const char *word; (word = word_next(&choices, &len)); separator = ", ") {
		buf_printf(buf, "%s\"%.*s\"", separator, (int)len, word);
	}
	buf_addc(buf, ']');
}

static void add_type(struct buf *buf, const struct key *key) {
	if (key->type == TYPE_CHOICE) {
		add_choices(buf, key->choices);
		return;
	}
	buf_adds(buf, key_types[key->type].schema);
	if (key->type == TYPE_INT && key->least > -INT_MAX) {
		buf_printf(buf, ", \"minimum\": %d", key->least);
	}
	if (key->type == TYPE_INT && key->most < INT_MAX) {
		buf_printf(buf, ", \"maximum\": %d", key->most);
	}
}

static void add_default(struct buf *buf, const char *value) {
	if (value[0] == '\0' || strpbrk(value, " '")) { // none, or a sentence
		return;
	}
	buf_adds(buf, ", \"default\": ");
	if (word_is_in("true false", value, strlen(value)) || value[strspn(value, "0123456789")] == '\0') {
		buf_adds(buf, value);
	} else {
		add_string(buf, value);
	}
}

// The keys of that place, as members of an object.
static void add_keys(struct buf *buf, enum key_place place) {
	const char *separator = "";
	const char *indent = place == IN_TOP ? "\t\t" : "\t\t\t\t";
	for (int id = 0; id < NKEYS; ++id) {
		const struct key *key = &key_table[id];
		if (key->places & place) {
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

extern const char skeleton_json[]; // the file, as the Makefile puts it into the program

void manifest_schema(struct buf *buf) {
	static const struct { const char *mark; enum key_place place; } marks[] = { // in their order in the file
		{"@TOP@", IN_TOP}, {"@ARGS_FROM@", IN_ARGS_FROM}, {"@RETRY_DELAY@", IN_RETRY_DELAY}, {"@COMMAND@", IN_COMMAND},
		{"@DEFAULTS@", IN_DEFAULTS}, {"@BATCH@", IN_BATCH},
	};
	const char *rest = skeleton_json;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); ++i) {
		rest = buf_add_until(buf, rest, marks[i].mark);
		add_keys(buf, marks[i].place);
	}
	buf_adds(buf, rest);
}
