// Cgroups v2 of jobs, below a cgroup that belongs to fairpar: the kernel enforces a job's memory limit.

#pragma once

#include "base/atomic.h"
#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

// The group below which the jobs' groups are made.
struct cgroup_root {
	int fd;            // O_PATH descriptor of the group's directory, or -1
	bool in_leaf;      // this process has moved to a child group (a leaf), as a group with processes in it cannot enable the memory controller
	atomic_uint made;  // the NUMBER in the name of the last group that was made; it counts up, so that each name is used once
};

// The group of one job.
struct cgroup {
	unsigned number; // the NUMBER in the group's name, fairpar-PID-NUMBER; 0: there is no group
	int procs_fd;    // the group's cgroup.procs, open until the child has started: the child writes "0" there to enter the group; or -1
};

#define CGROUP_NONE {.number = 0, .procs_fd = -1}

// Opens the group `path`, or this process's own (NULL), and enables the memory controller below it. The group must hold no process
// but this one and its descendants. Removes the empty groups that killed fairpars have left there. `below` is put in front of the
// paths where this process's own group is looked for; it is "" except in tests. Returns NULL, with a root for cgroup_root_close();
// or the reason for the failure, a text that is valid until the next strerror(), with root->fd -1.
const char *cgroup_root_open(struct cgroup_root *root, const char *path, const char *below) FP_NODISCARD;

// Moves this process back into the group, if cgroup_root_open() moved it to a leaf, and closes the descriptor. Does nothing with a
// root that is not open.
void cgroup_root_close(struct cgroup_root *root);

// Makes a group with a memory limit of `limit` bytes. Returns 0 with a group for cgroup_kill(), or -1 with errno and no group made.
int cgroup_create(struct cgroup_root *root, uint64_t limit, struct cgroup *ret_group) FP_NODISCARD;

// True if the kernel has killed a process of the group for want of memory.
bool cgroup_ran_out(const struct cgroup_root *root, const struct cgroup *group);

// Returns the peak of the group's memory in bytes (memory.peak, since Linux 5.19) minus the file cache that the group has now, as the
// kernel may reclaim this cache at any time; 0: not known. The peak may still include the cache of files that were removed since.
uint64_t cgroup_peak(const struct cgroup_root *root, const struct cgroup *group);

// Kills the processes that the job has left in the group, waits for their end for at most a second, and removes the group. A group
// that cannot be removed stays.
void cgroup_kill(const struct cgroup_root *root, struct cgroup *group);
