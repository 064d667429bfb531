// The worker's end of a connection.

#include "remote/worker_end.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <string.h>

// ---- what the dispatcher says ----

static const char *on_begin(struct worker_end *end, const struct wire_frame *frame) {
	if (frame->numbers[0] <= end->channel.last) {
		return "the dispatcher has sent a job twice";
	}
	struct channel_job *job = channel_add_job(&end->channel, frame->numbers[0]);
	job->has_files = frame->type == FRAME_FILES;
	end->calls.begin(end->arg, job, frame->payload, frame->size);
	return NULL;
}

// Returns why the frame of a job is not allowed, or NULL.
static const char *check_job_frame(struct worker_end *end, struct channel_job *job, const struct wire_frame *frame) {
	bool was_ended = job->input_ended;
	switch ((int)frame->type) {
	case FRAME_IN: return was_ended ? "the dispatcher has sent input of a job after its end" : channel_receive_bytes(job, frame->size);
	case FRAME_EOF: job->input_ended = true; return was_ended ? "the dispatcher has ended the input of a job twice" : NULL;
	case FRAME_MORE: return channel_acknowledged(&end->channel, job, frame->numbers[1]);
	case FRAME_LEND: return NULL;
	case FRAME_STOP: return frame->numbers[1] >= STOP_HOWS ? "the dispatcher stops a job in an unknown way" : NULL;
	case FRAME_SHUT: return frame->numbers[1] < 1 || frame->numbers[1] > 2 ? "the dispatcher shuts an unknown stream" : NULL;
	default: return "the dispatcher has sent a frame that it may not send for this job";
	}
}

static const char *on_frame(void *arg, const struct wire_frame *frame) {
	struct worker_end *end = arg;
	switch ((int)frame->type) {
	case FRAME_ENV: end->calls.env(end->arg, frame->numbers[0] != 0, frame->payload, frame->size); return NULL;
	case FRAME_RUN:
	case FRAME_FILES: return on_begin(end, frame);
	case FRAME_REST:
		end->channel.is_suspended = frame->numbers[0] != 0;
		end->calls.suspend(end->arg, frame->numbers[0] != 0);
		return NULL;
	case FRAME_BYE: end->is_released = true; return NULL;
	default: break;
	}
	struct channel_job *job = channel_find_job(&end->channel, frame->numbers[0]);
	if (!job) { // the job has ended, or there was no such job
		return frame->numbers[0] <= end->channel.last ? NULL : "the dispatcher has sent a frame for a job that it has not sent";
	}
	const char *why = job->has_files && frame->type != FRAME_STOP ? NULL : check_job_frame(end, job, frame);
	return why ? why : end->calls.frame(end->arg, job, frame);
}

// ---- the connection ----

// Returns NULL if `line` is the first line of a dispatcher, else why not. The line of a dispatcher of another version begins with the same word.
static const char *check_greeting(const char *line, size_t n) {
	size_t len = strlen(GREETING);
	if (n == len + MARK_SIZE + 1 && memcmp(line, GREETING, len) == 0 && strspn(line + len, "0123456789abcdef") == MARK_SIZE) {
		return NULL;
	}
	return n >= strlen("fairpar-worker ") && memcmp(line, "fairpar-worker ", strlen("fairpar-worker ")) == 0
		? "the dispatcher is a fairpar that speaks another version of the protocol; this fairpar speaks version 2"
		: "the dispatcher is not a fairpar: a worker is started by --sshlogin, --slurm or --launch";
}

static void send_hello(struct worker_end *end, const char *mark) {
	struct buf *out = &end->channel.current; // these bytes go before the frames that wait already
	buf_addc(out, '\n');
	buf_add(out, mark, MARK_SIZE + 1);
	const struct worker_hello *hello = &end->hello;
	wire_write(out, &(struct wire_frame){
		.type = FRAME_HELLO,
		.numbers = {WIRE_VERSION, hello->slots, hello->left, hello->memory},
		.payload = hello->node,
		.size = strnlen(hello->node, WIRE_HEADER_MOST - 1),
	});
}

static size_t on_greeting(void *arg) {
	struct worker_end *end = arg;
	struct channel *channel = &end->channel;
	const char *line = buf_str(&channel->in), *newline = memchr(line, '\n', channel->in.len);
	size_t n = newline ? (size_t)(newline + 1 - line) : channel->in.len;
	const char *why = newline || n > WIRE_HEADER_MOST ? check_greeting(line, n) : NULL;
	if (why) {
		channel_break(channel, why);
	} else if (newline) {
		channel->is_greeted = true;
		send_hello(end, line + strlen(GREETING));
	}
	return newline ? n : 0;
}

struct worker_end *worker_end_new(const struct worker_calls *calls, void *arg, const struct worker_hello *hello, uint64_t now) {
	struct worker_end *end = NEW(struct worker_end);
	*end = (struct worker_end){.calls = *calls, .arg = arg, .hello = *hello};
	channel_init(&end->channel, WIRE_WORKER, on_greeting, on_frame, end, now);
	return end;
}

void worker_end_free(struct worker_end *end) {
	if (end) {
		channel_fini(&end->channel);
		free(end);
	}
}

// ---- what the worker says ----

void worker_end_started(struct worker_end *end, uint64_t number, uint64_t pid, uint64_t ago) {
	struct channel_job *job = channel_find_job(&end->channel, number);
	verify(job && !job->is_running);
	job->is_running = true;
	channel_send(&end->channel, &(struct wire_frame){.type = FRAME_STARTED, .numbers = {number, pid, ago}});
}

void worker_end_refuse(struct worker_end *end, uint64_t number, const char *why) {
	struct channel_job *job = channel_find_job(&end->channel, number);
	verify(job && !job->is_running);
	channel_remove_job(&end->channel, job);
	channel_say(&end->channel, FRAME_REFUSE, number, 0, why);
}

void worker_end_done(struct worker_end *end, uint64_t number, const struct job_end *how) {
	struct channel_job *job = channel_find_job(&end->channel, number);
	const struct result *result = &how->result;
	char error[2] = {(char)how->error.step, (char)(how->error.error > 0 && how->error.error < 256 ? how->error.error : 0)};
	verify(job);
	channel_remove_job(&end->channel, job);
	channel_send(&end->channel, &(struct wire_frame){
		.type = FRAME_DONE,
		.numbers = {number, (uint64_t)result->outcome, (uint64_t)result->exit_code, (uint64_t)result->term_signal, result->out_of_memory,
	                result_wall(result), result->user, result->sys, result->maxrss / 1024},
		.payload = error,
		.size = sizeof(error),
	});
}
