// Signals as events: blocked before any thread exists, read in one place, restored in children.

#pragma once

#include "base/attr.h"

#include <signal.h>
#include <stdbool.h>

// Blocks USR1 and USR2, which would end a process that does not answer them yet, in the calling thread. Called first
// in main(). *ret_mask: what was blocked before, for context.mask.
void signals_defer(sigset_t *ret_mask);

// Blocks the signals that fairpar answers (INT, TERM, HUP, QUIT, TSTP, CONT, USR1, USR2, each unless it was ignored at the
// start), PIPE and XFSZ (so that a write fails with EPIPE or EFBIG), and CHLD (so that signals_watch_children() misses none) in
// the calling thread, so also in all later threads. Changes no disposition, so none needs to be reset in jobs, with one
// exception: SIGCHLD is set back to its default if it was ignored, as exit statuses would be lost. Call this after
// context_capture() and before children_create(). Returns a non-blocking descriptor (signalfd) to poll, or -1 with errno.
int signals_open(void) FP_NODISCARD;

// Has the descriptor of signals_open() report one more signal, even if it was ignored at the start. (SIGCHLD comes when a job
// stops or ends.) Called before the first thread is started. Returns 0, or -1 with errno.
int signals_add(int fd, int signal) FP_NODISCARD;

// Has the descriptor of signals_open() report SIGCHLD too (`on`), or not any more; after signals_add() for SIGCHLD it always
// does. A SIGCHLD that comes while it is not reported is reported once, when `on` is set again.
void signals_watch_children(int fd, bool on);

// The next pending signal number, or 0.
int signals_next(int fd);

// True if the last signal from signals_next() came from a key on the terminal, such as Ctrl-C.
bool signals_typed(void);

// Gets the signals that this process ignores.
void signals_get_ignored(sigset_t *ret_ignored);

// Blocks the signal in the calling thread (`how` SIG_BLOCK), or unblocks it (SIG_UNBLOCK).
void signal_mask(int how, int signal);

// Gives the signals that end a run their default action again, and unblocks them in the calling thread. To be called before a
// wait for a reader or a writer that may never come, while no job runs that would have to be ended first.
void signals_release(void);

// As signals_release(), but the first `n` of these signals only call `hurry`, in the signal handler, with the number of signals that will still do
// so; `hurry` is to end the wait for a reader. Later signals have their default action. Interrupted calls are restarted (SA_RESTART).
void signals_release_after(unsigned n, void (*hurry)(unsigned left));

// The first signal that has called `hurry`, or 0.
int signals_hurried(void);

// Blocks again what signals_open() has blocked.
void signals_block_again(void);

// Makes this process die by `signal` in `seconds` seconds, or sooner if an earlier call has set a sooner time, even if this thread waits for
// something that never comes. `on_die` is called before the end, in a signal handler on this thread. With 0 seconds: cancels earlier calls.
void signals_die_within(unsigned seconds, int signal, void (*on_die)(void));

// Stops this process the way SIGTSTP would have, and returns when it was continued.
void signals_stop_self(void);

// Ends the process by that signal with its default action; where that is impossible exits with 128+signal.
void signals_die(int signal) FP_NORETURN;
