// Fills the pipe that is a job's standard input when poll(2) says so: of a child (child.c), or of a job on another machine.

#ifndef FAIRPAR_PROCESS_STDIN_PIPE_H
#define FAIRPAR_PROCESS_STDIN_PIPE_H

#include <poll.h>
#include <sys/types.h>

// What a child is given to read, instead of a descriptor: `writable` writes what it can into the (non-blocking) pipe and
// returns the bytes written (> 0), 0 when there is no more, or -1 with errno (EAGAIN: the pipe is full). Any other error,
// EPIPE above all, ends the stream: a child need not read what it is given. ENODATA: there is nothing to write before
// more_fd can be read, which `writable` empties. `closed`, if there is one, is called once no more is written.
struct stdin_writer {
	ssize_t (*writable)(void *arg, int fd);
	void (*closed)(void *arg);
	int more_fd;
	void *arg;
};

// To be called after poll(): writes what can be written. `to` is our end of the pipe, with events POLLOUT at first; it is closed
// when the writer has no more, or when the other end is closed. `more`: its fd is set to more_fd while that has to be polled,
// else to -1.
void stdin_pipe_fill(const struct stdin_writer *writer, struct pollfd *to, struct pollfd *more);

// Closes the pipe, if it is open. more_fd is the writer's to close.
void stdin_pipe_close(const struct stdin_writer *writer, struct pollfd *to, struct pollfd *more);

#endif
