// Starts the program again as a process that keeps nothing of the caller's.

#include "process/daemon.h"

#include "base/io.h"
#include "process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t daemon_spawn(char *const *argv, const int *keep, unsigned nkeep) {
	struct spawn_config config = {
		.path = "/proc/self/exe", // this very image, also after an upgrade has replaced the file
		.argv = argv,
		.env = (char *[]){NULL},
		.stdio = {-1, -1, -1},
		.cgroup_fd = -1,
		.keep = keep,
		.nkeep = nkeep,
	};
	struct spawn_error error;
	int pidfd;
	pid_t pid = spawn(&config, &pidfd, &error);
	fd_close(&pidfd);
	errno = error.error;
	return pid;
}

int daemon_start(char *const *argv, const int *keep, unsigned nkeep) {
	int status = 0, reaps = 0;
	// a subreaper would be its parent, and end it with the orphans of its jobs
	if (prctl(PR_GET_CHILD_SUBREAPER, &reaps, 0, 0, 0) == 0 && reaps) {
		(void)prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	}
	pid_t pid = daemon_spawn(argv, keep, nkeep);
	int error = errno;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	if (reaps) {
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	}
	errno = pid < 0 ? error : WIFSIGNALED(status) ? ESRCH : EAGAIN; // it was killed; or its fork() has failed
	return pid > 0 && status == 0 ? 0 : -1;
}

int daemon_detach(void) {
	pid_t pid = fork();
	if (pid > 0) {
		_exit(0);
	}
	return pid;
}

int daemon_settle(const int *fds, int n) {
	setsid();
	for (int signal = 1; signal <= SIGRTMAX; ++signal) {
		struct sigaction ignore = {.sa_handler = SIG_IGN};
		sigaction(signal, &ignore, NULL); // refused for KILL and STOP
	}
	int high[DAEMON_FDS_MAX];
	for (int i = 0; i < n; ++i) { // above all of them first, so that none is in the way of another
		high[i] = fds[i] >= 0 ? fcntl(fds[i], F_DUPFD, 3 + n) : -1;
		if (fds[i] >= 0 && high[i] < 0) {
			return -1;
		}
	}
	for (int i = 0; i < n; ++i) {
		if (high[i] >= 0 ? dup2(high[i], 3 + i) < 0 : close(3 + i) != 0 && errno != EBADF) {
			return -1;
		}
	}
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= 2; ++fd) {
		if (null < 0 || dup2(null, fd) < 0) {
			close(fd);
		}
	}
	struct rlimit limit = {0};
	if (syscall(SYS_close_range, (unsigned)(3 + n), ~0U, 0U) != 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		for (rlim_t fd = (rlim_t)(3 + n); fd < limit.rlim_cur && fd < 65536; ++fd) { // before Linux 5.9
			close((int)fd);
		}
	}
	return chdir("/");
}
