// Items on their way to one queue, numbered and submitted together.

#include "exec/submission.h"

#include "base/alloc.h"
#include "base/units.h"
#include "state/dag_node.h"
#include "state/publish.h"
#include "record/record.h"

#include <stdlib.h>
#include <string.h>

// ---- items as bytes: the head, the arguments, then the reason if there is one ----

enum { ITEM_ALIGN = 8 };

size_t item_write(struct buf *bytes, const struct item_view *view) {
	size_t pad = -bytes->len % ITEM_ALIGN, reason = view->item.bad ? strlen(view->reason) + 1 : 0, args = view->record.size;
	char *to = buf_reserve(bytes, pad + sizeof(view->item) + args + reason);
	memset(to, 0, pad);
	to = put_bytes(to + pad, &view->item, sizeof(view->item));
	to = put_bytes(to, view->record.args, args);
	to = put_bytes(to, view->reason, reason);
	*to = '\0';
	size_t at = bytes->len + pad;
	bytes->len = (size_t)(to - bytes->data);
	return at;
}

void item_read(struct item_view *ret_view, const void *data, size_t size) {
	const char *args = data, *end = args + size;
	struct item_view view = {.reason = NULL};
	memcpy(&view.item, args, sizeof(view.item));
	args += sizeof(view.item);
	if (view.item.bad) {
		view.reason = end = strings_skip(args, view.item.nargs); // the reason stands behind the arguments
	}
	view.record = (struct record){.args = args, .size = (size_t)(end - args), .nargs = view.item.nargs};
	*ret_view = view;
}

// ---- submissions ----

bool submission_add(struct submission *submission, const struct new_item *new) {
	struct batch *batch = submission->batch;
	struct run *run = batch->run;
	struct added_job *added = new->added;
	uint32_t items = new->items > 0 ? new->items : 1;
	if (submission->n == 0 || submission->from > 0) {
		submission->queued = now_ns();
	}
	// relaxed: the numbers only have to differ; the pool orders what threads see of the items
	uint64_t seq = new->seq > 0 ? new->seq : atomic_add_relaxed(&run->seq, 1) + 1;
	struct item_view view = {.record = *new->record, .reason = new->bad, .item = {
		.seq = job_records_seq(run, seq),
		.number = atomic_add_relaxed(queue_user_count(submission->queue), items) + 1,
		.order = atomic_add_relaxed(&batch->order, 1) + 1,
		.nargs = new->record->nargs,
		.spec = new->spec & (INT32_MAX >> 5),
		.earlier = submission->again ? RESUME_NEW : RESUME_RUN,
		.bad = new->bad != NULL,
		.added = added != NULL,
		.items = items,
		.queued = submission->queued,
		.from = submission->from,
		.own = added ? (void *)added : new->block,
	}};
	if (added) {
		added->id = view.item.seq;
	}
	if (run->result_files) {
		result_files_head(run, added ? 1 : new->record->nargs);
	}
	if (!new->bad && !batch->is_fed && job_records_leave_out(batch, added ? &added->spec : NULL, new->record, &view.item)) {
		return false;
	}
	unsigned width = added ? added->spec.width : new->spec == 0 ? batch->width : batch->specs[new->spec]->width;
	size_t at = item_write(&submission->bytes, &view);
	*NEW_ELEMENT(submission->works, submission->n, submission->cap) = (struct work){
		.type = run->item_work, .size = submission->bytes.len - at, .id = view.item.number, .width = width, .turns = items,
	};
	submission->nitems += items;
	submission->counted += new->seq > 0 ? items : 0;
	return true;
}

// Counts the items of the submission as never started. The numbers that these items have got stay unused.
static void drop_all(struct submission *submission) {
	struct batch *batch = submission->batch;
	for (size_t i = 0; batch->output_queue && i < submission->n; ++i) {
		struct item_view view;
		item_read(&view, submission->works[i].data, submission->works[i].size);
		batch_skip_output(batch, view.item.order);
	}
	publish_lost(batch, submission->nitems);
}

enum submit_status submission_offer(struct submission *submission, struct worker *from, unsigned flags) {
	const char *at = submission->bytes.data;
	if (submission->n == 0) {
		return SUBMIT_OK;
	}
	publish_queued(submission->batch, (int64_t)(submission->nitems - submission->counted));
	submission->counted = submission->nitems;
	for (size_t i = 0; i < submission->n; ++i) {
		struct work *work = &submission->works[i];
		work->data = at;
		work->flags = flags;
		at += work->size + -work->size % ITEM_ALIGN;
	}
	if (atomic_load_relaxed(&submission->batch->cancelled)) {
		return SUBMIT_CLOSED;
	}
	return pool_submit(submission->batch->run->pool, submission->queue, from, submission->works, submission->n);
}

void submission_finish(struct submission *submission, enum submit_status status) {
	if (status == SUBMIT_FULL) {
		return;
	}
	if (status == SUBMIT_CLOSED) {
		drop_all(submission);
	}
	submission->n = submission->nitems = submission->counted = 0;
	buf_reset(&submission->bytes);
}

enum submit_status submission_submit(struct submission *submission, struct worker *from, unsigned flags) {
	bool cancelled = atomic_load_relaxed(&submission->batch->cancelled); // if so, nothing is submitted
	enum submit_status status = submission_offer(submission, from, flags);
	submission_finish(submission, status);
	return cancelled && status == SUBMIT_CLOSED ? SUBMIT_OK : status;
}

void submission_fini(struct submission *submission) {
	buf_fini(&submission->bytes);
	free(submission->works);
	submission->works = NULL;
	submission->n = submission->cap = submission->nitems = submission->counted = 0;
}

// ---- the lines that a job writes to its stdout ----

struct line_items *line_items_begin(struct worker *worker, struct queue *queue, uint64_t from, unsigned flags, bool hold) {
	struct line_items *line_items = NEW(struct line_items);
	*line_items = (struct line_items){
		.submission = {.queue = queue, .batch = batch_ref(queue_user(queue)), .from = from},
		.worker = worker, .line_buffer = LINE_BUFFER_INIT('\n'), .hold = hold, .flags = flags,
	};
	return line_items;
}

static void submit_items(struct line_items *line_items) {
	// items that a running item submits are never refused for lack of room; at SUBMIT_CLOSED submission_submit() has counted them as never started
	line_items->closed |= submission_submit(&line_items->submission, line_items->worker, line_items->flags) == SUBMIT_CLOSED;
}

static void add_item(struct line_items *line_items, const struct record *record, const char *bad) {
	if (submission_is_full(&line_items->submission)) {
		submit_items(line_items);
	}
	++line_items->n;
	(void)submission_add(&line_items->submission, &(struct new_item){.record = record, .bad = bad});
}

void line_items_add(void *line_items, const char *text) {
	add_item(line_items, &(struct record){.args = text, .size = strlen(text) + 1, .nargs = 1}, NULL);
}

static void submit_lines(struct line_items *line_items) {
	struct line line;
	while (line_buffer_next(&line_items->line_buffer, &line) && !line_items->closed) {
		// a bad line is added only up to its first NUL
		size_t size = line.bad ? strlen(line.text) + 1 : line.len + 1;
		add_item(line_items, &(struct record){.args = line.text, .size = size, .nargs = 1}, line.bad);
	}
	submit_items(line_items);
}

void line_items_take(struct line_items *line_items, const char *mem, size_t len) {
	line_buffer_add(&line_items->line_buffer, mem, len);
	if (!line_items->hold) { // the lines become items while the job still runs
		submit_lines(line_items);
	}
}

uint64_t line_items_end(struct line_items *line_items, bool keep) {
	if (keep || !line_items->hold) {
		line_items->line_buffer.ended = true;
		submit_lines(line_items);
	}
	uint64_t n = line_items->n;
	batch_unref(line_items->submission.batch);
	line_buffer_fini(&line_items->line_buffer);
	submission_fini(&line_items->submission);
	free(line_items);
	return n;
}
