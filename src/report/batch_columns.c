// The columns of the table of batches, for the summary and the page.

#include "report/batch_columns.h"

const struct batch_heading batch_headings[BATCH_COLUMNS] = {
	[COLUMN_JOBS] = {"jobs", UNIT_COUNT},
	[COLUMN_OK] = {"ok", UNIT_COUNT},
	[COLUMN_FAILED] = {"failed", UNIT_COUNT},
	[COLUMN_CANCELLED] = {"cancelled", UNIT_COUNT},
	[COLUMN_SKIPPED] = {"skipped", UNIT_COUNT},
	[COLUMN_RUNNING] = {"running", UNIT_COUNT},
	[COLUMN_RETRIED] = {"retried", UNIT_COUNT},
	[COLUMN_WALL] = {"wall", UNIT_TIME},
	[COLUMN_SLOT_TIME] = {"slot-time", UNIT_TIME},
	[COLUMN_BESIDE] = {"beside", UNIT_TIME},
	[COLUMN_SHARE] = {"share", UNIT_PERCENT},
	[COLUMN_P50] = {"p50", UNIT_TIME},
	[COLUMN_MAX] = {"max", UNIT_TIME},
	[COLUMN_WAITED] = {"waited", UNIT_TIME},
};

bool batch_column_is_shown(enum batch_column column, const struct run_stats *stats) {
	const struct stats_batch *total = &stats->total;
	switch (column) {
	case COLUMN_CANCELLED: return total->cancelled > 0;
	case COLUMN_SKIPPED: return total->skipped > 0;
	case COLUMN_RUNNING: return !stats->has_end && total->running > 0;
	case COLUMN_BESIDE: return total->long_time > 0;
	case COLUMN_WAITED: return stats->nbatches > 1 && total->longest_wait > 0;
	default: return true;
	}
}

static uint64_t known_if(bool is_known, uint64_t value) {
	return is_known ? value : NOT_KNOWN;
}

uint64_t batch_column_value(enum batch_column column, const struct stats_batch *batch) {
	bool has_run = batch->attempts > 0;
	switch (column) {
	case COLUMN_JOBS: return stats_jobs(batch);
	case COLUMN_OK: return batch->ok;
	case COLUMN_FAILED: return batch->failed;
	case COLUMN_CANCELLED: return batch->cancelled;
	case COLUMN_SKIPPED: return batch->skipped;
	case COLUMN_RUNNING: return batch->running;
	case COLUMN_RETRIED: return batch->retried;
	case COLUMN_WALL: return known_if(batch->first_start > 0 && batch->last_end >= batch->first_start, batch->last_end - batch->first_start);
	case COLUMN_SLOT_TIME: return known_if(has_run && (batch->slot_time > 0 || batch->long_time == 0), batch->slot_time);
	case COLUMN_BESIDE: return known_if(batch->long_time > 0, batch->long_time);
	case COLUMN_SHARE: return known_if(batch->slot_time > 0, (uint64_t)(batch->share * 100 + 0.5));
	case COLUMN_P50: return known_if(has_run, batch->p50);
	case COLUMN_MAX: return known_if(has_run, batch->max);
	case COLUMN_WAITED: return known_if(batch->longest_wait > 0, batch->longest_wait);
	case BATCH_COLUMNS: break;
	}
	return NOT_KNOWN;
}
