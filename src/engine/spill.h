// The spill file: places on disk for queued bytes that are too many for memory.
//
// One unlinked file for the pool, in places of SPILL_PLACE bytes; freed places are used again, and when all are free the
// file is given up. The book-keeping is done under the pool's lock; opening, reading and writing without it.

#ifndef FAIRPAR_ENGINE_SPILL_H
#define FAIRPAR_ENGINE_SPILL_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPILL_PLACE = 64 * 1024 };

struct spill {
	const char *dir;     // borrowed
	int fd;              // -1: not open
	int error;           // of the last failure: only places that were written before are taken; 0: all is well
	uint32_t nplaces;    // places of the file, whatever their state
	uint32_t nlost;      // places that could not be written
	uint32_t nfree;      // places to use again
	uint32_t *free;      // their numbers
	size_t free_cap;
};

void spill_init(struct spill *spill, const char *dir);
void spill_fini(struct spill *spill);

// True if `len` bytes may find room.
bool spill_has_room(const struct spill *spill, size_t len);

// Takes room for `len` bytes and returns its offset. Only if spill_has_room().
uint64_t spill_take(struct spill *spill, size_t len);

// Gives the room of `len` bytes back. Returns a descriptor that the caller closes without the lock, or -1.
int spill_give(struct spill *spill, uint64_t offset, size_t len) FP_NODISCARD;

// As spill_give(), for room that could not be written because of `error`.
int spill_lose(struct spill *spill, uint64_t offset, size_t len, int error) FP_NODISCARD;

// Without the lock: open the file, write or read all `len` bytes. Return a descriptor or 0, or -errno.
int spill_open(const struct spill *spill) FP_NODISCARD;
int spill_write(int fd, const char *data, size_t len, uint64_t offset) FP_NODISCARD;
int spill_read(int fd, char *data, size_t len, uint64_t offset) FP_NODISCARD;

#endif
