// The program itself as another process, which has nothing of the caller's: the guardian, the slot server of a pool.

#ifndef FAIRPAR_PROCESS_DAEMON_H
#define FAIRPAR_PROCESS_DAEMON_H

#include "base/attr.h"

enum { DAEMON_FDS_MAX = 5 };

// Starts this very program with these arguments, an empty environment and the `nkeep` descriptors, as a process that
// outlives this one: its first process has to call daemon_detach(). While there is one thread. Returns 0, or -1 with
// errno: ESRCH if it was killed at once.
int daemon_start(char *const *argv, const int *keep, unsigned nkeep) FP_NODISCARD;

// Goes on in a process that is nobody's child: its parent ends here. Returns 0, or -1 with errno.
int daemon_detach(void) FP_NODISCARD;

// Gives back all that came from the caller: a session of its own, the directory /, /dev/null for 0 to 2, all signals
// ignored, and no descriptors but the `n` (at most DAEMON_FDS_MAX) ones, which become 3, 4 and so on; where one is -1,
// none has that number. Returns 0, or -1 with errno.
int daemon_settle(const int *fds, int n) FP_NODISCARD;

#endif
