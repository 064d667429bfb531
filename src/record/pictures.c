// The pictures of a run, made from its log: --report and --trace.
//
// The log is read twice: first for the statistics and the number of attempts, then to draw. So the memory that is used does not
// grow with the run.

#include "record/pictures.h"

#include "base/alloc.h"
#include "base/atomic_file.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "draw/draw.h"
#include "log/event_log.h"

#include <errno.h>

// What the events of the log go to: `stats` and `first_pass` at the first reading, the others at the second.
struct drawing {
	const char *name;          // of the log
	struct run_stats *stats;
	struct first_pass first_pass;
	struct palette palette;
	struct timeline timeline;
	struct rows rows;
	struct chrome *chrome;     // or NULL
};

static bool is_stdout(const char *path) {
	return strcmp(path, "-") == 0 || strcmp(path, "-.html") == 0 || strcmp(path, "-.svg") == 0;
}

// ---- files ----

static int check_file(const char *path) {
	if (!is_stdout(path) && atomic_file_check(path) != 0) {
		return diag_error("cannot write '%s': %s", text_shows(path), strerror(errno));
	}
	return 0;
}

int pictures_check(const struct options *options) {
	int result = 0;
	for (size_t i = 0; i < options->nreports; ++i) {
		result = check_file(options->reports[i]) == 0 ? result : -1;
	}
	return options->trace && check_file(options->trace) != 0 ? -1 : result;
}

// Where a picture goes.
struct target {
	const char *path;
	struct atomic_file *file;  // NULL: stdout
	int error;                 // errno of a write to stdout that failed, or 0
};

static const char *why(int error) {
	return error == ETIME ? "nobody reads it" : strerror(error);
}

static int target_open(struct target *target, const char *path) {
	*target = (struct target){.path = path};
	if (is_stdout(path) || (target->file = atomic_file_open(path))) {
		return 0;
	}
	return diag_error("cannot write '%s': %s", text_shows(path), why(errno));
}

static void target_write(void *arg, const char *text, size_t len) {
	struct target *target = arg;
	if (target->file) {
		atomic_file_write(target->file, text, len);
	} else if (!target->error && write_limited(STDOUT_FILENO, text, len) != 0) {
		target->error = errno;
	}
}

static int target_close(struct target *target, bool keep) {
	int error = target->file ? (atomic_file_close(target->file, keep) != 0 ? errno : 0) : target->error;
	if (!error) {
		return 0;
	}
	if (target->file || error != EPIPE) { // a reader who has seen enough is no mistake
		diag_error("cannot write '%s': %s", target->file ? text_shows(target->path) : "standard output", why(error));
	}
	return -1;
}

// ---- the two readings ----

static void on_first_reading(void *arg, const struct event *event) {
	struct drawing *drawing = arg;
	stats_on_event(drawing->stats, event);
	first_pass_on_event(&drawing->first_pass, event);
}

static void on_second_reading(void *arg, const struct event *event) {
	struct drawing *drawing = arg;
	timeline_on_event(&drawing->timeline, event);
	rows_on_event(&drawing->rows, event);
	if (drawing->chrome) {
		chrome_on_event(drawing->chrome, event);
	}
}

// ---- drawing ----

static int write_report(struct drawing *drawing, const char *path) {
	struct target target;
	if (target_open(&target, path) != 0) {
		return -1;
	}
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	if (text_ends(path, ".svg")) {
		svg_draw(&text, &drawing->timeline, SVG_FILE);
	} else {
		html_draw(&text, &drawing->timeline, &drawing->rows);
	}
	target_write(&target, text.data, text.len);
	return target_close(&target, true);
}

// Reads the log for the second time, and writes the pictures: the trace while it reads, the others then. Returns 0, or -1 after
// messages.
static int draw(struct drawing *drawing, const struct options *options, int fd) {
	struct target trace = {0};
	bool tracing = options->trace && target_open(&trace, options->trace) == 0;
	int result = options->trace && !tracing ? -1 : 0;
	if (tracing) {
		drawing->chrome = chrome_new(&drawing->palette, &drawing->first_pass, target_write, &trace);
	}
	bool read = log_read(fd, drawing->name, on_second_reading, drawing, /* with_messages */ false) == 0;
	timeline_finish(&drawing->timeline);
	if (tracing) {
		chrome_finish(drawing->chrome);
		result = target_close(&trace, read) == 0 ? result : -1;
	}
	if (!read) {
		return diag_error("cannot read '%s' again: it has changed", text_shows(drawing->name));
	}
	for (size_t i = 0; i < options->nreports; ++i) {
		result = write_report(drawing, options->reports[i]) == 0 ? result : -1;
	}
	return result;
}

int pictures_draw(const struct options *options, int fd, const char *name, bool with_messages) {
	struct drawing drawing = {.name = name, .stats = stats_new()};
	first_pass_init(&drawing.first_pass);
	int result = log_read(fd, name, on_first_reading, &drawing, with_messages);
	first_pass_finish(&drawing.first_pass);
	if (result == 0) {
		stats_finish(drawing.stats, drawing.first_pass.attempts.last);
		palette_init(&drawing.palette, drawing.stats);
		timeline_init(&drawing.timeline, &drawing.palette, &drawing.first_pass);
		rows_init(&drawing.rows, &drawing.palette, &drawing.first_pass);
		result = draw(&drawing, options, fd);
		rows_fini(&drawing.rows);
		timeline_fini(&drawing.timeline);
		palette_fini(&drawing.palette);
	}
	first_pass_fini(&drawing.first_pass);
	stats_free(drawing.stats);
	return result;
}
