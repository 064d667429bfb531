// The command of an attempt on another machine: what the connections' thread, and the threads of the pool that resume the attempt, do for it.
//
// A timeout, a cancel or a kill is sent to the worker as an order (enum attempt_order), which ends the present step of the attempt early. While a
// worker is suspended, the command is stopped, but the transfer of files goes on.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/write_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

// Variables that neither launchers nor jobs on other machines get. The cookie marks processes to be killed when this run dies: but a launcher ends
// with its connection, and a worker ends its own jobs. The other two name sockets of this machine, which a fairpar in a job there must not look for.
char *const hosts_withheld[] = {"FAIRPAR_COOKIE", "FAIRPAR_SOCK", "FAIRPAR_CONTROL", NULL};

enum { IN, MORE, NFDS };

// ---- the connection's side ----

void host_attempt_on_wake(struct host_attempt *attempt) {
	if (list_is_empty(&attempt->woken)) {
		list_push_back(&attempt->host->hosts->woken, &attempt->woken);
	}
}

bool host_submit(struct host_attempt *attempt, struct file_talk *talk, bool is_cleanup) {
	struct host *host = attempt->host;
	FP_HOLD(&host->hosts->lock);
	enum hosts_ending ending = atomic_load_relaxed(&host->hosts->ending);
	bool taken = ending == HOSTS_RUN || (ending == HOSTS_TERMINATE && is_cleanup);
	attempt->result = (struct result){.outcome = OUTCOME_CANCELLED};
	if (taken) {
		attempt->is_cleanup = is_cleanup;
		attempt->talk = talk;
		attempt->state = ATTEMPT_WAITING;
		attempt->order = attempt->order_sent = ORDER_NONE;
		attempt->start = 0;
		attempt->taken = 0; // the previous step may have ended before all of its output was acknowledged
		buf_reset(&attempt->outbox); // drops frames of the previous step
		attempt->number = ++host->last_number;
		list_push_back(&host->attempts, &attempt->link);
		host_post(host);
	}
	return taken;
}

// ---- RUN ----

// Opens the command's input: the file that the attempt has as its input, or a pipe that fill_input() fills. Returns 0, or -1 with errno.
static int open_input(struct host_attempt *attempt) {
	const struct child_config *config = attempt->config;
	attempt->input[IN] = (struct pollfd){.fd = -1};
	attempt->input[MORE] = (struct pollfd){.fd = -1, .events = POLLIN};
	if (config->stdin_writer) {
		int ends[2] = {-1, -1};
		int result = pipe2(ends, O_CLOEXEC | O_NONBLOCK);
		attempt->in_fd = ends[0];
		attempt->input[IN] = (struct pollfd){.fd = ends[1], .events = POLLOUT};
		return result;
	}
	attempt->in_fd = config->stdin_fd >= 0 ? fcntl(config->stdin_fd, F_DUPFD_CLOEXEC, 0) : -1;
	return config->stdin_fd >= 0 && attempt->in_fd < 0 ? -1 : 0;
}

// Writes into the input's pipe as much of the input as there is now and as the pipe takes.
static void fill_input(struct host_attempt *attempt) {
	while (poll(attempt->input, NFDS, 0) > 0) {
		stdin_pipe_fill(attempt->config->stdin_writer, &attempt->input[IN], &attempt->input[MORE]);
	}
	FP_HOLD(&attempt->host->hosts->lock);
	attempt->more_fd = attempt->input[MORE].fd;
	if (attempt->more_fd >= 0) {
		host_post(attempt->host);
	}
}

// Writes output of --ungroup to this process's own stream. May wait long: the reader may be slow, or wait for another job.
static int write_through(struct host_attempt *attempt, enum child_stream stream, const struct buf *bytes) {
	struct hosts *hosts = attempt->host->hosts; // the pool of the hosts exists as long as there are attempts
	atomic_store_relaxed(&attempt->awaits_reader, true);
	pool_add_threads(hosts->pool, 1);
	int result = write_limited((int)stream + 1, bytes->data, bytes->len);
	if (result != 0 && errno == ETIME) {
		diag_warn("%s: output of a job was not written: nobody reads it", attempt->host->login->name);
	}
	pool_add_threads(hosts->pool, -1);
	atomic_store_relaxed(&attempt->awaits_reader, false);
	return result;
}

// Passes on output that has come from a stream. If nobody reads the output any more, queues a frame that tells the worker so.
static void pass_on(struct host_attempt *attempt, enum child_stream stream, const struct buf *bytes) {
	const struct output_reader *reader = attempt->config->output_reader;
	if (bytes->len > 0 && reader) {
		reader->take(reader->arg, stream, bytes->data, bytes->len);
	} else if (bytes->len > 0 && !attempt->is_shut[stream]) { // --ungroup
		attempt->is_shut[stream] = write_through(attempt, stream, bytes) != 0;
		if (attempt->is_shut[stream]) {
			FP_HOLD(&attempt->host->hosts->lock);
			wire_write(&attempt->outbox, &(struct wire_frame){.type = FRAME_SHUT, .numbers = {0, (uint64_t)stream + 1}});
		}
	}
}

// Takes what the connections' thread has left for the attempt, and passes it on. Returns the attempt's state.
static enum host_attempt_state take(struct host_attempt *attempt) {
	FP_CLEANUP(buf_fini) struct buf out = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf err = BUF_INIT;
	const struct child_config *config = attempt->config;
	mutex *lock = &attempt->host->hosts->lock;
	mutex_lock(lock);
	list_remove(&attempt->woken);
	enum host_attempt_state state = attempt->state;
	uint64_t start = attempt->start;
	int pid = attempt->pid;
	attempt->requests += attempt->wanted;
	attempt->wanted = 0;
	buf_move(&out, &attempt->out[0]);
	buf_move(&err, &attempt->out[1]);
	mutex_unlock(lock);
	if (!attempt->has_started && start > 0 && config->started) {
		config->started(config->started_arg, pid, start);
	}
	attempt->has_started = start > 0;
	attempt->wrote = attempt->wrote || out.len + err.len > 0;
	pass_on(attempt, STREAM_OUT, &out);
	pass_on(attempt, STREAM_ERR, &err);
	if (out.len + err.len > 0 && state != ATTEMPT_ENDED) {
		FP_HOLD(lock);
		attempt->taken += out.len + err.len;
		if (attempt->taken >= OUTPUT_TAKEN || attempt->outbox.len > 0) {
			host_post(attempt->host);
		}
	}
	return state;
}

// Sends the attempt to its worker. Returns false, with the result, if it cannot be sent.
static bool begin_run(struct host_attempt *attempt) {
	struct hosts *hosts = attempt->host->hosts;
	bool is_launched = attempt->host->login->kind == SSHLOGIN_LAUNCH;
	const struct payload_context context = {
		.base = hosts->env, .withheld = hosts_withheld, .copies_context = is_launched, .dir = attempt->dir,
		.makes_dir = !is_launched || hosts->options->workdir, .batch = hosts->worker.memory ? attempt->place->batch : 0,
		.width = attempt->place->width,
	};
	if (open_input(attempt) != 0) {
		attempt->error = (struct spawn_error){.step = SPAWN_PIPE, .error = errno};
	} else {
		payload_write(&attempt->payload, attempt->config, &context, /* has_input */ attempt->in_fd >= 0);
		if (attempt->payload.len > WIRE_RUN_MOST) {
			attempt->error = (struct spawn_error){.step = SPAWN_EXEC, .error = E2BIG};
		}
	}
	if (attempt->error.error) {
		result_cannot_start(&attempt->result, 126);
	}
	return !attempt->error.error && host_submit(attempt, NULL, /* is_cleanup */ false);
}

// Closes the command's input, and frees its output and payload.
static void end_run(struct host_attempt *attempt) {
	if (attempt->config->stdin_writer) {
		stdin_pipe_close(attempt->config->stdin_writer, &attempt->input[IN], &attempt->input[MORE]);
	}
	buf_fini(&attempt->out[0]);
	buf_fini(&attempt->out[1]);
	buf_fini(&attempt->payload);
	fd_close(&attempt->in_fd);
}

bool host_attempt_run(struct host_attempt *attempt) {
	bool begins = !attempt->runs; // then nothing is taken: if something has come since the command was sent, the attempt is resumed for it
	attempt->runs = attempt->runs || begin_run(attempt);
	bool has_ended = !attempt->runs || (!begins && take(attempt) == ATTEMPT_ENDED);
	if (has_ended) {
		end_run(attempt);
	} else if (attempt->config->stdin_writer) {
		fill_input(attempt);
	}
	return has_ended;
}
