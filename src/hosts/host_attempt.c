// One attempt on another machine, on the thread of the pool's worker that waits for it.

#include "hosts/hosts_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { OUTLIVES_MS = 300, LEAVES_S = 2 };
enum { WAKE, IN, MORE, NFDS };

// ---- descriptors ----

// Opens the wake-up, and the input: that of the attempt, or a pipe whose other end is *ret_input. Returns 0, or -1 with errno.
static int open_all(struct host_attempt *attempt, int *ret_input) {
	const struct child_config *config = attempt->config;
	attempt->wake_fd = wakeup_open();
	if (attempt->wake_fd >= 0 && config->stdin_writer) {
		int ends[2] = {-1, -1};
		int result = pipe2(ends, O_CLOEXEC | O_NONBLOCK);
		attempt->in_fd = ends[0];
		*ret_input = ends[1];
		return result;
	}
	attempt->in_fd = config->stdin_fd >= 0 ? fcntl(config->stdin_fd, F_DUPFD_CLOEXEC, 0) : -1;
	return attempt->wake_fd < 0 || (config->stdin_fd >= 0 && attempt->in_fd < 0) ? -1 : 0;
}

static void close_all(struct host_attempt *attempt) {
	buf_fini(&attempt->out[0]);
	buf_fini(&attempt->out[1]);
	buf_fini(&attempt->payload);
	fd_close(&attempt->in_fd);
	fd_close(&attempt->wake_fd);
}

// ---- the attempt's output ----

// Passes on output that has come from a stream. Returns false if nobody reads the output any more.
static bool pass_on(const struct child_config *config, enum child_stream stream, const struct buf *bytes) {
	const struct output_reader *reader = config->output_reader;
	if (bytes->len > 0 && reader) {
		reader->take(reader->arg, stream, bytes->data, bytes->len);
	}
	return reader || write_all((int)stream + 1, buf_str(bytes), bytes->len) == 0; // --ungroup
}

// Takes what the host's thread has left for the attempt. *started: the job's start was reported. Returns whether the attempt has ended.
static bool take(struct host_attempt *attempt, bool *started) {
	FP_CLEANUP(buf_fini) struct buf out = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf err = BUF_INIT;
	const struct child_config *config = attempt->config;
	mutex_lock(&attempt->host->lock);
	bool has_ended = attempt->state == ATTEMPT_ENDED;
	uint64_t start = attempt->start;
	int pid = attempt->pid;
	unsigned shut = attempt->shut;
	buf_move(&out, &attempt->out[0]);
	buf_move(&err, &attempt->out[1]);
	mutex_unlock(&attempt->host->lock);
	if (!*started && start > 0 && config->started) {
		config->started(config->started_arg, pid, start);
	}
	*started = start > 0;
	shut |= shut & 1 || pass_on(config, STREAM_OUT, &out) ? 0 : 1;
	shut |= shut & 2 || pass_on(config, STREAM_ERR, &err) ? 0 : 2;
	mutex_lock(&attempt->host->lock);
	attempt->taken += out.len + err.len;
	if (attempt->taken >= OUTPUT_TAKEN || shut != attempt->shut) {
		wakeup_post(attempt->host->wake_fd);
	}
	attempt->shut = shut;
	mutex_unlock(&attempt->host->lock);
	return has_ended;
}

// Passes on output and input until the attempt has ended.
static void relay(struct host_attempt *attempt, int input) {
	const struct stdin_writer *writer = attempt->config->stdin_writer;
	struct pollfd fds[] = {
		[WAKE] = {.fd = attempt->wake_fd, .events = POLLIN}, [IN] = {.fd = input, .events = POLLOUT}, [MORE] = {.fd = -1, .events = POLLIN},
	};
	bool has_ended = false, started = false;
	while (!has_ended) {
		if (poll(fds, NFDS, -1) < 0) {
			continue; // EINTR, or no memory for a moment
		}
		if (fds[WAKE].revents) {
			wakeup_clear(attempt->wake_fd);
			has_ended = take(attempt, &started);
		}
		if (writer) {
			stdin_pipe_fill(writer, &fds[IN], &fds[MORE]);
		}
	}
	if (writer) {
		stdin_pipe_close(writer, &fds[IN], &fds[MORE]);
	}
}

// ---- an attempt that may have ended because Slurm ends its machine's step ----

// Slurm signals the processes of a step one after the other, children first: so a shell may go on without its child, and end well, before its
// worker is told. Waits to see whether the worker outlives the job's end (`end`): if Slurm has signalled it, too, it says goodbye soon. Returns
// false if the connection was lost instead.
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

bool host_run(const struct hosts_place *place, const struct child_config *config, const char *dir, struct result *ret_result,
              struct spawn_error *ret_error) {
	struct host *host = place->host;
	struct hosts *hosts = host->hosts;
	bool is_launched = host->login->kind == SSHLOGIN_LAUNCH;
	const struct payload_context context = {
		.base = hosts->context->env, .copies_context = is_launched, .dir = dir, .makes_dir = !is_launched || hosts->options->workdir,
	};
	struct host_attempt attempt = {.host = host, .config = config, .wake_fd = -1, .in_fd = -1};
	int input = -1;
	*ret_result = (struct result){.outcome = OUTCOME_CANCELLED};
	*ret_error = (struct spawn_error){.error = 0};
	if (open_all(&attempt, &input) != 0) {
		*ret_error = (struct spawn_error){.step = SPAWN_PIPE, .error = errno};
	} else {
		payload_write(&attempt.payload, config, &context, /* has_input */ attempt.in_fd >= 0);
		if (attempt.payload.len > WIRE_RUN_MOST) {
			*ret_error = (struct spawn_error){.step = SPAWN_EXEC, .error = E2BIG};
		}
	}
	if (ret_error->error) {
		result_cannot_start(ret_result, 126);
	} else if (host_submit(&attempt)) {
		relay(&attempt, input);
		input = -1; // closed
		*ret_result = attempt.result;
		*ret_error = attempt.error;
	}
	fd_close(&input);
	close_all(&attempt);
	if (attempt.is_doubted) {
		hosts_doubt_place(place, /* begins */ true);
		ret_result->lost = outlives(host, attempt.result.end) ? LOST_NOT : LOST_SILENT;
		hosts_doubt_place(place, /* begins */ false);
	}
	return attempt.wrote;
}

// ---- a conversation about files ----

static void send_files(void *arg, struct buf *frames, const char *why) {
	struct host_attempt *attempt = arg;
	buf_move(&attempt->outbox, frames);
	attempt->why = why;
	wakeup_post(attempt->host->wake_fd);
}

void host_talk(struct host *host, const struct child_config *config, struct file_talk *talk, struct result *ret_result) {
	struct host_attempt attempt = {.host = host, .config = config, .wake_fd = -1, .in_fd = -1, .talk = talk};
	*ret_result = (struct result){.outcome = OUTCOME_CANCELLED};
	talk->send = send_files;
	talk->sender = &attempt;
	file_talk_init(talk);
	if (host_submit(&attempt)) {
		file_talk_run(talk, WIRE_WORKER, &host->lock);
		*ret_result = attempt.result;
	}
	file_talk_fini(talk);
	buf_fini(&attempt.outbox);
}
