// Finds the descendants of a process in /proc, as a signal to the process group of a job does not reach all of them.

#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proctree {
	pid_t *pids;
	size_t n, cap;
};

#define PROCTREE_INIT {NULL, 0, 0}

// Frees the list, and makes it empty.
void proctree_fini(struct proctree *tree);

// Appends the children of the process, zombies included. If processes start or end meanwhile, some may be missing.
void proctree_add_children(struct proctree *tree, pid_t pid);

// Appends the process itself and all its descendants, each behind its parent.
void proctree_add_tree(struct proctree *tree, pid_t root);

// Appends the pids that a file lists, such as cgroup.procs; `path` is relative to `dir_fd`. Returns 0, or -1 with errno.
int proctree_add_file(struct proctree *tree, int dir_fd, const char *path) FP_NODISCARD;

// Appends two numbers, as kill(2) takes them, for each process that runs (a zombie does not): its pid, and the negative number of
// its group. Appends nothing if /proc cannot be read.
void proctree_add_living(struct proctree *tree);

// Returns whether the process group of the caller is orphaned (POSIX, 3.264), so that SIGTSTP stops nothing in it; false if that
// cannot be known.
bool proctree_group_is_orphaned(void);

// Returns whether the pid is in the list.
bool proctree_has(const struct proctree *tree, pid_t pid);

// Returns the bytes of private memory of the process (unless `below`) and its descendants: pages of files and shared pages do not count.
uint64_t proctree_memory(pid_t root, bool below);

// Returns when the process started, in ticks since boot: start and pid together tell a process from all others. 0: no such process runs.
unsigned long long proctree_start_time(pid_t pid);

// Returns the parent of the process, or 0; *ret_start: when the process has started, in ns of CLOCK_BOOTTIME, cut to ticks.
pid_t proctree_parent(pid_t pid, uint64_t *ret_start);

// Returns what the variable was set to when the process was started, for the caller to free; or NULL: it was not set, or cannot be read.
char *proctree_variable(pid_t pid, const char *name);

// A process that is signalled by its pidfd, which never means another process; or, if the kernel refuses pidfds (-1), by its pid,
// as long as the process with that pid still has this start time.
struct pidfd_entry {
	pid_t pid;
	int pidfd;
	unsigned long long start;
};

struct pidfd_set {
	struct pidfd_entry *list;
	size_t n, cap;
};

#define PIDFD_SET_INIT {NULL, 0, 0}

// Closes the descriptors, and makes the set empty.
void pidfd_set_fini(struct pidfd_set *set);

// Adds the descendants of `root`, the leader of its process group, that are in another group (setsid, daemons).
void pidfd_set_add_outside_group(struct pidfd_set *set, pid_t root);

enum { SESSION_ANY = -1 }; // 0 is a session, too: one whose leader is outside of this PID namespace (getsid(2) in a container)

// Adds the process and its descendants, but not those in another session than `session`.
void pidfd_set_add_tree(struct pidfd_set *set, pid_t root, pid_t session);

// Sends the signal to the processes of the set that still exist.
void pidfd_set_signal(const struct pidfd_set *set, int signal);

// Returns a process of the set that still runs (a zombie does not); or NULL.
const struct pidfd_entry *pidfd_set_running(const struct pidfd_set *set);

// Describes processes whose pids are not known: their environment has the variable `cookie` ("NAME=VALUE"; "" finds no process), and their
// session is `session`, or any session if that is SESSION_ANY. Only processes of this user are found, and never the caller. Processes that
// have left their group and lost their parents are found, too; processes that were started with another environment are not.
struct marked {
	const char *cookie;
	pid_t session;
};

// Sends the signal (0: none) to all processes that `marked` describes. Returns how many there were, without zombies.
size_t proctree_signal_marked(const struct marked *marked, int signal);

// Sends SIGKILL to all processes that `marked` describes, until none is left, but not for longer than `most_ms`.
void proctree_kill_marked(const struct marked *marked, unsigned most_ms);

// Returns a pidfd of an orphan (perhaps a zombie) that has become a child of this process, the subreaper, and that is in the process group
// `group` without being its leader; or -1 if there is no such orphan. The leader must not have been reaped. The caller closes the pidfd.
int proctree_open_orphan(pid_t group);

// True if the threads of this process alone reach the user's limit of processes (RLIMIT_NPROC): then no process can be started,
// even when others end.
bool proctree_fills_limit(void);

// Calls pidfd_open(2), for which older C libraries have no function.
int pidfd_open_pid(pid_t pid);

// ---- how busy processes are, from one sample to the next ----

enum { ACTIVITY_PROCESSES = 64 }; // the most trees of processes in a sample

// The last sample. It is {0} before the first one, and is set to {0} to begin anew.
struct activity {
	pid_t pids[ACTIVITY_PROCESSES];     // the root of each tree
	uint64_t ticks[ACTIVITY_PROCESSES]; // processor time that each tree had used
	size_t n;                // trees
	uint64_t at;             // when the sample was taken (now_ns() time)
};

// Samples the trees of `n` (at most ACTIVITY_PROCESSES) processes, each with its descendants, at time `now` (now_ns()). Makes a few
// system calls for each process. Returns how many processes run, could run, or wait for a disk (proc(5): R, D). A tree with threads
// counts as the number of processors that it has used since the last sample, if it was in that sample and this number is larger.
// Sets *ret_alive to the number of trees that still have a living process.
double activity_sample(struct activity *activity, const pid_t *pids, size_t n, uint64_t now, unsigned *ret_alive);
