// An event as a line of the log: JSON, in the form that fairpar-events(5) describes.

#ifndef FAIRPAR_LOG_ENCODE_H
#define FAIRPAR_LOG_ENCODE_H

#include "base/buf.h"
#include "job/event.h"

// Appends the line of the event with its newline. Times in it count from `base`, the time of EVENT_RUN_START.
void event_encode(struct buf *buf, const struct event *event, uint64_t base);

#endif
