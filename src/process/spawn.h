// Starts one child: descriptors, directory, environment, limits, process group; reports which step failed.

#ifndef FAIRPAR_PROCESS_SPAWN_H
#define FAIRPAR_PROCESS_SPAWN_H

#include "base/atomic.h"
#include "base/attr.h"
#include "process/context.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

// Which step of a start failed.
enum spawn_step {
	SPAWN_PIPE, SPAWN_CLONE, SPAWN_GROUP, SPAWN_CHDIR, SPAWN_LIMITS, SPAWN_STDIO, SPAWN_EXEC, SPAWN_NICE,
	SPAWN_CGROUP,
};
struct spawn_error {
	enum spawn_step step;
	int error;               // errno, 0: none
};

// The step in words, for "cannot start 'x': STEP: CAUSE". Static text.
const char *spawn_step_name(enum spawn_step step);

// What this process is like where a child may have to differ: then, and only then, the child spends a system call.
struct spawn_world {
	pid_t pid;
	sigset_t deadly;         // what may have been sent to fairpar's process group, to be answered by fairpar alone
	sigset_t ignored;
	struct rlimit nofile;
};

// Looked up once, after signals_open() and context_raise_nofile().
void spawn_world_init(struct spawn_world *world);

// A stack for the first steps of a child, which run in the memory of this process. One start at a time.
// Returns NULL with errno; ret_top is where it begins, as stacks grow downwards.
void *spawn_stack_create(void **ret_top) FP_NODISCARD;
void spawn_stack_destroy(void *stack);

struct spawn_config {
	const char *path;
	char *const *argv;               // NULL-terminated
	char *const *env;                // NULL-terminated
	const struct spawn_world *world;
	const struct context *context;   // NULL: as this process is, with the signal mask of the thread
	int stdio[3];                    // to dup to 0, 1 and 2 (none of them one of these but its own), or -1: inherited
	const int *keep;                 // descriptors that lose their close-on-exec flag in the child
	unsigned nkeep;
	int cgroup_fd;                   // cgroup.procs of the cgroup to enter, or -1
	bool own_group;                  // a process group of its own
	bool foreground;                 // which becomes the foreground one of the terminal stdio[0]
	atomic_int *listed;              // gets what kill(2) takes for the child, -group or pid, before it executes; or NULL
	bool dies_with_thread;           // SIGKILL when the calling thread ends (prctl(2) PR_SET_PDEATHSIG)
	void *stack_top;                 // of spawn_stack_create()
};

// Starts a child as vfork() does: returns when it has executed the program or failed to. All signals must be blocked in
// the calling thread.
// Returns its pid with *ret_pidfd for the caller to close, or -1 with *ret_error. If a pid is returned and
// ret_error->error is not 0, the child failed at that step: it has ended, and the caller reaps it.
pid_t spawn(const struct spawn_config *config, int *ret_pidfd, struct spawn_error *ret_error) FP_NODISCARD;

// What starts children in the place of spawn(), as it would.
struct starter {
	pid_t (*start)(void *arg, const struct spawn_config *config, int *ret_pidfd, struct spawn_error *ret_error);
	void *arg;
};

// The same from a process that is not prepared for it: config->world and config->stack_top are set, and signals blocked meanwhile.
// While there is one thread.
pid_t spawn_alone(struct spawn_config *config, int *ret_pidfd, struct spawn_error *ret_error) FP_NODISCARD;

// For ENOEXEC, a script without "#!", which is to be run by the shell, as POSIX says for execvp(): the arguments of
// SPAWN_SHELL for it. The array is the caller's, to free(); the strings are those given.
#define SPAWN_SHELL "/bin/sh"
char **spawn_shell_argv(const char *path, char *const *argv);

#endif
