// The documents made from the table of keys: the JSON Schema of a manifest, and the lists of its manual page.

#include "manifest/manifest.h"

#include "base/alloc.h"
#include "base/json.h"
#include "manifest/keys.h"
#include "shell/shell.h"

#include <limits.h>

// ---- JSON ----

// Text with its indentation; `comma` says whether something stands before at this level.
struct json {
	struct buf *buf;
	unsigned depth;
	bool comma;
};

static void add_string(struct buf *buf, const char *text) {
	(void)json_add_text(buf, text, strlen(text)); // all of it is UTF-8
}

static void add_indentation(struct json *json) {
	for (unsigned i = 0; i < json->depth; ++i) {
		buf_addc(json->buf, '\t');
	}
	json->comma = true;
}

static void begin_member(struct json *json, const char *name) {
	if (json->depth > 0) {
		buf_adds(json->buf, json->comma ? ",\n" : "\n");
	}
	add_indentation(json);
	if (name) {
		add_string(json->buf, name);
		buf_adds(json->buf, ": ");
	}
}

static void open_object(struct json *json, const char *name) {
	begin_member(json, name);
	buf_addc(json->buf, '{');
	++json->depth;
	json->comma = false;
}

static void close_object(struct json *json) {
	--json->depth;
	buf_addc(json->buf, '\n');
	add_indentation(json);
	buf_addc(json->buf, '}');
}

// `value` is JSON.
static void add_member(struct json *json, const char *name, const char *value) {
	begin_member(json, name);
	buf_adds(json->buf, value);
}

static void add_text(struct json *json, const char *name, const char *text) {
	begin_member(json, name);
	add_string(json->buf, text);
}

static void add_choices(struct json *json, const char *choices) {
	begin_member(json, "enum");
	buf_adds(json->buf, "[\"");
	for (const char *at = choices; *at; ++at) {
		buf_adds(json->buf, *at == ' ' ? "\", \"" : (char[]){*at, '\0'});
	}
	buf_adds(json->buf, "\"]");
}

// ---- schema ----

// What several keys share. Text is what YAML may take for something else, null too: fairpar takes it as it is written. It
// refuses a value that is missing, which a schema cannot tell from null.
static const struct { const char *name, *json; } definitions[] = {
	{"text", "{\"type\": [\"string\", \"number\", \"boolean\", \"null\"], \"not\": {\"enum\": [\"\"]}}"},
	{"value", "{\"type\": [\"string\", \"number\", \"boolean\", \"null\"]}"},
	{"texts", "{\"type\": \"array\", \"items\": {\"$ref\": \"#/definitions/value\"}}"},
	{"duration", "{\"anyOf\": [{\"type\": \"number\", \"minimum\": 0}, {\"type\": \"string\", \"pattern\": "
	             "\"^([0-9]+([.][0-9]+)?(ms|s|m|h|d)?|(?=.)([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?)$\"}]}"},
	{"size", "{\"anyOf\": [{\"type\": \"integer\", \"minimum\": 0}, {\"type\": \"string\", \"pattern\": "
	         "\"^[0-9]+(([.][0-9]+)?[KMGT])?$\"}]}"},
	{"slots", "{\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"string\", \"pattern\": "
	          "\"^([+-]?[0-9]+|[0-9]+([.][0-9]+)?%)$\"}]}"},
	{"umask", "{\"anyOf\": [{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 777}, {\"type\": \"string\", \"pattern\": "
	          "\"^(0o)?[0-7]{1,4}$\"}]}"},
	{"steps", "{\"anyOf\": [{\"$ref\": \"#/definitions/text\"}, {\"type\": \"array\", \"items\": "
	          "{\"$ref\": \"#/definitions/text\"}}]}"},
	{"names", "{\"anyOf\": [{\"$ref\": \"#/definitions/text\"}, {\"type\": \"array\", \"items\": "
	          "{\"$ref\": \"#/definitions/text\"}}]}"},
	{"env", "{\"type\": \"object\", \"propertyNames\": {\"pattern\": \"^[^=]+$\", \"not\": {\"pattern\": "
	        "\"^(FAIRPAR_(BATCH|JOB|SEQ|SLOT|ATTEMPT|EXIT|OUTCOME|RUN|COOKIE|ITEM(_.*)?)|PARALLEL_(SEQ|JOBSLOT|PID))$\"}}, \"additionalProperties\": "
	        "{\"$ref\": \"#/definitions/value\"}}"},
	{"matrix", "{\"type\": \"object\", \"minProperties\": 1, \"properties\": {\"exclude\": {\"type\": \"array\", "
	           "\"minItems\": 1, \"items\": {\"type\": \"object\", \"minProperties\": 1, \"additionalProperties\": "
	           "{\"$ref\": \"#/definitions/value\"}}}, \"include\": false}, \"propertyNames\": {\"pattern\": "
	           "\"^[A-Za-z_][A-Za-z0-9_]*$\"}, \"additionalProperties\": {\"type\": \"array\", \"minItems\": 1, "
	           "\"items\": {\"$ref\": \"#/definitions/value\"}}}"},
	{"batches", "{\"type\": \"object\", \"minProperties\": 1, \"additionalProperties\": {\"$ref\": \"#/definitions/batch\"}}"},
	{"commands", "{\"type\": \"array\", \"items\": {\"anyOf\": [{\"$ref\": \"#/definitions/text\"}, "
	             "{\"$ref\": \"#/definitions/command\"}]}}"},
	{"retry_delay", "{\"anyOf\": [{\"$ref\": \"#/definitions/duration\"}, {\"$ref\": \"#/definitions/delay\"}]}"},
};

static void add_type(struct json *json, const struct key *key) {
	const char *reference = key_types[key->type].definition;
	char text[64];
	if (reference) {
		// draft-07 §8.3: beside $ref nothing else counts
		snprintf(text, sizeof(text), "[{\"$ref\": \"#/definitions/%s\"}]", reference);
		add_member(json, "allOf", text);
		return;
	}
	switch (key->type) {
	case TYPE_INT:
		add_member(json, "type", "\"integer\"");
		if (key->least > -INT_MAX) {
			snprintf(text, sizeof(text), "%d", key->least);
			add_member(json, "minimum", text);
		}
		if (key->most < INT_MAX) {
			snprintf(text, sizeof(text), "%d", key->most);
			add_member(json, "maximum", text);
		}
		return;
	case TYPE_FACTOR:
		add_member(json, "type", "\"number\"");
		add_member(json, "minimum", "1");
		add_member(json, "maximum", "1000");
		return;
	case TYPE_CHOICE:
		add_choices(json, key->choices);
		return;
	case TYPE_SHELL:
		add_member(json, "type", "\"string\"");
		add_text(json, "pattern", "^[^ \\t\\n]+$");
		return;
	case TYPE_VERSION:
		add_member(json, "enum", "[1, \"1\"]");
		return;
	case TYPE_TRUE:
		add_member(json, "const", "true");
		return;
	default:
		add_member(json, "type", "\"boolean\"");
		return;
	}
}

static void add_key(struct json *json, const struct key *key) {
	open_object(json, key->name);
	add_text(json, "description", key->text);
	add_type(json, key);
	const char *value = key->value;
	bool is_bare = word_is_in("true false", value, strlen(value)) || value[strspn(value, "0123456789")] == '\0';
	if (value[0] != '\0' && !strpbrk(value, " '")) { // else it is a sentence
		(is_bare ? add_member : add_text)(json, "default", value);
	}
	close_object(json);
}

// An object with the keys of that place and no others.
static void add_keys(struct json *json, enum key_place place) {
	open_object(json, "properties");
	for (int id = 0; id < NKEYS; ++id) {
		if (key_table[id].places & place) {
			add_key(json, &key_table[id]);
		}
	}
	close_object(json);
	add_member(json, "additionalProperties", "false");
}

static void add_place(struct json *json, const char *name, enum key_place place, const char *more, const char *value) {
	open_object(json, name);
	add_member(json, "type", "\"object\"");
	if (more) {
		add_member(json, more, value);
	}
	add_keys(json, place);
	close_object(json);
}

void manifest_schema(struct buf *buf) {
	struct json json = {buf, 0, false};
	open_object(&json, NULL);
	add_text(&json, "$schema", "http://json-schema.org/draft-07/schema#");
	add_text(&json, "title", "fairpar manifest");
	add_text(&json, "description", "Named batches of commands for fairpar -f; see fairpar-manifest(5).");
	add_member(&json, "type", "\"object\"");
	add_member(&json, "required", "[\"version\", \"batches\"]");
	add_member(&json, "patternProperties", "{\"^x-\": {}}");
	add_keys(&json, IN_TOP);
	open_object(&json, "definitions");
	for (size_t i = 0; i < sizeof(definitions) / sizeof(definitions[0]); ++i) {
		add_member(&json, definitions[i].name, definitions[i].json);
	}
	add_place(&json, "args_from", IN_ARGS_FROM, "minProperties", "1, \"maxProperties\": 1");
	add_place(&json, "delay", IN_RETRY_DELAY, "required", "[\"first\"]");
	add_place(&json, "command", IN_COMMAND, "required", "[\"run\"]");
	add_place(&json, "defaults", IN_DEFAULTS, NULL, NULL);
	add_place(&json, "batch", IN_BATCH, "oneOf",
	          "[{\"required\": [\"run\"]}, {\"required\": [\"commands\"], "
	          "\"allOf\": [{\"not\": {\"required\": [\"args\"]}}, {\"not\": {\"required\": [\"args_from\"]}}, "
	          "{\"not\": {\"required\": [\"matrix\"]}}]}],\n\t\t\t\"allOf\": "
	          "[{\"not\": {\"required\": [\"args\", \"args_from\"]}}, {\"not\": {\"required\": [\"args\", \"matrix\"]}}, "
	          "{\"not\": {\"required\": [\"args_from\", \"matrix\"]}}]");
	close_object(&json);
	close_object(&json);
	buf_addc(buf, '\n');
}

// ---- mdoc ----

// Text for a line of mdoc: a backslash is an escape, and a line may not begin as a request.
static void add_words(struct buf *buf, const char *text, size_t len) {
	for (size_t i = 0; i < len; ++i) {
		if (text[i] == '\\') {
			buf_adds(buf, "\\e");
		} else if (text[i] == '-') {
			buf_adds(buf, "\\-");
		} else {
			buf_addc(buf, text[i]);
		}
	}
}

// A line for each sentence, as mdoc(7) wants.
static void add_sentences(struct buf *buf, const char *text) {
	while (*text) {
		const char *end = strstr(text, ". ");
		size_t len = end ? (size_t)(end - text) + 1 : strlen(text);
		if (*text == '.' || *text == '\'') {
			buf_adds(buf, "\\&");
		}
		add_words(buf, text, len);
		buf_addc(buf, '\n');
		text += len;
		text += strspn(text, " ");
	}
}

// An argument of a macro, in quotes.
static void add_argument(struct buf *buf, const char *text) {
	buf_addc(buf, '"');
	for (; *text; ++text) {
		if (*text == '"') {
			buf_adds(buf, "\\(dq");
		} else {
			add_words(buf, text, 1);
		}
	}
	buf_addc(buf, '"');
}

static void add_item(struct buf *buf, const struct key *key) {
	buf_printf(buf, ".It Ic %s : Ar ", key->name);
	if (key->type == TYPE_CHOICE) {
		buf_addc(buf, '"');
		for (const char *at = key->choices; *at; ++at) {
			buf_adds(buf, *at == ' ' ? " | " : (char[]){*at, '\0'});
		}
		buf_addc(buf, '"');
	} else {
		add_argument(buf, key_types[key->type].name);
	}
	buf_addc(buf, '\n');
	add_sentences(buf, key->text);
	if (key->value[0]) {
		buf_printf(buf, "Default: %s.\n", key->value);
	}
	buf_adds(buf, ".br\nExample:\n.Li ");
	struct buf example = BUF_INIT;
	buf_printf(&example, "%s: %s", key->name, key->example);
	add_argument(buf, buf_str(&example));
	buf_fini(&example);
	buf_addc(buf, '\n');
}

static void add_list(struct buf *buf, enum key_place place) {
	buf_adds(buf, ".Bl -tag -width 4n\n");
	for (int id = 0; id < NKEYS; ++id) {
		if (key_table[id].places & place) {
			add_item(buf, &key_table[id]);
		}
	}
	buf_adds(buf, ".El\n");
}

// The names of the keys of that place, in one sentence.
static void add_names(struct buf *buf, enum key_place place) {
	const char *separator = "";
	for (int id = 0; id < NKEYS; ++id) {
		if (key_table[id].places & place) {
			buf_printf(buf, "%s.Ic %s", separator, key_table[id].name);
			separator = " ,\n";
		}
	}
	buf_adds(buf, " .\n");
}

void manifest_mdoc(struct buf *buf) {
	buf_adds(buf, ".Ss Keys at the top\n");
	add_list(buf, IN_TOP);
	buf_adds(buf, ".Ss Keys of a batch\n");
	add_list(buf, IN_BATCH);
	buf_adds(buf, ".Ss Keys of args_from\n");
	add_list(buf, IN_ARGS_FROM);
	buf_adds(buf, ".Ss Keys of retry_delay\n");
	add_list(buf, IN_RETRY_DELAY);
	buf_adds(buf, ".Ss Keys of defaults\nThose of a batch that hold for any:\n");
	add_names(buf, IN_DEFAULTS);
	buf_adds(buf, ".Ss Keys of an entry of commands\n");
	add_names(buf, IN_COMMAND);
}
