// One end of a connection, without its I/O: bytes become frames, frames wait in two lanes to be sent, the jobs that are on the connection have
// their windows of bytes, and silence is noticed. dispatcher_end.h and worker_end.h are the two ends, each with such a channel.
//
// After 15 s in which nothing came it sends a ping; the other end answers the last one that it has read. After 60 s without anything, or without
// the greeting at first, the connection breaks, but never while it is suspended. It also breaks when a frame comes that is not valid. A broken
// channel takes and sends nothing any more. In all of this room, what is wrong with bytes that came
// is told by static text (`why`), and breaks the channel.
//
// Pure: times are arguments, in nanoseconds of a clock that does not go back. One thread at a time.

#pragma once

#include "job/job.h"
#include "process/spawn.h"
#include "remote/wire.h"

#define CHANNEL_PING_NS (UINT64_C(15) * 1000000000)
#define CHANNEL_DEAD_NS (UINT64_C(60) * 1000000000)

enum {
	OUTPUT_WINDOW = 256 * 1024, // bytes of a job's output that may be under way
	INPUT_WINDOW = 64 * 1024,   // the same of its input
	MARK_SIZE = 32,             // hexadecimal digits
};

// The first line of a dispatcher is this, the mark and a newline; a worker answers with a newline, the mark and a newline.
#define GREETING "fairpar-worker 2 "

// How a job is to be ended: the number in a `stop` frame.
enum stop_how {
	STOP_CANCEL,  // its outcome is OUTCOME_CANCELLED; by the steps of --term-seq
	STOP_EXPIRE,  // OUTCOME_TIMEOUT; likewise
	STOP_KILL,    // cancelled, by SIGKILL
	STOP_HOWS
};

// A worker's description of itself, in its `hello` frame.
struct worker_hello {
	unsigned slots;
	uint64_t left;    // seconds until its time is over, 0: no end
	uint64_t memory;  // bytes of the machine, 0: not known
	const char *node; // its name
};

// How an attempt has ended, as a `done` frame has it: times of `result` are from 0.
struct job_end {
	struct result result;
	struct spawn_error error; // of OUTCOME_SPAWN_ERROR
};

// A job on the connection, from its `run` frame to `done` or `refuse`.
struct channel_job {
	uint64_t number;
	void *owner;              // of this end, whose it is; NULL at first
	bool is_running;          // it has started
	bool input_ended;
	bool has_files;           // it is a conversation about files: all its frames are those of files
	bool is_unsent;           // the connection broke before all of the `run` frame was written
	size_t send_window;       // bytes of its output (worker) or input (dispatcher) that may be sent
	size_t receive_window;    // bytes of the other that may come
	size_t passed_on;         // … of those that came: passed on, but not acknowledged yet
	uint64_t due;             // dispatcher: when a job that was told to stop is to have ended; UINT64_MAX: never
	bool is_read;             // … some of its output was passed on since that time was set
};

struct channel {
	enum wire_sender self;
	// Bytes have come, and is_greeted is not set yet. Returns how many of those in `in` the greeting has, 0 if not all of it is there; sets
	// is_greeted once it is.
	size_t (*greeting)(void *arg);
	// A frame has come; it is valid during the call. Returns NULL, or why it is not allowed now: static text.
	const char *(*frame)(void *arg, const struct wire_frame *frame);
	void *arg;
	struct buf in;            // received bytes that are no whole frame yet
	struct buf urgent, bulk;  // whole frames, to be sent
	size_t bulk_at;           // where in `bulk` the frames begin that are not in `current`
	struct buf current;       // the bytes that are being written
	size_t sent;              // how many of these were written
	size_t sent_before;       // … when channel_tick() was called last, before the greeting
	bool owes_pong, owes_bytes; // `pong` is to be sent; some job has `passed_on`
	uint64_t pong;            // number of the last ping that came
	uint64_t heard, pinged;   // when something came, and when a ping was sent, last
	bool is_greeted;
	bool waits_for_greeting;  // set by the owner: until the greeting comes, silence does not break it
	bool is_suspended;        // set by the owner: silence does not break it
	struct channel_job *jobs;
	size_t njobs, cap;
	uint64_t last;            // the highest number of a job
	char why[200];            // why it is broken, or ""
};

// Makes one end, of the side `self`; the callbacks are called with `arg`. channel_fini() frees what it holds.
void channel_init(struct channel *channel, enum wire_sender self, size_t (*greeting)(void *arg),
                  const char *(*frame)(void *arg, const struct wire_frame *frame), void *arg, uint64_t now);
void channel_fini(struct channel *channel);

// Queues a frame in its lane (urgent or bulk), which waits until the greeting has come. The payload is copied.
void channel_send(struct channel *channel, const struct wire_frame *frame);

// channel_add_job() adds a job, whose number is higher than all before; channel_find_job() returns the job of that number, or NULL;
// channel_remove_job() removes it. A pointer to a job is valid until the next job is added or removed.
struct channel_job *channel_add_job(struct channel *channel, uint64_t number);
struct channel_job *channel_find_job(const struct channel *channel, uint64_t number);
void channel_remove_job(struct channel *channel, struct channel_job *job);

// Sends the frames, which have no number yet, as those of the job.
void channel_send_frames(struct channel *channel, uint64_t job, const struct buf *frames);

// Bytes of a job: its output, of stream 1 or 2, from the worker; its input (stream 0) from the dispatcher. channel_room() says how many may be
// sent now, 0 if the job is gone; channel_send_bytes() sends all `n`, and n is no more than that. channel_acknowledge() tells the other end that
// so many of the bytes that came were passed on, and as many more may come; it does nothing if the job is gone.
size_t channel_room(const struct channel *channel, uint64_t job);
void channel_send_bytes(struct channel *channel, uint64_t job, unsigned stream, const char *bytes, size_t n);
void channel_acknowledge(struct channel *channel, uint64_t job, size_t n);

// For `frame`: takes an `out` or `in` frame off the window, or adds a `more` or `take` frame to it. Returns NULL, or why it is not allowed.
const char *channel_receive_bytes(struct channel_job *job, size_t n);
const char *channel_acknowledged(struct channel *channel, struct channel_job *job, uint64_t n);

// Takes bytes that have come, and calls `greeting` and then `frame` for each whole frame. Returns 0, or -1 if the channel is broken
// (channel_why()).
int channel_receive(struct channel *channel, const char *bytes, size_t n, uint64_t now);

// channel_output() returns the *ret_n bytes, perhaps 0, that are to be written next; borrowed until the next call. channel_sent() says how
// many of these were written.
const char *channel_output(struct channel *channel, size_t *ret_n);
void channel_sent(struct channel *channel, size_t n);

// Writes what can be written to the descriptor: the only I/O here. Returns 0 if that was all; more if some bytes are left; or -1 with errno.
ssize_t channel_write(struct channel *channel, int fd);

// Sets is_unsent of each job that the other end cannot know of, because the last byte of its first frame was not written.
void channel_mark_unsent(struct channel *channel);

// Sends a ping if one is due, but none before the greeting, and breaks the channel if it was silent for too long. Returns when to call it
// again: `now` if it has just been broken, UINT64_MAX if it was broken before, is suspended, or waits for the greeting.
uint64_t channel_tick(struct channel *channel, uint64_t now);

// Breaks the channel for this reason (copied), unless it is broken already.
void channel_break(struct channel *channel, const char *why);

// Why it is broken, or NULL.
static inline const char *channel_why(const struct channel *channel) {
	return channel->why[0] != '\0' ? channel->why : NULL;
}
