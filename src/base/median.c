// The median of the last values of a series.

#include "base/median.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <string.h>

struct median {
	uint32_t of, n, next; // how many values are kept at most; how many there are; the index in the ring where the next value goes
	uint64_t values[]; // holds each value twice: the first `of` elements are sorted; the next `of` elements are a ring, in order of arrival
};

struct median *median_new(uint32_t of) {
	struct median *median = xcalloc(1, sizeof(*median) + 2 * (size_t)of * sizeof(median->values[0]));
	median->of = of;
	return median;
}

// Returns the index of the first of the `n` sorted values that is at least `value`, or `n`.
static size_t index_of(const uint64_t *sorted, size_t n, uint64_t value) {
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		bool is_before = sorted[middle] < value;
		low = is_before ? middle + 1 : low;
		high = is_before ? high : middle;
	}
	return low;
}

void median_add(struct median *median, uint64_t value) {
	uint64_t *sorted = median->values, *ring = sorted + median->of;
	if (median->n == median->of) {
		size_t at = index_of(sorted, median->n, ring[median->next]);
		memmove(sorted + at, sorted + at + 1, (--median->n - at) * sizeof(*sorted));
	}
	size_t at = index_of(sorted, median->n, value);
	memmove(sorted + at + 1, sorted + at, (median->n++ - at) * sizeof(*sorted));
	sorted[at] = value;
	ring[median->next] = value;
	median->next = (median->next + 1) % median->of;
}

uint64_t median_get(const struct median *median) {
	return median->n > 0 ? median->values[(median->n - 1) / 2] : 0;
}
