// Which colour each batch has in a picture: the largest have one of their own, the others share one.

#ifndef FAIRPAR_DRAW_PALETTE_H
#define FAIRPAR_DRAW_PALETTE_H

#include "base/map.h"
#include "report/run_stats.h"

enum {
	PALETTE_COLOURS = 7,                    // those of Okabe and Ito
	PALETTE_OTHERS = 2 * PALETTE_COLOURS,   // the class of batches without a colour; from 7 on with a pattern
	PALETTE_CLASSES = PALETTE_OTHERS + 1,
};

struct palette {
	const struct run_stats *story;  // borrowed
	unsigned char *class_of;    // of each batch of the story
	unsigned nclasses;          // in use, without the others
	size_t nothers;             // batches that share PALETTE_OTHERS
	const struct stats_batch *owners[PALETTE_OTHERS]; // of each class in use
	struct map batches;         // name: index in the story
};

// Gives the batches of a finished story their colours, in the order of the story.
void palette_init(struct palette *palette, const struct run_stats *story);
void palette_fini(struct palette *palette);

// Index in the story of the batch of that name, or MAP_NONE.
uint32_t palette_batch(const struct palette *palette, const char *batch);

// Its class; PALETTE_OTHERS for one that the story does not name.
unsigned palette_class(const struct palette *palette, const char *batch);

// "#0072B2"
const char *palette_colour(unsigned class);

#endif
