// Command lines of the xargs personality on a worker: read and packed, confirmed by the user, shown, run, and their results counted.

#pragma once

#include "base/atomic.h"
#include "base/buf.h"
#include "base/sync.h"
#include "engine/pool.h"
#include "process/child.h"
#include "xargs/words.h"

#include <stddef.h>

// The input, and how far it was read.
struct xargs_input {
	int fd;
	char *chunk;
	size_t at, end;            // the unread part of the chunk
	bool is_read;              // no more bytes come
	int error;                 // of the last read, or 0
	struct xargs_words words;
	bool has_line;             // words.pack is one, for the next command
	bool has_ended;            // no more lines come
	bool is_closed;            // … and the queue is closed
	bool has_failed;           // exit status 1
};

struct xargs_run {
	const struct xargs_options *options;
	struct context *context;   // what the jobs run with
	struct children *children;
	struct pool *pool;
	struct queue *queue;       // of what makes the next line; one at most
	int wake_fd;               // wakes the loop (base/io.h)
	int stop_fd;               // the same for whoever reads: readable once the run is cut short
	atomic_bool idle, is_stopped;
	atomic_bool has_failed;    // a job has
	atomic_int stop_code;      // exit status that a job has stopped the run with, or 0

	struct xargs_input input;  // of the worker that makes the next line
	atomic_uint unstarted;     // lines that have no process yet, and 1 as long as there may be more lines

	mutex terminal;            // guards tty_fd; held from a question to its answer
	int tty_fd;                // to read the answers from, or -1

	// of the main thread (xargs.c)
	int signal_fd;
	int signal;                // that ends the run, or 0
	bool killing;              // a second one came
	unsigned slots, max_slots;
};

// Opens the input and packs the initial arguments. Returns 0, or -1 after a message.
int xargs_input_open(struct xargs_input *input, const struct xargs_options *options);

// Leaves a file that is standard input where xargs would leave it, behind what was used, and frees the memory.
void xargs_input_close(struct xargs_input *input);

// Has a worker make the next line, ask for one more that makes the line behind it, and run its own. `from`: as of pool_submit().
void xargs_go_on(struct xargs_run *run, struct worker *from);

// To be called once when no line comes any more: says what was wrong with the input, and closes the queue.
void xargs_end_input(struct xargs_run *run);

// Starts nothing more. From any thread.
void xargs_stop(struct xargs_run *run);
