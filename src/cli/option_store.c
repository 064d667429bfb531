// Stores the arguments of options in the fields that the table names, or refuses them with a message.

#include "cli/parser.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/text.h"
#include "base/units.h"
#include "manifest/keys.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

enum { MOST_LONG = 10000, MOST_PILOTS = 1000 };

enum value_kind {
	KIND_GIVEN, KIND_SET, KIND_TEXT, KIND_LIST, KIND_NUMBER, KIND_COUNT, KIND_SIZE, KIND_TIME, KIND_CHOICE, KIND_SETTING, KIND_CALL,
};

// What the column VALUE of options.def says about an option.
struct value_info {
	enum value_kind kind;
	size_t at, size;         // the field: its offset in struct options, and its bytes
	long least, most;        // KIND_NUMBER: the bounds; the macros below show what `least` and `most` are for other kinds
	enum key_id key;         // the key of KIND_SETTING
	option_handler *handle;
};

#define FIELD(field) .at = offsetof(struct options, field), .size = sizeof(((struct options *)NULL)->field)
#define GIVEN .kind = KIND_GIVEN
#define SET(field, value) .kind = KIND_SET, FIELD(field), .least = (value)
#define FLAG(field) SET(field, true)
#define TEXT(field) .kind = KIND_TEXT, FIELD(field), .least = 1 // at least one byte: the text must not be empty
#define ANY_TEXT(field) .kind = KIND_TEXT, FIELD(field)
#define TEXTS(field, count) .kind = KIND_LIST, FIELD(field), .least = 1, .most = offsetof(struct options, count)
#define NUMBER(field, min, max) .kind = KIND_NUMBER, FIELD(field), .least = (min), .most = (max)
#define COUNT(field, min) .kind = KIND_COUNT, FIELD(field), .least = (min)
#define SIZE(field, min) .kind = KIND_SIZE, FIELD(field), .least = (min)
#define TIME(field) .kind = KIND_TIME, FIELD(field)
#define CHOICE(field, first, without) .kind = KIND_CHOICE, FIELD(field), .least = (first), .most = (without)
#define SETTING(setting) .kind = KIND_SETTING, .key = (setting)
#define CALL(function) .kind = KIND_CALL, .handle = (function)
#define OPTION(id, name, aliases, shorts, arg, spellings, group, value, ...) [id] = {value},
static const struct value_info values[NOPTIONS] = {
#include "cli/options.def"
};

int option_fail(enum option_id id, const char *format, ...) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	BUF_ADD_ARGUMENTS(&text, format);
	return diag_error("--%s %s", option_table[id].name, buf_str(&text));
}

void option_add_text(const char ***list, size_t *n, const char *text) {
	*list = xrealloc(*list, (*n + 1) * sizeof(**list));
	(*list)[(*n)++] = text;
}

static int store_text(const struct value_info *info, enum option_id id, char *field, const char *text) {
	if (text && *text == '\0' && info->least > 0) {
		return option_value_way(&option_table[id]) > VALUE_ALWAYS
			? option_fail(id, "has nothing behind the '=': give a value, or leave the '=' out")
			: option_fail(id, "must not be empty");
	}
	if (info->kind == KIND_LIST) {
		option_add_text((const char ***)(void *)field, (size_t *)(void *)(field - info->at + info->most), text);
	} else if (text || info->least == 0) {
		memcpy(field, &text, sizeof(text));
	}
	return 0;
}

static int store_number(const struct value_info *info, enum option_id id, char *field, const char *text) {
	long value;
	if (parse_number(text, info->least, info->most, &value) == 0) {
		store_integer(field, info->size, value);
		return 0;
	}
	if (info->most == LONG_MAX) {
		return option_fail(id, "must be a number from %ld on, not '%s'%s", info->least, text_shows(text), unit_excess(text));
	}
	return option_fail(id, "must be a number from %ld to %ld, not '%s'", info->least, info->most, text_shows(text));
}

// Stores a number of bytes, or a count in the same notation (2k). "0", or no argument, is stored as 0, unless 0 is no valid size.
static int store_size(const struct value_info *info, enum option_id id, char *field, const char *text) {
	uint64_t n = 0;
	bool is_count = info->kind == KIND_COUNT;
	bool is_good = !text || strcmp(text, "0") == 0 ? is_count || info->least == 0 : parse_size(text, PARALLEL_UNITS, &n) == 0;
	if (!is_good || (is_count && n > INT_MAX)) {
		return option_fail(id, "must be a %s, not '%s'%s", is_count ? "number such as 10 or 2k" : "size such as 500k or 64M",
		                   text_shows(text), unit_excess(text));
	}
	if (n < (uint64_t)info->least) {
		return option_fail(id, "must be at least %ld", info->least);
	}
	store_integer(field, info->size, (long)n);
	return 0;
}

static int store_time(enum option_id id, char *field, const char *text) {
	uint64_t ns;
	if (parse_duration(text, PARALLEL_UNITS, &ns) != 0) {
		return option_fail(id, "must be seconds, or a time such as 1h30m or 2.5s, not '%s'%s", text_shows(text), unit_excess(text));
	}
	memcpy(field, &ns, sizeof(ns));
	return 0;
}

static int store_choice(const struct value_info *info, enum option_id id, char *field, const char *text) {
	int chosen = text ? word_index(option_table[id].complete, text, strlen(text)) : 0;
	if (chosen >= 0) {
		store_integer(field, info->size, text ? info->least + chosen : info->most);
		return 0;
	}
	const char *choices = option_table[id].complete;
	size_t len;
	FP_CLEANUP(buf_fini) struct buf list = BUF_INIT;
	for (const char *word; (word = word_next(&choices, &len));) {
		buf_printf(&list, "%s%.*s", list.len == 0 ? "" : *choices ? ", " : " or ", (int)len, word);
	}
	return option_fail(id, "must be %s, not '%s'", buf_str(&list), text_shows(text));
}

// Keeps the value of an option for the batches whose names match the pattern (`len` bytes, copied).
static void add_setting(struct options *options, enum option_id id, const char *pattern, size_t len, int64_t value) {
	options->settings = xrealloc(options->settings, (options->nsettings + 1) * sizeof(*options->settings));
	struct batch_setting *setting = &options->settings[options->nsettings++];
	*setting = (struct batch_setting){.option = id, .pattern = arena_text(&options->texts, pattern, len), .value = value};
}

void option_settings_apply(const struct options *options, const char *name, struct queue_attrs *attrs) {
	for (size_t i = 0; i < options->nsettings; ++i) {
		struct batch_setting *setting = &options->settings[i];
		const struct key *key = &key_table[values[setting->option].key];
		char *field = (char *)attrs + (size_t)key->field - offsetof(struct manifest_batch, attrs);
		if (fnmatch(setting->pattern, name, 0) == 0) {
			store_integer(field, key->type == TYPE_BOOL ? sizeof(bool) : key->type == TYPE_INT ? sizeof(int) : sizeof(long), setting->value);
			setting->is_used = true;
		}
	}
}

// Stores the N of --weight N or --priority N, for this run in a pool; options.c refuses N if there is no pool. Returns false for any other text.
static bool store_own_setting(enum option_id id, struct pool_options *pool, const char *text) {
	const struct key *key = &key_table[values[id].key];
	bool is_weight = id == OPT_WEIGHT;
	if ((!is_weight && id != OPT_PRIORITY) || parse_number(text, key->least, key->most, is_weight ? &pool->weight : &pool->priority) != 0) {
		return false;
	}
	*(is_weight ? &pool->weight_text : &pool->priority_text) = text;
	return true;
}

// Stores the setting BATCH=VALUE. A name may have a "=", a value has none. --rate RATE without BATCH= is for all batches.
static int store_setting(enum option_id id, struct options *options, const char *text) {
	const struct key *key = &key_table[values[id].key];
	const char *equals = text ? strrchr(text, '=') : NULL;
	bool is_rate = key->type == TYPE_RATE;
	long number;
	uint64_t interval;
	if (key->type == TYPE_BOOL) {
		add_setting(options, id, text ? text : "*", text ? strlen(text) : 1, true);
		return text && *text == '\0' ? option_fail(id, "must name a batch behind the '='") : 0;
	}
	if (!equals && store_own_setting(id, &options->pool, text)) {
		return 0;
	}
	if (is_rate && (equals == text || parse_rate(equals ? equals + 1 : text, &interval) != 0)) {
		return option_fail(id, "must be a rate such as 5/s, 30/m or 100/h, or BATCH=RATE, not '%s'", text_shows(text));
	}
	if (!is_rate && (!equals || equals == text || parse_number(equals + 1, key->least, key->most, &number) != 0)) {
		return option_fail(id, "must be BATCH=N with N from %d to %d, not '%s'", key->least, key->most, text_shows(text));
	}
	add_setting(options, id, equals ? text : "*", equals ? (size_t)(equals - text) : 1, is_rate ? (int64_t)interval : number);
	return 0;
}

int option_store(struct parser *parser) {
	enum option_id id = parser->id;
	const char *value = parser->value;
	const struct value_info *info = &values[id];
	char *field = (char *)parser->options + info->at;
	parser->options->given[id] = true;
	switch (info->kind) {
	case KIND_SET: store_integer(field, info->size, info->least); return 0;
	case KIND_TEXT:
	case KIND_LIST: return store_text(info, id, field, value);
	case KIND_NUMBER: return store_number(info, id, field, value);
	case KIND_COUNT:
	case KIND_SIZE: return store_size(info, id, field, value);
	case KIND_TIME: return store_time(id, field, value);
	case KIND_CHOICE: return store_choice(info, id, field, value);
	case KIND_SETTING: return store_setting(id, parser->options, value);
	case KIND_CALL: return info->handle(parser, value);
	default: return 0; // KIND_GIVEN
	}
}
