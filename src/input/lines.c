// The records of one source, one after the other: lines of a descriptor, or arguments.

#include "input/lines.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/io.h"
#include "input/columns.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- opening ----

static void add_error(const struct lines *lines, const char *verb, int error, struct buf *message) {
	if (lines->config->kind == FROM_STDIN) {
		buf_printf(message, "cannot %s stdin: %s", verb, strerror(error));
		return;
	}
	buf_printf(message, "cannot %s '", verb);
	buf_add_escaped(message, lines->config->path, strlen(lines->config->path), 200);
	buf_printf(message, "': %s", strerror(error));
}

int lines_open(struct lines *lines, const struct source_config *config, const struct input_config *rules, bool is_first,
               struct buf *error) {
	*lines = (struct lines){.config = config, .rules = rules, .fd = -1, .buffer = LINE_BUFFER_INIT(rules->delimiter)};
	lines->buffer.longer = rules->delimiter_text;
	lines->skip_first = rules->skip_first && is_first;
	lines->has_rules = lines->skip_first || rules->skip_blank || rules->csv || rules->end;
	if (config->kind == FROM_ARGS) {
		return 0;
	}
	// O_NONBLOCK, so that a fifo opens before its writer comes; stdin is used as it is, for others may share it
	lines->fd = config->kind == FROM_STDIN ? STDIN_FILENO
	                                       : open(config->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat stat;
	if (lines->fd >= 0 && fstat(lines->fd, &stat) == 0) {
		if (!S_ISDIR(stat.st_mode)) {
			lines->polls = !S_ISREG(stat.st_mode) && !S_ISBLK(stat.st_mode);
			return 0;
		}
		errno = EISDIR;
	}
	add_error(lines, "open", errno, error);
	lines_close(lines);
	return -1;
}

bool lines_join(struct lines *lines, size_t most) {
	bool joins = lines->config->kind != FROM_ARGS && !lines->has_rules;
	lines->most = joins ? most : 0;
	return joins;
}

void lines_close(struct lines *lines) {
	if (lines->fd > STDIN_FILENO) {
		close(lines->fd);
	}
	lines->fd = -1;
	lines->next_arg = lines->config->nargs;
	line_buffer_fini(&lines->buffer);
	buf_fini(&lines->joined);
}

// ---- reading ----

// Nothing to be had without waiting for it?
static bool must_wait(const struct lines *lines) {
	struct pollfd in = {.fd = lines->fd, .events = POLLIN};
	// of a fifo that nobody has opened for writing yet, read() would say end of file; poll() waits (pipe(7), poll(2))
	return poll(&in, 1, 0) <= 0;
}

// Returns INPUT_RECORD when there are more bytes, or this was the end.
static enum input_status fill(struct lines *lines, struct buf *error) {
	if (lines->polls && must_wait(lines)) {
		return INPUT_WAIT;
	}
	size_t room;
	char *at = line_buffer_room(&lines->buffer, &room);
	ssize_t n = fault_fails("input") ? -1 : read_some(lines->fd, at, room);
	if (n < 0) {
		if (errno == EAGAIN || errno == EWOULDBLOCK) {
			return INPUT_WAIT;
		}
		add_error(lines, "read", errno, error);
		return INPUT_ERROR;
	}
	if (n > 0) {
		line_buffer_added(&lines->buffer, (size_t)n);
	} else {
		line_buffer_end(&lines->buffer);
	}
	return INPUT_RECORD;
}

static enum input_status next_arg(struct lines *lines, struct line *ret_line) {
	if (lines->next_arg == lines->config->nargs) {
		return INPUT_END;
	}
	char *text = lines->config->args[lines->next_arg++];
	*ret_line = (struct line){.text = text, .len = strlen(text)};
	return INPUT_RECORD;
}

static enum input_status next_line(struct lines *lines, struct line *ret_line, struct buf *error) {
	if (lines->config->kind == FROM_ARGS) {
		return next_arg(lines, ret_line);
	}
	if (lines->fd < 0) {
		return INPUT_END;
	}
	while (!(lines->most > 0 ? line_buffer_next_lines(&lines->buffer, lines->most, ret_line)
	                         : line_buffer_next(&lines->buffer, ret_line))) {
		if (lines->buffer.ended) {
			return INPUT_END;
		}
		enum input_status status = fill(lines, error);
		if (status != INPUT_RECORD) {
			return status;
		}
	}
	return INPUT_RECORD;
}

// ---- rules ----

// Adds the line to those before it. Returns true if the record is whole.
static bool join(struct lines *lines, struct line *line) {
	struct buf *joined = &lines->joined;
	if (!lines->is_open) {
		buf_reset(joined);
	} else {
		buf_add(joined, lines->buffer.longer ? lines->buffer.longer : &lines->buffer.delimiter,
		        lines->buffer.longer ? strlen(lines->buffer.longer) : 1);
	}
	lines->is_open = csv_is_open(line->text, line->len, lines->rules->csv, lines->is_open);
	buf_add(joined, line->text, line->len);
	const char *bad = line->bad ? line->bad : joined->len > LINE_BUFFER_MAX ? "the CSV record is longer than 16 MiB" : NULL;
	*line = (struct line){.text = buf_reserve(joined, 0) - joined->len, .len = joined->len, .bad = bad};
	lines->is_open = lines->is_open && !bad;
	return !lines->is_open;
}

// The next record of CSV, whatever lines it takes. One that the end of the input cuts off is given as it is.
static enum input_status next_joined(struct lines *lines, struct line *ret_line, struct buf *error) {
	for (;;) {
		enum input_status status = next_line(lines, ret_line, error);
		if (status == INPUT_END && lines->is_open) {
			lines->is_open = false;
			*ret_line = (struct line){.text = lines->joined.data, .len = lines->joined.len};
			return INPUT_RECORD;
		}
		bool is_whole = !lines->is_open && !csv_is_open(ret_line->text, status == INPUT_RECORD ? ret_line->len : 0, lines->rules->csv, false);
		if (status != INPUT_RECORD || is_whole || join(lines, ret_line)) {
			return status;
		}
	}
}

enum input_status lines_next(struct lines *lines, struct line *ret_line, struct buf *error) {
	if (!lines->has_rules) {
		return next_line(lines, ret_line, error);
	}
	for (;;) {
		bool joins = lines->rules->csv && !lines->skip_first && lines->config->kind != FROM_ARGS;
		enum input_status status = (joins ? next_joined : next_line)(lines, ret_line, error);
		if (status != INPUT_RECORD) {
			return status;
		}
		if (lines->skip_first) {
			lines->skip_first = false;
			continue;
		}
		if (lines->rules->end && strcmp(ret_line->text, lines->rules->end) == 0) {
			lines_close(lines);
			return INPUT_END;
		}
		if (!lines->rules->skip_blank || ret_line->bad || strspn(ret_line->text, " \t\n\v\f\r") < ret_line->len) {
			return INPUT_RECORD;
		}
	}
}
