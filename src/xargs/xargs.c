// The xargs personality: `fairpar --xargs …`, or called by the name xargs.
//
// A composition root of its own beside run/setup.c: the same pool, workers and children, but one queue, no output of ours, and
// xargs' rules of reading, stopping and exit status. The main thread reads and packs (xargs/words.c) a little ahead
// of the workers, which run the command lines (job.c). Nobody sees that it reads ahead: an error in the input is printed
// only when all lines before it were started, and a run that stops leaves the input where xargs would have.

#include "xargs/xargs.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "process/signals.h"
#include "slots/slots.h"
#include "xargs/job.h"
#include "xargs/words.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <unistd.h>

enum {
	CHUNK = 64 * 1024,          // read at once
	WORKER_STACK = 256 * 1024,  // as in run/setup.c
	AHEAD = 64 * 1024,          // bytes of queued lines at which the reader waits
};

// The reader.
struct input_reader {
	int fd;
	char *chunk;
	size_t at, end;       // the unread part of the chunk
	off_t read;           // bytes so far
	bool ended;           // no more bytes come
	int error;            // of the last read, or 0
	bool waiting;         // for fd
	bool done;            // nothing is to be submitted any more
	struct xargs_words words;
};

struct xargs {
	struct xargs_run run;
	struct input_reader reader;
	int signal_fd;
	int signal;           // that ends the run, or 0
	bool killing;         // a second one came
	unsigned slots, max_slots;
	bool input_failed;    // exit status 1
};

// ---- reading ----

// Opens the input and packs the initial arguments. Returns 0, or -1 after a message.
static int reader_open(struct input_reader *reader, const struct xargs_options *options) {
	reader->fd = STDIN_FILENO;
	if (options->arg_file) {
		reader->fd = open(options->arg_file, O_RDONLY | O_CLOEXEC);
		if (reader->fd < 0) {
			int error = errno;
			FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
			diag_note("Cannot open input file %s: %s", xargs_quoted(&name, options->arg_file), strerror(error));
			return -1;
		}
	}
	const char *error = xargs_words_init(&reader->words, options);
	if (error) {
		diag_note("%s", error);
		return -1;
	}
	reader->chunk = xmalloc(CHUNK);
	return 0;
}

// Reads more, if there is some now. Returns false if there is not.
static bool reader_read(struct input_reader *reader) {
	struct pollfd ready = {.fd = reader->fd, .events = POLLIN};
	// a pipe that is written slowly must not keep us from answering signals
	if (poll(&ready, 1, 0) == 0) {
		reader->waiting = true;
		return false;
	}
	ssize_t n = read_some(reader->fd, reader->chunk, CHUNK);
	if (n < 0 && errno == EAGAIN) {
		reader->waiting = true;
		return false;
	}
	reader->at = 0;
	reader->end = n > 0 ? (size_t)n : 0;
	reader->read += n > 0 ? n : 0;
	reader->ended = n <= 0;
	reader->error = n < 0 ? errno : 0;
	return true;
}

// Leaves a file that is standard input where xargs would leave it: behind what was used.
static void reader_give_back(struct input_reader *reader, off_t dropped_at) {
	off_t used = reader->read - (off_t)(reader->end - reader->at);
	used = dropped_at >= 0 && dropped_at < used ? dropped_at : used;
	if (reader->fd == STDIN_FILENO && used < reader->read) {
		(void)lseek(STDIN_FILENO, used - reader->read, SEEK_CUR); // ESPIPE: nobody could go on from there
	}
}

// ---- feeding ----

// Hands over the line that is packed. Returns false if the pool takes nothing any more.
static bool submit(struct xargs *xargs) {
	struct xargs_run *run = &xargs->run;
	struct input_reader *reader = &xargs->reader;
	struct pack *pack = &reader->words.pack;
	struct xargs_line line = {.read_to = reader->read - (off_t)(reader->end - reader->at), .nargs = pack->nargs};
	buf_add(&pack->args, &line, sizeof(line));
	mutex_lock(&run->lock);
	++run->unstarted;
	mutex_unlock(&run->lock);
	struct work work = {.type = &xargs_work, .data = pack->args.data, .size = pack->args.len};
	bool taken = pool_submit(run->pool, run->queue, NULL, &work, 1) == SUBMIT_OK;
	if (!taken) {
		xargs_work.drop(run->queue, pack->args.data, pack->args.len); // the run was stopped
	}
	packs_reset(pack);
	return taken;
}

// True if there is enough to do for now: the reader is woken when there is not.
static bool is_ahead(struct xargs_run *run) {
	bool ahead = pool_queue_bytes(run->pool, run->queue) >= AHEAD;
	if (ahead) {
		mutex_lock(&run->lock);
		run->awaits_room = true;
		mutex_unlock(&run->lock);
		pool_queue_want(run->pool, run->queue);
	}
	return ahead;
}

static void on_low(void *arg, struct queue *queue FP_UNUSED) {
	struct xargs_run *run = arg;
	mutex_lock(&run->lock);
	bool wake = run->awaits_room;
	run->awaits_room = false;
	mutex_unlock(&run->lock);
	if (wake) {
		xargs_wake(run);
	}
}

// True if a line has not been started yet: the reader is woken when all have.
static bool awaits_starts(struct xargs_run *run) {
	mutex_lock(&run->lock);
	bool waits = run->awaits_starts = run->unstarted > 0;
	mutex_unlock(&run->lock);
	return waits;
}

static void finish(struct xargs *xargs) {
	xargs->reader.done = true;
	pool_queue_close(xargs->run.pool, xargs->run.queue);
}

// True if the run is cut short: nothing more is to be read.
static bool is_stopping(struct xargs *xargs) {
	mutex_lock(&xargs->run.lock);
	bool stopping = xargs->signal || xargs->run.stop_code != 0;
	mutex_unlock(&xargs->run.lock);
	return stopping;
}

// The input has ended, or is no good: says so, once all that was before it was started. A line that could not be has
// stopped the run, and xargs would not have got here.
static void end_input(struct xargs *xargs) {
	struct input_reader *reader = &xargs->reader;
	if ((reader->words.error || reader->error) && awaits_starts(&xargs->run)) {
		return;
	}
	if (is_stopping(xargs)) {
		finish(xargs);
		return;
	}
	if (reader->words.error) {
		diag_note("%s", reader->words.error);
	} else if (reader->error) {
		diag_note("cannot read %s: %s", xargs->run.options->arg_file ? xargs->run.options->arg_file : "standard input",
		          strerror(reader->error));
	}
	xargs->input_failed = reader->words.error || reader->error;
	finish(xargs);
}

// Packs what was read, reads what there is, until there is enough to do. Returns true if it should be called again at
// once: signals are to be answered in between.
static bool fill(struct xargs *xargs) {
	struct input_reader *reader = &xargs->reader;
	reader->waiting = false;
	for (unsigned left = 1024; left > 0; --left) {
		if (is_ahead(&xargs->run)) {
			return false;
		}
		if (reader->at == reader->end && !reader->ended && !reader->words.ended && !reader_read(reader)) {
			return false;
		}
		size_t used;
		enum words_status status = xargs_words_next(&reader->words, reader->chunk + reader->at, reader->end - reader->at, &used);
		reader->at += used;
		if (status == WORDS_NUL) {
			diag_note("WARNING: a NUL character occurred in the input.  It cannot be passed through in the argument list.  "
			          "Did you mean to use the --null option?");
		} else if (status == WORDS_LINE && !submit(xargs)) {
			finish(xargs);
			return false;
		} else if (status == WORDS_END || status == WORDS_ERROR) {
			end_input(xargs);
			return false;
		}
	}
	return true;
}

// ---- the loop ----

static void on_idle(void *arg) {
	struct xargs_run *run = arg;
	atomic_store_release(&run->idle, true); // pairs with the load in loop()
	xargs_wake(arg);
}

static void on_trouble(void *arg FP_UNUSED, const char *what, int error) {
	diag_note("warning: %s: %s", what, strerror(error));
}

// The first one ends the jobs, a second one kills them, a third one kills xargs.
static void answer_ending_signal(struct xargs *xargs, int signal) {
	struct xargs_run *run = &xargs->run;
	if (xargs->killing) {
		children_kill_with_cookie(run->children);
		signals_die(signal);
	}
	if (xargs->signal) {
		xargs->killing = true;
		children_kill(run->children);
		return;
	}
	xargs->signal = signal;
	write_limit_set(now_ns()); // xargs itself would have died
	pool_shutdown(run->pool);
	children_terminate(run->children);
}

static void answer_signal(struct xargs *xargs, int signal) {
	struct xargs_run *run = &xargs->run;
	switch (signal) {
	case SIGUSR1:
		if (xargs->slots < xargs->max_slots) {
			pool_set_slots(run->pool, ++xargs->slots);
		}
		break;
	case SIGUSR2:
		if (xargs->slots > 1) {
			pool_set_slots(run->pool, --xargs->slots);
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
			answer_ending_signal(xargs, signal);
		}
		break;
	}
}

static void loop_poll(struct xargs *xargs, int timeout_ms) {
	struct xargs_run *run = &xargs->run;
	struct pollfd fds[] = {
		{.fd = xargs->signal_fd, .events = POLLIN},
		{.fd = run->wake_fd, .events = POLLIN},
		{.fd = xargs->reader.waiting && !xargs->reader.done ? xargs->reader.fd : -1, .events = POLLIN},
		{.fd = children_guardian_fd(run->children), .events = 0},
	};
	int ready = poll(fds, sizeof(fds) / sizeof(fds[0]), timeout_ms);
	verify(ready >= 0 || errno == EINTR || errno == ENOMEM);
	if (ready > 0 && (fds[1].revents & POLLIN)) {
		wakeup_clear(run->wake_fd);
	}
	if (ready > 0 && (fds[3].revents & POLLERR)) {
		children_revive_guardian(run->children);
	}
}

// When the loop has to go on: at the next step of the jobs' end, if that has begun, or the next check for orphans.
static uint64_t next_due(struct xargs *xargs) {
	uint64_t step = xargs->signal ? children_term_step(xargs->run.children, now_ns()) : TIME_NEVER;
	uint64_t orphans = children_reap_orphans(xargs->run.children, xargs->signal_fd);
	return orphans < step ? orphans : step;
}

static void loop(struct xargs *xargs) {
	struct xargs_run *run = &xargs->run;
	bool again = fill(xargs);
	pool_start(run->pool);
	while (!atomic_load_acquire(&run->idle)) { // pairs with the store in on_idle()
		loop_poll(xargs, again ? 0 : poll_ms(next_due(xargs)));
		int signal;
		while ((signal = signals_next(xargs->signal_fd)) != 0) {
			answer_signal(xargs, signal);
		}
		if (!xargs->reader.done && is_stopping(xargs)) {
			finish(xargs);
		}
		again = !xargs->reader.done && fill(xargs);
	}
}

// ---- putting it together ----

// How many processes at once: -P, within the descriptors there are. SIGUSR1 may ask for more.
static void count_slots(struct xargs *xargs) {
	const struct xargs_run *run = &xargs->run;
	xargs->max_slots = slots_limit((unsigned long)context_raise_nofile(run->context));
	unsigned long wanted = (unsigned long)run->options->max_procs;
	xargs->slots = wanted == 0 || wanted > xargs->max_slots ? xargs->max_slots : (unsigned)wanted;
}

// Opens what the run needs. Returns 0, or -1 after a message.
static int xargs_open(struct xargs *xargs) {
	struct xargs_run *run = &xargs->run;
	if (reader_open(&xargs->reader, run->options) != 0) {
		return -1;
	}
	xargs->signal_fd = signals_open();
	run->wake_fd = wakeup_open();
	write_limit_watch(xargs->signal_fd);
	if (xargs->signal_fd < 0 || run->wake_fd < 0 || signals_add(xargs->signal_fd, SIGUSR1) != 0
	    || signals_add(xargs->signal_fd, SIGUSR2) != 0) {
		diag_note("cannot set up signals: %s", strerror(errno));
		return -1;
	}
	count_slots(xargs);
	run->children = children_create(NULL);
	children_set_wake(run->children, xargs_wake, run);
	diag_set_last_words(children_last_words);
	struct pool_config config = {
		.slots = xargs->slots,
		.queue_mem = SIZE_MAX / 2, // the reader holds itself back
		.stack_bytes = WORKER_STACK,
		.hooks = {.idle = on_idle, .low = on_low, .trouble = on_trouble, .arg = run},
	};
	const struct queue_attrs attrs = {.weight = 1, .low_water = AHEAD / 2};
	run->pool = pool_create(&config);
	run->queue = pool_queue_open(run->pool, "xargs", &attrs, run);
	return 0;
}

static void xargs_close(struct xargs *xargs) {
	struct xargs_run *run = &xargs->run;
	if (xargs->signal) {
		signals_release();
	}
	if (run->pool) {
		pool_destroy(run->pool);
	}
	if (run->children) {
		if (xargs->signal) {
			children_kill_orphans(run->children);
		}
		diag_set_last_words(NULL);
		children_destroy(run->children);
	}
	reader_give_back(&xargs->reader, run->dropped_at);
	xargs_words_fini(&xargs->reader.words);
	free(xargs->reader.chunk);
}

static int xargs_status(const struct xargs *xargs) {
	if (xargs->run.stop_code != 0) {
		return xargs->run.stop_code;
	}
	if (xargs->run.failed) {
		return 123; // before an error of the input, as in GNU xargs
	}
	return xargs->input_failed || diag_lost() ? XARGS_FAILURE : 0;
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
	struct xargs xargs = {
		.run = {.options = &options, .context = context, .wake_fd = -1, .tty_fd = -1, .dropped_at = -1},
		.signal_fd = -1,
	};
	mutex_init(&xargs.run.lock, LOCK_XARGS);
	mutex_init(&xargs.run.terminal, LOCK_XARGS_TERMINAL);
	xargs.input_failed = xargs_open(&xargs) != 0;
	if (!xargs.input_failed) {
		loop(&xargs);
	}
	xargs_close(&xargs);
	int status = xargs_status(&xargs);
	mutex_fini(&xargs.run.terminal);
	mutex_fini(&xargs.run.lock);
	if (xargs.signal) {
		signals_die(xargs.signal);
	}
	return status;
}
