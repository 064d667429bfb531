// An attempt on another machine as its worker's thread sees it: pipes that the link's thread fills, read to their end.

#include "remote/link_internal.h"

#include "base/alloc.h"
#include "base/io.h"
#include "base/wakeup.h"
#include "remote/payload.h"
#include "remote/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024 };
enum { WAKE = STREAM_ERR + 1, IN, MORE, NFDS }; // in fds, behind the streams

// The thread's own side.
struct link_reader {
	struct host_link *link;
	struct link_attempt *attempt;
	struct pollfd fds[NFDS];
	bool started;
	char *bytes;               // COPY_BYTES, without an output_reader
};

// ---- pipes ----

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
static int open_pipes(struct link_reader *reader) {
	struct link_attempt *attempt = reader->attempt;
	const struct child_config *config = attempt->config;
	for (int i = 0; i < 2; ++i) {
		if (open_pipe(&reader->fds[i].fd, &attempt->out[i].fd) != 0) {
			return -1;
		}
	}
	reader->fds[WAKE].fd = attempt->wake_fd = wakeup_open();
	if (attempt->wake_fd < 0) {
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

static void close_pipes(struct link_reader *reader) {
	struct link_attempt *attempt = reader->attempt;
	for (int i = 0; i < 2; ++i) {
		fd_close(&attempt->out[i].fd);
		buf_fini(&attempt->out[i].rest);
		fd_close(&reader->fds[i].fd);
	}
	fd_close(&attempt->in_fd);
	fd_close(&reader->fds[IN].fd);
	fd_close(&attempt->wake_fd);
}

// ---- reading ----

// --ungroup: passes on what there is.
static ssize_t copy_through(struct link_reader *reader, int stream, int fd) {
	if (!reader->bytes) {
		reader->bytes = xmalloc(COPY_BYTES);
	}
	ssize_t n = read(fd, reader->bytes, COPY_BYTES);
	return n > 0 && write_all(stream + 1, reader->bytes, (size_t)n) != 0 ? 0 : n;
}

static void read_stream(struct link_reader *reader, enum child_stream stream) {
	struct pollfd *from = &reader->fds[stream];
	const struct output_reader *output_reader = reader->attempt->config->output_reader;
	if (from->fd < 0 || !from->revents) {
		return;
	}
	ssize_t n = output_reader ? output_reader->readable(output_reader->arg, stream, from->fd) : copy_through(reader, (int)stream, from->fd);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		fd_close(&from->fd);
	}
}

// Waits for what comes, until all was read and the link's thread is done with the attempt.
static void attend(struct link_reader *reader) {
	const struct child_config *config = reader->attempt->config;
	enum link_state state = ATTEMPT_WAITING;
	while (state != ATTEMPT_LEFT || reader->fds[STREAM_OUT].fd >= 0 || reader->fds[STREAM_ERR].fd >= 0) {
		if (poll(reader->fds, NFDS, -1) < 0) {
			continue; // EINTR, or no memory for a moment
		}
		if (reader->fds[WAKE].revents) {
			uint64_t start;
			int pid;
			wakeup_clear(reader->attempt->wake_fd);
			state = link_state_of(reader->link, reader->attempt, &start, &pid);
			if (!reader->started && start > 0) {
				reader->started = true;
				if (config->started) {
					config->started(config->started_arg, pid, start);
				}
			}
		}
		read_stream(reader, STREAM_OUT);
		read_stream(reader, STREAM_ERR);
		if (config->stdin_writer) {
			stdin_pipe_fill(config->stdin_writer, &reader->fds[IN], &reader->fds[MORE]);
		}
	}
	if (config->stdin_writer) {
		stdin_pipe_close(config->stdin_writer, &reader->fds[IN], &reader->fds[MORE]);
	}
}

enum link_end link_run(struct host_link *link, const struct child_config *config, const struct payload_context *context, const char *cwd,
                       struct result *ret_result, struct spawn_error *ret_error, bool *ret_wrote) {
	struct link_attempt attempt = {.config = config, .wake_fd = -1, .out = {{.fd = -1}, {.fd = -1}}, .in_fd = -1};
	struct link_reader reader = {.link = link, .attempt = &attempt, .fds = {
		[STREAM_OUT] = {.fd = -1, .events = POLLIN}, [STREAM_ERR] = {.fd = -1, .events = POLLIN}, [WAKE] = {.fd = -1, .events = POLLIN},
		[IN] = {.fd = -1, .events = POLLOUT}, [MORE] = {.fd = -1, .events = POLLIN}}};
	*ret_result = (struct result){.outcome = OUTCOME_CANCELLED};
	*ret_error = (struct spawn_error){.error = 0};
	*ret_wrote = false;
	if (open_pipes(&reader) != 0) {
		*ret_error = (struct spawn_error){.step = SPAWN_PIPE, .error = errno};
		result_cannot_start(ret_result, 126);
	} else {
		bool has_input = attempt.in_fd >= 0;
		payload_write(&attempt.payload, config, context, cwd, has_input);
		if (attempt.payload.len > WIRE_RUN_MOST) {
			*ret_error = (struct spawn_error){.step = SPAWN_EXEC, .error = E2BIG};
			result_cannot_start(ret_result, 126);
		}
	}
	if (!ret_error->error && link_submit(link, &attempt)) {
		attend(&reader);
		*ret_result = attempt.result;
		*ret_error = attempt.error;
		*ret_wrote = attempt.wrote;
	}
	close_pipes(&reader);
	buf_fini(&attempt.payload);
	free(reader.bytes);
	return attempt.end;
}
