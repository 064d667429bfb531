// Cgroups v2 of jobs, below a cgroup that belongs to fairpar: the kernel enforces a job's memory limit.
//
// All facts are from the kernel's Documentation/admin-guide/cgroup-v2.rst. https://systemd.io/CGROUP_DELEGATION
// says which cgroup a program may use as its own, and that the program itself must move to a leaf before it makes groups there.
//
// A job's process enters the job's group before it executes the program. CLONE_INTO_CGROUP would save the kernel lock that this move
// takes, but this flag needs clone3(2), which no C library offers: the call would have to be written in assembler for each architecture.

#include "process/cgroup.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/units.h"
#include "process/proc.h"
#include "process/proctree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

enum { NAME_BYTES = 64, EMPTY_MS = 1000, MOVES = 10 };

// ---- files ----

// The path of a file of a group, or of the group's directory (file ""): "fairpar-PID-NUMBER[/FILE]". Valid up to the end of the block.
#define group_file(number, file) group_path(number, file, (char[NAME_BYTES]){0})
static const char *group_path(unsigned number, const char *file, char name[static NAME_BYTES]) {
	snprintf(name, NAME_BYTES, "fairpar-%ld-%u%s%s", (long)getpid(), number, *file ? "/" : "", file);
	return name;
}

// Opens a file of a cgroup for writing. Only tests need O_CREAT, as they use plain directories: in a cgroup the kernel makes the files.
static int control_open(const struct cgroup_root *root, const char *path) {
	return openat(root->fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

// Writes the text to a file of the group. Returns 0, or -1 with errno.
static int control_write(const struct cgroup_root *root, const char *path, const char *text) {
	FP_CLEANUP(fd_close) int fd = control_open(root, path);
	return fd >= 0 ? write_all(fd, text, strlen(text)) : -1;
}

// Reads a file of a job's group into `text`, whose content it replaces. Returns the text, "" if there is no such file.
static const char *group_read(const struct cgroup_root *root, unsigned number, const char *file, struct buf *text) {
	buf_reset(text);
	if (proc_read(root->fd, group_file(number, file), text) != 0) {
		buf_reset(text);
	}
	return buf_str(text);
}

static bool control_has(const struct cgroup_root *root, const char *path, const char *word) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	if (proc_read(root->fd, path, &text) != 0) {
		return false;
	}
	text.data[strcspn(text.data, "\n")] = '\0'; // the file has one line
	return word_is_in(text.data, word, strlen(word));
}

// ---- the leaf: the group to which this process moves ----

// Returns whether the group holds only this process and its descendants. Processes of other pid namespaces show as pid 0.
static bool holds_ours_alone(const struct cgroup_root *root) {
	FP_CLEANUP(proctree_fini) struct proctree ours = PROCTREE_INIT, there = PROCTREE_INIT;
	proctree_add_tree(&ours, getpid());
	bool alone = proctree_add_file(&there, root->fd, "cgroup.procs") == 0;
	for (size_t i = 0; i < there.n; ++i) {
		alone = alone && proctree_has(&ours, there.pids[i]);
	}
	return alone;
}

// Moves the processes from one cgroup.procs to another, up to the first that cannot be moved.
static void move_all(const struct cgroup_root *root, const char *from, const char *to) {
	FP_CLEANUP(proctree_fini) struct proctree there = PROCTREE_INIT;
	bool moves = proctree_add_file(&there, root->fd, from) == 0;
	for (size_t i = 0; moves && i < there.n; ++i) {
		char text[24];
		snprintf(text, sizeof(text), "%ld", (long)there.pids[i]);
		moves = control_write(root, to, text) == 0 || errno == ESRCH;
	}
}

static void move_from_leaf(struct cgroup_root *root) {
	move_all(root, group_file(0, "cgroup.procs"), "cgroup.procs");
	unlinkat(root->fd, group_file(0, ""), AT_REMOVEDIR); // fails if a process is still in the leaf: then the leaf stays
}

// The kernel enables no controllers below a group that has processes of its own ("no internal process constraint"). So this moves the
// group's processes, which are ours, to a group below it (a leaf), and then enables the controller. Returns 0, or -1 with errno.
static int move_to_leaf(struct cgroup_root *root) {
	if (mkdirat(root->fd, group_file(0, ""), 0755) != 0) {
		return -1;
	}
	// several tries, as processes may start new ones in the group while they are moved
	for (unsigned i = 0; i < MOVES && holds_ours_alone(root); ++i) {
		move_all(root, "cgroup.procs", group_file(0, "cgroup.procs"));
		if (control_write(root, "cgroup.subtree_control", "+memory") == 0) {
			root->in_leaf = true;
			return 0;
		}
	}
	FP_KEEP_ERRNO;
	move_from_leaf(root);
	return -1;
}

// ---- the root: the group below which the jobs' groups are made ----

// Removes the groups that killed fairpars have left, unless processes are still in them. If a job in such a group was a fairpar that
// was killed, too, its groups are inside, and are removed first.
static void remove_leftovers(int dir_fd, const char *path) {
	int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		fd_close(&fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		char *end = entry->d_name;
		long pid = strncmp(end, "fairpar-", 8) == 0 ? strtol(entry->d_name + 8, &end, 10) : 0;
		if (pid > 0 && *end == '-' && kill((pid_t)pid, 0) != 0 && errno == ESRCH
		    && unlinkat(fd, entry->d_name, AT_REMOVEDIR) != 0) { // there are processes in it, or groups below it
			remove_leftovers(fd, entry->d_name);
			unlinkat(fd, entry->d_name, AT_REMOVEDIR);
		}
	}
	closedir(dir);
}

// Enables the memory controller for the groups below `root`. `is_own`: this process was started in the group `root`, which other programs may use,
// too: a foreign process in it is then a failure (as in the machine's root cgroup). Returns NULL, or the reason for a failure.
static const char *enable(struct cgroup_root *root, bool is_own) {
	if (!control_has(root, "cgroup.controllers", "memory")) {
		return "it has no memory controller";
	}
	bool enabled = control_has(root, "cgroup.subtree_control", "memory");
	if ((is_own || !enabled) && !holds_ours_alone(root)) {
		return "there are processes in it";
	}
	if (enabled || control_write(root, "cgroup.subtree_control", "+memory") == 0 || (errno == EBUSY && move_to_leaf(root) == 0)) {
		return NULL;
	}
	return errno == EBUSY ? "there are processes in it" : strerror(errno);
}

const char *cgroup_root_open(struct cgroup_root *root, const char *path, const char *below) {
	*root = (struct cgroup_root){.fd = -1};
	char *own = path ? NULL : cgroup_find_dir(below, /* controller */ NULL);
	if (!path && !own) {
		return "there is no cgroup v2";
	}
	root->fd = open(path ? path : own, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(own);
	bool is_ours = root->fd >= 0 && faccessat(root->fd, ".", W_OK, AT_EACCESS) == 0;
	const char *cause = is_ours ? enable(root, /* is_own */ !path) : strerror(errno);
	if (cause) {
		fd_close(&root->fd);
		return cause;
	}
	remove_leftovers(root->fd, ".");
	return NULL;
}

void cgroup_root_close(struct cgroup_root *root) {
	if (root->in_leaf) {
		control_write(root, "cgroup.subtree_control", "-memory");
		move_from_leaf(root);
	}
	fd_close(&root->fd);
}

// ---- the group of one job ----

static void remove_empty(const struct cgroup_root *root, const struct cgroup *group) {
	unlinkat(root->fd, group_file(group->number, ""), AT_REMOVEDIR);
}

int cgroup_create(struct cgroup_root *root, uint64_t limit, struct cgroup *ret_group) {
	struct cgroup group = CGROUP_NONE;
	char text[24];
	int made;
	do {
		group.number = atomic_add_relaxed(&root->made, 1) + 1;
		made = mkdirat(root->fd, group_file(group.number, ""), 0755);
		// a fairpar of the same pid in another pid namespace may have left a group of this name
	} while (made != 0 && errno == EEXIST && group.number < 1U << 20);
	if (made != 0) {
		return -1;
	}
	snprintf(text, sizeof(text), "%" PRIu64, limit);
	if (control_write(root, group_file(group.number, "memory.max"), text) != 0
	    || (group.procs_fd = control_open(root, group_file(group.number, "cgroup.procs"))) < 0) {
		FP_KEEP_ERRNO;
		remove_empty(root, &group);
		return -1;
	}
	// failures do not matter: not every kernel has these files
	control_write(root, group_file(group.number, "memory.swap.max"), "0");
	control_write(root, group_file(group.number, "memory.oom.group"), "1");
	*ret_group = group;
	return 0;
}

bool cgroup_ran_out(const struct cgroup_root *root, const struct cgroup *group) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	uint64_t n = 0;
	return proc_find_number(group_read(root, group->number, "memory.events", &text), "oom_kill", &n) && n > 0;
}

uint64_t cgroup_peak(const struct cgroup_root *root, const struct cgroup *group) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	uint64_t peak = strtoull(group_read(root, group->number, "memory.peak", &text), NULL, 10);
	uint64_t file, shmem; // the kernel counts shared memory (`shmem`) in `file`, too, but cannot just drop it
	const char *stat = group_read(root, group->number, "memory.stat", &text);
	bool known = proc_find_number(stat, "file", &file) && proc_find_number(stat, "shmem", &shmem);
	uint64_t cache = known && file > shmem ? file - shmem : 0;
	return peak > cache ? peak - cache : 0;
}

// Waits until the group is empty: "populated 0" in cgroup.events. Once that file was read, poll() reports its changes as POLLPRI.
static void wait_empty(const struct cgroup_root *root, const struct cgroup *group) {
	char text[256];
	FP_CLEANUP(fd_close) int fd = openat(root->fd, group_file(group->number, "cgroup.events"), O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return;
	}
	uint64_t until = now_ns() + (uint64_t)EMPTY_MS * NS_PER_MS;
	while (now_ns() < until) {
		ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = '\0';
		if (n <= 0 || !strstr(text, "populated 1")) {
			break;
		}
		struct pollfd change = {.fd = fd, .events = POLLPRI};
		poll(&change, 1, poll_ms(until));
	}
}

void cgroup_kill(const struct cgroup_root *root, struct cgroup *group) {
	fd_close(&group->procs_fd);
	if (unlinkat(root->fd, group_file(group->number, ""), AT_REMOVEDIR) != 0 && errno == EBUSY
	    && control_write(root, group_file(group->number, "cgroup.kill"), "1") == 0) {
		wait_empty(root, group);
		remove_empty(root, group);
	}
	group->number = 0;
}
