// Logarithmic buckets for a histogram of uint64_t: 2^bits of them for each power of two, so that the middle of a bucket is off by
// at most 1/2^(bits+1) of any number in it. Below 2^(bits+1) each number has a bucket of its own.

#ifndef FAIRPAR_REPORT_BUCKETS_H
#define FAIRPAR_REPORT_BUCKETS_H

#include <stdint.h>

// How many buckets there are.
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
