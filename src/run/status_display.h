// What is shown of a run while it goes: the status line on a terminal, or now and then a line elsewhere.

#ifndef FAIRPAR_RUN_STATUS_DISPLAY_H
#define FAIRPAR_RUN_STATUS_DISPLAY_H

#include "run/run.h"

// Makes run->status_display if there is something to show, and subscribes it. Before publish_begin(). Returns 0, or -1 after a message.
int status_display_open(struct run *run);

// Erases what is shown, and shows nothing any more. On the event loop's thread, when the loop has ended. Without run->status_display it
// does nothing, as do those below.
void status_display_end(struct run *run);
// Frees run->status_display. After publish_end().
void status_display_close(struct run *run);

// Draws what is due. From the event loop, whenever it wakes. Returns when to call again, now_ns() time, or TIME_NEVER.
uint64_t status_display_tick(struct run *run, uint64_t now);

// What the event loop calls when this process is about to be stopped (SIGTSTP), when it goes on, perhaps in the background (SIGCONT), and
// when the terminal has another size (SIGWINCH).
void status_display_suspend(struct run *run);
void status_display_resume(struct run *run);
void status_display_resized(struct run *run);
// Switches the status line off, and on again.
void status_display_toggle(struct run *run);

// Appends ", ETA 21s" if it is known when the batch will be done.
void status_display_add_eta(const struct run *run, const char *batch, struct buf *buf);

// To be called when a job has written something: its latest line may be shown. From any thread; run->status_display is not NULL.
void status_display_output(struct run *run);

#endif
