// Gives each batch of a run a colour for the pictures: those with most time have one of their own, the others share one.

#ifndef FAIRPAR_DRAW_PALETTE_H
#define FAIRPAR_DRAW_PALETTE_H

#include "report/run_stats.h"

enum {
	PALETTE_COLOURS = 7,                    // those of Okabe and Ito
	PALETTE_OTHERS = 2 * PALETTE_COLOURS,   // the class of batches without a colour; from 7 on with a pattern
	PALETTE_CLASSES = PALETTE_OTHERS + 1,
};

struct palette {
	const struct run_stats *stats;  // borrowed
	unsigned char *class_of;    // of each of stats->batches
	unsigned nclasses;          // in use, without the others
	size_t nothers;             // batches that share PALETTE_OTHERS
	const struct stats_batch *owners[PALETTE_OTHERS]; // of each class in use
};

// Gives the batches their colours, in the order of stats->batches, after stats_finish(). `stats` is borrowed.
void palette_init(struct palette *palette, const struct run_stats *stats);
void palette_fini(struct palette *palette);

// The class of the batch of that name; PALETTE_OTHERS for one that stats->batches does not name.
unsigned palette_class(const struct palette *palette, const char *batch);

// "#0072B2"
const char *palette_colour(unsigned class);

#endif
