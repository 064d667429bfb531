// How much memory the jobs of a batch need, as far as it was seen: the peaks of those that have ended, and what those that run
// have now. Pure: no clock, no lock, no I/O; who has one keeps others from it meanwhile.
//
// For one job the greatest peak is reserved; for several that, and for the others the mean, or what they need together by chance
// (the mean of the sum and two standard deviations), if that is more. So one huge job among small ones does not make all of
// them huge. A job that is larger than all before may be the first of many: the mean begins anew with it. When four others have
// ended since it grew last, and neither these nor those that run have half as much, it was an exception: it does not count in the
// mean any more, but the peak stays. Where there was another one shortly before, it counts: there may be two at a time.
//
// As long as little is known few run at once. Each end of a job, and each sample of the running ones that finds them no larger
// than before, allows for twice as many.

#ifndef FAIRPAR_PROCESS_MEMORY_LEARNED_H
#define FAIRPAR_PROCESS_MEMORY_LEARNED_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_NEED_MOST (UINT64_C(1) << 46) // bytes of a job, so that the sum of all is a number

// Of some jobs, the last ones counting more.
struct memory_peaks {
	double mean, variance;
	unsigned counted;           // peaks in these, as far as they make a difference
};

// Zeroed: nothing is known.
struct memory_learned {
	atomic_uint_least64_t peak; // bytes; 0: not known. Read without a lock
	struct memory_peaks usual;  // of the jobs that have ended since the mean began anew, without the huge one:
	uint64_t huge;              // bytes of the largest job since then
	bool huge_runs;             // that job has not ended
	bool in_doubt;              // it may be the first of many, and counts in the mean
	bool is_exception;          // it is not the first of many, and does not count in the mean
	uint64_t second;            // the most bytes that another job had since then
	unsigned others;            // jobs that have ended since the huge one grew last, counted up to a limit
	unsigned wary;              // jobs that have to end before there may be another exception
	unsigned samples;           // jobs that have ended, counted up to a limit
	unsigned running;           // jobs; counted by who admits them
	uint64_t used;              // bytes of these at the last sample; counted by who samples
	unsigned steps;             // 2^steps may run at once while there are few samples
	uint64_t due;               // the next sample of those that run (now_ns() time)
	uint64_t pause;             // between two samples, ns
};

// The peak is known from a former run.
void memory_learned_restore(struct memory_learned *learned, uint64_t peak);

// Must the next job wait until more is known?
bool memory_learned_holds_back(const struct memory_learned *learned);

// True if a job that had `before` bytes at its last sample (0: none was taken) and has `now` bytes still grows, and has to be
// watched on. Growth below about a thousandth of `available` does not count.
bool memory_learned_has_grown(uint64_t before, uint64_t now, uint64_t available);

// The bytes to reserve for so many jobs at once, with an eighth added as a margin, or a 32nd once eight peaks are known. 0 if
// nothing is known.
uint64_t memory_learned_reserve(const struct memory_learned *learned, unsigned jobs);

// The same for one job.
uint64_t memory_learned_need(const struct memory_learned *learned);

// A job begins.
void memory_learned_begin(struct memory_learned *learned, uint64_t now);

// A running job has so much now; `before`: the most that it was seen to have before that, or 0.
void memory_learned_note(struct memory_learned *learned, uint64_t before, uint64_t bytes);

// The running ones were sampled; `grown`: one of them has much more than when it was sampled before, or never was.
void memory_learned_sampled(struct memory_learned *learned, bool grown, uint64_t now);

// A job with that peak has ended. If it is lower than the greatest peak, the greatest falls by a sixteenth of the difference.
void memory_learned_end(struct memory_learned *learned, uint64_t peak);

#endif
