// Collects a table of the run's jobs, one row each: all jobs, or if there are many, those that failed, were retried or were
// slow, and a sample of the others.

#ifndef FAIRPAR_DRAW_ROWS_H
#define FAIRPAR_DRAW_ROWS_H

#include "base/buf.h"
#include "draw/timeline.h"
#include "report/first_pass.h"

enum {
	ROWS_ALL = 5000,        // with no more jobs than this, each has a row
	ROWS_MARKED = 2000,     // with more: rows for the first that failed or were tried again
	ROWS_SLOWEST = 500,     // … about, of all attempts
	ROWS_SAMPLE = 2000,     // … about, of the rest
};

// A job: all attempts at all its steps.
struct row {
	unsigned char class;    // of its batch
	bool allowed;           // it may fail
	const char *name;       // "thumbs#17", any bytes
	struct result result;   // of the last one
	const char *why;        // of that: it could not be started; or NULL
	uint64_t from, to;      // event time: start of the first, end of the last
	uint64_t queued, cpu;   // nanoseconds, of all
	uint64_t maxrss;        // bytes, of the largest
	unsigned attempts;      // 1, and one more for each time that a step was tried again
	unsigned step;          // the last
	unsigned slot;          // the last; 0: none, or it is long-running
	const char *host;       // the last; NULL: that of the run
	const char *command;    // the first step's, or that which failed; cut, any bytes
	size_t command_len;
};

struct rows {
	const struct palette *palette;
	uint64_t jobs;          // that there are
	uint64_t stride;        // 0: all jobs are here; else one job of `stride` is in the sample
	uint64_t slow;          // nanoseconds from which on a job counts as slow
	uint64_t seen, marked;  // jobs so far: all, and those that failed or were tried again
	struct row *rows;       // in the order of their ends
	size_t n, cap;
	struct running_table unfinished; // jobs that have ended an attempt and will have another
	struct arena texts;
};

// Begins a table for the jobs that the first pass has counted. `palette` is borrowed until rows_fini().
void rows_init(struct rows *rows, const struct palette *palette, const struct first_pass *first_pass);
void rows_fini(struct rows *rows);

// An event_fn: adds a row when a job ends; `arg` is the struct rows.
void rows_on_event(void *arg, const struct event *event);

#endif
