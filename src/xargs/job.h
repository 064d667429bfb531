// One command line of the xargs personality on a worker: confirmed by the user, shown, run, and its result counted.

#ifndef FAIRPAR_XARGS_JOB_H
#define FAIRPAR_XARGS_JOB_H

#include "base/atomic.h"
#include "base/buf.h"
#include "base/sync.h"
#include "engine/pool.h"
#include "process/child.h"
#include "xargs/options.h"
#include "xargs/packer.h"

#include <stddef.h>
#include <sys/types.h>

// A command line on its way to a worker. Whoever has it frees it, or gives it back to the run.
struct xargs_line {
	struct packed args;        // behind the initial arguments, or with -I all of them
	off_t read_to;             // bytes of input that were read for it and those before it
	struct xargs_line *next;   // in xargs_run.free
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
	struct xargs_line *free;
	size_t queued;             // lines that no worker has started yet
	size_t queued_bytes;       // of them, by xargs_line_bytes()
	bool wants_room;           // the reader waits for room, or for the last queued line to be started
	off_t dropped_at;          // read_to of the first line that never ran, or -1
	bool failed;               // a job has failed
	int stop_code;             // exit status that a job has stopped the run with, or 0
};

enum { XARGS_AHEAD = 64 * 1024 }; // bytes of queued lines at which the reader waits

// What a line costs while it is queued.
static inline size_t xargs_line_bytes(const struct xargs_line *line) {
	return line->args.bytes.len + 512; // about what a short one takes in all
}

extern const struct work_type xargs_work;

// Wakes the event loop of the struct xargs_run out of poll(2). From any thread.
void xargs_wake(void *run);

// xargs_line_get() returns a line to fill, from the free list or new; xargs_line_put() puts it back there. From any thread.
struct xargs_line *xargs_line_get(struct xargs_run *run);
void xargs_line_put(struct xargs_run *run, struct xargs_line *line);

// ---- show.c ----

// Words as `xargs -t` shows them: quoted so that a shell can read them, and nothing unprintable reaches a terminal.

// Appends the word as coreutils' and findutils' "shell-escape" style has it: plain where that is enough, else in '…',
// "…" around a lone apostrophe, and $'\n' for what cannot be printed. What can be printed is the locale's to say
// (setlocale() is the caller's).
void xargs_show(struct buf *buf, const char *word, size_t len);

#endif
