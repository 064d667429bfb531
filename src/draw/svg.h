// The drawing of a run: bars in lanes, a legend, an axis, and the strip of shares, as SVG.

#ifndef FAIRPAR_DRAW_SVG_H
#define FAIRPAR_DRAW_SVG_H

#include "base/buf.h"
#include "draw/timeline.h"

enum svg_use {
	SVG_FILE,    // a file of its own, with a title line
	SVG_INLINE,  // within a page
};

// Appends the drawing. Dark where the reader prefers it. Everything foreign in it is escaped.
void svg_draw(struct buf *buf, const struct timeline *timeline, enum svg_use use);

// Appends "204 jobs · 2 failed · 29.5 s · 8 slots · 97 % busy", the numbers of the story.
void svg_add_figures(struct buf *buf, const struct run_stats *story);

// Appends "nightly, fairpar run 2026-11-20 23:41": the manifest's name, and the local time of the start, as far as known.
void svg_add_title(struct buf *buf, const struct run_stats *story);

#endif
