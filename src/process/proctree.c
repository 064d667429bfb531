// Finds the descendants of a process in /proc, as a signal to the process group of a job does not reach all of them.

#include "process/proctree.h"

#include "base/alloc.h"
#include "base/io.h"
#include "base/sync.h"
#include "process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { KILL_PAUSE_MS = 5 }; // a killed process needs a moment to be gone

bool proctree_fills_limit(void) {
	struct rlimit limit;
	struct stat threads; // the directory has 2 links, and one for each thread (fs/proc/base.c: proc_task_getattr)
	return getrlimit(RLIMIT_NPROC, &limit) == 0 && stat("/proc/self/task", &threads) == 0
		&& limit.rlim_cur <= threads.st_nlink - 2;
}

int pidfd_open_pid(pid_t pid) {
	return (int)syscall(SYS_pidfd_open, pid, 0U);
}

void proctree_fini(struct proctree *tree) {
	free(tree->pids);
	*tree = (struct proctree)PROCTREE_INIT;
}

static void push(struct proctree *tree, pid_t pid) {
	*NEW_ELEMENT(tree->pids, tree->n, tree->cap) = pid;
}

bool proctree_has(const struct proctree *tree, pid_t pid) {
	size_t i = 0;
	while (i < tree->n && tree->pids[i] != pid) {
		++i;
	}
	return i < tree->n;
}

// Adds the pid unless the list has it: if pids are reused while we read /proc, a process may seem to be its own descendant.
static void proctree_add(struct proctree *tree, pid_t pid) {
	if (!proctree_has(tree, pid)) {
		push(tree, pid);
	}
}

int proctree_add_file(struct proctree *tree, int dir_fd, const char *path) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	int rc = proc_read(dir_fd, path, &text);
	const char *at = rc == 0 ? buf_str(&text) : "";
	char *end;
	for (long pid; pid = strtol(at, &end, 10), end != at; at = end) {
		proctree_add(tree, (pid_t)pid);
	}
	return rc;
}

// Appends the entries of /proc, or of another directory in it, whose names are numbers.
static void add_entries(struct proctree *tree, const char *path) {
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);
		if (*end == '\0' && pid > 0) {
			push(tree, (pid_t)pid);
		}
	}
	if (dir) {
		closedir(dir);
	}
}

// Appends what /proc/PID/task/TID/children lists (proc(5)). Returns -1 with errno if there is no such file.
static int add_children_of_thread(struct proctree *tree, pid_t pid, pid_t tid) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)pid, (long)tid);
	return proctree_add_file(tree, AT_FDCWD, path);
}

// The fields of /proc/PID/stat that follow the name, which may hold anything (proc(5)).
struct stat_fields {
	char state;
	pid_t parent, group;
	unsigned long long cpu;   // processor time in ticks, of the process and the children that it has waited for
	long threads;
	unsigned long long start; // in ticks since boot: with the pid, it tells one process from all others
};

// Appends the file of that name in /proc/PID. Returns false if this process may not read it (proc(5)), or if that process has gone.
static bool read_of(pid_t pid, const char *name, struct buf *text) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	return proc_read(AT_FDCWD, path, text) == 0;
}

// Reads /proc/PID/stat. Returns false if there is no such process.
static bool read_stat(pid_t pid, struct stat_fields *ret_stat) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	const char *name_end = read_of(pid, "stat", &text) ? strrchr(buf_str(&text), ')') : NULL;
	long parent, group;
	unsigned long long used[4];
	bool ok = name_end && sscanf(name_end, ") %c %ld %ld %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %ld %*d %llu",
	                             &ret_stat->state, &parent, &group, &used[0], &used[1], &used[2], &used[3], &ret_stat->threads,
	                             &ret_stat->start) == 9;
	if (ok) {
		ret_stat->parent = (pid_t)parent;
		ret_stat->group = (pid_t)group;
		ret_stat->cpu = used[0] + used[1] + used[2] + used[3];
	}
	return ok;
}

// Returns the parent of the process, or 0.
static pid_t parent_of(pid_t pid) {
	struct stat_fields stat;
	return read_stat(pid, &stat) ? stat.parent : 0;
}

void proctree_add_children(struct proctree *tree, pid_t pid) {
	char path[64];
	FP_CLEANUP(proctree_fini) struct proctree threads = PROCTREE_INIT;
	snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
	add_entries(&threads, path);
	for (size_t i = 0; i < threads.n; ++i) {
		pid_t tid = threads.pids[i];
		// the first thread exists as long as the process: if it has no such file, the kernel lacks the feature
		if (add_children_of_thread(tree, pid, tid) != 0 && tid == pid && errno == ENOENT) {
			FP_CLEANUP(proctree_fini) struct proctree all = PROCTREE_INIT; // a kernel without CONFIG_PROC_CHILDREN: asks all processes for their parent
			add_entries(&all, "/proc");
			for (size_t k = 0; k < all.n; ++k) {
				if (parent_of(all.pids[k]) == pid) {
					proctree_add(tree, all.pids[k]);
				}
			}
			break;
		}
	}
}

void proctree_add_tree(struct proctree *tree, pid_t root) {
	size_t at = tree->n;
	proctree_add(tree, root);
	for (; at < tree->n; ++at) {
		proctree_add_children(tree, tree->pids[at]);
	}
}

void proctree_add_living(struct proctree *tree) {
	FP_CLEANUP(proctree_fini) struct proctree all = PROCTREE_INIT;
	add_entries(&all, "/proc");
	for (size_t i = 0; i < all.n; ++i) {
		struct stat_fields stat;
		if (read_stat(all.pids[i], &stat) && !strchr("ZXx", stat.state)) {
			push(tree, all.pids[i]);
			push(tree, -stat.group);
		}
	}
}

bool proctree_group_is_orphaned(void) {
	FP_CLEANUP(proctree_fini) struct proctree all = PROCTREE_INIT;
	pid_t group = getpgrp(), session = getsid(0);
	add_entries(&all, "/proc");
	bool orphaned = all.n > 0;
	for (size_t i = 0; orphaned && i < all.n; ++i) {
		struct stat_fields stat;
		if (getpgid(all.pids[i]) == group && all.pids[i] != 1 && read_stat(all.pids[i], &stat) && stat.state != 'Z') {
			// parent 0: a process outside of this PID namespace, perhaps a shell. Process 1 as a member is skipped: its parent is always 0
			orphaned = stat.parent != 0 && (getsid(stat.parent) != session || getpgid(stat.parent) == group);
		}
	}
	return orphaned;
}

uint64_t proctree_memory(pid_t root, bool below) {
	FP_CLEANUP(proctree_fini) struct proctree tree = PROCTREE_INIT;
	uint64_t pages = 0;
	proctree_add_tree(&tree, root);
	for (size_t i = below ? 1 : 0; i < tree.n; ++i) {
		FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
		unsigned long long size, resident, shared; // statm of proc(5), in pages
		if (read_of(tree.pids[i], "statm", &text)
		    && sscanf(buf_str(&text), "%llu %llu %llu", &size, &resident, &shared) == 3 && resident > shared) {
			pages += resident - shared;
		}
	}
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

// ---- signals to single processes ----

void pidfd_set_fini(struct pidfd_set *set) {
	for (size_t i = 0; i < set->n; ++i) {
		fd_close(&set->list[i].pidfd);
	}
	free(set->list);
	*set = (struct pidfd_set)PIDFD_SET_INIT;
}

unsigned long long proctree_start_time(pid_t pid) {
	struct stat_fields stat;
	return read_stat(pid, &stat) && stat.state != 'Z' ? stat.start : 0;
}

pid_t proctree_parent(pid_t pid, uint64_t *ret_start) {
	struct stat_fields stat = {.start = 0};
	pid_t parent = read_stat(pid, &stat) ? stat.parent : 0;
	*ret_start = stat.start * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	return parent;
}

// Adds the process, if `is_meant` is true for its pid after the pidfd was opened: until then the pid may become another process's.
static void pidfd_set_add(struct pidfd_set *set, pid_t pid, bool (*is_meant)(pid_t pid, const void *arg), const void *arg) {
	for (size_t i = 0; i < set->n; ++i) {
		if (set->list[i].pid == pid) {
			return;
		}
	}
	struct pidfd_entry one = {.pid = pid, .pidfd = pidfd_open_pid(pid)};
	struct stat_fields stat;
	bool held = (one.pidfd >= 0 || call_is_refused(errno)) && read_stat(pid, &stat);
	if (!held || !is_meant(pid, arg)) {
		fd_close(&one.pidfd);
		return;
	}
	one.start = stat.start;
	*NEW_ELEMENT(set->list, set->n, set->cap) = one;
}

static bool is_child_of(pid_t pid, const void *parent) {
	return parent_of(pid) == *(const pid_t *)parent;
}

void pidfd_set_add_outside_group(struct pidfd_set *set, pid_t root) {
	FP_CLEANUP(proctree_fini) struct proctree tree = PROCTREE_INIT;
	proctree_add(&tree, root);
	for (size_t i = 0; i < tree.n; ++i) {
		pid_t parent = tree.pids[i];
		size_t child = tree.n;
		proctree_add_children(&tree, parent);
		for (; child < tree.n; ++child) {
			if (getpgid(tree.pids[child]) != root) {
				pidfd_set_add(set, tree.pids[child], is_child_of, &parent);
			}
		}
	}
}

static bool is_in_session(pid_t pid, const void *session) {
	pid_t wanted = *(const pid_t *)session;
	return wanted == SESSION_ANY || getsid(pid) == wanted;
}

void pidfd_set_add_tree(struct pidfd_set *set, pid_t root, pid_t session) {
	FP_CLEANUP(proctree_fini) struct proctree tree = PROCTREE_INIT;
	proctree_add_tree(&tree, root);
	for (size_t i = 0; i < tree.n; ++i) {
		pidfd_set_add(set, tree.pids[i], is_in_session, &session);
	}
}

const struct pidfd_entry *pidfd_set_running(const struct pidfd_set *set) {
	for (size_t i = 0; i < set->n; ++i) {
		if (proctree_start_time(set->list[i].pid) == set->list[i].start) {
			return &set->list[i];
		}
	}
	return NULL;
}

void pidfd_set_signal(const struct pidfd_set *set, int signal) {
	for (size_t i = 0; i < set->n; ++i) {
		const struct pidfd_entry *one = &set->list[i];
		struct stat_fields stat;
		if (one->pidfd >= 0 && (syscall(SYS_pidfd_send_signal, one->pidfd, signal, NULL, 0U) == 0 || errno == ESRCH)) {
			continue;
		}
		// a sandbox may refuse pidfds: then the signal goes to the pid
		if (one->pidfd >= 0 || (read_stat(one->pid, &stat) && stat.start == one->start)) {
			kill(one->pid, signal);
		}
	}
}

static bool is_marked(pid_t pid, const void *arg) {
	const struct marked *marked = arg;
	FP_CLEANUP(buf_fini) struct buf environment = BUF_INIT;
	return is_in_session(pid, &marked->session) && read_of(pid, "environ", &environment)
		&& memmem(buf_str(&environment), environment.len, marked->cookie, strlen(marked->cookie) + 1);
}

char *proctree_variable(pid_t pid, const char *name) {
	FP_CLEANUP(buf_fini) struct buf environment = BUF_INIT;
	size_t len = strlen(name);
	if (!read_of(pid, "environ", &environment)) {
		return NULL;
	}
	const char *at = buf_str(&environment), *end = at + environment.len;
	while (at < end && (strncmp(at, name, len) != 0 || at[len] != '=')) {
		at += strlen(at) + 1;
	}
	return at < end ? xstrdup(at + len + 1) : NULL;
}

size_t proctree_signal_marked(const struct marked *marked, int signal) {
	FP_CLEANUP(pidfd_set_fini) struct pidfd_set found = PIDFD_SET_INIT;
	FP_CLEANUP(proctree_fini) struct proctree all = PROCTREE_INIT;
	if (marked->cookie[0] != '\0') {
		add_entries(&all, "/proc");
	}
	for (size_t i = 0; i < all.n; ++i) {
		if (all.pids[i] != getpid() && is_marked(all.pids[i], marked)) {
			pidfd_set_add(&found, all.pids[i], is_marked, marked);
		}
	}
	pidfd_set_signal(&found, signal);
	return found.n;
}

void proctree_kill_marked(const struct marked *marked, unsigned most_ms) {
	for (unsigned waited = 0; proctree_signal_marked(marked, SIGKILL) > 0 && waited < most_ms; waited += KILL_PAUSE_MS) {
		nanosleep(&(struct timespec){.tv_nsec = KILL_PAUSE_MS * 1000000L}, NULL);
	}
}

int proctree_open_orphan(pid_t group) {
	FP_CLEANUP(proctree_fini) struct proctree orphans = PROCTREE_INIT;
	int pidfd = -1;
	// orphans go to the first living thread of the subreaper (find_new_reaper() in the kernel's exit.c): the main one
	(void)add_children_of_thread(&orphans, getpid(), getpid());
	for (size_t i = 0; i < orphans.n && pidfd < 0; ++i) {
		if (orphans.pids[i] == group || getpgid(orphans.pids[i]) != group) {
			continue;
		}
		pidfd = pidfd_open_pid(orphans.pids[i]);
		// the group is checked again, as the pid may have become another process's before the descriptor was opened
		if (pidfd >= 0 && getpgid(orphans.pids[i]) != group) {
			fd_close(&pidfd);
		}
	}
	return pidfd;
}

// ---- how busy processes are ----

double activity_sample(struct activity *activity, const pid_t *pids, size_t n, uint64_t now, unsigned *ret_alive) {
	struct activity sample = {.n = n, .at = now};
	double busy = 0;
	*ret_alive = 0;
	for (size_t i = 0; i < n; ++i) {
		FP_CLEANUP(proctree_fini) struct proctree tree = PROCTREE_INIT;
		struct stat_fields stat;
		unsigned alive = 0, busy_here = 0;
		bool has_threads = false;
		proctree_add_tree(&tree, pids[i]);
		for (size_t j = 0; j < tree.n; ++j) {
			if (read_stat(tree.pids[j], &stat) && !strchr("ZXx", stat.state)) {
				++alive;
				busy_here += stat.state == 'R' || stat.state == 'D';
				has_threads |= stat.threads > 1;
				sample.ticks[i] += stat.cpu;
			}
		}
		sample.pids[i] = pids[i];
		double used = 0, seconds = (double)(now - activity->at) / 1e9; // `used`: processors that a tree with threads has used
		for (size_t k = 0; k < activity->n && has_threads && seconds > 0; ++k) {
			if (activity->pids[k] == pids[i] && sample.ticks[i] >= activity->ticks[k]) {
				used = (double)(sample.ticks[i] - activity->ticks[k]) / (double)sysconf(_SC_CLK_TCK) / seconds;
			}
		}
		*ret_alive += alive > 0;
		busy += used > busy_here ? used : busy_here;
	}
	*activity = sample;
	return busy;
}
