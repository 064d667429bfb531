// One end of a line, without its I/O: bytes become frames, frames wait in two lanes to be sent, and silence is noticed.
//
// After 15 s in which nothing came it sends a ping, which the other end answers. After 60 s the line is broken, and after 10 s if an
// answer is urgent; but not while it rests. So it is after a frame that cannot be. A broken channel takes and sends nothing any more.
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
	// A frame has come. Returns NULL, or why there cannot be such a frame now: static text.
	const char *(*frame)(void *arg, const struct wire_frame *frame);
	void *arg;
	struct buf in;            // less than a frame
	struct buf urgent, bulk;  // whole frames, to be sent
	size_t bulk_at;           // bytes of `bulk` that were taken from it
	struct buf current;       // those that are being sent
	size_t sent;              // bytes of that
	uint64_t heard, pinged;   // when
	uint64_t dead;            // when it is broken by silence
	bool rests;               // which it is not now
	char why[200];            // it is broken, or ""
};

void channel_init(struct channel *channel, enum wire_sender self, const char *(*frame)(void *arg, const struct wire_frame *frame), void *arg,
                  uint64_t now);
void channel_fini(struct channel *channel);

// Queues a frame, behind those of its lane.
void channel_send(struct channel *channel, const struct wire_frame *frame);

// The same for bytes that may take several frames: `frame` is each of them without its payload.
void channel_send_chunks(struct channel *channel, const struct wire_frame *frame, const char *bytes, size_t n);

// Something has come, and it is not silent. Bytes have come: returns 0, or -1, for it is broken (channel->why).
void channel_heard(struct channel *channel, uint64_t now);
int channel_receive(struct channel *channel, const char *bytes, size_t n, uint64_t now);

// What is to be written next, *ret_n bytes, perhaps 0: borrowed until the next call. So many of these were written.
const char *channel_output(struct channel *channel, size_t *ret_n);
void channel_sent(struct channel *channel, size_t n);

// Calls fn for each frame that the other end cannot have, for its last byte was not written.
void channel_each_unsent(const struct channel *channel, void (*fn)(void *arg, const struct wire_frame *frame), void *arg);

// An answer is urgent: sends a ping at once.
void channel_demand(struct channel *channel, uint64_t now);

// From now on the line rests, or does no longer.
void channel_rest(struct channel *channel, bool rests, uint64_t now);

// Sends a ping that is due, and notices silence. Returns when to look at it again: `now` if it has just been broken, UINT64_MAX later, or
// while it rests.
uint64_t channel_tick(struct channel *channel, uint64_t now);

// It is broken, for this reason, unless it is already.
void channel_break(struct channel *channel, const char *why);

static inline bool channel_is_broken(const struct channel *channel) {
	return channel->why[0] != '\0';
}

#endif
