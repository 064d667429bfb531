// One end of a connection, without its I/O: makes frames of the bytes that come, queues frames to be sent in two lanes, limits how many bytes of
// a job are under way (windows), and notices silence. dispatcher_end.h and worker_end.h are the two ends, each with such a channel.
//
// If no byte comes for 15 s after the greeting, the channel sends a ping, and the other end answers the last ping that it has read. If no byte comes
// for 60 s, the channel breaks. It also breaks 60 s after its beginning, or after bytes were last sent, if no greeting has come, but not with
// waits_for_greeting. A suspended channel does neither. A broken channel takes and sends nothing any more. Everywhere in src/remote, received bytes
// that are not valid break the channel, and a static text (`why`) says what is wrong with them.
//
// Pure: times are arguments, in nanoseconds of a clock that does not go back. One thread at a time.

#pragma once

#include "job/job.h"
#include "process/spawn.h"
#include "remote/wire.h"

#define CHANNEL_PING_NS (UINT64_C(15) * 1000000000)
#define CHANNEL_DEAD_NS (UINT64_C(60) * 1000000000)

enum {
	OUTPUT_WINDOW = 256 * 1024, // the most bytes of a job's output that are sent and not acknowledged yet
	INPUT_WINDOW = 64 * 1024,   // the most bytes of a job's input that are sent and not acknowledged yet
	MARK_SIZE = 32,             // hexadecimal digits of the mark in a greeting
};

// The first line of a dispatcher is GREETING, the mark and a newline; a worker answers with a newline, the mark and a newline.
#define GREETING "fairpar-worker 2 "

// How a worker is to end a job: the number in a `stop` frame.
enum stop_how {
	STOP_CANCEL,  // by the steps of --term-seq; its outcome is OUTCOME_CANCELLED
	STOP_EXPIRE,  // by the steps of --term-seq; its outcome is OUTCOME_TIMEOUT
	STOP_KILL,    // by SIGKILL; its outcome is OUTCOME_CANCELLED
	STOP_HOWS
};

// A worker's description of itself, in its `hello` frame.
struct worker_hello {
	unsigned slots;
	uint64_t left;    // seconds that the worker may still run; 0: no limit
	uint64_t memory;  // bytes of memory of the machine; 0: not known
	const char *node; // the machine's name
};

// The contents of a `done` frame: how an attempt has ended. The times in `result` are nanoseconds since the attempt's start.
struct job_end {
	struct result result;
	struct spawn_error error; // if the outcome is OUTCOME_SPAWN_ERROR
};

// A job on the connection, from its `run` frame to `done` or `refuse`.
struct channel_job {
	uint64_t number;
	void *owner;              // set and used only by the owner of this end; NULL at first
	bool is_running;          // the job has started
	bool input_ended;
	bool has_files;           // this is no job, but a conversation about files (file_talk.h)
	bool is_unsent;           // the connection broke before all of the `run` frame was written; or the worker has refused the job
	size_t send_window;       // how many bytes this end may send now: of the job's output (worker) or of its input (dispatcher)
	size_t receive_window;    // how many bytes the other end may send now
	size_t passed_on;         // bytes that came and were passed on, but are not acknowledged yet
	uint64_t due;             // dispatcher: when a job that was told to stop must have ended; UINT64_MAX: no such time
	bool is_read;             // dispatcher: some of the job's output was acknowledged since `due` was set
};

struct channel {
	enum wire_sender self;
	// Called when bytes have come while the greeting is not whole. If the greeting is whole now, sets is_greeted, and returns the offset in `in`
	// behind the greeting; else returns 0.
	size_t (*greeting)(void *arg);
	// Called with each frame that comes. The frame is valid only during the call, and its payload has a NUL behind it. Returns NULL, or why the
	// frame is not allowed now: static text.
	const char *(*frame)(void *arg, const struct wire_frame *frame);
	void *arg;
	struct buf in;            // received bytes that are no whole frame yet
	struct buf urgent, bulk;  // whole frames, to be sent
	size_t bulk_at;           // offset in `bulk` of the first frame that was not moved to `current` yet
	struct buf current;       // the bytes that are being written
	size_t sent;              // how many bytes of `current` were written
	bool has_sent;            // bytes were written to the connection, by channel_sent() or by the owner, since the last channel_tick()
	bool owes_pong, owes_bytes; // an answer to the ping `pong` is to be sent; the `passed_on` of some job is to be acknowledged
	uint64_t pong;            // number of the last ping that came
	uint64_t heard, pinged;   // when bytes came last; when a ping was sent last
	bool is_greeted;
	bool waits_for_greeting;  // set by the owner: until the greeting comes, silence does not break the channel
	bool is_suspended;        // set by the owner: silence does not break the channel
	struct channel_job *jobs;
	size_t njobs, cap;
	uint64_t last;            // the highest number of a job so far
	char why[200];            // why the channel is broken; "": it is not
};

// Initializes the channel of the end `self`; the callbacks are called with `arg`. channel_fini() frees what the channel holds.
void channel_init(struct channel *channel, enum wire_sender self, size_t (*greeting)(void *arg),
                  const char *(*frame)(void *arg, const struct wire_frame *frame), void *arg, uint64_t now);
void channel_fini(struct channel *channel);

// Queues a frame in its lane (urgent or bulk). Nothing in the lanes is sent before the greeting has come. The payload is copied.
void channel_send(struct channel *channel, const struct wire_frame *frame);

// Queues a frame with up to two numbers, and with the text (cut after WIRE_TEXT_MOST bytes) if frames of this type have a payload.
void channel_say(struct channel *channel, enum wire_type type, uint64_t first, uint64_t second, const char *text);

// channel_add_job() adds a job, whose number is higher than those of all earlier jobs; channel_find_job() returns the job of that number, or NULL;
// channel_remove_job() removes the job. A pointer to a job is valid until the next job is added or removed.
struct channel_job *channel_add_job(struct channel *channel, uint64_t number);
struct channel_job *channel_find_job(const struct channel *channel, uint64_t number);
void channel_remove_job(struct channel *channel, struct channel_job *job);

// Queues the frames as frames of the job: writes the number of the job into each frame.
void channel_send_frames(struct channel *channel, uint64_t job, const struct buf *frames);

// The bytes of a job are its output (streams 1 and 2), sent by the worker, and its input (stream 0), sent by the dispatcher. channel_room()
// returns how many bytes this end may send now, 0 if the job is gone. channel_send_bytes() sends `n` bytes, at most channel_room().
// channel_acknowledge() tells the other end that `n` bytes were passed on, so that `n` more may come; it does nothing if the job is gone.
size_t channel_room(const struct channel *channel, uint64_t job);
void channel_send_bytes(struct channel *channel, uint64_t job, unsigned stream, const char *bytes, size_t n);
void channel_acknowledge(struct channel *channel, uint64_t job, size_t n);

// To be called by the callback `frame`. Both return NULL, or what is wrong with the frame: static text.
const char *channel_receive_bytes(struct channel_job *job, size_t n); // counts the `n` bytes of an `out` or `in` frame
const char *channel_acknowledged(struct channel *channel, struct channel_job *job, uint64_t n); // counts the bytes of a `more` or `take` frame

// Takes bytes that have come, calls `greeting` until the greeting is whole, and then `frame` for each whole frame. Returns 0, or -1 if the
// channel is broken (channel_why()).
int channel_receive(struct channel *channel, const char *bytes, size_t n, uint64_t now);

// channel_output() returns the *ret_n bytes, perhaps 0, that are to be written next; borrowed until the next call. channel_sent() notes that `n`
// of these bytes were written.
const char *channel_output(struct channel *channel, size_t *ret_n);
void channel_sent(struct channel *channel, size_t n);

// Writes the bytes that the descriptor takes now: the only I/O here. Returns 0 if all bytes were written, a number above 0 if not; -1 with errno.
ssize_t channel_write(struct channel *channel, int fd);

// Sets is_unsent of each job that the other end cannot know of, because the last byte of its first frame was not written.
void channel_mark_unsent(struct channel *channel);

// Sends a ping if one is due, but none before the greeting, and breaks the channel if it was silent for too long. Returns when to call it again:
// `now` if the channel has just been broken, UINT64_MAX if it was broken before, is suspended, or waits for the greeting.
uint64_t channel_tick(struct channel *channel, uint64_t now);

// Breaks the channel for this reason (copied), unless it is broken already.
void channel_break(struct channel *channel, const char *why);

// Returns why the channel is broken, or NULL if it is not.
static inline const char *channel_why(const struct channel *channel) {
	return channel->why[0] != '\0' ? channel->why : NULL;
}
