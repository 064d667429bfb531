// Limits how long a write waits for a reader that does not read: there is no limit until a signal that ends the run sets one.

#include "base/write_limit.h"

#include "base/atomic.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	RECHECK_MS = 250, // how often a waiting thread checks the limit again if no descriptor can wake it when the limit changes
	REOPEN_MS = 20,   // how often the open() of a FIFO is tried again: no event shows that the FIFO has got a reader
};

static atomic_uint_least64_t limit_at = TIME_NEVER;
static atomic_int wake_fd = -1;              // wakes waiting threads when a limit is set; -1: no thread has waited yet
static _Thread_local int signals_fd = -1;    // the descriptor of write_limit_watch(), or -1
static _Thread_local bool is_hastened;       // this thread has called write_limit_hasten()

void write_limit_set(uint64_t limit) {
	uint64_t old = atomic_load(&limit_at);
	FP_KEEP_ERRNO;
	while (limit < old && !atomic_compare_exchange_weak(&limit_at, &old, limit)) {
	}
	// seq_cst: either a thread that is about to wait sees the limit, or this thread sees the descriptor that wakes it
	wakeup_post(limit < old ? atomic_load(&wake_fd) : -1);
}

uint64_t write_limit(void) {
	return atomic_load(&limit_at);
}

void write_limit_watch(int signal_fd) {
	signals_fd = signal_fd;
}

void write_limit_hasten(void) {
	is_hastened = true;
}

// Returns the descriptor that becomes readable when a limit is set, for poll(2) alone: nobody reads from it. Returns -1 if none can be made.
static int limit_fd(void) {
	int fd = atomic_load(&wake_fd), none = -1;
	if (fd < 0) {
		fd = wakeup_open();
		if (fd >= 0 && !atomic_compare_exchange_strong(&wake_fd, &none, fd)) {
			close(fd);
			fd = none;
		}
	}
	return fd;
}

int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
size_t nending_signals = sizeof(ending_signals) / sizeof(ending_signals[0]);

void take_from_ending_signals(int signal) {
	for (size_t i = 0; i < nending_signals; ++i) {
		if (ending_signals[i] == signal) {
			ending_signals[i] = ending_signals[--nending_signals];
		}
	}
}

void get_ending_signals(sigset_t *ret_set) {
	sigemptyset(ret_set);
	for (size_t i = 0; i < nending_signals; ++i) {
		sigaddset(ret_set, ending_signals[i]);
	}
}

bool is_ending_signal(int signal) {
	sigset_t set;
	get_ending_signals(&set);
	return sigismember(&set, signal) == 1;
}

static bool is_end_pending(void) {
	sigset_t set;
	bool is_pending = false;
	for (size_t i = 0; sigpending(&set) == 0 && i < nending_signals; ++i) {
		is_pending = is_pending || sigismember(&set, ending_signals[i]) == 1;
	}
	return is_pending;
}

// Returns how many ms poll() may wait: at most RECHECK_MS, 0 when the limit has passed. If no limit is set, but a signal ends the run, the limit is a
// second after the first such call, which sets *own. Without limit and signal: -1 if a descriptor wakes the thread (`has_fd`), else RECHECK_MS.
static int time_left(uint64_t *own, bool has_fd) {
	uint64_t limit = write_limit();
	if (limit == TIME_NEVER && (is_hastened || (signals_fd >= 0 && is_end_pending()))) {
		*own = *own ? *own : now_ns();
		limit = *own + NS_PER_S;
	}
	if (limit == TIME_NEVER) {
		return has_fd ? -1 : RECHECK_MS;
	}
	uint64_t now = now_ns(), left = limit > now ? (limit - now) / NS_PER_MS + 1 : 0;
	return left < RECHECK_MS ? (int)left : RECHECK_MS; // an earlier limit may be set meanwhile
}

int write_wait(int fd) {
	struct pollfd now = {.fd = fd, .events = POLLOUT};
	if (poll(&now, 1, 0) > 0) {
		return 0;
	}
	int wake = limit_fd();
	for (uint64_t own = 0;;) {
		int ms = time_left(&own, wake >= 0);
		if (ms == 0) {
			errno = ETIME;
			return -1;
		}
		bool is_unlimited = ms < 0;
		struct pollfd fds[] = {
			{.fd = fd, .events = POLLOUT},
			{.fd = is_unlimited ? wake : -1, .events = POLLIN},
			{.fd = is_unlimited ? signals_fd : -1, .events = POLLIN},
		};
		int ready = poll(fds, 3, ms);
		if (ready > 0 && fds[0].revents) {
			return 0;
		}
		// a pending signal that does not end the run is answered later; signals_fd stays readable until then, so this poll() leaves it out
		if (ready > 0 && fds[2].revents && !is_end_pending() && poll(fds, 1, RECHECK_MS) > 0) {
			return 0;
		}
	}
}

size_t write_lines_len(const char *lines, size_t len) {
	const char *newline = memrchr(lines, '\n', len);
	return newline ? (size_t)(newline + 1 - lines) : len;
}

size_t write_piece_len(const char *lines, size_t len) {
	return len <= PIPE_BUF ? len : write_lines_len(lines, PIPE_BUF);
}

int write_limited(int fd, const void *mem, size_t len) {
	struct stat stat;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
		return write_all(fd, mem, len);
	}
	const char *bytes = mem;
	size_t done = 0;
	// pipe(7): a writable pipe has room for PIPE_BUF bytes, unless other processes write to the pipe, too
	while (done < len && write_wait(fd) == 0 &&
	       (io_goes_on(write(fd, bytes + done, write_piece_len(bytes + done, len - done)), &done) || errno == EAGAIN)) {
	}
	return done == len ? 0 : -1;
}

int write_open(const char *path, int flags, const char *end) {
	struct stat stat_;
	if (stat(path, &stat_) != 0 || !S_ISFIFO(stat_.st_mode) || (flags & O_ACCMODE) != O_WRONLY) {
		return open(path, flags, 0666);
	}
	const struct timespec pause = {.tv_nsec = REOPEN_MS * NS_PER_MS};
	uint64_t say_at = now_ns() + NS_PER_S;
	sigset_t ending, mask;
	verify(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
	sigemptyset(&ending); // the signals that end a run and would end this process now
	for (size_t i = 0; i < nending_signals; ++i) {
		struct sigaction action;
		verify(sigaction(ending_signals[i], NULL, &action) == 0);
		if (action.sa_handler == SIG_DFL && !sigismember(&mask, ending_signals[i])) { // a signal that nohup made ignored stays ignored
			sigaddset(&ending, ending_signals[i]);
		}
	}
	verify(pthread_sigmask(SIG_BLOCK, &ending, NULL) == 0);
	int fd;
	// fifo(7): open() fails with ENXIO while there is no reader
	while ((fd = open(path, flags | O_NONBLOCK, 0666)) < 0 && errno == ENXIO && now_ns() < write_limit()) {
		int signal = sigtimedwait(&ending, NULL, &pause);
		if (signal > 0) {
			diag_note("ended by a signal while waiting for a reader of '%s': %s", text_shows(path), end);
			verify(pthread_sigmask(SIG_SETMASK, &mask, NULL) == 0);
			raise(signal);
		} else if (now_ns() >= say_at) {
			diag_note("waiting for a reader of '%s'", text_shows(path));
			say_at = TIME_NEVER;
		}
	}
	int error = fd < 0 && errno == ENXIO ? ETIME : errno;
	verify(pthread_sigmask(SIG_SETMASK, &mask, NULL) == 0);
	int status = fd >= 0 ? fcntl(fd, F_GETFL) : -1;
	verify(fd < 0 || (status >= 0 && fcntl(fd, F_SETFL, status & ~O_NONBLOCK) == 0));
	errno = error;
	return fd;
}
