// Loads a manifest: reads the file into typed batches, or reports all its errors.

#include "manifest/internal.h"

#include "base/alloc.h"
#include "base/io.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

// ---- the keys at the top of the file ----

static void load_version(struct loader *loader, const struct node *root, const struct node *version) {
	if (!version) {
		diagnostic_hint(load_error(loader, root->n > 0 ? root->pairs[0].key : root, "'version' is missing"), "write 'version: 1' at the top");
	} else if (version->kind != NODE_TEXT || strcmp(version->text, "1") != 0) {
		load_refuse(loader, &key_table[KEY_VERSION], version);
	}
}

static void load_defaults(struct loader *loader, const struct node *defaults) {
	struct manifest_job *job = arena_alloc(&loader->manifest->arena, sizeof(*job));
	*job = (struct manifest_job){.umask = -1, .slots_per_job = 1, .retry_delay = {0, 0, 1}, .env = loader->manifest->env};
	loader->base = (struct manifest_batch){.job = job, .attrs.weight = 1, .selected = true};
	if (!defaults) {
		return;
	}
	if (defaults->kind != NODE_MAP) {
		load_refuse(loader, &key_table[KEY_DEFAULTS], defaults);
		return;
	}
	if (!load_count(loader, defaults, defaults->cost)) {
		return;
	}
	keys_find(defaults, IN_DEFAULTS, NULL, loader->diagnostics, &loader->base_found);
	load_fields(loader, &loader->base_found, &loader->base, &loader->base.job);
}

static void load_batches(struct loader *loader, const struct node *root, const struct node *batches) {
	struct manifest *manifest = loader->manifest;
	if (!batches) {
		diagnostic_hint(load_error(loader, root->n > 0 ? root->pairs[0].key : root, "'batches' is missing"),
		                "as in 'batches: {hello: {run: echo hello}}'");
		return;
	}
	if (batches->kind != NODE_MAP) {
		load_refuse(loader, &key_table[KEY_BATCHES], batches);
		return;
	}
	if (batches->n == 0) {
		load_error(loader, batches, "'batches' is empty: nothing to run");
		return;
	}
	manifest->batches = arena_alloc(&manifest->arena, batches->n * sizeof(manifest->batches[0]));
	loader->pairs = batches->pairs;
	for (uint32_t i = 0; i < batches->n && !diagnostics_are_full(loader->diagnostics) && !loader->overrun; ++i) {
		map_add(&manifest->index, batches->pairs[i].key->text, batches->pairs[i].key->n, i);
		load_batch(loader, &batches->pairs[i], &manifest->batches[i]);
		manifest->nbatches = i + 1;
	}
}

static void load_top(struct loader *loader, const struct node *root) {
	if (!root || node_is_missing(root)) {
		diagnostic_hint(diagnostic_error(loader->diagnostics, ((struct source_span){1, 1, 1}), "the manifest is empty"),
		                "a small manifest has the lines 'version: 1' and 'batches: {hello: {run: echo hello}}'");
		return;
	}
	if (root->kind != NODE_MAP) {
		load_error(loader, root, "a manifest must be a mapping with 'version' and 'batches'");
		return;
	}
	struct found found;
	keys_find(root, IN_TOP, NULL, loader->diagnostics, &found);
	load_version(loader, root, found.at[KEY_VERSION]);
	load_fields(loader, &found, loader->manifest, NULL);
	load_defaults(loader, found.at[KEY_DEFAULTS]);
	load_batches(loader, root, found.at[KEY_BATCHES]);
	if (loader->manifest->nbatches > 0 && !diagnostics_are_full(loader->diagnostics) && !loader->overrun) {
		load_graph(loader);
		load_check_unexpanded(loader, &loader->base, loader->base_found.at[KEY_FINALLY]);
		for (size_t i = 0; i < loader->manifest->nbatches; ++i) {
			load_check_texts(loader, &loader->manifest->batches[i], &loader->pairs[i]);
		}
	}
}

struct manifest *manifest_parse(const char *path, const char *data, size_t len, struct buf *messages) {
	struct manifest *manifest = NEW(struct manifest);
	const char *slash = strrchr(path, '/');
	manifest->path = arena_text(&manifest->arena, path, strlen(path));
	manifest->dir = !slash ? "." : slash == path ? "/" : arena_text(&manifest->arena, path, (size_t)(slash - path));
	size_t mark = len >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; // length of a byte order mark, which is no part of the text
	FP_CLEANUP(diagnostics_fini) struct diagnostics diagnostics = {.path = path, .data = data + mark, .len = len - mark};
	struct loader loader = {.manifest = manifest, .diagnostics = &diagnostics};
	FP_CLEANUP(arena_fini) struct arena nodes = ARENA_INIT;
	struct node *root;
	if (tree_read(&diagnostics, &nodes, &manifest->arena, &root) == 0) {
		load_top(&loader, root);
	}
	diagnostics_show(&diagnostics, messages);
	if (diagnostics.nerrors > 0) {
		manifest_free(manifest);
		return NULL;
	}
	return manifest;
}

// ---- the file ----

static void fail_file(const char *path, const char *verb, const char *cause, struct buf *messages) {
	buf_printf(messages, "fairpar: error: %s '%s': %s\n", verb, text_shows(path), cause);
}

// True for /dev/stdin, /dev/fd/N and /proc/PID/fd/N, which name an open descriptor and have no directory of their own.
static bool names_descriptor(const char *path) {
	if (strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0) {
		return true;
	}
	const char *rest = strncmp(path, "/proc/", 6) == 0 ? strchr(path + 6, '/') : NULL;
	return rest && (strncmp(rest, "/fd/", 4) == 0 || (strncmp(rest, "/task/", 6) == 0 && strstr(rest, "/fd/")));
}

struct manifest *manifest_load(const char *path, struct buf *messages) {
	bool is_stdin = strcmp(path, "-") == 0;
	FP_CLEANUP(fd_close) int own = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int fd = is_stdin ? STDIN_FILENO : own;
	if (fd < 0) {
		fail_file(path, "cannot open", strerror(errno), messages);
		return NULL;
	}
	FP_CLEANUP(buf_fini) struct buf data = BUF_INIT;
	struct manifest *manifest = NULL;
	int error = read_to_end(fd, &data, MANIFEST_BYTES) != 0 ? errno : 0;
	if (error == EFBIG) {
		fail_file(path, "cannot take", "a manifest has at most 64 MiB", messages);
	} else if (error) {
		fail_file(path, "cannot read", strerror(error), messages);
	} else {
		manifest = manifest_parse(path, data.data, data.len, messages);
	}
	struct stat status;
	bool has_directory = !names_descriptor(path) && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
	if (manifest && !has_directory) {
		manifest->dir = ".";
	}
	return manifest;
}

void manifest_free(struct manifest *manifest) {
	if (!manifest) {
		return;
	}
	map_fini(&manifest->index);
	struct arena arena = manifest->arena;
	free(manifest);
	arena_fini(&arena);
}
