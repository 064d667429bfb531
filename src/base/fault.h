// Faults on demand, so that tests reach the paths that a healthy machine never takes.
//
// FAIRPAR_FAULT=NAME:N:ERRNO[,…] makes the Nth call at the point called NAME fail with ERRNO (a name such as EAGAIN);
// NAME:N+:ERRNO makes the Nth and all later calls fail. Compiled in with -DFAIRPAR_FAULTS only (make debug and the
// sanitizer builds); elsewhere fault_fails() is the constant false.

#pragma once

#include <stdbool.h>

#ifdef FAIRPAR_FAULTS
// Returns true, with errno set, if this call is to fail. Any thread may call it.
bool fault_fails(const char *name);
#else
#define fault_fails(name) false
#endif
