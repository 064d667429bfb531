// Buckets of numbers, as wide as their numbers are large: 2^bits of them for each doubling, so that the middle of one is within
// a part in 2^(bits+1) of the numbers in it. Below 2^(bits+1) each number has its own.

#ifndef FAIRPAR_REPORT_BUCKETS_H
#define FAIRPAR_REPORT_BUCKETS_H

#include <stdint.h>

// Of all numbers.
#define BUCKETS(bits) ((65 - (bits)) << (bits))

static inline unsigned bucket_of(uint64_t number, unsigned bits) {
	unsigned octave = number >> bits > 1 ? (unsigned)(63 - __builtin_clzll(number)) - bits : 0;
	return (octave << bits) + (unsigned)(number >> octave);
}

// The smallest number of the bucket.
static inline uint64_t bucket_start(unsigned bucket, unsigned bits) {
	unsigned octave = bucket >> bits > 1 ? (bucket >> bits) - 1 : 0;
	return (uint64_t)(bucket - (octave << bits)) << octave;
}

#endif
