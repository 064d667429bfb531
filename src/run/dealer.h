// Data that goes to running jobs as it comes, through the pipes that are their standard inputs: --round-robin, --tee.
//
// The event loop deals out portions of it: to the job whose turn it is, or to all. The worker of a job writes what its job
// has been given into the pipe, and sleeps (base/wakeup.h) where there is nothing. A job holds two portions at most, the one
// that is written and the next, so memory is bounded, and who is slow is dealt less. A job that reads no more is passed
// over; what it was dealt and has not seen any of goes to another.

#ifndef FAIRPAR_RUN_DEALER_H
#define FAIRPAR_RUN_DEALER_H

#include "run/run.h"

struct dealer;
struct hand;    // a job's end; freed by dealer_destroy()
struct portion; // bytes, counted

enum { SMALL_PORTION = 32 * 1024 }; // bytes: portions of bytes that are added to each other while they wait

struct dealer *dealer_create(struct run *run);
// When no job runs any more.
void dealer_destroy(struct dealer *dealer);

// The first `size` bytes of the file, which it owns.
struct portion *portion_of_fd(int fd, uint64_t size);
// What is in the buffer, which is empty then.
struct portion *portion_of_bytes(struct buf *bytes);
void portion_unref(struct portion *portion);

// ---- from the event loop ----

// One more job. Returns NULL with errno.
struct hand *dealer_add(struct dealer *dealer);

// The jobs that were added and have not stopped reading.
unsigned dealer_readers(struct dealer *dealer);

enum deal {
	DEAL_OK,     // the portion is dealt out, and no longer the caller's
	DEAL_FULL,   // there is no room now: run_wake() tells when there is some
	DEAL_NOBODY, // no job reads
};

// The first portion of a job, in whole.
void dealer_give(struct dealer *dealer, struct hand *hand, struct portion *portion);

// Deals out the bytes behind `skip`: to who has waited longest of those that have room (in_order: to nobody else), or to
// all, when all have room.
enum deal dealer_deal(struct dealer *dealer, struct portion *portion, uint64_t skip, bool in_order);
enum deal dealer_deal_all(struct dealer *dealer, struct portion *portion);

// To be called when no more is at hand for now: lets go of what was too little to wake a job's worker for.
void dealer_wake(struct dealer *dealer);

// Deals out again what jobs have left. Never DEAL_OK if there is something that could not be.
enum deal dealer_deal_left(struct dealer *dealer);

// No more portions come: all jobs get the end of file behind what they have. Idempotent.
void dealer_end(struct dealer *dealer);

// ---- from any thread ----

// Fills the job's pipe; borrowed.
const struct stdin_writer *hand_stdin_writer(struct hand *hand);

// Bytes that its job has been given so far. By its worker.
uint64_t hand_sent(const struct hand *hand);

// Its job reads no more, has ended or will never start. Idempotent; not while its worker writes.
void hand_leave(struct hand *hand);

#endif
