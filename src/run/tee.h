// The data of --tee: all of it to every job. With --pipe, stdin as it comes; with --pipe-part, a file.
//
// The jobs come from items. A stream has them all wait for it, so they run at once: data flows when each has its end, and
// no faster than the slowest reads. A file is opened for each job anew, so those need not run at once.

#ifndef FAIRPAR_RUN_TEE_H
#define FAIRPAR_RUN_TEE_H

#include "run/run.h"

struct tee;

// Opens what the options name. Returns NULL after a message.
struct tee *tee_open(struct run *run);
// When no job runs any more.
void tee_close(struct tee *tee);

// ---- from the event loop ----

// Says that there will be so many jobs at most. Returns -1 after a message if they cannot run at once.
int tee_expect(struct tee *tee, uint64_t jobs);

// All jobs are queued, numbered from 1 to `jobs`: data may flow.
void tee_begin(struct tee *tee, uint64_t jobs);

enum tee_status {
	TEE_AGAIN, // call again at once
	TEE_WAIT,  // nothing there yet: poll stdin
	TEE_FULL,  // somebody is slow, or tee_begin() was not called: run_wake() tells
	TEE_ERROR, // reading failed, and a message says so; then TEE_END
	TEE_END,   // of the data, or no job reads any more
};

// Passes on some data; blocks neither for input nor for long.
enum tee_status tee_step(struct tee *tee);

// Nothing more is read: jobs get the end of file behind what they have. Idempotent.
void tee_stop(struct tee *tee);

// ---- from any thread ----

// Makes the data the standard input of the child of that job. Returns 0, or -1 after a message; tee_disconnect() after 0,
// when the child has ended.
int tee_connect(struct tee *tee, uint64_t job, struct child_config *config);
void tee_disconnect(struct tee *tee, struct child_config *config);

// Bytes that the job has been given; 0 of a file, which it reads by itself. By its worker.
uint64_t tee_sent(const struct tee *tee, uint64_t job);

// The job has ended, or will never start. Idempotent.
void tee_leave(struct tee *tee, uint64_t job);

#endif
