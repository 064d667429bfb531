// Limits how long a write waits for a reader that does not read: there is no limit until a signal that ends the run sets one.

#pragma once

#include "base/attr.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The signals that end a run: INT, TERM, HUP and QUIT, except the signal of --stop-signal.
extern int ending_signals[];
extern size_t nending_signals;
void take_from_ending_signals(int signal); // takes the signal out of the list; call before there are other threads
bool is_ending_signal(int signal);
void get_ending_signals(sigset_t *ret_set);

// From the time `limit` (of now_ns()) on, no write of this process waits. If several limits are set, the earliest one holds. May be called from any
// thread, and from a signal handler.
void write_limit_set(uint64_t limit);

// Returns the limit, or TIME_NEVER if none is set.
uint64_t write_limit(void);

// To be called by the thread that answers the signals of `signal_fd` (signals_open()); affects the writes of this thread alone. If a signal
// that ends the run is pending and no limit is set, a write waits at most one second for a reader, as the thread has to answer the signal.
void write_limit_watch(int signal_fd);

// To be called by the thread of write_limit_watch() when it has answered a signal that ends the run: from now on its writes wait at most a second.
void write_limit_hasten(void);

// Waits until the descriptor takes bytes or has an error, which the next write reports. Returns 0; or -1 with ETIME at the limit.
int write_wait(int fd) FP_NODISCARD;

// Returns the length of the whole lines at the start of the bytes, or `len` if the bytes have no newline. After a write of this length, what another
// thread or process writes stands between two lines.
size_t write_lines_len(const char *lines, size_t len);

// Returns how many of the bytes to write(2) at once, so that a pipe does not mix them with those of other writers (POSIX:
// PIPE_BUF): all, or the whole lines that fit, or the first part of a longer line.
size_t write_piece_len(const char *lines, size_t len);

// As write_all(), but fails with ETIME if nobody has read a pipe, socket or terminal by the limit.
int write_limited(int fd, const void *mem, size_t len) FP_NODISCARD;

// As open(2) with mode 0666, for a path that may be a FIFO. Waits for the reader of a FIFO, as open() does, but fails with ETIME
// if none has come by the limit. After a second a message says that fairpar waits; if a signal ends the process meanwhile,
// another message says so, followed by `end`. To be called while there is one thread, or all other threads block ending_signals.
int write_open(const char *path, int flags, const char *end) FP_NODISCARD;
