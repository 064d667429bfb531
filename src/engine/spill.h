// The spill file: queued bytes that are too many for memory.
//
// One unlinked file for the pool, given out in units of SPILL_UNIT bytes; freed units are used again, and when all are free
// the file is closed. Which are free is kept under the pool's lock; opening, reading and writing are done without it.

#ifndef FAIRPAR_ENGINE_SPILL_H
#define FAIRPAR_ENGINE_SPILL_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPILL_UNIT = 64 * 1024 };

struct spill {
	const char *dir;     // borrowed
	int fd;              // -1: not open
	int error;           // errno of the last write that failed: the file does not grow any more; 0: all is well
	uint32_t nunits;     // units of the file, whatever their state
	uint32_t nlost;      // units that could not be written
	uint32_t nfree;      // units to use again
	uint32_t *free;      // their numbers
	size_t free_cap;
};

// No file is opened yet. `dir` is borrowed. spill_fini() closes the file, if it is open.
void spill_init(struct spill *spill, const char *dir);
void spill_fini(struct spill *spill);

// Whether spill_alloc() may be called for `len` bytes: a unit is free, or the file may grow.
bool spill_has_room(const struct spill *spill, size_t len);

// Returns the offset of `len` bytes of the file that are the caller's until spill_free() or spill_fail().
uint64_t spill_alloc(struct spill *spill, size_t len);

// Frees the `len` bytes at `offset`. Returns a descriptor that the caller closes without the lock, or -1: it was the last use
// of the file.
int spill_free(struct spill *spill, uint64_t offset, size_t len) FP_NODISCARD;

// Gives up `len` bytes that could not be written because of `error`, an errno. Returns as spill_free().
int spill_fail(struct spill *spill, size_t len, int error) FP_NODISCARD;

// Opens the file. Returns a descriptor for spill->fd, or -errno.
int spill_open(const struct spill *spill) FP_NODISCARD;

// Write or read all `len` bytes at `offset`. Return 0, or -errno.
int spill_write(int fd, const char *data, size_t len, uint64_t offset) FP_NODISCARD;
int spill_read(int fd, char *data, size_t len, uint64_t offset) FP_NODISCARD;

#endif
