// A file that appears whole or not at all: written in the same directory without a name, or under one of its own, then put
// in place.

#include "base/atomic_file.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/write_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

struct atomic_file {
	int fd;
	int error;          // errno of the first failure, or 0
	char *path;         // what is replaced; NULL: it was written to at once
	char *temporary;    // its name meanwhile, or NULL: it has none
	sigset_t mask;      // of signals, while there is that name
};

// The path without symbolic links where there is something, or as it is. The caller frees it.
static char *resolve(const char *path) {
	char *real = realpath(path, NULL);
	return real ? real : xstrdup(path);
}

// Whether the path is a link to what has no path: a file that was removed and is still open (/proc/self/fd/1, to which
// /dev/stdout leads), or one that is not there yet.
static bool leads_nowhere(const char *path) {
	char target[1];
	FP_CLEANUP(free_later) char *real = realpath(path, NULL);
	return !real && readlink(path, target, sizeof(target)) >= 0;
}

// The directory of a path, with its slash; "" for the current one. The caller frees it.
static char *directory(const char *path) {
	const char *slash = strrchr(path, '/');
	return xmemdup(path, slash ? (size_t)(slash - path) + 1 : 0);
}

int atomic_file_check(const char *path) {
	struct stat st;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		errno = EISDIR;
		return S_ISDIR(st.st_mode) ? -1 : access(path, W_OK);
	}
	if (leads_nowhere(path)) {
		return access(path, W_OK) == 0 || errno == ENOENT ? 0 : -1;
	}
	FP_CLEANUP(free_later) char *real = resolve(path), *dir = directory(real);
	return access(*dir != '\0' ? dir : ".", W_OK | X_OK);
}

// Blocks the signals that would end the process, and leave its file with a name that is in the way.
static void block_signals(struct atomic_file *file) {
	sigset_t set;
	get_ending_signals(&set);
	verify(pthread_sigmask(SIG_BLOCK, &set, &file->mask) == 0);
}

static void restore_signals(const struct atomic_file *file) {
	verify(pthread_sigmask(SIG_SETMASK, &file->mask, NULL) == 0);
}

// Creates a file without a name in the directory of `path`, one that can get a name later. Returns its descriptor, or -1.
static int create_nameless(const char *path) {
	FP_CLEANUP(free_later) char *dir = directory(path);
	FP_CLEANUP(buf_fini) struct buf own = BUF_INIT;
	int fd = open(*dir != '\0' ? dir : ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
	tmpfile_add_name(&own, fd);
	if (fd >= 0 && access(buf_str(&own), F_OK) != 0) { // no /proc, by which it gets its name
		fd_close(&fd);
	}
	return fd;
}

// Gives the file a name: linkat() with AT_EMPTY_PATH would need a privilege (open(2), O_TMPFILE). Returns 0, or -1 with errno.
static int link_nameless(int fd, const char *name) {
	FP_CLEANUP(buf_fini) struct buf own = BUF_INIT;
	tmpfile_add_name(&own, fd);
	return linkat(AT_FDCWD, buf_str(&own), AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

// Finds a name beside `path` that nobody has, and creates a file of that name, or gives it to the one of `nameless` if that
// is no -1. Returns the descriptor, or -1 with errno.
static int name_sibling(const char *path, int nameless, char **ret_name) {
	FP_CLEANUP(free_later) char *dir = directory(path);
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	int fd = -1;
	for (unsigned n = 0; n < 1000; ++n) { // others may be left from a process of that number that was killed
		buf_reset(&name);
		buf_printf(&name, "%s.fairpar-%ld-%u", dir, (long)getpid(), n);
		if (nameless < 0) {
			fd = open(buf_str(&name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		} else {
			fd = link_nameless(nameless, buf_str(&name)) == 0 ? nameless : -1;
		}
		if (fd >= 0 || errno != EEXIST) {
			break;
		}
	}
	*ret_name = fd >= 0 ? buf_take(&name) : NULL;
	return fd;
}

// Opens the file that is to come in the place of `path`. Returns its descriptor, or -1 with errno.
static int create_sibling(struct atomic_file *file) {
	int fd = create_nameless(file->path);
	if (fd >= 0) {
		return fd;
	}
	block_signals(file); // not every file system has files without names
	fd = name_sibling(file->path, -1, &file->temporary);
	if (fd < 0) {
		int error = errno;
		restore_signals(file);
		errno = error;
	}
	return fd;
}

struct atomic_file *atomic_file_open(const char *path) {
	struct atomic_file *file = NEW(struct atomic_file);
	struct stat st;
	bool exists = stat(path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode)) {
		file->fd = write_open(path, O_WRONLY | O_CLOEXEC, "it is not written");
	} else if (leads_nowhere(path)) {
		file->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	} else {
		file->path = resolve(path);
		file->fd = create_sibling(file);
	}
	if (file->fd < 0) {
		int error = errno;
		free(file->path);
		free(file);
		errno = error;
		return NULL;
	}
	if (exists && file->path && fchmod(file->fd, st.st_mode & 07777) != 0) {
		file->error = errno;
	}
	return file;
}

void atomic_file_write(struct atomic_file *file, const void *mem, size_t len) {
	if (!file->error && write_limited(file->fd, mem, len) != 0) {
		file->error = errno;
	}
}

// Makes a file of its own of what the nameless one holds, where a link is refused. Returns 0, or an errno.
static int copy_sibling(const struct atomic_file *file, char **ret_name) {
	char piece[16 * 1024];
	struct stat st;
	int fd = name_sibling(file->path, -1, ret_name);
	int error = fd < 0 || fstat(file->fd, &st) != 0 || fchmod(fd, st.st_mode & 07777) != 0 ? errno : 0;
	ssize_t n = 1;
	for (off_t at = 0; !error && n > 0; at += n) {
		n = pread(file->fd, piece, sizeof(piece), at);
		error = n < 0 || (n > 0 && write_all(fd, piece, (size_t)n) != 0) ? errno : 0;
	}
	if (fd >= 0 && (error = fd_finish(fd, error)) != 0) {
		unlink(*ret_name); // best effort: it is only in the way
	}
	return error;
}

// Puts a nameless file in its place. Returns 0, or an errno.
static int place_nameless(struct atomic_file *file) {
	if (link_nameless(file->fd, file->path) == 0) {
		return 0;
	}
	bool copies = call_is_refused(errno);
	if (errno != EEXIST && !copies) {
		return errno;
	}
	FP_CLEANUP(free_later) char *name = NULL;
	block_signals(file);
	int error = copies ? copy_sibling(file, &name) : name_sibling(file->path, file->fd, &name) < 0 ? errno : 0;
	if (!error && rename(name, file->path) != 0) {
		error = errno;
		unlink(name); // best effort: it is only in the way
	}
	restore_signals(file);
	return error;
}

// Puts a file that has a name in its place, or removes it. Returns 0, or an errno.
static int place_named(struct atomic_file *file, bool keep) {
	int error = keep && rename(file->temporary, file->path) != 0 ? errno : 0;
	if (error || !keep) {
		unlink(file->temporary); // best effort: it is only in the way
	}
	restore_signals(file);
	return error;
}

int atomic_file_close(struct atomic_file *file, bool keep) {
	int error = file->error;
	if (file->path && !file->temporary && keep && !error) {
		error = place_nameless(file); // as long as it is open
	}
	error = fd_finish(file->fd, error);
	if (file->temporary) {
		int placed = place_named(file, keep && !error);
		error = error ? error : placed;
	}
	free(file->temporary);
	free(file->path);
	free(file);
	return result_of(error);
}
