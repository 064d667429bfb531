// Files without a name: temporary ones, and memory that processes share.

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stddef.h>

// Opens a file in `dir` that has no name and that nobody else can open (O_TMPFILE, else mkstemp and unlink), 0600,
// close-on-exec, read-write. Returns the descriptor, or -1 with errno.
int tmpfile_open(const char *dir) FP_NODISCARD;

// As tmpfile_open(), but in memory; the file is in `dir` only if memfd_create(2) is refused. `name` is shown in /proc/PID/fd.
int tmpfile_open_in_memory(const char *name, const char *dir) FP_NODISCARD;

// Appends a name by which this process and others can open the file as long as this process has the descriptor open.
void tmpfile_add_name(struct buf *buf, int fd);

// Returns $TMPDIR if it is set and not empty (and the process is not set-id), else `fallback`. Borrowed.
const char *tmpfile_dir(const char *fallback);

// ---- memory that one process makes and others map ----

// Makes a file in memory of `size` zero bytes. `name` is shown in /proc/PID/fd. Returns its descriptor, which is
// close-on-exec and the caller's, or -1 with errno.
int shared_memory_create(const char *name, size_t size) FP_NODISCARD;

// Maps the first `size` bytes for reading and writing, until munmap(2). Returns their address, or NULL with errno.
void *shared_memory_map(int fd, size_t size) FP_NODISCARD;
