// One batch of a manifest: its keys, and its run or commands.

#include "manifest/internal.h"

enum { MOST_NAME = 200 }; // bytes of a batch's name: it goes into FAIRPAR_JOB, logs and the status line

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

// Checks commands under the shell that runs them: `n` of these keys, in `found` or else in `under` (or NULL).
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

// What `run: a b` would have been, for a batch that is only a text.
static void refuse_batch(struct loader *loader, const struct node *name, const struct node *value) {
	if (node_is_missing(value)) {
		diagnostic_hint(load_error(loader, name, "batch '%s' is empty", name->text),
		                "it wants 'run' or 'commands', indented below its name");
		return;
	}
	struct diagnostic *diagnostic = load_error(loader, value, "batch '%s' must be a mapping, not a %s", name->text,
	                                           value->kind == NODE_LIST ? "list" : "text");
	diagnostic_hint(diagnostic, "write '%s: ...' below the name", value->kind == NODE_LIST ? "commands" : "run");
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
