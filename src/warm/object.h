// The shared object of server.c, as bytes: see Makefile. Empty where it cannot be had: another C library, a static build.

#ifndef FAIRPAR_WARM_OBJECT_H
#define FAIRPAR_WARM_OBJECT_H

#include "base/attr.h"

#include <stddef.h>

extern const char server_so[];
extern const size_t server_so_size;

// Puts it into a file in memory that nobody can change. Returns a descriptor for the caller to close, or -1 with errno.
int object_open(void) FP_NODISCARD;

#endif
