// The median of the last values of a series.

#pragma once

#include <stdint.h>

struct median;

// Makes a series without values, of which the last `of` are kept. The caller frees it with free().
struct median *median_new(uint32_t of);

// Adds a value; if as many as are kept are there, the oldest one is dropped.
void median_add(struct median *median, uint64_t value);

// Returns the middle value, of two in the middle the lower one; 0 if there is no value.
uint64_t median_get(const struct median *median);
