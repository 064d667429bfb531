// A process with three pipes, started, ended and reaped by the same thread: a launcher; or a short command, run to its end. There is a time limit,
// because a command of Slurm may take long when Slurm's controller is down.

#include "hosts/hosts_internal.h"

#include "job/job.h"
#include "shell/shell.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

enum { TERM_GRACE_MS = 500 };
enum { MOST_BYTES = 1 << 20, END_MS = 200, WHY_MOST = 600 }; // of a command

// ---- start ----

static void close_pipes(struct launcher *launcher) {
	fd_close(&launcher->in_fd);
	fd_close(&launcher->out_fd);
	fd_close(&launcher->err_fd);
}

static void reap(struct launcher *launcher, int *ret_status) {
	*ret_status = SIGKILL; // kept if waitpid() fails: then children_kill_orphans() has killed and reaped the process
	while (waitpid(launcher->pid, ret_status, 0) < 0 && errno == EINTR) {
	}
	fd_close(&launcher->pidfd);
	launcher->pid = 0;
}

int launcher_start(struct launcher *launcher, const struct launcher_config *config, struct spawn_error *ret_error) {
	int theirs[3] = {-1, -1, -1};
	struct spawn_world world;
	void *stack = spawn_stack_create();
	const char *path = program_find(config->argv[0]);
	*launcher = (struct launcher){.pidfd = -1, .in_fd = -1, .out_fd = -1, .err_fd = -1};
	*ret_error = (struct spawn_error){.error = 0};
	if (!path) {
		*ret_error = (struct spawn_error){.step = SPAWN_EXEC, .error = errno};
	} else if (!stack || pipe_open(1, &launcher->in_fd, &theirs[0]) != 0 || pipe_open(0, &launcher->out_fd, &theirs[1]) != 0 ||
	    pipe_open(0, &launcher->err_fd, &theirs[2]) != 0) {
		*ret_error = (struct spawn_error){.step = stack ? SPAWN_PIPE : SPAWN_CLONE, .error = errno};
	} else {
		spawn_world_init(&world);
		const struct spawn_config spawning = {
			.path = path,
			.argv = config->argv,
			.env = config->env,
			.world = &world,
			.context = config->context,
			.stdio = {theirs[0], theirs[1], theirs[2]},
			.cgroup_fd = -1,
			.own_group = !config->prompts,
			.dies_with_thread = true,
			.stack_top = stack,
		};
		launcher->pid = spawn(&spawning, &launcher->pidfd, ret_error);
		launcher->target = config->prompts ? launcher->pid : -launcher->pid;
	}
	spawn_stack_destroy(stack);
	for (int i = 0; i < 3; ++i) {
		fd_close(&theirs[i]);
	}
	if (launcher->pid > 0 && !ret_error->error) {
		return 0;
	}
	close_pipes(launcher);
	if (launcher->pid > 0) {
		int status;
		reap(launcher, &status);
	}
	return -1;
}

// ---- end ----

// Waits until `until`, and returns whether the process has ended.
static bool has_ended_by(const struct launcher *launcher, uint64_t until) {
	struct pollfd end = {.fd = launcher->pidfd, .events = POLLIN};
	int ready;
	do {
		ready = poll(&end, 1, poll_ms(until));
	} while (ready < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOMEM));
	return ready > 0;
}

void launcher_end(struct launcher *launcher, uint64_t until, char *ret_how, size_t size) {
	int status;
	close_pipes(launcher);
	bool killed = !has_ended_by(launcher, until);
	if (killed) {
		kill(launcher->target, SIGTERM); // it is not reaped yet, so the number is still its own
		(void)has_ended_by(launcher, now_ns() + (uint64_t)TERM_GRACE_MS * NS_PER_MS);
		kill(launcher->target, SIGKILL);
	}
	reap(launcher, &status);
	struct result result = {
		.outcome = WIFSIGNALED(status) ? OUTCOME_SIGNAL : OUTCOME_FAILED,
		.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
		.term_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	};
	if (killed) {
		ret_how[0] = '\0';
	} else {
		result_describe(&result, ret_how, size);
	}
}

// ---- a command ----

// Appends the bytes that can be read now. Closes the descriptor at the end of its data.
static void read_more(int *fd, struct buf *into) {
	char bytes[4096];
	ssize_t n = read_some(*fd, bytes, sizeof(bytes));
	if (n > 0 && into->len + (size_t)n <= MOST_BYTES) {
		buf_add(into, bytes, (size_t)n);
	} else if (n >= 0 || errno != EAGAIN) {
		fd_close(fd);
	}
}

// Returns false if the command is to be cut short.
static bool read_all(struct launcher *launcher, int cut_fd, uint64_t until, struct buf *out, struct buf *said) {
	while (launcher->out_fd >= 0 || launcher->err_fd >= 0) {
		struct pollfd fds[] = {
			{.fd = launcher->out_fd, .events = POLLIN},
			{.fd = launcher->err_fd, .events = POLLIN},
			{.fd = cut_fd, .events = POLLIN},
		};
		(void)poll(fds, 3, poll_ms(until));
		if (fds[2].revents || now_ns() >= until) {
			return false;
		}
		read_more(&launcher->out_fd, out);
		read_more(&launcher->err_fd, said);
	}
	return true;
}

int launcher_run(const struct launcher_config *command, int cut_fd, uint64_t until, struct buf *ret_out, struct buf *ret_why) {
	FP_CLEANUP(buf_fini) struct buf said = BUF_INIT;
	struct launcher launcher;
	struct spawn_error error;
	char how[80];
	buf_reset(ret_why);
	if (launcher_start(&launcher, command, &error) != 0) {
		buf_printf(ret_why, "cannot start '%s': %s", command->argv[0], strerror(error.error));
		return -1;
	}
	fd_close(&launcher.in_fd);
	bool is_whole = read_all(&launcher, cut_fd, until, ret_out, &said);
	launcher_end(&launcher, is_whole ? until : now_ns() + (uint64_t)END_MS * NS_PER_MS, how, sizeof(how));
	if (is_whole && strcmp(how, "exit 0") == 0) {
		return 0;
	}
	buf_printf(ret_why, "%s: %s", command->argv[0], how[0] && is_whole ? how : "it does not answer");
	size_t len = said.len > 0 ? strcspn(buf_str(&said), "\n") : 0;
	if (len > 0) {
		buf_reset(ret_why);
		buf_add_escaped(ret_why, said.data, len, WHY_MOST);
	}
	return -1;
}
