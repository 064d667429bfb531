// Opens files below a directory without following symbolic links, so that a path made from an item cannot lead out of the directory.

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

// Opens the directory `path`, below which files are to be opened; "" is the current directory. If `makes` is true, first makes the directory and the
// directories above it that are missing (0777, less the umask). Returns a descriptor for open_beneath(), which the caller closes, or -1 with errno.
int open_base_dir(const char *path, bool makes) FP_NODISCARD;

// Makes the directory and the directories above it (0777, less the umask). Returns 0, also if the directory exists already; or -1 with errno.
int make_dirs(const char *path) FP_NODISCARD;

// Opens a file by its path below the directory `dir`, with the flags of open(2), close-on-exec; with O_CREAT also makes the directories that
// the path names. Returns a descriptor that the caller closes, or -1 with errno: ELOOP if the path has a symbolic link (with O_PATH,
// a link at its end is opened itself).
int open_beneath(int dir, const char *path, int flags) FP_NODISCARD;

// Returns how many levels up a symbolic link with this target leads: the number of ".." in the target. Returns SIZE_MAX if the link might lead
// anywhere: its target is empty or absolute, or has a ".." behind a name, which may be the name of another link.
size_t link_climbs(const char *target);

// True if a symbolic link with this target, in a directory `depth` levels below a top directory, cannot lead out of the top directory, provided that
// this is true of all other links below the top directory, too.
static inline bool link_stays_beneath(const char *target, size_t depth) {
	return link_climbs(target) <= depth;
}

// remove_file() removes a file by its path ("./a/b") below the directory `dir`, and then the directories in that path that are empty; if the path
// itself names a directory, it stays. remove_tree() removes a directory with all that is in it. Both ignore failures.
void remove_file(const char *dir, const char *path);
void remove_tree(const char *path);

// Removes from the directory those files whose names begin with `prefix` and for which is_left_over() is true: processes that were killed have left
// them. `path`: the file's path, `dir` and the name. Ignores failures, as another process may be faster.
void remove_left_over(const char *dir, const char *prefix, bool (*is_left_over)(const char *path));

// ---- a walk through a tree: the directories from the top to the current one; each was opened in its parent, never through a link. At most
// LEVELS_OPEN have a descriptor; a directory without one is opened again by ".." on the way up, which fails if the directory below was moved ----

enum { LEVELS_MOST = 512, LEVELS_OPEN = 32 }; // the most levels of a tree that is copied; the most of them that have a descriptor

struct level {
	int fd;                // a descriptor with O_PATH, or -1
	struct stat stat;      // the directory's status when it was opened
	char *name;            // the directory's name in the directory above
	// used only by a walk that sends the tree to another machine
	struct buf names;      // the names of the files in the directory, a NUL behind each
	size_t at;             // the offset in `names` of the next file
	// used only by a walk that receives the tree from another machine
	bool is_new;           // the receiver has made the directory, which gets `mtime` once all files in it are there
	struct timespec mtime;
	bool has_other_mode;   // the directory also gets `mode` once all files in it are there
	mode_t mode;
};

struct levels {
	struct level *at;
	size_t n, cap;
};

// Opens the directory `name` in the open directory `above`, and adds it to the list as the deepest one. Returns the new level, valid until
// the next is added; or NULL with errno: ENOTDIR for a link, too.
struct level *levels_enter(struct levels *levels, int above, const char *name);

// Removes the deepest directory from the list. Returns 0; or -1 with errno if the directory above has no descriptor and cannot be opened again.
int levels_leave(struct levels *levels) FP_NODISCARD;

// Returns the deepest directory, or NULL.
static inline struct level *levels_deepest(const struct levels *levels) {
	return levels->n > 0 ? &levels->at[levels->n - 1] : NULL;
}

// Appends the path of `name` in the deepest directory; the path begins with the name of the top directory.
void levels_add_path(const struct levels *levels, const char *name, struct buf *path);
