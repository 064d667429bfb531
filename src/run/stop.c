// How a run is ended: by a signal, a halt, output that cannot be written, or the end of its input. All on the event loop's thread.
//
//	running -run_stop()-> stopping -terminate()-> terminating -second signal-> killing -third-> fairpar dies
//
// A halt or a lost output that other threads see is a flag (halt_now, output_failed) and a wake-up.

#include "run/stop.h"

#include "base/diag.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "process/signals.h"
#include "run/admission.h"
#include "run/dag.h"
#include "run/explain_live.h"
#include "run/feed.h"
#include "run/publish.h"
#include "run/retry_queue.h"
#include "run/status_display.h"
#include "run/terminal.h"
#include "term/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum {
	LAST_COLUMNS = 80,  // of a line of a running job, as it is listed
	READER_WAIT_S = 5,  // after a signal and the end of the last job, for a reader who does not read (DESIGN §15)
	KILLED_WAIT_S = 1,  // the same, after a second signal
};

void run_stop(struct run *run) {
	if (!run->stopping) {
		run->stopping = true;
		retry_queue_stop(run->retry_queue); // first: what needs a batch of these is skipped
		feeds_stop(run);
		dag_stop(run);
		terminal_cancel(run);
		if (run->admission) {
			admission_stop(run->admission);
		}
		pool_shutdown(run->pool, POOL_CANCELLING);
	}
}

static void terminate(struct run *run) {
	if (!run->terminating) {
		run->terminating = true;
		pool_pause(run->pool, true); // a slot that becomes free takes nothing more
		run->executor.terminate(run->executor.arg); // at once: to drop what is queued may take a while
		run_stop(run);
		pool_pause(run->pool, false);
	}
}

static void list_child(void *arg, const struct child_view *view) {
	uint64_t now = *(uint64_t *)arg;
	struct buf last = BUF_INIT;
	if (view->last) {
		buf_adds(&last, ": ");
		text_add_output(&last, view->last, strlen(view->last), LAST_COLUMNS);
	}
	diag_note("running for %.1fs, pid %ld: %s%s", (double)(now - view->start) / 1e9, (long)view->pid, text_shows(view->label),
	          buf_str(&last));
	buf_fini(&last);
}

static void suspend(struct run *run) {
	pool_pause(run->pool, true);
	children_signal(run->children, SIGSTOP);
	status_display_suspend(run);
	signals_stop_self();
	screen_forget();
	status_display_resume(run);
	children_signal(run->children, SIGCONT);
	pool_pause(run->pool, false);
}

static void answer_signal(struct run *run, int signal) {
	uint64_t now = now_ns();
	switch (signal) {
	case SIGTSTP:
		suspend(run);
		break;
	case SIGCONT:
		status_display_resume(run); // perhaps in the foreground
		break;
	case SIGUSR2:
		status_display_toggle(run);
		break;
	case SIGWINCH:
		status_display_resized(run);
		break;
	case SIGCHLD:
		children_rest(run->children);
		terminal_note_stops(run);
		break;
	case SIGUSR1:
		children_each(run->children, list_child, &now);
		dag_show(run);
		if (run->explain_live) {
			explain_live_print(run);
		}
		break;
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
	case SIGQUIT:
		if (run->killing) { // a third one: what keeps us is a reader who does not read
			children_kill_with_cookie(run->children);
			signals_die(signal);
		}
		if (run->signal) {
			run->killing = true;
			run->executor.kill(run->executor.arg);
			break;
		}
		run->signal = signal;
		if (signals_typed()) {
			screen_echoed();
		}
		write_limit_hasten();
		publish_cut(run, signals_name(signal));
		terminate(run);
		if (!run->options->quiet) {
			diag_note("stopping: the running jobs get SIGTERM; once more and they are killed");
		}
		break;
	default:
		break;
	}
}

void run_answer_signals(struct run *run) {
	int signal;
	while ((signal = signals_next(run->signal_fd)) != 0) {
		answer_signal(run, signal);
	}
}

void run_answer_flags(struct run *run) {
	if (atomic_load_acquire(&run->halt_now)) { // pairs with the store in run_halt()
		publish_cut(run, "not all jobs can run at once"); // for --tee: a halt has said why
		terminate(run);
	}
	if (!run->stopping && atomic_load_acquire(&run->output_failed)) {
		struct buf why = BUF_INIT;
		buf_printf(&why, "output cannot be written: %s", strerror(atomic_load_relaxed(&run->output_error)));
		publish_cut(run, why.data);
		buf_fini(&why);
		// like a filter whose reader has gone: what still runs would write for nobody
		if (atomic_load_relaxed(&run->output_error) == EPIPE) {
			terminate(run);
		} else {
			run_stop(run);
		}
	}
}

static const char unread[] = "fairpar: error: output was not written: nobody reads it\n";

// In a signal handler.
static void say_unread(void) {
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
	if (poll(&room, 1, 0) > 0 && (room.revents & POLLOUT)) {
		(void)!write(STDERR_FILENO, unread, sizeof(unread) - 1); // there is nobody else to be told
	}
	children_last_words(); // the guardian ends what is left
}

void run_limit_end(struct run *run) {
	if (atomic_load_relaxed(&run->output_error) == ETIME && !run->extended) {
		run->extended = true; // nobody waits for that reader any more
		signals_die_within(0, 0, NULL);
	}
	if (children_have_ended(run->children)) {
		unsigned limit = run->killing ? KILLED_WAIT_S : READER_WAIT_S;
		// a little earlier, for then the run gets its end
		write_limit_set(now_ns() + limit * NS_PER_S * (run->killing ? 2 : 4) / 5);
		signals_die_within(limit, run->signal, say_unread);
	}
}
