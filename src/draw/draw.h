// Draws a run from its log: as an SVG, as an HTML page, and as Chrome trace events.

#pragma once

#include "base/buf.h"
#include "draw/timeline.h"

// ---- svg.c ----

enum svg_use {
	SVG_FILE,    // a file of its own, with a title line
	SVG_INLINE,  // within a page
};

// Appends the drawing, with light and dark colours as the reader's system prefers. Names and commands in it are escaped.
void svg_draw(struct buf *buf, const struct timeline *timeline, enum svg_use use);

// Appends "nightly, fairpar run 2026-11-20 23:41": the manifest's name, and the local time of the start, as far as known.
void svg_add_title(struct buf *buf, const struct run_stats *stats);

// ---- rows.c: a table with a row for each job; or, if there are many jobs, for each job that failed, was retried or was slow, and for a
// sample of all jobs ----

enum {
	ROWS_ALL = 5000,        // if the run has at most this many jobs, each job has a row; else rows are given to:
	ROWS_MARKED = 2000,     // - at most this many jobs that failed or were tried again, the first ones
	ROWS_SLOWEST = 500,     // - about this many of the slowest jobs
	ROWS_SAMPLE = 2000,     // - a sample of about this many of all jobs
};

struct rows {
	const struct palette *palette;
	bool has_machines;      // the run had several machines
	uint64_t jobs;          // all jobs that the first pass has counted
	uint64_t stride;        // 0: all jobs have rows; else one in `stride` jobs is in the sample
	uint64_t slow;          // a job that took longer than about this many nanoseconds counts as slow
	uint64_t seen, marked;  // jobs so far: all, and those that failed or were tried again
	uint64_t n;             // number of rows
	struct buf text;        // the rows, in the order of the jobs' ends
	struct running_table unfinished; // jobs that have ended an attempt and will have another
};

// Begins a table for the jobs that the first pass has counted. `palette` is borrowed until rows_fini().
void rows_init(struct rows *rows, const struct palette *palette, const struct first_pass *first_pass);
void rows_fini(struct rows *rows);

// Adds a row when a job ends.
void rows_on_event(struct rows *rows, const struct event *event);

// Appends the table, or nothing if it has no rows.
void rows_add(struct buf *buf, const struct rows *rows);

// ---- html.c ----

// Appends the page. All of it can be read without scripts; with them the table of jobs can be sorted and filtered. The
// Content-Security-Policy of the page forbids the network, and any script but the page's own.
void html_draw(struct buf *buf, const struct timeline *timeline, const struct rows *rows);

// Appends the name of the job: "thumbs#17".
void html_add_job_name(struct buf *buf, const struct event_job *id);

// The page's style and its script, from the files html.css and html.js, and "sha256-…" of the script, by which the page allows the script.
// The script makes the heads of the table of jobs into buttons that sort it, and adds a field to filter it by; the page is
// complete without the script.
extern const char html_css[], html_js[], html_script_hash[];

// ---- chrome_trace.c ----

// The trace has a slice ("X") for each attempt, on a track for each slot; nothing overlaps on a track. It has counters
// for what runs and for the queue of each batch; arrows from a job to what it started: the items it emitted, its next
// step, its next attempt; instants for failures and signals; asynchronous slices for waits. Slices, instants and
// counters come in the order of time on each track; an arrow comes with the slice it points to.

enum {
	CHROME_SAMPLES = 4000,    // a counter has at most about this many values
	CHROME_ORIGINS = 1 << 17, // items that are remembered as origins of arrows; arrows from older items are left out
};

// Takes the next `len` bytes of the text; called from chrome_on_event() and chrome_finish(). `arg` is that of chrome_new().
typedef void chrome_write_fn(void *arg, const char *text, size_t len);

struct chrome;

// Begins the text, which chrome_finish() ends; to be called after the first pass. Each batch with a colour of its own has
// counters, and all other batches share one set of counters. `palette`, `first_pass` and `arg` are borrowed until chrome_finish().
struct chrome *chrome_new(const struct palette *palette, const struct first_pass *first_pass, chrome_write_fn *write, void *arg);

// Adds the event.
void chrome_on_event(struct chrome *chrome, const struct event *event);

// Writes the end of the text, and frees the struct chrome.
void chrome_finish(struct chrome *chrome);
