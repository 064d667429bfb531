// The terminal: questions before jobs (-p), and jobs that get it for themselves (-o).

#ifndef FAIRPAR_CORE_TERMINAL_H
#define FAIRPAR_CORE_TERMINAL_H

#include "core/run.h"

// Makes run->terminal for -o or -p. Returns 0, or -1 after a message: with -p there must be a terminal. With -o alone there may
// be none: jobs run without it, after a warning.
int terminal_open(struct run *run);
// Frees run->terminal, if it is not NULL, and closes the terminal.
void terminal_close(struct run *run);

// Shows the command and waits for the answer. Returns whether it is to run; false too if the run is cut short. The caller
// sees to it that only one job asks at a time.
bool terminal_confirm(struct run *run, const char *command);

// Ends the wait for answers, now and later. From any thread; run->terminal may be NULL.
void terminal_cancel(struct run *run);

// The terminal as the standard input of a job, or -1.
int terminal_fd(const struct run *run);

// Whether fairpar has the foreground, which the job is to get.
bool terminal_is_ours(const struct run *run);

// Takes the foreground back from a job that has ended, with that result. A Ctrl-C that ended it was meant for fairpar,
// too, as it is for a shell.
void terminal_take_back(struct run *run, const struct result *result);

// For a job that waits for other jobs: terminal_lend() takes the foreground from it, so that these may have it; terminal_return()
// gives it back to the job's process `pid`. Both do nothing without --tty.
void terminal_lend(struct run *run);
void terminal_return(struct run *run, pid_t pid);

// For the event loop, when a child may have been stopped: prints a note, once for each stop. If the user has stopped it (Ctrl-Z),
// fairpar stops too; when fairpar is continued, so is the job.
void terminal_note_stops(struct run *run);

#endif
