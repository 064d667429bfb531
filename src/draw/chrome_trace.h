// Writes a run as Chrome trace events (--trace): JSON that Perfetto and speedscope open.
//
// A slice ("X") for each attempt, on a track for each slot; nothing overlaps on a track. Counters for what runs and for
// the queue of each batch; arrows from a job to what it started: the items it emitted, its next step, its next attempt;
// instants for failures and signals; asynchronous slices for waits. Slices, instants and counters come in the order of
// time on each track; an arrow comes with the slice it points to.

#ifndef FAIRPAR_DRAW_CHROME_TRACE_H
#define FAIRPAR_DRAW_CHROME_TRACE_H

#include "draw/palette.h"
#include "report/first_pass.h"

enum {
	CHROME_SAMPLES = 4000,    // values of a counter, about, at most
	CHROME_ORIGINS = 1 << 17, // an arrow comes from one of about so many last items, or is left out
};

// Takes a part of the text; called from chrome_on_event() and chrome_finish().
typedef void chrome_write_fn(void *arg, const char *text, size_t len);

struct chrome;

// Begins the text. There is a counter for each batch that has a colour of its own, and one for all others. `all` are the
// attempts of a first pass over the log, after attempts_finish(). All are borrowed until chrome_finish().
struct chrome *chrome_new(const struct palette *palette, const struct first_pass *first_pass, const struct attempts *all,
                          chrome_write_fn *write, void *arg);

// An event_fn: adds the event; `arg` is the struct chrome.
void chrome_on_event(void *arg, const struct event *event);

// Writes the end of the text, and frees the struct chrome.
void chrome_finish(struct chrome *chrome);

#endif
