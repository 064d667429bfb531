// How much memory the jobs of a batch need, as far as it was seen: the peak of those that have ended, and what those that run
// have now. Pure: no clock, no lock, no I/O; who has one keeps others from it meanwhile.
//
// As long as little is known few run at once. Each end of a job, and each look at the running ones that finds them no larger
// than before, allows for twice as many.

#ifndef FAIRPAR_PROCESS_MEMORY_LEARNED_H
#define FAIRPAR_PROCESS_MEMORY_LEARNED_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_NEED_MOST (UINT64_C(1) << 46) // bytes of a job, so that the sum of all is a number

// Zeroed: nothing is known.
struct memory_learned {
	atomic_uint_least64_t peak; // bytes; 0: not known. Read without a lock
	unsigned samples;           // jobs that have ended, as far as they make a difference
	unsigned running;           // jobs; who admits them counts them
	unsigned steps;             // 2^steps may run at once while there are few samples
	uint64_t due;               // the next look at those that run (now_ns() time)
	uint64_t pause;             // between two looks, ns
};

// The peak is known from a former run.
void memory_learned_know(struct memory_learned *learned, uint64_t peak);

// Must the next job wait until more is known?
bool memory_learned_holds_back(const struct memory_learned *learned);

// What is reserved for a job: its batch's peak, and an eighth for those that need more. 0: nothing is known.
uint64_t memory_learned_need(const struct memory_learned *learned);

// A job begins.
void memory_learned_begin(struct memory_learned *learned, uint64_t now);

// A running job has so much now.
void memory_learned_note(struct memory_learned *learned, uint64_t bytes);

// The running ones were looked at; `grown`: one of them has much more than when it was looked at before, or never was.
void memory_learned_looked(struct memory_learned *learned, bool grown, uint64_t now);

// A job whose peak that was has ended. A lower one counts for a sixteenth, so that one huge job among small ones is forgotten.
void memory_learned_end(struct memory_learned *learned, uint64_t peak);

#endif
