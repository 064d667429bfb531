// The dispatcher's end of a connection.

#include "remote/host.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <string.h>

enum { NOISE_MOST = 64 * 1024, NOISE_SHOWN = 1024 };

struct host_job {
	uint64_t number;
	bool is_running;
	bool is_unsent;       // the worker cannot have it
	size_t output;        // bytes of its output that may still come before host_more()
	size_t input;         // bytes of input that may be sent
};

struct host {
	struct channel channel;
	struct host_calls calls;
	void *arg;
	char mark[MARK_SIZE + 3]; // with the newlines around it
	struct buf noise;         // what came before it; a string
	bool is_greeted, is_up;   // by the mark, and by hello
	bool program_requested, program_installed; // a program, before that
	size_t program_sent;            // bytes of it that had been written when it was looked at last
	bool waits_for_mark;      // however long
	struct host_job *jobs;
	size_t njobs, cap;
	uint64_t last;            // number of a job
};

static struct host_job *find(const struct host *host, uint64_t number) {
	for (size_t i = 0; i < host->njobs; ++i) {
		if (host->jobs[i].number == number) {
			return &host->jobs[i];
		}
	}
	return NULL;
}

static void forget(struct host *host, struct host_job *job) {
	*job = host->jobs[--host->njobs];
}

static void send(struct host *host, enum wire_type type, uint64_t job, uint64_t number) {
	channel_send(&host->channel, &(struct wire_frame){.type = type, .numbers = {job, number}});
}

// ---- what the worker says ----

static const char *on_hello(struct host *host, const struct wire_frame *frame) {
	char node[WIRE_HEADER_MOST + 1];
	if (host->is_up || frame->numbers[1] == 0 || frame->numbers[1] > 1000000) {
		return "its hello makes no sense";
	}
	if (frame->numbers[0] != WIRE_VERSION) {
		return "it is a worker of another fairpar, which does not speak version 1 of the protocol";
	}
	memcpy(node, frame->payload, frame->size);
	node[frame->size] = '\0';
	host->is_up = true;
	host->calls.hello(host->arg, &(struct worker_hello){
		.slots = (unsigned)frame->numbers[1],
		.left = frame->numbers[2],
		.memory = frame->numbers[3],
		.node = node,
	});
	return NULL;
}

static const char *on_started(struct host *host, struct host_job *job, const struct wire_frame *frame) {
	if (job->is_running) {
		return "it has started a job twice";
	}
	job->is_running = true;
	host->calls.started(host->arg, job->number, frame->numbers[1], frame->numbers[2]);
	return NULL;
}

static const char *on_output(struct host *host, struct host_job *job, const struct wire_frame *frame) {
	if (!job->is_running || frame->numbers[1] < 1 || frame->numbers[1] > 2) {
		return "it has sent output of a job that has not begun, or of a stream that does not exist";
	}
	if (frame->size > job->output) {
		return "it has sent more output than was asked for";
	}
	job->output -= frame->size;
	host->calls.output(host->arg, job->number, (unsigned)frame->numbers[1], frame->payload, frame->size);
	return NULL;
}

static const char *on_take(struct host *host, struct host_job *job, const struct wire_frame *frame) {
	if (frame->numbers[1] > INPUT_WINDOW - job->input) {
		return "it has asked for more input than there is room for";
	}
	job->input += (size_t)frame->numbers[1];
	host->calls.room(host->arg, job->number);
	return NULL;
}

static const char *on_refuse(struct host *host, struct host_job *job, const struct wire_frame *frame) {
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	if (job->is_running) {
		return "it has refused a job that runs";
	}
	uint64_t number = job->number;
	buf_add(&why, frame->payload, frame->size);
	forget(host, job);
	host->calls.refused(host->arg, number, buf_str(&why));
	return NULL;
}

static struct timeval to_timeval(uint64_t ns) {
	return (struct timeval){.tv_sec = (time_t)(ns / 1000000000), .tv_usec = (suseconds_t)(ns / 1000 % 1000000)};
}

static const char *on_done(struct host *host, struct host_job *job, const struct wire_frame *frame) {
	const uint64_t *of = frame->numbers;
	struct job_end end = {.error = {.error = 0}};
	if (of[1] > OUTCOME_CANCELLED || (of[1] == OUTCOME_OK && !job->is_running) || of[2] > 255 || of[3] > 127 || of[4] > 1 || of[5] > INT64_MAX / 2 || of[6] > INT64_MAX / 2 ||
	    of[7] > INT64_MAX / 2 || of[8] > INT64_MAX / 2 || frame->size < 2) {
		return "it has sent an end of a job that cannot be";
	}
	end.result = (struct result){
		.outcome = (enum outcome)of[1],
		.exit_code = (int)of[2],
		.term_signal = (int)of[3],
		.out_of_memory = of[4] != 0,
		.end = of[5],
		.usage = {.ru_utime = to_timeval(of[6]), .ru_stime = to_timeval(of[7])},
	};
	end.result.usage.ru_maxrss = (long)of[8];
	end.error.step = (enum spawn_step)(unsigned char)frame->payload[0];
	end.error.error = (unsigned char)frame->payload[1];
	if (end.error.step > SPAWN_CGROUP) {
		return "it has sent an end of a job that cannot be";
	}
	uint64_t number = job->number;
	forget(host, job);
	host->calls.done(host->arg, number, &end);
	return NULL;
}

// A frame of a job that is there.
static const char *on_job_frame(struct host *host, struct host_job *job, const struct wire_frame *frame) {
	switch ((int)frame->type) {
	case FRAME_STARTED: return on_started(host, job, frame);
	case FRAME_OUT: return on_output(host, job, frame);
	case FRAME_TAKE: return on_take(host, job, frame);
	case FRAME_REFUSE: return on_refuse(host, job, frame);
	case FRAME_DONE: return on_done(host, job, frame);
	default: return "it has sent a frame that has no place here";
	}
}

static const char *on_frame(void *arg, const struct wire_frame *frame) {
	struct host *host = arg;
	if (frame->type == FRAME_HELLO) {
		return on_hello(host, frame);
	}
	if (!host->is_up) {
		return "its first frame is no hello";
	}
	if (frame->type == FRAME_BYE || frame->type == FRAME_BRAKE) {
		FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
		buf_add(&why, frame->payload, frame->size);
		if (frame->type == FRAME_BYE) {
			host->calls.bye(host->arg, buf_str(&why));
		} else {
			host->calls.braked(host->arg, frame->numbers[1], frame->numbers[0] ? buf_str(&why) : NULL);
		}
		return NULL;
	}
	struct host_job *job = find(host, frame->numbers[0]);
	return job ? on_job_frame(host, job, frame) : "it speaks of a job that it does not have";
}

// ---- the connection ----

static void greet(struct host *host) {
	buf_printf(&host->channel.current, "%s%.*s\n", GREETING, MARK_SIZE, host->mark + 1);
}

struct host *host_new(const struct host_calls *calls, void *arg, const char *mark, uint64_t now) {
	struct host *host = xcalloc(1, sizeof(*host));
	verify(strlen(mark) == MARK_SIZE);
	channel_init(&host->channel, WIRE_DISPATCHER, on_frame, host, now);
	host->calls = *calls;
	host->arg = arg;
	snprintf(host->mark, sizeof(host->mark), "\n%s\n", mark);
	greet(host);
	return host;
}

void host_wait_for_worker(struct host *host) {
	host->waits_for_mark = true;
}

void host_free(struct host *host) {
	if (host) {
		channel_fini(&host->channel);
		buf_fini(&host->noise);
		free(host->jobs);
		free(host);
	}
}

// Finds the connection of the noise that begins with the word and the mark, and appends its rest. Returns false if it has not come.
static bool find_request(const struct host *host, const char *word, struct buf *ret_rest) {
	FP_CLEANUP(buf_fini) struct buf begin = BUF_INIT;
	buf_printf(&begin, "\n%s %.*s", word, MARK_SIZE, host->mark + 1);
	const char *at = memmem(host->noise.data, host->noise.len, begin.data, begin.len);
	const char *rest = at ? at + begin.len : NULL, *end = at ? strchr(rest, '\n') : NULL;
	if (end) {
		rest += *rest == ' ';
		buf_add(ret_rest, rest, (size_t)(end - rest));
	}
	return end;
}

// Gives a machine the program that it asks for; and when it has that, the greeting once more.
static void send_program(struct host *host) {
	FP_CLEANUP(buf_fini) struct buf rest = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	if (!find_request(host, host->program_requested ? "have" : "want", &rest)) {
		return;
	}
	if (host->program_requested) {
		host->program_installed = true;
		greet(host);
	} else if (!host->calls.program_requested || host->calls.program_requested(host->arg, buf_str(&rest), &host->channel.current, &why) != 0) {
		channel_break(&host->channel, why.len > 0 ? buf_str(&why) : "it has no fairpar");
	}
	host->program_requested = true;
}

// What a login shell says stands before the mark. Returns the bytes behind it, or NULL: it has not come.
static const char *skip_noise(struct host *host, const char *bytes, size_t n, size_t *ret_n) {
	size_t before = host->noise.len;
	buf_add(&host->noise, bytes, n);
	const char *mark = memmem(host->noise.data, host->noise.len, host->mark, MARK_SIZE + 2);
	if (!mark) {
		if (!host->program_installed) {
			send_program(host);
		}
		if (host->noise.len > NOISE_MOST) {
			channel_break(&host->channel, "it says much, but is no worker of fairpar");
		}
		return NULL;
	}
	host->is_greeted = true;
	*ret_n = host->noise.len - (size_t)(mark + MARK_SIZE + 2 - host->noise.data);
	verify(host->noise.len == before + n && *ret_n <= n);
	return bytes + (n - *ret_n);
}

int host_receive(struct host *host, const char *bytes, size_t n, uint64_t now) {
	if (!host->is_greeted) {
		channel_heard(&host->channel, now);
		bytes = skip_noise(host, bytes, n, &n);
		if (!bytes) {
			return channel_is_broken(&host->channel) ? -1 : 0;
		}
	}
	return channel_receive(&host->channel, bytes, n, now);
}

const char *host_output(struct host *host, size_t *ret_n) {
	return channel_output(&host->channel, ret_n);
}

void host_sent(struct host *host, size_t n) {
	channel_sent(&host->channel, n);
}

// A line without a worker is not pinged: what is there might take it for input. It breaks after a minute all the same.
uint64_t host_tick(struct host *host, uint64_t now) {
	if (!host->is_greeted && host->waits_for_mark && !channel_is_broken(&host->channel)) {
		return UINT64_MAX;
	}
	if (!host->is_greeted) {
		host->channel.pinged = now;
	}
	if (host->program_requested && !host->is_greeted && host->channel.sent != host->program_sent) { // it takes its time, but not for nothing
		host->program_sent = host->channel.sent;
		channel_heard(&host->channel, now);
	}
	return channel_tick(&host->channel, now);
}

void host_break(struct host *host, const char *why) {
	channel_break(&host->channel, why);
}

const char *host_why(const struct host *host) {
	return channel_is_broken(&host->channel) ? host->channel.why : NULL;
}

const char *host_noise(struct host *host) {
	if (host->is_greeted) {
		return "";
	}
	if (host->noise.len > NOISE_SHOWN) {
		host->noise.len = NOISE_SHOWN;
		host->noise.data[NOISE_SHOWN] = '\0';
	}
	return buf_str(&host->noise);
}

static void mark_unsent(void *arg, const struct wire_frame *frame) {
	struct host_job *job = frame->type == FRAME_RUN ? find(arg, frame->numbers[0]) : NULL;
	if (job) {
		job->is_unsent = true;
	}
}

void host_lose_jobs(struct host *host) {
	verify(channel_is_broken(&host->channel));
	channel_each_unsent(&host->channel, mark_unsent, host);
	while (host->njobs > 0) {
		struct host_job job = host->jobs[--host->njobs];
		host->calls.lost(host->arg, job.number, /* ran */ !job.is_unsent);
	}
}

// ---- what the dispatcher says ----

void host_env(struct host *host, bool adds, const char *bytes, size_t n) {
	channel_send(&host->channel, &(struct wire_frame){.type = FRAME_ENV, .numbers = {adds}, .payload = bytes, .size = n});
}

void host_run(struct host *host, uint64_t job, const char *payload, size_t n) {
	verify(host->is_up && job > host->last);
	host->last = job;
	grow_array(&host->jobs, &host->cap, host->njobs + 1, sizeof(*host->jobs));
	host->jobs[host->njobs++] = (struct host_job){.number = job, .output = OUTPUT_WINDOW, .input = INPUT_WINDOW};
	channel_send(&host->channel, &(struct wire_frame){.type = FRAME_RUN, .numbers = {job}, .payload = payload, .size = n});
}

size_t host_input_room(const struct host *host, uint64_t job) {
	const struct host_job *of = find(host, job);
	return of ? of->input : 0;
}

void host_input(struct host *host, uint64_t number, const char *bytes, size_t n) {
	struct host_job *job = find(host, number);
	verify(job && n <= job->input);
	job->input -= n;
	channel_send_chunks(&host->channel, &(struct wire_frame){.type = FRAME_IN, .numbers = {number}}, bytes, n);
}

void host_input_end(struct host *host, uint64_t job) {
	if (find(host, job)) {
		send(host, FRAME_EOF, job, 0);
	}
}

void host_more(struct host *host, uint64_t number, size_t n) {
	struct host_job *job = find(host, number);
	if (job && n > 0) {
		verify(n <= OUTPUT_WINDOW - job->output);
		job->output += n;
		send(host, FRAME_MORE, number, n);
	}
}

void host_stop(struct host *host, uint64_t job, enum stop_how how, uint64_t now) {
	if (find(host, job)) {
		send(host, FRAME_STOP, job, how);
		channel_expect_answer(&host->channel, now);
	}
}

void host_shut(struct host *host, uint64_t job, unsigned stream) {
	if (find(host, job)) {
		send(host, FRAME_SHUT, job, stream);
	}
}

void host_suspend(struct host *host, bool begins, uint64_t now) {
	channel_suspend(&host->channel, begins, now);
	if (host->is_up) {
		channel_send(&host->channel, &(struct wire_frame){.type = FRAME_REST, .numbers = {begins}});
	}
}

void host_bye(struct host *host, const char *why) {
	channel_send(&host->channel, &(struct wire_frame){.type = FRAME_BYE, .payload = why, .size = strnlen(why, WIRE_TEXT_MOST)});
}
