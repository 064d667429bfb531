// Items on their way to one queue, numbered and submitted together.

#include "exec/submission.h"

#include "base/alloc.h"
#include "core/dag_node.h"
#include "core/publish.h"
#include "record/added_jobs.h"
#include "record/job_records.h"
#include "record/result_files.h"

// The record goes to one process, for item.items items.
static void append(struct submission *submission, const struct record *record, const struct item *item, const char *bad, unsigned width) {
	struct item_view view = {.item = *item, .record = *record, .reason = bad};
	if (submission->n == 0 || submission->from > 0) {
		submission->queued = now_ns();
	}
	view.item.queued = submission->queued;
	view.item.from = submission->from;
	size_t at = item_write(&submission->bytes, &view);
	grow_array(&submission->items, &submission->cap, submission->n + 1, sizeof(submission->items[0]));
	submission->items[submission->n++] = (struct submission_item){
		.at = at, .size = submission->bytes.len - at, .number = item->number, .n = item->items, .width = width,
	};
	submission->nitems += item->items;
}

// Adds an item with the next numbers, unless --resume says that it is done: then returns false. `job`: it was added; or NULL. `own`: that,
// or its block.
static bool add(struct submission *submission, const struct record *record, unsigned spec, const char *bad, struct added_job *job,
                void *own) {
	struct batch *batch = submission->batch;
	struct item item = {
		// relaxed: numbers only have to differ, and what they count is handed over by the pool
		.seq = job_records_seq(batch->run, atomic_add_relaxed(&batch->run->seq, 1) + 1),
		.number = atomic_add_relaxed(queue_user_count(submission->queue), 1) + 1,
		.order = atomic_add_relaxed(&batch->order, 1) + 1,
		.nargs = record->nargs,
		.spec = spec & (INT32_MAX >> 5),
		.earlier = submission->again ? EARLIER_CHANGED : EARLIER_UNKNOWN,
		.bad = bad != NULL,
		.added = job != NULL,
		.items = 1,
		.own = own,
	};
	if (job) {
		job->id = item.seq;
	}
	if (batch->run->result_files) {
		result_files_head(batch->run, job ? 1 : record->nargs);
	}
	if (!bad && !batch->is_fed && job_records_leave_out(batch, job ? &job->spec : NULL, record, &item)) {
		return false;
	}
	unsigned width = job ? job->spec.width : spec == 0 ? batch->width : batch->specs[spec]->width;
	append(submission, record, &item, bad, width);
	return true;
}

bool submission_add(struct submission *submission, const struct record *record, unsigned spec, const char *bad, struct block *block) {
	return add(submission, record, spec, bad, /* job */ NULL, block);
}

void submission_add_pack(struct submission *submission, const struct record *record, uint32_t n, uint64_t seq, const char *bad) {
	struct batch *batch = submission->batch;
	struct item item = {
		.seq = job_records_seq(batch->run, seq),
		.number = atomic_add_relaxed(queue_user_count(submission->queue), n) + 1,
		.order = atomic_add_relaxed(&batch->order, 1) + 1,
		.nargs = record->nargs,
		.bad = bad != NULL,
		.items = n,
	};
	append(submission, record, &item, bad, batch->width);
	submission->counted += n;
}

bool submission_add_job(struct submission *submission, struct added_job *added, const struct record *words) {
	return add(submission, words, 0, NULL, added, added);
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
