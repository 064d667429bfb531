// How much memory the cgroups of this process leave it.

#ifndef FAIRPAR_PROCESS_MEMORY_ROOM_H
#define FAIRPAR_PROCESS_MEMORY_ROOM_H

#include <stdint.h>

struct memory_room {
	uint64_t limit; // the lowest of the limits; UINT64_MAX: none is set
	uint64_t left;  // the least that is left below one of them, counting inactive file cache as free; UINT64_MAX: none is set
};

// Looks at the cgroup of this process and at those above it, of v2 (memory.max) and of v1 (memory.limit_in_bytes). `root` is put
// before /proc/self and the mounts found there: "" but in tests. What cannot be read sets no limit.
struct memory_room memory_room_observe(const char *root);

// How many processes of the own group the kernel has killed so far for want of memory; 0 where it does not tell. `root` as above.
uint64_t memory_room_kills(const char *root);

#endif
