// Sends one request to a run that is under way, and prints the answer: --add, --wait, --wait-any, --cancel, --status.

#include "modes/modes.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "slots/control.h"
#include "slots/lease.h"
#include "slots/pool_dir.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWER_TIMEOUT_MS = 2000, RETRY_MS = 20 };

// ---- the run ----

// Finds the run in whose job this process is, by its environment. Appends the name of its socket to *ret_socket, or nothing if there
// is no such run. Returns the number and the nonce of the attempt that this process belongs to.
static struct lease_id find_own(struct buf *ret_socket) {
	const char *control = getenv("FAIRPAR_CONTROL"), *value = control && control[0] ? control : getenv("FAIRPAR_SOCK");
	struct lease_id id = {0};
	buf_add(ret_socket, value ? value : "", lease_id_parse(value, &id));
	return id;
}

// Connects to the run of that name, or with NULL to the run that listens on `socket`. Returns the descriptor; or -1 with a message
// in *error, or with errno.
static int connect_to(const char *name, const char *socket, struct buf *error) {
	struct pool_dir pool_dir;
	if (name) {
		FP_CLEANUP(buf_fini) struct buf file = BUF_INIT;
		buf_printf(&file, "run+%s", name);
		if (pool_dir_open(&pool_dir, buf_str(&file), error) != 0) {
			return -1;
		}
	}
	int fd;
	while ((fd = name ? pool_dir_connect(&pool_dir) : socket_connect(socket)) < 0 && errno == EAGAIN) {
		(void)poll(NULL, 0, RETRY_MS); // the run is stopped or busy, and its backlog is full
	}
	return fd;
}

// Connects to the run of --run, or else to the run in whose job this process is. *ret_id: what find_own() returns. Returns the
// descriptor, or -1 after a message.
static int connect_run(const struct options *options, const char *what, struct lease_id *ret_id) {
	const char *name = options->control.run;
	FP_CLEANUP(buf_fini) struct buf socket = BUF_INIT, error = BUF_INIT;
	*ret_id = find_own(&socket);
	if (!name && socket.len == 0) {
		return diag_error("--%s speaks to a run: use it in a job of the run, or name the run by --run NAME%s", what,
		                  options->control.request == OPT_WAIT ? "; to wait for a semaphore, name it with --id" : "");
	}
	int fd = connect_to(name, buf_str(&socket), &error);
	if (fd >= 0) {
		return fd;
	}
	if (error.len > 0) {
		return diag_error("--%s: %s", what, buf_str(&error));
	}
	if (pool_dir_is_deserted(errno)) {
		return name ? diag_error("--%s: there is no run %s", what, name) : diag_error("--%s: the run has ended, or cannot be reached from here", what);
	}
	const char *why = errno == EPERM ? "it belongs to another user"
		: errno == EPROTOTYPE ? "it was started by another version of fairpar" : strerror(errno);
	return diag_error("--%s: cannot speak to %s%s: %s", what, name ? "run " : "the run", name ? name : "", why);
}

// ---- the request ----

// Appends the job of --add as control_write_job() does: the command, with the directory, environment, umask and limits of this
// process. Returns 0, or -1 after a message.
static int write_job(const struct options *options, const struct context *context, struct buf *text) {
	FP_CLEANUP(buf_fini) struct buf words = BUF_INIT, env = BUF_INIT;
	FP_CLEANUP(free_later) char *cwd = getcwd(NULL, 0);
	if (!cwd) {
		return diag_error("--add: cannot tell the current directory: %s", strerror(errno));
	}
	struct control_job job = {
		.batch = options->batch ? options->batch : "",
		.cwd = cwd,
		.timeout = options->timeout,
		.attempts = options->attempts,
		.width = (uint32_t)options->pool.width,
		.nice = options->nice,
		.umask = (uint32_t)umask(0),
	};
	(void)umask((mode_t)job.umask);
	for (int i = 0; i < CONTROL_LIMITS && i < RLIM_NLIMITS; ++i) {
		job.limits[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
		(void)getrlimit(RLIMIT_OF(i), &job.limits[i]);
	}
	job.limits[RLIMIT_NOFILE] = context->nofile;
	buf_add_strings(&words, options->command, &job.nwords);
	buf_add_strings(&env, context->env, &job.nenv);
	job.words = buf_str(&words);
	job.words_size = words.len;
	job.env = buf_str(&env);
	job.env_size = env.len;
	control_write_job(text, &job);
	if (text->len > CONTROL_TEXT_MAX) {
		return diag_error("--add: the command and its environment are too long: %zu bytes, and 4 MiB can be added", text->len);
	}
	return 0;
}

// Sends the request of the options, from the attempt `id`. Returns 0, or -1 after a message.
static int send_request(const struct options *options, const struct context *context, struct lease_id id, const char *what, int fd) {
	enum option_id request = options->control.request;
	enum control_type type = request == OPT_ADD ? CONTROL_ADD : request == OPT_CANCEL ? CONTROL_CANCEL
		: request == OPT_STATUS ? CONTROL_LOOK : CONTROL_WAIT;
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	uint32_t flags = 0, n_ids;
	int result = 0;
	if (request == OPT_ADD) {
		result = write_job(options, context, &text);
	} else if (request == OPT_CANCEL && options->batch) {
		flags = CANCEL_BATCH;
		buf_adds(&text, options->batch);
	} else {
		flags = request == OPT_WAIT_ANY ? WAIT_ANY : request == OPT_STATUS && options->pool.status == POOL_JSON ? LOOK_JSON : 0;
		buf_add_strings(&text, options->command, &n_ids);
	}
	flags |= options->control.run ? CONTROL_BY_NAME : 0;
	const struct frame frame = {.type = type, .a = id.number, .b = id.nonce, .c = (uint64_t)CONTROL_VERSION << 32 | flags};
	if (result == 0 && frame_send(fd, frame, buf_str(&text), text.len, -1) != 0 && errno != EPIPE) { // EPIPE: the run may have answered
		return diag_error("--%s: cannot speak to the run: %s", what, strerror(errno));
	}
	return result;
}

// ---- the answer ----

// Waits for the whole answer, and reads it into *in. *ret_answer: its frame; *ret_text: its text, in *in. If a request that the run answers at
// once has no answer after a timeout, warns and goes on waiting. Returns false if the connection ended before the answer.
static bool await_answer(int fd, const struct options *options, const char *what, struct buf *in, struct frame *ret_answer,
                         const char **ret_text) {
	const char *name = options->control.run;
	bool has_no_timeout = options->control.request == OPT_WAIT || options->control.request == OPT_WAIT_ANY;
	size_t at = 0;
	int ignored;
	while (frame_receive(fd, in, &ignored) == FRAME_NONE) {
		int n_ready = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, has_no_timeout ? -1 : ANSWER_TIMEOUT_MS);
		if (n_ready == 0) {
			diag_warn("--%s: %s%s does not answer yet: it is stopped or busy", what, name ? "run " : "the run", name ? name : "");
			has_no_timeout = true;
		}
	}
	return frame_next(in, &at, ret_answer, ret_text);
}

// Prints the ID of a job, if there is one. `has`: what has happened to the job, for the message if the ID cannot be written. Returns 0,
// or -1 after that message.
static int print_id(const char *what, const char *id, size_t len, const char *has) {
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	buf_printf(&line, "%.*s%s", (int)len, id, len > 0 ? "\n" : "");
	if (write_all(STDOUT_FILENO, line.data, line.len) != 0) {
		return diag_error("--%s: job %.*s %s, but its ID cannot be written to stdout: %s", what, (int)len, id, has, strerror(errno));
	}
	return 0;
}

// Prints what the run has answered. Returns the exit status.
static int show_answer(const char *what, const struct frame *answer, const char *text) {
	switch (answer->type) {
	case CONTROL_ADDED: return print_id(what, text, answer->len, "was added") == 0 ? 0 : EXIT_TROUBLE;
	case CONTROL_ENDED: return print_id(what, text, answer->len, "has ended") == 0 ? (int)(answer->a & 0xff) : EXIT_TROUBLE;
	case CONTROL_CANCELLED: return 0;
	case CONTROL_REPORT: return diag_print(text, answer->len) == 0 ? 0 : EXIT_TROUBLE;
	case CONTROL_REFUSED: diag_error("--%s: %.*s", what, (int)answer->len, text); return EXIT_TROUBLE;
	default: diag_error("--%s: the run belongs to another version of fairpar", what); return EXIT_TROUBLE;
	}
}

int control_ask(const struct options *options, const struct context *context) {
	const char *what = option_table[options->control.request].name, *text; // `what`: the name of the request in messages
	FP_CLEANUP(buf_fini) struct buf in = BUF_INIT;
	struct lease_id id;
	struct frame answer;
	int status = EXIT_TROUBLE, fd = connect_run(options, what, &id);
	if (fd >= 0 && send_request(options, context, id, what, fd) == 0) {
		if (await_answer(fd, options, what, &in, &answer, &text)) {
			status = show_answer(what, &answer, text);
		} else {
			diag_error("--%s: the run has ended", what);
		}
	}
	fd_close(&fd);
	return status;
}
