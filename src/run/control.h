// The control server of a run: answers fairpars that add jobs (feed_added.c), wait for jobs (waits.c), cancel, or ask for the
// status (control_status.c). slots/control.h is the protocol.
//
// Clients in a job of the run connect to the socket of sharing/nested.c, and send the number and nonce of their attempt. Other
// clients connect to a socket in the user's private directory (slots/place.h), if the run has a name (--run NAME).
//
// All functions are for the event loop's thread.

#ifndef FAIRPAR_RUN_CONTROL_H
#define FAIRPAR_RUN_CONTROL_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/polls.h"
#include "core/run.h"

#include <stdint.h>

struct control;

// Makes run->control, after nested_open(); it stays NULL without run->nested. Returns 0, or -1 after a message: the socket of
// --run NAME cannot be made.
int control_open(struct run *run) FP_NODISCARD;

// control_add_polls() adds the descriptors to poll. control_tick() serves the clients; called after nested_tick(), which may hand
// over new ones, and returns when it is to be called again even if no descriptor is ready. NULL-safe.
void control_add_polls(struct control *control, struct polls *polls);
uint64_t control_tick(struct control *control, const struct polls *polls);

// Called when no job is left: sends the pending answers, as far as clients read them without delay. NULL-safe.
void control_finish(struct control *control);

// Closes all connections, by which clients that still wait learn that the run has ended, and frees. NULL-safe.
void control_close(struct control *control);

// ---- control_status.c ----

// Appends the status of the run, as text for people or as JSON: its batches, the jobs that run, and what waits for what. Needs
// run->nested.
void control_status(struct run *run, bool json, struct buf *out);

#endif
