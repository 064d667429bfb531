// Data that goes to running jobs as it comes, through the pipes that are their standard inputs: --round-robin, --tee.
//
// The event loop deals out portions of it: to the job whose turn it is, or to all jobs. The worker of a job writes the job's
// portions into the pipe, and sleeps (base/wakeup.h) while there are none. A job has two portions at most, the one being written
// and the next: so memory is bounded, and slow jobs get less. A job that has stopped reading gets nothing more; its portions of
// which nothing was written go to other jobs.

#ifndef FAIRPAR_PIPE_DEALER_H
#define FAIRPAR_PIPE_DEALER_H

#include "base/buf.h"
#include "process/child.h"

struct dealer;
struct pipe_config; // block.h
struct consumer; // a job that is given data
struct portion;  // some bytes, with counted references

enum { SMALL_PORTION = 32 * 1024 }; // bytes: portions of bytes that are added to each other while they wait

// The caller frees it with dealer_destroy(), and with it all consumers, when no job runs any more.
struct dealer *dealer_create(const struct pipe_config *config);
void dealer_destroy(struct dealer *dealer);

// A portion with one reference, the caller's: what is in the buffer, which is empty then.
struct portion *portion_of_bytes(struct buf *bytes);
void portion_unref(struct portion *portion);

// ---- from the event loop ----

// One more job, and its first portion, or NULL. The dealer owns both. Returns NULL with errno; the portion is
// the caller's then.
struct consumer *dealer_add(struct dealer *dealer, struct portion *portion);

// How many of the jobs that were added have not stopped reading.
unsigned dealer_readers(struct dealer *dealer);

enum deal {
	DEAL_OK,     // the portion is dealt out, and the dealer's now
	DEAL_FULL,   // there is no room now: config->wake_fd tells when there is some
	DEAL_NOBODY, // no job reads
};

// Deals out the portion to the job that has waited longest of those with room; with `in_order` only to the job that has waited
// longest of all. The portion is the dealer's with DEAL_OK, else still the caller's.
enum deal dealer_deal(struct dealer *dealer, struct portion *portion, bool in_order);

// Deals out the portion to all jobs, once all have room.
enum deal dealer_deal_all(struct dealer *dealer, struct portion *portion);

// To be called when there is nothing more to deal out for now: wakes the workers that sleep though they have a small portion.
void dealer_wake(struct dealer *dealer);

// Deals out again the portions of jobs that stopped reading (consumer_leave()). Returns DEAL_OK when none of them is left.
enum deal dealer_deal_left(struct dealer *dealer);

// No more portions come: all jobs get the end of file behind what they have. Idempotent.
void dealer_end(struct dealer *dealer);

// ---- from any thread ----

// What writes the job's data into its pipe; borrowed from the consumer.
const struct stdin_writer *consumer_stdin_writer(struct consumer *consumer);

// Bytes that its job has been given so far. By its worker.
uint64_t consumer_sent(const struct consumer *consumer);

// To be called when the consumer's job has stopped reading, has ended or will never start: its portions of which nothing was
// written go to other jobs. Idempotent; not while its worker writes.
void consumer_leave(struct consumer *consumer);

#endif
