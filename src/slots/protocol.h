// What a client and the slot server of a pool say to each other: frames on a stream socket between processes of one
// user on one machine.
//
// A frame is a header and `len` bytes of text. Numbers are in the order of the machine. HELLO, WELCOME and REFUSED stay
// as they are in all versions, so that two that do not fit together can say so.
//
//   client -> server                                          server -> client
//   HELLO    struct hello, then "BATCH\0DIR\0LABEL\0"          WELCOME  a slots of the pool; b and c: the bounds of a number that
//                                                                     is found, else 0; c alone: it is not known
//   HOLD     a number, b nonce, c width and LEASE_LENT          REFUSED  why, as text; the end
//   WANT     a leases more, b width of each                    GRANT    a number, b nonce, c width and LEASE_LENT
//   WORDS    a descriptor comes with it: slots/words.h         REVOKED  a number: it was not used
//   USE      a number, b nonce of the job, or 0: as granted;   STATE    a: does anybody wait, b: lease_spare_limit()
//            c: 1 + which word tells of the next jobs on it,             c: slots of the pool, and STATE_REASON()
//            or 0: there are none                              PLACE    a place of b who wait, and who holds the slots, as text
//   PROCESS  a number, b pid: a pidfd comes with it           REPORT   a slots taken, b who wait, c: as STATE, and lines of text
//   RELEASE  a number                                         OBSERVE  OBSERVED is wanted
//   STATUS   a STATUS_PLACE: PLACE is wanted, not REPORT
//   OBSERVED struct observation: the answer to OBSERVE

#ifndef FAIRPAR_SLOTS_PROTOCOL_H
#define FAIRPAR_SLOTS_PROTOCOL_H

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { PROTOCOL_VERSION = 4, PROTOCOL_TEXT_MAX = 64 * 1024, PROTOCOL_WORDS_MAX = 4096 };

enum frame_type {
	FRAME_HELLO = 1, FRAME_WANT, FRAME_USE, FRAME_RELEASE, FRAME_HOLD, FRAME_STATUS, FRAME_WORDS, FRAME_PROCESS, FRAME_OBSERVED,
	FRAME_WELCOME = 101, FRAME_REFUSED, FRAME_GRANT, FRAME_REVOKED, FRAME_STATE, FRAME_PLACE, FRAME_REPORT, FRAME_OBSERVE,
};

#define LEASE_LENT (UINT64_C(1) << 32)
enum { STATUS_PLACE = 1 };
#define STATE_REASON(c) ((unsigned)((c) >> 32)) // enum controller_reason: why there are so many slots

struct frame {
	uint32_t type; // enum frame_type
	uint32_t len;  // bytes of text that follow, at most PROTOCOL_TEXT_MAX
	uint64_t a, b, c;
};

enum hello_flags {
	HELLO_SHOWS_PLACE = 1, // it wants PLACE frames
	HELLO_SPARE = 2,       // it wants only slots that nobody else waits for
	HELLO_OBSERVES = 4,       // it answers OBSERVE
};

// The text of HELLO begins with it.
struct hello {
	uint32_t version;
	uint32_t pid;           // to show; who it is, the kernel says
	uint64_t below_number, below_nonce; // the lease that it runs on, or 0
	uint32_t nholds;        // HOLD frames that follow
	uint32_t weight;
	int32_t priority;
	uint32_t flags;         // enum hello_flags
};

// What a client sees of the jobs on its leases. See struct controller_observation.
struct observation {
	uint64_t sampled, busy;  // thousandths
	uint64_t since_ns;      // the last OBSERVED, or the start; in this time:
	uint64_t ended, wall_ns, work_ns;
	uint64_t cost_ns;       // processor time that the sample has taken
	uint64_t held_up;       // not 0: what has slots waits for something else than these, and more slots would, too
};

// Moves *at behind the next `n` NUL-terminated strings of a text that ends at `end`. Returns the first, or NULL if there are
// fewer.
const char *frame_strings(const char **at, const char *end, uint32_t n);

// Appends a frame with `len` bytes of text.
void frame_add(struct buf *buf, struct frame frame, const void *text, size_t len);

enum frame_result { FRAME_PARTIAL, FRAME_READY, FRAME_BAD };

// Parses the frame at the start of the `len` bytes. FRAME_READY: it is in *ret_frame, its text at *ret_text within `mem`; both
// take sizeof(struct frame) + ret_frame->len bytes. FRAME_PARTIAL: more bytes are needed. FRAME_BAD: the text would be longer
// than `most` bytes, so this is not the protocol.
enum frame_result frame_parse_most(const char *mem, size_t len, size_t most, struct frame *ret_frame, const char **ret_text) FP_NODISCARD;

// The same with PROTOCOL_TEXT_MAX.
enum frame_result frame_parse(const char *mem, size_t len, struct frame *ret_frame, const char **ret_text) FP_NODISCARD;

#endif
