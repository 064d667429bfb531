// The directories from the top of a tree down.

#include "base/levels.h"

#include "base/alloc.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>

struct level *levels_enter(struct levels *levels, int above, const char *name) {
	struct level level = {.fd = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
	if (level.fd < 0 || fstat(level.fd, &level.stat) != 0) {
		fd_close(&level.fd);
		return NULL;
	}
	if (levels->n >= LEVELS_OPEN) {
		fd_close(&levels->at[levels->n - LEVELS_OPEN].fd);
	}
	level.name = xstrdup(name);
	grow_array(&levels->at, &levels->cap, levels->n + 1, sizeof(*levels->at));
	levels->at[levels->n++] = level;
	return levels_deepest(levels);
}

// Opens the level above `below` again. Returns 0, or -1 with errno.
static int open_again(struct level *level, const struct level *below) {
	struct stat stat;
	level->fd = openat(below->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (level->fd < 0 || fstat(level->fd, &stat) != 0) {
		return -1;
	}
	if (stat.st_dev != level->stat.st_dev || stat.st_ino != level->stat.st_ino) { // the directory below was moved meanwhile
		fd_close(&level->fd);
		errno = ESTALE;
		return -1;
	}
	return 0;
}

int levels_leave(struct levels *levels) {
	struct level *below = levels_deepest(levels), *level = levels->n > 1 ? below - 1 : NULL;
	int result = level && level->fd < 0 ? open_again(level, below) : 0;
	fd_close(&below->fd);
	free(below->name);
	buf_fini(&below->names);
	--levels->n;
	if (levels->n == 0) {
		free(levels->at);
		*levels = (struct levels){.n = 0};
	}
	return result;
}

void levels_add_path(const struct levels *levels, const char *name, struct buf *path) {
	for (size_t i = 0; i < levels->n; ++i) {
		buf_printf(path, "%s/", levels->at[i].name);
	}
	buf_adds(path, name);
}
