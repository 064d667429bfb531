// A file that appears whole or not at all: written in the same directory without a name, or under one of its own, then put
// in place.

#ifndef FAIRPAR_BASE_ATOMIC_FILE_H
#define FAIRPAR_BASE_ATOMIC_FILE_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>

struct atomic_file;

// Checks, without writing anything, whether atomic_file_open() is likely to succeed. Returns 0, or -1 with errno.
int atomic_file_check(const char *path) FP_NODISCARD;

// Begins to write the file at `path`. A file that exists takes its new content in atomic_file_close(), and keeps its mode; of
// a symbolic link the target is replaced. A path that is no regular file (a terminal; a FIFO, whose reader is waited for) is
// written to at once, as is a link whose target has no path (removed but open, or not there yet). Returns a file for
// atomic_file_close(), or NULL with errno.
struct atomic_file *atomic_file_open(const char *path);

// Adds the bytes. After an error it does nothing; atomic_file_close() returns it.
void atomic_file_write(struct atomic_file *file, const void *mem, size_t len);

// Puts the file in its place, or with `keep` false leaves what was there before; frees `file`. Returns 0, or -1 with errno
// of the first failure since atomic_file_open(): then nothing has changed, but for what is no regular file.
int atomic_file_close(struct atomic_file *file, bool keep) FP_NODISCARD;

#endif
