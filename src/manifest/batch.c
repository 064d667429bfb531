// Loads one batch of a manifest: its keys, its run or commands, and its items: args, args_from, or the combinations of a matrix.

#include "manifest/internal.h"

#include "base/alloc.h"
#include "base/text.h"

enum { MOST_COMPARISONS = 20000000 }; // the most values that are compared to find excluded combinations: this takes a fraction of a second
enum { MOST_NAME = 200 }; // the most bytes of a batch's name, which is shown in FAIRPAR_JOB, logs and the status line

static void check_name(struct loader *loader, const struct node *name) {
	bool is_plain = true;
	for (uint32_t i = 0; i < name->n; ++i) {
		is_plain = is_plain && (unsigned char)name->text[i] >= ' ' && name->text[i] != 0x7F;
	}
	if (name->n == 0 || name->n > MOST_NAME || !is_plain) {
		load_error(loader, name, "the name of a batch is a line of 1 to %d bytes%s", MOST_NAME,
		           is_plain ? "" : " without control characters");
	}
}

// Checks the values of the first `n` keys of `ids`, which are commands that `shell` runs. Keys that `found` lacks are taken from `under` (or NULL).
static void check_words(struct loader *loader, const struct found *found, const struct found *under, size_t n, const char *shell) {
	static const enum key_id ids[] = {KEY_RUN, KEY_THEN, KEY_ON_FAILURE, KEY_FINALLY};
	for (size_t i = 0; i < n; ++i) {
		const struct node *node = found->at[ids[i]];
		load_check_words(loader, shell, node || !under ? node : under->at[ids[i]]);
	}
}

static void load_entry(struct loader *loader, struct node *node, const struct found *batch_found,
                       const struct manifest_batch *batch, struct manifest_command *command) {
	const struct key *run = &key_table[KEY_RUN];
	*command = (struct manifest_command){.job = batch->job, .line = node->line};
	if (node_is_missing(node)) {
		load_error(loader, node, "an entry of 'commands' has no value");
		return;
	}
	if (node->kind != NODE_MAP) {
		command->run = load_text(loader, run, node);
		load_check_comment(loader, node);
		load_check_words(loader, batch->job->shell, node);
		return;
	}
	struct found found;
	keys_find(node, IN_COMMAND, batch->name, loader->diagnostics, &found);
	struct node *text = found.at[KEY_RUN];
	if (text) {
		command->run = load_text(loader, run, text);
		load_check_comment(loader, text);
	} else if (node->is_flow && node->n <= 1 && (node->n == 0 || node_is_missing(node->pairs[0].value))) {
		load_refuse(loader, run, node);
	} else {
		load_error(loader, node, "an entry of 'commands' lacks 'run'");
	}
	load_fields(loader, &found, NULL, &command->job);
	check_words(loader, &found, found.at[KEY_SHELL] ? batch_found : NULL, 3, command->job->shell);
}

static void load_commands(struct loader *loader, const struct found *found, struct manifest_batch *batch) {
	const struct node *node = found->at[KEY_COMMANDS];
	if (node->kind != NODE_LIST) {
		load_refuse(loader, &key_table[KEY_COMMANDS], node);
		return;
	}
	struct manifest_command *commands = arena_alloc(&loader->manifest->arena, node->n * sizeof(*commands));
	for (uint32_t i = 0; i < node->n && !diagnostics_are_full(loader->diagnostics) && !loader->overrun; ++i) {
		load_entry(loader, node->items[i], found, batch, &commands[i]);
	}
	batch->commands = commands;
	batch->ncommands = node->n;
}

static void load_run(struct loader *loader, const struct found *found, struct manifest_batch *batch) {
	struct node *run = found->at[KEY_RUN];
	const struct node *commands = found->at[KEY_COMMANDS];
	if (run && commands) {
		const struct node *second = run->line > commands->line ? run : commands;
		load_error(loader, second, "batch '%s' has both 'run' and 'commands'", batch->name);
	} else if (commands) {
		load_commands(loader, found, batch);
	} else if (run) {
		batch->run = load_text(loader, &key_table[KEY_RUN], run);
		load_check_comment(loader, run);
	}
}

// ---- items ----

const char *manifest_matrix_value(const struct manifest_matrix *matrix, size_t row, size_t axis) {
	size_t number = matrix->rows[row];
	for (size_t i = matrix->names.n - 1; i > axis; --i) {
		number /= matrix->values[i].n;
	}
	return matrix->values[axis].at[number % matrix->values[axis].n];
}

static void load_stdin(struct loader *loader, const struct node *node) {
	if (node->kind != NODE_TEXT || strcmp(node->text, "true") != 0 || !node->is_plain) {
		load_refuse(loader, &key_table[KEY_STDIN], node);
	} else if (strcmp(loader->manifest->path, "-") == 0) {
		load_error(loader, node, "stdin is the manifest itself, so no batch can read items from it");
	} else if (loader->stdin_node) {
		load_error(loader, node, "only one batch can read stdin; the batch in line %u does", loader->stdin_node->line);
	} else {
		loader->stdin_node = node;
	}
}

static void load_args_from(struct loader *loader, const struct node *node, struct manifest_batch *batch) {
	if (node->kind != NODE_MAP) {
		struct diagnostic *diagnostic = load_refuse(loader, &key_table[KEY_ARGS_FROM], node);
		if (node->kind == NODE_TEXT) {
			bool is_stdin = strcmp(node->text, "stdin") == 0 || strcmp(node->text, "-") == 0;
			diagnostic_hint(diagnostic, is_stdin ? "as in {stdin: true}" : "as in {file: NAME}");
		}
		return;
	}
	struct found found;
	size_t nerrors = loader->diagnostics->nerrors;
	keys_find(node, IN_ARGS_FROM, NULL, loader->diagnostics, &found);
	size_t n = 0;
	for (int id = KEY_FILE; id <= KEY_STDIN; ++id) {
		struct node *value = found.at[id];
		if (!value) {
			continue;
		}
		if (n++ > 0) {
			load_error(loader, value, "'args_from' has more than one source");
		}
		batch->source = (enum manifest_source)(MANIFEST_FILE + (id - KEY_FILE));
		if (id == KEY_STDIN) {
			load_stdin(loader, value);
		} else {
			batch->source_text = load_text(loader, &key_table[id], value);
			load_check_comment(loader, value);
			load_check_words(loader, id == KEY_COMMAND ? batch->job->shell : "", value);
		}
	}
	if (n == 0 && nerrors == loader->diagnostics->nerrors) {
		load_error(loader, node, "'args_from' is empty: it needs one of file, file0, glob, command, stdin");
	}
}

// ---- matrix ----

// Returns the values of an axis; an empty list after an error.
static struct manifest_texts load_values(struct loader *loader, const struct node *name, const struct node *node) {
	struct manifest_texts none = {NULL, 0};
	if (node->kind != NODE_LIST || node->n == 0) {
		struct diagnostic *diagnostic = diagnostic_error(loader->diagnostics, node_span(node_is_missing(node) ? name : node),
		                                        node->kind == NODE_LIST ? "'%s' in the matrix has no values"
		                                                                : "'%s' in the matrix must be a list of values", name->text);
		if (node->kind == NODE_TEXT && !node_is_missing(node)) {
			diagnostic_hint(diagnostic, "a list with one value is written [%s]", node->text);
		}
		return none;
	}
	const char **values = arena_alloc(&loader->manifest->arena, node->n * sizeof(*values));
	FP_CLEANUP(map_fini) struct map seen = MAP_INIT;
	size_t nerrors = loader->diagnostics->nerrors;
	for (uint32_t i = 0; i < node->n && !diagnostics_are_full(loader->diagnostics); ++i) {
		const struct node *value = node->items[i];
		if (value->kind != NODE_TEXT) {
			load_refuse_item(loader, name->text, value);
			continue;
		}
		if (node_is_missing(value)) {
			diagnostic_hint(load_error(loader, value, "a value of '%s' is missing", name->text),
			                "write \"\" for an empty value");
		} else if (map_add(&seen, value->text, value->n, i) != MAP_NONE) {
			load_error(loader, value, "'%s' stands twice in '%s'", value->text, name->text);
		}
		values[i] = value->text;
	}
	return nerrors == loader->diagnostics->nerrors ? (struct manifest_texts){values, node->n} : none;
}

// An exclusion has, for each axis, the number of the excluded value, or ANY if the axis may have any value.
enum { ANY = -1 };

static bool load_exclusion(struct loader *loader, const struct node *node, const struct manifest_matrix *matrix,
                           int *ret_values) {
	if (node->kind != NODE_MAP || node->n == 0) {
		load_error(loader, node, "an entry of 'exclude' must be a mapping of names to values");
		return false;
	}
	for (size_t axis = 0; axis < matrix->names.n; ++axis) {
		ret_values[axis] = ANY;
	}
	for (uint32_t i = 0; i < node->n; ++i) {
		const struct node *name = node->pairs[i].key, *value = node->pairs[i].value;
		size_t axis = 0, at = 0;
		while (axis < matrix->names.n && strcmp(matrix->names.names[axis], name->text) != 0) {
			++axis;
		}
		if (axis == matrix->names.n) {
			load_error(loader, name, "the matrix has no '%s'", name->text);
			return false;
		}
		if (value->kind != NODE_TEXT) {
			load_refuse(loader, &(struct key){.name = name->text, .type = TYPE_TEXT}, value);
			return false;
		}
		const struct manifest_texts *values = &matrix->values[axis];
		while (at < values->n && strcmp(values->at[at], value->text) != 0) {
			++at;
		}
		if (at == values->n) {
			load_error(loader, value, "'%s' in the matrix has no value '%s'", name->text, value->text);
			return false;
		}
		ret_values[axis] = (int)at;
	}
	return true;
}

static bool is_excluded(const struct manifest_matrix *matrix, size_t number, const int *exclusions, size_t n) {
	for (size_t i = 0; i < n; ++i) {
		const int *values = exclusions + i * matrix->names.n;
		size_t rest = number, axis = matrix->names.n;
		while (axis > 0) {
			size_t nvalues = matrix->values[axis - 1].n;
			if (values[axis - 1] != ANY && (size_t)values[axis - 1] != rest % nvalues) {
				break;
			}
			rest /= nvalues;
			--axis;
		}
		if (axis == 0) {
			return true;
		}
	}
	return false;
}

// Sets matrix->rows to the numbers of the combinations, without the combinations that `exclude` lists (NULL: none).
static void load_rows(struct loader *loader, const struct node *node, const struct node *exclude,
                          struct manifest_matrix *matrix) {
	size_t total = 1, n = exclude ? exclude->n : 0;
	for (size_t i = 0; i < matrix->names.n; ++i) {
		total *= matrix->values[i].n;
		if (total > MANIFEST_VALUES) {
			load_error(loader, node, "the matrix has more than %d combinations", MANIFEST_VALUES);
			return;
		}
	}
	if (!load_count(loader, node, total)) {
		return;
	}
	if (exclude && (exclude->kind != NODE_LIST || n == 0)) {
		load_error(loader, exclude, "'exclude' must be a list of mappings");
		return;
	}
	if (n > 0 && total * matrix->names.n > MOST_COMPARISONS / n) {
		load_error(loader, exclude, "too many exclusions for a matrix of %zu combinations", total);
		return;
	}
	FP_CLEANUP(free_later) int *exclusions = xcalloc(n * matrix->names.n + 1, sizeof(*exclusions));
	bool is_good = true;
	for (size_t i = 0; i < n && !diagnostics_are_full(loader->diagnostics); ++i) {
		is_good &= load_exclusion(loader, exclude->items[i], matrix, exclusions + i * matrix->names.n);
	}
	uint32_t *rows = arena_alloc(&loader->manifest->arena, total * sizeof(*rows));
	for (size_t number = 0; is_good && number < total; ++number) {
		if (!is_excluded(matrix, number, exclusions, n)) {
			rows[matrix->nrows++] = (uint32_t)number;
		}
	}
	matrix->rows = rows;
	if (is_good && matrix->nrows == 0) {
		load_error(loader, node, "'exclude' leaves no combination of the matrix");
	}
}

static void load_axis(struct loader *loader, const struct pair *pair, struct manifest_matrix *matrix) {
	const struct node *name = pair->key;
	if (name->n == 0 || text_name_length(name->text) != name->n) {
		load_error(loader, name, "a name in the matrix has letters, digits and '_' only, and no digit in front");
	} else if (strcmp(name->text, "include") == 0) {
		diagnostic_hint(load_error(loader, name, "the matrix has no 'include'"),
		                "a job that is no combination of the matrix goes into another batch");
	} else {
		struct manifest_texts values = load_values(loader, name, pair->value);
		if (values.n > 0) {
			matrix->names.names[matrix->names.n] = (char *)(uintptr_t)name->text;
			matrix->values[matrix->names.n++] = values;
		}
	}
}

static void load_matrix(struct loader *loader, const struct node *node, struct manifest_batch *batch) {
	if (node->kind != NODE_MAP) {
		load_refuse(loader, &key_table[KEY_MATRIX], node);
		return;
	}
	struct manifest_matrix matrix = {
		.names.names = arena_alloc(&loader->manifest->arena, node->n * sizeof(char *)),
		.values = arena_alloc(&loader->manifest->arena, node->n * sizeof(*matrix.values)),
	};
	size_t nerrors = loader->diagnostics->nerrors;
	const struct node *exclude = NULL;
	for (uint32_t i = 0; i < node->n && !diagnostics_are_full(loader->diagnostics); ++i) {
		if (strcmp(node->pairs[i].key->text, "exclude") == 0) {
			exclude = node->pairs[i].value;
		} else {
			load_axis(loader, &node->pairs[i], &matrix);
		}
	}
	if (nerrors != loader->diagnostics->nerrors) {
		return;
	}
	if (matrix.names.n == 0) {
		load_error(loader, node, "the matrix is empty");
		return;
	}
	load_rows(loader, node, exclude, &matrix);
	batch->matrix = matrix;
}

// Loads args, args_from or matrix.
static void load_items(struct loader *loader, const struct found *found, struct manifest_batch *batch) {
	static const enum key_id ids[] = {KEY_ARGS, KEY_ARGS_FROM, KEY_MATRIX};
	int n = 0;
	for (int i = 0; i < 3; ++i) {
		const struct node *node = found->at[ids[i]];
		if (!node) {
			continue;
		}
		if (n++ > 0) {
			load_error(loader, node, "batch '%s' has more than one of 'args', 'args_from' and 'matrix'", batch->name);
		} else if (found->at[KEY_COMMANDS] && !found->at[KEY_RUN]) {
			diagnostic_hint(load_error(loader, node, "'%s' goes with 'run', not with 'commands'", key_table[ids[i]].name),
			                "each entry of 'commands' is a job without items; the template for items is 'run'");
		}
	}
	if (found->at[KEY_ARGS]) {
		batch->source = MANIFEST_ARGS;
	} else if (found->at[KEY_ARGS_FROM]) {
		load_args_from(loader, found->at[KEY_ARGS_FROM], batch);
	} else if (found->at[KEY_MATRIX]) {
		batch->source = MANIFEST_MATRIX;
		load_matrix(loader, found->at[KEY_MATRIX], batch);
	}
}

// ---- a whole batch ----

// Refuses a batch that is no mapping, with a hint: a list was probably meant as `commands`, a text as `run`.
static void refuse_batch(struct loader *loader, const struct node *name, const struct node *value) {
	if (node_is_missing(value)) {
		diagnostic_hint(load_error(loader, name, "batch '%s' is empty", name->text),
		                "it needs 'run' or 'commands', indented below its name");
		return;
	}
	bool is_list = value->kind == NODE_LIST;
	diagnostic_hint(load_error(loader, value, "batch '%s' must be a mapping, not a %s", name->text, is_list ? "list" : "text"),
	                "write '%s: ...' below the name", is_list ? "commands" : "run");
}

void load_batch(struct loader *loader, const struct pair *from, struct manifest_batch *batch) {
	const struct node *name = from->key, *value = from->value;
	*batch = loader->base;
	batch->name = name->text;
	batch->line = name->line;
	check_name(loader, name);
	if (value->kind != NODE_MAP) {
		refuse_batch(loader, name, value);
		return;
	}
	if (!load_count(loader, value, value->cost)) {
		return;
	}
	struct found found;
	size_t nerrors = loader->diagnostics->nerrors;
	keys_find(value, IN_BATCH, name->text, loader->diagnostics, &found);
	if (!found.at[KEY_RUN] && !found.at[KEY_COMMANDS] && nerrors == loader->diagnostics->nerrors) {
		load_error(loader, name, "batch '%s' has neither 'run' nor 'commands'", name->text);
	}
	load_fields(loader, &found, batch, &batch->job);
	load_items(loader, &found, batch);
	for (int id = 0; id < NKEYS; ++id) {
		found.at[id] = found.at[id] ? found.at[id] : loader->base_found.at[id];
	}
	load_run(loader, &found, batch);
	check_words(loader, &found, NULL, 4, batch->job->shell);
}
