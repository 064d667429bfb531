// Starts one child: descriptors, directory, environment, limits, process group; reports which step failed, by a struct spawn_error. (The other
// functions of src/process that can fail set errno, except those that parse a user's text.)

#pragma once

#include "base/atomic.h"
#include "base/attr.h"
#include "process/context.h"

#include <signal.h>
#include <stdbool.h>
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

// The state of this process, read once, so that a child makes system calls only for what must be different in the child.
struct spawn_world {
	pid_t pid;
	sigset_t deadly;         // signals that a child discards if they came, for fairpar's process group, before the child had a group of its own
	sigset_t ignored;
	struct rlimit nofile;
};

// Looks up the state of this process. To be called once, after signals_open() and context_raise_nofile().
void spawn_world_init(struct spawn_world *world);

// Makes a stack for the first steps of a child, which run in the memory of this process; it serves one start at a time. Returns its
// top, where it begins, as stacks grow downwards; never NULL: if there is no memory, fairpar ends. spawn_stack_destroy() takes NULL, too.
void *spawn_stack_create(void) FP_NODISCARD;
void spawn_stack_destroy(void *top);

struct spawn_config {
	const char *path;
	char *const *argv;               // NULL-terminated
	char *const *env;                // NULL-terminated
	const struct spawn_world *world;
	const struct context *context;   // NULL: the child gets what this process has, and the signal mask of the thread
	int stdio[3];                    // become the child's descriptors 0, 1 and 2; -1, or the same number: inherited
	const int *keep;                 // descriptors that lose their close-on-exec flag in the child; an entry may be -1
	unsigned nkeep;
	int cgroup_fd;                   // cgroup.procs of the cgroup to enter, or -1
	bool own_group;                  // the child gets a process group of its own
	bool foreground;                 // the child's process group becomes the foreground group of the terminal stdio[0]
	atomic_int *listed;              // before it executes, the child writes here the number by which kill(2) reaches it: -group or pid; or NULL
	bool dies_with_thread;           // the child gets SIGKILL when the calling thread ends (prctl(2) PR_SET_PDEATHSIG)
	void *stack_top;                 // from spawn_stack_create(); then `world` is set, and the thread blocks all signals. NULL: spawn() does all this
};

// Starts a child as vfork() does: returns when the child has executed the program or failed to. Returns its pid with *ret_pidfd for the
// caller to close; or -1 with *ret_error, and then no child and no number in config->listed is left.
pid_t spawn(const struct spawn_config *config, int *ret_pidfd, struct spawn_error *ret_error) FP_NODISCARD;

// A replacement for spawn(), which starts children in another way.
struct starter {
	pid_t (*start)(void *arg, const struct spawn_config *config, int *ret_pidfd, struct spawn_error *ret_error);
	void *arg;
};

// As spawn(), but by `starter` unless that is NULL. A script without "#!" (ENOEXEC) is run by the shell, as POSIX says for execvp().
pid_t spawn_program(const struct spawn_config *config, const struct starter *starter, int *ret_pidfd,
                    struct spawn_error *ret_error) FP_NODISCARD;

// ---- this program, started as another process that inherits nothing from the caller: the guardian, the slot server of a pool ----

enum { DAEMON_FDS_MAX = 5, DAEMON_TEXTS_MAX = 4 };

// Starts this very program as a child, with an empty environment, and the `n` (at most DAEMON_FDS_MAX) descriptors `fds` besides 0 to 2; an entry
// may be -1. Its arguments are `option`, the numbers of these descriptors, and `texts`, at most DAEMON_TEXTS_MAX strings with NULL at their
// end. Returns its pid, or -1 with errno.
pid_t daemon_spawn(const char *option, const int *fds, unsigned n, const char *const *texts) FP_NODISCARD;

// As daemon_spawn(), but for a process that outlives this one. That process has to call daemon_detach(); daemon_start() waits until then.
// To be called only while there is one thread. Returns 0, or -1 with errno: ESRCH if the process was killed, EAGAIN if it could not detach.
int daemon_start(const char *option, const int *fds, unsigned n, const char *const *texts) FP_NODISCARD;

// Makes this program go on in a child, and ends the parent here: so nobody has to wait for the child. Returns 0, or -1 with errno.
int daemon_detach(void) FP_NODISCARD;

// Frees this process from all that it has inherited: it gets a session of its own, the directory /, /dev/null as 0 to 2, and ignores all
// signals. All other descriptors are closed, but for those of daemon_spawn(), whose `n` numbers are in this program's arguments: they become 3, 4 and so
// on; -1 leaves its number unused. Returns 0, or -1 with errno.
int daemon_isolate(char *const *numbers, int n) FP_NODISCARD;
