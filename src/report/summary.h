// The end of a run in a few lines: totals, a table of batches, the slowest jobs, and the failed ones with the last
// lines of their output.

#ifndef FAIRPAR_REPORT_SUMMARY_H
#define FAIRPAR_REPORT_SUMMARY_H

#include "report/run_stats.h"

#include "base/buf.h"

enum {
	SUMMARY_TAIL_LINES = 10,
	SUMMARY_BRIEF = 10,      // failed jobs without the table
	SUMMARY_BATCHES = 20,    // rows of the table; what took the fewest slots shares one
};

struct summary_form {
	unsigned width;          // columns; 0: no limit
	bool colour;
	bool table;              // totals, the table of batches, the slowest, the hint; else SUMMARY_BRIEF of what failed only
	bool out_seen, err_seen; // what jobs wrote on stdout, stderr has just been shown there: it is not repeated
};

// Appends the last line of a run without its newline: how many jobs failed, and which, unless they are `listed` above it; how
// many were cancelled, skipped or done before. Appends nothing if all jobs ran and succeeded.
void summary_add_last(struct buf *buf, const struct run_stats *stats, bool listed);

// Appends the reasons of a run (--explain), of finished statistics: when and why its slots have changed; what the jobs of each batch
// have waited for before they started, and for how long; and why jobs never started.
void summary_add_reasons(struct buf *buf, const struct run_stats *stats, const struct summary_form *form);

// Appends the summary of finished statistics (stats_finish()), line by line, each with its newline.
void summary_add(struct buf *buf, const struct run_stats *stats, const struct summary_form *form);

#endif
