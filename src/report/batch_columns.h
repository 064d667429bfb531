// The columns of the table of batches, for the summary and the page: what they are called, what stands in them, and when
// there is one.

#ifndef FAIRPAR_REPORT_BATCH_COLUMNS_H
#define FAIRPAR_REPORT_BATCH_COLUMNS_H

#include "base/buf.h"
#include "report/run_stats.h"

// In the order of the table. The name of the batch stands in front of them.
enum batch_column {
	COLUMN_JOBS, COLUMN_OK, COLUMN_FAILED, COLUMN_CANCELLED, COLUMN_SKIPPED, COLUMN_RUNNING, COLUMN_RETRIED,
	COLUMN_WALL, COLUMN_SLOT_TIME, COLUMN_BESIDE, COLUMN_SHARE, COLUMN_P50, COLUMN_MAX, COLUMN_WAITED,
	BATCH_COLUMNS,
};

enum batch_unit { UNIT_COUNT, UNIT_TIME, UNIT_PERCENT };

// By enum batch_column: its heading, and what its numbers are (nanoseconds for a time).
extern const struct batch_heading { const char *name; enum batch_unit unit; } batch_headings[BATCH_COLUMNS];

// Whether the table has the column. Those that are empty or zero in most runs are left out where all batches have nothing in
// them. Finished statistics (stats_finish()).
bool batch_column_is_shown(enum batch_column column, const struct run_stats *stats);

// The number in the column's unit, or NOT_KNOWN: there is none, as the median of a batch of which nothing ran.
uint64_t batch_column_value(enum batch_column column, const struct stats_batch *batch);

#endif
