// The service trace (--trace-service): one JSON line for each dispatch, in exact order.

#include "log/dispatch_trace.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/json.h"
#include "base/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { FLUSH_BYTES = 64 * 1024 };

struct trace {
	int fd;
	int error;           // errno of the first failed write, or 0; only the flushing thread
	mutex lock;          // guards added
	struct buf added;
	struct buf written;  // the flushing thread's half of the two buffers
};

struct trace *trace_open(const char *path) {
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		return NULL;
	}
	struct trace *trace = NEW(struct trace);
	trace->fd = fd;
	mutex_init(&trace->lock);
	return trace;
}

bool trace_add(struct trace *trace, const struct trace_line *line) {
	mutex_lock(&trace->lock);
	struct buf *buf = &trace->added;
	buf_printf(buf, "{\"v\":1,\"ev\":\"dispatch\",\"n\":%llu,\"t\":%.6f,", (unsigned long long)line->n, line->seconds);
	json_add_string(buf, "batch", line->batch, strlen(line->batch));
	buf_printf(buf, ",\"job\":%llu,\"source\":\"%s\",\"slot\":%u,\"virt\":%.6f,\"lag\":%.6f}\n",
	           (unsigned long long)line->job, line->source, line->slot, line->virt, line->lag);
	bool full = buf->len >= FLUSH_BYTES;
	mutex_unlock(&trace->lock);
	return full;
}

int trace_flush(struct trace *trace) {
	mutex_lock(&trace->lock);
	struct buf full = trace->added;
	trace->added = trace->written;
	trace->written = full;
	mutex_unlock(&trace->lock);
	if (!trace->error && write_all(trace->fd, buf_str(&full), full.len) != 0) {
		trace->error = errno;
	}
	buf_reset(&trace->written);
	errno = trace->error;
	return trace->error ? -1 : 0;
}

int trace_close(struct trace *trace) {
	int error = trace_flush(trace) == 0 ? 0 : trace->error;
	if (close(trace->fd) != 0 && !error) {
		error = errno;
	}
	buf_fini(&trace->added);
	buf_fini(&trace->written);
	mutex_fini(&trace->lock);
	free(trace);
	errno = error;
	return error ? -1 : 0;
}
