// Starts the program again as a process that keeps nothing of the caller's: the guardian, the slot server of a pool.

#ifndef FAIRPAR_PROCESS_DAEMON_H
#define FAIRPAR_PROCESS_DAEMON_H

#include "base/attr.h"

#include <sys/types.h>

enum { DAEMON_FDS_MAX = 5 };

// Starts this very program as a child, with these arguments, an empty environment, and the `nkeep` descriptors besides 0 to 2.
// Returns its pid, or -1 with errno.
pid_t daemon_spawn(char *const *argv, const int *keep, unsigned nkeep) FP_NODISCARD;

// As daemon_spawn(), but for a process that outlives this one: the program has to call daemon_detach(), for whose end this
// waits. Only while there is one thread. Returns 0, or -1 with errno: ESRCH if it was killed, EAGAIN if it could not detach.
int daemon_start(char *const *argv, const int *keep, unsigned nkeep) FP_NODISCARD;

// Goes on in a process that is nobody's child: its parent ends here. Returns 0, or -1 with errno.
int daemon_detach(void) FP_NODISCARD;

// Gives back all that came from the caller: a session of its own, the directory /, /dev/null for 0 to 2, all signals
// ignored, and no descriptors but the `n` (at most DAEMON_FDS_MAX) ones, which become 3, 4 and so on; where one is -1,
// none has that number. Returns 0, or -1 with errno.
int daemon_settle(const int *fds, int n) FP_NODISCARD;

#endif
