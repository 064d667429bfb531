// Finds the files that a pattern matches.
//
// Walks through the pattern's components with a single path, which grows and shrinks. Each directory is read to its end and closed before the walk
// goes deeper, so that the walk holds no descriptors. glob(3) is not used: it has no `**`, sees paths from the process's directory only, and its
// GLOB_ERR does not name the directory that cannot be read. fts(3) is not used either: musl does not have it.

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "input/input.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <sys/stat.h>

enum { MOST_DEPTH = 256 }; // the most levels that ** goes down: each level takes some 400 bytes of a worker's stack of 256 KiB

struct component {
	enum { TEXT, PATTERN, DIRECTORIES } kind; // DIRECTORIES: **
	const char *text;
};

struct glob_walk {
	struct component *components;
	size_t n, cap;
	bool wants_directories;      // the pattern ends with a slash
	struct buf path;             // the path of the walk so far: empty, or with a slash at its end
	size_t ndir;                 // bytes of the path that name the caller's directory, and are no part of a match
	unsigned depth;              // calls of walk_directories() that have not returned
	struct arena texts;          // the texts of the components and of the matches
	const char **matches;
	size_t nmatches, matches_cap;
	char *error;                 // the message of fail(), or NULL
};

static void cut_path(struct glob_walk *walk, size_t len) {
	walk->path.len = len;
	walk->path.data[len] = '\0';
}

// Sets walk->error to "cannot VERB 'PATH': CAUSE". Always returns -1.
static int fail(struct glob_walk *walk, const char *verb, const char *path, int error) {
	size_t len = strlen(path);
	len -= len > 1 && path[len - 1] == '/'; // without the slash that the walk puts behind a directory
	return error_text(&walk->error, "cannot %s '%s': %s", verb, text_show(path, len), strerror(error));
}

// Returns true if the error only means that there is no match: the path does not exist, or a part of it is no directory.
static bool is_absence(int error) {
	return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

// ---- the pattern ----

static void add_component(struct glob_walk *walk, const char *text, size_t len) {
	struct component component = {.kind = TEXT, .text = arena_text(&walk->texts, text, len)};
	if (strcmp(component.text, "**") == 0) {
		component.kind = DIRECTORIES;
	} else if (strpbrk(component.text, "*?[\\")) {
		component.kind = PATTERN;
	}
	bool is_repeated = component.kind == DIRECTORIES && walk->n > 0 && walk->components[walk->n - 1].kind == DIRECTORIES;
	if (!is_repeated) {
		*NEW_ELEMENT(walk->components, walk->n, walk->cap) = component;
	}
}

// ---- directories ----

static int is_entry(const struct dirent *entry) {
	return !path_is_dots(entry->d_name);
}

// Reads the entries of the directory walk->path. Returns their number (0 if the path is no directory), or -1 after fail(). The
// caller frees the entries with free_entries().
static int read_entries(struct glob_walk *walk, struct dirent ***ret_entries) {
	*ret_entries = NULL;
	const char *path = walk->path.len > 0 ? walk->path.data : ".";
	int n = scandir(path, ret_entries, is_entry, NULL);
	return n >= 0 ? n : is_absence(errno) ? 0 : fail(walk, "read", path, errno);
}

static void free_entries(struct dirent **entries, int n) {
	for (int i = 0; i < n; ++i) {
		free(entries[i]);
	}
	free(entries);
}

// Returns true if the entry of the directory walk->path is a directory; a symbolic link to a directory does not count.
static bool is_directory(struct glob_walk *walk, const struct dirent *entry) {
	if (entry->d_type != DT_UNKNOWN) {
		return entry->d_type == DT_DIR;
	}
	struct stat stat;
	size_t before = walk->path.len;
	buf_adds(&walk->path, entry->d_name);
	bool is_it = lstat(walk->path.data, &stat) == 0 && S_ISDIR(stat.st_mode);
	cut_path(walk, before);
	return is_it;
}

// ---- matches ----

// Adds the path to the matches if the file exists. `is_seen`: the file exists, as its directory was just read. Returns 0, or -1 after fail().
static int add_match(struct glob_walk *walk, bool is_seen) {
	struct stat stat;
	if (walk->wants_directories) { // with a slash at the end lstat() follows links, and fails for all but directories
		buf_addc(&walk->path, '/');
	}
	if ((!is_seen || walk->wants_directories) && lstat(walk->path.data, &stat) != 0) {
		return is_absence(errno) ? 0 : fail(walk, "look at", walk->path.data, errno);
	}
	const char *match = arena_text(&walk->texts, walk->path.data + walk->ndir, walk->path.len - walk->ndir);
	*NEW_ELEMENT(walk->matches, walk->nmatches, walk->matches_cap) = match;
	return 0;
}

static int walk_from(struct glob_walk *walk, size_t i);

// Appends `name`, which matches component `i`, to the path and goes on with the next component. `is_seen`: the name was read from a directory.
static int enter(struct glob_walk *walk, size_t i, const char *name, bool is_seen) {
	size_t before = walk->path.len;
	int result;
	buf_adds(&walk->path, name);
	if (i + 1 == walk->n) {
		result = add_match(walk, is_seen);
	} else {
		buf_addc(&walk->path, '/');
		result = walk_from(walk, i + 1);
	}
	cut_path(walk, before);
	return result;
}

// Matches component `i`, a pattern, with the entries of the directory walk->path. Returns 0, or -1 after fail().
static int match_entries(struct glob_walk *walk, size_t i, struct dirent **entries, int n) {
	int result = 0;
	bool is_last = i + 1 == walk->n && !walk->wants_directories;
	for (int k = 0; k < n && result == 0; ++k) {
		unsigned char type = entries[k]->d_type;
		bool may_be_directory = type == DT_DIR || type == DT_LNK || type == DT_UNKNOWN;
		if ((is_last || may_be_directory) && fnmatch(walk->components[i].text, entries[k]->d_name, FNM_PERIOD) == 0) {
			result = enter(walk, i, entries[k]->d_name, true);
		}
	}
	return result;
}

// Matches the components behind component `i`, a **, in the directory walk->path and in every directory below it.
static int walk_directories(struct glob_walk *walk, size_t i) {
	if (walk->depth >= MOST_DEPTH) {
		return fail(walk, "go into", buf_str(&walk->path), ENAMETOOLONG);
	}
	++walk->depth;
	struct dirent **entries;
	int n = read_entries(walk, &entries), result = n < 0 ? -1 : 0;
	if (result == 0) { // ** is never the last component, and add_component() keeps only one of several ** in a row
		bool is_pattern = walk->components[i + 1].kind == PATTERN;
		result = is_pattern ? match_entries(walk, i + 1, entries, n) : walk_from(walk, i + 1);
	}
	for (int k = 0; k < n && result == 0; ++k) {
		const char *name = entries[k]->d_name;
		if (name[0] != '.' && is_directory(walk, entries[k])) {
			size_t before = walk->path.len;
			buf_adds(&walk->path, name);
			buf_addc(&walk->path, '/');
			result = walk_directories(walk, i);
			cut_path(walk, before);
		}
	}
	--walk->depth;
	free_entries(entries, n);
	return result;
}

// Matches the components from `i` on below walk->path. Returns 0, or -1 after fail().
static int walk_from(struct glob_walk *walk, size_t i) {
	struct dirent **entries;
	int n, result;
	switch (walk->components[i].kind) {
	case TEXT:
		return enter(walk, i, walk->components[i].text, false);
	case PATTERN:
		n = read_entries(walk, &entries);
		result = n < 0 ? -1 : match_entries(walk, i, entries, n);
		free_entries(entries, n);
		return result;
	case DIRECTORIES:
		return walk_directories(walk, i);
	}
	return 0;
}

// ---- all of it ----

static int compare(const void *a, const void *b) {
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int glob_expand(const char *dir, const char *pattern, void (*found)(void *arg, const char *path), void *arg,
                char **ret_error) {
	struct glob_walk walk = {.path = BUF_INIT};
	for (const char *at = pattern; *at;) {
		at += strspn(at, "/");
		size_t len = strcspn(at, "/");
		if (len > 0) {
			add_component(&walk, at, len);
		}
		at += len;
		walk.wants_directories = len == 0;
	}
	if (walk.n > 0 && walk.components[walk.n - 1].kind == DIRECTORIES) {
		add_component(&walk, "*", 1);
	}
	int result = 0;
	if (*pattern == '/') {
		buf_adds(&walk.path, "/");
	} else if (dir) { // the directory must exist
		struct stat stat_;
		int error = stat(dir, &stat_) != 0 ? errno : S_ISDIR(stat_.st_mode) ? 0 : ENOTDIR;
		result = error ? fail(&walk, "open", dir, error) : 0;
		buf_printf(&walk.path, "%s/", dir);
		walk.ndir = walk.path.len;
	}
	if (result == 0 && walk.n > 0) {
		result = walk_from(&walk, 0);
	} else if (result == 0 && walk.path.len > walk.ndir) { // the pattern is "/"
		walk.wants_directories = false;
		result = add_match(&walk, true);
	}
	if (result == 0 && walk.nmatches > 1) {
		qsort(walk.matches, walk.nmatches, sizeof(walk.matches[0]), compare);
	}
	for (size_t i = 0; i < walk.nmatches && result == 0; ++i) {
		if (i == 0 || strcmp(walk.matches[i - 1], walk.matches[i]) != 0) {
			found(arg, walk.matches[i]);
		}
	}
	*ret_error = walk.error;
	free(walk.components);
	free(walk.matches);
	arena_fini(&walk.texts);
	buf_fini(&walk.path);
	return result;
}
