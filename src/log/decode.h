// Reads a log of events (--log) back, by the table log/events.def, and passes each event to a function.
//
// A log that was damaged or cut off, or comes from a newer fairpar, is read as far as that goes: unknown keys and events are
// left out without a message, a last line without its end gives a warning, and the lines that cannot be read give another
// one together, with their number. A version above 1, and a file that is no log, are errors. Memory is bounded by the longest
// line.

#ifndef FAIRPAR_LOG_DECODE_H
#define FAIRPAR_LOG_DECODE_H

#include "base/attr.h"
#include "base/buf.h"
#include "job/event.h"

enum { EVENTREAD_LINE_MAX = 64 << 20 }; // a command of 2 MiB, escaped, with its arguments, twice

// Reads the log and calls `fn` with each event of its last run, the first of them EVENT_RUN_START. If that line is damaged,
// an event without its facts comes in its place: `run` is "", `slots` 0. Strings are borrowed for the call.
//
// A regular file is read from its start and `fd` keeps its position, so that it may be read again; anything else is read to
// its end, and may hold one run only. Slots and their numbers are at most 10^6, times at most 10^9 seconds. Since a log may be
// damaged, events may be missing or out of order.
//
// Returns 0, or -1 if it is no log that can be read; some of its events may have been passed on then. Appends warnings and
// errors to *messages, a line for each: "NAME:LINE: error: …".
int eventread(int fd, const char *name, event_fn *fn, void *arg, struct buf *messages) FP_NODISCARD;

#endif
