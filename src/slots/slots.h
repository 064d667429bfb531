// How many slots there are: the usable processors, and -j in all its forms.

#ifndef FAIRPAR_SLOTS_SLOTS_H
#define FAIRPAR_SLOTS_SLOTS_H

#include "base/attr.h"

// The processors this process may use: affinity, cut by the cgroup's CPU quota (v2 cpu.max, v1 cfs_quota), at least 1.
unsigned slots_usable_cpus(void);

// The processors that the CPU quotas of this process's cgroups are worth, rounded up, or UINT_MAX where none is set.
// `root` is put before /proc/self and the mount points found there: "" but in tests.
unsigned slots_quota_cpus(const char *root);

// The greatest number of slots that makes sense with `nofile` descriptors, at least 1.
unsigned slots_limit(unsigned long nofile);

// Parses N, +N, -N, N%, 0 (as many as possible: slots_limit(nofile)) or the name of a FILE that holds one of these, as
// GNU parallel's -j. What else comes out may be more than slots_limit(nofile): the caller warns and cuts it.
// Returns 0, or -1 with *ret_error, a whole message (caller frees).
int slots_parse(const char *text, unsigned long nofile, unsigned *ret_slots, char **ret_error) FP_NODISCARD;

#endif
