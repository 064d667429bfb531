// A child that is left as it is: in the process group of the caller, with all its descriptors.

#include "process/plain_child.h"

#include "base/alloc.h"
#include "base/io.h"

#include <errno.h>
#include <sys/wait.h>

int plain_child_start(const char *path, char *const *argv, const struct context *context, struct plain_child *ret_child,
                      struct spawn_error *ret_error) {
	struct spawn_config config = {
		.path = path,
		.argv = argv,
		.env = context->env,
		.context = context,
		.stdio = {-1, -1, -1},
		.cgroup_fd = -1,
	};
	char **shell_argv = NULL;
	for (;;) {
		*ret_error = (struct spawn_error){0};
		ret_child->pid = spawn_alone(&config, &ret_child->pidfd, ret_error);
		if (ret_child->pid > 0 && ret_error->error) {
			int signal;
			(void)plain_child_wait(ret_child, &signal);
		}
		if (ret_error->error != ENOEXEC || ret_error->step != SPAWN_EXEC || shell_argv) {
			break;
		}
		shell_argv = spawn_shell_argv(path, argv);
		config.path = SPAWN_SHELL;
		config.argv = shell_argv;
	}
	free(shell_argv);
	return ret_child->pid > 0 && !ret_error->error ? 0 : -1;
}

int plain_child_wait(struct plain_child *child, int *ret_signal) {
	int status = 0;
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
	}
	fd_close(&child->pidfd);
	*ret_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return WEXITSTATUS(status);
}

void plain_child_signal(const struct plain_child *child, int signal) {
	kill(child->pid, signal); // it is not waited for yet, so the number is still its own
}
