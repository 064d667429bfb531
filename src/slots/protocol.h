// What a client and the slot server of a pool say to each other: frames on a socket between processes of one user on one machine. The
// socket is of type SOCK_SEQPACKET: the kernel keeps frames apart, and a descriptor arrives with the frame that it was sent with.
//
// A frame is a header (with integers a, b, c in the machine's byte order) and a text. Below, "number" is that of a lease. HELLO, WELCOME and REFUSED
// are the same in all versions, so that programs of two versions can say that they do not fit together. (Up to version 4 the socket was a stream.)
//
//   client -> server                                          server -> client
//   HELLO    struct hello, then "BATCH\0DIR\0LABEL\0"          WELCOME  a slots of the pool, their bounds b and c: equal if a is
//                                                                     fixed; b 0: not known
//   HOLDS    a struct hold for each lease that is in use       REFUSED  why, as text; the connection ends
//   WANT     a more leases, b width of each                    GRANT    a number, b nonce, c width and LEASE_LENT
//   USE      a number, b nonce of the job, c: the last job     REVOKED  a number: the lease was not used
//   PROCESS  a number, b pid: a pidfd comes with it            LAST     a number: no other job is to follow; USE is the answer
//   RELEASE  a number; b, c: as a, b of WANT, or c 0: no WANT  STATE    a: does anybody wait, b: lease_spare_limit()
//   STATUS   a STATUS_RANK: RANK is wanted, not REPORT                  c: slots of the pool, and STATE_REASON()
//   OBSERVED struct observation: the answer to OBSERVE         RANK     a the rank among the b clients that wait; text: who holds the slots
//                                                              REPORT   a slots taken, b clients that wait, c as in STATE; lines of text
//                                                              OBSERVE  OBSERVED is wanted

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { PROTOCOL_VERSION = 6, PROTOCOL_TEXT_MAX = 64 * 1024 * 1024 };

enum frame_type {
	FRAME_HELLO = 1, FRAME_WANT, FRAME_USE, FRAME_RELEASE, FRAME_HOLDS, FRAME_STATUS, FRAME_PROCESS, FRAME_OBSERVED,
	FRAME_WELCOME = 101, FRAME_REFUSED, FRAME_GRANT, FRAME_REVOKED, FRAME_STATE, FRAME_RANK, FRAME_REPORT, FRAME_OBSERVE, FRAME_LAST,
};

#define LEASE_LENT (UINT64_C(1) << 32)
enum { STATUS_RANK = 1 };
#define STATE_REASON(c) ((unsigned)((c) >> 32)) // enum controller_reason: why there are so many slots

struct frame {
	uint32_t type; // enum frame_type
	uint32_t len;  // bytes of text that follow, at most PROTOCOL_TEXT_MAX
	uint64_t a, b, c;
};

enum hello_flags {
	HELLO_SHOWS_RANK = 1, // the client wants RANK frames
	HELLO_SPARE = 2,       // the client wants only slots that nobody else waits for
	HELLO_OBSERVES = 4,       // the client answers OBSERVE
};

// The text of HELLO begins with this struct.
struct hello {
	uint32_t version;
	uint32_t pid;           // the client's pid, to show; the kernel says which process the client really is
	uint64_t below_number, below_nonce; // the lease that the client runs on, or 0
	uint32_t weight;
	int32_t priority;
	uint32_t flags;         // enum hello_flags
};

// A lease of a server that has ended, which a client still uses. The next server ignores a hold whose number another lease has.
struct hold {
	uint64_t number, nonce;
	uint64_t width;         // the width in slots; with LEASE_LENT if the lease is lent out of another one
	uint64_t last;          // not 0: the present job is the last one on the lease (c of USE)
};

// What a client sees of the jobs on its leases. See struct controller_observation.
struct observation {
	uint64_t sampled, busy;  // as in struct controller_observation, in thousandths
	uint64_t since_ns;      // ns since the client last sent OBSERVED, or since its start; in this time the next three were counted
	uint64_t ended, wall_ns, work_ns; // as in struct controller_observation
	uint64_t cost_ns;       // processor time that the sample has taken
	uint64_t held_up;       // not 0: the client's items wait for something other than a slot, so more slots would not help
};

// A queue of frames, one behind the other in a buffer: frame_add() appends a frame with `len` bytes of text. frame_next() gets the frame
// at the offset *at, and moves *at behind the frame; it returns false at the end.
void frame_add(struct buf *queue, struct frame frame, const void *text, size_t len);
bool frame_next(const struct buf *queue, size_t *at, struct frame *ret_frame, const char **ret_text) FP_NODISCARD;

// Sends a frame whole, and with it the descriptor `fd` (-1: none). A long text is sent as a file in memory: then `fd` must be -1.
// Returns 0, or -1 with errno: EAGAIN if the socket takes nothing now.
int frame_send(int socket, struct frame frame, const void *text, size_t len, int fd) FP_NODISCARD;

// Sends the frames of the queue, without waiting, and removes those that were sent. Returns false if the other end has gone.
bool frames_flush(int socket, struct buf *queue) FP_NODISCARD;

enum frame_result { FRAME_NONE, FRAME_READY, FRAME_END };

// Appends the next frame that has come to the queue; *ret_fd: the descriptor that came with the frame, the caller's from now on, or -1.
// FRAME_NONE: no frame has come. FRAME_END: the other end has gone, or does not speak the protocol.
enum frame_result frame_receive(int socket, struct buf *queue, int *ret_fd) FP_NODISCARD;
