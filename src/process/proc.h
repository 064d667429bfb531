// Reads whole files of /proc and of cgroups, finds numbers in them, and finds the directories of this process's cgroups.

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Returns what is put in front of /proc and of the mount points found there: "", or, in a build that takes FAIRPAR_FAULT, $FAIRPAR_ROOT.
const char *proc_root(void);

// Appends the content of a file; `path` is relative to `dir_fd`. Returns 0, or -1 with errno; what was read before the error stays in `buf`.
int proc_read(int dir_fd, const char *path, struct buf *buf) FP_NODISCARD;

// As proc_read(), for the file whose path is `dir` and `path` put together.
int proc_read_joined(const char *dir, const char *path, struct buf *buf) FP_NODISCARD;

// Reads the file of proc_read_joined() into *text, which is overwritten: the caller calls buf_fini(). Returns
// the text, within *text and writable; "" if the file cannot be read.
char *proc_read_below(const char *dir, const char *path, struct buf *text);

// Gets the number N in the line "NAME N" of `text`, the text of a file of /proc or of a cgroup. Returns false if there is no such line.
bool proc_find_number(const char *text, const char *name, uint64_t *ret_value) FP_NODISCARD;

// Returns the number N in the line "NAME N" of the file whose path is `dir` and `path` put together; if `name` is NULL, the number at
// the start of the file. Returns `other` if there is no such number.
uint64_t proc_number(const char *dir, const char *path, const char *name, uint64_t other);

// Gets the directory of a cgroup, borrowed for the call. `is_own` tells the cgroup that this process is in from those above it.
typedef void cgroup_dir_fn(void *arg, const char *dir, bool is_own);

// For each mount that shows the cgroup of this process, calls fn for the cgroup, and then for each cgroup above it up to the mount point, as the limits
// of these hold for this process, too. If the cgroup is outside of this cgroup namespace, calls fn for the mount point alone. The cgroup is that of
// the v1 controller `controller`, or of v2 if `controller` is NULL. (A hybrid machine has both, and the limits of both hold.) `root` is put in front
// of /proc and of the mount points found there: "" except in tests.
void cgroup_each_dir(const char *root, const char *controller, cgroup_dir_fn *fn, void *arg);

// Returns the first directory for which cgroup_each_dir() calls fn with `is_own`, or NULL. The caller frees the path.
char *cgroup_find_dir(const char *root, const char *controller);
