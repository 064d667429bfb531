// Formats the status line of a run: text from numbers, without a clock and without a terminal.

#ifndef FAIRPAR_REPORT_STATUS_LINE_H
#define FAIRPAR_REPORT_STATUS_LINE_H

#include "base/buf.h"
#include "job/event.h"

#include <stdbool.h>
#include <stdint.h>

struct status_batch {
	const char *name;
	uint64_t finished;   // jobs that have ended, however
	uint64_t running;    // attempts
	uint64_t jobs;       // known so far
	bool open;           // more may come
	uint64_t eta;        // nanoseconds left; not shown if it is next to nothing or NOT_KNOWN
};

struct status {
	uint64_t finished;   // jobs that have ended, however
	uint64_t running;    // attempts
	const char *awaited; // the pool that the run waits for while it has no slot of it, or NULL
	unsigned slots;      // whose number changes by itself; 0: it does not
	const char *slots_why; // the reason of the last change, or NULL
	uint64_t failed;     // of `finished`
	uint64_t jobs;       // known so far
	bool open;           // more may come
	uint64_t eta;        // nanoseconds left, or NOT_KNOWN
	uint64_t mean;       // nanoseconds of a job so far, or NOT_KNOWN
	const struct status_batch *batches;
	size_t nbatches;
	const char *item;    // the first argument of the job that started last, or its command; or NULL
};

struct status_form {
	unsigned width;      // columns; 0: no limit
	bool utf8;           // else ASCII alone
	bool colour;         // also reverse video
	bool details;        // the ETA even while it is not known, jobs left, and the mean (--eta)
};

// Shortens the text to at most so many columns (text_columns()) by taking its middle out, as ninja does.
void status_cut(struct buf *text, unsigned columns);

// Appends a name or a command: control characters are escaped, and without `utf8` what is not ASCII is replaced.
void status_add_text(struct buf *buf, const char *text, bool utf8);

// Appends a time as people say it: "21s", "4m20s", "~25m", "~3h", "~2d", or "?".
void status_add_time(struct buf *buf, uint64_t ns);

// Appends the line: "[ 57/204 28%] 8 running · thumbs 31/120 · 1 failed · ETA 21s"; if there is room, with the time left of
// each batch: "thumbs 31/120 12s". Batches for which there is no room are counted. On a narrow terminal whole parts are left
// out, the least important first.
void status_add_line(struct buf *buf, const struct status *status, const struct status_form *form);

// Appends a bar over the whole width, as GNU parallel's --bar: "28% 57:147=21s ITEM". The part that is done is in reverse
// video; without colour [####    ] stands in front. If it is narrow, the item is cut or left out first, then numbers are.
void status_add_bar(struct buf *buf, const struct status *status, const struct status_form *form);

// The part of the known jobs that have ended, in percent, or -1 if that is not known.
int status_percent(const struct status *status);

#endif
