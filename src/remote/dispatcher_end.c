// The dispatcher's end of a connection.

#include "remote/dispatcher_end.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/fault.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define BRAKE_NS SECOND_NS
#define ORDER_NS (10 * SECOND_NS)

enum { NOISE_MOST = 64 * 1024 };

// ---- what the worker says ----

static const char *on_hello(struct dispatcher_end *end, const struct wire_frame *frame) {
	if (end->is_up || frame->numbers[1] == 0 || frame->numbers[1] > 1000000) {
		return "the worker has sent an invalid hello frame";
	}
	if (frame->numbers[0] != WIRE_VERSION) {
		return "the worker is another version of fairpar, which does not speak version 2 of the protocol";
	}
	end->is_up = true;
	end->up_since = end->channel.heard;
	end->calls.hello(end->arg, &(struct worker_hello){.slots = (unsigned)frame->numbers[1], .node = frame->payload});
	return NULL;
}

static void leave(struct dispatcher_end *end, const char *why) {
	if (!end->is_leaving) {
		end->is_leaving = true;
		end->calls.bye(end->arg, why);
	}
}

static const char *on_refuse(struct dispatcher_end *end, struct channel_job *job, const struct wire_frame *frame) {
	if (job->is_running) {
		return "the worker has refused a job that runs";
	}
	struct channel_job gone = *job;
	gone.is_unsent = true;
	end->refused = end->channel.heard;
	channel_remove_job(&end->channel, job);
	// the slots may have become fewer while the job was on its way; else, without a `brake` frame, the job would be sent there and refused again
	if (!end->is_braked && gone.number > end->sent) {
		leave(end, frame->payload);
	}
	end->calls.lost(end->arg, &gone);
	return NULL;
}

// Whether the numbers of a `done` frame are possible for a job that was running (`is_running`), or for a job that had not started.
static bool can_be(const uint64_t *of, bool is_running) {
	enum { OUTCOME = 1, EXIT, SIGNAL, FLAGS, WALL, USER, SYSTEM, MEMORY };
	if (of[EXIT] > 255 || of[SIGNAL] > 127 || (of[EXIT] > 0 && of[SIGNAL] > 0) || of[FLAGS] > 1 || of[WALL] > INT64_MAX / 2 ||
	    of[USER] > INT64_MAX / 2 || of[SYSTEM] > INT64_MAX / 2 || of[MEMORY] > INT64_MAX / 1024) { // KiB
		return false;
	}
	switch (of[OUTCOME]) {
	case OUTCOME_OK: return is_running && of[EXIT] == 0 && of[SIGNAL] == 0 && of[FLAGS] == 0;
	case OUTCOME_FAILED: return is_running && of[EXIT] > 0;
	case OUTCOME_SIGNAL: return is_running && of[SIGNAL] > 0;
	case OUTCOME_SPAWN_ERROR: return !is_running && (of[EXIT] == 126 || of[EXIT] == 127) && of[FLAGS] == 0;
	default: return of[OUTCOME] == OUTCOME_TIMEOUT || of[OUTCOME] == OUTCOME_CANCELLED;
	}
}

static const char *on_done(struct dispatcher_end *end, struct channel_job *job, const struct wire_frame *frame) {
	const uint64_t *of = frame->numbers;
	struct job_end how = {.error = {.error = 0}};
	if (!can_be(of, job->is_running || job->has_files) || frame->size != 2 || (unsigned char)frame->payload[0] > SPAWN_CGROUP) {
		return "the worker has sent an invalid end of a job";
	}
	how.result = (struct result){
		.outcome = (enum outcome)of[1],
		.exit_code = (int)of[2],
		.term_signal = (int)of[3],
		.out_of_memory = of[4] != 0,
		.end = of[5],
		.user = of[6],
		.sys = of[7],
		.maxrss = of[8] * 1024,
	};
	how.error.step = (enum spawn_step)(unsigned char)frame->payload[0];
	how.error.error = (unsigned char)frame->payload[1];
	const struct channel_job gone = *job;
	channel_remove_job(&end->channel, job);
	end->calls.done(end->arg, &gone, &how);
	return NULL;
}

// Handles a frame of a job that is not gone.
static const char *on_job_frame(struct dispatcher_end *end, struct channel_job *job, const struct wire_frame *frame) {
	const char *why;
	if (job->has_files && frame->type != FRAME_REFUSE && frame->type != FRAME_DONE) {
		return end->calls.files(end->arg, job, frame);
	}
	switch ((int)frame->type) {
	case FRAME_STARTED:
		if (job->is_running) {
			return "the worker has started a job twice";
		}
		job->is_running = true;
		end->calls.started(end->arg, job, frame->numbers[1], frame->numbers[2]);
		return NULL;
	case FRAME_OUT:
		if (!job->is_running || frame->numbers[1] < 1 || frame->numbers[1] > 2) {
			return "the worker has sent output of a job that has not begun, or of an unknown stream";
		}
		why = channel_receive_bytes(job, frame->size);
		if (!why) {
			end->calls.output(end->arg, job, (unsigned)frame->numbers[1], frame->payload, frame->size);
		}
		return why;
	case FRAME_TAKE: return channel_acknowledged(&end->channel, job, frame->numbers[1]);
	case FRAME_WANT: return end->calls.wanted(end->arg, job, frame->numbers[1]);
	case FRAME_BACK: end->calls.back(end->arg, job); return NULL;
	case FRAME_REFUSE: return on_refuse(end, job, frame);
	case FRAME_DONE: return on_done(end, job, frame);
	default: return "the worker has sent a frame that it may not send for this job";
	}
}

// A worker changes its number of slots ten times a second at most. Each change is logged: so if far more frames come, the connection breaks.
static const char *on_slots(struct dispatcher_end *end, uint64_t slots, uint64_t reason) {
	uint64_t most = 20 + 20 * ((end->channel.heard - end->up_since) / SECOND_NS);
	if (slots == 0 || ++end->changes > most) {
		return slots == 0 ? "the worker says that it has no slots" : "the worker changes its number of slots too often";
	}
	end->sent = end->channel.last;
	end->calls.slots(end->arg, slots, reason);
	return NULL;
}

static const char *on_frame(void *arg, const struct wire_frame *frame) {
	struct dispatcher_end *end = arg;
	if (frame->type == FRAME_HELLO) {
		return on_hello(end, frame);
	}
	if (!end->is_up) {
		return "the first frame of the worker is not a hello frame";
	}
	if (frame->type == FRAME_BYE) {
		leave(end, frame->payload);
		return NULL;
	}
	if (frame->type == FRAME_BRAKE) {
		end->is_braked = frame->numbers[0] != 0;
		end->goes = end->is_braked ? UINT64_MAX : end->refused + BRAKE_NS;
		if (end->is_braked) {
			end->calls.braked(end->arg, frame->numbers[1], frame->payload);
		}
		return NULL;
	}
	if (frame->type == FRAME_SLOTS) {
		return on_slots(end, frame->numbers[0], frame->numbers[1]);
	}
	struct channel_job *job = channel_find_job(&end->channel, frame->numbers[0]);
	if (!job && (frame->type == FRAME_WANT || frame->type == FRAME_BACK) && frame->numbers[0] <= end->channel.last) {
		return NULL; // a fairpar has outlived its job
	}
	return job ? on_job_frame(end, job, frame) : "the worker has sent a frame for a job that it does not have";
}

// ---- the connection ----

static void greet(struct dispatcher_end *end) {
	buf_printf(&end->channel.current, "%s%.*s\n", GREETING, MARK_SIZE, end->mark + 1);
}

// Finds the line "WORD MARK REST" in the bytes that came before the mark, and appends REST. Returns false if the line has not come.
static bool find_request(const struct dispatcher_end *end, const char *word, struct buf *ret_rest) {
	FP_CLEANUP(buf_fini) struct buf begin = BUF_INIT;
	buf_printf(&begin, "\n%s %.*s", word, MARK_SIZE, end->mark + 1);
	const char *at = memmem(end->channel.in.data, end->channel.in.len, begin.data, begin.len);
	const char *rest = at ? at + begin.len : NULL, *newline = at ? strchr(rest, '\n') : NULL;
	if (newline) {
		rest += *rest == ' ';
		buf_add(ret_rest, rest, (size_t)(newline - rest));
	}
	return newline;
}

// Passes on the machine's request for a program. Once the machine says that the program is installed, sends the greeting again.
static void send_program(struct dispatcher_end *end) {
	FP_CLEANUP(buf_fini) struct buf rest = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	if (!find_request(end, end->program_requested ? "have" : "want", &rest)) {
		return;
	}
	if (end->program_requested) {
		end->program_installed = true;
		greet(end);
	} else if (!end->calls.program_requested || end->calls.program_requested(end->arg, buf_str(&rest), &why) != 0) {
		channel_break(&end->channel, why.len > 0 ? buf_str(&why) : "there is no fairpar on the machine");
	}
	end->program_requested = true;
}

// Skips the text that a login shell prints before the mark. Until the mark comes, the text stays in channel.in.
static size_t on_greeting(void *arg) {
	struct dispatcher_end *end = arg;
	struct channel *channel = &end->channel;
	const char *mark = memmem(buf_str(&channel->in), channel->in.len, end->mark, MARK_SIZE + 2);
	channel->is_greeted = mark;
	if (mark) {
		return (size_t)(mark - channel->in.data) + MARK_SIZE + 2;
	}
	if (!end->program_installed) {
		send_program(end);
	}
	if (channel->in.len > NOISE_MOST) {
		channel_break(channel, "the machine prints much, but no fairpar worker answers");
	}
	return 0;
}

struct dispatcher_end *dispatcher_end_new(const struct dispatcher_calls *calls, void *arg, const char *mark, uint64_t now) {
	struct dispatcher_end *end = NEW(struct dispatcher_end);
	verify(strlen(mark) == MARK_SIZE);
	*end = (struct dispatcher_end){.calls = *calls, .arg = arg, .goes = UINT64_MAX, .idle_until = UINT64_MAX};
	channel_init(&end->channel, WIRE_DISPATCHER, on_greeting, on_frame, end, now);
	snprintf(end->mark, sizeof(end->mark), "\n%s\n", mark);
	greet(end);
	return end;
}

void dispatcher_end_free(struct dispatcher_end *end) {
	if (end) {
		channel_fini(&end->channel);
		free(end);
	}
}

const char *dispatcher_end_noise(const struct dispatcher_end *end) {
	return end->channel.is_greeted || end->program_requested ? "" : buf_str(&end->channel.in);
}

void dispatcher_end_lose_jobs(struct dispatcher_end *end) {
	struct channel *channel = &end->channel;
	verify(channel_why(channel));
	channel_mark_unsent(channel);
	while (channel->njobs > 0) {
		const struct channel_job job = channel->jobs[--channel->njobs];
		end->calls.lost(end->arg, &job);
	}
}

// ---- what the dispatcher says ----

struct channel_job *dispatcher_end_begin(struct dispatcher_end *end, uint64_t number, const char *payload, size_t n) {
	verify(end->is_up && number > end->channel.last);
	channel_send(&end->channel, &(struct wire_frame){
		.type = payload ? FRAME_RUN : FRAME_FILES, .numbers = {number}, .payload = payload, .size = n});
	struct channel_job *job = channel_add_job(&end->channel, number);
	job->has_files = !payload;
	return job;
}

void dispatcher_end_stop(struct dispatcher_end *end, uint64_t number, enum stop_how how, uint64_t takes, uint64_t now) {
	struct channel_job *job = channel_find_job(&end->channel, number);
	if (job) {
		channel_say(&end->channel, FRAME_STOP, number, how, "");
	}
	if (job && job->due == UINT64_MAX) {
		job->due = now + takes + ORDER_NS;
		job->is_read = false;
	}
}

uint64_t dispatcher_end_tick(struct dispatcher_end *end, uint64_t now) {
	struct channel *channel = &end->channel;
	uint64_t due = channel_tick(channel, now), gone = now + (fault_fails("minute") ? 0 : CHANNEL_DEAD_NS);
	if (channel_why(channel) || channel->is_suspended) {
		return due;
	}
	end->idle_until = !end->is_leaving || channel->njobs > 0 ? UINT64_MAX : end->idle_until < gone ? end->idle_until : gone;
	if (now >= end->idle_until) {
		channel_break(channel, "the worker takes no more jobs, and has had none for a minute");
		return now;
	}
	if (now >= end->goes) {
		end->goes = UINT64_MAX;
		end->calls.braked(end->arg, 0, NULL);
	}
	due = end->idle_until < due ? end->idle_until : due;
	due = end->goes < due ? end->goes : due;
	for (size_t i = 0; i < channel->njobs; ++i) {
		struct channel_job *job = &channel->jobs[i];
		if (job->due <= now && job->receive_window == 0 && !job->is_read) { // the job cannot end before its output is read here
			job->due = now + ORDER_NS;
		} else if (job->due <= now) {
			job->due = UINT64_MAX;
			end->calls.overdue(end->arg, job);
			due = now;
		}
		due = job->due < due ? job->due : due;
	}
	return due;
}

void dispatcher_end_suspend(struct dispatcher_end *end, bool begins, uint64_t now) {
	struct channel *channel = &end->channel;
	for (size_t i = 0; i < channel->njobs && channel->is_suspended; ++i) {
		channel->jobs[i].due += channel->jobs[i].due < UINT64_MAX ? now - end->suspended : 0;
	}
	end->suspended = now;
	channel->is_suspended = begins;
	channel->heard = now;
	if (end->is_up) {
		channel_say(channel, FRAME_REST, begins, 0, "");
	}
}

void dispatcher_end_bye(struct dispatcher_end *end, const char *why) {
	end->is_leaving = true;
	channel_say(&end->channel, FRAME_BYE, 0, 0, why);
}
