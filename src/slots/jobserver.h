// GNU make's jobserver: slots are bytes in a pipe or a FIFO, called tokens. A process that reads a token has a slot until it
// writes the same byte back. Besides, each client has one slot that it got from its parent. (GNU make manual, "Integrating GNU
// make", "POSIX Jobserver Interaction".)

#pragma once

#include "base/attr.h"

#include <stdbool.h>

enum jobserver_form {
	JOBSERVER_NONE,      // there is none, or MAKEFLAGS closes it to this process (negative descriptors)
	JOBSERVER_PIPE,      // a pipe: "R,W"
	JOBSERVER_FIFO,      // a FIFO: "fifo:PATH"
	JOBSERVER_UNKNOWN,   // a form that this program does not know
};

// What $MAKEFLAGS says.
struct jobserver_flags {
	enum jobserver_form form;
	int read_fd, write_fd;   // the ends of a pipe
	char *path;              // path of a FIFO, owned
	unsigned jobs;           // N of -jN, or 0
	bool dry_run;            // make -n
};

// Reads the value of $MAKEFLAGS; NULL as "". Of several jobservers the last counts. The caller calls jobserver_flags_fini().
void jobserver_parse(const char *makeflags, struct jobserver_flags *ret_flags);
void jobserver_flags_fini(struct jobserver_flags *flags);

// Returns the value of $MAKEFLAGS (NULL as ""), with the jobserver `auth`, "R,W" or "fifo:PATH", in place of those that
// the value names; with none if `auth` is NULL. The caller frees it.
char *jobserver_set_flags(const char *makeflags, const char *auth);

// An open jobserver. The struct does not count tokens: its owner counts those that it has taken.
struct jobserver {
	int in_fd, out_fd;       // to read and to write tokens, without blocking; opened anew, so that the descriptors of make and its jobs still block
	int job_fds[2];          // for a server with a pipe: the ends that jobs inherit; or -1
	char *auth;              // for a server: "R,W" or "fifo:PATH", by which jobs find it; owned
	const char *path;        // for a server with a FIFO: its path, which is a part of `auth`; or NULL
};

// Opens the jobserver that the flags name. Returns 0, and the caller calls jobserver_close(); or -1 with errno: EBADF if the
// descriptors are not open here, EINVAL if they or the path are no pipe or FIFO, ENOTSUP if this program does not know the form.
int jobserver_connect(const struct jobserver_flags *flags, struct jobserver *ret_jobserver) FP_NODISCARD;

// Makes a jobserver of that form, without tokens. A FIFO is made in `dir`, for this user only; FIFOs there that
// killed processes of this user have left over are removed. Only job_fds are not close-on-exec. Returns 0, and the
// caller calls jobserver_close(); or -1 with errno.
int jobserver_create(enum jobserver_form form, const char *dir, struct jobserver *ret_jobserver) FP_NODISCARD;

// Closes the jobserver, and removes the FIFO that this process has made. Tokens not yet given back are lost. Not to be called
// for a zeroed struct: its descriptors are 0.
void jobserver_close(struct jobserver *jobserver);

// Takes a token. Returns false if there is none now; jobserver->in_fd is readable when there may be one again.
bool jobserver_take(struct jobserver *jobserver, char *ret_token) FP_NODISCARD;
void jobserver_put(struct jobserver *jobserver, char token);

// Is no token in the pipe or FIFO? Then another client may be waiting for one.
bool jobserver_is_empty(const struct jobserver *jobserver);
