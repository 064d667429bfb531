// Bytes that are too many for memory, in one unlinked file.
//
// The file is filled in units of SCRATCH_UNIT bytes, each from its start to its end. A unit is filled again once all its bytes were freed. The file
// grows if no unit is free, or for a piece of more than one unit, which has to stay together. When all units are free, the file is closed unless it
// is small; only closing it gives its space back to the file system. Not counting partly used units and pieces of more than one unit, the file is
// never longer than the largest number of bytes that were in use at one time.
//
// Any thread may make these calls. The lock is never held while the file is read or written.

#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCRATCH_UNIT = 64 * 1024 };

struct scratch_file;

// Makes a scratch file in the directory `dir`, which is borrowed; the first write opens it. scratch_destroy() closes it.
struct scratch_file *scratch_create(const char *dir);
void scratch_destroy(struct scratch_file *file);

// Writes as many of the bytes as fit into the unit that is being filled; with `whole`, all of them or none. Returns how many, and
// in *ret_offset where they are until scratch_free(); or 0 with errno.
size_t scratch_write(struct scratch_file *file, const char *mem, size_t len, bool whole, uint64_t *ret_offset) FP_NODISCARD;

// Reads bytes that scratch_write() has written. Returns 0, or -1 with errno: EIO also if the file has become shorter.
int scratch_read(struct scratch_file *file, uint64_t offset, char *mem, size_t len) FP_NODISCARD;

// Frees all or some of the bytes that were written. If the file is no longer needed, returns its descriptor, which the caller closes with no lock
// held, because close(2) may take long; else returns -1.
int scratch_free(struct scratch_file *file, uint64_t offset, size_t len) FP_NODISCARD;

// Returns the number of units with bytes in use; for tests.
size_t scratch_units(struct scratch_file *file);
