// The requests of a fairpar to a running fairpar, to add work or to ask something: frames of slots/protocol.h, on the socket of
// $FAIRPAR_SOCK or that of --run NAME. One request for each connection, and one answer.
//
//   client -> run                                             run -> client
//   ADD      a, b who asks; text: struct control_job          ADDED      text: the ID of the job
//   WAIT     a, b who asks; c WAIT_ANY; text: IDs             ENDED      a the exit status; text: with WAIT_ANY the job's ID
//   CANCEL   a, b who asks; text: IDs, or with c CANCEL_BATCH CANCELLED  a how many jobs
//            the name of a batch
//   LOOK     a, b who asks; c LOOK_JSON                       REPORT     text
//                                                             REFUSED    why, as text
//
// "Who asks": number and nonce of the attempt in which the client runs; or 0, if it runs in no job. The upper half of c is
// CONTROL_VERSION, and the lower half has CONTROL_BY_NAME for a client that names the run. An ID is the number of a job,
// item.seq. A client that names the run gets the ID with the mark of that run, as in 12@5f1c09a3, so that the ID does not mean a job
// of the next run of that name. A request may have both forms of IDs, with a NUL behind each ID.

#pragma once

#include "slots/protocol.h"

#include <stddef.h>
#include <sys/resource.h>

enum { CONTROL_VERSION = 4, CONTROL_TEXT_MAX = 4 * 1024 * 1024, CONTROL_LIMITS = 16 };

enum control_type {
	CONTROL_ADD = 51, CONTROL_WAIT, CONTROL_CANCEL, CONTROL_LOOK,
	CONTROL_ADDED = 151, CONTROL_ENDED, CONTROL_CANCELLED, CONTROL_REPORT, CONTROL_REFUSED,
};
enum { WAIT_ANY = 1, CANCEL_BATCH = 1, LOOK_JSON = 1, CONTROL_BY_NAME = 2 };

static inline bool control_is_request(uint32_t type) {
	return type >= CONTROL_ADD && type <= CONTROL_LOOK;
}

// The job of ADD. The strings of `words` and `env` stand one behind the other, each with its NUL.
struct control_job {
	// the text of ADD begins with these numbers, byte for byte; the strings below follow
	uint64_t timeout;            // nanoseconds, 0: none
	struct rlimit limits[CONTROL_LIMITS]; // indexed by resource (getrlimit(2))
	uint32_t nwords, nenv;
	uint32_t attempts;           // at least 1; UINT32_MAX: no limit
	uint32_t width;              // slots, at least 1
	int32_t nice;                // added to the nice value of the run
	uint32_t umask;
	// the strings
	const char *batch;           // "": the batch of the job in which the client runs
	const char *cwd;
	const char *words, *env;
	size_t words_size, env_size; // bytes
};

// Appends the text of ADD.
void control_write_job(struct buf *out, const struct control_job *job);

// Reads the text of ADD; *ret_job borrows it. Returns false if the text is invalid.
bool control_read_job(const char *text, size_t len, struct control_job *ret_job) FP_NODISCARD;
