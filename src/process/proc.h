// Files that the kernel makes: reads them whole, and finds in them a number, or the directories of this process's cgroups.

#ifndef FAIRPAR_PROCESS_PROC_H
#define FAIRPAR_PROCESS_PROC_H

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Appends what a file of /proc or of a cgroup holds; `path` is relative to `dir_fd`. Returns 0, or -1 with errno.
int proc_read(int dir_fd, const char *path, struct buf *buf) FP_NODISCARD;

// Reads the file whose path is `dir` and `path` together. Returns its text, "" if there is none; the caller calls buf_fini().
char *proc_read_below(const char *dir, const char *path, struct buf *text);

// The number in the line "NAME N" of such a file. Returns false if there is none.
bool proc_find_number(const char *text, const char *name, uint64_t *ret_value) FP_NODISCARD;

// Gets a directory in which a cgroup of this process can be looked at; it is borrowed. The first `mount_len` bytes are those
// of its mount, where all that there is to see ends if `is_seen` is false: the cgroup itself is outside of this namespace.
typedef void cgroup_dir_fn(void *arg, const char *dir, size_t mount_len, bool is_seen);

// Calls fn for each directory of this process's cgroup: with `v2` of cgroup v2, and then of that `controller` of v1, unless it is
// NULL: a machine in transition has both versions, and then the limits of both hold. `root` is put before /proc and before the
// mounts that are found there: "" but in tests. No call: there is none.
void cgroup_each_dir(const char *root, bool v2, const char *controller, cgroup_dir_fn *fn, void *arg);

// Calls fn for the directory and for those above it, up to that of the mount: what they limit holds, too.
typedef void cgroup_level_fn(void *arg, const char *dir);
void cgroup_each_level(const char *dir, size_t mount_len, cgroup_level_fn *fn, void *arg);

#endif
