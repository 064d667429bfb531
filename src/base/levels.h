// The directories on the path of a walk down a tree: each is opened below its parent, without following a link. Only the deepest
// LEVELS_OPEN of them keep a descriptor; an upper one is opened again by "..", and must then be the same directory.

#ifndef FAIRPAR_BASE_LEVELS_H
#define FAIRPAR_BASE_LEVELS_H

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <sys/stat.h>

enum { LEVELS_MOST = 512, LEVELS_OPEN = 32 };

struct level {
	int fd;                // with O_PATH, or -1
	struct stat stat;      // when it was opened
	char *name;            // in the directory above
	struct buf names;      // of a sender: what is in it, a NUL behind each
	size_t at;             // … where the next one begins
	bool is_new;           // of a receiver: it was made, and gets this time when it is whole
	struct timespec mtime;
	bool has_other_mode;   // … it gets this mode then
	mode_t mode;
};

struct levels {
	struct level *at;
	size_t n, cap;
};

// Adds the directory of that name in the open directory `above`, below the deepest one. Returns it, valid until the next is added; or NULL with
// errno: ENOTDIR for a link, too.
struct level *levels_enter(struct levels *levels, int above, const char *name);

// Removes the deepest one. Returns 0, or -1 with errno if the one above cannot be opened again: then that has no descriptor.
int levels_leave(struct levels *levels) FP_NODISCARD;

// The deepest one, or NULL.
static inline struct level *levels_deepest(const struct levels *levels) {
	return levels->n > 0 ? &levels->at[levels->n - 1] : NULL;
}

// Appends the path of `name` in the deepest directory, from the top on.
void levels_add_path(const struct levels *levels, const char *name, struct buf *path);

#endif
