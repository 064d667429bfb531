// The median of the run times of late, for a timeout that is a percentage of it.

#include "job/median.h"

#include <string.h>

// Where the value is in the sorted ones, or would be.
static size_t find(const struct median *median, uint64_t value) {
	size_t low = 0, high = median->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (median->sorted[middle] < value) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

void median_add(struct median *median, uint64_t value) {
	uint64_t *sorted = median->sorted;
	if (median->n == MEDIAN_OF) {
		size_t at = find(median, median->ring[median->next]);
		memmove(sorted + at, sorted + at + 1, (--median->n - at) * sizeof(*sorted));
	}
	size_t at = find(median, value);
	memmove(sorted + at + 1, sorted + at, (median->n++ - at) * sizeof(*sorted));
	sorted[at] = value;
	median->ring[median->next] = value;
	median->next = (median->next + 1) % MEDIAN_OF;
}

uint64_t median_get(const struct median *median) {
	return median->n > 0 ? median->sorted[(median->n - 1) / 2] : 0;
}
