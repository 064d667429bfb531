// A cgroup v2 for each job that has one, below a group that is fairpar's own: the kernel keeps its memory limit, or counts its
// memory.

#ifndef FAIRPAR_PROCESS_CGROUP_H
#define FAIRPAR_PROCESS_CGROUP_H

#include "base/atomic.h"
#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

// The group below which the jobs' groups are made.
struct cgroup_root {
	int fd;            // O_PATH descriptor of its directory, or -1
	bool real;         // on a cgroup2 file system; else a plain directory, as tests have it
	bool in_leaf;      // this process went to a leaf of its own to make room for the memory controller
	atomic_uint made;  // for names that are used once
};

// The group of one job.
struct cgroup {
	unsigned number; // in its name, fairpar-PID-NUMBER; 0: there is none
	int procs_fd;    // cgroup.procs, to write "0" to by who enters it; or -1
};

#define CGROUP_NONE {.number = 0, .procs_fd = -1}

// Opens the group `path`, or this process's own (NULL), and enables the memory controller below it. It must hold no
// process but this one and its descendants. Removes what a killed fairpar has left there. `below` is put before the places
// where the own one is looked for: "" but in tests.
// Returns NULL, or the cause in words (to be used at once) with root->fd -1.
const char *cgroup_root_open(struct cgroup_root *root, const char *path, const char *below) FP_NODISCARD;

// Goes back to where this process was, if it went to a leaf. Nothing happens to one that is not open.
void cgroup_root_close(struct cgroup_root *root);

// Makes a group with a limit of `limit` bytes (0: without one). Returns 0, or -1 with errno and nothing made.
int cgroup_create(struct cgroup_root *root, uint64_t limit, struct cgroup *ret_group) FP_NODISCARD;

// Closes procs_fd, once the job has entered the group.
void cgroup_close(struct cgroup *group);

// True if the kernel has killed a process of the group for want of memory.
bool cgroup_ran_out(const struct cgroup_root *root, const struct cgroup *group);

// Gets the bytes that the group of that number has now, without the cache of files. Returns false if they are not known.
bool cgroup_memory(const struct cgroup_root *root, unsigned number, uint64_t *ret_bytes) FP_NODISCARD;

// Returns the peak of the group's memory in bytes (memory.peak, since Linux 5.19) less the file cache that it has now, which the
// kernel counts but may reclaim at any time; 0: not known. Cache of files that the job has removed cannot be subtracted.
uint64_t cgroup_peak(const struct cgroup_root *root, const struct cgroup *group);

// Removes the group. What the job has left running in it is killed, and waited for a second at most; a group that
// cannot be removed stays.
void cgroup_kill(const struct cgroup_root *root, struct cgroup *group);

// Removes the group. What the job has left running in it goes on, in the leaf that this process may be in.
void cgroup_leave(const struct cgroup_root *root, struct cgroup *group);

// The directory of this process's group in cgroup v2, for the caller to free; or NULL if there is none, or none to be seen.
// `root` as of cgroup_each_dir().
char *cgroup_own_path(const char *root);

#endif
