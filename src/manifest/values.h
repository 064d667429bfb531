// Values of a manifest that are numbers; durations and sizes are read by base/units.h.
//
// Each call returns true and sets the result, or returns false and leaves it.

#ifndef FAIRPAR_MANIFEST_VALUES_H
#define FAIRPAR_MANIFEST_VALUES_H

#include <stdbool.h>
#include <stdint.h>

// Decimal, without a plus sign or leading zeros.
bool value_int(const char *text, int least, int most, int *ret_value);

// One to four octal digits, up to 777; 0o22 too, as YAML 1.2 writes it.
bool value_umask(const char *text, int *ret_umask);

// 1 to 1000, with or without decimals.
bool value_factor(const char *text, double *ret_factor);

// A form of -j: N, +N, -N, N%; N up to a million.
bool value_is_slots(const char *text);

#endif
