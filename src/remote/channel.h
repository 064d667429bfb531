// One end of a connection, without its I/O: bytes become frames, frames wait in two lanes to be sent, and silence is noticed.
//
// After 15 s in which nothing came it sends a ping, which the other end answers. After 60 s without anything the connection breaks, after 10 s
// if an answer is urgent, and never while it is suspended. It also breaks when a frame comes that is not valid. A broken channel takes and
// sends nothing any more.
//
// Pure: times are arguments, in nanoseconds of a clock that does not go back. One thread at a time.

#ifndef FAIRPAR_REMOTE_CHANNEL_H
#define FAIRPAR_REMOTE_CHANNEL_H

#include "remote/wire.h"

#define CHANNEL_PING_NS (UINT64_C(15) * 1000000000)
#define CHANNEL_DEAD_NS (UINT64_C(60) * 1000000000)
#define CHANNEL_URGENT_NS (UINT64_C(10) * 1000000000)

struct channel {
	enum wire_sender self;
	// A frame has come; it is valid during the call. Returns NULL, or why it is not allowed now: static text.
	const char *(*frame)(void *arg, const struct wire_frame *frame);
	void *arg;
	struct buf in;            // received bytes that are no whole frame yet
	struct buf urgent, bulk;  // whole frames, to be sent
	size_t bulk_at;           // where in `bulk` the frames begin that are not in `current`
	struct buf current;       // the bytes that are being written
	size_t sent;              // how many of these were written
	uint64_t heard, pinged;   // when something came, and when a ping was sent, last
	uint64_t dead;            // when silence breaks it
	bool is_suspended;        // silence does not break it
	char why[200];            // why it is broken, or ""
};

// Makes one end, of the side `self`; `frame` is called with `arg`. channel_fini() frees what it holds.
void channel_init(struct channel *channel, enum wire_sender self, const char *(*frame)(void *arg, const struct wire_frame *frame), void *arg,
                  uint64_t now);
void channel_fini(struct channel *channel);

// Queues a frame behind those of its lane (urgent or bulk). The payload is copied.
void channel_send(struct channel *channel, const struct wire_frame *frame);

// Queues `n` bytes as one frame or several; each is `frame` with a part of the bytes as its payload.
void channel_send_chunks(struct channel *channel, const struct wire_frame *frame, const char *bytes, size_t n);

// channel_heard() notes that the other end is alive. channel_receive() also takes bytes that have come, and calls `frame` for each whole
// frame. It returns 0, or -1 if the channel is broken (channel->why).
void channel_heard(struct channel *channel, uint64_t now);
int channel_receive(struct channel *channel, const char *bytes, size_t n, uint64_t now);

// channel_output() returns the *ret_n bytes, perhaps 0, that are to be written next; borrowed until the next call. channel_sent() says how
// many of these were written.
const char *channel_output(struct channel *channel, size_t *ret_n);
void channel_sent(struct channel *channel, size_t n);

// Calls fn for each frame that the other end cannot have received, because its last byte was not written.
void channel_each_unsent(const struct channel *channel, void (*fn)(void *arg, const struct wire_frame *frame), void *arg);

// Sends a ping at once; the channel breaks if nothing comes within 10 s.
void channel_expect_answer(struct channel *channel, uint64_t now);

// Sets whether the connection is suspended, in which case silence does not break it.
void channel_suspend(struct channel *channel, bool suspended, uint64_t now);

// Sends a ping if one is due, and breaks the channel if it was silent for too long. Returns when to call it again: `now` if it has just been
// broken, UINT64_MAX if it was before or is suspended.
uint64_t channel_tick(struct channel *channel, uint64_t now);

// Breaks the channel for this reason (copied), unless it is broken already.
void channel_break(struct channel *channel, const char *why);

static inline bool channel_is_broken(const struct channel *channel) {
	return channel->why[0] != '\0';
}

#endif
