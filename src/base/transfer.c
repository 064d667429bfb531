// Moving bytes by the calls of Linux: splice(2), pwritev2(2); and its larger pipes and holes in files.

#include "base/transfer.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8 // linux/fs.h; not in every libc's sys/uio.h
#endif

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

// By number because not every libc has the function; position -1 is the file's own (pwritev2(2)).
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
