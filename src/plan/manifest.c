// Loads a manifest: from the file to typed batches, or to all its mistakes.

#include "plan/manifest_load.h"

#include "base/alloc.h"
#include "base/distance.h"
#include "plan/manifest_values.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>

#define HOUR UINT64_C(3600000000000)

enum { LONGEST_NUMBER = 64 }; // bytes

static bool count(struct loader *loader, const struct node *node, size_t n) {
	loader->nvisits += n;
	if (loader->nvisits > MANIFEST_VALUES && !loader->overrun) {
		loader->overrun = true;
		mistake_error(loader->mistakes, node_place(node), "more than %d values, counting each alias", MANIFEST_VALUES);
	}
	return !loader->overrun;
}

bool load_count(struct loader *loader, const struct node *node, size_t n) {
	return count(loader, node, n + 1);
}

bool load_weigh(struct loader *loader, const struct node *node) {
	return count(loader, node, node->n / 256);
}

// ---- single values ----

// "yes" and its kin, which YAML 1.1 takes for booleans.
static void guess_bool(struct mistake *mistake, const char *text) {
	static const char *const words[] = {"yes", "no", "on", "off", "true", "false", "y", "n", "1", "0"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
		if (strcasecmp(text, words[i]) == 0) {
			mistake_note(mistake, "did you mean %s?", i % 2 == 0 ? "true" : "false");
		}
	}
}

// "10 min", "5sec", "2H", "1:30"
static void guess_duration(struct mistake *mistake, const char *text) {
	static const struct { const char *word, *unit; } units[] = {
		{"ms", "ms"}, {"mil", "ms"}, {"s", "s"}, {"m", "m"}, {"h", "h"}, {"d", "d"},
	};
	int digits = (int)strspn(text, "0123456789.");
	const char *rest = text + digits + strspn(text + digits, " ");
	if (digits > 0 && digits < 12 && *rest == ':' && rest[1 + strspn(rest + 1, "0123456789")] == '\0') {
		rest += 1 + (rest[1] == '0');
		mistake_note(mistake, "did you mean %.*sm%ss?", digits, text, rest);
		return;
	}
	for (size_t i = 0; digits > 0 && digits < 12 && i < sizeof(units) / sizeof(units[0]); ++i) {
		bool is_right = rest == text + digits && strcmp(rest, units[i].unit) == 0; // but too long
		if (strncasecmp(rest, units[i].word, strlen(units[i].word)) == 0 && !strpbrk(rest, "0123456789") && !is_right) {
			mistake_note(mistake, "did you mean %.*s%s?", digits, text, units[i].unit);
			return;
		}
	}
}

static void guess_size(struct mistake *mistake, const char *text) {
	int digits = (int)strspn(text, "0123456789.");
	const char *unit = text + digits + strspn(text + digits, " ");
	if (digits > 0 && digits < 20 && *unit && strchr("kmgtKMGT", *unit)) {
		char right[24];
		snprintf(right, sizeof(right), "%.*s%c", digits, text, *unit >= 'a' ? *unit - 'a' + 'A' : *unit);
		if (strcmp(right, text) != 0) { // else it is too large
			mistake_note(mistake, "did you mean %s?", right);
		}
	}
}

static void guess_choice(struct mistake *mistake, const struct key *key, const char *text) {
	char word[32];
	struct nearest nearest = NEAREST_INIT(text, strlen(text));
	for (const char *at = key->choices; *at && !nearest.found; at += strspn(at, " ")) {
		int len = (int)strcspn(at, " ");
		snprintf(word, sizeof(word), "%.*s", len, at);
		nearest_offer(&nearest, word);
		at += len;
	}
	if (nearest.found) {
		mistake_note(mistake, "did you mean '%s'?", word);
	}
}

// What the user may have meant, where a good guess is at hand.
static void guess(struct mistake *mistake, const struct key *key, const char *text) {
	switch (key->type) {
	case TYPE_BOOL:
		guess_bool(mistake, text);
		return;
	case TYPE_TRUE:
		if (strcmp(text, "false") != 0 && strcmp(text, "no") != 0 && strcmp(text, "off") != 0 && strcmp(text, "0") != 0) {
			guess_bool(mistake, text);
			return;
		}
		mistake_hint(mistake, "'%s: true' is all it can say; without it, leave the key out", key->name);
		return;
	case TYPE_DURATION:
	case TYPE_RETRY_DELAY:
		guess_duration(mistake, text);
		return;
	case TYPE_SIZE:
		guess_size(mistake, text);
		return;
	case TYPE_CHOICE:
		guess_choice(mistake, key, text);
		return;
	case TYPE_SHELL:
		if (strpbrk(text, " \t")) {
			mistake_hint(mistake, "its options are set in the command: 'set -e' as the first line below 'run: |'");
		}
		return;
	case TYPE_INT:
		if (text[0] == '0' && text[1] != '\0' && text[strspn(text, "0123456789")] == '\0') {
			mistake_note(mistake, "without leading zeros");
		}
		return;
	default:
		return;
	}
}

// {} and {/.} without quotes look like mappings, [ like a list.
static void hint_quotes(struct mistake *mistake, const struct node *node) {
	const struct node *name = node->kind == NODE_MAP && node->n == 1 ? node->pairs[0].key : NULL;
	bool is_string = node->kind == NODE_MAP && (node->n == 0 || (name && node_is_missing(node->pairs[0].value)));
	if (node->is_flow && is_string && (!name || name->n < 40)) {
		mistake_hint(mistake, "a value that starts with '{' must be quoted: '{%s}'", name ? name->text : "");
	} else if (node->is_flow) {
		mistake_hint(mistake, "a value that starts with '%c' must be quoted", node->kind == NODE_LIST ? '[' : '{');
	}
}

void load_refuse_item(struct loader *loader, const char *key, const struct node *node) {
	struct mistake *mistake = mistake_error(loader->mistakes, node_place(node), "an item of '%s' must be text, not a %s", key,
	                                        node->kind == NODE_LIST ? "list" : "mapping");
	hint_quotes(mistake, node);
}

struct mistake *load_refuse(struct loader *loader, const struct key *key, const struct node *node) {
	char wants[96];
	key_wants(key, wants, sizeof(wants));
	if (node->kind == NODE_TEXT) {
		struct buf shown = BUF_INIT;
		buf_add_escaped(&shown, node->text, node->n, 40);
		struct mistake *mistake = mistake_error(loader->mistakes, node_place(node), "'%s' must be %s, not '%s'", key->name,
		                                        wants, buf_str(&shown));
		buf_fini(&shown);
		guess(mistake, key, node->text);
		return mistake;
	}
	struct mistake *mistake = mistake_error(loader->mistakes, node_place(node), "'%s' must be %s, not a %s", key->name,
	                                        wants, node->kind == NODE_LIST ? "list" : "mapping");
	bool wants_text = key->type == TYPE_TEXT || key->type == TYPE_COMMAND || key->type == TYPE_NAME;
	if (key->type == TYPE_COMMAND && node->kind == NODE_LIST && !node->is_flow) {
		mistake_hint(mistake, "several lines below '%s: |' are one script; 'commands' is a list of jobs", key->name);
	} else if (key == &key_table[KEY_GLOB] && node->kind == NODE_LIST && node->n > 1) {
		mistake_hint(mistake, "it is one pattern; 'command' lists what several find, as in command: printf '%%s\\n' *.c *.h");
	} else if (key == &key_table[KEY_EMITS] && node->kind == NODE_LIST && node->n != 1) {
		mistake_hint(mistake, "a batch emits into one other, which may emit on");
	} else if (wants_text) {
		hint_quotes(mistake, node);
	}
	return mistake;
}

static bool is_blank(const char *text) {
	while (*text == ' ' || *text == '\t' || *text == '\n') {
		++text;
	}
	return *text == '\0';
}

const char *load_text(struct loader *loader, const struct key *key, const struct node *node) {
	if (node->kind != NODE_TEXT) {
		load_refuse(loader, key, node);
		return NULL;
	}
	if (!load_weigh(loader, node)) {
		return NULL;
	}
	if (is_blank(node->text)) {
		mistake_error(loader->mistakes, node_place(node), "'%s' is empty", key->name);
		return NULL;
	}
	return node->text;
}

void load_check_comment(struct loader *loader, struct node *node) {
	if (node->kind != NODE_TEXT || node->comment == 0 || loader->mistakes->nwarnings >= MANIFEST_ERRORS) {
		return;
	}
	const char *comment = loader->data + node->comment;
	size_t len = strcspn(comment, "\r\n");
	struct place place = place_of_byte(loader->data, loader->len, node->comment);
	place.width = (uint32_t)len;
	struct buf shown = BUF_INIT;
	buf_add_escaped(&shown, comment, len, 40);
	struct mistake *mistake = mistake_warning(loader->mistakes, place, "'%s' is a comment, and not part of the value",
	                                          buf_str(&shown));
	node->comment = 0; // said once, whatever aliases there are
	mistake_hint(mistake, "quote the value; or, for a comment, write two blanks before the '#' and one behind it");
	buf_fini(&shown);
}

static bool set_number(struct loader *loader, const struct key *key, const struct node *node, void *field) {
	if (node->kind != NODE_TEXT || node->n > LONGEST_NUMBER) {
		return false;
	}
	const char *text = node->text;
	bool is_set = false;
	switch (key->type) {
	case TYPE_BOOL:
		is_set = strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
		if (is_set) {
			*(bool *)field = text[0] == 't';
		}
		break;
	case TYPE_INT:
		is_set = value_int(text, key->least, key->most, field);
		break;
	case TYPE_DURATION:
		return value_duration(text, field);
	case TYPE_SIZE:
		return value_size(text, field);
	case TYPE_UMASK:
		return value_umask(text, field);
	case TYPE_FACTOR:
		is_set = value_factor(text, field);
		break;
	default:
		return false;
	}
	if (is_set && !node->is_plain) { // so says the schema too
		mistake_error(loader->mistakes, node_place(node), "'%s' must be written without quotes", key->name);
	}
	return is_set;
}

static bool set_choice(const struct key *key, const struct node *node, int *field) {
	int number = 0;
	for (const char *at = key->choices; node->kind == NODE_TEXT && *at; ++number) {
		size_t len = strcspn(at, " ");
		if (node->n == len && memcmp(at, node->text, len) == 0) {
			*field = number;
			return true;
		}
		at += len + strspn(at + len, " ");
	}
	return false;
}

// ---- texts, variables, pauses ----

static void set_texts(struct loader *loader, const struct key *key, struct node *node,
                      struct manifest_texts *field) {
	if (key->type == TYPE_STEPS && node->kind == NODE_TEXT) {
		const char **one = arena_alloc(&loader->manifest->arena, sizeof(*one));
		one[0] = load_text(loader, key, node);
		load_check_comment(loader, node);
		*field = (struct manifest_texts){one, one[0] ? 1 : 0};
		return;
	}
	if (node->kind != NODE_LIST) {
		load_refuse(loader, key, node);
		return;
	}
	if (!load_count(loader, node, node->n)) {
		return;
	}
	const char **texts = arena_alloc(&loader->manifest->arena, node->n * sizeof(*texts));
	for (uint32_t i = 0; i < node->n && !mistakes_are_full(loader->mistakes); ++i) {
		struct node *item = node->items[i];
		if (node_is_missing(item)) {
			mistake_hint(mistake_error(loader->mistakes, node_place(item), "an item of '%s' has no value", key->name),
			             "write \"\" for an empty text");
		} else if (item->kind != NODE_TEXT) {
			load_refuse_item(loader, key->name, item);
		} else {
			load_check_comment(loader, item);
			texts[i] = key->type == TYPE_STEPS ? load_text(loader, key, item) : item->text;
		}
	}
	*field = (struct manifest_texts){texts, node->n};
}

static void set_env(struct loader *loader, const struct key *key, const struct node *node,
                    const struct manifest_env **field) {
	if (node->kind != NODE_MAP) {
		struct mistake *mistake = load_refuse(loader, key, node);
		if (node->kind == NODE_LIST) {
			mistake_hint(mistake, "write each as 'NAME: value'");
		}
		return;
	}
	if (!load_count(loader, node, node->n)) {
		return;
	}
	struct manifest_env *env = arena_alloc(&loader->manifest->arena, sizeof(*env));
	struct manifest_pair *pairs = arena_alloc(&loader->manifest->arena, node->n * sizeof(*pairs));
	*env = (struct manifest_env){*field, pairs, node->n};
	for (uint32_t i = 0; i < node->n && !mistakes_are_full(loader->mistakes); ++i) {
		const struct node *name = node->pairs[i].key, *value = node->pairs[i].value;
		pairs[i] = (struct manifest_pair){name->text, value->kind == NODE_TEXT ? value->text : ""};
		if (name->n == 0 || strchr(name->text, '=')) {
			mistake_error(loader->mistakes, node_place(name), "'%s' cannot name a variable", name->text);
		} else if (node_is_missing(value)) {
			mistake_hint(mistake_error(loader->mistakes, node_place(name), "the variable '%s' has no value", name->text),
			             "write \"\" for an empty one");
		} else if (value->kind != NODE_TEXT) {
			load_refuse(loader, &(struct key){.name = name->text, .type = TYPE_TEXT}, value);
		}
	}
	*field = env;
}

static void set_retry_delay(struct loader *loader, const struct key *key, const struct node *node,
                            struct manifest_delay *field) {
	uint64_t ns;
	if (node->kind == NODE_TEXT && node->n <= LONGEST_NUMBER && value_duration(node->text, &ns)) {
		*field = (struct manifest_delay){ns, ns, 1};
		return;
	}
	if (node->kind != NODE_MAP) {
		load_refuse(loader, key, node);
		return;
	}
	struct found found;
	keys_find(node, IN_RETRY_DELAY, NULL, loader->mistakes, &found);
	struct manifest_delay delay = {0, HOUR, 2};
	void *const fields[] = {&delay.first_ns, &delay.factor, &delay.max_ns};
	bool is_set[] = {false, true, true};
	for (int i = 0; i < 3; ++i) {
		const struct node *value = found.at[KEY_FIRST + i];
		is_set[i] = value ? set_number(loader, &key_table[KEY_FIRST + i], value, fields[i]) : is_set[i];
		if (value && !is_set[i]) {
			load_refuse(loader, &key_table[KEY_FIRST + i], value);
		}
	}
	if (!found.at[KEY_FIRST]) {
		mistake_error(loader->mistakes, node_place(node), "'retry_delay' lacks 'first', the first pause");
	} else if (is_set[0] && is_set[2] && delay.max_ns < delay.first_ns) {
		const struct node *max = found.at[KEY_MAX];
		mistake_error(loader->mistakes, node_place(max ? max : node), "'max' (%s) is less than 'first'",
		              max ? max->text : "1h");
	}
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
	case TYPE_CHOICE:
		if (!set_choice(key, node, field)) {
			load_refuse(loader, key, node);
		}
		return;
	case TYPE_TEXTS:
	case TYPE_STEPS:
		set_texts(loader, key, node, field);
		return;
	case TYPE_ENV:
		set_env(loader, key, node, field);
		return;
	case TYPE_RETRY_DELAY:
		set_retry_delay(loader, key, node, field);
		return;
	default:
		if (!set_number(loader, key, node, field)) {
			load_refuse(loader, key, node);
		}
	}
}

void load_fields(struct loader *loader, const struct found *found, void *base, const struct manifest_job **job) {
	struct manifest_job *own = NULL;
	for (size_t i = 0; i < found->n; ++i) {
		const struct key *key = &key_table[found->ids[i]];
		if (key->field < 0) {
			continue;
		}
		bool is_of_job = (key->places & IN_COMMAND) != 0;
		if (is_of_job && !own) {
			own = arena_alloc(&loader->manifest->arena, sizeof(*own));
			*own = **job;
			*job = own;
		}
		set_field(loader, key, found->at[found->ids[i]], (char *)(is_of_job ? own : base) + key->field);
	}
}

// ---- the top ----

static void load_version(struct loader *loader, const struct node *root, const struct node *version) {
	if (!version) {
		struct place place = node_place(root->n > 0 ? root->pairs[0].key : root);
		mistake_hint(mistake_error(loader->mistakes, place, "'version' is missing"), "write 'version: 1' at the top");
	} else if (version->kind != NODE_TEXT || strcmp(version->text, "1") != 0) {
		load_refuse(loader, &key_table[KEY_VERSION], version);
	}
}

static void load_defaults(struct loader *loader, const struct node *defaults) {
	struct manifest_job *job = arena_alloc(&loader->manifest->arena, sizeof(*job));
	*job = (struct manifest_job){.umask = -1, .slots_per_job = 1, .retry_delay = {0, 0, 1}, .env = loader->manifest->env};
	loader->base = (struct manifest_batch){.job = job, .weight = 1, .selected = true};
	if (!defaults) {
		return;
	}
	if (defaults->kind != NODE_MAP) {
		load_refuse(loader, &key_table[KEY_DEFAULTS], defaults);
		return;
	}
	keys_find(defaults, IN_DEFAULTS, NULL, loader->mistakes, &loader->base_found);
	load_fields(loader, &loader->base_found, &loader->base, &loader->base.job);
	loader->base_has_string = text_has_string(loader->base.job->creates);
}

// Finds the numbers of the batches by their names. The tree had to map the keys of its largest map already: of the
// batches, if they are many.
static void make_index(struct loader *loader, const struct node *batches) {
	struct map *index = NEW(struct map);
	loader->manifest->index = index;
	if (loader->tree->indexed == batches) {
		*index = loader->tree->index;
		loader->tree->index = (struct map)MAP_INIT;
		return;
	}
	for (uint32_t i = 0; i < batches->n; ++i) {
		const struct node *name = batches->pairs[i].key;
		map_add(index, name->text, name->n, i);
	}
}

static void load_batches(struct loader *loader, const struct node *root, const struct node *batches) {
	struct manifest *manifest = loader->manifest;
	if (!batches) {
		struct place place = node_place(root->n > 0 ? root->pairs[0].key : root);
		mistake_hint(mistake_error(loader->mistakes, place, "'batches' is missing"),
		             "as in 'batches: {hello: {run: echo hello}}'");
		return;
	}
	if (batches->kind != NODE_MAP) {
		load_refuse(loader, &key_table[KEY_BATCHES], batches);
		return;
	}
	if (batches->n == 0) {
		mistake_error(loader->mistakes, node_place(batches), "'batches' is empty: nothing to run");
		return;
	}
	if (!load_count(loader, batches, batches->n)) {
		return;
	}
	manifest->batches = arena_alloc(&manifest->arena, batches->n * sizeof(manifest->batches[0]));
	make_index(loader, batches);
	loader->pairs = batches->pairs;
	for (uint32_t i = 0; i < batches->n && !mistakes_are_full(loader->mistakes) && !loader->overrun; ++i) {
		load_batch(loader, &batches->pairs[i], &manifest->batches[i]);
		manifest->nbatches = i + 1;
	}
}

static void load_top(struct loader *loader, const struct node *root) {
	if (!root || node_is_missing(root)) {
		struct place place = {1, 1, 1};
		mistake_hint(mistake_error(loader->mistakes, place, "the manifest is empty"),
		             "a small one has the lines 'version: 1' and 'batches: {hello: {run: echo hello}}'");
		return;
	}
	if (root->kind != NODE_MAP) {
		mistake_error(loader->mistakes, node_place(root), "a manifest must be a mapping with 'version' and 'batches'");
		return;
	}
	struct found found;
	keys_find(root, IN_TOP, NULL, loader->mistakes, &found);
	load_version(loader, root, found.at[KEY_VERSION]);
	load_fields(loader, &found, loader->manifest, NULL);
	load_defaults(loader, found.at[KEY_DEFAULTS]);
	load_batches(loader, root, found.at[KEY_BATCHES]);
	if (loader->manifest->nbatches > 0 && !mistakes_are_full(loader->mistakes) && !loader->overrun) {
		load_graph(loader);
		load_check_finally(loader, &loader->base, loader->base_found.at[KEY_FINALLY]);
		for (size_t i = 0; i < loader->manifest->nbatches; ++i) {
			load_check_texts(loader, &loader->manifest->batches[i], &loader->pairs[i]);
		}
	}
}

static struct manifest *manifest_create(const char *path) {
	struct manifest *manifest = NEW(struct manifest);
	const char *slash = strrchr(path, '/');
	manifest->path = arena_text(&manifest->arena, path, strlen(path));
	manifest->dir = !slash ? "." : slash == path ? "/" : arena_text(&manifest->arena, path, (size_t)(slash - path));
	return manifest;
}

// `data` has a NUL behind its `len` bytes.
static struct manifest *parse(const char *path, const char *data, size_t len, struct buf *messages) {
	struct manifest *manifest = manifest_create(path);
	struct mistakes mistakes;
	struct tree tree;
	mistakes_init(&mistakes, path, data, len);
	tree_init(&tree, &mistakes, &manifest->arena);
	struct loader loader = {.manifest = manifest, .mistakes = &mistakes, .tree = &tree, .data = data, .len = len};
	if (tree_read(&tree, data, len) == 0) {
		load_top(&loader, tree.root);
	}
	free(loader.links);
	mistakes_show(&mistakes, messages);
	bool failed = mistakes.nerrors > 0;
	tree_fini(&tree);
	mistakes_fini(&mistakes);
	if (failed) {
		manifest_free(manifest);
		return NULL;
	}
	return manifest;
}

struct manifest *manifest_parse(const char *path, const char *data, size_t len, struct buf *messages) {
	char *copy = xmemdup(data, len);
	struct manifest *manifest = parse(path, copy, len, messages);
	free(copy);
	return manifest;
}

// ---- the file ----

static void fail_file(const char *path, const char *verb, const char *cause, struct buf *messages) {
	buf_printf(messages, "fairpar: error: %s '", verb);
	buf_add_escaped(messages, path, strlen(path), SIZE_MAX);
	buf_printf(messages, "': %s\n", cause);
}

// Reads to the end, or to one byte more than a manifest may have. Returns -1 with errno.
static int read_all(int fd, struct buf *data) {
	for (size_t step = 1 << 16; data->len <= MANIFEST_BYTES; step *= 2) {
		size_t room = (size_t)MANIFEST_BYTES + 1 - data->len;
		ssize_t n = read(fd, buf_reserve(data, step < room ? step : room), step < room ? step : room);
		if (n == 0) {
			break;
		}
		if (n < 0 && errno != EINTR) {
			return -1;
		}
		data->len += n > 0 ? (size_t)n : 0;
	}
	buf_reserve(data, 0);
	data->data[data->len] = '\0';
	return 0;
}

// True for /dev/stdin, /dev/fd/N and /proc/PID/fd/N: names of what fairpar was handed, whatever it is.
static bool names_descriptor(const char *path) {
	if (strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0) {
		return true;
	}
	const char *rest = strncmp(path, "/proc/", 6) == 0 ? strchr(path + 6, '/') : NULL;
	return rest && (strncmp(rest, "/fd/", 4) == 0 || (strncmp(rest, "/task/", 6) == 0 && strstr(rest, "/fd/")));
}

// True if the manifest stands in a directory, from which it may see others: as from a file, not as from a pipe.
static bool is_at_home(int fd, const char *path) {
	struct stat status;
	return !names_descriptor(path) && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

struct manifest *manifest_load(const char *path, struct buf *messages) {
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		fail_file(path, "cannot open", strerror(errno), messages);
		return NULL;
	}
	struct buf data = BUF_INIT;
	struct manifest *manifest = NULL;
	if (read_all(fd, &data) != 0) {
		fail_file(path, "cannot read", strerror(errno), messages);
	} else if (data.len > MANIFEST_BYTES) {
		fail_file(path, "cannot take", "a manifest has at most 64 MiB", messages);
	} else {
		manifest = parse(path, data.data, data.len, messages);
	}
	if (manifest && !is_at_home(fd, path)) {
		manifest->dir = ".";
	}
	buf_fini(&data);
	if (!is_stdin) {
		close(fd);
	}
	return manifest;
}

void manifest_free(struct manifest *manifest) {
	if (!manifest) {
		return;
	}
	if (manifest->index) {
		map_fini(manifest->index);
		free(manifest->index);
	}
	struct arena arena = manifest->arena;
	free(manifest);
	arena_fini(&arena);
}
