// The files that a pattern matches.
//
// The pattern's components are walked over with one path that grows and shrinks. A directory is read to its end and
// closed before the walk goes deeper, so that descriptors are not held however deep it goes. glob(3) is not used: it has
// no `**`, sees paths from the process's directory only, and its GLOB_ERR does not name what cannot be read.

#include "input/glob.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_DEPTH = 256 }; // each level takes some 400 bytes of the stack, of which a worker has 256 KiB

struct component {
	enum { TEXT, PATTERN, DIRECTORIES } kind; // DIRECTORIES: **
	char *text;
};

struct glob_walk {
	const char *dir;             // what relative paths are seen from, or NULL: the process's directory
	int base;                    // the same as a descriptor
	struct component *components;
	size_t n, cap;
	bool wants_directories;      // a slash at the end
	struct buf path;             // so far: empty, or with a slash at its end
	unsigned depth;              // directories below a ** that are being gone through
	struct arena texts;          // of the matches
	const char **matches;
	size_t nmatches, matches_cap;
	char *error;                 // or NULL
};

// ---- errors ----

// Always returns -1.
static int fail(struct glob_walk *walk, const char *verb, const char *path, int error) {
	struct buf message = BUF_INIT, full = BUF_INIT;
	if (walk->dir && path[0] != '/') {
		buf_printf(&full, "%s/", walk->dir);
	}
	buf_adds(&full, path);
	full.len -= full.len > 1 && full.data[full.len - 1] == '/'; // of a directory that was to be gone through
	buf_printf(&message, "cannot %s '", verb);
	buf_add_escaped(&message, buf_str(&full), full.len, 200);
	buf_printf(&message, "': %s", strerror(error));
	buf_fini(&full);
	free(walk->error);
	walk->error = buf_take(&message);
	return -1;
}

// What the path names is not there, or is no directory to go through: there is no match, but nothing was missed.
static bool is_absence(int error) {
	return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

// ---- the pattern ----

static void add_component(struct glob_walk *walk, const char *text, size_t len) {
	struct component component = {.kind = TEXT, .text = xmemdup(text, len)};
	if (strcmp(component.text, "**") == 0) {
		component.kind = DIRECTORIES;
	} else if (strpbrk(component.text, "*?[\\")) {
		component.kind = PATTERN;
	}
	bool is_repeated = component.kind == DIRECTORIES && walk->n > 0 && walk->components[walk->n - 1].kind == DIRECTORIES;
	if (is_repeated) {
		free(component.text);
		return;
	}
	grow_array(&walk->components, &walk->cap, walk->n + 1, sizeof(walk->components[0]));
	walk->components[walk->n++] = component;
}

static void parse(struct glob_walk *walk, const char *pattern) {
	if (*pattern == '/') {
		buf_adds(&walk->path, "/");
	}
	for (const char *at = pattern; *at;) {
		at += strspn(at, "/");
		size_t len = strcspn(at, "/");
		if (len > 0) {
			add_component(walk, at, len);
		}
		at += len;
		walk->wants_directories = len == 0;
	}
	if (walk->n > 0 && walk->components[walk->n - 1].kind == DIRECTORIES) {
		add_component(walk, "*", 1);
	}
}

// ---- directories ----

struct entry {
	size_t name;                 // offset in the names
	unsigned char type;          // DT_*
};

struct listing {
	struct buf names;
	struct entry *entries;
	size_t n, cap;
};

static void listing_fini(struct listing *listing) {
	buf_fini(&listing->names);
	free(listing->entries);
}

// Takes over the descriptor. Returns 0, or -1 with errno.
static int read_entries(int fd, struct listing *listing) {
	DIR *stream = fdopendir(fd);
	if (!stream) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	const struct dirent *entry;
	while (errno = 0, (entry = readdir(stream))) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
			continue;
		}
		grow_array(&listing->entries, &listing->cap, listing->n + 1, sizeof(listing->entries[0]));
		listing->entries[listing->n++] = (struct entry){listing->names.len, entry->d_type};
		buf_add(&listing->names, name, strlen(name) + 1);
	}
	int error = errno;
	closedir(stream);
	errno = error;
	return error ? -1 : 0;
}

// The entries of the directory of the path; none if that is none. Returns 0, or -1 after fail().
static int list(struct glob_walk *walk, struct listing *ret_listing) {
	*ret_listing = (struct listing){.names = BUF_INIT};
	const char *path = buf_str(&walk->path);
	int fd = openat(walk->base, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && read_entries(fd, ret_listing) == 0) {
		return 0;
	}
	int error = errno;
	listing_fini(ret_listing);
	*ret_listing = (struct listing){.names = BUF_INIT};
	return is_absence(error) ? 0 : fail(walk, "read", *path || walk->dir ? path : ".", error);
}

// ---- matches ----

// The path is a match, if it is there. What a directory was just seen to hold is (`is_seen`).
static int add_match(struct glob_walk *walk, bool is_seen) {
	struct stat stat;
	if (walk->wants_directories) { // the slash makes this follow links, and fail for all but directories
		buf_addc(&walk->path, '/');
	}
	if (!is_seen || walk->wants_directories) {
		if (fstatat(walk->base, walk->path.data, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
			return is_absence(errno) ? 0 : fail(walk, "look at", walk->path.data, errno);
		}
	}
	grow_array(&walk->matches, &walk->matches_cap, walk->nmatches + 1, sizeof(walk->matches[0]));
	walk->matches[walk->nmatches++] = arena_text(&walk->texts, walk->path.data, walk->path.len);
	return 0;
}

static int walk_from(struct glob_walk *walk, size_t i);

// Goes on behind component `i`, which the name matches, of an entry that was seen or one that the pattern spells out.
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
	walk->path.len = before;
	walk->path.data[before] = '\0';
	return result;
}

// May the entry be a directory, or a link to one?
static bool may_lead_on(const struct entry *entry) {
	return entry->type == DT_DIR || entry->type == DT_LNK || entry->type == DT_UNKNOWN;
}

// Matches component `i`, a pattern, with what is in the directory of the path.
static int match_entries(struct glob_walk *walk, size_t i, const struct listing *listing) {
	int result = 0;
	bool is_last = i + 1 == walk->n && !walk->wants_directories;
	for (size_t k = 0; k < listing->n && result == 0; ++k) {
		const char *name = listing->names.data + listing->entries[k].name;
		if ((is_last || may_lead_on(&listing->entries[k])) && fnmatch(walk->components[i].text, name, FNM_PERIOD) == 0) {
			result = enter(walk, i, name, true);
		}
	}
	return result;
}

static int walk_pattern(struct glob_walk *walk, size_t i) {
	struct listing listing;
	int result = list(walk, &listing);
	if (result == 0) {
		result = match_entries(walk, i, &listing);
	}
	listing_fini(&listing);
	return result;
}

static bool is_directory(const struct glob_walk *walk, const struct entry *entry, const char *name) {
	struct stat stat;
	if (entry->type != DT_UNKNOWN) {
		return entry->type == DT_DIR;
	}
	struct buf path = BUF_INIT;
	buf_printf(&path, "%s%s", buf_str(&walk->path), name);
	bool is_it = fstatat(walk->base, path.data, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(stat.st_mode);
	buf_fini(&path);
	return is_it;
}

// What follows the ** here, and in every directory below.
static int walk_directories(struct glob_walk *walk, size_t i) {
	struct listing listing;
	if (walk->depth >= MOST_DEPTH) {
		return fail(walk, "go into", buf_str(&walk->path), ENAMETOOLONG);
	}
	++walk->depth;
	int result = list(walk, &listing);
	if (result == 0) { // never the last component; two in a row are one
		bool is_pattern = walk->components[i + 1].kind == PATTERN;
		result = is_pattern ? match_entries(walk, i + 1, &listing) : walk_from(walk, i + 1);
	}
	for (size_t k = 0; k < listing.n && result == 0; ++k) {
		const char *name = listing.names.data + listing.entries[k].name;
		if (name[0] != '.' && is_directory(walk, &listing.entries[k], name)) {
			size_t before = walk->path.len;
			buf_adds(&walk->path, name);
			buf_addc(&walk->path, '/');
			result = walk_directories(walk, i);
			walk->path.len = before;
			walk->path.data[before] = '\0';
		}
	}
	--walk->depth;
	listing_fini(&listing);
	return result;
}

// Matches the components from `i` on below the path. Returns 0, or -1 after fail().
static int walk_from(struct glob_walk *walk, size_t i) {
	switch (walk->components[i].kind) {
	case TEXT:
		return enter(walk, i, walk->components[i].text, false);
	case PATTERN:
		return walk_pattern(walk, i);
	case DIRECTORIES:
		return walk_directories(walk, i);
	}
	return 0;
}

// ---- all of it ----

static int compare(const void *a, const void *b) {
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int tell(struct glob_walk *walk, int (*found)(void *arg, const char *path), void *arg) {
	if (walk->nmatches > 1) {
		qsort(walk->matches, walk->nmatches, sizeof(walk->matches[0]), compare);
	}
	for (size_t i = 0; i < walk->nmatches; ++i) {
		bool is_again = i > 0 && strcmp(walk->matches[i - 1], walk->matches[i]) == 0;
		int stop = is_again ? 0 : found(arg, walk->matches[i]);
		if (stop != 0) {
			return stop;
		}
	}
	return 0;
}

static int expand(struct glob_walk *walk, const char *dir) {
	if (dir && walk->path.len == 0) {
		walk->dir = dir;
		walk->base = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (walk->base < 0) {
			walk->dir = NULL;
			return fail(walk, "open", dir, errno);
		}
	}
	if (walk->n > 0) {
		return walk_from(walk, 0);
	}
	walk->wants_directories = false; // "/" is what it is
	return walk->path.len > 0 ? add_match(walk, true) : 0;
}

int glob_expand(const char *dir, const char *pattern, int (*found)(void *arg, const char *path), void *arg,
                 char **ret_error) {
	struct glob_walk walk = {.base = AT_FDCWD, .path = BUF_INIT};
	parse(&walk, pattern);
	int result = expand(&walk, dir);
	if (result == 0) {
		result = tell(&walk, found, arg);
	}
	*ret_error = walk.error;
	if (walk.base >= 0) {
		close(walk.base);
	}
	for (size_t i = 0; i < walk.n; ++i) {
		free(walk.components[i].text);
	}
	free(walk.components);
	free(walk.matches);
	arena_fini(&walk.texts);
	buf_fini(&walk.path);
	return result;
}
