// Values of a manifest that are more than text: numbers, durations, sizes and the like.
//
// Each call returns true and sets the result, or returns false and leaves it.

#ifndef FAIRPAR_MANIFEST_VALUES_H
#define FAIRPAR_MANIFEST_VALUES_H

#include <stdbool.h>
#include <stdint.h>

// Decimal, without a plus sign or leading zeros.
bool value_int(const char *text, int least, int most, int *ret_value);

// 90, 90s, 1.5h, 100ms, 1d; or whole numbers with units from large to small: 1h30m. At most 100 years.
bool value_duration(const char *text, uint64_t *ret_ns);

// Bytes; K, M, G and T are powers of 1024: 512M, 1.5G. Below 2^63.
bool value_size(const char *text, uint64_t *ret_bytes);

// One to four octal digits, up to 777; 0o22 too, as YAML 1.2 writes it.
bool value_umask(const char *text, int *ret_umask);

// 1 to 1000, with or without decimals.
bool value_factor(const char *text, double *ret_factor);

// A form of -j: N, +N, -N, N%; N up to a million.
bool value_is_slots(const char *text);

#endif
