// Items on their way to one queue, numbered and submitted together.

#include "run/submission.h"

#include "base/alloc.h"
#include "run/counts.h"
#include "run/dag_node.h"
#include "run/job_records.h"
#include "run/status_display.h"
#include "run/publish.h"
#include "run/result_files.h"

void submission_add(struct submission *parcel, const struct record *record, unsigned spec, const char *bad) {
	struct batch *batch = parcel->batch;
	bool packs = batch->run->packs && !bad;
	struct item item = {
		// relaxed: numbers only have to differ, and what they count is handed over by the pool
		.seq = job_records_seq(batch->run, atomic_add_relaxed(&batch->run->seq, 1) + 1),
		.number = atomic_add_relaxed(queue_keep(parcel->queue), 1) + 1,
		.order = atomic_add_relaxed(&batch->order, 1) + 1,
		.nargs = record->nargs,
		.spec = spec & (INT32_MAX >> 4),
		.past = parcel->again ? PAST_CHANGED : PAST_UNKNOWN,
		.bad = bad != NULL,
		.stamped = batch->news != NULL,
		.measured = packs,
	};
	if (batch->run->result_files) {
		result_files_head(batch->run, record);
	}
	if (!bad && !batch->is_fed && job_records_leave_out(batch, record, &item)) {
		return;
	}
	struct item_view view = {.item = item, .record = *record, .reason = bad, .measured = parcel->measured};
	if (item.stamped) {
		view.stamp = (struct stamp){.queued = now_ns(), .from = parcel->from};
	}
	size_t at = item_write(&parcel->bytes, &view);
	parcel->items[parcel->n].at = at;
	parcel->items[parcel->n].flags = packs ? WORK_PACKS : 0;
	parcel->items[parcel->n].size = parcel->bytes.len - at;
	parcel->items[parcel->n].number = item.number;
	parcel->items[parcel->n].width = spec == 0 ? batch->width : batch->specs[spec]->width;
	++parcel->n;
}

static void count_total(struct run *run, uint64_t n) {
	mutex_lock(&run->lock);
	run->tally.total += n;
	mutex_unlock(&run->lock);
}

// The numbers that were given to them are nobody's.
static void drop_all(struct submission *parcel) {
	struct batch *batch = parcel->batch;
	for (size_t i = 0; batch->lane && i < parcel->n; ++i) {
		struct item_view view;
		item_read(&view, parcel->bytes.data + parcel->items[i].at, parcel->items[i].size);
		writer_skip(batch->run->writer, batch->lane, view.item.order);
	}
	counts_lost(batch, parcel->n);
}

enum submit_status submission_submit(struct submission *parcel, struct worker *from, unsigned flags) {
	struct work works[PARCEL_ITEMS];
	struct run *run = parcel->batch->run;
	if (parcel->n == 0) {
		return SUBMIT_OK;
	}
	count_total(run, parcel->n - parcel->counted);
	if (run->status_display) {
		status_display_queued(run, parcel->batch, (ssize_t)(parcel->n - parcel->counted));
	}
	parcel->counted = parcel->n;
	if (parcel->batch->news) {
		publish_batch_start(parcel->batch);
	}
	for (size_t i = 0; i < parcel->n; ++i) {
		works[i] = (struct work){
			.type = run->item_work,
			.data = parcel->bytes.data + parcel->items[i].at,
			.size = parcel->items[i].size,
			.flags = flags | parcel->items[i].flags,
			.id = parcel->items[i].number,
			.width = parcel->items[i].width,
		};
	}
	enum submit_status status = pool_submit(run->pool, parcel->queue, from, works, parcel->n);
	if (status == SUBMIT_FULL) {
		return status;
	}
	if (status == SUBMIT_CLOSED) {
		drop_all(parcel);
	}
	parcel->n = parcel->counted = 0;
	buf_reset(&parcel->bytes);
	return status;
}
