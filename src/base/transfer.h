// Moves bytes between descriptors inside the kernel, and the few things of Linux that make files and pipes cheaper.
//
// The only callers of splice(2), pwritev2(2) and F_SETPIPE_SZ. On another system each may fail
// with ENOSYS, which call_is_refused() (base/io.h) tells, and every caller has a way without it.

#pragma once

#include "base/attr.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Moves up to `want` bytes, one end being a pipe, without waiting for the pipe (splice(2)). Returns the bytes moved, 0 at the
// end of the input, or -1 with errno: EAGAIN where the pipe is empty or full, EINVAL for what cannot be spliced.
ssize_t splice_pipe(int from, int to, size_t want) FP_NODISCARD;

// Moves up to `want` bytes of a file from `offset` on into a non-blocking pipe, by splice(2) or, where that is refused, or
// `to` is a file, by way of memory. Returns the bytes moved, 0 at the end of the file, or -1 with errno.
ssize_t splice_file(int from, uint64_t offset, int to, size_t want) FP_NODISCARD;

// Writes without waiting, whether or not the descriptor is blocking: O_NONBLOCK would change it for everybody who shares the
// open file. Returns the bytes written, or -1 with errno: EAGAIN where it would wait.
ssize_t write_nowait(int fd, const void *mem, size_t len) FP_NODISCARD;

// Lets a pipe hold `bytes` bytes. Returns 0, or -1 with errno: EPERM if the user has too many such pipes (pipe(7)).
int pipe_widen(int fd, int bytes);
