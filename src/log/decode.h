// Reads a log of events (--log) back, and passes each event to a function.
//
// Lenient where the log was damaged, was cut off or comes from a newer fairpar: keys and events that are not known are
// passed over, a last line without its end gives a warning, all lines that cannot be read another one, with their number. A
// log of a version above 1 and anything that is no such log is an error. Memory is bounded by the longest line.

#ifndef FAIRPAR_LOG_DECODE_H
#define FAIRPAR_LOG_DECODE_H

#include "base/attr.h"
#include "base/buf.h"
#include "job/event.h"

enum { EVENTREAD_LINE_MAX = 64 << 20 }; // a command of 2 MiB, escaped, with its arguments, twice

// Reads the log and calls `fn` with each event of its last run, the first of them EVENT_RUN_START. If that is
// lost, one without what it should say comes instead: `run` is "", `slots` 0. A file is read from its
// start whatever the position of `fd`, which stays, so it may be read again; from anything else the log is read to its
// end, and may hold one run only. Slots and their numbers are at most 10^6, times at most 10^9 seconds; order and
// completeness are not promised, for a log may be damaged.
//
// Returns 0, or -1 if it is no log that can be read, after a part of its events were passed on. Appends what there is to say to *messages,
// a line for each: "NAME:LINE: error: …".
int eventread(int fd, const char *name, event_fn *fn, void *arg, struct buf *messages) FP_NODISCARD;

#endif
