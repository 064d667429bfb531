// The run from its first record to its exit status, and its event loop.
//
// The main thread reads input (feed.c), answers signals and times the end of jobs that must end; the workers of the
// pool run the jobs (job_run.c). The loop sleeps in poll() until a signal, input, or one of the wake-ups below comes:
// the pool wants more items or is idle, --halt now, output that cannot be written, a full trace buffer.
//
// What ends a run stands in stop.c.

#include "run/run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "base/wakeup.h"
#include "process/context.h"
#include "process/signals.h"
#include "run/admission.h"
#include "run/dag.h"
#include "run/end_summary.h"
#include "run/explain_live.h"
#include "run/feed.h"
#include "run/log_sink.h"
#include "run/pictures.h"
#include "run/status_display.h"
#include "run/publish.h"
#include "run/retry_queue.h"
#include "run/setup.h"
#include "run/stop.h"
#include "term/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 100 };

// ---- the loop ----

static void flush_trace(struct run *run) {
	if (run->trace && trace_flush(run->trace) != 0 && !atomic_exchange(&run->trouble, true)) {
		diag_error("cannot write '%s': %s", text_shows(run->options->trace_service), strerror(errno));
	}
}

// What the loop polls, kept from pass to pass.
struct poll_set {
	struct pollfd *at;
	size_t cap;
};

// Polls for signals, wake-ups and the inputs that wait. `timeout_ms` as for poll().
static void loop_poll(struct run *run, struct poll_set *fds, int timeout_ms) {
	size_t n = 3;
	grow_array(&fds->at, &fds->cap, n, sizeof(*fds->at));
	fds->at[0] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
	fds->at[1] = (struct pollfd){.fd = run->wake_fd, .events = POLLIN};
	fds->at[2] = (struct pollfd){.fd = children_guardian_fd(run->children), .events = 0};
	const struct list *at = NULL;
	for (int fd; (fd = feeds_poll_fd(run, &at)) >= 0;) {
		grow_array(&fds->at, &fds->cap, n + 1, sizeof(*fds->at));
		fds->at[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
	}
	int ready = poll(fds->at, (nfds_t)n, timeout_ms);
	verify(ready >= 0 || errno == EINTR || errno == ENOMEM);
	if (ready > 0 && (fds->at[1].revents & POLLIN)) {
		wakeup_clear(run->wake_fd);
	}
	if (ready > 0 && (fds->at[2].revents & POLLERR)) {
		children_revive_guardian(run->children);
	}
}

static void run_loop(struct run *run) {
	struct poll_set fds = {.at = NULL};
	bool again = feeds_fill(run);
	pool_start(run->pool);
	while (!atomic_load_acquire(&run->idle)) { // pairs with the store in on_idle()
		uint64_t next = retry_queue_submit(run->retry_queue, now_ns()), orphans = children_reap_orphans(run->children, run->signal_fd);
		next = orphans < next ? orphans : next;
		if (run->signal) {
			run_limit_end(run);
			next = now_ns() + LOOK_MS * NS_PER_MS; // nobody tells that the last job has ended, while its worker writes
		}
		if (run->terminating) {
			uint64_t step = children_term_step(run->children, now_ns());
			next = step < next ? step : next;
		}
		if (run->admission) {
			uint64_t due = admission_tick(run->admission, now_ns());
			next = due < next ? due : next;
		}
		if (run->status_display) {
			uint64_t due = status_display_tick(run, now_ns());
			next = due < next ? due : next;
		}
		loop_poll(run, &fds, again ? 0 : poll_ms(next));
		run_answer_signals(run);
		run_answer_flags(run);
		flush_trace(run);
		batches_reap(run);
		publish_tick(run);
		dag_advance(run);
		again = !run->stopping && feeds_fill(run);
	}
	free(fds.at);
}

// ---- the end ----

static int run_status(struct run *run) {
	if (atomic_load_relaxed(&run->trouble) || diag_lost()) {
		return EXIT_TROUBLE;
	}
	return publish_exit_status(run);
}

static void draw_pictures(struct run *run) {
	int fd = log_sink_fd(run);
	if (fd < 0 || !pictures_wanted(run->options) || publish_run(run)[0] == '\0') { // nothing was published
		return;
	}
	if (!run->signal) {
		signals_release(); // it may take long, and a FIFO may have no reader
	}
	if (pictures_draw(run->options, fd, "the log of this run", /* said */ false) != 0) {
		atomic_store_relaxed(&run->trouble, true);
	}
}

// Returns the exit status: the one that was published, unless a subscriber has had trouble.
static int end_events(struct run *run, int status, int signal) {
	if (!run->signal) { // else setup_close() has, before another signal can kill
		publish_end(run, run->resumed, signal ? 128 + signal : status, signal);
	}
	log_sink_let_go(run);
	draw_pictures(run);
	log_sink_close(run);
	return atomic_load_relaxed(&run->trouble) ? EXIT_TROUBLE : status;
}

// What ended the run, or came when no job was left.
static int ending_signal(const struct run *run) {
	return run->signal ? run->signal : signals_hurried();
}

int run_all(const struct options *options, struct context *context, const struct executor *executor) {
	struct run run = {
		.options = options,
		.context = context,
		.halt = options->halt,
		.specs = {&run.spec},
		.signal_fd = -1,
		.wake_fd = -1,
		.pid = (int)getpid(),
		.start = now_ns(),
	};
	if (executor) {
		run.executor = *executor;
	}
	context->nice = options->nice;
	if (options->tmpdir) {
		context_set_env(context, "TMPDIR", options->tmpdir);
	}
	mutex_init(&run.lock, LOCK_RUN);
	run.settings_used = xcalloc(options->nsettings, sizeof(*run.settings_used));
	publish_open(&run);
	bool opened = setup_open(&run) == 0;
	if (opened && options->manifest && !options->quiet) {
		batches_warn_unused(&run); // all are known
	}
	if (opened) {
		run_loop(&run);
	}
	status_display_end(&run);
	setup_close(&run);
	int status = opened ? run_status(&run) : EXIT_TROUBLE;
	bool reader_gone = run.output_error == EPIPE; // `| head`: not a word
	status = end_events(&run, status, ending_signal(&run) ? ending_signal(&run) : reader_gone ? SIGPIPE : 0);
	if (!ending_signal(&run)) {
		signals_release(); // nobody may read what is said now
	}
	if (opened && !reader_gone) {
		if (!run.signal && !options->quiet && !options->manifest) {
			batches_warn_unused(&run);
		}
		end_summary_print(&run);
	}
	screen_close(); // it knows up to here where what is said may begin
	end_summary_close(&run);
	explain_live_close(&run);
	status_display_close(&run);
	publish_close(&run);
	free(run.settings_used);
	mutex_fini(&run.lock);
	if (ending_signal(&run)) {
		signals_die(ending_signal(&run));
	}
	if (reader_gone) {
		signals_die(SIGPIPE);
	}
	return status;
}
