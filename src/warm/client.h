// A server as fairpar sees it: a program that was started once, stands just before its main(), and is cloned for each job.

#ifndef FAIRPAR_WARM_CLIENT_H
#define FAIRPAR_WARM_CLIENT_H

#include "base/attr.h"
#include "base/buf.h"
#include "process/spawn.h"

#include <stddef.h>

// The table of running children (process/guardian.h), which a job enters itself in.
struct shared_table {
	int fd;
	const void *start; // of its memory here
	size_t size;
};

struct warm_server {
	pid_t pid;
	int pidfd;
	int socket;
	struct shared_table table;
	struct buf request;
};

// Starts a server for the program of a job, in the job's context but for the directory. It ends with the calling thread, or when the
// socket is closed. The conditions of spawn() hold. Returns NULL with *ret_why, static text: no server can be had.
struct warm_server *warm_server_open(const struct spawn_config *job, bool is_shell, const struct shared_table *table, const char **ret_why) FP_NODISCARD;

// Ends the server and waits for that; its jobs run on. NULL-safe.
void warm_server_close(struct warm_server *server);

// Starts a job as spawn() does, with the same results, but for its program: that of the server. From the thread that has opened it.
// Returns 0 with *ret_why if nothing was started and spawn() is to do it: the server is of no more use and to be closed, or, with
// *ret_why NULL, the job is too long for it.
pid_t warm_server_start(struct warm_server *server, const struct spawn_config *job, int *ret_pidfd, struct spawn_error *ret_error,
                   const char **ret_why) FP_NODISCARD;

#endif
