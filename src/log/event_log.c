// The log of events (--log): JSON Lines, written as the events happen.

#include "log/event_log.h"

#include "base/alloc.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/write_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PENDING_MAX = 16 << 20,
	TIMEOUT_S = 30,
	KEPT_BYTES = 256 * 1024, // the most memory of a buffer that is kept from one write to the next
	STACK_BYTES = 64 * 1024,
};

struct event_log {
	struct event_log_config config;
	uint64_t base;           // event time of the start of the run
	mutex lock;              // guards all down to `moved`; never held across a write
	struct buf added;
	unsigned lines;          // how many lines are in `added`
	uint64_t lost;           // lines that will not be written, after an error
	size_t writing;          // bytes of `written` that are still to be written; `written` belongs to the thread that set `writing`
	int error;               // errno, or 0
	cond change;             // tells the log's thread that there are lines, and other threads that it has written some
	bool over;               // nothing is added any more
	bool asleep;             // the log's thread sleeps
	bool gone;               // the log's thread has ended
	uint64_t moved;          // when the reader last took bytes, or last had no bytes to take (now_ns() time)
	struct buf written;      // used only by the thread that writes
	bool has_thread;
	thread thread;
};

int log_create(const char *path, bool keeps) {
	const int flags = O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | (keeps ? 0 : O_TRUNC);
	struct stat stat_;
	bool is_file = stat(path, &stat_) != 0 || S_ISREG(stat_.st_mode);
	int fd = is_file ? open(path, flags | O_RDWR, 0666) : -1;
	return fd >= 0 ? fd : write_open(path, flags | O_WRONLY, "nothing was run");
}

// ---- writing ----

// Moves `added` to `written`, with the lock held. The calling thread is the one that writes from now on.
static void take_added(struct event_log *log) {
	struct buf lines = log->added;
	log->added = log->written;
	log->written = lines;
	log->writing = lines.len;
	log->lines = 0;
}

static void forget_written(struct event_log *log) {
	if (log->written.cap > KEPT_BYTES) {
		buf_fini(&log->written);
	}
	buf_reset(&log->written);
}

// Writes all that was added. Called with the lock held, which is released during writes.
static void write_added(struct event_log *log) {
	while (log->writing == 0 && log->added.len > 0) {
		int error = log->error;
		take_added(log);
		mutex_unlock(&log->lock);
		if (error) {
			// once a line is lost, no later line is written
		} else if (log->config.fd < 0) {
			log->config.put(log->config.arg, log->written.data, log->written.len);
		} else if (write_all(log->config.fd, log->written.data, log->written.len) != 0) {
			error = errno;
		}
		forget_written(log);
		mutex_lock(&log->lock);
		log->error = log->error ? log->error : error;
		log->writing = 0;
	}
}

// ---- writing to a reader that may be slow ----

static bool has_failed(struct event_log *log) {
	FP_HOLD(&log->lock);
	return log->error != 0;
}

// Waits for the reader and writes a piece. Returns the bytes written, which may be 0, or -1 after an error.
static ssize_t write_piece(struct event_log *log, const char *lines, size_t len) {
	struct pollfd fds = {.fd = log->config.fd, .events = POLLOUT};
	ssize_t n = -1;
	errno = EAGAIN;
	if (poll(&fds, 1, -1) > 0 && !has_failed(log)) { // the log may have been given up meanwhile
		n = write(fds.fd, lines, write_piece_len(lines, len));
	}
	int error = n < 0 && errno != EINTR && errno != EAGAIN ? errno : 0;
	FP_HOLD(&log->lock);
	log->error = log->error ? log->error : error;
	log->writing -= n > 0 ? (size_t)n : 0;
	log->moved = now_ns();
	cond_broadcast(&log->change);
	return log->error ? -1 : n > 0 ? n : 0;
}

// Returns how many lines of `written` are not written; with the lock.
static uint64_t unwritten_lines(const struct event_log *log) {
	const char *end = buf_str(&log->written) + log->written.len, *at = end - log->writing;
	uint64_t n = 0;
	for (; (at = memchr(at, '\n', (size_t)(end - at))); ++at) {
		++n;
	}
	return n;
}

static void *thread_main(void *arg) {
	struct event_log *log = arg;
	FP_HOLD(&log->lock);
	while (!log->over || log->added.len > 0) {
		if (log->added.len == 0) {
			log->asleep = true;
			cond_wait(&log->change, &log->lock);
			log->asleep = false;
			continue;
		}
		take_added(log);
		bool failed = log->error;
		mutex_unlock(&log->lock);
		const char *at = log->written.data, *end = at + log->written.len;
		for (ssize_t n; !failed && at < end && (n = write_piece(log, at, (size_t)(end - at))) >= 0;) {
			at += n;
		}
		mutex_lock(&log->lock);
		log->lost += unwritten_lines(log);
		forget_written(log);
		log->writing = 0;
		cond_broadcast(&log->change);
	}
	log->gone = true;
	cond_broadcast(&log->change);
	return NULL;
}

// Returns the time at which the log is given up if its reader takes nothing until then.
static uint64_t give_up_time(const struct event_log *log) {
	uint64_t end = log->moved + log->config.timeout, limit = write_limit();
	return end < limit ? end : limit;
}

// With the lock: waits while more than `limit` bytes are to be written, as long as the reader goes on taking bytes.
static void wait_for_reader(struct event_log *log, size_t limit) {
	while (log->added.len + log->writing > limit && !log->error) {
		if (now_ns() >= give_up_time(log)) {
			log->error = ETIMEDOUT;
			cond_broadcast(&log->change);
			return;
		}
		cond_wait_until(&log->change, &log->lock, give_up_time(log));
	}
}

static void wake_thread(struct event_log *log, bool may_wait) {
	if (log->added.len > 0 && log->asleep) {
		log->moved = now_ns();
		log->asleep = false;
		cond_broadcast(&log->change);
	}
	if (may_wait) {
		wait_for_reader(log, log->config.pending_max);
	}
}

// ---- the functions of log/event_log.h ----

static bool needs_thread(int fd) {
	struct stat stat;
	return fd >= 0 && fstat(fd, &stat) == 0
		&& (S_ISFIFO(stat.st_mode) || S_ISSOCK(stat.st_mode) || (S_ISCHR(stat.st_mode) && isatty(fd)));
}

struct event_log *event_log_open(const struct event_log_config *config) {
	struct event_log *log = NEW(struct event_log);
	log->config = *config;
	log->config.pending_max = config->pending_max ? config->pending_max : PENDING_MAX;
	log->config.timeout = config->timeout ? config->timeout : TIMEOUT_S * NS_PER_S;
	mutex_init(&log->lock, LOCK_EVENT_LOG);
	cond_init(&log->change);
	log->moved = now_ns();
	log->has_thread = needs_thread(config->fd);
	int error = log->has_thread ? thread_start(&log->thread, thread_main, log, STACK_BYTES) : 0;
	if (error) {
		mutex_fini(&log->lock);
		cond_fini(&log->change);
		free(log);
		errno = error;
		return NULL;
	}
	return log;
}

void event_log_on_event(void *arg, const struct event *event) {
	struct event_log *log = arg;
	FP_HOLD(&log->lock);
	if (event->kind == EVENT_RUN_START) {
		log->base = event->at;
	}
	if (!log->error) {
		event_encode(&log->added, event, log->base);
		++log->lines;
	} else {
		++log->lost;
	}
}

// Does what event_log_flush() says, with the lock held.
static void flush(struct event_log *log, bool may_wait) {
	if (log->has_thread) {
		if (write_limit() != TIME_NEVER) {
			cond_broadcast(&log->change); // wakes the threads that wait for the reader, as they may not know of the write limit yet
		}
		wake_thread(log, may_wait);
	} else {
		write_added(log);
	}
}

int event_log_flush(struct event_log *log, bool may_wait) {
	FP_HOLD(&log->lock);
	flush(log, may_wait);
	return log->error;
}

int event_log_later(struct event_log *log, unsigned most, bool *ret_left) {
	FP_HOLD(&log->lock);
	*ret_left = !log->has_thread && log->lines <= most;
	if (!*ret_left) {
		flush(log, /* may_wait */ true);
	}
	return log->error;
}

// Ends the log's thread. Returns false if the thread does not end, because it is stuck in a write.
static bool end_thread(struct event_log *log) {
	mutex_lock(&log->lock);
	log->over = true;
	wake_thread(log, /* may_wait */ false);
	cond_broadcast(&log->change);
	wait_for_reader(log, 0);
	uint64_t deadline = now_ns() + (log->error == ETIMEDOUT ? 0 : log->config.timeout);
	while (!log->gone && cond_wait_until(&log->change, &log->lock, deadline)) {
	}
	bool gone = log->gone;
	mutex_unlock(&log->lock);
	if (gone) {
		thread_join(log->thread);
	}
	return gone;
}

int event_log_close(struct event_log *log, uint64_t *ret_lost) {
	bool gone = !log->has_thread || end_thread(log);
	if (ret_lost) {
		FP_HOLD(&log->lock);
		*ret_lost = log->lost + (gone ? 0 : log->lines + unwritten_lines(log));
	}
	if (!gone) {
		errno = ETIMEDOUT;
		return -1; // the thread keeps the log and the descriptor until the process ends
	}
	event_log_flush(log, /* may_wait */ false);
	int error = log->error;
	if (log->config.fd >= 0) {
		error = fd_finish(log->config.fd, error);
	}
	buf_fini(&log->added);
	buf_fini(&log->written);
	cond_fini(&log->change);
	mutex_fini(&log->lock);
	free(log);
	return result_of(error);
}
