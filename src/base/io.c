// Reading and writing all bytes, and descriptors that are sane from the start.

#include "base/io.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

int write_all(int fd, const void *mem, size_t len) {
	const char *at = mem;
	while (len > 0) {
		ssize_t n = write(fd, at, len);
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		} else if (n == 0) {
			errno = EIO; // neither taken nor refused: trying again might be for ever
			return -1;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			struct pollfd room = {.fd = fd, .events = POLLOUT};
			if (poll(&room, 1, -1) < 0 && errno != EINTR) {
				return -1;
			}
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

// Takes note of what pread(2) or pwrite(2) returned. Returns false with errno if there is no sense in going on.
static bool goes_on(ssize_t n, size_t *done) {
	if (n > 0) {
		*done += (size_t)n;
		return true;
	}
	if (n == 0) {
		errno = EIO;
	}
	return n < 0 && errno == EINTR;
}

size_t pwrite_all(int fd, const void *mem, size_t len, uint64_t offset) {
	size_t done = 0;
	while (done < len && goes_on(pwrite(fd, (const char *)mem + done, len - done, (off_t)(offset + done)), &done)) {
	}
	return done;
}

size_t pread_all(int fd, void *mem, size_t len, uint64_t offset) {
	size_t done = 0;
	while (done < len && goes_on(pread(fd, (char *)mem + done, len - done, (off_t)(offset + done)), &done)) {
	}
	return done;
}

bool call_is_refused(int error) {
	return error == ENOSYS || error == EPERM || error == EACCES || error == EINVAL || error == EOPNOTSUPP;
}

ssize_t splice_file(int from, uint64_t offset, int to, size_t want) {
	off_t at = (off_t)offset;
	ssize_t n = splice(from, &at, to, NULL, want, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	if (n < 0 && call_is_refused(errno)) {
		char piece[16 * 1024];
		n = pread(from, piece, want < sizeof(piece) ? want : sizeof(piece), (off_t)offset);
		n = n > 0 ? write(to, piece, (size_t)n) : n;
	}
	return n;
}

ssize_t splice_pipe(int from, int to, size_t want) {
	return splice(from, NULL, to, NULL, want, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
}

ssize_t send_file(int from, off_t *offset, int to, size_t want) {
	return sendfile(to, from, offset, want);
}

// By system call because not every libc has the function (pwritev2(2), position -1: the file's own).
ssize_t write_nowait(int fd, const char *mem, size_t len) {
#ifdef SYS_pwritev2
	struct iovec iov = {.iov_base = (void *)(size_t)mem, .iov_len = len};
	return syscall(SYS_pwritev2, fd, &iov, 1L, -1L, -1L, RWF_NOWAIT);
#else
	(void)fd, (void)mem, (void)len;
	errno = ENOSYS;
	return -1;
#endif
}

// As struct open_how of openat2(2), which older headers do not have.
struct how {
	uint64_t flags, mode, resolve;
};

enum { RESOLVE_NO_LINKS_BENEATH = 0x04 | 0x08 }; // RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH

int open_beneath(int dir, const char *path, int flags) {
	struct how how = {
		.flags = (unsigned)flags, .mode = flags & O_CREAT ? 0666 : 0, .resolve = RESOLVE_NO_LINKS_BENEATH,
	};
	errno = fault_errno("openat2");
#ifdef SYS_openat2
	return errno ? -1 : (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
#else
	errno = ENOSYS;
	return -1;
#endif
}

int file_punch(int fd, off_t offset, off_t len) {
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, len);
}

int fds_sanitize(void) {
	int closed = 0;
	for (int fd = 0; fd <= 2; ++fd) {
		if (fcntl(fd, F_GETFD) >= 0) {
			continue;
		}
		// the lowest free number is this one, as those below are open
		if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) {
			return -1;
		}
		closed |= 1 << fd;
	}
	return closed;
}

unsigned fds_count_free(unsigned most) {
	unsigned n = 0;
	int last = -1;
	// each is one that was free, above the one before
	for (int fd; n < most && (fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, last + 1)) >= 0; ++n) {
		close(fd);
		last = fd;
	}
	return n;
}
