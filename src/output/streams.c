// Writes output to the two descriptors stdout and stderr. Gathers small pieces in one buffer, and puts tags in front of lines.

#include "output/streams.h"

#include "base/alloc.h"
#include "base/io.h"
#include "base/write_limit.h"
#include "term/screen.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	GATHER_SIZE = 64 * 1024,
	GATHER_MAX = 8 * 1024,   // longer pieces are written directly, not gathered
	SPLICE_MAX = 1 << 20,
};

static struct sink sink_make(int fd) {
	struct stat st;
	bool blocks = fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
	return (struct sink){.fd = fd, .is_fifo = blocks && S_ISFIFO(st.st_mode), .nowait = blocks, .splice = true, .is_tty = isatty(fd) == 1};
}

void streams_init(struct streams *streams, int out_fd, int err_fd, void (*failed)(void *arg, int stream, int error), void *arg) {
	*streams = (struct streams){.sink = {sink_make(out_fd), sink_make(err_fd)}, .failed = failed, .arg = arg,
		.gather = xmalloc(GATHER_SIZE)};
}

void streams_fini(struct streams *streams) {
	free(streams->gather);
	buf_fini(&streams->shown);
}

static void sink_fail(struct streams *streams, int stream, int error) {
	streams->sink[stream].dead = true;
	streams->failed(streams->arg, stream, error);
}

// Waits until the descriptor takes bytes or has failed (the next write finds that out). After the time limit (write_limit()) marks the sink as dead.
static void wait_writable(struct streams *streams, int stream) {
	if (write_wait(streams->sink[stream].fd) != 0) {
		streams->gave_up = true;
		sink_fail(streams, stream, errno);
	}
}

// As streams_put(), but writes the bytes at once and gathers none.
static size_t sink_write_some(struct streams *streams, int stream, const char *mem, size_t len, bool wait) {
	struct sink *sink = &streams->sink[stream];
	while (!sink->dead) {
		bool nowait = sink->nowait, by_page = !nowait && (sink->is_fifo || sink->is_tty);
		if (by_page) {
			// pipe(7): a writable pipe has room for PIPE_BUF bytes, unless other processes write to it, too
			struct pollfd room = {.fd = sink->fd, .events = POLLOUT};
			if (!wait && poll(&room, 1, 0) == 0) {
				return 0;
			}
			if (wait) {
				wait_writable(streams, stream);
			}
			if (sink->dead) {
				break;
			}
		}
		ssize_t n = nowait ? write_nowait(sink->fd, mem, len) : write(sink->fd, mem, by_page ? write_piece_len(mem, len) : len);
		if (n > 0) {
			return (size_t)n;
		}
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			if (!wait) {
				return 0;
			}
			wait_writable(streams, stream);
		} else if (n < 0 && nowait && call_is_refused(errno)) {
			sink->nowait = false; // the kernel is too old for RWF_NOWAIT on this descriptor, or a seccomp filter refuses the call
		} else {
			sink_fail(streams, stream, n == 0 ? EIO : errno);
		}
	}
	streams->unread += streams->gave_up ? len : 0;
	return len;
}

static size_t sink_write(struct streams *streams, int stream, const char *mem, size_t len, bool wait) {
	int fd = streams->sink[stream].fd;
	screen_enter(fd);
	size_t n = sink_write_some(streams, stream, mem, len, wait);
	screen_leave(fd, n > 0 ? mem[n - 1] : -1);
	return n;
}

bool streams_pending(const struct streams *streams) {
	return streams->start < streams->len;
}

// Writes the gathered bytes before gather[end]. Returns as streams_flush().
static bool flush_until(struct streams *streams, size_t end, bool wait) {
	while (streams->start < end) {
		size_t n = sink_write(streams, streams->stream, streams->gather + streams->start, end - streams->start, wait);
		if (n == 0) {
			return false;
		}
		streams->start += n;
	}
	streams->len -= streams->start;
	memmove(streams->gather, streams->gather + streams->start, streams->len);
	streams->start = 0;
	return true;
}

bool streams_flush(struct streams *streams, bool wait) {
	return flush_until(streams, streams->len, wait);
}

// Writes gathered bytes, unless `len` bytes of the stream may follow them in the buffer. A line whose next bytes these are stays if it can.
static bool make_room(struct streams *streams, int stream, size_t len, bool wait) {
	size_t gathered = streams->len - streams->start;
	bool fits = len <= GATHER_MAX && streams->stream == stream;
	if (gathered == 0 || (fits && len <= GATHER_SIZE - streams->len)) {
		return true;
	}
	size_t lines = fits ? write_lines_len(streams->gather + streams->start, gathered) : gathered;
	return flush_until(streams, streams->start + lines, wait) && (len <= GATHER_SIZE - streams->len || streams_flush(streams, wait));
}

size_t streams_put(struct streams *streams, int stream, const char *mem, size_t len, bool wait) {
	bool in_line = streams_pending(streams) && streams->stream == stream && streams->gather[streams->len - 1] != '\n';
	const char *newline = in_line && len > GATHER_MAX ? memchr(mem, '\n', GATHER_MAX) : NULL;
	len = newline ? (size_t)(newline + 1 - mem) : len; // first completes the line that has begun in the buffer
	if (!make_room(streams, stream, len, wait)) {
		return 0;
	}
	if (len > GATHER_MAX) {
		return sink_write(streams, stream, mem, write_lines_len(mem, len), wait);
	}
	memcpy(streams->gather + streams->len, mem, len);
	streams->len += len;
	streams->stream = stream;
	return len;
}

static const char *find(const char *at, const char *end, char c) {
	const char *found = memchr(at, c, (size_t)(end - at));
	return found ? found : end;
}

// Returns the tag as the stream shows it: on a terminal, control bytes (which come from items) are escaped. A tag with a NUL, which
// spool_frame_lines() makes, has control bytes for fairpar's own colours, and is returned unchanged. Sets *ret_len.
static const char *tag_for(struct streams *streams, int stream, const char *tag, size_t tag_len, size_t *ret_len) {
	*ret_len = tag_len;
	if (!streams->sink[stream].is_tty || find(tag, tag + tag_len, '\0') < tag + tag_len) {
		return tag;
	}
	buf_reset(&streams->shown);
	buf_add_for(&streams->shown, streams->sink[stream].fd, tag, tag_len);
	*ret_len = streams->shown.len;
	return buf_str(&streams->shown);
}

size_t streams_put_tagged(struct streams *streams, int stream, const char *tag, size_t tag_len, struct tag_state *state,
                        const char *mem, size_t len, bool wait) {
	const char *at = mem, *end = mem + len;
	tag = tag_for(streams, stream, tag, tag_len, &tag_len);
	const char *tail = find(tag, tag + tag_len, '\0');
	size_t head_len = (size_t)(tail - tag), tail_len = tag_len - head_len;
	tail += tail_len > 0;
	tail_len -= tail_len > 0;
	while (at < end) {
		if (!state->in_line && state->at < head_len) {
			size_t n = streams_put(streams, stream, tag + state->at, head_len - state->at, wait);
			if (n == 0) {
				break;
			}
			state->at += n;
			continue;
		}
		state->in_line = true;
		const char *until = at;
		while (until < end && *until != '\n' && *until != '\r') {
			++until;
		}
		bool ends_here = until < end;
		until += ends_here;
		if (ends_here && state->tail_at < tail_len && until - at == 1) {
			size_t n = streams_put(streams, stream, tail + state->tail_at, tail_len - state->tail_at, wait);
			if (n == 0) {
				break;
			}
			state->tail_at += n;
			continue;
		}
		until -= ends_here && state->tail_at < tail_len; // the tail of the tag comes before the end of the line
		size_t n = streams_put(streams, stream, at, (size_t)(until - at), wait);
		if (n == 0) {
			break;
		}
		at += n;
		if (at[-1] == '\n' || at[-1] == '\r') {
			*state = (struct tag_state){.in_line = false};
		}
	}
	return (size_t)(at - mem);
}

static ssize_t sink_splice(struct streams *streams, int stream, int fd) {
	struct sink *sink = &streams->sink[stream];
	while (sink->splice && !sink->dead) {
		ssize_t n = splice_pipe(fd, sink->fd, SPLICE_MAX);
		if (n >= 0) {
			return n;
		}
		if (errno == EINTR) {
			continue;
		}
		if (errno != EAGAIN) {
			sink->splice = false; // splice(2) cannot write to this descriptor (a terminal, O_APPEND); or it has failed, and a write(2) will fail, too
			break;
		}
		// EAGAIN may mean that the input is empty, or that the output is full, even if the input has ended
		struct pollfd there = {.fd = fd, .events = POLLIN};
		int ready = poll(&there, 1, 0);
		if (ready == 0) {
			errno = EAGAIN;
			return -1;
		}
		if (ready > 0 && !(there.revents & POLLIN)) {
			return 0;
		}
		wait_writable(streams, stream);
	}
	errno = ENOTSUP;
	return -1;
}

ssize_t streams_splice(struct streams *streams, int stream, int fd) {
	int to = streams->sink[stream].fd;
	screen_enter(to);
	ssize_t n = sink_splice(streams, stream, fd);
	screen_leave(to, -1);
	return n;
}
