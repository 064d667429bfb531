// Checks the texts of a batch: a batch with items must have a replacement string for them, and each replacement string must be known.
// Commands that no shell reads (`shell: none`) must be splittable into words, and get a warning for syntax that needs a shell.
//
// template/template.c leaves unknown braces as they are, for any command line may hold braces. In a manifest an unknown {name}
// is an error, but ${name} and braces with blanks inside are not.

#include "manifest/internal.h"

#include "base/alloc.h"
#include "base/text.h"
#include "shell/reader.h"
#include "shell/shell.h"
#include "shell/quoting.h"
#include "template/template.h"

bool manifest_batch_has_items(const struct manifest_batch *batch) {
	return batch->source != MANIFEST_NONE || batch->nfeeders > 0;
}

struct string {
	enum { NO_STRING, ITEM_STRING, NUMBER_STRING, COLUMN_STRING, NAME_STRING } kind;
	size_t len;     // bytes, with the braces
	long column;    // COLUMN_STRING: the number of the column, from 1; below 0: from the last
	size_t nname;   // NAME_STRING: bytes of the name, which begins behind the brace
};

// Returns the replacement string that begins with the brace at `at`.
static struct string read_string(const char *at) {
	size_t len, sign = at[1] == '-', digits = strspn(at + 1 + sign, "0123456789"), name = text_name_length(at + 1);
	enum token token = token_find(&tokens_default, at, false, &len);
	if (token != NTOKENS) {
		return (struct string){.kind = token < TOKEN_SEQ ? ITEM_STRING : NUMBER_STRING, .len = len};
	}
	size_t end = digits > 0 ? 1 + sign + digits : 1 + name;
	if (end == 1 || token_find(&tokens_default, at + end, true, &len) == NTOKENS) {
		return (struct string){.kind = NO_STRING};
	}
	long column = strtol(at + 1 + sign, NULL, 10);
	return (struct string){.kind = digits > 0 ? COLUMN_STRING : NAME_STRING, .len = end + len, .column = sign ? -column : column, .nname = name};
}

// Finds the span of a part of a text that is written below '|', indented. Returns false if the lines below do not have the text.
static bool find_below(const struct loader *loader, const struct node *node, const char *part, size_t len, struct source_span *ret_span) {
	const char *first = node->text;
	uint32_t line = node->line + 1;
	for (const char *next; (next = memchr(first, '\n', (size_t)(part - first))); first = next + 1) {
		++line;
	}
	size_t n = strcspn(first, "\n");
	const char *at = diagnostics_position(loader->diagnostics, line, 1), *end = at + strcspn(at, "\n");
	while (end > at && end[-1] == '\r') {
		--end;
	}
	size_t indent = (size_t)(end - at) - n;
	if ((size_t)(end - at) < n || strspn(at, " ") < indent || memcmp(at + indent, first, n) != 0) {
		return false;
	}
	*ret_span = (struct source_span){line, (uint32_t)indent + 1, 1};
	for (const char *c = first; c < part + len && c < first + n; c += utf8_length(c, (size_t)(first + n - c))) {
		ret_span->column += c < part;
		ret_span->width += c > part;
	}
	return true;
}

// Returns the span of a part of the text if the file has the text as it is; else the span of the whole text.
static struct source_span text_span(const struct loader *loader, const struct node *node, const char *part, size_t len) {
	struct source_span span = node_span(node);
	size_t quote = span.width == node->n + 2 ? 1 : 0;
	if (span.width == node->n + 2 * quote) {
		span.column += (uint32_t)(quote + (size_t)(part - node->text));
		span.width = (uint32_t)len;
	} else {
		(void)find_below(loader, node, part, len, &span);
	}
	return span;
}

// The keys of a batch that are templates if the batch has items. The first NCOMMANDS are commands that a shell reads. In a batch without items,
// a replacement string in the first NPLAIN gets a warning; `env` is not one of these, because its values are often JSON.
enum { NCOMMANDS = 3, NPLAIN = 5, NTEXTS = 6 };
static const enum key_id text_keys[NTEXTS] = {KEY_RUN, KEY_THEN, KEY_ON_FAILURE, KEY_CREATES, KEY_COMMANDS, KEY_ENV};

struct check {
	struct loader *loader;
	const struct manifest_batch *batch;
	bool has_items;
	bool has_string;   // one of the texts has a replacement string, or something that was meant as one
};

static bool matrix_has(const struct manifest_batch *batch, const char *name, size_t len) {
	for (size_t i = 0; i < batch->matrix.names.n; ++i) {
		const char *axis = batch->matrix.names.names[i];
		if (strlen(axis) == len && memcmp(axis, name, len) == 0) {
			return true;
		}
	}
	return false;
}

static void refuse_name(const struct check *check, const struct node *node, const char *at, struct string string) {
	const struct manifest_batch *batch = check->batch;
	struct source_span span = text_span(check->loader, node, at, string.len);
	int n = (int)string.nname;
	struct diagnostic *diagnostic = diagnostic_error(check->loader->diagnostics, span, "nothing in batch '%s' is called '{%.*s}'",
	                                        batch->name, n, at + 1);
	if (batch->matrix.names.n == 0) {
		diagnostic_note(diagnostic, "the item is '{}'");
	}
	diagnostic_hint(diagnostic, "braces that are not meant for fairpar stay as they are with blanks inside: '{ %.*s }'", n, at + 1);
}

// Checks the replacement string at `at` in a text that is a template.
static void check_string(struct check *check, const struct node *node, const char *at, struct string string) {
	const struct manifest_batch *batch = check->batch;
	bool has_dollar = at > node->text && at[-1] == '$';
	long ncolumns = batch->matrix.names.n > 0 ? (long)batch->matrix.names.n : 1;
	bool is_name = string.kind == NAME_STRING;
	if (is_name && !matrix_has(batch, at + 1, string.nname)) {
		if (!has_dollar) {
			refuse_name(check, node, at, string);
			check->has_string = true;
		}
		return;
	}
	check->has_string = true;
	if (has_dollar) {
		struct diagnostic *diagnostic = diagnostic_error(check->loader->diagnostics, text_span(check->loader, node, at - 1, string.len + 1),
			"'$%.*s' is a variable of the shell and a replacement string at once", (int)string.len, at);
		if (is_name) {
			diagnostic_hint(diagnostic, "write $%.*s for the variable, or %.*s for the value", (int)string.nname, at + 1,
			             (int)string.len, at);
		}
	} else if (string.kind == COLUMN_STRING && (string.column > ncolumns || -string.column > ncolumns)) {
		diagnostic_error(check->loader->diagnostics, text_span(check->loader, node, at, string.len), "'%.*s': an item here has %ld part%s",
		              (int)string.len, at, ncolumns, ncolumns > 1 ? "s" : "");
	}
}

static void check_text(struct check *check, const struct node *node) {
	const struct manifest_batch *batch = check->batch;
	for (const char *at = node->text; (at = strchr(at, '{')) && !diagnostics_are_full(check->loader->diagnostics);) {
		struct string string = read_string(at);
		if (at > node->text && at[-1] == '$' && at[1] == '{') {
			diagnostic_hint(diagnostic_error(check->loader->diagnostics, text_span(check->loader, node, at - 1, 3),
			                                 "'${{' begins an expression of GitHub's, which fairpar does not have"),
			             batch->matrix.names.n > 0 ? "the matrix's values are {%s} and the like" : "an item is {}%.0s",
			             batch->matrix.names.n > 0 ? batch->matrix.names.names[0] : "");
			check->has_string = true;
			return;
		}
		if (string.kind == NO_STRING || !check->has_items) {
			++at;
			continue;
		}
		check_string(check, node, at, string);
		at += string.len;
	}
}

// Checks a text, or the texts in a list or a mapping. `node` may be NULL.
static void check_node(struct check *check, const struct node *node) {
	for (uint32_t i = 0; node && i < (node->kind == NODE_TEXT ? 1 : node->n); ++i) {
		const struct node *value = node->kind == NODE_TEXT ? node : node->kind == NODE_LIST ? node->items[i] : node->pairs[i].value;
		if (value->kind == NODE_TEXT) {
			check_text(check, value);
		}
	}
}

// True if the text, which may be NULL, has a replacement string that stands for an item or a number.
static bool has_string(const char *text) {
	for (const char *at = text; at && (at = strchr(at, '{')); ++at) {
		struct string string = read_string(at);
		if (string.kind != NO_STRING && string.kind != NAME_STRING) {
			return true;
		}
	}
	return false;
}

static void check_feeding(struct loader *loader, const struct manifest_batch *batch, const struct found *found) {
	if (batch->nfeeders == 0) {
		return;
	}
	const char *feeder = batch->feeders->name;
	if (batch->source == MANIFEST_NONE && batch->nfeeders == 1 && batch->feeders == batch && batch->run) {
		diagnostic_hint(load_error(loader, found->at[KEY_EMITS],
		                           "batch '%s' emits into itself only, and has no item to begin with", batch->name),
		                           "give it the first items by 'args' or 'args_from'");
	} else if (batch->ncommands > 0) {
		load_error(loader, found->at[KEY_COMMANDS], "'commands' takes no items, but batch '%s' emits into '%s'", feeder,
		           batch->name);
	} else if (batch->source == MANIFEST_MATRIX) {
		load_error(loader, found->at[KEY_MATRIX], "a matrix takes no other items, but batch '%s' emits into '%s'",
		           feeder, batch->name);
	}
}

// ---- texts that are no templates ----

// True if {} is probably meant for the command itself, as in find -exec, xargs -I or GNU parallel.
static bool may_use_braces(const char *text) {
	return strstr(text, "-exec") || strstr(text, "-ok") || strstr(text, "xargs") || strstr(text, "parallel");
}

// Returns the first replacement string that is not between single quotes, and its length; or NULL. {2} behind a letter or a bracket
// does not count: it is a part of a regular expression.
static const char *find_unexpanded(const struct manifest_batch *batch, const char *text, size_t *ret_len) {
	bool in_single = false, in_double = false;
	for (const char *at = text; *at; ++at) {
		if (*at == '\\' && at[1] && !in_single) {
			++at;
		} else if (*at == '\'' && !in_double) {
			in_single = !in_single;
		} else if (*at == '"' && !in_single) {
			in_double = !in_double;
		}
		if (*at != '{' || in_single || (at > text && (at[-1] == '$' || at[-1] == '\\'))) {
			continue;
		}
		struct string string = read_string(at);
		bool is_known = string.kind == ITEM_STRING || string.kind == NUMBER_STRING;
		if (string.kind == COLUMN_STRING) {
			is_known = string.column > 0 && (at == text || strchr(" \t\n\"=", at[-1]));
		} else if (string.kind == NAME_STRING) {
			is_known = matrix_has(batch, at + 1, string.nname);
		}
		if (is_known) {
			*ret_len = string.len;
			return at;
		}
	}
	return NULL;
}

void load_check_unexpanded(struct loader *loader, const struct manifest_batch *batch, const struct node *node) {
	size_t len;
	if (!node || node->kind != NODE_TEXT || loader->diagnostics->nerrors > 0 || // after an error the batch may lack items that it should have
	    loader->diagnostics->nwarnings >= MANIFEST_ERRORS || may_use_braces(node->text)) {
		return;
	}
	const char *at = find_unexpanded(batch, node->text, &len);
	if (at) {
		diagnostic_warning(loader->diagnostics, text_span(loader, node, at, len), "'%.*s' is only text here: there is no item", (int)len, at);
	}
}

// Checks the texts of a batch without items.
static void check_plain_texts(struct loader *loader, const struct manifest_batch *batch, const struct found *found) {
	for (size_t i = 0; i < NPLAIN; ++i) {
		const struct node *node = found->at[text_keys[i]];
		load_check_unexpanded(loader, batch, node);
		for (uint32_t k = 0; node && node->kind == NODE_LIST && k < node->n; ++k) {
			struct found entry;
			keys_find(node->items[k], IN_COMMAND, NULL, NULL, &entry);
			load_check_unexpanded(loader, batch, node->items[k]->kind == NODE_MAP ? entry.at[KEY_RUN] : node->items[k]);
		}
	}
}

// Checks the positions of items in a command that a shell reads, or in a list of commands. `node` may be NULL.
static void check_positions(struct check *check, const struct node *node) {
	struct loader *loader = check->loader;
	for (uint32_t i = 0; node && node->kind == NODE_LIST && i < node->n; ++i) {
		check_positions(check, node->items[i]);
	}
	if (!node || node->kind != NODE_TEXT || diagnostics_are_full(loader->diagnostics) || !load_count(loader, node, node->cost)) {
		return;
	}
	check->has_string = check->has_string || strstr(node->text, "FAIRPAR_ITEM");
	struct template_refusal refusal;
	if (template_is_refused(node->text, &check->batch->matrix.names, &refusal)) {
		diagnostic_hint(diagnostic_error(loader->diagnostics, text_span(loader, node, node->text + refusal.at, refusal.len),
		                                 "an item cannot stand here: %s", refusal.reason), "%s; \"$FAIRPAR_ITEM\" holds the item, too", refusal.advice);
	}
}

void load_check_texts(struct loader *loader, const struct manifest_batch *batch, const struct pair *from) {
	struct check check = {loader, batch, manifest_batch_has_items(batch), false};
	struct found found;
	keys_find(from->value, IN_BATCH, NULL, NULL, &found);
	check_feeding(loader, batch, &found);
	load_check_unexpanded(loader, batch, found.at[KEY_FINALLY]);
	if (!check.has_items) {
		check_plain_texts(loader, batch, &found);
	}
	if (batch->source == MANIFEST_MATRIX && batch->matrix.nrows == 0) {
		return; // the names of the matrix are not known
	}
	for (size_t i = 0; i < NTEXTS; ++i) {
		check_node(&check, found.at[text_keys[i]]);
	}
	const char *shell = batch->job->shell; // a shell that cannot take items is refused when the run looks up the shells
	bool has_shell = !shell || (strcmp(shell, "none") != 0 && !shell_is_foreign(shell));
	for (size_t i = 0; check.has_items && has_shell && i < NCOMMANDS; ++i) {
		const struct node *own = found.at[text_keys[i]];
		check_positions(&check, own ? own : loader->base_found.at[text_keys[i]]);
	}
	bool is_used = check.has_string || (!found.at[KEY_CREATES] && has_string(loader->base.job->creates));
	if (check.has_items && batch->run && !is_used && !diagnostics_are_full(loader->diagnostics)) {
		diagnostic_hint(load_error(loader, found.at[KEY_RUN], "'run' of batch '%s' has items, but no replacement string", batch->name),
		             batch->matrix.names.n > 0 ? "the values of the matrix are {%s} and so on" : "the item is {}%.0s",
		             batch->matrix.names.n > 0 ? batch->matrix.names.names[0] : "");
	}
}

// ---- commands that no shell runs ----

static void check_command(struct loader *loader, const struct node *node) {
	if (node->kind != NODE_TEXT || node->text[strspn(node->text, " \t\n")] == '\0' || !load_count(loader, node, node->cost)) {
		return; // a value that is no text, or is empty, has its error already
	}
	FP_CLEANUP(buf_fini) struct buf words = BUF_INIT;
	struct split split;
	if (words_split(node->text, &words, &split) != 0) {
		diagnostic_hint(load_error(loader, node, "this command cannot be split into words: %s", split.error),
		             "quotes and backslashes have the meaning of a shell also with 'shell: none'");
	} else if (loader->diagnostics->nwarnings < MANIFEST_ERRORS && split.syntax) {
		struct source_span span = text_span(loader, node, split.syntax, split.syntax_len);
		diagnostic_hint(diagnostic_warning(loader->diagnostics, span, "'%s' means nothing without a shell", text_show(split.syntax, split.syntax_len)),
		             "with 'shell: none' it is an ordinary word; if you mean that word, quote it in the command");
	}
}

// ---- commands that /bin/sh runs ----

static void check_bash(struct loader *loader, const struct node *node) {
	size_t at;
	const char *syntax = node->kind == NODE_TEXT && load_count(loader, node, node->cost) ? shell_bash_syntax(node->text, node->n, &at) : NULL;
	if (syntax) {
		diagnostic_hint(diagnostic_error(loader->diagnostics, text_span(loader, node, node->text + at, 1),
		                                 "the shell that runs this is /bin/sh, which may not know '%s'", syntax), "use bash: shell: bash");
	}
}

void load_check_words(struct loader *loader, const char *shell, const struct node *node) {
	if (!node || (shell && strcmp(shell, "none") != 0) || diagnostics_are_full(loader->diagnostics)) {
		return;
	}
	for (uint32_t i = 0; i < (node->kind == NODE_LIST ? node->n : 1); ++i) {
		(shell ? check_command : check_bash)(loader, node->kind == NODE_LIST ? node->items[i] : node);
	}
}
