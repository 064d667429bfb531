// Writes the drawing of a run as SVG: bars in lanes, a legend, an axis, and a strip with the share of each batch.

#ifndef FAIRPAR_DRAW_SVG_H
#define FAIRPAR_DRAW_SVG_H

#include "base/buf.h"
#include "draw/timeline.h"

enum svg_use {
	SVG_FILE,    // a file of its own, with a title line
	SVG_INLINE,  // within a page
};

// Appends the drawing, with light and dark colours as the reader's system prefers. Names and commands in it are escaped.
void svg_draw(struct buf *buf, const struct timeline *timeline, enum svg_use use);

// Appends "nightly, fairpar run 2026-11-20 23:41": the manifest's name, and the local time of the start, as far as known.
void svg_add_title(struct buf *buf, const struct run_stats *stats);

#endif
