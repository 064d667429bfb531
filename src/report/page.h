// A run as one HTML page that needs nothing else: the drawing, the batches, what failed, and the jobs.

#ifndef FAIRPAR_REPORT_PAGE_H
#define FAIRPAR_REPORT_PAGE_H

#include "base/buf.h"
#include "report/rows.h"
#include "report/timeline.h"

// Appends the page. All of it can be read without scripts; with them the table of jobs can be sorted and filtered. A
// policy in it forbids the network, and any script but its own.
void page_draw(struct buf *buf, const struct timeline *timeline, const struct rows *rows);

// Its script, and "sha256-…" of that, which the policy names.
extern const char page_script[], page_script_hash[];

#endif
