// A file that appears whole or not at all: written in the same directory without a name, or under one of its own, then put
// in place.

#ifndef FAIRPAR_BASE_ATOMIC_FILE_H
#define FAIRPAR_BASE_ATOMIC_FILE_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>

struct atomic_file;

// Looks whether atomic_file_open() will likely do. Returns 0, or -1 with errno.
int atomic_file_check(const char *path) FP_NODISCARD;

// Begins to write the file. What is there and is no regular file (a terminal, a FIFO, whose reader is waited for) is
// written to at once, and so is what a link leads to that has no path; else a symbolic link stays, and its target is replaced,
// with its mode. Returns NULL with errno.
struct atomic_file *atomic_file_open(const char *path);

// Adds the bytes. After an error it does nothing; atomic_file_close() returns it.
void atomic_file_write(struct atomic_file *file, const void *mem, size_t len);

// Puts the file in its place, or with `keep` false leaves what was there before; frees `file`. Returns 0, or -1 with errno
// of the first failure since atomic_file_open(): then nothing has changed, but for what is no regular file.
int atomic_file_close(struct atomic_file *file, bool keep) FP_NODISCARD;

#endif
