// Command lines of the xargs personality on a worker: read and packed, confirmed by the user, shown, run, and their results counted.
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

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

enum { CHUNK = 64 * 1024 }; // read at once

// What a worker keeps from job to job.
struct xargs_worker {
	struct xargs_run *run;
	struct worker *worker;
	bool is_unstarted;   // its line has no process yet
	void *stack_top;
	struct buf args;     // of the line, each with its NUL. With -I they are all that there are, else those behind the initial ones
	const char **argv;
	size_t argv_cap;
	struct buf text;
	char **env;          // with --process-slot-var, that of slot `env_slot`; else NULL
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
		state->stack_top = child_stack_create();
		*kept = state;
	}
	return *kept;
}

// ---- results ----

void xargs_stop(struct xargs_run *run) {
	atomic_store_release(&run->is_stopped, true); // pairs with the loads of it
	wakeup_post(run->stop_fd);
	pool_shutdown(run->pool);
}

// Ends the run with that status and says why (NULL: there is nowhere to), unless another job was faster.
FP_PRINTF(3, 4)
static void stop(struct xargs_run *run, int code, const char *format, ...) {
	int none = 0;
	if (!atomic_compare_exchange_strong(&run->stop_code, &none, code)) {
		return;
	}
	xargs_stop(run);
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
		atomic_store_relaxed(&run->has_failed, true);
	}
}

// ---- reading ----

int xargs_input_open(struct xargs_input *input, const struct xargs_options *options) {
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
	const char *error = xargs_words_init(&input->words, options);
	if (error) {
		diag_note("%s", error);
		return -1;
	}
	input->chunk = xmalloc(CHUNK);
	return 0;
}

void xargs_input_close(struct xargs_input *input) {
	off_t unused = (off_t)(input->end - input->at);
	if (input->fd == STDIN_FILENO && unused > 0) {
		(void)lseek(STDIN_FILENO, -unused, SEEK_CUR); // ESPIPE: nobody could go on from there
	}
	xargs_words_fini(&input->words);
	free(input->chunk);
}

// Waits until the descriptor can be read. Returns false if the run is cut short, or without `waits` if there is nothing now.
static bool await(const struct xargs_run *run, int fd, bool waits) {
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = run->stop_fd, .events = POLLIN}};
	int ready;
	do {
		ready = poll(fds, 2, waits ? -1 : 0);
		verify(ready >= 0 || errno == EINTR || errno == ENOMEM);
	} while (ready < 0);
	return fds[0].revents && !atomic_load_acquire(&run->is_stopped);
}

// Reads more. Returns as await() does.
static bool read_chunk(struct xargs_run *run, bool waits) {
	struct xargs_input *input = &run->input;
	ssize_t n;
	do {
		if (!await(run, input->fd, waits)) {
			return false;
		}
		sigset_t stop;
		sigemptyset(&stop);
		sigaddset(&stop, SIGTTIN); // in the background it stops whoever reads from the terminal
		verify(pthread_sigmask(SIG_UNBLOCK, &stop, NULL) == 0);
		n = read_some(input->fd, input->chunk, CHUNK);
		int error = errno;
		verify(pthread_sigmask(SIG_BLOCK, &stop, NULL) == 0);
		errno = error;
	} while (n < 0 && errno == EAGAIN);
	input->at = 0;
	input->end = n > 0 ? (size_t)n : 0;
	input->is_read = n <= 0;
	input->error = n < 0 ? errno : 0;
	return true;
}

// Packs the next line, unless it is there. Returns false if none comes any more, or as await() does.
static bool pack_line(struct xargs_run *run, bool waits) {
	struct xargs_input *input = &run->input;
	while (!input->has_line && !input->has_ended) {
		if (input->at == input->end && !input->is_read && !input->words.ended && !read_chunk(run, waits)) {
			return false;
		}
		size_t used;
		enum words_status status = xargs_words_next(&input->words, input->chunk + input->at, input->end - input->at, &used);
		input->at += used;
		input->has_line = status == WORDS_LINE;
		input->has_ended = status == WORDS_END || status == WORDS_ERROR;
		if (status == WORDS_NUL) {
			diag_note("WARNING: a NUL character occurred in the input.  It cannot be passed through in the argument list.  "
			          "Did you mean to use the --null option?");
		}
	}
	return input->has_line;
}

void xargs_end_input(struct xargs_run *run) {
	struct xargs_input *input = &run->input;
	if (!atomic_load_acquire(&run->is_stopped)) { // else xargs would not have got here
		if (input->words.error) {
			diag_note("%s", input->words.error);
		} else if (input->error) {
			diag_note("cannot read %s: %s", run->options->arg_file ? run->options->arg_file : "standard input", strerror(input->error));
		}
		input->has_failed = input->words.error || input->error;
	}
	input->is_closed = true;
	pool_queue_close(run->pool, run->queue);
}

// A line has a process, or it is known that it gets none; or there are no more lines.
static void count_down(struct xargs_run *run) {
	if (atomic_fetch_sub(&run->unstarted, 1) == 1) {
		xargs_end_input(run);
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
// Quoted so that a shell can read them, and nothing unprintable reaches a terminal. Seen from GNU xargs 4.9:
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
	if (n == 0 || n > len) { // no character, or the beginning of one
		return (struct character){.len = 1, .prints = false};
	}
	return (struct character){.len = n, .prints = iswprint((wint_t)wide)};
}

struct quoting {
	bool plain, plain_in_double, apostrophe;
};

// Whether all of the word may stand without quotes, and whether in "…", where a blank and an apostrophe may. What means
// something in some places only may stand without quotes in the others, and in "…" in those.
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

// Appends the word as coreutils' and findutils' "shell-escape" style has it: plain where that is enough, else in '…', "…" around a
// lone apostrophe, and $'\n' for what cannot be printed. What can be printed is the locale's to say (setlocale() is the caller's).
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
	int owned;
	struct child_config config = {
		.path = path,
		.argv = (char *const *)(uintptr_t)argv, // execve(2) changes nothing
		.env = make_env(run, state, worker_slot(state->worker)),
		.context = run->context,
		.stdin_fd = open_stdin(run->options, &owned),
		.stack_top = state->stack_top,
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

// Runs the line of that many arguments, in pieces if it is too long for the system: the limit counts the pointers too, so it is
// not known.
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
		const char **argv = state->argv + done, *next = argv[ninitial + n]; // the initial ones come in the place of what was run
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

// Makes the next line, and the one behind it as far as it is there: so far xargs reads before it sees how a command has ended.
// Returns whether there is one to be run, which is in state->args and *ret_nargs.
static bool make_line(struct xargs_run *run, struct xargs_worker *state, size_t *ret_nargs) {
	struct xargs_input *input = &run->input;
	struct pack *pack = &input->words.pack;
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

// The run is the queue's user.
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
		xargs_go_on(run, worker);
	}
	if (has_line) {
		state->is_unstarted = true;
		run_line(run, state, nargs);
		// not before: what the input is blamed for comes behind what is said of the start of the lines before it
		line_started(state);
	}
	return WORK_OK;
}

void xargs_go_on(struct xargs_run *run, struct worker *from) {
	static const struct work_type type = {.name = "command line", .run = run_item};
	struct work work = {.type = &type, .data = "", .size = 0};
	enum submit_status ignored = pool_submit(run->pool, run->queue, from, &work, 1); // refused where the run was stopped
	(void)ignored;
}
