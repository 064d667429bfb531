// The records of one source, one after the other: lines of a descriptor, or arguments.

#include "plan/lines.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	READ_BYTES = 64 << 10,
	SHOWN_BYTES = 80, // of a line that is too long
};

static const char *const TOO_LONG = "the line is longer than 16 MiB";
static const char *const HAS_NUL = "there is a NUL byte in the line (for NUL-terminated items use -0)";

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

int lines_open(struct lines *lines, const struct source_config *config, char delimiter, struct buf *error) {
	*lines = (struct lines){.config = config, .delimiter = delimiter, .fd = -1};
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
			lines->cap = READ_BYTES;
			lines->data = xmalloc(lines->cap + 1);
			return 0;
		}
		errno = EISDIR;
	}
	add_error(lines, "open", errno, error);
	lines_close(lines);
	return -1;
}

void lines_close(struct lines *lines) {
	if (lines->fd > STDIN_FILENO) {
		close(lines->fd);
	}
	lines->fd = -1;
	free(lines->data);
	lines->data = NULL;
}

// ---- reading ----

// Moves what is left to the front, and makes room behind it: more for a long line, the usual again after one.
static void make_room(struct lines *lines) {
	size_t left = lines->end - lines->start;
	if (lines->start > 0) {
		memmove(lines->data, lines->data + lines->start, left);
		lines->start = 0;
		lines->end = left;
	}
	size_t cap = lines->cap;
	if (left == cap) {
		cap *= 2;
	} else if (left < READ_BYTES) {
		cap = READ_BYTES;
	}
	if (cap != lines->cap) {
		lines->data = xrealloc(lines->data, cap + 1);
		lines->cap = cap;
	}
}

// Nothing to be had without waiting for it?
static bool must_wait(const struct lines *lines) {
	struct pollfd in = {.fd = lines->fd, .events = POLLIN};
	int n;
	do {
		n = poll(&in, 1, 0);
	} while (n < 0 && errno == EINTR);
	// of a fifo that nobody has opened for writing yet, read() would say end of file; poll() waits (pipe(7), poll(2))
	return n == 0;
}

// Returns INPUT_RECORD when there are more bytes, or this was the end.
static enum input_status fill(struct lines *lines, struct buf *error) {
	if (lines->polls && must_wait(lines)) {
		return INPUT_WAIT;
	}
	make_room(lines);
	char *at = lines->data + lines->end;
	ssize_t n;
	do {
		errno = fault_errno("input");
		n = errno ? -1 : read(lines->fd, at, lines->cap - lines->end);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		if (errno == EAGAIN || errno == EWOULDBLOCK) {
			return INPUT_WAIT;
		}
		add_error(lines, "read", errno, error);
		return INPUT_ERROR;
	}
	if (lines->delimiter != '\0') {
		bool kept_nul = lines->may_hold_nul && memchr(lines->data, '\0', lines->end);
		lines->may_hold_nul = kept_nul || memchr(at, '\0', (size_t)n);
	}
	lines->end += (size_t)n;
	lines->ended = n == 0;
	return INPUT_RECORD;
}

// Takes `len` bytes and the delimiter behind them (or the NUL at the end) out of the buffer as a line.
static void take_line(struct lines *lines, size_t len, struct line *ret_line) {
	char *text = lines->data + lines->start;
	text[len] = '\0';
	*ret_line = (struct line){.text = text, .len = len};
	if (len > INPUT_LINE_MAX) {
		text[SHOWN_BYTES] = '\0';
		ret_line->bad = TOO_LONG;
	} else if (lines->may_hold_nul && memchr(text, '\0', len)) {
		ret_line->bad = HAS_NUL;
	}
	if (ret_line->bad) {
		ret_line->len = strlen(text);
	}
	lines->start += len + 1;
	lines->searched = 0;
}

// Takes the beginning of a line that is too long and has not ended yet; the rest is skipped.
static void take_beginning(struct lines *lines, struct line *ret_line) {
	take_line(lines, lines->end - lines->start, ret_line);
	lines->start = lines->end = 0;
	lines->skipping = true;
}

static enum input_status next_arg(struct lines *lines, struct line *ret_line) {
	if (lines->next_arg == lines->config->nargs) {
		return INPUT_END;
	}
	char *text = lines->config->args[lines->next_arg++];
	*ret_line = (struct line){.text = text, .len = strlen(text)};
	return INPUT_RECORD;
}

enum input_status lines_next(struct lines *lines, struct line *ret_line, struct buf *error) {
	if (lines->config->kind == FROM_ARGS) {
		return next_arg(lines, ret_line);
	}
	if (lines->fd < 0) {
		return INPUT_END;
	}
	for (;;) {
		const char *start = lines->data + lines->start;
		size_t left = lines->end - lines->start;
		const char *end = memchr(start + lines->searched, lines->delimiter, left - lines->searched);
		if (end && lines->skipping) {
			lines->skipping = false;
			lines->start += (size_t)(end - start) + 1;
			lines->searched = 0;
			continue;
		}
		if (end) {
			take_line(lines, (size_t)(end - start), ret_line);
			return INPUT_RECORD;
		}
		lines->searched = left;
		if (lines->skipping) {
			lines->start = lines->end = lines->searched = 0;
		} else if (left > INPUT_LINE_MAX) {
			take_beginning(lines, ret_line);
			return INPUT_RECORD;
		}
		if (lines->ended) {
			bool is_last = !lines->skipping && left > 0;
			if (is_last) {
				take_line(lines, left, ret_line); // the byte behind the buffer takes its NUL
				lines->end = lines->start;
			}
			return is_last ? INPUT_RECORD : INPUT_END;
		}
		enum input_status status = fill(lines, error);
		if (status != INPUT_RECORD) {
			return status;
		}
	}
}
