// Limits how long a write waits for a reader who does not read: without end, until a signal that ends the run sets a limit.

#pragma once

#include "base/attr.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The signals that end a run: INT, TERM, HUP and QUIT, without the one of --stop-signal.
extern int ending_signals[];
extern size_t nending_signals;
void take_from_ending_signals(int signal); // takes it out of the list; before there are other threads
bool is_ending_signal(int signal);
void get_ending_signals(sigset_t *ret_set);

// From `limit` (now_ns() time) on no write of this process waits. The earliest limit holds. May be called from any
// thread, and from a signal handler.
void write_limit_set(uint64_t limit);

// Returns the limit, or TIME_NEVER if none is set.
uint64_t write_limit(void);

// To be called by the thread that answers the signals of `signal_fd` (signals_open()); it changes the writes of that thread alone. If
// no limit is set but a signal that ends the run is pending, they wait for a reader at most one second: the thread has to answer it.
void write_limit_watch(int signal_fd);

// To be called by the thread of write_limit_watch() when it has answered such a signal: from now on its writes wait for a second at most.
void write_limit_hasten(void);

// Waits until the descriptor takes bytes or has an error, which the next write reports. Returns 0, or -1 with ETIME.
int write_wait(int fd) FP_NODISCARD;

// Returns how many of the bytes one write puts into a pipe without mixing them with others' (POSIX: PIPE_BUF): whole lines, or the
// first part of a longer one.
size_t write_piece_len(const char *lines, size_t len);

// As write_all(), but fails with ETIME if nobody has read a pipe, socket or terminal by the limit.
int write_limited(int fd, const void *mem, size_t len) FP_NODISCARD;

// As open(2) with mode 0666, for a path that may be a FIFO. Waits for the reader of a FIFO, as open() does, but fails with ETIME
// if none has come by the limit. After a second a message says that it waits; if a signal ends the process meanwhile, another
// message says so, followed by `end`. To be called while there is one thread, or the others block these signals.
int write_open(const char *path, int flags, const char *end) FP_NODISCARD;
