// Items on their way to one queue, numbered and submitted together.

#include "run/submission.h"

#include "run/counts.h"
#include "run/dag_node.h"
#include "run/job_records.h"
#include "run/publish.h"
#include "run/result_files.h"

void submission_add(struct submission *submission, const struct record *record, unsigned spec, const char *bad) {
	struct batch *batch = submission->batch;
	bool packs = batch->run->packs && !bad;
	struct item item = {
		// relaxed: numbers only have to differ, and what they count is handed over by the pool
		.seq = job_records_seq(batch->run, atomic_add_relaxed(&batch->run->seq, 1) + 1),
		.number = atomic_add_relaxed(queue_user_count(submission->queue), 1) + 1,
		.order = atomic_add_relaxed(&batch->order, 1) + 1,
		.nargs = record->nargs,
		.spec = spec & (INT32_MAX >> 4),
		.past = submission->again ? PAST_CHANGED : PAST_UNKNOWN,
		.bad = bad != NULL,
		.stamped = batch->stats != NULL,
		.measured = packs,
	};
	if (batch->run->result_files) {
		result_files_head(batch->run, record);
	}
	if (!bad && !batch->is_fed && job_records_leave_out(batch, record, &item)) {
		return;
	}
	struct item_view view = {.item = item, .record = *record, .reason = bad, .measured = submission->measured};
	if (item.stamped) {
		view.stamp = (struct stamp){.queued = now_ns(), .from = submission->from};
	}
	size_t at = item_write(&submission->bytes, &view);
	submission->items[submission->n].at = at;
	submission->items[submission->n].flags = packs ? WORK_PACKS : 0;
	submission->items[submission->n].size = submission->bytes.len - at;
	submission->items[submission->n].number = item.number;
	submission->items[submission->n].width = spec == 0 ? batch->width : batch->specs[spec]->width;
	++submission->n;
}

// The numbers that were given to them are nobody's.
static void drop_all(struct submission *submission) {
	struct batch *batch = submission->batch;
	for (size_t i = 0; batch->lane && i < submission->n; ++i) {
		struct item_view view;
		item_read(&view, submission->bytes.data + submission->items[i].at, submission->items[i].size);
		writer_skip(batch->run->writer, batch->lane, view.item.order);
	}
	counts_lost(batch, submission->n);
}

enum submit_status submission_submit(struct submission *submission, struct worker *from, unsigned flags) {
	struct work works[SUBMISSION_ITEMS];
	struct run *run = submission->batch->run;
	if (submission->n == 0) {
		return SUBMIT_OK;
	}
	publish_queued(submission->batch, (int64_t)(submission->n - submission->counted));
	submission->counted = submission->n;
	for (size_t i = 0; i < submission->n; ++i) {
		works[i] = (struct work){
			.type = run->item_work,
			.data = submission->bytes.data + submission->items[i].at,
			.size = submission->items[i].size,
			.flags = flags | submission->items[i].flags,
			.id = submission->items[i].number,
			.width = submission->items[i].width,
		};
	}
	enum submit_status status = pool_submit(run->pool, submission->queue, from, works, submission->n);
	if (status == SUBMIT_FULL) {
		return status;
	}
	if (status == SUBMIT_CLOSED) {
		drop_all(submission);
	}
	submission->n = submission->counted = 0;
	buf_reset(&submission->bytes);
	return status;
}
