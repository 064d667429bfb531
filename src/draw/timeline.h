// A run as bars in lanes, and the share that each batch had of the slots: what the pictures draw, in bounded memory.
//
// Bars that would be narrower than half a pixel, where there are many, and the shortest beyond BARS_MAX, are merged:
// each lane has columns that say how much of their time each class of batches had.

#ifndef FAIRPAR_DRAW_TIMELINE_H
#define FAIRPAR_DRAW_TIMELINE_H

#include "base/arena.h"
#include "draw/palette.h"
#include "report/survey.h"

enum {
	TIMELINE_WIDTH = 1000,   // pixels
	TIMELINE_ALL = 5000,     // up to so many bars none is merged
	TIMELINE_BARS = 8000,    // bars, about
	TIMELINE_LANES = 320,    // more slots than that share lanes
	TIMELINE_CELLS = 40000,  // columns of all lanes
	TIMELINE_SHARES = 500,   // columns of the strip of shares
};

enum bar_flag {
	BAR_FAILED = 1 << 0,     // … or was killed, or timed out
	BAR_CANCELLED = 1 << 1,
	BAR_RETRIED = 1 << 2,    // not the first attempt
	BAR_STOLEN = 1 << 3,
	BAR_LENT = 1 << 4,
	BAR_OPEN = 1 << 5,       // still ran when the log ended
	BAR_MORE = 1 << 6,       // another slot of a job that takes several
};

struct bar {
	unsigned lane;
	unsigned char class, flags;
	uint64_t from, to;       // event time
	uint64_t lead;           // its lane was empty from here to `from`, while it was queued
	const char *text;        // what it is, in lines; any bytes
	size_t text_len;
};

// The columns of a lane.
struct cell {
	float part[PALETTE_CLASSES]; // of its time, 0 to 1
	bool failed;
};

struct timeline {
	const struct palette *palette;
	uint64_t start, end;     // event time; end > start
	unsigned slots;          // highest number of them
	unsigned group;          // so many slots share a lane
	unsigned nbeside;        // lanes above those of the slots, from 0
	unsigned nlanes;         // with them
	struct bar *bars;        // in the order of their ends
	size_t nbars, bar_cap;
	uint64_t shortest;       // attempts below that are merged
	uint64_t merged;         // attempts
	unsigned seen;           // bar_flags that occur, also of what was merged
	size_t columns;          // of a lane
	struct cell *cells;      // [lane * columns + column]; NULL if nothing is merged
	float shares[TIMELINE_SHARES][PALETTE_CLASSES]; // of `slots`, 0 to 1
	uint64_t *lane_ends;     // of each, so far
	uint64_t *lane_opens;    // since when what runs there runs; 0: nothing
	struct arena texts;
};

// Makes room for what the survey has seen, between two event times. All are borrowed. `all` are the attempts the survey
// was made from, after attempts_finish().
void timeline_init(struct timeline *timeline, const struct palette *palette, const struct survey *survey,
                   const struct attempts *all);
void timeline_fini(struct timeline *timeline);

// An attempt_fn: `arg` is the timeline.
void timeline_add(void *arg, const struct attempt_span *attempt);

// Where event time `at` is, in pixels: 0 to TIMELINE_WIDTH.
double timeline_x(const struct timeline *timeline, uint64_t at);

// A distance of marks on the axis that is round, and of which there are at most `most`, in nanoseconds.
uint64_t timeline_tick(const struct timeline *timeline, unsigned most);

#endif
