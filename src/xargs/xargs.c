// The xargs personality: `fairpar --xargs …`, or called by the name xargs.
//
// A composition root of its own beside run/setup.c: the same pool, workers and children, but one queue, no output of ours, and
// xargs' rules of reading, stopping and exit status. The main thread answers signals. The workers take turns in making a line of
// the input (words.c) and starting its command (job.c), so that all is in the order in which xargs does it: an error in the input
// is printed when all lines before it were started, and a run that stops leaves the input where xargs would have.

#include "xargs/xargs.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "process/signals.h"
#include "slots/slots.h"
#include "xargs/job.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <unistd.h>

enum { WORKER_STACK = 256 * 1024 }; // as in run/setup.c

// ---- the loop ----

static void on_idle(void *arg) {
	struct xargs_run *run = arg;
	atomic_store_release(&run->idle, true); // pairs with the load in loop()
	wakeup_post(run->wake_fd);
}

static void on_trouble(void *arg FP_UNUSED, const char *what, int error) {
	diag_note("warning: %s: %s", what, strerror(error));
}

// The first one ends the jobs, a second one kills them, a third one kills xargs.
static void answer_ending_signal(struct xargs_run *run, int signal) {
	if (run->killing) {
		children_kill_with_cookie(run->children);
		signals_die(signal);
	}
	if (run->signal) {
		run->killing = true;
		children_kill(run->children);
		return;
	}
	run->signal = signal;
	write_limit_set(now_ns()); // xargs itself would have died
	xargs_stop(run);
	children_terminate(run->children);
}

static void answer_signal(struct xargs_run *run, int signal) {
	switch (signal) {
	case SIGUSR1:
		if (run->slots < run->max_slots) {
			pool_set_slots(run->pool, ++run->slots);
		}
		break;
	case SIGUSR2:
		if (run->slots > 1) {
			pool_set_slots(run->pool, --run->slots);
		}
		break;
	case SIGTSTP:
		signals_stop_self(); // the jobs are in our group: the terminal has stopped them too
		break;
	case SIGCHLD:
		children_note_sigchld(run->children);
		break;
	default:
		if (is_ending_signal(signal)) {
			answer_ending_signal(run, signal);
		}
		break;
	}
}

static void loop_poll(struct xargs_run *run, int timeout_ms) {
	struct pollfd fds[] = {
		{.fd = run->signal_fd, .events = POLLIN},
		{.fd = run->wake_fd, .events = POLLIN},
		{.fd = guardian_fd(children_guardian(run->children)), .events = 0},
	};
	int ready = poll(fds, sizeof(fds) / sizeof(fds[0]), timeout_ms);
	verify(ready >= 0 || errno == EINTR || errno == ENOMEM);
	if (ready > 0 && (fds[1].revents & POLLIN)) {
		wakeup_clear(run->wake_fd);
	}
	if (ready > 0 && (fds[2].revents & POLLERR)) {
		guardian_revive(children_guardian(run->children));
	}
}

static void loop(struct xargs_run *run) {
	xargs_go_on(run, NULL);
	pool_start(run->pool);
	while (!atomic_load_acquire(&run->idle)) { // pairs with the store in on_idle()
		// up to the next step of the jobs' end, if that has begun, or the next check for orphans
		uint64_t orphans = children_reap_orphans(run->children, run->signal_fd);
		loop_poll(run, poll_ms(earlier(orphans, children_term_step(run->children, now_ns()))));
		int signal;
		while ((signal = signals_next(run->signal_fd)) != 0) {
			answer_signal(run, signal);
		}
	}
}

// ---- putting it together ----

// Opens what the run needs. Returns 0, or -1 after a message.
static int xargs_open(struct xargs_run *run) {
	if (xargs_input_open(&run->input, run->options) != 0) {
		return -1;
	}
	run->signal_fd = signals_open();
	run->wake_fd = wakeup_open();
	run->stop_fd = wakeup_open();
	write_limit_watch(run->signal_fd);
	if (run->signal_fd < 0 || run->wake_fd < 0 || run->stop_fd < 0 || signals_add(run->signal_fd, SIGUSR1) != 0
	    || signals_add(run->signal_fd, SIGUSR2) != 0) {
		diag_note("cannot set up signals: %s", strerror(errno));
		return -1;
	}
	// how many processes at once: -P, within the descriptors there are. SIGUSR1 may ask for more
	unsigned long wanted = (unsigned long)run->options->max_procs;
	run->max_slots = slots_limit((unsigned long)context_raise_nofile(run->context));
	run->slots = wanted == 0 || wanted > run->max_slots ? run->max_slots : (unsigned)wanted;
	run->children = children_create(NULL);
	children_set_wake(run->children, run->wake_fd);
	diag_set_last_words(children_last_words);
	struct pool_config config = {
		.slots = run->slots,
		.queue_mem = SIZE_MAX / 2,
		.stack_bytes = WORKER_STACK,
		.hooks = {.idle = on_idle, .trouble = on_trouble, .arg = run},
	};
	const struct queue_attrs attrs = {.weight = 1};
	run->pool = pool_create(&config);
	run->queue = pool_queue_open(run->pool, "xargs", &attrs, run);
	return 0;
}

static void xargs_close(struct xargs_run *run) {
	if (run->signal) {
		signals_release();
	}
	if (run->pool) {
		if (!run->input.is_closed) {
			xargs_end_input(run);
		}
		pool_destroy(run->pool);
	}
	if (run->children) {
		if (run->signal) {
			children_kill_orphans(run->children);
		}
		diag_set_last_words(NULL);
		children_destroy(run->children);
	}
	xargs_input_close(&run->input);
}

static int xargs_status(const struct xargs_run *run) {
	int stop_code = atomic_load_relaxed(&run->stop_code);
	if (stop_code != 0 || atomic_load_relaxed(&run->has_failed)) {
		return stop_code != 0 ? stop_code : 123; // before an error of the input, as in GNU xargs
	}
	return run->input.has_failed || diag_lost() ? XARGS_FAILURE : 0;
}

bool xargs_is_meant(int argc, char *argv[]) {
	const char *name = argc > 0 ? path_base(argv[0]) : "";
	// called parallel, it is an option of GNU parallel there too
	return strcmp(name, "xargs") == 0 || (argc > 1 && strcmp(argv[1], "--xargs") == 0 && strcmp(name, "parallel") != 0);
}

// --xargs in front of what is meant for GNU parallel's option of that name: {} in place of -I {}, or :::.
static void warn_parallel(const struct xargs_options *options) {
	bool is_meant = options->is_foreign;
	for (size_t i = 0; i < options->ncommand && !options->replace; ++i) {
		const char *word = options->command[i];
		is_meant = is_meant || (i > 0 && strncmp(word, ":::", 3) == 0) || strstr(word, "{}");
	}
	if (is_meant) {
		diag_note("--xargs as the first word means xargs, where {} needs -I {}; GNU parallel's --xargs stands behind another "
		          "option: fairpar -j+0 --xargs ...");
	}
}

int xargs_main(int argc, char *argv[], struct context *context) {
	bool by_option = argc > 1 && strcmp(argv[1], "--xargs") == 0;
	diag_set_name(by_option ? "xargs" : argv[0]);
	struct xargs_options options;
	bool is_run = xargs_parse(&options, argc - by_option, argv + by_option, context->env);
	if (by_option) {
		warn_parallel(&options);
	}
	if (!is_run) {
		return options.status;
	}
	// What can be printed, and the quotes of messages. Set before there are threads: setlocale() is not safe with others.
	setlocale(LC_CTYPE, "");
	struct xargs_run run = {.options = &options, .context = context, .tty_fd = -1, .unstarted = 1, .signal_fd = -1};
	mutex_init(&run.terminal, LOCK_XARGS_TERMINAL);
	if (xargs_open(&run) == 0) {
		loop(&run);
	} else {
		run.input.has_failed = true;
	}
	xargs_close(&run);
	int status = xargs_status(&run);
	mutex_fini(&run.terminal);
	if (run.signal) {
		signals_die(run.signal);
	}
	return status;
}
