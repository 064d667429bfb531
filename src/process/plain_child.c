// A child that keeps what the caller has: process group, terminal and all descriptors.

#include "process/plain_child.h"

#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STOP_MS = 100 };

// Starts the guardian before the child, so that the child is never without one. Returns the child's entry in the table. (A
// parent-death signal would also end a process that has called setsid(2).)
static atomic_int *start_guardian(struct guardian *guardian, const char *cookie) {
	guardian_init(guardian);
	struct group_table *table = guardian->table;
	snprintf(table->cookie, sizeof(table->cookie), "%s", cookie);
	atomic_store_relaxed(&table->session, getsid(0));
	atomic_store_release(&table->used, 1); // pairs with the acquire in group_table_kill()
	guardian_start(guardian);
	return &table->targets[0];
}

int plain_child_start(const char *path, char *const *argv, const struct context *context, const char *cookie,
                      struct plain_child *ret_child, struct spawn_error *ret_error) {
	struct spawn_config config = {
		.path = path,
		.argv = argv,
		.env = context->env,
		.context = context,
		.stdio = {-1, -1, -1},
		.cgroup_fd = -1,
		.listed = start_guardian(&ret_child->guardian, cookie),
	};
	ret_child->pid = spawn_program(&config, /* starter */ NULL, &ret_child->pidfd, ret_error);
	if (ret_child->pid <= 0) {
		guardian_fini(&ret_child->guardian);
	}
	return ret_child->pid > 0 ? 0 : -1;
}

int plain_child_wait(struct plain_child *child, int *ret_signal) {
	int status = 0;
	atomic_store_release(&child->guardian.table->targets[0], 0); // before another process can get the pid
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
	}
	fd_close(&child->pidfd);
	guardian_fini(&child->guardian); // processes that the child has left behind live on
	*ret_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return WEXITSTATUS(status);
}

void plain_child_await_stop(const struct plain_child *child) {
	sigset_t ends, mask;
	uint64_t now, until = now_ns() + (uint64_t)STOP_MS * NS_PER_MS;
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	verify(pthread_sigmask(SIG_BLOCK, &ends, &mask) == 0);
	siginfo_t info = {.si_pid = 0};
	while (waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0
	       && (now = now_ns()) < until) {
		struct timespec left = {.tv_nsec = (long)(until - now)};
		(void)sigtimedwait(&ends, NULL, &left);
	}
	verify(pthread_sigmask(SIG_SETMASK, &mask, NULL) == 0);
}
