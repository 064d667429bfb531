// One command line of the xargs personality on a worker: confirmed by the user, shown, run, and its result counted.
//
// The words of the messages and the exit statuses are those of findutils' xargs 4.9:
//   exit 1 to 254: go on, 123 at the end     exit 255: stop, 124     killed by a signal: stop, 125
//   cannot be run: stop, 126                 not found: stop, 127    too long for the system: half of it at a time

#include "xargs/job.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/write_limit.h"
#include "shell/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

// What a worker keeps from job to job.
struct xargs_worker {
	struct xargs_run *run;
	bool is_waiting;     // the first process of the line that is being run has not started
	struct child_scratch *scratch;
	const char **argv;
	size_t argv_cap;
	struct buf text;
	char **env;          // with --process-slot-var, that of slot `env_slot`; else NULL
	unsigned env_slot;
};

static void worker_state_free(void *arg) {
	struct xargs_worker *state = arg;
	child_scratch_destroy(state->scratch);
	buf_fini(&state->text);
	free(state->argv);
	free(state->env);
	free(state);
}

static struct xargs_worker *worker_state_of(struct worker *worker) {
	void **kept = worker_scratch(worker, worker_state_free);
	if (!*kept) {
		struct xargs_worker *state = NEW(struct xargs_worker);
		state->scratch = child_scratch_create();
		*kept = state;
	}
	return *kept;
}

// ---- lines ----

void xargs_wake(void *run) {
	wakeup_post(((struct xargs_run *)run)->wake_fd);
}

// A line has a process, or it is known that it gets none; or it was dropped, which has been `read_to` (else -1).
static void line_left(struct xargs_run *run, off_t read_to) {
	mutex_lock(&run->lock);
	--run->unstarted;
	if (read_to >= 0 && (run->dropped_at < 0 || read_to < run->dropped_at)) {
		run->dropped_at = read_to;
	}
	bool wake = run->awaits_starts && run->unstarted == 0;
	run->awaits_starts = run->awaits_starts && !wake;
	mutex_unlock(&run->lock);
	if (wake) {
		xargs_wake(run);
	}
}

static void line_started(struct xargs_worker *state) {
	if (state->is_waiting) {
		line_left(state->run, /* read_to */ -1);
		state->is_waiting = false;
	}
}

static void on_started(void *arg, pid_t pid FP_UNUSED, uint64_t start FP_UNUSED) {
	line_started(arg);
}

// ---- results ----

// Ends the run with that status and says why (NULL: there is nowhere to), unless another job was faster.
FP_PRINTF(3, 4)
static void stop(struct xargs_run *run, int code, const char *format, ...) {
	mutex_lock(&run->lock);
	bool first = run->stop_code == 0;
	run->stop_code = first ? code : run->stop_code;
	mutex_unlock(&run->lock);
	if (!first) {
		return;
	}
	pool_shutdown(run->pool);
	xargs_wake(run);
	if (format) {
		FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
		va_list args;
		va_start(args, format);
		buf_vprintf(&text, format, args);
		va_end(args);
		diag_note("%s", buf_str(&text));
	}
}

// The job could not be started.
static void report_spawn_error(struct xargs_run *run, const char *name, const struct spawn_error *error) {
	if (error->step != SPAWN_EXEC) {
		stop(run, XARGS_FAILURE, "cannot start %s: %s: %s", name, spawn_step_name(error->step), strerror(error->error));
	} else {
		stop(run, error->error == ENOENT ? 127 : 126, "%s: %s", name, strerror(error->error));
	}
}

static void handle_result(struct xargs_run *run, const char *name, const struct result *result) {
	if (result->outcome == OUTCOME_SIGNAL) {
		stop(run, 125, "%s: terminated by signal %d", name, result->term_signal);
	} else if (result->outcome == OUTCOME_FAILED && result->exit_code == 255) {
		stop(run, 124, "%s: exited with status 255; aborting", name);
	} else if (result->outcome == OUTCOME_FAILED) {
		mutex_lock(&run->lock);
		run->failed = true;
		mutex_unlock(&run->lock);
	}
}

// ---- asking and showing ----

// Asks, and reads a line of the terminal. Returns whether it says yes.
static bool read_answer(struct xargs_run *run) {
	if (run->tty_fd < 0) {
		run->tty_fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	if (run->tty_fd < 0) {
		stop(run, XARGS_FAILURE, "failed to open /dev/tty for reading: %s", strerror(errno));
		return false;
	}
	if (write_limited(STDERR_FILENO, "?...", 4) != 0) {
		stop(run, XARGS_FAILURE, NULL);
		return false;
	}
	char first = '\n', c = '\n';
	for (size_t i = 0;; ++i) {
		ssize_t n = read_some(run->tty_fd, &c, 1);
		first = i == 0 && n > 0 ? c : first;
		if (n <= 0 || c == '\n') {
			return first == 'y' || first == 'Y';
		}
	}
}

// Prints the command line. Returns false if stderr does not take it.
static bool show(struct xargs_run *run, struct xargs_worker *state, const char *const *argv, size_t argc, const char *end) {
	buf_reset(&state->text);
	for (size_t i = 0; i < argc; ++i) {
		buf_adds(&state->text, i > 0 ? " " : "");
		xargs_show(&state->text, argv[i], strlen(argv[i]));
	}
	buf_adds(&state->text, end);
	if (write_limited(STDERR_FILENO, state->text.data, state->text.len) == 0) {
		return true;
	}
	stop(run, XARGS_FAILURE, NULL);
	return false;
}

// Shows and asks, as the options say. Returns whether the command is to be run.
static bool is_wanted(struct xargs_run *run, struct xargs_worker *state, const char *const *argv, size_t argc) {
	if (!run->options->ask) {
		return !run->options->verbose || show(run, state, argv, argc, "\n");
	}
	mutex_lock(&run->terminal);
	bool wanted = show(run, state, argv, argc, "") && read_answer(run);
	mutex_unlock(&run->terminal);
	return wanted;
}

// ---- running ----

// The environment of the jobs, with the slot's number in it where that is asked for.
static char *const *make_env(const struct xargs_run *run, struct xargs_worker *state, unsigned slot) {
	const char *name = run->options->slot_var;
	if (name && (!state->env || state->env_slot != slot)) {
		char number[16];
		snprintf(number, sizeof(number), "%u", slot - 1);
		free(state->env);
		state->env = env_with(run->context->env, name, number);
		state->env_slot = slot;
	}
	return name ? state->env : run->context->env;
}

// The jobs' standard input: /dev/null, with -a ours, with -o the terminal. `*ret_owned` is to be closed, or -1.
static int open_stdin(const struct xargs_options *options, int *ret_owned) {
	*ret_owned = -1;
	if (options->open_tty) {
		*ret_owned = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (*ret_owned < 0) {
			int error = errno; // not fatal in GNU xargs either: the job reads nothing
			FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
			diag_note("%s: %s", xargs_quoted(&name, "/dev/tty"), strerror(error));
		}
		return *ret_owned;
	}
	return options->arg_file ? STDIN_FILENO : -1;
}

// Runs the command line, with a NULL behind it. Returns false if it is too long for the system.
static bool run_argv(struct xargs_run *run, struct xargs_worker *state, const char *const *argv, size_t argc, unsigned slot) {
	const char *name = argv[0];
	struct spawn_error error = {.step = SPAWN_EXEC, .error = ENOENT};
	if (!is_wanted(run, state, argv, argc)) {
		return true;
	}
	const char *path = strchr(name, '/') ? name : *name ? program_find(name) : NULL;
	if (!path) {
		error.error = *name ? errno : ENOENT;
		report_spawn_error(run, name, &error);
		return true;
	}
	int owned;
	struct child_config config = {
		.path = path,
		.argv = (char *const *)(uintptr_t)argv, // execve(2) changes nothing
		.env = make_env(run, state, slot),
		.context = run->context,
		.stdin_fd = open_stdin(run->options, &owned),
		.scratch = state->scratch,
		.started = on_started,
		.started_arg = state,
	};
	struct result result;
	child_run(run->children, &config, &result, &error);
	fd_close(&owned);
	if (result.outcome != OUTCOME_SPAWN_ERROR) {
		handle_result(run, name, &result);
	} else if (error.step == SPAWN_EXEC && error.error == E2BIG) {
		return false;
	} else {
		report_spawn_error(run, name, &error);
	}
	return true;
}

static bool is_stopped(struct xargs_run *run) {
	mutex_lock(&run->lock);
	bool stopped = run->stop_code != 0;
	mutex_unlock(&run->lock);
	return stopped;
}

// Runs the line of that many arguments, in pieces if it is too long for the system: the limit counts the pointers too, so it is
// not known.
static void run_line(struct xargs_run *run, struct xargs_worker *state, const char *args, size_t nargs, unsigned slot) {
	const struct xargs_options *options = run->options;
	size_t ninitial = options->replace ? 0 : options->ncommand, done = 0, piece = nargs;
	grow_array(&state->argv, &state->argv_cap, ninitial + nargs + 1, sizeof(*state->argv));
	for (size_t i = 0; i < nargs; ++i, args += strlen(args) + 1) {
		state->argv[ninitial + i] = args;
	}
	do {
		size_t n = nargs - done < piece ? nargs - done : piece;
		const char **argv = state->argv + done, *next = argv[ninitial + n]; // the initial ones come in the place of what was run
		memcpy(argv, options->command, ninitial * sizeof(*argv));
		argv[ninitial + n] = NULL;
		bool fits = run_argv(run, state, argv, ninitial + n, slot);
		argv[ninitial + n] = next;
		if (fits) {
			done += n;
		} else if (n > 1 && !options->replace) {
			piece = (n + 1) / 2;
		} else {
			stop(run, XARGS_FAILURE, "can't call exec() due to argument size restrictions");
		}
	} while (done < nargs && !is_stopped(run));
}

// What is behind the arguments of a queued line.
static struct xargs_line line_of(const void *data, size_t size) {
	struct xargs_line line;
	memcpy(&line, (const char *)data + size - sizeof(line), sizeof(line));
	return line;
}

// The run is the queue's user.
static enum work_status run_item(struct worker *worker, struct queue *queue, void *data, size_t size) {
	struct xargs_run *run = queue_user(queue);
	struct xargs_worker *state = worker_state_of(worker);
	state->run = run;
	// not left before: what the input is blamed for comes behind what is said of the start of the lines before it
	state->is_waiting = true;
	run_line(run, state, data, line_of(data, size).nargs, worker_slot(worker));
	line_started(state);
	return WORK_OK;
}

static void drop_item(struct queue *queue, void *data, size_t size) {
	line_left(queue_user(queue), line_of(data, size).read_to);
}

const struct work_type xargs_work = {.name = "command line", .run = run_item, .drop = drop_item};
