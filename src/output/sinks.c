// The two descriptors that output goes to, and the one buffer in which small pieces gather and tags are put in.

#include "output/sinks.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8 // linux/fs.h; not in every libc's sys/uio.h
#endif

enum {
	GATHER_SIZE = 64 * 1024,
	GATHER_MAX = 8 * 1024,   // longer pieces are written from where they are
	SPLICE_MAX = 1 << 20,
};

struct sink {
	int fd;
	bool nowait;        // a pipe or socket, and the kernel knows RWF_NOWAIT for it
	bool splice;        // splice(2) is worth a try
	bool dead;          // failed: everything is discarded
	bool is_tty;
};

struct sinks {
	struct sink sink[2];
	void (*failed)(void *arg, int stream, int error);
	void *arg;
	char *gather;       // GATHER_SIZE bytes, or NULL: not yet needed
	size_t start, len;  // gathered bytes from start to len
	int stream;         // theirs
	struct buf shown;   // a tag as a terminal gets it
};

static struct sink sink_make(int fd) {
	struct stat st;
	bool blocks = fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
	return (struct sink){.fd = fd, .nowait = blocks, .splice = true, .is_tty = isatty(fd) == 1};
}

struct sinks *sinks_create(int out_fd, int err_fd, void (*failed)(void *arg, int stream, int error), void *arg) {
	struct sinks *sinks = NEW(struct sinks);
	sinks->sink[0] = sink_make(out_fd);
	sinks->sink[1] = sink_make(err_fd);
	sinks->failed = failed;
	sinks->arg = arg;
	return sinks;
}

void sinks_destroy(struct sinks *sinks) {
	free(sinks->gather);
	buf_fini(&sinks->shown);
	free(sinks);
}

// Waits until the descriptor takes bytes or fails; the next write finds out.
static void wait_writable(int fd) {
	struct pollfd room = {.fd = fd, .events = POLLOUT};
	while (poll(&room, 1, -1) < 0 && errno == EINTR) {
	}
}

// A write that does not block although the descriptor may: O_NONBLOCK would change it for everybody who shares the open
// file. By system call because not every libc has the function (pwritev2(2), position -1: the file's own).
static ssize_t write_nowait(int fd, const char *mem, size_t len) {
#ifdef SYS_pwritev2
	struct iovec iov = {.iov_base = (void *)(size_t)mem, .iov_len = len};
	return syscall(SYS_pwritev2, fd, &iov, 1L, -1L, -1L, RWF_NOWAIT);
#else
	(void)fd, (void)mem, (void)len;
	errno = ENOSYS;
	return -1;
#endif
}

static void sink_fail(struct sinks *sinks, int stream, int error) {
	sinks->sink[stream].dead = true;
	sinks->failed(sinks->arg, stream, error);
}

// As sinks_put(), past the gathering.
static size_t sink_write_some(struct sinks *sinks, int stream, const char *mem, size_t len, bool wait) {
	struct sink *sink = &sinks->sink[stream];
	while (!sink->dead) {
		bool nowait = !wait && sink->nowait;
		ssize_t n = nowait ? write_nowait(sink->fd, mem, len) : write(sink->fd, mem, len);
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
			wait_writable(sink->fd);
		} else if (n < 0 && nowait && call_is_refused(errno)) {
			sink->nowait = false; // an older kernel, or a filter that does not know the call
		} else {
			sink_fail(sinks, stream, n == 0 ? EIO : errno);
		}
	}
	return len;
}

static size_t sink_write(struct sinks *sinks, int stream, const char *mem, size_t len, bool wait) {
	int fd = sinks->sink[stream].fd;
	screen_enter(fd);
	size_t n = sink_write_some(sinks, stream, mem, len, wait);
	screen_leave(fd, n > 0 ? mem[n - 1] : -1);
	return n;
}

bool sinks_pending(const struct sinks *sinks) {
	return sinks->start < sinks->len;
}

bool sinks_flush(struct sinks *sinks, bool wait) {
	while (sinks_pending(sinks)) {
		size_t n = sink_write(sinks, sinks->stream, sinks->gather + sinks->start, sinks->len - sinks->start, wait);
		if (n == 0) {
			return false;
		}
		sinks->start += n;
	}
	sinks->start = sinks->len = 0;
	return true;
}

size_t sinks_put(struct sinks *sinks, int stream, const char *mem, size_t len, bool wait) {
	if (sinks->sink[stream].dead) {
		return len;
	}
	if (sinks_pending(sinks) && (sinks->stream != stream || len > GATHER_SIZE - sinks->len || len > GATHER_MAX)) {
		if (!sinks_flush(sinks, wait)) {
			return 0;
		}
	}
	if (len > GATHER_MAX) {
		return sink_write(sinks, stream, mem, len, wait);
	}
	if (!sinks->gather) {
		sinks->gather = xmalloc(GATHER_SIZE);
	}
	memcpy(sinks->gather + sinks->len, mem, len);
	sinks->len += len;
	sinks->stream = stream;
	return len;
}

// Walks over the ends of lines, each byte looked at once for each of the two kinds.
struct line_ends {
	const char *end;
	const char *newline, *cr;   // the next of each from where the walk is, or `end`
};

static const char *find(const char *at, const char *end, char c) {
	const char *found = memchr(at, c, (size_t)(end - at));
	return found ? found : end;
}

// Returns the first byte behind the line that starts at `at`.
static const char *line_end(struct line_ends *ends, const char *at) {
	if (ends->newline < at) {
		ends->newline = find(at, ends->end, '\n');
	}
	if (ends->cr < at) {
		ends->cr = find(at, ends->end, '\r');
	}
	const char *first = ends->newline < ends->cr ? ends->newline : ends->cr;
	return first < ends->end ? first + 1 : first;
}

// The tag without the control bytes that an item may have brought; what is escaped already stays as it is. One that is two
// has colours of fairpar's own. Sets *ret_len.
static const char *tag_for(struct sinks *sinks, int stream, const char *tag, size_t tag_len, size_t *ret_len) {
	*ret_len = tag_len;
	if (!sinks->sink[stream].is_tty || find(tag, tag + tag_len, '\0') < tag + tag_len) {
		return tag;
	}
	buf_reset(&sinks->shown);
	buf_add_for(&sinks->shown, sinks->sink[stream].fd, tag, tag_len);
	*ret_len = sinks->shown.len;
	return buf_str(&sinks->shown);
}

size_t sinks_put_tagged(struct sinks *sinks, int stream, const char *tag, size_t tag_len, struct tag_state *state,
                        const char *mem, size_t len, bool wait) {
	const char *at = mem, *end = mem + len;
	tag = tag_for(sinks, stream, tag, tag_len, &tag_len);
	struct line_ends ends = {end, find(mem, end, '\n'), find(mem, end, '\r')};
	const char *tail = find(tag, tag + tag_len, '\0');
	size_t head_len = (size_t)(tail - tag), tail_len = tag_len - head_len;
	tail += tail_len > 0;
	tail_len -= tail_len > 0;
	while (at < end) {
		if (!state->in_line && state->at < head_len) {
			size_t n = sinks_put(sinks, stream, tag + state->at, head_len - state->at, wait);
			if (n == 0) {
				break;
			}
			state->at += n;
			continue;
		}
		state->in_line = true;
		const char *until = line_end(&ends, at);
		bool ends_here = until[-1] == '\n' || until[-1] == '\r';
		if (ends_here && state->tail_at < tail_len && until - at == 1) {
			size_t n = sinks_put(sinks, stream, tail + state->tail_at, tail_len - state->tail_at, wait);
			if (n == 0) {
				break;
			}
			state->tail_at += n;
			continue;
		}
		until -= ends_here && state->tail_at < tail_len; // the tail comes first
		size_t n = sinks_put(sinks, stream, at, (size_t)(until - at), wait);
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

static ssize_t sink_splice(struct sinks *sinks, int stream, int fd) {
	struct sink *sink = &sinks->sink[stream];
	while (sink->splice && !sink->dead) {
		ssize_t n = splice(fd, NULL, sink->fd, NULL, SPLICE_MAX, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n >= 0) {
			return n;
		}
		if (errno == EINTR) {
			continue;
		}
		if (errno != EAGAIN) {
			sink->splice = false; // not between these two (a terminal, O_APPEND), or a failure that write will name
			break;
		}
		// EAGAIN is said of either end, of a full one even at end of file
		struct pollfd there = {.fd = fd, .events = POLLIN};
		int ready = poll(&there, 1, 0);
		if (ready == 0) {
			errno = EAGAIN;
			return -1;
		}
		if (ready > 0 && !(there.revents & POLLIN)) {
			return 0;
		}
		wait_writable(sink->fd);
	}
	errno = ENOTSUP;
	return -1;
}

ssize_t sinks_splice(struct sinks *sinks, int stream, int fd) {
	int to = sinks->sink[stream].fd;
	screen_enter(to);
	ssize_t n = sink_splice(sinks, stream, fd);
	int error = errno;
	screen_leave(to, -1);
	errno = error;
	return n;
}
