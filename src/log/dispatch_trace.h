// The service trace (--trace-service): one JSON line for each dispatch, in exact order.

#ifndef FAIRPAR_LOG_DISPATCH_TRACE_H
#define FAIRPAR_LOG_DISPATCH_TRACE_H

#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

struct trace;

// One dispatch.
struct trace_line {
	uint64_t n;          // dispatches so far, from 1
	double seconds;      // since the start of the run
	const char *batch;
	uint64_t job;        // number within the batch
	const char *source;  // own, stolen, queue, lent, long or backfill
	unsigned slot;
	unsigned turns;      // items of it; written if there are several
	double virt, lag;    // turns, or seconds of slot-time, per weight
};

// Creates the file. Returns NULL with errno.
struct trace *trace_open(const char *path);

// Keeps the line's numbers and a copy of its batch's name in memory reserved before; `source` is a constant. Formats and
// writes nothing, and allocates only when thousands of lines wait, so it may be called under a lock. The calls are
// serialised by the caller.
void trace_add(struct trace *trace, const struct trace_line *line);

// True when it is time to call trace_flush(). Any thread.
bool trace_is_due(const struct trace *trace);

// Formats and writes what was added; one thread at a time. Returns 0, or -1 with errno: then the lines of this call are lost,
// and all later ones.
int trace_flush(struct trace *trace) FP_NODISCARD;

// Flushes and closes. Returns 0, or -1 with errno if anything was lost since the start.
int trace_close(struct trace *trace) FP_NODISCARD;

#endif
