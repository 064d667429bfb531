// Keeps fairpar's own lines (the status line) at the bottom of the terminal.
//
//   GONE --screen_draw()--> SHOWN --screen_enter(), screen_clear()--> GONE
//
// A thread sets `busy` while it writes something that changes this state; other threads wait until `busy` is cleared. `writers` counts the threads
// between screen_enter() and screen_leave(); meanwhile nothing is drawn. The last writer that leaves does not draw, because the text of the lines may
// be out of date: it calls `changed`, upon which the owner calls screen_draw() with new text.

#include "term/screen.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/buf.h"
#include "base/sync.h"
#include "base/write_limit.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

enum {
	PIPE_MS = 100,  // in this time the reader of a pipe (tee, cat) has usually written the bytes to the terminal
};

static atomic_bool is_open;

static struct {
	mutex lock;
	cond free;             // signalled when `busy` is cleared
	bool disturbed[3];     // the own lines are erased before anything is written to this descriptor (screen_enter())
	bool moves_cursor[3];  // what is written to this descriptor ends up on the terminal at once, so its last byte tells where the cursor is
	bool busy;
	bool shown;
	bool in_line;          // the cursor is behind text
	bool resized;          // the terminal was resized since the last drawing
	bool wants;            // own lines are wanted, though they may be erased now
	unsigned writers;
	struct buf text;       // the own lines as they were last drawn
	unsigned rows;         // rows of `text`
	uint64_t cleared;      // when the own lines were erased; 0: the own lines are shown, or are not wanted
	bool called;           // `changed` was called since the last screen_draw()
	uint64_t rest;         // the own lines are not drawn again before this time
	void (*changed)(void *arg);
	void *arg;
} screen = {.lock = MUTEX_INIT(LOCK_SCREEN)};

// This thread is between lock() and unlock(). If something fails meanwhile, its message is written without screen_enter().
static _Thread_local bool is_inside;

static void lock(void) {
	mutex_lock(&screen.lock);
	is_inside = true;
}

static void unlock(void) {
	is_inside = false;
	mutex_unlock(&screen.lock);
}

void screen_open(void (*changed)(void *arg), void *arg) {
	struct stat out, own;
	if (isatty(STDERR_FILENO) != 1) {
		return;
	}
	bool out_known = fstat(STDOUT_FILENO, &out) == 0, same = fstat(STDERR_FILENO, &own) == 0 && out_known && own.st_rdev == out.st_rdev;
	bool out_is_tty = isatty(STDOUT_FILENO) == 1, out_is_pipe = out_known && (S_ISFIFO(out.st_mode) || S_ISSOCK(out.st_mode));
	cond_init(&screen.free);
	screen.changed = changed;
	screen.arg = arg;
	screen.disturbed[STDERR_FILENO] = screen.moves_cursor[STDERR_FILENO] = true;
	screen.moves_cursor[STDOUT_FILENO] = out_is_tty && same;
	screen.disturbed[STDOUT_FILENO] = changed ? out_is_tty || out_is_pipe : screen.moves_cursor[STDOUT_FILENO];
	atomic_store_release(&is_open, true); // pairs with the acquire in disturbs()
}

// ---- drawing ----

// Waits until nobody draws. The lock is held.
static void wait_free(void) {
	while (screen.busy) {
		cond_wait(&screen.free, &screen.lock);
	}
}

// Writes the bytes. Gives the lock back meanwhile, but no other thread draws. Ignores a failure: if the terminal has gone, the threads that write
// output will find that out.
static void put_locked(const struct buf *bytes) {
	screen.busy = true;
	unlock();
	FP_KEEP_ERRNO;
	(void)!write_limited(STDERR_FILENO, buf_str(bytes), bytes->len);
	lock();
	screen.busy = false;
	cond_broadcast(&screen.free);
}

// Erases the own lines, and writes `last` in their place. The lock is held, and given back meanwhile.
static void clear_locked(const char *last) {
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	if (screen.shown) {
		// erases from the cursor down: after a resize the own lines may take more rows than they were drawn in
		buf_adds(&bytes, screen.rows > 1 || screen.resized ? "\r\033[J" : "\r\033[K");
	}
	if (last) {
		buf_adds(&bytes, last);
	}
	if (screen.shown && screen.wants) {
		screen.cleared = now_ns();
	}
	screen.shown = screen.resized = false;
	if (bytes.len > 0) {
		put_locked(&bytes);
	}
}

bool screen_is_in_background(void) {
	pid_t group = tcgetpgrp(STDERR_FILENO);
	return group >= 0 && group != getpgrp(); // -1: the terminal is not that of this session, so it has no foreground for this process
}

// Returns whether the terminal takes bytes. A terminal that was stopped (Ctrl-S) takes none, and a drawing does not wait for it.
static bool takes_bytes(void) {
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
	return poll(&room, 1, 0) == 1 && (room.revents & POLLOUT);
}

static bool may_draw(void) {
	return screen.writers == 0 && !screen.in_line && !screen.busy;
}

// Draws screen.text over the `old_rows` rows that may be shown. The lock is held, and given back meanwhile.
static void draw_locked(const char *prefix, unsigned old_rows) {
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	buf_adds(&bytes, prefix ? prefix : "");
	buf_adds(&bytes, screen.shown && screen.resized ? "\r\033[J" : "\r");
	for (const char *at = buf_str(&screen.text); *at;) {
		size_t len = strcspn(at, "\n");
		buf_add(&bytes, at, len);
		at += len + (at[len] == '\n');
		buf_adds(&bytes, *at ? "\033[K\r\n" : "\033[K");
	}
	buf_adds(&bytes, screen.shown && old_rows > screen.rows ? "\033[J\r" : "\r");
	if (screen.rows > 1) {
		buf_printf(&bytes, "\033[%uA", screen.rows - 1);
	}
	screen.shown = true;
	screen.resized = false;
	screen.cleared = 0;
	put_locked(&bytes);
}

bool screen_draw(const char *prefix, const char *text, unsigned rows) {
	bool can = !screen_is_in_background() && takes_bytes();
	lock();
	screen.called = false; // `changed` is to be called again if the lines are erased from now on, or cannot be drawn now
	can = can && may_draw();
	if (can && (prefix || !screen.shown || screen.resized || strcmp(buf_str(&screen.text), text) != 0)) {
		unsigned old_rows = screen.rows;
		buf_reset(&screen.text);
		buf_adds(&screen.text, text);
		screen.rows = rows;
		screen.wants = true;
		draw_locked(prefix, old_rows);
	}
	unlock();
	return can;
}

void screen_clear(const char *last) {
	lock();
	wait_free();
	screen.wants = screen.called = false;
	screen.cleared = 0;
	clear_locked(last);
	unlock();
}

void screen_resized(void) {
	lock();
	screen.resized = true;
	unlock();
}

uint64_t screen_next_draw(uint64_t *ret_cleared) {
	lock();
	uint64_t rest = screen.rest;
	*ret_cleared = may_draw() ? screen.cleared : 0;
	unlock();
	return rest;
}

void screen_close(void) {
	if (!atomic_load_relaxed(&is_open)) {
		return;
	}
	screen_clear(NULL);
	atomic_store_release(&is_open, false);
	buf_fini(&screen.text);
	cond_fini(&screen.free);
}

// ---- writing ----

static bool disturbs(int fd) {
	return atomic_load_acquire(&is_open) && !is_inside && fd <= STDERR_FILENO && screen.disturbed[fd]; // pairs with the release in screen_open()
}

void screen_enter(int fd) {
	if (!disturbs(fd)) {
		return;
	}
	lock();
	wait_free();
	++screen.writers;
	if (screen.shown) {
		clear_locked(NULL);
	}
	unlock();
}

void screen_leave(int fd, int last) {
	if (!disturbs(fd)) {
		return;
	}
	FP_KEEP_ERRNO;
	bool again = false;
	lock();
	--screen.writers;
	if (screen.moves_cursor[fd] && last >= 0) {
		screen.in_line = last != '\n';
	}
	if (!screen.moves_cursor[fd]) {
		screen.rest = now_ns() + (uint64_t)PIPE_MS * NS_PER_MS;
	}
	if (screen.changed && screen.wants && !screen.shown && !screen.called && may_draw()) {
		again = screen.called = true; // the lines have to be drawn again, with new text
	}
	unlock();
	if (again) {
		screen.changed(screen.arg);
	}
}

int screen_write(int fd, const void *mem, size_t len) {
	screen_enter(fd);
	int result = write_limited(fd, mem, len);
	screen_leave(fd, result == 0 && len > 0 ? ((const char *)mem)[len - 1] : -1);
	return result;
}

void screen_begin_line(void) {
	if (!disturbs(STDERR_FILENO)) {
		return;
	}
	lock();
	bool in_line = screen.in_line;
	screen.in_line = false; // if two threads say something at once, only one of them ends the line
	unlock();
	if (in_line) {
		(void)!write_limited(STDERR_FILENO, "\n", 1); // if this fails, so does the write that follows
	}
}

int screen_say(const void *mem, size_t len) {
	screen_enter(STDERR_FILENO);
	screen_begin_line();
	int result = screen_write(STDERR_FILENO, mem, len);
	screen_leave(STDERR_FILENO, -1);
	return result;
}

void screen_echoed(void) {
	struct termios settings;
	const tcflag_t echo = ECHO | ECHOCTL;
	if (!disturbs(STDERR_FILENO) || tcgetattr(STDERR_FILENO, &settings) != 0 || (settings.c_lflag & echo) != echo) {
		return;
	}
	lock();
	screen.in_line = screen.in_line || !screen.shown; // if the own lines are shown, the echo is within them, and is erased with them
	unlock();
}

void screen_assume_line_start(void) {
	if (disturbs(STDERR_FILENO)) {
		lock();
		screen.in_line = false;
		unlock();
	}
}

// ---- colours ----

static bool is_set(const char *name, bool or_zero) {
	const char *value = getenv(name);
	return value && *value != '\0' && (or_zero || strcmp(value, "0") != 0);
}

bool colour_wanted(int fd) {
	if (is_set("NO_COLOR", /* or_zero */ true)) {
		return false;
	}
	if (is_set("FORCE_COLOR", /* or_zero */ false) || is_set("CLICOLOR_FORCE", /* or_zero */ false)) {
		return true;
	}
	const char *term = getenv("TERM");
	return isatty(fd) == 1 && term && strcmp(term, "dumb") != 0;
}
