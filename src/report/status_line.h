// Formats the status line of a run: text from numbers, without a clock and without a terminal.

#pragma once

#include "base/buf.h"
#include "report/run_stats.h"

#include <stdbool.h>
#include <stdint.h>

struct status_batch {
	const char *name;
	uint64_t finished;   // jobs that have ended, in whatever way
	uint64_t running;    // attempts that run
	uint64_t jobs;       // jobs known so far
	bool open;           // more jobs may come
	uint64_t eta;        // nanoseconds left; not shown if below half a second or NOT_KNOWN
};

struct status {
	uint64_t finished;   // jobs that have ended, in whatever way
	uint64_t running;    // attempts that run
	const char *awaited; // the name of the pool, while the run has no slot and waits for a slot of the pool; or NULL
	unsigned slots;      // the number of slots, if it changes by itself; else 0
	const char *slots_why; // the reason of the last change, or NULL
	uint64_t failed;     // how many of `finished` have failed
	uint64_t jobs;       // jobs known so far
	bool open;           // more jobs may come
	uint64_t eta;        // nanoseconds left, or NOT_KNOWN
	uint64_t mean;       // the mean nanoseconds of a job so far, or NOT_KNOWN
	const struct status_batch *batches;
	size_t nbatches;
	const char *item;    // the first argument of the job that started last, or its command; or NULL
};

struct status_form {
	unsigned width;      // columns; 0: no limit
	bool utf8;           // else only ASCII is written
	bool colour;         // with colours and reverse video
	bool details;        // --eta: also shows the jobs left, the mean time of a job, and an ETA that is not known yet ("?")
};

// Shortens the text to at most `columns` columns (text_columns()) by taking its middle out, as ninja does.
void status_cut(struct buf *text, unsigned columns);

// Appends a name or a command: control characters are escaped, and without `utf8` what is not ASCII is replaced.
void status_add_text(struct buf *buf, const char *text, bool utf8);

// Appends a time as people say it: "21s", "4m20s", "~25m", "~3h", "~2d", or "?".
void status_add_time(struct buf *buf, uint64_t ns);

// Appends the line: "[ 57/204 28%] 8 running · thumbs 31/120 · 1 failed · ETA 21s"; if there is room, with the time left of
// each batch: "thumbs 31/120 12s". Of batches for which there is no room, only the number is shown ("+3 more"). On a narrow terminal
// whole parts are left out, the least important first.
void status_add_line(struct buf *buf, const struct status *status, const struct status_form *form);

// Appends a bar over the whole width, as GNU parallel's --bar: "28% 57:147=21s ITEM". The part that is done is in reverse
// video; without colour [####    ] stands in front. If the bar is narrow, the item is cut or left out first, then numbers are left out.
void status_add_bar(struct buf *buf, const struct status *status, const struct status_form *form);

// Returns the part of the known jobs that have ended, in percent, or -1 if that is not known.
int status_percent(const struct status *status);

// ---- eta.c: when the run will be done ----

enum { ETA_FROM_S = 2 }; // seconds of a run before there is an estimate without a former run

// How long the jobs of a former run took, from its log. Times are nanoseconds of slots: the time of a job on two slots counts twice. A step of a job
// is identified by its batch and its command; its time is that of all its attempts. Memory is bounded. Freed by former_run_free() (NULL
// is fine).
struct former_run;
struct former_run *former_run_new(void);
void former_run_free(struct former_run *former);

// An event_fn: adds an event of the former run; `arg` is the struct former_run. To be called for all events before any of the calls below.
void former_run_on_event(void *arg, const struct event *event);

// To be called when a step of a job of this run starts: the time that it took in the former run no longer counts as time to come.
void former_run_take(struct former_run *former, const struct event_job_start *start);

// Returns the mean slot-time of a job so far in nanoseconds, or NOT_KNOWN.
uint64_t eta_mean(const struct run_stats *stats);

// Returns the nanoseconds until the run is done, and sets `eta` of `batches`: the batches of `stats`, in the same order. All jobs must be known.
// The time left of a batch is its remaining jobs times a mean time: the mean of the jobs that `former` (or NULL) had in the batch and that are
// still to come; else the mean of the batch's jobs that have ended. The batches share the slots by weight, and no batch is done sooner than its
// rate or max_parallel allows. Returns NOT_KNOWN, and sets nothing, if the former run had none of the batches and it is too early: fewer than
// 3 jobs have ended, or less than ETA_FROM_S has passed. Returns NOT_KNOWN, too, if all jobs that are left run for longer than expected.
uint64_t eta_set(struct status_batch *batches, const struct run_stats *stats, struct former_run *former, unsigned slots, uint64_t now);
