// A file that appears whole or not at all: written under a name of its own in the same directory, then renamed.

#include "base/whole.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct whole {
	int fd;
	int error;          // errno of the first failure, or 0
	char *path;         // what is replaced; NULL: it was written to at once
	char *temporary;    // its name meanwhile
};

// The path without symbolic links where there is something, or as it is. The caller frees it.
static char *resolve(const char *path) {
	char *real = realpath(path, NULL);
	return real ? real : xstrdup(path);
}

// The directory of a path, with its slash; "" for the current one. The caller frees it.
static char *directory(const char *path) {
	const char *slash = strrchr(path, '/');
	return xmemdup(path, slash ? (size_t)(slash - path) + 1 : 0);
}

int whole_check(const char *path) {
	struct stat st;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		errno = EISDIR;
		return S_ISDIR(st.st_mode) ? -1 : access(path, W_OK);
	}
	char *real = resolve(path), *dir = directory(real);
	int result = access(*dir != '\0' ? dir : ".", W_OK | X_OK);
	int error = errno;
	free(real);
	free(dir);
	errno = error;
	return result;
}

// Creates a file with a name of its own beside `path`. Returns its descriptor, or -1 with errno.
static int create_beside(const char *path, char **ret_name) {
	char *dir = directory(path);
	struct buf name = BUF_INIT;
	int fd = -1;
	for (unsigned n = 0; n < 1000; ++n) { // others may be left from a process of that number that was killed
		buf_reset(&name);
		buf_printf(&name, "%s.fairpar-%ld-%u", dir, (long)getpid(), n);
		fd = open(buf_str(&name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST) {
			break;
		}
	}
	int error = errno;
	free(dir);
	*ret_name = fd >= 0 ? buf_take(&name) : NULL;
	buf_fini(&name);
	errno = error;
	return fd;
}

struct whole *whole_open(const char *path) {
	struct whole *whole = NEW(struct whole);
	struct stat st;
	bool exists = stat(path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode)) {
		whole->fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		whole->path = resolve(path);
		whole->fd = create_beside(whole->path, &whole->temporary);
	}
	if (whole->fd < 0) {
		int error = errno;
		free(whole->path);
		free(whole);
		errno = error;
		return NULL;
	}
	if (exists && whole->temporary && fchmod(whole->fd, st.st_mode & 07777) != 0) {
		whole->error = errno;
	}
	return whole;
}

void whole_write(struct whole *whole, const void *mem, size_t len) {
	if (!whole->error && write_all(whole->fd, mem, len) != 0) {
		whole->error = errno;
	}
}

int whole_close(struct whole *whole, bool keep) {
	int error = whole->error;
	if (close(whole->fd) != 0 && !error) {
		error = errno;
	}
	if (whole->temporary && !error && keep && rename(whole->temporary, whole->path) != 0) {
		error = errno;
	}
	if (whole->temporary && (error || !keep)) {
		unlink(whole->temporary); // best effort: it is only in the way
	}
	free(whole->temporary);
	free(whole->path);
	free(whole);
	errno = error;
	return error ? -1 : 0;
}
