// A run is spoken to: by fairpars in its jobs, and, if it has a name (--run NAME), by those outside. They add jobs (feed_added.c), wait for
// these (waits.c), cancel, and ask how it stands (control_status.c).
//
// Who is inside comes by the socket of run/nested.c and says the number and the nonce of the attempt that it runs in; who is
// outside comes by a socket in the user's private directory (slots/place.h). slots/control.h has what they say.
//
// All of it is the event loop's.

#ifndef FAIRPAR_RUN_CONTROL_H
#define FAIRPAR_RUN_CONTROL_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/polls.h"
#include "run/run.h"

struct control;

// Makes run->control, behind nested_open(); none if there are no attempts. Returns 0, or -1 after a message: the socket of
// --run NAME cannot be had.
int control_open(struct run *run) FP_NODISCARD;

// For the event loop: adds what to poll; and does what is to be done then, behind nested_tick(), which may bring clients. NULL-safe.
void control_add_polls(struct control *control, struct polls *polls);
void control_tick(struct control *control, const struct polls *polls);

// No job is left: sends what is to be sent, as far as it is read. NULL-safe.
void control_finish(struct control *control);

// The run has ended: those who wait for an answer are told so by the end of their connections. NULL-safe.
void control_close(struct control *control);

// ---- control_status.c ----

// Appends how the run stands, as text for people or as JSON: its batches, the jobs that run, who waits for what. run->nested is there.
void control_status(struct run *run, bool json, struct buf *out);

#endif
