// One end of a connection.

#include "remote/channel.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { WRITE_BYTES = 4096 }; // frames are gathered up to about this size for one write(2)

void channel_init(struct channel *channel, enum wire_sender self, size_t (*greeting)(void *arg),
                  const char *(*frame)(void *arg, const struct wire_frame *frame), void *arg, uint64_t now) {
	*channel = (struct channel){.self = self, .greeting = greeting, .frame = frame, .arg = arg, .heard = now};
}

void channel_fini(struct channel *channel) {
	buf_fini(&channel->in);
	buf_fini(&channel->urgent);
	buf_fini(&channel->bulk);
	buf_fini(&channel->current);
	free(channel->jobs);
}

void channel_break(struct channel *channel, const char *why) {
	if (!channel_why(channel)) {
		snprintf(channel->why, sizeof(channel->why), "%s", why[0] != '\0' ? why : "no reason is known");
	}
}

// ---- sending ----

void channel_send(struct channel *channel, const struct wire_frame *frame) {
	if (!channel_why(channel)) {
		wire_write(wire_kind(frame->type)->is_urgent ? &channel->urgent : &channel->bulk, frame);
	}
}

void channel_say(struct channel *channel, enum wire_type type, uint64_t first, uint64_t second, const char *text) {
	channel_send(channel, &(struct wire_frame){
		.type = type, .numbers = {first, second}, .payload = text, .size = strnlen(text, WIRE_TEXT_MOST)});
}

// Moves the first frame of `bulk` to `current`.
static void take_bulk(struct channel *channel) {
	struct wire_frame frame;
	size_t first = channel->bulk_at;
	(void)wire_next(&channel->bulk, &channel->bulk_at, &frame);
	buf_add(&channel->current, channel->bulk.data + first, channel->bulk_at - first);
	if (channel->bulk_at * 2 >= channel->bulk.len) { // only when half of `bulk` was taken, so each byte is moved about once
		buf_drop(&channel->bulk, channel->bulk_at);
		channel->bulk_at = 0;
	}
}

// Queues what is owed: an answer to the last ping, and one acknowledgement for each job. If each answer were queued at once, an end that
// does not read could make the queue grow without limit.
static void pay(struct channel *channel) {
	for (size_t i = 0; i < channel->njobs && channel->owes_bytes; ++i) {
		struct channel_job *job = &channel->jobs[i];
		if (job->passed_on > 0) {
			channel_say(channel, channel->self == WIRE_WORKER ? FRAME_TAKE : FRAME_MORE, job->number, job->passed_on, "");
			job->passed_on = 0;
		}
	}
	if (channel->owes_pong) {
		channel_say(channel, FRAME_PONG, channel->pong, 0, "");
	}
	channel->owes_pong = channel->owes_bytes = false;
}

const char *channel_output(struct channel *channel, size_t *ret_n) {
	if (channel->sent == channel->current.len && channel->is_greeted) {
		buf_fini(&channel->current); // so connections use one another's memory, which is in the cache
		channel->sent = 0;
		pay(channel);
		if (channel->urgent.len > 0) {
			struct buf empty = channel->current;
			channel->current = channel->urgent;
			channel->urgent = empty;
		}
		while (channel->bulk.len > 0 && channel->current.len < WRITE_BYTES) {
			take_bulk(channel);
		}
	}
	*ret_n = channel_why(channel) ? 0 : channel->current.len - channel->sent;
	return *ret_n > 0 ? channel->current.data + channel->sent : "";
}

void channel_sent(struct channel *channel, size_t n) {
	channel->sent += n;
	channel->has_sent = channel->has_sent || n > 0;
}

ssize_t channel_write(struct channel *channel, int fd) {
	size_t n;
	for (const char *bytes; bytes = channel_output(channel, &n), n > 0;) {
		ssize_t sent = write(fd, bytes, n);
		if (sent < 0 && errno != EINTR) {
			return errno == EAGAIN ? (ssize_t)n : -1;
		}
		channel_sent(channel, sent > 0 ? (size_t)sent : 0);
	}
	return 0;
}

// Marks the jobs whose first frame is in `of` and was not written whole. `sent`: how many bytes of `of` were written.
static void mark_unsent(const struct channel *channel, const struct buf *of, size_t sent) {
	struct wire_frame frame;
	for (size_t at = 0; wire_next(of, &at, &frame);) {
		bool begins = frame.type == FRAME_RUN || frame.type == FRAME_FILES;
		struct channel_job *job = begins ? channel_find_job(channel, frame.numbers[0]) : NULL;
		if (job && at > sent) {
			job->is_unsent = true;
		}
	}
}

void channel_mark_unsent(struct channel *channel) {
	mark_unsent(channel, &channel->current, channel->sent); // finds nothing while `current` is the greeting
	mark_unsent(channel, &channel->urgent, 0); // the first frames of jobs are urgent
}

void channel_send_frames(struct channel *channel, uint64_t job, const struct buf *frames) {
	struct wire_frame frame;
	for (size_t at = 0; wire_next(frames, &at, &frame);) {
		frame.numbers[0] = job;
		channel_send(channel, &frame);
	}
}

// ---- jobs, and the windows of their bytes ----

static enum wire_sender other_end(const struct channel *channel) {
	return channel->self == WIRE_WORKER ? WIRE_DISPATCHER : WIRE_WORKER;
}

// Returns how many bytes of a job the end `sender` may send before they are acknowledged.
static size_t window_of(enum wire_sender sender) {
	return sender == WIRE_WORKER ? OUTPUT_WINDOW : INPUT_WINDOW;
}

struct channel_job *channel_add_job(struct channel *channel, uint64_t number) {
	channel->last = number;
	struct channel_job *job = NEW_ELEMENT(channel->jobs, channel->njobs, channel->cap);
	*job = (struct channel_job){
		.number = number,
		.send_window = window_of(channel->self),
		.receive_window = window_of(other_end(channel)),
		.due = UINT64_MAX,
	};
	return job;
}

struct channel_job *channel_find_job(const struct channel *channel, uint64_t number) {
	for (size_t i = 0; i < channel->njobs; ++i) {
		if (channel->jobs[i].number == number) {
			return &channel->jobs[i];
		}
	}
	return NULL;
}

void channel_remove_job(struct channel *channel, struct channel_job *job) {
	*job = channel->jobs[--channel->njobs];
}

size_t channel_room(const struct channel *channel, uint64_t number) {
	const struct channel_job *job = channel_find_job(channel, number);
	return job ? job->send_window : 0;
}

void channel_send_bytes(struct channel *channel, uint64_t number, unsigned stream, const char *bytes, size_t n) {
	struct channel_job *job = channel_find_job(channel, number);
	struct wire_frame frame = {.type = channel->self == WIRE_WORKER ? FRAME_OUT : FRAME_IN, .numbers = {number, stream}};
	verify(job && n <= job->send_window);
	job->send_window -= n;
	for (; n > 0; bytes += frame.size, n -= frame.size) {
		frame.payload = bytes;
		frame.size = n < WIRE_CHUNK_MOST ? n : WIRE_CHUNK_MOST;
		channel_send(channel, &frame);
	}
}

void channel_acknowledge(struct channel *channel, uint64_t number, size_t n) {
	struct channel_job *job = channel_find_job(channel, number);
	if (job && n > 0) {
		verify(n <= window_of(other_end(channel)) - job->receive_window);
		job->receive_window += n;
		job->passed_on += n;
		job->is_read = true;
		channel->owes_bytes = true;
	}
}

const char *channel_receive_bytes(struct channel_job *job, size_t n) {
	if (n > job->receive_window) {
		return "the other side has sent more bytes of a job than it may";
	}
	job->receive_window -= n;
	return NULL;
}

const char *channel_acknowledged(struct channel *channel, struct channel_job *job, uint64_t n) {
	if (n > window_of(channel->self) - job->send_window) {
		return "the other side has acknowledged more bytes of a job than were sent";
	}
	job->send_window += (size_t)n;
	return NULL;
}

// ---- receiving ----

int channel_receive(struct channel *channel, const char *bytes, size_t n, uint64_t now) {
	size_t at = 0;
	buf_add(&channel->in, bytes, n);
	if (!channel->is_greeted && !channel_why(channel)) {
		at = channel->greeting(channel->arg);
	}
	if (channel->is_greeted) { // before the greeting, bytes do not show that a worker is there
		channel->heard = now;
	}
	while (channel->is_greeted && !channel_why(channel)) {
		struct wire_frame frame;
		size_t used = 0;
		const char *why;
		enum wire_status status = wire_read(channel->in.data + at, channel->in.len - at, other_end(channel), &frame, &used, &why);
		if (status == WIRE_BAD) {
			channel_break(channel, why);
		}
		if (status != WIRE_FRAME) {
			break;
		}
		at += used;
		if (frame.payload) {
			channel->in.data[at - 1] = '\0';
		}
		if (frame.type == FRAME_PING) {
			channel->owes_pong = true;
			channel->pong = frame.numbers[0];
		} else if (frame.type != FRAME_PONG && (why = channel->frame(channel->arg, &frame))) {
			channel_break(channel, why);
		}
	}
	buf_drop(&channel->in, at);
	return channel_why(channel) ? -1 : 0;
}

// ---- time ----

uint64_t channel_tick(struct channel *channel, uint64_t now) {
	bool is_greeted = channel->is_greeted;
	if (channel_why(channel) || channel->is_suspended || (!is_greeted && channel->waits_for_greeting)) {
		return UINT64_MAX;
	}
	if (!is_greeted) { // a shell may run there until the greeting, and would read a ping as its input
		channel->pinged = now;
	}
	if (!is_greeted && channel->has_sent) { // a program is being sent, which may take long
		channel->heard = now;
	}
	channel->has_sent = false;
	uint64_t dead = channel->heard + CHANNEL_DEAD_NS;
	if (now >= dead) {
		channel_break(channel, is_greeted ? "the other side has been silent for a minute" : "no worker has answered for a minute");
		return now;
	}
	uint64_t last = channel->heard > channel->pinged ? channel->heard : channel->pinged;
	if (now >= last + CHANNEL_PING_NS) {
		channel_say(channel, FRAME_PING, now, 0, "");
		channel->pinged = last = now;
	}
	return last + CHANNEL_PING_NS < dead ? last + CHANNEL_PING_NS : dead;
}
