// The median of the last values of a series.

#pragma once

#include <stdint.h>

struct median;

// Makes an empty series, which keeps its last `of` values. The caller frees it with free().
struct median *median_new(uint32_t of);

// Adds a value. A series that is full drops its oldest value.
void median_add(struct median *median, uint64_t value);

// Returns the middle value, or the lower of the two in the middle; 0 if there is no value.
uint64_t median_get(const struct median *median);
