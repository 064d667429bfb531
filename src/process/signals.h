// Signals as events: blocked before any thread exists, read in one place, restored in children.

#ifndef FAIRPAR_PROCESS_SIGNALS_H
#define FAIRPAR_PROCESS_SIGNALS_H

#include "base/attr.h"

// Blocks the signals that fairpar answers (INT, TERM, HUP unless ignored at the start; QUIT, TSTP, CONT, USR1, PIPE)
// in the calling thread, so also in all later threads. Returns a descriptor (signalfd) to poll, or -1 with errno.
int signals_open(void) FP_NODISCARD;

// The next pending signal number, or 0.
int signals_next(int fd);

// Stops this process the way SIGTSTP would have, and returns when it was continued.
void signals_stop_self(void);

// Ends the process by that signal with its default action; where that is impossible exits with 128+signal.
void signals_die(int signal) FP_NORETURN;

#endif
