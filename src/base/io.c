// Reads and writes all bytes, makes sure that descriptors 0 to 2 are open, and wakes threads that wait in poll(2).

#include "base/io.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8 // linux/fs.h; not in every libc's sys/uio.h
#endif

bool io_goes_on(ssize_t n, size_t *done) {
	if (n > 0) {
		*done += (size_t)n;
		return true;
	}
	if (n == 0) {
		errno = EIO; // the call moved nothing and reported no error: trying again might never end
	}
	return n < 0 && errno == EINTR;
}

// To be called after a failed write: if the descriptor was full, waits until it takes more. Returns false if the write failed for another reason.
static bool takes_more(int fd) {
	struct pollfd out = {.fd = fd, .events = POLLOUT};
	return (errno == EAGAIN || errno == EWOULDBLOCK) && (poll(&out, 1, -1) >= 0 || errno == EINTR);
}

int write_all(int fd, const void *mem, size_t len) {
	size_t done = 0;
	while (done < len && (io_goes_on(write(fd, (const char *)mem + done, len - done), &done) || takes_more(fd))) {
	}
	return done == len ? 0 : -1;
}

size_t pwrite_all(int fd, const void *mem, size_t len, uint64_t offset) {
	size_t done = 0;
	while (done < len && io_goes_on(pwrite(fd, (const char *)mem + done, len - done, (off_t)(offset + done)), &done)) {
	}
	return done;
}

size_t pread_all(int fd, void *mem, size_t len, uint64_t offset) {
	size_t done = 0;
	while (done < len && io_goes_on(pread(fd, (char *)mem + done, len - done, (off_t)(offset + done)), &done)) {
	}
	return done;
}

bool call_is_refused(int error) {
	return error == ENOSYS || error == EPERM || error == EACCES || error == EINVAL || error == EOPNOTSUPP;
}

ssize_t read_some(int fd, void *mem, size_t len) {
	ssize_t n;
	do {
		n = read(fd, mem, len);
	} while (n < 0 && errno == EINTR);
	return n;
}

int pipe_open(int own, int *ret_own, int *ret_others) {
	int ends[2];
	if (fault_fails("pipe") || pipe2(ends, O_CLOEXEC) != 0) {
		return -1;
	}
	verify(fcntl(ends[own], F_SETFL, O_NONBLOCK) == 0);
	*ret_own = ends[own];
	*ret_others = ends[!own];
	return 0;
}

void fd_close(int *fd) {
	FP_KEEP_ERRNO;
	if (*fd >= 0) {
		close(*fd);
		*fd = -1;
	}
}

int fd_finish(int fd, int error) {
	return close(fd) != 0 && !error ? errno : error;
}

int result_of(int error) {
	errno = error ? error : errno;
	return error ? -1 : 0;
}

int fds_sanitize(void) {
	int closed = 0;
	for (int fd = 0; fd <= 2; ++fd) {
		if (fcntl(fd, F_GETFD) >= 0) {
			continue;
		}
		// open() takes the lowest free number: that is `fd`, because all numbers below are open
		if (open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY) != fd) {
			return -1;
		}
		closed |= 1 << fd;
	}
	return closed;
}

void polls_add(struct polls *polls, int fd, short events) {
	*NEW_ELEMENT(polls->at, polls->n, polls->cap) = (struct pollfd){.fd = fd, .events = events};
}

// ---- calls of Linux ----

ssize_t splice_pipe(int from, int to, size_t want) {
	return splice(from, NULL, to, NULL, want, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
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

// Calls pwritev2(2) by its number, because not every libc has the function; position -1 is the file's current one.
ssize_t write_nowait(int fd, const void *mem, size_t len) {
#ifdef SYS_pwritev2
	struct iovec iov = {.iov_base = (void *)(uintptr_t)mem, .iov_len = len};
	return syscall(SYS_pwritev2, fd, &iov, 1L, -1L, -1L, RWF_NOWAIT);
#else
	(void)fd, (void)mem, (void)len;
	errno = ENOSYS;
	return -1;
#endif
}

int pipe_widen(int fd, int bytes) {
	return fcntl(fd, F_SETPIPE_SZ, bytes) >= 0 ? 0 : -1;
}

// ---- a descriptor that wakes a thread out of poll() ----

int wakeup_open(void) {
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void wakeup_post(int fd) {
	uint64_t one = 1;
	if (fd >= 0) {
		ssize_t n = write(fd, &one, sizeof(one)); // no signal interrupts this call, as the descriptor does not block
		verify(n == sizeof(one) || errno == EAGAIN); // EAGAIN: the counter is full, so the descriptor is readable
	}
}

void wakeup_clear(int fd) {
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));
	verify(n == sizeof(count) || errno == EAGAIN); // EAGAIN: the descriptor was not readable
}
