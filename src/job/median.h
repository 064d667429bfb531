// The median of the run times of late, for a timeout that is a percentage of it.

#ifndef FAIRPAR_JOB_MEDIAN_H
#define FAIRPAR_JOB_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

enum { MEDIAN_OF = 999 }; // as many as GNU parallel keeps at a time

// Zeroed it is empty.
struct median {
	uint64_t ring[MEDIAN_OF];   // as they came
	uint64_t sorted[MEDIAN_OF];
	size_t n, next;
};

// Adds a value; with MEDIAN_OF of them the oldest goes.
void median_add(struct median *median, uint64_t value);

// The middle one, the lower of two; 0 if there is none.
uint64_t median_get(const struct median *median);

#endif
