// The median of the last values of a series.

#pragma once

#include <stdint.h>

struct median;

// Makes a series without values, of which the last `of` are kept. The caller frees it with free().
struct median *median_new(uint32_t of);

// Adds a value; when there are as many as are kept, the oldest goes.
void median_add(struct median *median, uint64_t value);

// The middle one, the lower of two; 0 if there is none.
uint64_t median_get(const struct median *median);
