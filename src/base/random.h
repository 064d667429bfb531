// Random bytes for names, keys of hash tables and seeds.

#pragma once

#include <stddef.h>
#include <stdint.h>

// Fills `mem` with `len` (at most 256) random bytes, without waiting. Bytes that getrandom(2) does not give (early at boot, or
// if a seccomp filter refuses it) are made from the clock and the process ID; they differ from call to call, but are no secret.
void random_bytes(void *mem, size_t len);

// Returns the next number of a pseudorandom series and changes *state, which may be any number at first.
uint64_t random_next(uint64_t *state);
