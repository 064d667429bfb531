// The log of events (--log): JSON Lines, written as the events happen.
//
// Each event is a line. event_log_flush() writes all lines so far; event_log_later() may leave a few lines for the next call. If
// fairpar is killed, only these few lines are lost, and lines that a slow reader has not taken.
//
// A regular file is written by the threads that add events, one thread at a time, which writes all lines that were added
// meanwhile. A pipe, a socket or a terminal, whose reader can hold up a write, is written by a thread of the log's own. Jobs wait
// for a slow reader only while more than `pending_max` bytes wait; if the reader takes nothing for `timeout`, the log is given up.

#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "job/event.h"

#include <stdbool.h>

struct event_log;

struct event_log_config {
	int fd;                 // closed by event_log_close(); or -1: `put` is called instead
	void (*put)(void *arg, const char *lines, size_t len); // takes whole lines; called by any thread, one call at a time
	void *arg;
	size_t pending_max;     // bytes that wait for a slow reader before event_log_flush() waits for it; 0: 16 MiB
	uint64_t timeout;       // nanoseconds in which a reader must take something, or the log is given up; 0: 30 s
};

// Appends the line of the event with its newline: JSON, in the form that fairpar-events(5) describes (encode.c). Times in it count
// from `base`, the time of EVENT_RUN_START.
void event_encode(struct buf *buf, const struct event *event, uint64_t base);

// Begins a log. Returns NULL with errno if it needs a thread and none can be started: the descriptor is not closed then.
struct event_log *event_log_open(const struct event_log_config *config);

// Opens the file of an event log or of a joblog for appending and, if it is a regular file, for reading. Creates a missing file, and
// empties an existing file unless `keeps`. Waits for the reader of a FIFO. Returns the descriptor, or -1 with errno.
int log_create(const char *path, bool keeps) FP_NODISCARD;

// An event_fn: adds the event; `arg` is the log. Writes nothing, so it may be called under a lock. The first event must be
// EVENT_RUN_START: times in the log count from this event.
void event_log_on_event(void *arg, const struct event *event);

// Writes the added lines, or wakes the log's thread, which writes them. With `may_wait` waits for a slow reader while more
// than pending_max bytes are pending. Returns the errno of the first failure to write, after which nothing more
// is written; or 0. ETIMEDOUT: the reader took nothing.
int event_log_flush(struct event_log *log, bool may_wait);

// As event_log_flush() with `may_wait`, if there are more than `most` lines or the log has a thread. Otherwise leaves the
// lines and sets *ret_left to true: the caller must call event_log_flush() soon.
int event_log_later(struct event_log *log, unsigned most, bool *ret_left);

// Writes the lines that are left, closes the descriptor and frees the log. *ret_lost (if not NULL): the number of lines that were not
// written. Returns 0, or -1 with errno if anything was lost since the start. With ETIMEDOUT, if the log's thread is stuck on
// its reader, the log and the descriptor are left to that thread until the process ends.
int event_log_close(struct event_log *log, uint64_t *ret_lost) FP_NODISCARD;

// ---- decode.c ----

// Reads a log of events (--log) back, by the table log/events.def, and passes each event to a function.
//
// A log that was damaged or cut off, or comes from a newer fairpar, is read as far as possible: unknown keys and events are
// ignored without a message; a last line without its newline gives a warning; all lines that cannot be read give one warning
// together, with their number. A version above 1, and a file that is no log, are errors. Memory is bounded by the longest
// line, and by the attempts that run at once.

enum { EVENTREAD_LINE_MAX = 64 << 20 }; // bytes: enough for a command of 2 MiB and its arguments, both escaped and as base64

// Reads the log and calls `fn` with each event of its last run, the first of them EVENT_RUN_START. If the line of that event
// is damaged, `fn` gets an EVENT_RUN_START without values instead: `run` is "", `slots` 0. Strings are borrowed for the call.
//
// A regular file is read from its start, so that it may be read again; anything else is read to its end, and may have one run only.
// Slots and their numbers are at most 10^6, times at most 10^9 seconds. Since a log may be damaged, events may be missing or out of order.
//
// Returns 0; or -1 if the log cannot be read or `fd` is no log, though some events may have been passed on before that was found.
// Appends warnings and errors to *messages, a line for each: "NAME:LINE: error: …".
int eventread(int fd, const char *name, event_fn *fn, void *arg, struct buf *messages) FP_NODISCARD;

// Reads the log `fd` as eventread() does, and prints the messages if `with_messages`. Returns 0, or -1 if the log cannot be read
// or `fd` is no log, or if a message could not be printed.
int log_read(int fd, const char *name, event_fn *on_event, void *arg, bool with_messages) FP_NODISCARD;
