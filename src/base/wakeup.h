// A descriptor that wakes a thread out of poll(): the only way from here to eventfd(2). A system without that has another one
// that can be polled, such as kqueue(2) with EVFILT_USER.

#ifndef FAIRPAR_BASE_WAKEUP_H
#define FAIRPAR_BASE_WAKEUP_H

#include "base/attr.h"

// Returns the descriptor, non-blocking and close-on-exec, for the caller to close(); or -1 with errno. Poll it for POLLIN.
int wakeup_open(void) FP_NODISCARD;

// Makes it readable until the next wakeup_clear(). From any thread, and in a signal handler.
void wakeup_post(int fd);

// Makes it no longer readable, however often it was posted.
void wakeup_clear(int fd);

#endif
