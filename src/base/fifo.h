// Opens files for writing that may be FIFOs, and so have to wait for a reader (POSIX, open(): O_WRONLY without O_NONBLOCK).

#ifndef FAIRPAR_BASE_FIFO_H
#define FAIRPAR_BASE_FIFO_H

#include "base/attr.h"

// As open(2) with mode 0666. Where the path is a FIFO without a reader it waits for one, says so after a second, and says
// it again, with `end` behind it, when one of the signals that end a process comes; their actions and SIGALRM are taken
// for that long. Only while there is one thread, or the others block these signals.
int fifo_open(const char *path, int flags, const char *end) FP_NODISCARD;

#endif
