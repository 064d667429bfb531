// One command line of the xargs personality on a worker: confirmed by the user, shown, run, and its result counted.

#ifndef FAIRPAR_XARGS_JOB_H
#define FAIRPAR_XARGS_JOB_H

#include "base/atomic.h"
#include "base/buf.h"
#include "base/sync.h"
#include "engine/pool.h"
#include "process/child.h"
#include "xargs/options.h"

#include <stddef.h>
#include <sys/types.h>

// A command line on its way to a worker: its arguments, each with its NUL, and this behind them. With -I they are all that there
// are, else those behind the initial ones.
struct xargs_line {
	off_t read_to;             // bytes of input that were read for it and those before it
	uint32_t nargs;
};

struct xargs_run {
	const struct xargs_options *options;
	struct context *context;   // what the jobs run with
	struct children *children;
	struct pool *pool;
	struct queue *queue;
	int wake_fd;               // wakes the loop (base/wakeup.h)
	atomic_bool idle;

	mutex terminal;            // guards tty_fd; held from a question to its answer
	int tty_fd;                // to read the answers from, or -1

	mutex lock;                // guards what follows, down to stop_code
	size_t unstarted;          // lines of which no worker has started a process yet
	bool awaits_starts;        // the reader waits until there are none
	bool awaits_room;          // the reader waits until less is queued
	off_t dropped_at;          // read_to of the first line that never ran, or -1
	bool failed;               // a job has failed
	int stop_code;             // exit status that a job has stopped the run with, or 0
};

extern const struct work_type xargs_work;

// Wakes the event loop of the struct xargs_run out of poll(2). From any thread.
void xargs_wake(void *run);

// ---- show.c ----

// Words as `xargs -t` shows them: quoted so that a shell can read them, and nothing unprintable reaches a terminal.

// Appends the word as coreutils' and findutils' "shell-escape" style has it: plain where that is enough, else in '…',
// "…" around a lone apostrophe, and $'\n' for what cannot be printed. What can be printed is the locale's to say
// (setlocale() is the caller's).
void xargs_show(struct buf *buf, const char *word, size_t len);

#endif
