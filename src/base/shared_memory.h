// Memory that processes share: a file without a name, which one process makes and others map.

#ifndef FAIRPAR_BASE_SHARED_MEMORY_H
#define FAIRPAR_BASE_SHARED_MEMORY_H

#include "base/attr.h"

#include <stddef.h>

// Makes a file of `size` bytes of 0, which may grow and never shrinks. `name` is for who looks at the descriptors. Returns its
// descriptor, which closes on exec and is the caller's, or -1 with errno.
int shared_memory_create(const char *name, size_t size) FP_NODISCARD;

// How many bytes of a file from another process can be mapped without fear that they are taken away later (an access would
// then send SIGBUS): its size if it cannot shrink, else 0.
size_t shared_memory_size(int fd);

// Maps the first `size` bytes for reading and writing, until munmap(2). Returns NULL with errno if that is refused.
void *shared_memory_map(int fd, size_t size) FP_NODISCARD;

#endif
