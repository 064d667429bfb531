// What is said of a run while it goes, in one line: text from numbers, without a clock and without a terminal.

#ifndef FAIRPAR_REPORT_STATUS_LINE_H
#define FAIRPAR_REPORT_STATUS_LINE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

// A time that is not known.
#define STATUS_UNKNOWN UINT64_MAX

struct status_batch {
	const char *name;
	uint64_t finished;   // jobs that have ended, however
	uint64_t running;    // attempts
	uint64_t jobs;       // known so far
	bool open;           // more may come
	uint64_t eta;        // nanoseconds left; next to nothing or STATUS_UNKNOWN: nothing to tell
};

struct status {
	uint64_t started;    // jobs
	uint64_t finished;   // jobs that have ended, however
	uint64_t running;    // attempts
	uint64_t failed;     // of `finished`
	uint64_t jobs;       // known so far
	bool open;           // more may come
	uint64_t elapsed;    // nanoseconds
	uint64_t eta;        // nanoseconds left, or STATUS_UNKNOWN
	uint64_t mean;       // nanoseconds of a job so far, or STATUS_UNKNOWN
	double rate;         // jobs that end in a second, of late; below 0: not known
	const struct status_batch *batches;
	size_t nbatches;
	const char *latest;  // the command that started last, or NULL
	const char *item;    // and its first argument, or NULL
};

struct status_form {
	unsigned width;      // columns; 0: no limit
	bool utf8;           // else ASCII alone
	bool colour;         // also reverse video
	bool details;        // the ETA even while it is not known, jobs left, and the mean (--eta)
};

// Columns that the text takes, by the locale of the thread; sequences of colours take none. `utf8` as of the form: else
// each byte is one.
unsigned status_columns(const char *text, bool utf8);

// Takes text out of the middle, as ninja does, so that it takes at most so many columns.
void status_cut(struct buf *text, unsigned columns, bool utf8);

// Appends text of others: control characters escaped, and in ASCII what is none replaced.
void status_add_text(struct buf *buf, const char *text, bool utf8);

// Appends a time as people say it: "21s", "4m20s", "~25m", "~3h", "~2d", or "?".
void status_add_time(struct buf *buf, uint64_t ns);

// Appends the line: "[ 57/204 28%] 8 running · thumbs 31/120 · 1 failed · ETA 21s". With room for
// the time that is left of each batch: "thumbs 31/120 12s". Batches for which there is no room are counted; on a narrow terminal whole parts are left out, the least important first.
void status_add_line(struct buf *buf, const struct status *status, const struct status_form *form);

// Appends a bar over the whole width, as GNU parallel's --bar: "28% 57:147=21s ITEM", its part that is done in reverse
// video, or without colour as [####    ] in front. A narrow one has less of the item, or none, and then fewer numbers.
void status_add_bar(struct buf *buf, const struct status *status, const struct status_form *form);

// Appends the line that `format` describes, with ninja's letters (%s %t %p %r %u %f %o %c %e %E %w %W %P %%), and behind
// it, as ninja does, the command that started last.
void status_add_format(struct buf *buf, const char *format, const struct status *status, const struct status_form *form);

// Appends what is none of these, each once: "'%q', '%x'". They stand in the line as they are.
void status_add_bad_letters(struct buf *buf, const char *format, bool utf8);

// False if there is nothing in the format but such letters, and blanks.
bool status_says_something(const char *format);

// True if the text changes as time passes.
bool status_tells_time(const char *format);

// How much of it is done, 0 to 100, or -1 if that is not known.
int status_percent(const struct status *status);

#endif
