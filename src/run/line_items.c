// The lines that a job writes to its stdout, as items of a batch.

#include "run/line_items.h"

#include "base/alloc.h"

#include <unistd.h>

enum { READ_BYTES = 64 * 1024 };

void line_items_begin(struct line_items *emission, struct worker *worker, struct queue *queue, uint64_t from, bool hold) {
	emission->parcel.queue = queue;
	emission->parcel.batch = batch_ref(queue_user(queue));
	emission->parcel.from = from;
	emission->parcel.again = false;
	emission->worker = worker;
	emission->hold = hold;
	emission->flags = WORK_LOCAL; // counts for the worker's own queue only
	emission->closed = false;
	emission->n = emission->bytes = 0;
	emission->cutter.delimiter = '\n';
	line_buffer_reset(&emission->cutter);
}

static void submit(struct line_items *emission) {
	// nested work is never refused for room; what is refused was counted
	emission->closed |= submission_submit(&emission->parcel, emission->worker, emission->flags) == SUBMIT_CLOSED;
}

static void add_item(struct line_items *emission, const struct record *record, const char *bad) {
	if (submission_is_full(&emission->parcel)) {
		submit(emission);
	}
	++emission->n;
	submission_add(&emission->parcel, record, 0, bad);
}

void line_items_add(struct line_items *emission, const char *text) {
	add_item(emission, &(struct record){.args = text, .size = strlen(text) + 1, .nargs = 1}, NULL);
}

static void add_lines(struct line_items *emission) {
	struct line line;
	while (line_buffer_next(&emission->cutter, &line) && !emission->closed) {
		// of a bad one its beginning, as a string
		size_t size = line.bad ? strlen(line.text) + 1 : line.len + 1;
		add_item(emission, &(struct record){.args = line.text, .size = size, .nargs = 1}, line.bad);
	}
}

ssize_t line_items_readable(struct line_items *emission, int fd) {
	if (emission->hold) {
		ssize_t n = read(fd, buf_reserve(&emission->held, READ_BYTES), READ_BYTES);
		emission->held.len += n > 0 ? (size_t)n : 0;
		emission->bytes += n > 0 ? (uint64_t)n : 0;
		return n;
	}
	size_t room;
	char *at = line_buffer_room(&emission->cutter, &room);
	ssize_t n = read(fd, at, room);
	if (n > 0) {
		emission->bytes += (uint64_t)n;
		line_buffer_added(&emission->cutter, (size_t)n);
		add_lines(emission);
		submit(emission); // while the job goes on
	}
	return n;
}

void line_items_take(struct line_items *emission, const char *mem, size_t len) {
	emission->bytes += len;
	if (emission->hold) {
		buf_add(&emission->held, mem, len);
		return;
	}
	line_buffer_add(&emission->cutter, mem, len);
	add_lines(emission);
	submit(emission);
}

void line_items_end(struct line_items *emission, bool keep) {
	if (keep) {
		line_buffer_add(&emission->cutter, buf_str(&emission->held), emission->held.len);
	}
	if (keep || !emission->hold) {
		line_buffer_end(&emission->cutter);
		add_lines(emission);
		submit(emission);
	}
	buf_reset(&emission->held);
	batch_unref(emission->parcel.batch);
	emission->parcel.queue = NULL;
}

