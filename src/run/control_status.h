// How a run stands, for --status: its batches, the jobs that run, and who waits for what.

#ifndef FAIRPAR_RUN_CONTROL_STATUS_H
#define FAIRPAR_RUN_CONTROL_STATUS_H

#include "base/buf.h"
#include "run/run.h"

// Appends that as text for people, or as JSON. On the thread of the event loop; run->nested is there.
void control_status(struct run *run, bool json, struct buf *out);

#endif
