// A short command, run to its end. Where Slurm's controller is down it may take long: so there is a time limit.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"
#include "shell/shell.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20, END_MS = 200, WHY_MOST = 600 };

// Appends what there is. Closes the descriptor at its end.
static void read_more(int *fd, struct buf *into) {
	char bytes[4096];
	ssize_t n = read_some(*fd, bytes, sizeof(bytes));
	if (n > 0 && into->len + (size_t)n <= MOST_BYTES) {
		buf_add(into, bytes, (size_t)n);
	} else if (n >= 0 || errno != EAGAIN) {
		fd_close(fd);
	}
}

// Returns false if it was cut short.
static bool read_all(const struct host_command *command, struct launcher *launcher, struct buf *out, struct buf *said) {
	while (launcher->out_fd >= 0 || launcher->err_fd >= 0) {
		struct pollfd fds[] = {
			{.fd = launcher->out_fd, .events = POLLIN},
			{.fd = launcher->err_fd, .events = POLLIN},
			{.fd = command->cut_fd, .events = POLLIN},
		};
		(void)poll(fds, 3, poll_ms(command->until));
		if (fds[2].revents || now_ns() >= command->until) {
			return false;
		}
		if (fds[0].revents) {
			read_more(&launcher->out_fd, out);
		}
		if (fds[1].revents) {
			read_more(&launcher->err_fd, said);
		}
	}
	return true;
}

int host_command_run(const struct host_command *command, struct buf *ret_out, struct buf *ret_why) {
	FP_CLEANUP(buf_fini) struct buf said = BUF_INIT;
	struct launcher launcher;
	struct spawn_error error = {.error = 0};
	char how[80];
	const char *path = program_find(command->argv[0]);
	struct launcher_config config = {.path = path, .argv = command->argv, .env = command->env, .context = command->context};
	buf_reset(ret_why);
	if (!path || launcher_start(&launcher, &config, &error) != 0) {
		buf_printf(ret_why, "cannot start '%s': %s", command->argv[0], strerror(path ? error.error : errno));
		return -1;
	}
	fd_close(&launcher.in_fd);
	bool is_whole = read_all(command, &launcher, ret_out, &said);
	launcher_end(&launcher, is_whole ? command->until : now_ns() + (uint64_t)END_MS * NS_PER_MS, how, sizeof(how));
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
