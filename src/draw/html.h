// Writes a run as one HTML page that needs no other file: the drawing, the batches, the failed jobs, and all jobs.

#ifndef FAIRPAR_DRAW_HTML_H
#define FAIRPAR_DRAW_HTML_H

#include "base/buf.h"
#include "draw/rows.h"
#include "draw/timeline.h"

// Appends the page. All of it can be read without scripts; with them the table of jobs can be sorted and filtered. A
// policy in it forbids the network, and any script but its own.
void html_draw(struct buf *buf, const struct timeline *timeline, const struct rows *rows);

// Its style and its script, from the files html.css and html.js, and "sha256-…" of the script, which the policy names.
// The page is whole without the script: that makes the heads of the table into buttons that sort, and adds a field to
// filter by.
extern const char html_css[], html_js[], html_script_hash[];

#endif
