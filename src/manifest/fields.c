// Reads the values of a manifest's keys into typed fields, or refuses them.

#include "manifest/internal.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

enum { LONGEST_NUMBER = 64 }; // bytes

// The defaults of a retry_delay that grows: its `max`, in nanoseconds, and its `factor` if it has a `max`.
#define LONGEST_PAUSE UINT64_C(3600000000000)
#define GROWTH 2

bool load_count(struct loader *loader, const struct node *node, uint64_t cost) {
	loader->cost += cost;
	if (loader->cost > MANIFEST_VALUES && !loader->overrun) {
		loader->overrun = true;
		load_error(loader, node, "the manifest has more than %d values, if each alias counts as what it stands for", MANIFEST_VALUES);
	}
	return !loader->overrun;
}

// ---- single values ----

// Returns a hint for a text that is no value of that type: the units if the text is a number, or what the user probably meant.
// Returns NULL if there is no hint.
static const char *hint_of(enum key_type type, const char *text) {
	bool is_number = text[0] >= '0' && text[0] <= '9';
	switch (type) {
	case TYPE_TRUE: return "true is the only value; leave the key out otherwise";
	case TYPE_DURATION:
	case TYPE_RETRY_DELAY: return is_number ? "the units are ms, s, m, h and d, each right behind its number" : NULL;
	case TYPE_RATE: return is_number ? "the units are /s, /m and /h, right behind the number" : NULL;
	case TYPE_SIZE: return is_number ? "the units are K, M, G and T, right behind the number" : NULL;
	case TYPE_SLOTS: return strncmp(text, "auto", 4) == 0 ? "auto can only be given on the command line: -j auto" : NULL;
	case TYPE_SHELL: return "options of the shell are set in the command: 'set -e' as the first line below 'run: |'";
	case TYPE_INT: return text[0] == '0' && text[1] ? "a number has no zeros in front" : NULL;
	default: return NULL;
	}
}

// Adds the hint to use quotes: YAML reads {} and {/.} without quotes as mappings, and [ as the start of a list.
static void hint_quotes(struct diagnostic *diagnostic, const struct node *node) {
	const struct node *name = node->kind == NODE_MAP && node->n == 1 ? node->pairs[0].key : NULL;
	bool is_string = node->kind == NODE_MAP && (node->n == 0 || (name && node_is_missing(node->pairs[0].value)));
	if (node->is_flow && is_string && (!name || name->n < 40)) {
		diagnostic_hint(diagnostic, "a value that starts with '{' must be quoted: '{%s}'", name ? name->text : "");
	} else if (node->is_flow) {
		diagnostic_hint(diagnostic, "a value that starts with '%c' must be quoted", node->kind == NODE_LIST ? '[' : '{');
	}
}

void load_refuse_item(struct loader *loader, const char *key, const struct node *node) {
	hint_quotes(load_error(loader, node, "an item of '%s' must be text, not a %s", key, node->kind == NODE_LIST ? "list" : "mapping"), node);
}

struct diagnostic *load_refuse(struct loader *loader, const struct key *key, const struct node *node) {
	char wants[96];
	key_wants(key, wants, sizeof(wants));
	if (node->kind == NODE_TEXT) {
		struct diagnostic *diagnostic = load_error(loader, node, "'%s' must be %s, not '%s'", key->name, wants, text_show(node->text, node->n));
		const char *hint = hint_of(key->type, node->text);
		if (hint) {
			diagnostic_hint(diagnostic, "%s", hint);
		}
		return diagnostic;
	}
	struct diagnostic *diagnostic = load_error(loader, node, "'%s' must be %s, not a %s", key->name, wants,
	                                           node->kind == NODE_LIST ? "list" : "mapping");
	bool wants_text = key->type == TYPE_TEXT || key->type == TYPE_COMMAND || key->type == TYPE_NAME;
	if (key->type == TYPE_COMMAND && node->kind == NODE_LIST && !node->is_flow) {
		diagnostic_hint(diagnostic, "several lines below '%s: |' are one script; 'commands' is a list of jobs", key->name);
	} else if (key == &key_table[KEY_GLOB] && node->kind == NODE_LIST && node->n > 1) {
		diagnostic_hint(diagnostic, "'glob' takes one pattern; for several use 'command', as in command: printf '%%s\\n' *.c *.h");
	} else if (key == &key_table[KEY_EMITS] && node->kind == NODE_LIST && node->n != 1) {
		diagnostic_hint(diagnostic, "a batch emits into one batch only, which may emit into a further batch");
	} else if (wants_text) {
		hint_quotes(diagnostic, node);
	}
	return diagnostic;
}

const char *load_text(struct loader *loader, const struct key *key, const struct node *node) {
	if (node->kind != NODE_TEXT) {
		load_refuse(loader, key, node);
		return NULL;
	}
	if (node->text[strspn(node->text, " \t\n")] == '\0') {
		load_error(loader, node, "'%s' is empty", key->name);
		return NULL;
	}
	return node->text;
}

void load_check_comment(struct loader *loader, struct node *node) {
	if (node->kind != NODE_TEXT || node->comment == 0 || loader->diagnostics->nwarnings >= MANIFEST_ERRORS) {
		return;
	}
	const char *comment = loader->diagnostics->data + node->comment;
	size_t len = strcspn(comment, "\r\n");
	struct source_span span = diagnostics_span_of_byte(loader->diagnostics, node->comment);
	span.width = (uint32_t)len;
	node->comment = 0; // so that aliases of the node do not warn again
	diagnostic_hint(diagnostic_warning(loader->diagnostics, span, "'%s' is a comment, and not part of the value", text_show(comment, len)),
	                "quote the value; or, for a comment, write two blanks before the '#' and one behind it");
}

// ---- numbers: the functions return true and set the result, or return false ----

// Reads a decimal number without a plus sign or leading zeros.
static bool value_int(const char *text, int least, int most, int *ret_value) {
	const char *digits = text + (*text == '-');
	long value;
	if ((digits[0] == '0' && digits[1]) || parse_number(text, least, most, &value) != 0) {
		return false;
	}
	*ret_value = (int)value;
	return true;
}

// Reads one to four octal digits, up to 777, also with the 0o of YAML 1.2, as in 0o22.
static bool value_umask(const char *text, int *ret_umask) {
	const char *digits = text[0] == '0' && text[1] == 'o' ? text + 2 : text;
	size_t n = strspn(digits, "01234567");
	if (n == 0 || n > 4 || digits[n] != '\0' || strtol(digits, NULL, 8) > 0777) {
		return false;
	}
	*ret_umask = (int)strtol(digits, NULL, 8);
	return true;
}

// Reads a number from 1 to 1000, with or without decimals.
static bool value_factor(const char *text, double *ret_factor) {
	struct decimal decimal;
	const char *end = read_decimal(text, MANIFEST_UNITS, &decimal);
	if (!end || *end || decimal.whole < 1 || decimal.whole > 1000 || (decimal.whole == 1000 && decimal.fraction > 0)) {
		return false;
	}
	*ret_factor = (double)decimal.whole + decimal.fraction;
	return true;
}

// Returns true if the text is a form of -j: N, +N, -N or N%, with N up to a million.
static bool value_is_slots(const char *text) {
	bool has_sign = *text == '+' || *text == '-';
	struct decimal decimal;
	const char *end = read_decimal(text + has_sign, MANIFEST_UNITS, &decimal);
	if (!end || decimal.whole > 1000000) {
		return false;
	}
	return *end == '\0' ? !decimal.has_point : !has_sign && strcmp(end, "%") == 0;
}

static bool is_time(const char *text, uint64_t *ret_ns) {
	return parse_duration(text, PARALLEL_UNITS, ret_ns) == 0 || parse_duration(text, MANIFEST_UNITS, ret_ns) == 0;
}

int manifest_delay_parse(const char *text, struct manifest_delay *ret_delay, const char **ret_error) {
	FP_CLEANUP(free_later) char *copy = xstrdup(text);
	char *factor = strchr(copy, ','), *max = factor ? strchr(factor + 1, ',') : NULL;
	for (char **part = (char *[]){factor, max, NULL}; *part; ++part) {
		**part = '\0';
	}
	struct manifest_delay delay = {.factor = max ? GROWTH : 1, .max_ns = LONGEST_PAUSE};
	*ret_error = NULL;
	if (!is_time(copy, &delay.first_ns) || (max && !is_time(max + 1, &delay.max_ns))) {
		*ret_error = "must be TIME[,FACTOR[,MAX]] with times such as 10, 1h30m or 2.5s";
	} else if (factor && !(max && factor[1] == '\0') && !value_factor(factor + 1, &delay.factor)) {
		*ret_error = "must have a FACTOR from 1 to 1000";
	} else if (factor && delay.max_ns < delay.first_ns) {
		*ret_error = max ? "must not have a MAX that is less than its TIME" : "must have a MAX where its TIME is more than 1h";
	}
	if (*ret_error) {
		return -1;
	}
	delay.max_ns = factor ? delay.max_ns : delay.first_ns;
	*ret_delay = delay;
	return 0;
}

static bool set_value(struct loader *loader, const struct key *key, const struct node *node, void *field) {
	if (node->kind != NODE_TEXT || node->n > LONGEST_NUMBER) {
		return false;
	}
	const char *text = node->text;
	bool is_set = false;
	switch (key->type) {
	case TYPE_BOOL:
		*(bool *)field = strcmp(text, "true") == 0;
		is_set = *(bool *)field || strcmp(text, "false") == 0;
		break;
	case TYPE_INT:
		is_set = value_int(text, key->least, key->most, field);
		break;
	case TYPE_DURATION:
		return parse_duration(text, MANIFEST_UNITS, field) == 0;
	case TYPE_RATE:
		return parse_rate(text, field) == 0;
	case TYPE_SIZE:
		return parse_size(text, MANIFEST_UNITS, field) == 0;
	case TYPE_UMASK:
		return value_umask(text, field);
	case TYPE_CHOICE:
		*(int *)field = word_index(key->choices, text, node->n);
		return *(int *)field >= 0;
	case TYPE_FACTOR:
		is_set = value_factor(text, field);
		break;
	default:
		return false;
	}
	if (is_set && !node->is_plain) { // the JSON Schema refuses quotes here, too
		load_error(loader, node, "'%s' must be written without quotes", key->name);
	}
	return is_set;
}

// ---- texts, variables, pauses ----

static void set_texts(struct loader *loader, const struct key *key, struct node *node,
                      struct manifest_texts *field) {
	bool takes_one = key->type != TYPE_TEXTS, is_one = takes_one && node->kind == NODE_TEXT;
	if (node->kind != NODE_LIST && !is_one) {
		load_refuse(loader, key, node);
		return;
	}
	uint32_t n = is_one ? 1 : node->n;
	if (key->type == TYPE_MACHINES && n == 0) {
		load_error(loader, node, "'%s' is an empty list: to run the jobs on all machines, leave the key out", key->name);
		return;
	}
	const char **texts = arena_alloc(&loader->manifest->arena, n * sizeof(*texts));
	for (uint32_t i = 0; i < n && !diagnostics_are_full(loader->diagnostics); ++i) {
		struct node *item = is_one ? node : node->items[i];
		if (node_is_missing(item)) {
			diagnostic_hint(load_error(loader, item, "an item of '%s' has no value", key->name),
			                "write \"\" for an empty text");
		} else if (item->kind != NODE_TEXT) {
			load_refuse_item(loader, key->name, item);
		} else {
			load_check_comment(loader, item);
			texts[i] = takes_one ? load_text(loader, key, item) : item->text;
		}
	}
	*field = (struct manifest_texts){texts, n};
}

static void set_env(struct loader *loader, const struct key *key, const struct node *node,
                    const struct manifest_env **field) {
	if (node->kind != NODE_MAP) {
		struct diagnostic *diagnostic = load_refuse(loader, key, node);
		if (node->kind == NODE_LIST) {
			diagnostic_hint(diagnostic, "write each variable as 'NAME: value'");
		}
		return;
	}
	struct manifest_env *env = arena_alloc(&loader->manifest->arena, sizeof(*env));
	struct manifest_pair *pairs = arena_alloc(&loader->manifest->arena, node->n * sizeof(*pairs));
	*env = (struct manifest_env){*field, pairs, node->n};
	for (uint32_t i = 0; i < node->n && !diagnostics_are_full(loader->diagnostics); ++i) {
		const struct node *name = node->pairs[i].key, *value = node->pairs[i].value;
		pairs[i] = (struct manifest_pair){name->text, value->kind == NODE_TEXT ? value->text : ""};
		if (name->n == 0 || strchr(name->text, '=')) {
			load_error(loader, name, "'%s' cannot name a variable", name->text);
		} else if (manifest_env_is_set_for_each(name->text) || strcmp(name->text, "FAIRPAR_COOKIE") == 0) {
			load_error(loader, name, "fairpar itself sets the variable '%s'", name->text);
		} else if (node_is_missing(value)) {
			diagnostic_hint(load_error(loader, name, "the variable '%s' has no value", name->text),
			                "write \"\" for an empty value");
		} else if (value->kind != NODE_TEXT) {
			load_refuse(loader, &(struct key){.name = name->text, .type = TYPE_TEXT}, value);
		}
	}
	*field = env;
}

static void set_retry_delay(struct loader *loader, const struct key *key, const struct node *node,
                            struct manifest_delay *field) {
	uint64_t ns;
	if (node->kind == NODE_TEXT && node->n <= LONGEST_NUMBER && parse_duration(node->text, MANIFEST_UNITS, &ns) == 0) {
		*field = (struct manifest_delay){ns, ns, 1};
		return;
	}
	if (node->kind != NODE_MAP) {
		load_refuse(loader, key, node);
		return;
	}
	struct found found;
	size_t nerrors = loader->diagnostics->nerrors;
	keys_find(node, IN_RETRY_DELAY, NULL, loader->diagnostics, &found);
	const struct node *max = found.at[KEY_MAX];
	bool grows = max || found.at[KEY_FACTOR];
	struct manifest_delay delay = {0, LONGEST_PAUSE, max ? GROWTH : 1};
	load_fields(loader, &found, &delay, /* job */ NULL);
	if (!found.at[KEY_FIRST]) {
		load_error(loader, node, "'retry_delay' lacks 'first', the first pause");
	} else if (grows && delay.max_ns < delay.first_ns && nerrors == loader->diagnostics->nerrors) {
		load_error(loader, max ? max : node, "'max' (%s) is less than 'first'", max ? max->text : "1h");
	}
	delay.max_ns = grows ? delay.max_ns : delay.first_ns;
	*field = delay;
}

// ---- fields ----

static void set_field(struct loader *loader, const struct key *key, struct node *node, void *field) {
	switch (key->type) {
	case TYPE_TEXT:
	case TYPE_COMMAND:
	case TYPE_SHELL:
	case TYPE_SLOTS: {
		const char *text = load_text(loader, key, node);
		bool is_good = text && (key->type == TYPE_SHELL ? !strpbrk(text, " \t\n") : key->type != TYPE_SLOTS || value_is_slots(text));
		if (text && !is_good) {
			load_refuse(loader, key, node);
		}
		if (key->type == TYPE_COMMAND) {
			load_check_comment(loader, node);
		}
		*(const char **)field = text;
		return;
	}
	case TYPE_TEXTS:
	case TYPE_STEPS:
	case TYPE_MACHINES:
		set_texts(loader, key, node, field);
		return;
	case TYPE_ENV:
		set_env(loader, key, node, field);
		return;
	case TYPE_RETRY_DELAY:
		set_retry_delay(loader, key, node, field);
		return;
	default:
		if (!set_value(loader, key, node, field)) {
			load_refuse(loader, key, node);
		}
	}
}

void load_fields(struct loader *loader, const struct found *found, void *base, const struct manifest_job **job) {
	struct manifest_job *own = NULL;
	for (int id = 0; id < NKEYS; ++id) {
		const struct key *key = &key_table[id];
		if (!found->at[id] || key->field < 0) {
			continue;
		}
		bool is_of_job = (key->scopes & IN_COMMAND) != 0;
		if (is_of_job && !own) {
			own = arena_alloc(&loader->manifest->arena, sizeof(*own));
			*own = **job;
			*job = own;
		}
		set_field(loader, key, found->at[id], (char *)(is_of_job ? own : base) + key->field);
	}
}
