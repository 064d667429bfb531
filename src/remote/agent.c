// The worker's end of a connection.

#include "remote/agent.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <stdio.h>
#include <string.h>

struct agent_job {
	uint64_t number;
	bool is_running;
	bool input_ended;
	size_t output;        // bytes of output that may be sent
	size_t input;         // bytes of its input that may come before agent_take()
};

struct agent {
	struct channel channel;
	struct agent_calls calls;
	void *arg;
	struct worker_hello hello;
	char node[WIRE_HEADER_MOST];
	struct buf greeting;      // until it is whole
	bool is_greeted;
	struct agent_job *jobs;
	size_t njobs, cap;
	uint64_t last;            // number of a job
};

static struct agent_job *find(const struct agent *agent, uint64_t number) {
	for (size_t i = 0; i < agent->njobs; ++i) {
		if (agent->jobs[i].number == number) {
			return &agent->jobs[i];
		}
	}
	return NULL;
}

static void forget(struct agent *agent, struct agent_job *job) {
	*job = agent->jobs[--agent->njobs];
}

// ---- what the dispatcher says ----

static const char *on_run(struct agent *agent, const struct wire_frame *frame) {
	uint64_t number = frame->numbers[0];
	if (number <= agent->last) {
		return "it has sent a job twice";
	}
	agent->last = number;
	grow_array(&agent->jobs, &agent->cap, agent->njobs + 1, sizeof(*agent->jobs));
	agent->jobs[agent->njobs++] = (struct agent_job){.number = number, .output = OUTPUT_WINDOW, .input = INPUT_WINDOW};
	agent->calls.run(agent->arg, number, frame->payload, frame->size);
	return NULL;
}

static const char *on_input(struct agent *agent, struct agent_job *job, const struct wire_frame *frame) {
	if (job->input_ended || frame->size > job->input) {
		return "it has sent more input than was asked for";
	}
	job->input -= frame->size;
	agent->calls.input(agent->arg, job->number, frame->payload, frame->size);
	return NULL;
}

static const char *on_input_end(struct agent *agent, struct agent_job *job) {
	if (job->input_ended) {
		return "it has ended the input of a job twice";
	}
	job->input_ended = true;
	agent->calls.input_end(agent->arg, job->number);
	return NULL;
}

static const char *on_more(struct agent *agent, struct agent_job *job, const struct wire_frame *frame) {
	if (frame->numbers[1] > OUTPUT_WINDOW - job->output) {
		return "it has asked for more output than there was";
	}
	job->output += (size_t)frame->numbers[1];
	agent->calls.room(agent->arg, job->number);
	return NULL;
}

// A frame of a job that is not gone.
static const char *on_job_frame(struct agent *agent, struct agent_job *job, const struct wire_frame *frame) {
	switch ((int)frame->type) {
	case FRAME_IN: return on_input(agent, job, frame);
	case FRAME_EOF: return on_input_end(agent, job);
	case FRAME_MORE: return on_more(agent, job, frame);
	case FRAME_STOP:
		if (frame->numbers[1] >= STOP_HOWS) {
			return "it wants to stop a job in a way that does not exist";
		}
		agent->calls.stop(agent->arg, job->number, (enum stop_how)frame->numbers[1]);
		return NULL;
	case FRAME_SHUT:
		if (frame->numbers[1] < 1 || frame->numbers[1] > 2) {
			return "it shuts a stream that does not exist";
		}
		agent->calls.shut(agent->arg, job->number, (unsigned)frame->numbers[1]);
		return NULL;
	default: return "it has sent a frame that has no place here";
	}
}

static const char *on_frame(void *arg, const struct wire_frame *frame) {
	struct agent *agent = arg;
	switch ((int)frame->type) {
	case FRAME_ENV: agent->calls.env(agent->arg, frame->numbers[0] != 0, frame->payload, frame->size); return NULL;
	case FRAME_RUN: return on_run(agent, frame);
	case FRAME_REST:
		channel_suspend(&agent->channel, frame->numbers[0] != 0, agent->channel.heard);
		agent->calls.suspend(agent->arg, frame->numbers[0] != 0);
		return NULL;
	case FRAME_BYE: {
		FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
		buf_add(&why, frame->payload, frame->size);
		agent->calls.bye(agent->arg, buf_str(&why));
		return NULL;
	}
	default: break;
	}
	struct agent_job *job = find(agent, frame->numbers[0]);
	if (!job) { // it has ended meanwhile, or never was
		return frame->numbers[0] <= agent->last ? NULL : "it speaks of a job that it has not sent";
	}
	return on_job_frame(agent, job, frame);
}

// ---- the connection ----

struct agent *agent_new(const struct agent_calls *calls, void *arg, const struct worker_hello *hello, uint64_t now) {
	struct agent *agent = xcalloc(1, sizeof(*agent));
	channel_init(&agent->channel, WIRE_WORKER, on_frame, agent, now);
	agent->calls = *calls;
	agent->arg = arg;
	agent->hello = *hello;
	snprintf(agent->node, sizeof(agent->node), "%s", hello->node);
	agent->hello.node = agent->node;
	return agent;
}

void agent_free(struct agent *agent) {
	if (agent) {
		channel_fini(&agent->channel);
		buf_fini(&agent->greeting);
		free(agent->jobs);
		free(agent);
	}
}

// Is it the first line of a dispatcher? One of another version has another line, of which the first words are the same.
static const char *check_greeting(const char *line, size_t n) {
	size_t words = strlen(GREETING);
	if (n == words + MARK_SIZE + 1 && memcmp(line, GREETING, words) == 0 && strspn(line + words, "0123456789abcdef") == MARK_SIZE) {
		return NULL;
	}
	return n >= strlen("fairpar-worker ") && memcmp(line, "fairpar-worker ", strlen("fairpar-worker ")) == 0
		? "it is a fairpar that speaks another version of the protocol than this one, which speaks version 1"
		: "it is no fairpar: a worker is started by --sshlogin, --slurm or --launch";
}

static void send_hello(struct agent *agent, const char *mark) {
	struct buf *out = &agent->channel.urgent;
	buf_addc(out, '\n');
	buf_add(out, mark, MARK_SIZE + 1);
	const struct worker_hello *hello = &agent->hello;
	channel_send(&agent->channel, &(struct wire_frame){
		.type = FRAME_HELLO,
		.numbers = {WIRE_VERSION, hello->slots, hello->left, hello->memory},
		.payload = hello->node,
		.size = strlen(hello->node),
	});
}

int agent_receive(struct agent *agent, const char *bytes, size_t n, uint64_t now) {
	if (!agent->is_greeted) {
		const char *end = memchr(bytes, '\n', n);
		size_t part = end ? (size_t)(end + 1 - bytes) : n;
		buf_add(&agent->greeting, bytes, part);
		bytes += part;
		n -= part;
		agent->is_greeted = end != NULL;
		const char *why = end || agent->greeting.len > WIRE_HEADER_MOST ? check_greeting(agent->greeting.data, agent->greeting.len) : NULL;
		if (why) {
			channel_break(&agent->channel, why);
			return -1;
		}
		if (!end) {
			channel_heard(&agent->channel, now);
			return 0;
		}
		send_hello(agent, agent->greeting.data + strlen(GREETING));
	}
	return channel_receive(&agent->channel, bytes, n, now);
}

const char *agent_output(struct agent *agent, size_t *ret_n) {
	return channel_output(&agent->channel, ret_n);
}

void agent_sent(struct agent *agent, size_t n) {
	channel_sent(&agent->channel, n);
}

// Before the greeting nothing is sent.
uint64_t agent_tick(struct agent *agent, uint64_t now) {
	if (!agent->is_greeted) {
		agent->channel.pinged = now;
	}
	return channel_tick(&agent->channel, now);
}

void agent_break(struct agent *agent, const char *why) {
	channel_break(&agent->channel, why);
}

const char *agent_why(const struct agent *agent) {
	return channel_is_broken(&agent->channel) ? agent->channel.why : NULL;
}

// ---- what the worker says ----

void agent_started(struct agent *agent, uint64_t number, uint64_t pid, uint64_t ago) {
	struct agent_job *job = find(agent, number);
	verify(job && !job->is_running);
	job->is_running = true;
	channel_send(&agent->channel, &(struct wire_frame){.type = FRAME_STARTED, .numbers = {number, pid, ago}});
}

void agent_refuse(struct agent *agent, uint64_t number, const char *why) {
	struct agent_job *job = find(agent, number);
	verify(job && !job->is_running);
	forget(agent, job);
	channel_send(&agent->channel, &(struct wire_frame){
		.type = FRAME_REFUSE, .numbers = {number}, .payload = why, .size = strnlen(why, WIRE_TEXT_MOST)});
}

size_t agent_output_room(const struct agent *agent, uint64_t number) {
	const struct agent_job *job = find(agent, number);
	return job ? job->output : 0;
}

void agent_output_bytes(struct agent *agent, uint64_t number, unsigned stream, const char *bytes, size_t n) {
	struct agent_job *job = find(agent, number);
	verify(job && n <= job->output);
	job->output -= n;
	channel_send_chunks(&agent->channel, &(struct wire_frame){.type = FRAME_OUT, .numbers = {number, stream}}, bytes, n);
}

void agent_take(struct agent *agent, uint64_t number, size_t n) {
	struct agent_job *job = find(agent, number);
	if (job && n > 0) {
		verify(n <= INPUT_WINDOW - job->input);
		job->input += n;
		channel_send(&agent->channel, &(struct wire_frame){.type = FRAME_TAKE, .numbers = {number, n}});
	}
}

static uint64_t kib(long maxrss) {
	return maxrss > 0 ? (uint64_t)maxrss : 0;
}

void agent_done(struct agent *agent, uint64_t number, const struct job_end *end) {
	struct agent_job *job = find(agent, number);
	const struct result *result = &end->result;
	char error[2] = {(char)end->error.step, (char)(end->error.error > 0 && end->error.error < 256 ? end->error.error : 0)};
	verify(job);
	forget(agent, job);
	channel_send(&agent->channel, &(struct wire_frame){
		.type = FRAME_DONE,
		.numbers = {number, (uint64_t)result->outcome, (uint64_t)result->exit_code, (uint64_t)result->term_signal, result->out_of_memory,
	                result_wall(result), timeval_ns(result->usage.ru_utime), timeval_ns(result->usage.ru_stime), kib(result->usage.ru_maxrss)},
		.payload = error,
		.size = sizeof(error),
	});
}

void agent_brake(struct agent *agent, size_t jobs, const char *why) {
	const char *text = why ? why : "";
	channel_send(&agent->channel, &(struct wire_frame){
		.type = FRAME_BRAKE, .numbers = {why != NULL, jobs}, .payload = text, .size = strnlen(text, WIRE_TEXT_MOST)});
}

void agent_bye(struct agent *agent, const char *why) {
	channel_send(&agent->channel, &(struct wire_frame){.type = FRAME_BYE, .payload = why, .size = strnlen(why, WIRE_TEXT_MOST)});
}

unsigned agent_jobs(const struct agent *agent) {
	return (unsigned)agent->njobs;
}
