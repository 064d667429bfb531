// Draws the pictures of a run from its log: --report and --trace.
//
// The log is read twice: first for the statistics and the number of attempts, then to draw. So the memory does not grow with the
// length of the run.

#include "record/record.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "draw/draw.h"
#include "log/event_log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

// What the log's events are collected in: `stats` and `first_pass` get them at the first reading; `timeline`, `rows` and `chrome` at the second.
struct drawing {
	const char *name;          // the name of the log in messages
	struct run_stats *stats;
	struct first_pass first_pass;
	struct palette palette;
	struct timeline timeline;
	struct rows rows;
	struct chrome *chrome;     // --trace; or NULL
};

static bool is_stdout(const char *path) {
	return strcmp(path, "-") == 0 || strcmp(path, "-.html") == 0 || strcmp(path, "-.svg") == 0;
}

// ---- files ----

// The file that a picture is written to. A regular file is written under another name in the same directory, and renamed when it is
// complete; until then the signals that would leave the unfinished file behind are blocked.
struct target {
	const char *path;
	char *real;                // the path without symbolic links, if the picture is to be a regular file; else NULL
	char *temporary;           // the other name, if `real` is set
	sigset_t mask;             // the signal mask before signals were blocked
	int fd;
	int error;                 // errno of the first failure, or 0
};

// Returns the path without symbolic links (`path` if there is no such file yet), which the caller frees; or NULL if the picture is written to `path`
// directly: to stdout, a device or a FIFO, or through a link whose file does not exist yet or was removed while it is still open.
static char *real_path(const char *path) {
	struct stat st;
	char link[1];
	if (is_stdout(path) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode))) {
		return NULL;
	}
	char *real = realpath(path, NULL);
	return real || readlink(path, link, sizeof(link)) >= 0 ? real : xstrdup(path);
}

static int check_file(const char *path) {
	struct stat st;
	FP_CLEANUP(free_later) char *real = real_path(path);
	FP_CLEANUP(free_later) char *directory = real ? path_directory(real) : NULL;
	bool may = real ? access(directory, W_OK | X_OK) == 0 : is_stdout(path) || access(path, W_OK) == 0 || errno == ENOENT;
	if (may && !real && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		may = false;
	}
	return may ? 0 : diag_error("cannot write '%s': %s", text_shows(path), strerror(errno));
}

int pictures_check(const struct options *options) {
	int result = 0;
	for (size_t i = 0; i < options->nreports; ++i) {
		result = check_file(options->reports[i]) == 0 ? result : -1;
	}
	return options->trace && check_file(options->trace) != 0 ? -1 : result;
}

static const char *why(int error) {
	return error == ETIME ? "nobody reads it" : strerror(error);
}

static void target_free(struct target *target) {
	if (target->real) {
		verify(pthread_sigmask(SIG_SETMASK, &target->mask, NULL) == 0);
	}
	free(target->real);
	free(target->temporary);
}

static int target_open(struct target *target, const char *path) {
	struct stat st;
	sigset_t ending;
	*target = (struct target){.path = path, .real = real_path(path), .fd = STDOUT_FILENO};
	if (target->real) {
		FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
		buf_printf(&name, "%.*s.fairpar-%ld", (int)(path_base(target->real) - target->real), target->real, (long)getpid());
		target->temporary = buf_take(&name);
		get_ending_signals(&ending);
		verify(pthread_sigmask(SIG_BLOCK, &ending, &target->mask) == 0);
		target->fd = open(target->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		bool keeps_mode = target->fd >= 0 && stat(target->real, &st) == 0;
		target->error = keeps_mode && fchmod(target->fd, st.st_mode & 07777) != 0 ? errno : 0;
	} else if (!is_stdout(path)) {
		target->fd = write_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, "it is not written");
	}
	if (target->fd >= 0) {
		return 0;
	}
	diag_error("cannot write '%s': %s", text_shows(path), why(errno));
	target_free(target);
	return -1;
}

static void target_write(void *arg, const char *text, size_t len) {
	struct target *target = arg;
	if (!target->error && write_limited(target->fd, text, len) != 0) {
		target->error = errno;
	}
}

// With `keep`, puts the picture in its place; else discards it, and leaves an older file as it was. Returns 0, or -1 after a message.
static int target_close(struct target *target, bool keep) {
	bool to_stdout = is_stdout(target->path);
	int error = to_stdout ? target->error : fd_finish(target->fd, target->error);
	if (target->real) {
		error = keep && !error && rename(target->temporary, target->real) != 0 ? errno : error;
		if (error || !keep) {
			unlink(target->temporary); // errors are ignored: the file does no harm
		}
	}
	target_free(target);
	if (error && !(to_stdout && error == EPIPE)) { // no message if the reader has closed the pipe
		diag_error("cannot write '%s': %s", to_stdout ? "standard output" : text_shows(target->path), why(error));
	}
	return error ? -1 : 0;
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

// Reads the log for the second time, and writes the pictures: the trace during the reading, the other pictures afterwards. Returns 0,
// or -1 after messages.
static int draw(struct drawing *drawing, const struct options *options, int fd) {
	struct target trace = {0};
	bool tracing = options->trace && target_open(&trace, options->trace) == 0;
	int result = options->trace && !tracing ? -1 : 0;
	if (tracing) {
		drawing->chrome = chrome_new(&drawing->palette, &drawing->first_pass, target_write, &trace);
	}
	bool read = log_read(fd, drawing->name, on_second_reading, drawing, /* with_messages */ false) == 0;
	attempts_finish(&drawing->timeline.attempts);
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
	struct drawing drawing = {.name = name, .stats = NEW(struct run_stats)};
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
	}
	machines_fini(&drawing.first_pass.machines);
	stats_free(drawing.stats);
	return result;
}
