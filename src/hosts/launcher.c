// A process with three pipes, started, ended and reaped by the same thread: a launcher; or a short command, run to its end. The command has a time
// limit, because a command of Slurm may take long when Slurm's controller is down.

#include "hosts/hosts_internal.h"

#include "base/temp_file.h"
#include "job/job.h"
#include "shell/shell.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TERM_GRACE_MS = 500 };
enum { MOST_BYTES = 1 << 20, END_MS = 200, WHY_MOST = 600 }; // bytes of output; ms from cutting a command short to SIGTERM; bytes of a reason

// ---- start ----

static void close_pipes(struct launcher *launcher) {
	fd_close(&launcher->in_fd);
	fd_close(&launcher->out_fd);
	fd_close(&launcher->err_fd);
}

// Reaps the process, which has ended, and notes how it has ended.
static void reap(struct launcher *launcher) {
	int status = SIGKILL; // kept if waitpid() fails: it is not known how the process has ended, and it counts as killed
	while (waitpid(launcher->pid, &status, 0) < 0 && errno == EINTR) {
	}
	close_pipes(launcher);
	fd_close(&launcher->pidfd);
	launcher->pid = 0;
	struct result result = {
		.outcome = WIFSIGNALED(status) ? OUTCOME_SIGNAL : OUTCOME_FAILED,
		.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
		.term_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	};
	if (!launcher->signal) {
		result_describe(&result, launcher->how, sizeof(launcher->how));
	}
}

int launcher_start(struct launcher *launcher, const struct launcher_config *config, struct spawn_error *ret_error) {
	int theirs[3] = {-1, -1, -1};
	const char *path = program_find(config->argv[0]);
	const int *files = config->files;
	*launcher = (struct launcher){.pidfd = -1, .in_fd = -1, .out_fd = -1, .err_fd = -1, .until = TIME_NEVER};
	*ret_error = (struct spawn_error){.error = 0};
	if (!path) {
		*ret_error = (struct spawn_error){.step = SPAWN_EXEC, .error = errno};
	} else if (pipe_open(1, &launcher->in_fd, &theirs[0]) != 0 ||
	           (!files && (pipe_open(0, &launcher->out_fd, &theirs[1]) != 0 || pipe_open(0, &launcher->err_fd, &theirs[2]) != 0))) {
		*ret_error = (struct spawn_error){.step = SPAWN_PIPE, .error = errno};
	} else {
		const struct spawn_config spawning = {
			.path = path,
			.argv = config->argv,
			.env = config->env,
			.context = config->context,
			.stdio = {theirs[0], files ? files[0] : theirs[1], files ? files[1] : theirs[2]},
			.cgroup_fd = -1,
			.own_group = !config->prompts,
			.dies_with_thread = true,
		};
		launcher->pid = spawn(&spawning, &launcher->pidfd, ret_error);
		launcher->target = config->prompts ? launcher->pid : -launcher->pid;
	}
	for (int i = 0; i < 3; ++i) {
		fd_close(&theirs[i]);
	}
	if (launcher->pid > 0 && !ret_error->error) {
		return 0;
	}
	close_pipes(launcher);
	if (launcher->pid > 0) {
		reap(launcher);
	}
	return -1;
}

// ---- end ----

// Waits for the end of the process, but not longer than until `until`. Returns whether it has ended.
static bool has_ended_by(const struct launcher *launcher, uint64_t until) {
	struct pollfd end = {.fd = launcher->pidfd, .events = POLLIN};
	int ready;
	do {
		ready = poll(&end, 1, poll_ms(until));
	} while (ready < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOMEM));
	return ready > 0;
}

void launcher_end(struct launcher *launcher, uint64_t until) {
	close_pipes(launcher);
	launcher->until = until;
}

bool launcher_reap(struct launcher *launcher, uint64_t now) {
	bool has_ended = has_ended_by(launcher, 0);
	if (has_ended ? launcher->signal == SIGTERM : now >= launcher->until) { // after SIGTERM the group is killed even if the process has ended
		launcher->until = launcher->signal ? TIME_NEVER : now + (uint64_t)TERM_GRACE_MS * NS_PER_MS;
		launcher->signal = launcher->signal ? SIGKILL : SIGTERM;
		kill(launcher->target, launcher->signal); // the process is not reaped yet, so no other process has its pid
	}
	if (has_ended) {
		reap(launcher);
	}
	return has_ended;
}

// ---- a command ----

bool launcher_has_succeeded(const struct launcher *launcher) {
	return strcmp(launcher->how, "exit 0") == 0;
}

// Appends the content of the file, from its beginning.
static void read_file(int fd, struct buf *into) {
	(void)!(lseek(fd, 0, SEEK_SET) == 0 && read_to_end(fd, into, MOST_BYTES) == 0);
}

int launcher_run(const struct launcher_config *command, int cut_fd, uint64_t until, struct buf *ret_out, struct buf *ret_why) {
	FP_CLEANUP(buf_fini) struct buf said = BUF_INIT;
	FP_CLEANUP(fd_close) int out = tmpfile_open_in_memory("fairpar-out", tmpfile_dir("/tmp"));
	FP_CLEANUP(fd_close) int err = tmpfile_open_in_memory("fairpar-err", tmpfile_dir("/tmp"));
	struct launcher_config config = *command;
	struct launcher launcher;
	struct spawn_error error = {.error = errno};
	config.files = (const int[]){out, err};
	buf_reset(ret_why);
	if (out < 0 || err < 0 || launcher_start(&launcher, &config, &error) != 0) {
		buf_printf(ret_why, "cannot start '%s': %s", command->argv[0], strerror(error.error));
		return -1;
	}
	struct pollfd fds[] = {{.fd = launcher.pidfd, .events = POLLIN}, {.fd = cut_fd, .events = POLLIN}};
	bool is_whole = poll(fds, 2, poll_ms(until)) > 0 && fds[0].revents;
	launcher_end(&launcher, is_whole ? until : now_ns() + (uint64_t)END_MS * NS_PER_MS);
	while (!launcher_reap(&launcher, now_ns())) {
		(void)has_ended_by(&launcher, launcher.until);
	}
	read_file(out, ret_out);
	read_file(err, &said);
	if (is_whole && launcher_has_succeeded(&launcher)) {
		return 0;
	}
	buf_printf(ret_why, "%s: %s", command->argv[0], launcher.how[0] && is_whole ? launcher.how : "the command does not end");
	size_t len = said.len > 0 ? strcspn(buf_str(&said), "\n") : 0;
	if (len > 0) {
		buf_reset(ret_why);
		buf_add_escaped(ret_why, said.data, len, WHY_MOST);
	}
	return -1;
}
