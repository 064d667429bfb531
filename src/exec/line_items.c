// The lines that a job writes to its stdout, as items of a batch.

#include "exec/submission.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct line_items *line_items_begin(struct worker *worker, struct queue *queue, uint64_t from, unsigned flags, bool hold) {
	struct line_items *line_items = NEW(struct line_items);
	line_items->submission.queue = queue;
	line_items->submission.batch = batch_ref(queue_user(queue));
	line_items->submission.from = from;
	line_items->worker = worker;
	line_items->hold = hold;
	line_items->flags = flags;
	line_items->line_buffer.delimiter = '\n';
	return line_items;
}

static void submit(struct line_items *line_items) {
	// nested work is never refused for room; what is refused was counted
	line_items->closed |= submission_submit(&line_items->submission, line_items->worker, line_items->flags) == SUBMIT_CLOSED;
}

static void add_item(struct line_items *line_items, const struct record *record, const char *bad) {
	if (submission_is_full(&line_items->submission)) {
		submit(line_items);
	}
	++line_items->n;
	(void)submission_add(&line_items->submission, &(struct new_item){.record = record, .bad = bad});
}

void line_items_add(struct line_items *line_items, const char *text) {
	add_item(line_items, &(struct record){.args = text, .size = strlen(text) + 1, .nargs = 1}, NULL);
}

static void add_lines(struct line_items *line_items) {
	struct line line;
	while (line_buffer_next(&line_items->line_buffer, &line) && !line_items->closed) {
		// of a bad one its beginning, as a string
		size_t size = line.bad ? strlen(line.text) + 1 : line.len + 1;
		add_item(line_items, &(struct record){.args = line.text, .size = size, .nargs = 1}, line.bad);
	}
}

void line_items_take(struct line_items *line_items, const char *mem, size_t len) {
	if (line_items->hold) {
		buf_add(&line_items->held, mem, len);
		return;
	}
	line_buffer_add(&line_items->line_buffer, mem, len);
	add_lines(line_items);
	submit(line_items); // while the job goes on
}

uint64_t line_items_end(struct line_items *line_items, bool keep) {
	if (keep) {
		line_buffer_add(&line_items->line_buffer, buf_str(&line_items->held), line_items->held.len);
	}
	if (keep || !line_items->hold) {
		line_buffer_end(&line_items->line_buffer);
		add_lines(line_items);
		submit(line_items);
	}
	uint64_t n = line_items->n;
	batch_unref(line_items->submission.batch);
	line_buffer_fini(&line_items->line_buffer);
	buf_fini(&line_items->held);
	submission_fini(&line_items->submission);
	free(line_items);
	return n;
}

