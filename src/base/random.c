// Random bytes from the system, or a substitute if the system gives none.

#include "base/random.h"

#include "base/sync.h"

#include <sys/random.h>
#include <unistd.h>

// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)
uint64_t random_next(uint64_t *state) {
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void random_bytes(void *mem, size_t len) {
	ssize_t n = getrandom(mem, len, GRND_NONBLOCK); // no signal interrupts this call for 256 bytes or fewer
	uint64_t state = now_ns() ^ (uint64_t)getpid() << 32;
	for (size_t i = n > 0 ? (size_t)n : 0; i < len; ++i) {
		((unsigned char *)mem)[i] = (unsigned char)random_next(&state);
	}
}
