// Random bytes for names, keys of hash tables and seeds.

#pragma once

#include <stddef.h>
#include <stdint.h>

// Fills `mem` with `len` (at most 256) random bytes, without waiting. Early at boot, or if a filter of system calls refuses
// getrandom(2), they are made from the clock and the process, and differ from call to call: nothing here guards a secret.
void random_bytes(void *mem, size_t len);

// Returns the next number of a pseudorandom series and changes *state, which may be any number at first.
uint64_t random_next(uint64_t *state);
