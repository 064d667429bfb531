// Frames as bytes: a line of text, and a payload behind it.
//
//   NAME NUMBER … SIZE\n PAYLOAD \n
//
// The numbers are decimal, without signs and leading zeros. Only frames with a payload (frames.def), which may be empty, have SIZE, the payload
// and the newline behind it. So each frame ends with a newline: srun(1) holds back a line that has not ended.
//
// Pure: no I/O, no state. The bytes that are read are not trusted.

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WIRE_VERSION = 2,
	WIRE_NUMBERS = 9,              // the most numbers in a frame
	WIRE_HEADER_MOST = 256,        // bytes, with the newline
	WIRE_CHUNK_MOST = 32 * 1024,   // bytes of output, input or a file in one frame: an urgent frame waits for little more than one such frame
	WIRE_TEXT_MOST = 4 * 1024,
	WIRE_PATHS_MOST = 16 * 1024,
	WIRE_RUN_MOST = 8 * 1024 * 1024,
};

#define FRAME(NAME, ...) FRAME_##NAME,
enum wire_type {
#include "remote/frames.def"
	FRAME_TYPES
};
#undef FRAME

enum wire_sender { WIRE_DISPATCHER = 1, WIRE_WORKER = 2, WIRE_EITHER = 3 };

struct wire_frame {
	enum wire_type type;
	uint64_t numbers[WIRE_NUMBERS];
	const char *payload;           // borrowed; NULL: the frame has none
	size_t size;                   // bytes of the payload
};

// A row of frames.def.
struct frame_kind {
	const char *name, *fields;
	enum wire_sender sender;
	bool has_payload, is_urgent;
	size_t most;                   // bytes of payload
};

const struct frame_kind *wire_kind(enum wire_type type);

// Returns how many numbers a frame of this type has.
unsigned wire_numbers(enum wire_type type);

// Appends the frame, which must be within the limits of its kind.
void wire_write(struct buf *buf, const struct wire_frame *frame);

enum wire_status {
	WIRE_FRAME,                    // *ret_frame is the frame; its payload points into `bytes`. *ret_used: its length
	WIRE_PART,                     // more bytes have to come
	WIRE_BAD,                      // the bytes are no frame, or one that `sender` may not send: *ret_why (static text)
};

// Reads the first frame that `sender` has sent.
enum wire_status wire_read(const char *bytes, size_t n, enum wire_sender sender, struct wire_frame *ret_frame, size_t *ret_used,
                           const char **ret_why) FP_NODISCARD;

// Reads the frame at *at of frames that this program has written, and moves *at behind it. Returns false at their end.
bool wire_next(const struct buf *frames, size_t *at, struct wire_frame *ret_frame);
