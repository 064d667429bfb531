// Formats the status line of a run: text from numbers, without a clock and without a terminal.

#include "report/status_line.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "base/text.h"
#include "base/units.h"

#include <stdio.h>

static const char red[] = "\033[31m", reverse[] = "\033[7m", plain[] = "\033[m";

enum { ITEM_COLUMNS = 8 }; // the least columns of the bar's item, unless the item is shorter

// ---- columns ----

void status_cut(struct buf *text, unsigned columns) {
	size_t all = text_columns(buf_str(text), text->len), more;
	if (all <= columns) {
		return;
	}
	struct buf cut = BUF_INIT;
	size_t dots = columns < 3 ? columns : 3, side = (columns - dots) / 2, taken = 0, at = 0;
	for (size_t n; (n = text_step(text->data + at, text->len - at, &more)), taken + more <= side; at += n, taken += more) {
		buf_add(&cut, text->data + at, n);
	}
	buf_add(&cut, "...", dots);
	for (; all - taken > side; taken += more) {
		at += text_step(text->data + at, text->len - at, &more);
	}
	for (size_t n; at < text->len && (n = text_step(text->data + at, text->len - at, &more), more == 0);) {
		at += n; // a character of no width belongs to what was taken out
	}
	buf_add(&cut, text->data + at, text->len - at);
	buf_fini(text);
	*text = cut;
}

void status_add_text(struct buf *buf, const char *text, bool utf8) {
	size_t from = buf->len;
	buf_add_escaped(buf, text, strlen(text), SIZE_MAX);
	for (size_t i = from; !utf8 && i < buf->len; ++i) {
		if ((unsigned char)buf->data[i] >= 0x80) {
			buf->data[i] = '?';
		}
	}
}

// ---- parts ----

void status_add_time(struct buf *buf, uint64_t ns) {
	uint64_t s = ns == NOT_KNOWN ? 0 : (ns + NS_PER_S / 2) / NS_PER_S;
	if (ns == NOT_KNOWN) {
		buf_addc(buf, '?');
	} else if (s < 60) {
		buf_printf(buf, "%llus", ull(s));
	} else if (s < 595) { // rounded, because the time is not known exactly
		buf_printf(buf, "%llum%02llus", ull((s + 5) / 10 / 6), ull((s + 5) / 10 % 6 * 10));
	} else if (s < 5970) {
		buf_printf(buf, "~%llum", ull((s + 30) / 60));
	} else if (s < UINT64_C(48) * 3600) {
		buf_printf(buf, "~%lluh", ull((s + 1800) / 3600));
	} else {
		buf_printf(buf, "~%llud", ull((s + 43200) / 86400));
	}
}

int status_percent(const struct status *status) {
	if (status->open || status->jobs == 0) {
		return -1;
	}
	return status->finished >= status->jobs ? 100 : (int)(100 * status->finished / status->jobs);
}

// How much a narrow line leaves out: each level leaves out the part that it names, and all that the levels above it leave out.
enum line_level {
	LACKS_NOTHING,
	LACKS_WHY,             // why the number of slots has changed
	LACKS_TIMES,           // the times of the batches
	LACKS_MEAN, LACKS_LEFT, LACKS_BATCHES, LACKS_RUNNING, LACKS_TIME, LACKS_FAILED,
};

// A status line while it is being put together.
struct line_builder {
	struct buf text;
	const struct status *status;
	const struct status_form *form;
	enum line_level level;
	size_t nparts;
	bool is_short;         // the line lacks batches that should be there
};

static const char *separator(const struct status_form *form) {
	return form->utf8 ? " · " : ", ";
}

static void begin_part(struct line_builder *line) {
	if (line->nparts++ > 0) {
		buf_adds(&line->text, line->nparts == 2 ? " " : separator(line->form)); // the first part has brackets, and needs no separator behind it
	}
}

static void add_count(struct line_builder *line) {
	const struct status *status = line->status;
	int percent = status_percent(status), digits = snprintf(NULL, 0, "%llu", ull(status->jobs));
	begin_part(line);
	if (percent < 0) {
		buf_printf(&line->text, "[%llu/%s]", ull(status->finished), status->open ? "?" : "0");
	} else {
		buf_printf(&line->text, "[%*llu/%llu %2d%%]", digits, ull(status->finished), ull(status->jobs), percent);
	}
}

static void add_batch(struct buf *buf, const struct status_batch *batch, const struct line_builder *line) {
	status_add_text(buf, batch->name, line->form->utf8);
	if (batch->open) {
		buf_printf(buf, " %llu/?", ull(batch->finished));
	} else {
		buf_printf(buf, " %llu/%llu", ull(batch->finished), ull(batch->jobs));
	}
	if (line->level < LACKS_TIMES && batch->eta >= NS_PER_S / 2 && batch->eta != NOT_KNOWN) {
		buf_addc(buf, ' ');
		status_add_time(buf, batch->eta);
	}
}

// Adds the parts of the line that stand behind the batches.
static void add_tail(struct line_builder *line) {
	const struct status *status = line->status;
	bool details = line->form->details;
	if (status->failed > 0 && line->level < LACKS_FAILED) {
		begin_part(line);
		bool colour = line->form->colour;
		buf_printf(&line->text, "%s%llu failed%s", colour ? red : "", ull(status->failed), colour ? plain : "");
	}
	if ((status->eta != NOT_KNOWN || details) && line->level < LACKS_TIME) {
		begin_part(line);
		buf_adds(&line->text, "ETA ");
		status_add_time(&line->text, status->eta);
	}
	if (details && !status->open && line->level < LACKS_LEFT) {
		begin_part(line);
		buf_printf(&line->text, "%llu left", ull(u64_minus(status->jobs, status->finished)));
	}
	if (details && status->mean != NOT_KNOWN && line->level < LACKS_MEAN) {
		begin_part(line);
		buf_printf(&line->text, "%.2fs each", (double)status->mean / 1e9);
	}
}

// True if the line is to name the batch: it is one of several batches, and is at work.
static bool is_of_interest(const struct status *status, const struct status_batch *batch) {
	bool begun = batch->finished > 0 || batch->running > 0, ended = !batch->open && batch->finished >= batch->jobs;
	return status->nbatches > 1 && begun && (!ended || batch->running > 0);
}

// Appends the batches that fit into a line with `taken` used columns; with `counts_others` leaves room for "+N more". Returns how many do not fit.
static size_t add_some_batches(struct line_builder *line, size_t taken, bool counts_others) {
	const struct status *status = line->status;
	const struct status_form *form = line->form;
	size_t left = 0;
	for (size_t i = 0; i < status->nbatches; ++i) {
		left += is_of_interest(status, &status->batches[i]);
	}
	FP_CLEANUP(buf_fini) struct buf one = BUF_INIT;
	for (size_t i = 0; i < status->nbatches && left > 0; ++i) {
		if (!is_of_interest(status, &status->batches[i])) {
			continue;
		}
		buf_reset(&one);
		buf_adds(&one, separator(form));
		add_batch(&one, &status->batches[i], line);
		size_t columns = text_columns(buf_str(&one), one.len);
		size_t more = counts_others ? (size_t)snprintf(NULL, 0, ", +%zu more", left - 1) + form->utf8 : 0;
		if (form->width > 0 && taken + columns + more > form->width) {
			break;
		}
		taken += columns;
		--left;
		buf_add(&line->text, one.data, one.len);
	}
	return left;
}

static void add_batches(struct line_builder *line, size_t taken) {
	size_t before = line->text.len, left = add_some_batches(line, taken, /* counts_others */ false);
	if (left > 0 && line->level < LACKS_TIMES) {
		line->is_short = true; // all batches without their times are better than some batches with their times
	} else if (left > 0) {
		line->text.len = before;
		left = add_some_batches(line, taken, /* counts_others */ true);
		buf_printf(&line->text, "%s+%zu more", separator(line->form), left);
	}
}

static void add_parts(struct line_builder *line) {
	struct line_builder tail = {.status = line->status, .form = line->form, .level = line->level};
	add_count(line);
	if (line->level < LACKS_RUNNING && line->status->awaited) {
		begin_part(line);
		buf_printf(&line->text, "waits for pool %s", line->status->awaited);
	} else if (line->level < LACKS_RUNNING) {
		begin_part(line);
		buf_printf(&line->text, "%llu ", ull(line->status->running));
		if (line->status->slots > 0) {
			buf_printf(&line->text, "of %u ", line->status->slots);
		}
		buf_adds(&line->text, "running");
		if (line->status->slots_why && line->level < LACKS_WHY) {
			buf_printf(&line->text, " (%s)", line->status->slots_why);
		}
	}
	tail.nparts = line->nparts;
	add_tail(&tail);
	if (line->level < LACKS_BATCHES) {
		add_batches(line, text_columns(buf_str(&line->text), line->text.len) + text_columns(buf_str(&tail.text), tail.text.len));
	}
	buf_add(&line->text, buf_str(&tail.text), tail.text.len);
	buf_fini(&tail.text);
}

// Appends the text to the buffer, cut to the width.
static void add_cut(struct buf *buf, struct buf *text, const struct status_form *form) {
	if (form->width > 0) {
		status_cut(text, form->width);
	}
	buf_add(buf, buf_str(text), text->len);
}

void status_add_line(struct buf *buf, const struct status *status, const struct status_form *form) {
	struct line_builder line = {.text = BUF_INIT, .status = status, .form = form};
	for (; line.level <= LACKS_FAILED; ++line.level) {
		buf_reset(&line.text);
		line.nparts = 0;
		line.is_short = false;
		add_parts(&line);
		if (form->width == 0 || (!line.is_short && text_columns(buf_str(&line.text), line.text.len) <= form->width)) {
			break;
		}
	}
	add_cut(buf, &line.text, form);
	buf_fini(&line.text);
}

// ---- the bar ----

// Appends the text, which it pads with blanks to the width, with its first `done` columns in reverse video.
static void add_reversed(struct buf *buf, struct buf *text, unsigned done, const struct status_form *form) {
	size_t columns = text_columns(buf_str(text), text->len), at = 0, more;
	buf_printf(text, "%*s", columns < form->width ? (int)(form->width - columns) : 0, "");
	for (size_t taken = 0; taken < done; taken += more) {
		at += text_step(text->data + at, text->len - at, &more);
	}
	buf_printf(buf, "%s%.*s%s", reverse, (int)at, text->data, done < form->width ? plain : "");
	buf_printf(buf, "%s%s", text->data + at, plain);
}

// Appends the parts of the bar, without the item, for which there is room. Returns true if there was room for all.
static bool add_numbers(struct buf *text, const struct status *status, const struct status_form *form) {
	int percent = status_percent(status);
	FP_CLEANUP(buf_fini) struct buf more = BUF_INIT;
	if (percent < 0) {
		buf_adds(text, "?%");
		buf_printf(&more, " %llu:?", ull(status->finished));
	} else {
		buf_printf(text, "%d%%", percent);
		buf_printf(&more, " %llu:%llu", ull(status->finished), ull(u64_minus(status->jobs, status->finished)));
	}
	int part = 0;
	for (; part < 2 && (form->width == 0 || text->len + more.len <= form->width); ++part) { // the text is ASCII: its bytes are its columns
		buf_add(text, more.data, more.len);
		buf_reset(&more);
		buf_addc(&more, '=');
		status_add_time(&more, status->eta);
	}
	return part == 2;
}

// Appends the item that started last, cut if need be, or nothing if too little of it would be left.
static void add_item(struct buf *text, const struct status *status, const struct status_form *form) {
	FP_CLEANUP(buf_fini) struct buf item = BUF_INIT;
	status_add_text(&item, status->item, form->utf8);
	unsigned room = form->width > text->len ? form->width - (unsigned)text->len - 1 : 0;
	if (form->width > 0 && room >= ITEM_COLUMNS) {
		status_cut(&item, room);
	}
	if (item.len > 0 && (form->width == 0 || text_columns(item.data, item.len) <= room)) {
		buf_addc(text, ' ');
		buf_add(text, item.data, item.len);
	}
}

void status_add_bar(struct buf *buf, const struct status *status, const struct status_form *form) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	int percent = status_percent(status);
	unsigned done = percent < 0 ? 0 : (unsigned)percent;
	if (!form->colour && form->width >= 30) {
		unsigned cells = form->width / 3;
		buf_addc(&text, '[');
		for (unsigned i = 0; i < cells; ++i) {
			buf_addc(&text, i < cells * done / 100 ? '#' : ' ');
		}
		buf_adds(&text, "] ");
	}
	if (add_numbers(&text, status, form) && status->item) {
		add_item(&text, status, form);
	}
	if (form->colour && form->width > 0) {
		status_cut(&text, form->width);
		add_reversed(buf, &text, form->width * done / 100, form);
	} else {
		add_cut(buf, &text, form);
	}
}
