// The service trace (--trace-service): one JSON line for each dispatch, in exact order.

#include "log/dispatch_trace.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/json.h"
#include "base/sync.h"
#include "base/write_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum {
	DUE_BYTES = 64 * 1024,
	RESERVED_BYTES = 1024 * 1024, // for lines that come before they are written
};

struct trace {
	int fd;
	int error;           // errno of the first failed write, or 0; only the flushing thread
	atomic_bool due;
	mutex lock;          // guards added
	struct buf added;    // lines as struct trace_line, each with the bytes of its name and a NUL behind it
	struct buf taken;    // the flushing thread's half of the two buffers
	struct buf text;     // the same as text
};

struct trace *trace_open(const char *path) {
	int fd = write_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, "nothing was run");
	if (fd < 0) {
		return NULL;
	}
	struct trace *trace = NEW(struct trace);
	trace->fd = fd;
	mutex_init(&trace->lock, LOCK_DISPATCH_TRACE);
	buf_reserve(&trace->added, RESERVED_BYTES);
	buf_reserve(&trace->taken, RESERVED_BYTES);
	return trace;
}

void trace_add(struct trace *trace, const struct trace_line *line) {
	size_t len = strlen(line->batch) + 1;
	mutex_lock(&trace->lock);
	struct buf *buf = &trace->added;
	bool fits = sizeof(*line) + len < buf->cap - buf->len;
	alloc_forbid(fits ? 0 : -1); // who flushes is thousands of lines behind: better slow than a gap
	buf_add(buf, line, sizeof(*line));
	buf_add(buf, line->batch, len);
	alloc_forbid(fits ? 0 : +1);
	if (buf->len >= DUE_BYTES) {
		atomic_store_relaxed(&trace->due, true);
	}
	mutex_unlock(&trace->lock);
}

bool trace_is_due(const struct trace *trace) {
	return atomic_load_relaxed(&trace->due);
}

// Formats the line at *data. Returns the bytes that it takes there.
static size_t format_line(struct buf *text, const char *data) {
	struct trace_line line;
	memcpy(&line, data, sizeof(line));
	const char *name = data + sizeof(line);
	size_t len = strlen(name);
	buf_printf(text, "{\"v\":1,\"ev\":\"dispatch\",\"n\":%llu,\"t\":%.6f,", ull(line.n), line.seconds);
	json_add_string(text, "batch", name, len);
	buf_printf(text, ",\"job\":%llu,\"source\":\"%s\",\"slot\":%u", ull(line.job), line.source, line.slot);
	if (line.turns > 1) {
		buf_printf(text, ",\"items\":%u", line.turns);
	}
	buf_printf(text, ",\"virt\":%.6f,\"lag\":%.6f}\n", line.virt, line.lag);
	return sizeof(line) + len + 1;
}

int trace_flush(struct trace *trace) {
	mutex_lock(&trace->lock);
	struct buf full = trace->added;
	trace->added = trace->taken;
	trace->taken = full;
	atomic_store_relaxed(&trace->due, false);
	mutex_unlock(&trace->lock);
	for (size_t at = 0; at < full.len;) {
		at += format_line(&trace->text, full.data + at);
	}
	buf_reset(&trace->taken);
	if (!trace->error && write_limited(trace->fd, buf_str(&trace->text), trace->text.len) != 0) {
		trace->error = errno;
	}
	buf_reset(&trace->text);
	return result_of(trace->error);
}

int trace_close(struct trace *trace) {
	int error = fd_finish(trace->fd, trace_flush(trace) == 0 ? 0 : trace->error);
	buf_fini(&trace->added);
	buf_fini(&trace->taken);
	buf_fini(&trace->text);
	mutex_fini(&trace->lock);
	free(trace);
	return result_of(error);
}
