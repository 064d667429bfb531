// The xargs personality: `fairpar --xargs …`, or a fairpar that is called xargs.
//
// Puts a run together without run/setup.c: it has the same pool, workers and children, but one queue, no captured output, and
// xargs' rules for reading, stopping and the exit status. The main thread answers signals. The workers take turns: each makes a
// command line from the input (items.c) and starts its command. So all happens in the order of xargs: an error in the input is
// printed when all lines before it were started, and a run that stops leaves the input where xargs would leave it.
//
// The words of the messages and the exit statuses are those of findutils' xargs 4.9:
//   exit 1 to 254: go on, 123 at the end     exit 255: stop, 124     killed by a signal: stop, 125
//   cannot be run: stop, 126                 not found: stop, 127    too long for the system: run half of it at a time

#include "xargs/xargs.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "engine/pool.h"
#include "process/child.h"
#include "process/signals.h"
#include "shell/shell.h"
#include "slots/slots.h"
#include "xargs/items.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

enum {
	CHUNK = 64 * 1024,         // bytes that are read at once
	WORKER_STACK = 256 * 1024, // as in run/setup.c
};

// The input, and how far it was read.
struct xargs_input {
	int fd;
	char *chunk;
	size_t at, end;            // the unread part of the chunk
	bool is_read;              // the input was read to its end
	int error;                 // errno of the last read, or 0
	struct xargs_items items;
	bool has_line;             // items.pack is the line of the next command
	bool has_ended;            // there are no more lines
	bool has_failed;           // the run could not be opened, or its input has an error: exit status 1
};

struct xargs_run {
	const struct xargs_options *options;
	struct context *context;   // the execution context of the jobs
	struct children *children;
	struct pool *pool;
	struct queue *queue;       // the queue of the work that makes the next line: it holds at most one piece of work
	int wake_fd;               // wakes the loop (base/io.h)
	int stop_fd;               // wakes the worker that reads the input: readable once the run is cut short
	atomic_bool idle, is_stopped;
	atomic_bool has_failed;    // a job has failed
	atomic_int stop_code;      // the exit status that the first call of stop() has set; 0: the run is not stopped

	struct xargs_input input;  // used only by the worker that makes the next line
	atomic_uint unstarted;     // how many lines have no process yet, plus 1 as long as there may be more lines; 0: the queue is closed

	mutex terminal;            // guards tty_fd; held from a question to its answer
	int tty_fd;                // to read the answers from, or -1

	// used only by the main thread
	int signal_fd;
	int signal;                // the signal that ends the run, or 0
	bool killing;              // a second signal came
	unsigned slots, max_slots;
};

// What a worker keeps from job to job.
struct xargs_worker {
	struct xargs_run *run;
	struct worker *worker;
	bool is_unstarted;   // the worker's line has no process yet
	void *stack_top;
	struct buf args;     // the arguments of the line, each with its NUL: with -I all arguments, else those behind the initial arguments
	const char **argv;
	size_t argv_cap;
	struct buf text;
	char **env;          // with --process-slot-var, the environment for slot `env_slot`; else NULL
	unsigned env_slot;
};

static void worker_state_free(void *arg) {
	struct xargs_worker *state = arg;
	spawn_stack_destroy(state->stack_top);
	buf_fini(&state->args);
	buf_fini(&state->text);
	free(state->argv);
	free(state->env);
	free(state);
}

static struct xargs_worker *worker_state_of(struct worker *worker) {
	void **kept = worker_scratch(worker, worker_state_free);
	if (!*kept) {
		struct xargs_worker *state = NEW(struct xargs_worker);
		state->stack_top = spawn_stack_create();
		*kept = state;
	}
	return *kept;
}

// ---- results ----

// Lets no more commands start. From any thread.
static void stop_run(struct xargs_run *run) {
	atomic_store_release(&run->is_stopped, true); // pairs with the loads of is_stopped
	wakeup_post(run->stop_fd);
	pool_shutdown(run->pool);
}

// Ends the run with that status and says why (NULL: says nothing), unless it was ended before.
FP_PRINTF(3, 4)
static void stop(struct xargs_run *run, int code, const char *format, ...) {
	int none = 0;
	if (!atomic_compare_exchange_strong(&run->stop_code, &none, code)) {
		return;
	}
	stop_run(run);
	if (format) {
		FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
		BUF_ADD_ARGUMENTS(&text, format);
		diag_note("%s", buf_str(&text));
	}
}

// Stops the run because the job could not be started.
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
		atomic_store_relaxed(&run->has_failed, true);
	}
}

// ---- reading ----

// Opens the input and packs the initial arguments. Returns 0, or -1 after a message.
static int open_input(struct xargs_input *input, const struct xargs_options *options) {
	input->fd = STDIN_FILENO;
	if (options->arg_file) {
		input->fd = open(options->arg_file, O_RDONLY | O_CLOEXEC);
		if (input->fd < 0) {
			int error = errno;
			FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
			diag_note("Cannot open input file %s: %s", xargs_quoted(&name, options->arg_file), strerror(error));
			return -1;
		}
	}
	const char *error = xargs_items_init(&input->items, options);
	if (error) {
		diag_note("%s", error);
		return -1;
	}
	input->chunk = xmalloc(CHUNK);
	return 0;
}

// If stdin is a file, sets its offset behind the bytes that were used, as xargs does. Frees the memory.
static void close_input(struct xargs_input *input) {
	off_t unused = (off_t)(input->end - input->at);
	if (input->fd == STDIN_FILENO && unused > 0) {
		(void)lseek(STDIN_FILENO, -unused, SEEK_CUR); // ESPIPE is ignored: no program could read these bytes again
	}
	xargs_items_fini(&input->items);
	free(input->chunk);
}

// Waits until the descriptor can be read. Returns false if the run is cut short, or, without `waits`, if there are no bytes now.
static bool await(const struct xargs_run *run, int fd, bool waits) {
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = run->stop_fd, .events = POLLIN}};
	int ready;
	do {
		ready = poll(fds, 2, waits ? -1 : 0);
		verify(ready >= 0 || errno == EINTR || errno == ENOMEM);
	} while (ready < 0);
	return fds[0].revents && !atomic_load_acquire(&run->is_stopped);
}

// Reads the next chunk of the input. Returns as await() does.
static bool read_chunk(struct xargs_run *run, bool waits) {
	struct xargs_input *input = &run->input;
	ssize_t n;
	do {
		if (!await(run, input->fd, waits)) {
			return false;
		}
		signal_mask(SIG_UNBLOCK, SIGTTIN); // the signal that stops a background process which reads from the terminal
		n = read_some(input->fd, input->chunk, CHUNK);
		FP_KEEP_ERRNO;
		signal_mask(SIG_BLOCK, SIGTTIN);
	} while (n < 0 && errno == EAGAIN);
	input->at = 0;
	input->end = n > 0 ? (size_t)n : 0;
	input->is_read = n <= 0;
	input->error = n < 0 ? errno : 0;
	return true;
}

// Packs the next line, unless it is packed already. Returns false if there are no more lines, or if await() returns false.
static bool pack_line(struct xargs_run *run, bool waits) {
	struct xargs_input *input = &run->input;
	while (!input->has_line && !input->has_ended) {
		if (input->at == input->end && !input->is_read && !input->items.ended && !read_chunk(run, waits)) {
			return false;
		}
		size_t used;
		enum items_status status = xargs_items_next(&input->items, input->chunk + input->at, input->end - input->at, &used);
		input->at += used;
		input->has_line = status == ITEMS_LINE;
		input->has_ended = status == ITEMS_END || status == ITEMS_ERROR;
		if (status == ITEMS_NUL) {
			diag_note("WARNING: a NUL character occurred in the input.  It cannot be passed through in the argument list.  "
			          "Did you mean to use the --null option?");
		}
	}
	return input->has_line;
}

// To be called once, when there are no more lines: prints what was wrong with the input, and closes the queue.
static void end_input(struct xargs_run *run) {
	struct xargs_input *input = &run->input;
	if (!atomic_load_acquire(&run->is_stopped)) { // if the run was stopped, prints no error: xargs would not have read so far
		if (input->items.error) {
			diag_note("%s", input->items.error);
		} else if (input->error) {
			diag_note("cannot read %s: %s", run->options->arg_file ? run->options->arg_file : "standard input", strerror(input->error));
		}
		input->has_failed = input->items.error || input->error;
	}
	pool_queue_close(run->pool, run->queue);
}

// Called for each line that has a process or will get none, and once when there are no more lines.
static void count_down(struct xargs_run *run) {
	if (atomic_fetch_sub(&run->unstarted, 1) == 1) {
		end_input(run);
	}
}

static void line_started(struct xargs_worker *state) {
	if (state->is_unstarted) {
		state->is_unstarted = false;
		count_down(state->run);
	}
}

static void on_started(void *arg, pid_t pid FP_UNUSED, uint64_t start FP_UNUSED) {
	line_started(arg);
}

// ---- words as `xargs -t` shows them ----
//
// A word is quoted so that a shell can read it and nothing unprintable reaches a terminal. These words and their forms are from GNU xargs 4.9:
//   a_b  a_b     a b  'a b'     it's  "it's"     it's $1  'it'\''s $1'     a\nb  'a'$'\n''b'

// One character, which may be several bytes.
struct character {
	size_t len;
	bool prints;
};

static struct character character_at(const char *s, size_t len) {
	unsigned char c = (unsigned char)*s;
	if (c < 0x80 || MB_CUR_MAX == 1) {
		return (struct character){.len = 1, .prints = isprint(c)};
	}
	mbstate_t state = {0};
	wchar_t wide;
	size_t n = mbrtowc(&wide, s, len, &state);
	if (n == 0 || n > len) { // the bytes are no character, or an incomplete character
		return (struct character){.len = 1, .prints = false};
	}
	return (struct character){.len = n, .prints = iswprint((wint_t)wide)};
}

struct quoting {
	bool plain, plain_in_double, apostrophe;
};

// Finds out whether the word may stand without quotes, and whether it may stand in "…". Of the special characters "…" may hold only blanks,
// apostrophes and { } # ~. These four are special only at some places of a word; at other places, as in GNU xargs, "…" may not hold them.
static struct quoting find_quoting(const char *word, size_t len) {
	struct quoting quoting = {.plain = len > 0, .plain_in_double = true, .apostrophe = false};
	for (size_t i = 0; i < len;) {
		struct character character = character_at(word + i, len - i);
		char c = word[i];
		bool is_brace = c == '{' || c == '}', by_place = is_brace || c == '#' || c == '~';
		bool is_special = by_place ? (is_brace ? len == 1 : i == 0) : strchr(" !\"$&'()*;<=>?[\\^`|", c) != NULL;
		bool is_fine_in_double = by_place == is_special || c == ' ' || c == '\'';
		quoting.plain = quoting.plain && character.prints && !is_special;
		quoting.plain_in_double = quoting.plain_in_double && character.prints && is_fine_in_double;
		quoting.apostrophe = quoting.apostrophe || c == '\'';
		i += character.len;
	}
	return quoting;
}

static void add_escape(struct buf *buf, unsigned char c) {
	static const char controls[] = "abtnvfr"; // \a is 7
	if (c >= 7 && c <= 13) {
		buf_printf(buf, "\\%c", controls[c - 7]);
	} else {
		buf_printf(buf, "\\%03o", c);
	}
}

static void add_single(struct buf *buf, const char *word, size_t len) {
	bool escaping = false;
	buf_addc(buf, '\'');
	for (size_t i = 0; i < len;) {
		struct character character = character_at(word + i, len - i);
		if (!character.prints && !escaping) {
			buf_adds(buf, "'$'");
			escaping = true;
		} else if (character.prints && word[i] == '\'') {
			buf_adds(buf, "'\\'");
			escaping = false;
		} else if (character.prints && escaping) {
			buf_adds(buf, "''");
			escaping = false;
		}
		for (size_t end = i + character.len; i < end; ++i) {
			if (character.prints) {
				buf_addc(buf, word[i]);
			} else {
				add_escape(buf, (unsigned char)word[i]);
			}
		}
	}
	buf_addc(buf, '\'');
}

// Appends the word in the "shell-escape" style of coreutils and findutils: plain if possible, else in '…'; in "…" if it has an
// apostrophe; with $'\n' for characters that cannot be printed in the locale (the caller has called setlocale()).
static void show_word(struct buf *buf, const char *word, size_t len) {
	struct quoting quoting = find_quoting(word, len);
	if (quoting.plain) {
		buf_add(buf, word, len);
	} else if (quoting.apostrophe && quoting.plain_in_double) {
		buf_addc(buf, '"');
		buf_add(buf, word, len);
		buf_addc(buf, '"');
	} else {
		add_single(buf, word, len);
	}
}

// ---- asking and showing ----

// Asks, and reads a line from the terminal. Returns true if the line begins with y or Y.
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
		ssize_t n = await(run, run->tty_fd, /* waits */ true) ? read_some(run->tty_fd, &c, 1) : 0;
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
		show_word(&state->text, argv[i], strlen(argv[i]));
	}
	buf_adds(&state->text, end);
	if (write_limited(STDERR_FILENO, state->text.data, state->text.len) == 0) {
		return true;
	}
	stop(run, XARGS_FAILURE, NULL);
	return false;
}

// Shows the command (-t) and asks (-p). Returns true if the command is to be run.
static bool is_wanted(struct xargs_run *run, struct xargs_worker *state, const char *const *argv, size_t argc) {
	if (!run->options->ask) {
		return !run->options->verbose || show(run, state, argv, argc, "\n");
	}
	FP_HOLD(&run->terminal);
	return show(run, state, argv, argc, "") && read_answer(run);
}

// ---- running ----

// Returns the environment of the jobs, with the slot's number in it if --process-slot-var asks for it.
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

// Returns the descriptor for a job's stdin: the terminal (-o), fairpar's stdin (-a), or -1 for /dev/null. The caller closes *ret_owned (-1: none).
static int open_stdin(const struct xargs_options *options, int *ret_owned) {
	*ret_owned = -1;
	if (options->open_tty) {
		*ret_owned = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (*ret_owned < 0) {
			int error = errno; // not fatal, as in GNU xargs: the job gets /dev/null
			FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
			diag_note("%s: %s", xargs_quoted(&name, "/dev/tty"), strerror(error));
		}
		return *ret_owned;
	}
	return options->arg_file ? STDIN_FILENO : -1;
}

// Runs the command line `argv`, which has a NULL behind it. Returns false if the command line is too long for the system.
static bool run_argv(struct xargs_run *run, struct xargs_worker *state, const char *const *argv, size_t argc) {
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
	FP_CLEANUP(fd_close) int owned = -1;
	struct child_config config = {
		.path = path,
		.argv = (char *const *)(uintptr_t)argv, // execve(2) does not change the strings
		.env = make_env(run, state, worker_slot(state->worker)),
		.context = run->context,
		.stdin_fd = open_stdin(run->options, &owned),
		.stack_top = state->stack_top,
		.started = on_started,
		.started_arg = state,
	};
	struct result result;
	child_run(run->children, &config, &result, &error);
	if (result.outcome != OUTCOME_SPAWN_ERROR) {
		handle_result(run, name, &result);
	} else if (error.step == SPAWN_EXEC && error.error == E2BIG) {
		return false;
	} else {
		report_spawn_error(run, name, &error);
	}
	return true;
}

// Runs the line of `nargs` arguments; in pieces if it is too long for the system. The exact limit is not known, because the system
// counts the pointers, too.
static void run_line(struct xargs_run *run, struct xargs_worker *state, size_t nargs) {
	const char *args = buf_str(&state->args);
	const struct xargs_options *options = run->options;
	size_t ninitial = options->replace ? 0 : options->ncommand, done = 0, piece = nargs;
	grow_array(&state->argv, &state->argv_cap, ninitial + nargs + 1, sizeof(*state->argv));
	for (size_t i = 0; i < nargs; ++i, args += strlen(args) + 1) {
		state->argv[ninitial + i] = args;
	}
	do {
		size_t n = nargs - done < piece ? nargs - done : piece;
		const char **argv = state->argv + done, *next = argv[ninitial + n]; // the initial arguments take the place of arguments that were run
		memcpy(argv, options->command, ninitial * sizeof(*argv));
		argv[ninitial + n] = NULL;
		bool fits = run_argv(run, state, argv, ninitial + n);
		argv[ninitial + n] = next;
		if (fits) {
			done += n;
		} else if (n > 1 && !options->replace) {
			piece = (n + 1) / 2;
		} else {
			stop(run, XARGS_FAILURE, "can't call exec() due to argument size restrictions");
		}
	} while (done < nargs && !atomic_load_acquire(&run->is_stopped));
}

// Makes the next line, and begins the line behind it with the input that is there now: xargs, too, reads that far before it sees how a
// command has ended. Returns true if there is a line to run: its arguments are in state->args, their number in *ret_nargs.
static bool make_line(struct xargs_run *run, struct xargs_worker *state, size_t *ret_nargs) {
	struct xargs_input *input = &run->input;
	struct pack *pack = &input->items.pack;
	bool has_line = !atomic_load_acquire(&run->is_stopped) && pack_line(run, /* waits */ true);
	if (has_line) {
		struct buf args = state->args;
		*ret_nargs = pack->nargs;
		state->args = pack->args;
		pack->args = args;
		packs_reset(pack);
		input->has_line = false;
		(void)pack_line(run, /* waits */ false);
	}
	return has_line;
}

static void go_on(struct xargs_run *run, struct worker *from);

// Does a piece of work of the queue, whose queue_user() is the run: makes the next line, and runs it.
static enum work_status run_item(struct worker *worker, struct queue *queue, void *data FP_UNUSED, size_t size FP_UNUSED) {
	struct xargs_run *run = queue_user(queue);
	struct xargs_worker *state = worker_state_of(worker);
	size_t nargs;
	state->run = run;
	state->worker = worker;
	bool has_line = make_line(run, state, &nargs);
	if (has_line) {
		atomic_fetch_add(&run->unstarted, 1);
	}
	if (run->input.has_ended && !run->input.has_line) {
		count_down(run);
	} else {
		go_on(run, worker);
	}
	if (has_line) {
		state->is_unstarted = true;
		run_line(run, state, nargs);
		// called only now, so that a message about the input comes after messages about lines that could not be started
		line_started(state);
	}
	return WORK_OK;
}

// Submits work for run_item(), which makes the next line, submits work for the line behind it, and runs its line. `from` as for pool_submit().
static void go_on(struct xargs_run *run, struct worker *from) {
	static const struct work_type type = {.run = run_item};
	struct work work = {.type = &type, .data = "", .size = 0};
	(void)!pool_submit(run->pool, run->queue, from, &work, 1); // refused if the run was stopped
}

// ---- the loop ----

static void on_idle(void *arg) {
	struct xargs_run *run = arg;
	atomic_store_release(&run->idle, true); // pairs with the load in loop()
	wakeup_post(run->wake_fd);
}

static void on_trouble(void *arg FP_UNUSED, const char *what, int error) {
	diag_note("warning: %s: %s", what, strerror(error));
}

// The first signal ends the jobs, a second signal kills them, a third signal kills xargs.
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
	write_limit_set(now_ns()); // output that is not taken at once is given up: GNU xargs would have died by now
	stop_run(run);
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
		signals_stop_self(); // the jobs are in the process group of xargs: the terminal has stopped them, too
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

static void loop(struct xargs_run *run) {
	struct polls polls = {0};
	go_on(run, NULL);
	pool_start(run->pool);
	while (!atomic_load_acquire(&run->idle)) { // pairs with the store in on_idle()
		// waits until the next step of ending the jobs, if that has begun, or the next check for orphans
		uint64_t orphans = children_reap_orphans(run->children, run->signal_fd);
		children_begin_polls(run->children, &polls, run->signal_fd);
		children_poll(run->children, &polls, time_earlier(orphans, children_term_step(run->children, now_ns())));
		int signal;
		while ((signal = signals_next(run->signal_fd)) != 0) {
			answer_signal(run, signal);
		}
	}
	free(polls.at);
}

// ---- opening and closing a run ----

// Opens the input, the descriptors and the pool of the run. Returns 0, or -1 after a message.
static int xargs_open(struct xargs_run *run) {
	if (open_input(&run->input, run->options) != 0) {
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
	// how many processes run at once: -P, as far as there are descriptors; SIGUSR1 may ask for more
	unsigned long wanted = (unsigned long)run->options->max_procs;
	run->max_slots = slots_limit((unsigned long)context_raise_nofile(run->context));
	run->slots = wanted == 0 || wanted > run->max_slots ? run->max_slots : (unsigned)wanted;
	run->children = children_create(NULL, /* context */ NULL, run->wake_fd);
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
		if (atomic_load(&run->unstarted) > 0) {
			end_input(run);
		}
		pool_destroy(run->pool);
	}
	children_destroy(run->children, /* kills_orphans */ run->signal);
	close_input(&run->input);
}

static int xargs_status(const struct xargs_run *run) {
	int stop_code = atomic_load_relaxed(&run->stop_code);
	if (stop_code != 0 || atomic_load_relaxed(&run->has_failed)) {
		return stop_code != 0 ? stop_code : 123; // a failed command wins over an error of the input, as in GNU xargs
	}
	return run->input.has_failed || diag_lost() ? XARGS_FAILURE : 0;
}

bool xargs_is_meant(int argc, char *argv[]) {
	const char *name = argc > 0 ? path_base(argv[0]) : "";
	// if fairpar is called parallel, --xargs is GNU parallel's option even as the first word
	return strcmp(name, "xargs") == 0 || (argc > 1 && strcmp(argv[1], "--xargs") == 0 && strcmp(name, "parallel") != 0);
}

// Warns if --xargs as the first word is probably meant as GNU parallel's: the command has {} without -I {}, or :::, or an option of fairpar's own.
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
	// The locale says which characters can be printed, and which quotes messages have. setlocale() is not safe once there are other threads.
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
