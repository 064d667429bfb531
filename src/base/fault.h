// Faults on demand, so that tests reach the paths that a healthy machine never takes.
//
// FAIRPAR_FAULT=NAME:N:ERRNO[,…] makes the Nth call at the point called NAME fail with ERRNO (a name such as EAGAIN);
// NAME:N+:ERRNO makes the Nth and all later calls fail. Compiled in with -DFAIRPAR_FAULTS only (make debug and the
// sanitizer builds); elsewhere fault_errno() is the constant 0.

#pragma once

#include <stdbool.h>

#ifdef FAIRPAR_FAULTS
// Returns the errno with which this call is to fail, or 0. Any thread may call it.
int fault_errno(const char *name);
// Returns true, with errno set, if this call is to fail.
bool fault_fails(const char *name);
#else
#define fault_errno(name) 0
#define fault_fails(name) false
#endif
