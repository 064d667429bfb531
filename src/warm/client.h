// A server as fairpar sees it: a shell that was started once, stands just before its main(), and is cloned for each job.

#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "process/guardian.h"
#include "process/spawn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The shared object of server.c, as bytes: see Makefile. Empty where it cannot be had: another C library, a static build.
extern const char server_so[];
extern const size_t server_so_size;

struct warm_server {
	pid_t pid;
	int pidfd;
	int socket;
	const struct guardian *guardian; // in whose table of running children a job enters itself
	struct buf request;
	bool is_lost;       // it has failed, and is to be closed
};

// Starts a server for the program of `job`, a shell, in the job's context except for the directory. It ends when the calling
// thread ends or the socket is closed. Call it from a thread that has `world` and blocks all signals, as for
// spawn_config.stack_top. Returns the server, for warm_server_close(); or NULL with the reason in *ret_why (static text).
struct warm_server *warm_server_open(const struct spawn_config *job, const struct guardian *guardian, const char **ret_why) FP_NODISCARD;

// Ends the server and waits for that; its jobs run on. NULL-safe.
void warm_server_close(struct warm_server *server);

// Starts a job as a clone of the server, from the thread that has opened it. Returns as spawn() does: the pid with *ret_pidfd,
// or -1 with *ret_error. Or returns 0: nothing was started, and the caller calls spawn(); *ret_why says why (static text).
pid_t warm_server_start(struct warm_server *server, const struct spawn_config *job, int *ret_pidfd, struct spawn_error *ret_error,
                   const char **ret_why) FP_NODISCARD;

// ---- whether a shell can be a server, by what its file says and by what a server would inherit ----

// Returns why the shell at `path` cannot, in words (static text), or NULL: nothing speaks against a try.
const char *fitness_refusal(const char *path);

// Returns why a job with such an environment cannot be started by a server, or NULL: it says something to the linker or the
// allocator, who have done their work in the server.
const char *fitness_refusal_env(char *const *env);

struct inherited {
	uint64_t hash;       // of all that is inherited: two that differ have another hash, with near certainty
	const char *refusal; // why a server that inherits this must not be started; static text, or NULL
};

// Reads what a process would inherit that the calling thread started now. That takes some 30 system calls.
void inherited_read(struct inherited *ret);
