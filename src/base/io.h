// Reads and writes all bytes, makes sure that descriptors 0 to 2 are open, and wakes threads that wait in poll(2).

#pragma once

#include "base/attr.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Adds `n`, the result of write(2) or a similar call, to *done if the call has moved bytes. Returns true if the caller should call again for the
// bytes that are left. If not, errno is the cause; it is EIO if `n` is 0: the call has moved nothing, but reported no error.
bool io_goes_on(ssize_t n, size_t *done) FP_NODISCARD;

// Writes all `len` bytes: goes on after short writes and EINTR, and polls a non-blocking descriptor until it takes
// more. Returns 0; or -1 with errno: then an unknown part of the bytes was written.
int write_all(int fd, const void *mem, size_t len) FP_NODISCARD;

// Write or read all `len` bytes of a file from `offset` on, and go on after short transfers and EINTR; the file's own position stays. Return how many
// bytes are done: `len`; or fewer with errno, which is EIO if the file ended, or took no more, without an error.
size_t pwrite_all(int fd, const void *mem, size_t len, uint64_t offset) FP_NODISCARD;
size_t pread_all(int fd, void *mem, size_t len, uint64_t offset) FP_NODISCARD;

// True if the errno means that the system call will never work here: not in this kernel, forbidden by a seccomp filter, or
// not for this kind of file. The caller then uses its fallback.
bool call_is_refused(int error);

// Like read(2), but tried again after EINTR.
ssize_t read_some(int fd, void *mem, size_t len) FP_NODISCARD;

// Opens a pipe. *ret_own is the caller's end (`own` 0: the read end, 1: the write end), which is non-blocking; *ret_others is the other end, which is
// blocking. Both are close-on-exec, and the caller closes them. Returns 0, or -1 with errno.
int pipe_open(int own, int *ret_own, int *ret_others) FP_NODISCARD;

// Closes the descriptor, unless it is -1, and makes it -1. errno stays, since callers close after something else has failed.
void fd_close(int *fd);

// Closes a file that was written to. `error` is the errno of an earlier failure, or 0. Returns `error` if it is not 0, else the
// errno of close(2), or 0.
int fd_finish(int fd, int error) FP_NODISCARD;

// For the end of a function: returns 0 if `error` is 0, else -1 with errno set to it.
int result_of(int error) FP_NODISCARD;

// Makes sure that descriptors 0 to 2 are open, so that no file of fairpar's own ever gets one of these numbers. A closed one is
// opened to /dev/null: 0 for writing and 1 for reading, so that their use fails (as glibc does for set-id programs); 2 for
// writing, so that messages are discarded. Returns a bit set of the descriptors that were closed (1 << fd), or -1 with errno.
int fds_sanitize(void) FP_NODISCARD;

// The descriptors for a poll(2). Zeroed at first, freed by free(at). Before each poll(2) the owner sets `n` to 0 and adds the descriptors anew.
struct polls {
	struct pollfd *at;
	size_t n, cap;
};

// Adds a descriptor; poll(2) ignores it if it is -1.
void polls_add(struct polls *polls, int fd, short events);

// ---- calls of Linux that move bytes inside the kernel, write without waiting, or enlarge pipes. On another system each of them
// may fail with ENOSYS, for which call_is_refused() is true: every caller has a fallback ----

// Moves up to `want` bytes, one end being a pipe, without waiting for the pipe (splice(2)). Returns the bytes moved, 0 at the
// end of the input, or -1 with errno: EAGAIN if the pipe is empty or full, EINVAL if the other end cannot be spliced.
ssize_t splice_pipe(int from, int to, size_t want) FP_NODISCARD;

// Moves up to `want` bytes of a file from `offset` on into a non-blocking pipe by splice(2). If splice(2) is refused, or `to` is a file, copies the
// bytes through memory. Returns the bytes moved, 0 at the end of the file, or -1 with errno.
ssize_t splice_file(int from, uint64_t offset, int to, size_t want) FP_NODISCARD;

// Writes without waiting, whether or not the descriptor is blocking. (To set O_NONBLOCK would change the open file for
// everybody who shares it.) Returns the bytes written, or -1 with errno: EAGAIN if it would have to wait.
ssize_t write_nowait(int fd, const void *mem, size_t len) FP_NODISCARD;

// Lets a pipe hold `bytes` bytes. Returns 0, or -1 with errno: EPERM if the user has too many such pipes (pipe(7)).
int pipe_widen(int fd, int bytes);

// ---- a descriptor that wakes a thread out of poll(). Only these functions call eventfd(2): on a system without it they
// would use another descriptor that can be polled, such as that of kqueue(2) with EVFILT_USER ----

// Returns the descriptor, non-blocking and close-on-exec, for the caller to close(); or -1 with errno. Poll it for POLLIN.
int wakeup_open(void) FP_NODISCARD;

// Makes the descriptor readable until the next wakeup_clear(); does nothing for -1. May be called from any thread, and in a signal handler.
void wakeup_post(int fd);

// Makes the descriptor no longer readable, no matter how often wakeup_post() was called.
void wakeup_clear(int fd);
