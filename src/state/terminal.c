// The terminal: questions before jobs (-p), and jobs that get the terminal for themselves (-o).

#include "state/run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "state/publish.h"
#include "process/signals.h"
#include "term/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

struct terminal {
	int fd;
	int cancel_fd; // readable once no answer is to be waited for any more
};

int terminal_open(struct run *run) {
	const struct options *options = run->options;
	int fd = options->dry_run ? -1 : open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && options->interactive && !options->dry_run) {
		return diag_error("--interactive: there is no terminal to ask on: %s", strerror(errno));
	}
	if (fd < 0 && !options->dry_run && !options->quiet) {
		diag_warn("--tty: there is no terminal: %s", strerror(errno));
	}
	if (fd < 0) {
		return 0;
	}
	struct terminal *terminal = run->terminal = NEW(struct terminal);
	terminal->fd = fd;
	terminal->cancel_fd = wakeup_open();
	if (terminal->cancel_fd < 0) {
		return diag_error("cannot set up the terminal: %s", strerror(errno));
	}
	return 0;
}

void terminal_close(struct run *run) {
	struct terminal *terminal = run->terminal;
	if (terminal) {
		close(terminal->fd);
		fd_close(&terminal->cancel_fd);
		free(terminal);
		run->terminal = NULL;
	}
}

// ---- questions ----

void terminal_cancel(struct run *run) {
	if (run->terminal) {
		wakeup_post(run->terminal->cancel_fd);
	}
}

// Reads a line, up to its newline or the end of the input. Returns false if no answer can be read.
static bool read_answer(const struct terminal *terminal, struct buf *answer) {
	for (;;) {
		struct pollfd fds[] = {{.fd = terminal->fd, .events = POLLIN}, {.fd = terminal->cancel_fd, .events = POLLIN}};
		char text[256];
		ssize_t n = -1;
		int ready = poll(fds, 2, -1);
		verify(ready >= 0 || errno == EINTR || errno == ENOMEM);
		if (ready > 0 && fds[1].revents) {
			return false;
		}
		if (ready > 0 && (n = read(terminal->fd, text, sizeof(text))) < 0 && errno != EINTR) {
			diag_error("cannot read from the terminal: %s", strerror(errno));
			return false;
		}
		if (n > 0) {
			buf_add(answer, text, (size_t)n);
		}
		if (n == 0 || (n > 0 && text[n - 1] == '\n')) {
			return n > 0 || answer->len > 0;
		}
	}
}

bool terminal_confirm(struct run *run, const char *command) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	buf_add_for(&text, STDERR_FILENO, command, strlen(command));
	buf_adds(&text, " ?...");
	screen_enter(STDERR_FILENO);
	screen_begin_line();
	bool asked = write_all(STDERR_FILENO, text.data, text.len) == 0;
	if (!asked) {
		diag_error("cannot ask on standard error: %s", strerror(errno));
		atomic_store_relaxed(&run->trouble, true);
	}
	buf_reset(&text);
	bool answered = asked && read_answer(run->terminal, &text);
	screen_leave(STDERR_FILENO, '\n'); // the newline that ends the answer
	const char *at = buf_str(&text);
	at += strspn(at, " \t");
	return answered && (*at == 'y' || *at == 'Y');
}

// ---- the foreground ----

int terminal_fd(const struct run *run) {
	return run->options->tty && run->terminal ? run->terminal->fd : -1;
}

bool terminal_is_ours(const struct run *run) {
	return tcgetpgrp(run->terminal->fd) == getpgrp();
}

// Makes `group` the foreground group, even if fairpar is in the background: SIGTTOU, which would stop fairpar, is blocked, as in a shell.
static void give_foreground(const struct terminal *terminal, pid_t group) {
	sigset_t stop, old;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	verify(pthread_sigmask(SIG_BLOCK, &stop, &old) == 0);
	if (tcsetpgrp(terminal->fd, group) != 0 && errno != ENOTTY && errno != EIO) { // the terminal may have gone
		diag_warn("cannot change the foreground of the terminal: %s", strerror(errno));
	}
	verify(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
}

void terminal_take_back(struct run *run, const struct result *result) {
	give_foreground(run->terminal, getpgrp());
	if (result->outcome == OUTCOME_SIGNAL && (result->term_signal == SIGINT || result->term_signal == SIGQUIT)) {
		publish_set_stop_signal(run, result->term_signal);
		pool_shutdown(run->pool); // at once, because the event loop may see the signal only after the next job has started
		kill(getpid(), result->term_signal);
	}
}

void terminal_lend(struct run *run) {
	give_foreground(run->terminal, getpgrp());
}

void terminal_return(struct run *run, pid_t pid) {
	if (pid > 0 && terminal_is_ours(run)) {
		give_foreground(run->terminal, pid);
	}
}

static const char *stop_cause(int signal) {
	switch (signal) {
	case SIGTTIN: return "it reads from the terminal and is not in the foreground";
	case SIGTTOU: return "it changes the terminal and is not in the foreground";
	case SIGTSTP: return "by a key on the terminal";
	default: return "by a signal";
	}
}

static void note_stop(void *arg, const struct child_view *view) {
	struct run *run = arg;
	diag_note("stopped: job %s: %s (SIG%s)", text_shows(view->label), stop_cause(view->stop_signal),
	          signal_name(view->stop_signal) ? signal_name(view->stop_signal) : "STOP");
	if (view->stop_signal != SIGTSTP || tcgetpgrp(run->terminal->fd) != view->pid) {
		return;
	}
	give_foreground(run->terminal, getpgrp());
	signals_stop_self();
	give_foreground(run->terminal, view->pid);
	kill(-view->pid, SIGCONT);
}

void terminal_note_stops(struct run *run) {
	if (run->terminal) {
		children_each(run->children, /* stopped_only */ true, note_stop, run);
	}
}
