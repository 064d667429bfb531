// One attempt on another machine, on the thread of the pool's worker that waits for it, which reads its pipes as child_run() reads those of a child.
// The host's thread fills them.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024, OUTLIVES_MS = 100, LEAVES_S = 2 };
enum { WAKE = STREAM_ERR + 1, IN, MORE, NFDS }; // in fds, behind the streams

// The waiting thread's state.
struct attempt_reader {
	struct host_attempt *attempt;
	struct pollfd fds[NFDS];
	bool started;
	char *bytes;               // COPY_BYTES, without an output_reader
};

// ---- descriptors ----

// Opens a pipe; both ends are non-blocking and close-on-exec. Returns 0, or -1 with errno.
static int open_pipe(int *ret_read, int *ret_write) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
		return -1;
	}
	*ret_read = ends[0];
	*ret_write = ends[1];
	return 0;
}

// Returns 0, or -1 with errno.
static int open_all(struct attempt_reader *reader) {
	struct host_attempt *attempt = reader->attempt;
	const struct child_config *config = attempt->config;
	reader->fds[WAKE].fd = attempt->wake_fd = wakeup_open();
	if (attempt->wake_fd < 0 || open_pipe(&reader->fds[STREAM_OUT].fd, &attempt->write_fds[0]) != 0 ||
	    open_pipe(&reader->fds[STREAM_ERR].fd, &attempt->write_fds[1]) != 0) {
		return -1;
	}
	if (config->stdin_writer) {
		return open_pipe(&attempt->in_fd, &reader->fds[IN].fd);
	}
	if (config->stdin_fd >= 0) {
		attempt->in_fd = fcntl(config->stdin_fd, F_DUPFD_CLOEXEC, 0);
	}
	return config->stdin_fd >= 0 && attempt->in_fd < 0 ? -1 : 0;
}

static void close_all(struct attempt_reader *reader) {
	struct host_attempt *attempt = reader->attempt;
	for (int i = 0; i < 2; ++i) {
		buf_fini(&attempt->out[i].bytes);
		fd_close(&attempt->write_fds[i]);
	}
	fd_close(&attempt->in_fd);
	for (int i = 0; i <= IN; ++i) {
		fd_close(&reader->fds[i].fd);
	}
}

// ---- reading ----

// --ungroup: writes the output as it comes.
static ssize_t copy_through(struct attempt_reader *reader, int stream, int fd) {
	if (!reader->bytes) {
		reader->bytes = xmalloc(COPY_BYTES);
	}
	ssize_t n = read(fd, reader->bytes, COPY_BYTES);
	return n > 0 && write_all(stream + 1, reader->bytes, (size_t)n) != 0 ? 0 : n;
}

static void read_stream(struct attempt_reader *reader, enum child_stream stream) {
	struct pollfd *from = &reader->fds[stream];
	const struct output_reader *output_reader = reader->attempt->config->output_reader;
	ssize_t n = output_reader ? output_reader->readable(output_reader->arg, stream, from->fd) : copy_through(reader, (int)stream, from->fd);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		fd_close(&from->fd);
	}
}

// Passes on output and input until the host's thread is done with the attempt, and all that it has written into the pipes was read.
static void relay(struct attempt_reader *reader) {
	const struct child_config *config = reader->attempt->config;
	enum host_attempt_state state = ATTEMPT_WAITING;
	while (state != ATTEMPT_LEFT || reader->fds[STREAM_OUT].fd >= 0 || reader->fds[STREAM_ERR].fd >= 0) {
		if (poll(reader->fds, NFDS, -1) < 0) {
			continue; // EINTR, or no memory for a moment
		}
		if (reader->fds[WAKE].revents) {
			wakeup_clear(reader->fds[WAKE].fd);
			mutex_lock(&reader->attempt->host->lock);
			state = reader->attempt->state;
			uint64_t start = reader->attempt->start;
			int pid = reader->attempt->pid;
			mutex_unlock(&reader->attempt->host->lock);
			if (!reader->started && start > 0) {
				reader->started = true;
				if (config->started) {
					config->started(config->started_arg, pid, start);
				}
			}
		}
		for (enum child_stream stream = STREAM_OUT; stream <= STREAM_ERR; ++stream) {
			if (reader->fds[stream].fd >= 0 && reader->fds[stream].revents) {
				read_stream(reader, stream);
			}
		}
		if (config->stdin_writer) {
			stdin_pipe_fill(config->stdin_writer, &reader->fds[IN], &reader->fds[MORE]);
		}
	}
	if (config->stdin_writer) {
		stdin_pipe_close(config->stdin_writer, &reader->fds[IN], &reader->fds[MORE]);
	}
}

// ---- an end that may be its machine's ----

// Slurm signals the processes of a step one after the other, children first: so a shell may go on without its child, and end well, before its
// worker is told. Waits until the worker has outlived `end`, by which time it has said goodbye otherwise, and leaves. Returns false if the
// connection was lost instead.
static bool outlives(struct host *host, uint64_t end) {
	uint64_t until, leaves = host->hosts->stop_takes + LEAVES_S * NS_PER_S;
	mutex_lock(&host->lock);
	do {
		until = end + (uint64_t)OUTLIVES_MS * NS_PER_MS;
		until = host->bye_at > 0 && host->bye_at + leaves > until ? host->bye_at + leaves : until;
	} while (host->lost_at < end && now_ns() < until && (cond_wait_until(&host->changed, &host->lock, until), true));
	bool has = host->lost_at < end || host->lost_at >= until;
	if (--host->ndoubted == 0) {
		wakeup_post(host->wake_fd); // the worker may be released now
	}
	mutex_unlock(&host->lock);
	return has;
}

enum host_end host_run(struct host *host, const struct child_config *config, const char *dir, struct result *ret_result, struct spawn_error *ret_error,
                       bool *ret_wrote) {
	struct hosts *hosts = host->hosts;
	bool is_launched = host->login->kind == SSHLOGIN_LAUNCH;
	const struct payload_context context = {
		.base = hosts->context->env, .copies_context = is_launched, .dir = dir, .makes_dir = !is_launched || hosts->options->workdir,
	};
	struct host_attempt attempt = {.host = host, .config = config, .write_fds = {-1, -1}, .wake_fd = -1, .in_fd = -1};
	struct attempt_reader reader = {.attempt = &attempt, .fds = {
		[STREAM_OUT] = {.fd = -1, .events = POLLIN}, [STREAM_ERR] = {.fd = -1, .events = POLLIN}, [WAKE] = {.fd = -1, .events = POLLIN},
		[IN] = {.fd = -1, .events = POLLOUT}, [MORE] = {.fd = -1, .events = POLLIN}}};
	*ret_result = (struct result){.outcome = OUTCOME_CANCELLED};
	*ret_error = (struct spawn_error){.error = 0};
	if (open_all(&reader) != 0) {
		*ret_error = (struct spawn_error){.step = SPAWN_PIPE, .error = errno};
	} else {
		payload_write(&attempt.payload, config, &context, hosts->cwd, /* has_input */ attempt.in_fd >= 0);
		if (attempt.payload.len > WIRE_RUN_MOST) {
			*ret_error = (struct spawn_error){.step = SPAWN_EXEC, .error = E2BIG};
		}
	}
	if (ret_error->error) {
		result_cannot_start(ret_result, 126);
	} else if (host_submit(&attempt)) {
		relay(&reader);
		*ret_result = attempt.result;
		*ret_error = attempt.error;
	}
	*ret_wrote = attempt.wrote;
	close_all(&reader);
	buf_fini(&attempt.payload);
	free(reader.bytes);
	if (attempt.is_doubted) {
		hosts_doubt_place(config->place, /* begins */ true);
		attempt.end = outlives(host, attempt.result.end) ? END_DONE : END_LOST;
		hosts_doubt_place(config->place, /* begins */ false);
	}
	return attempt.end;
}

// ---- a conversation about files ----

static void send_files(void *arg, struct buf *frames, const char *why) {
	struct host_attempt *attempt = arg;
	buf_move(&attempt->outbox, frames);
	attempt->why = why;
	wakeup_post(attempt->host->wake_fd);
}

enum host_end host_talk(struct host *host, const struct child_config *config, const struct file_talk *talk, struct result *ret_result) {
	struct host_attempt attempt = {.host = host, .config = config, .write_fds = {-1, -1}, .wake_fd = -1, .in_fd = -1, .has_files = true};
	*ret_result = (struct result){.outcome = OUTCOME_CANCELLED};
	file_mail_init(&attempt.mail, send_files, &attempt);
	if (host_submit(&attempt)) {
		file_talk_run(talk, WIRE_WORKER, &attempt.mail, &host->lock);
		*ret_result = attempt.result;
	}
	file_mail_fini(&attempt.mail);
	buf_fini(&attempt.outbox);
	return attempt.end;
}
