// Opening below a directory by openat2(2), or step by step.

#include "base/beneath.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// The same as struct open_how of openat2(2), which older headers lack.
struct how {
	uint64_t flags, mode, resolve;
};

enum { REMOVED_DEPTH = 16, ROUNDS_MOST = 512 }; // for remove_tree(): the levels that one round goes down; the most rounds
enum { RESOLVE_NO_LINKS_BENEATH = 0x04 | 0x08 }; // RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH

// Opens the file by one call, openat2(2). Fails with ENOSYS if the kernel has no such call.
static int open_at_once(int dir, const char *path, int flags) {
	struct how how = {
		.flags = (unsigned)flags, .mode = flags & O_CREAT ? 0666 : 0, .resolve = RESOLVE_NO_LINKS_BENEATH,
	};
#ifdef SYS_openat2
	return fault_fails("openat2") ? -1 : (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
#else
	errno = ENOSYS;
	return -1;
#endif
}

// Opens the directory of that name; if it is missing, `makes` says whether to make it. Returns a descriptor, or -1 with errno.
static int step_down(int dir, const char *name, bool makes) {
	if (makes && mkdirat(dir, name, 0777) != 0 && errno != EEXIST) {
		return -1;
	}
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;
	if (fd < 0 && errno == ENOTDIR) {
		errno = fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(stat.st_mode) ? ELOOP : ENOTDIR;
	}
	return fd;
}

// Tries openat2() first. If it is missing or fails, opens the file step by step.
int open_beneath(int dir, const char *path, int flags) {
	flags |= O_CLOEXEC | O_NOFOLLOW;
	int fd = open_at_once(dir, path, flags), at = dir;
	for (const char *slash; fd < 0 && at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		if (slash == path) {
			continue;
		}
		FP_CLEANUP(free_later) char *name = xmemdup(path, (size_t)(slash - path));
		int above = at;
		at = step_down(above, name, flags & O_CREAT);
		if (above != dir) {
			fd_close(&above);
		}
	}
	if (fd < 0 && at >= 0) {
		fd = openat(at, path, flags, 0666);
	}
	if (at != dir) {
		fd_close(&at);
	}
	return fd;
}

int make_dirs(const char *path) {
	FP_CLEANUP(free_later) char *copy = xstrdup(path);
	int result = 0;
	for (char *at = copy + 1; result == 0 && at[-1]; ++at) {
		if (*at != '/' && *at != '\0') {
			continue;
		}
		char was = *at;
		*at = '\0';
		result = mkdir(copy, 0777) != 0 && errno != EEXIST ? -1 : 0;
		*at = was;
	}
	return result;
}

int open_base_dir(const char *path, bool makes) {
	path = path[0] ? path : ".";
	return makes && make_dirs(path) != 0 ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

size_t link_climbs(const char *target) {
	size_t climbs = 0;
	bool has_name = false, may_lead_anywhere = target[0] == '\0' || target[0] == '/';
	while (*target && !may_lead_anywhere) {
		size_t len = strcspn(target, "/");
		bool is_up = len == 2 && memcmp(target, "..", 2) == 0, is_here = len == 0 || (len == 1 && *target == '.');
		climbs += is_up;
		may_lead_anywhere = is_up && has_name;
		has_name = has_name || (!is_up && !is_here);
		target += len + (target[len] == '/');
	}
	return may_lead_anywhere ? SIZE_MAX : climbs;
}

void remove_file(const char *dir, const char *name) {
	FP_CLEANUP(fd_close) int fd = open_base_dir(dir, /* makes */ false);
	FP_CLEANUP(free_later) char *path = xstrdup(name + (strncmp(name, "./", 2) == 0 ? 2 : 0)); // allocated, as a path may have any length
	bool goes_on = fd >= 0 && (unlinkat(fd, path, 0) == 0 || errno == ENOENT);
	for (char *slash; goes_on && (slash = strrchr(path, '/'));) {
		*slash = '\0';
		goes_on = unlinkat(fd, path, AT_REMOVEDIR) == 0;
	}
}

void remove_left_over(const char *dir, const char *prefix, bool (*is_left_over)(const char *path)) {
	DIR *entries = opendir(dir);
	for (const struct dirent *entry; entries && (entry = readdir(entries));) {
		FP_CLEANUP(buf_fini) struct buf path = BUF_INIT;
		buf_printf(&path, "%s/%s", dir, entry->d_name);
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && is_left_over(buf_str(&path))) {
			(void)!unlink(buf_str(&path));
		}
	}
	if (entries) {
		closedir(entries);
	}
}

// Removes what is in the directory, and closes it. Directories deeper than REMOVED_DEPTH are moved to `top`, for the next round; *moved counts them,
// and the count is part of their new names. Returns how many entries were removed or moved.
static unsigned long empty_dir(int fd, int top, unsigned depth, unsigned long *moved) {
	DIR *dir = fdopendir(fd);
	unsigned long n = 0;
	if (!dir) {
		fd_close(&fd);
		return 0;
	}
	for (const struct dirent *entry; (entry = readdir(dir));) {
		const char *name = entry->d_name;
		if (path_is_dots(name)) {
			continue;
		}
		if (unlinkat(fd, name, 0) == 0) {
			++n;
			continue;
		}
		if (depth == REMOVED_DEPTH) {
			FP_CLEANUP(buf_fini) struct buf to = BUF_INIT;
			buf_printf(&to, ".fairpar.%lu", ++*moved);
			n += renameat(fd, name, top, buf_str(&to)) == 0;
			continue;
		}
		(void)!fchmodat(fd, name, 0700, AT_SYMLINK_NOFOLLOW);
		int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		n += below >= 0 ? empty_dir(below, top, depth + 1, moved) : 0;
		n += unlinkat(fd, name, AT_REMOVEDIR) == 0;
	}
	closedir(dir);
	return n;
}

void remove_tree(const char *path) {
	FP_CLEANUP(fd_close) int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	unsigned long n = top >= 0, moved = 0;
	for (unsigned i = 0; n > 0 && i < ROUNDS_MOST; ++i) { // bounded, because a process that still runs may make files for ever
		int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		n = again >= 0 ? empty_dir(again, top, 0, &moved) : 0;
	}
	(void)!rmdir(path);
}

// ---- the directories from the top of a tree down ----

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
	*NEW_ELEMENT(levels->at, levels->n, levels->cap) = level;
	return levels_deepest(levels);
}

int levels_leave(struct levels *levels) {
	struct level *below = levels_deepest(levels), *level = levels->n > 1 ? below - 1 : NULL;
	int result = 0;
	if (level && level->fd < 0) {
		struct stat stat;
		level->fd = openat(below->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		result = level->fd < 0 || fstat(level->fd, &stat) != 0 ? -1 : 0;
		if (result == 0 && (stat.st_dev != level->stat.st_dev || stat.st_ino != level->stat.st_ino)) { // the directory below was moved meanwhile
			fd_close(&level->fd);
			errno = ESTALE;
			result = -1;
		}
	}
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
