// How many slots there are: the usable processors, and -j in all its forms.

#ifndef FAIRPAR_SLOTS_SLOTS_H
#define FAIRPAR_SLOTS_SLOTS_H

#include "base/attr.h"

// The processors this process may use: affinity, cut by the cgroup's CPU quota (v2 cpu.max, v1 cfs_quota), at least 1.
unsigned slots_usable_cpus(void);

// The greatest number of slots that makes sense with `nofile` descriptors.
unsigned slots_limit(unsigned long nofile);

// Parses N, +N, -N, N%, 0 (as many as possible: slots_limit(nofile)) or the name of a FILE that holds one of these, as
// GNU parallel's -j. Returns 0, or -1 with *ret_error (caller frees).
int slots_parse(const char *text, unsigned long nofile, unsigned *ret_slots, char **ret_error) FP_NODISCARD;

#endif
