// The pipe that is a job's standard input.

#include "process/stdin_pipe.h"

#include "base/io.h"

#include <errno.h>
#include <stdbool.h>

void stdin_pipe_close(const struct stdin_writer *writer, struct pollfd *to, struct pollfd *more) {
	bool open = to->fd >= 0;
	more->fd = -1;
	fd_close(&to->fd);
	if (open && writer->closed) {
		writer->closed(writer->arg);
	}
}

void stdin_pipe_fill(const struct stdin_writer *writer, struct pollfd *to, struct pollfd *more) {
	if (more->fd >= 0 && more->revents) {
		more->fd = -1;
		to->events = POLLOUT;
	}
	if (to->fd < 0 || !to->revents) {
		return;
	}
	ssize_t n = to->revents & POLLERR ? 0 : writer->writable(writer->arg, to->fd);
	if (n < 0 && errno == ENODATA) {
		more->fd = writer->more_fd;
		to->events = 0; // but for POLLERR, which always comes
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		stdin_pipe_close(writer, to, more);
	}
}
