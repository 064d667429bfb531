// Items on their way to one queue, numbered and submitted together.

#include "exec/submission.h"

#include "base/alloc.h"
#include "core/dag_node.h"
#include "core/publish.h"
#include "record/job_records.h"
#include "record/result_files.h"

bool submission_add(struct submission *submission, const struct new_item *new) {
	struct batch *batch = submission->batch;
	struct run *run = batch->run;
	struct added_job *added = new->added;
	uint32_t items = new->items > 0 ? new->items : 1;
	if (submission->n == 0 || submission->from > 0) {
		submission->queued = now_ns();
	}
	// relaxed: numbers only have to differ, and what they count is handed over by the pool
	uint64_t seq = new->seq > 0 ? new->seq : atomic_add_relaxed(&run->seq, 1) + 1;
	struct item_view view = {.record = *new->record, .reason = new->bad, .item = {
		.seq = job_records_seq(run, seq),
		.number = atomic_add_relaxed(queue_user_count(submission->queue), items) + 1,
		.order = atomic_add_relaxed(&batch->order, 1) + 1,
		.nargs = new->record->nargs,
		.spec = new->spec & (INT32_MAX >> 5),
		.earlier = submission->again ? EARLIER_CHANGED : EARLIER_UNKNOWN,
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
	grow_array(&submission->items, &submission->cap, submission->n + 1, sizeof(submission->items[0]));
	submission->items[submission->n++] = (struct submission_item){
		.at = at, .size = submission->bytes.len - at, .number = view.item.number, .n = items, .width = width,
	};
	submission->nitems += items;
	submission->counted += new->seq > 0 ? items : 0;
	return true;
}

// The numbers that were given to them are nobody's.
static void drop_all(struct submission *submission) {
	struct batch *batch = submission->batch;
	for (size_t i = 0; batch->output_queue && i < submission->n; ++i) {
		struct item_view view;
		item_read(&view, submission->bytes.data + submission->items[i].at, submission->items[i].size);
		batch_skip_output(batch, view.item.order);
	}
	publish_lost(batch, submission->nitems);
}

enum submit_status submission_offer(struct submission *submission, struct worker *from, unsigned flags) {
	struct work works[SUBMISSION_ITEMS];
	struct run *run = submission->batch->run;
	if (submission->n == 0) {
		return SUBMIT_OK;
	}
	publish_queued(submission->batch, (int64_t)(submission->nitems - submission->counted));
	submission->counted = submission->nitems;
	for (size_t i = 0; i < submission->n; ++i) {
		works[i] = (struct work){
			.type = run->item_work,
			.data = submission->bytes.data + submission->items[i].at,
			.size = submission->items[i].size,
			.flags = flags,
			.id = submission->items[i].number,
			.width = submission->items[i].width,
			.turns = submission->items[i].n,
		};
	}
	if (atomic_load_relaxed(&submission->batch->cancelled)) {
		return SUBMIT_CLOSED;
	}
	return pool_submit(run->pool, submission->queue, from, works, submission->n);
}

void submission_settle(struct submission *submission, enum submit_status status) {
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
	bool cancelled = atomic_load_relaxed(&submission->batch->cancelled); // then the pool was not even asked
	enum submit_status status = submission_offer(submission, from, flags);
	submission_settle(submission, status);
	return cancelled && status == SUBMIT_CLOSED ? SUBMIT_OK : status;
}

void submission_fini(struct submission *submission) {
	buf_fini(&submission->bytes);
	free(submission->items);
	submission->items = NULL;
	submission->n = submission->cap = submission->nitems = submission->counted = 0;
}
