// The guardian: a process that ends the jobs of a fairpar that was killed.

#include "process/guardian.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/temp_file.h"
#include "process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { GRACE_MS = 300, GONE_MS = 2000, MOST_REVIVALS = 100 };
enum { OWN_FDS = 2, ALL_FDS = OWN_FDS + GUARDIAN_FDS };  // descriptors: the pipe, the table and kept_fds, which the guardian has as 3, 4 and so on

// The offset in the table's file at which the paths of guardian_set_path() begin, one for each entry. The paths are not mapped, so they
// take no address space, and no memory before they are written.
enum { PATHS_AT = (sizeof(struct group_table) + 4095) / 4096 * 4096 };

static off_t path_offset(unsigned entry) {
	return PATHS_AT + (off_t)entry * PATH_MAX;
}

// ---- the table of running groups ----

static struct group_table *table_map(int fd) {
	if (fd >= 0) {
		return shared_memory_map(fd, sizeof(struct group_table));
	}
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *table = mmap(NULL, sizeof(struct group_table), PROT_READ | PROT_WRITE, flags, -1, 0);
	return table == MAP_FAILED ? NULL : table;
}

void group_table_kill(struct group_table *table, int signal) {
	// acquire: pairs with the release in children_reserve()
	unsigned used = atomic_load_acquire(&table->used);
	for (unsigned i = 0; i < used && i < GROUPS_MAX; ++i) {
		int target = atomic_load_acquire(&table->targets[i]);
		int session = target > 0 ? atomic_load_relaxed(&table->session) : SESSION_ANY;
		if (target != 0 && target != -1 && (session == SESSION_ANY || getsid(target) == session)) { // kill(-1) would reach everybody
			kill(target, signal);
		}
	}
}

// ---- in fairpar ----

void guardian_init(struct guardian *guardian) {
	int fd = fault_fails("guardian") ? -1 : shared_memory_create("fairpar-groups", sizeof(struct group_table));
	*guardian = (struct guardian){.table_fd = fd, .pipe_fd = -1};
	guardian->table = table_map(guardian->table_fd);
	if (!guardian->table && guardian->table_fd >= 0) {
		fd_close(&guardian->table_fd);
		guardian->table = table_map(-1);
	}
	if (!guardian->table) {
		diag_die("out of memory: cannot map the table of running jobs");
	}
	atomic_store_relaxed(&guardian->table->session, SESSION_ANY);
	if (guardian->table_fd < 0) {
		atomic_store_relaxed(&guardian->is_tried, true);
	}
}

void guardian_forgo(struct guardian *guardian) {
	atomic_store_relaxed(&guardian->is_tried, true);
	fd_close(&guardian->table_fd);
}

void guardian_unlink_if_killed(struct guardian *guardian, const char *path) {
	struct group_table *table = guardian->table;
	snprintf(table->unlink_paths[table->unlink_paths[0][0] != '\0'], sizeof(table->unlink_paths[0]), "%s", path);
}

int guardian_fd(const struct guardian *guardian) {
	return atomic_load_acquire(&guardian->pipe_fd); // pairs with the release in guardian_start()
}

bool guardian_is_wanted(struct guardian *guardian) {
	return !atomic_load_relaxed(&guardian->is_tried);
}

static atomic_int kept_fds[GUARDIAN_FDS] = {-1, -1, -1};

void guardian_keep(enum guardian_fd which, int fd) {
	atomic_store_release(&kept_fds[which], fd); // pairs with the acquire in guardian_start()
}

void guardian_keep_from_now(struct guardian *guardian, enum guardian_fd which, int fd) {
	pid_t pid = atomic_load_acquire(&guardian->pid);
	guardian_keep(which, fd);
	if (pid > 0) {
		kill(pid, SIGKILL);
	}
}

void guardian_start(struct guardian *guardian) {
	int ends[2];
	if (atomic_exchange(&guardian->is_tried, true) || pipe2(ends, O_CLOEXEC) != 0) {
		return;
	}
	int fds[ALL_FDS] = {ends[0], guardian->table_fd};
	for (unsigned i = 0; i < GUARDIAN_FDS; ++i) {
		fds[OWN_FDS + i] = atomic_load_acquire(&kept_fds[i]);
	}
	pid_t pid = daemon_spawn(GUARDIAN_ARG, fds, ALL_FDS, (const char *[]){NULL});
	close(ends[0]);
	if (pid < 0) { // without a guardian the parent-death signal of each job must suffice
		close(ends[1]);
		return;
	}
	atomic_store_release(&guardian->pid, pid);         // pairs with the acquires where the pid is read
	atomic_store_release(&guardian->pipe_fd, ends[1]); // pairs with the acquire in guardian_fd()
}

void guardian_revive(struct guardian *guardian) {
	pid_t pid = atomic_exchange(&guardian->pid, 0);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
	}
	close(atomic_exchange(&guardian->pipe_fd, -1));
	if (++guardian->nrevived <= MOST_REVIVALS) { // if the guardian dies more often than that, somebody kills it on purpose
		atomic_store_relaxed(&guardian->is_tried, false);
		guardian_start(guardian);
	}
}

void guardian_set_path(const struct guardian *guardian, unsigned entry, const char *path) {
	size_t len = path ? strlen(path) : 0;
	struct rlimit limit;
	off_t at = path_offset(entry);
	// beyond RLIMIT_FSIZE there would be a SIGXFSZ instead of an error
	if (guardian->table_fd < 0 || len >= PATH_MAX || getrlimit(RLIMIT_FSIZE, &limit) != 0
	    || limit.rlim_cur < (rlim_t)at + PATH_MAX) {
		return;
	}
	if (pwrite(guardian->table_fd, path ? path : "", len + 1, at) != (ssize_t)len + 1) {
		// memory is short, and the path is cut: an empty path, if it can be written, replaces it, so that no wrong file is unlinked
		(void)!pwrite(guardian->table_fd, "", 1, at);
	}
}

void guardian_fini(struct guardian *guardian) {
	pid_t pid = atomic_load_acquire(&guardian->pid);
	atomic_store_release(&guardian->table->goodbye, 1); // pairs with the acquire in guardian_main()
	int pipe_fd = guardian_fd(guardian);
	fd_close(&pipe_fd);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
	}
	fd_close(&guardian->table_fd);
	munmap(guardian->table, sizeof(struct group_table));
}

// ---- in the guardian ----

// Forgets the groups that have ended, as other groups may soon have their numbers. Returns false if no group is left that runs. A zombie counts
// as ended: its new parent, such as the first process of a container, may reap it late or never, and the guardian does not wait for that.
static bool any_left(struct group_table *table) {
	FP_CLEANUP(proctree_fini) struct proctree living = PROCTREE_INIT; // stays empty if /proc cannot be read
	proctree_add_living(&living);
	bool left = false;
	unsigned used = atomic_load_acquire(&table->used);
	for (unsigned i = 0; i < used && i < GROUPS_MAX; ++i) {
		int target = atomic_load_relaxed(&table->targets[i]);
		if (target != 0 && target != -1 && kill(target, 0) != 0 && errno == ESRCH) {
			atomic_store_relaxed(&table->targets[i], 0);
		} else if (target != 0) {
			left = left || living.n == 0 || proctree_has(&living, target);
		}
	}
	return left;
}

// Appends the paths of the files that jobs are making, a NUL behind each. Called before the groups are ended, as any_left() forgets ended groups.
static void add_created_files(struct buf *paths, const struct group_table *table, int table_fd) {
	unsigned used = atomic_load_acquire(&table->used);
	char path[PATH_MAX];
	for (unsigned i = 0; i < used && i < GROUPS_MAX; ++i) {
		int target = atomic_load_acquire(&table->targets[i]);
		ssize_t len = target ? pread(table_fd, path, sizeof(path), path_offset(i)) : 0;
		if (len > 0 && path[0] == '/' && memchr(path, '\0', (size_t)len)) {
			buf_add(paths, path, strlen(path) + 1);
		}
	}
}

static void end_all(struct group_table *table, int table_fd) {
	FP_CLEANUP(buf_fini) struct buf paths = BUF_INIT;
	const struct marked marked = {.cookie = table->cookie, .session = atomic_load_relaxed(&table->session)};
	FP_CLEANUP(pidfd_set_fini) struct pidfd_set trees = PIDFD_SET_INIT;
	unsigned used = atomic_load_acquire(&table->used);
	// a job without a group of its own gets signals as one process; its descendants must be found now, as long as that process lives
	for (unsigned i = 0; i < used && i < GROUPS_MAX; ++i) {
		int target = atomic_load_acquire(&table->targets[i]);
		if (target > 0) {
			pidfd_set_add_tree(&trees, target, marked.session);
		}
	}
	add_created_files(&paths, table, table_fd);
	const int polite[] = {SIGTERM, SIGCONT}; // SIGCONT, as a stopped job acts on SIGTERM only once it is continued
	for (int i = 0; i < 2; ++i) {
		group_table_kill(table, polite[i]);
		pidfd_set_signal(&trees, polite[i]);
		proctree_signal_marked(&marked, polite[i]);
	}
	// no signal tells that a process which is no child of ours has ended, so this looks again and again, for 300 ms at most
	for (int waited = 0; waited < GRACE_MS && (any_left(table) || pidfd_set_running(&trees) || proctree_signal_marked(&marked, 0) > 0); waited += 10) {
		nanosleep(&(struct timespec){.tv_nsec = 10 * NS_PER_MS}, NULL);
	}
	group_table_kill(table, SIGKILL);
	pidfd_set_signal(&trees, SIGKILL);
	proctree_kill_marked(&marked, GONE_MS);
	for (int waited = 0; waited < GONE_MS && any_left(table); waited += 10) { // processes that are left could still write the files
		nanosleep(&(struct timespec){.tv_nsec = 10 * NS_PER_MS}, NULL);
	}
	for (const char *path = buf_str(&paths), *end = path + paths.len; path < end; path += strlen(path) + 1) {
		struct stat st;
		int error = lstat(path, &st); // nobody is left who could be told of a failure
		if (!error && S_ISREG(st.st_mode)) {
			(void)!unlink(path);
		} else if (!error && S_ISDIR(st.st_mode)) {
			(void)!rmdir(path); // fails unless the directory is empty
		}
	}
}

int guardian_main(int argc, char *argv[], void (*tidy)(const char *path)) {
	if (argc != 2 + ALL_FDS || daemon_isolate(argv + 2, ALL_FDS) != 0) {
		return EXIT_TROUBLE;
	}
	struct group_table *table = table_map(4);
	if (!table) {
		return EXIT_TROUBLE;
	}
	for (int i = 0; tidy && i < 2; ++i) {
		tidy(table->unlink_paths[i]);
	}
	char byte;
	while (read_some(3, &byte, 1) > 0) {
	}
	if (!atomic_load_acquire(&table->goodbye)) { // pairs with the release in guardian_fini()
		end_all(table, 4);
		unsigned n = atomic_load_acquire(&table->tokens.n); // read after the end of all jobs that ran in the slots of these tokens
		(void)!write_all(3 + OWN_FDS + GUARDIAN_TOKENS, table->tokens.bytes, n < TOKENS_MOST ? n : TOKENS_MOST); // nobody is left to be told
		for (int i = 0; i < 2 && table->unlink_paths[i][0]; ++i) {
			(void)!unlink(table->unlink_paths[i]);
		}
	}
	return 0;
}
