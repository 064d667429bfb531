// What is shown of a run while it goes: the status line on a terminal, or now and then a line elsewhere.

#ifndef FAIRPAR_RUN_WATCH_H
#define FAIRPAR_RUN_WATCH_H

#include "run/run.h"

// Makes run->watch if there is something to show, and listens. Before telling_begin(). Returns 0, or -1 after a message.
int watch_open(struct run *run);

// Shows nothing any more. From the event loop, when that has ended. NULL-safe in run->watch, as are those below.
void watch_end(struct run *run);
// Behind telling_end().
void watch_close(struct run *run);

// Draws what is due. From the event loop, whenever it wakes. Returns when to call again, now_ns() time, or TIME_NEVER.
uint64_t watch_tick(struct run *run, uint64_t now);

// For the event loop: this process is about to be stopped, it goes on in whatever place, the terminal has another size.
void watch_suspend(struct run *run);
void watch_resume(struct run *run);
void watch_resized(struct run *run);
// Switches the status line off, and on again.
void watch_toggle(struct run *run);

// Appends ", ETA 21s" if it is known when the batch will be done.
void watch_add_eta(const struct run *run, const char *batch, struct buf *buf);

// ---- from any thread; only with run->watch

// So many jobs were queued in the batch; or, with -1, one of them is to be forgotten.
void watch_queued(struct run *run, const struct batch *batch, ssize_t jobs);

// A job has written something.
void watch_output(struct run *run);

#endif
