// Computes the bars of a run's attempts in their lanes, and the share of the slots that each batch had over time, for any
// form of drawing. The memory is bounded.
//
// If there are more than TIMELINE_ALL bars, bars narrower than half a pixel are merged, and so many of the shortest that about
// TIMELINE_BARS are left. Merged bars become columns of their lane: a column says which part of its time each class of batches (palette) had.

#pragma once

#include "base/buf.h"
#include "report/attempts.h"
#include "report/run_stats.h"

// ---- the first pass: counts the attempts of a run and their lengths, so that a second reading of the log can draw them in bounded memory ----

enum {
	FIRST_PASS_BITS = 3,                   // the `bits` of BUCKETS() for the lengths
	FIRST_PASS_SLOTS = 1 << 10,            // slots of a job beyond these are not counted
};

struct first_pass {
	struct attempts attempts;          // after first_pass_finish() it has the `rows` and numbers of lanes that a second pass needs
	struct machines machines;
	uint64_t bars;                     // bars to draw: one for each slot that an attempt takes, and one for each slot that was lent
	uint64_t jobs;                     // jobs that ran and have ended
	uint64_t durations[BUCKETS(FIRST_PASS_BITS)]; // how many bars have a length in each bucket
};

// Begins the pass. *first_pass must not be moved until machines_fini(&first_pass->machines), which frees its memory.
void first_pass_init(struct first_pass *first_pass);

// Counts attempts, and slots that were lent.
void first_pass_on_event(struct first_pass *first_pass, const struct event *event);

// Ends the pass, after the last event. To be called once.
void first_pass_finish(struct first_pass *first_pass);

// Returns the smallest length in nanoseconds that at most `most` bars reach or exceed; 0 if there are at most `most` bars.
uint64_t first_pass_longest(const struct first_pass *first_pass, uint64_t most);

// ---- the palette: the batches with the most time have a colour (and pattern) of their own, all other batches share a colour ----

enum {
	PALETTE_COLOURS = 7,                    // the colours of Okabe and Ito
	PALETTE_OTHERS = 2 * PALETTE_COLOURS,   // the class of batches without a colour of their own; classes from PALETTE_COLOURS on have a pattern
	PALETTE_CLASSES = PALETTE_OTHERS + 1,
};

struct palette {
	const struct run_stats *stats;  // borrowed
	unsigned char class_of[STATS_BATCHES + 1]; // the class of each of stats->batches
	unsigned nclasses;          // classes in use, without PALETTE_OTHERS
	size_t nothers;             // batches that share PALETTE_OTHERS
	const struct stats_batch *owners[PALETTE_OTHERS]; // the batch of each class in use
};

// Gives the batches their colours, in the order of stats->batches, after stats_finish(). `stats` is borrowed.
void palette_init(struct palette *palette, const struct run_stats *stats);

// Returns the class of the batch of that name; PALETTE_OTHERS for a batch that stats->batches does not name.
unsigned palette_class(const struct palette *palette, const char *batch);

// Returns the colour of the class, such as "#0072B2". Static text.
const char *palette_colour(unsigned class);

// ---- the timeline ----

enum {
	TIMELINE_WIDTH = 1000,   // pixels
	TIMELINE_ALL = 5000,     // if there are at most this many bars, no bar is merged
	TIMELINE_BARS = 8000,    // if bars are merged, about this many bars are left
	TIMELINE_LANES = 320,    // if there are more slots, several slots share a lane
	TIMELINE_CELLS = 40000,  // the most columns of all lanes together
	TIMELINE_SHARES = 500,   // columns of the strip of shares
	TIMELINE_LEAD = 6,       // a wait is drawn (as a line) only if it has at least this many pixels; shorter gaps come from the starting of jobs
};

enum bar_flag {
	BAR_FAILED = 1 << 0,     // failed, was killed, or timed out
	BAR_CANCELLED = 1 << 1,
	BAR_RETRIED = 1 << 2,    // not the first attempt
	BAR_STOLEN = 1 << 3,
	BAR_LENT = 1 << 4,
	BAR_OPEN = 1 << 5,       // still ran when the log ended
	BAR_MORE = 1 << 6,       // the bar of a further slot of a job that takes several slots
	BAR_INNER = 1 << 7,      // the slot was lent to a run in the job
	BAR_LEAD = 1 << 8,       // only in timeline.seen: the `lead` of some bar is before its `from`
};

struct bar {
	unsigned lane;
	unsigned char class, flags;
	unsigned char depth;     // BAR_INNER: how many bars this bar is drawn over: of the job, and of outer nested runs; else 0
	uint64_t from, to;       // event time
	uint64_t lead;           // event time from which on the job was queued and its lane was empty; `from` if this wait is narrower than TIMELINE_LEAD
	const char *text;        // the bar's text, in lines; any bytes
	size_t text_len;
};

// A column of a lane, or of the strip of shares.
struct cell {
	float part[PALETTE_CLASSES]; // the part of the column's time that each class had, 0 to 1
	bool failed;
};

struct timeline {
	const struct palette *palette;
	struct attempts attempts; // attempts.rows: the lanes; or NULL: one machine only, whose slots are the lanes
	uint64_t start, end;     // event time; end > start
	unsigned slots;          // the highest number of slots that the run had
	unsigned group;          // number of slots that share a lane
	unsigned nslotless;      // lanes of attempts without a slot, drawn above the lanes of the slots
	unsigned nlanes;         // all lanes, those without a slot included
	struct bar *bars;        // in the order of their ends
	size_t nbars, bar_cap;
	uint64_t shortest;       // nanoseconds: shorter attempts are merged
	uint64_t merged;         // number of merged attempts
	unsigned seen;           // the flags (enum bar_flag) that any bar has, or had before it was merged
	size_t columns;          // columns of a lane
	struct cell *cells;      // [lane * columns + column]; NULL if nothing is merged
	struct cell shares[TIMELINE_SHARES]; // the part of `slots` that each class had
	uint64_t *lane_ends;     // event time of each lane's last end so far
	uint64_t *lane_opens;    // event time at which the attempt that runs in the lane began; 0: none runs
	struct arena texts;
};

// Begins a timeline for the attempts that the first pass, which has ended, has counted. Until timeline_fini() it must not be
// moved, and it borrows `palette` and `first_pass`.
void timeline_init(struct timeline *timeline, const struct palette *palette, const struct first_pass *first_pass);
void timeline_fini(struct timeline *timeline);

// Adds attempts, and the slots that were lent to runs in jobs. After the last event, attempts_finish() adds the attempts that have
// not ended.
void timeline_on_event(struct timeline *timeline, const struct event *event);

// Returns the position of the event time `at` on the axis in pixels, 0 to TIMELINE_WIDTH.
double timeline_x(const struct timeline *timeline, uint64_t at);

// Returns a round distance in nanoseconds such that at most `most` marks fit on the axis.
uint64_t timeline_tick(const struct timeline *timeline, unsigned most);
