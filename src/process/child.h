// A running child: started, drained, timed out, and waited for by its worker; signalled as a group by anybody.
//
// States, each with its lawful successors:
//   STARTING -> RUNNING | SPAWN_ERROR       RUNNING -> TERMINATING (timeout, cancel) | EXITED
//   TERMINATING -> EXITED                   EXITED -> DRAINED (at most DRAIN_GRACE later) -> gone
// A worker runs one child at a time, start to end, in child_run(); it waits for exactly that pid. Other threads only
// see the table of running children, under its lock, where an entry is valid until just before the pid is reaped, so
// no signal ever reaches a recycled pid.

#ifndef FAIRPAR_PROCESS_CHILD_H
#define FAIRPAR_PROCESS_CHILD_H

#include "job/job.h"
#include "process/context.h"

#include <stddef.h>

// The signals to end a job with and the pauses after them: GNU parallel's --term-seq TERM,200,TERM,100,TERM,50,KILL,25.
struct term_seq {
	struct { int signal; unsigned pause_ms; } steps[16];
	unsigned nsteps;
};

// Parses SIGNAL[,MS[,SIGNAL…]] (names with or without SIG, or numbers). Returns 0, or -1 with *ret_error a static text.
int term_seq_parse(const char *text, struct term_seq *ret_seq, const char **ret_error) FP_NODISCARD;

// The table of running children of this process; one for the run. `slots` is a hint; it grows.
struct children *children_create(const struct term_seq *seq);
void children_destroy(struct children *children);

// Sends `signal` to the group of every running child (SIGTSTP as SIGSTOP). Returns how many there were.
unsigned children_signal(struct children *children, int signal);

// Begins to end all running children, and refuses new ones from now on: the first step's signal is sent before it
// returns. Further steps: children_term_step() by the caller's event loop.
void children_terminate(struct children *children);
// KILLs all at once, whatever the step.
void children_kill(struct children *children);
// Sends what is due. Returns when to call again (now_ns() time), or TIME_NEVER.
uint64_t children_term_step(struct children *children, uint64_t now);
// KILLs descendants that left their group (setsid, daemons) and those that were orphaned to fairpar as the subreaper;
// at the end of an interrupted run, after the last child was reaped.
void children_kill_strays(struct children *children);
// Reaps orphans that were handed to this process as the subreaper. From the main thread, whenever it wakes anyway.
void children_reap_strays(struct children *children);
// A signal-safe, lock-free KILL of all groups: for diag_set_last_words().
void children_last_words(void);

// One running child as seen by children_each().
struct child_view {
	pid_t pid;
	uint64_t start;
	const char *label;   // job label given to child_run(), valid during the call
};
void children_each(struct children *children, void (*fn)(void *arg, const struct child_view *), void *arg);

enum child_stream { STREAM_OUT, STREAM_ERR };

// What is done with a child's output: `readable` reads what there is from the (non-blocking) pipe and returns the bytes
// taken (> 0), 0 at end of file, or -1 with errno (EAGAIN: nothing now). A read error ends that stream.
struct drain {
	ssize_t (*readable)(void *arg, enum child_stream stream, int fd);
	void *arg;
};

struct child_config {
	const char *path;            // program file, already searched
	char *const *argv;           // NULL-terminated
	char *const *env;            // NULL-terminated
	const struct context *context;
	int stdin_fd;                // to dup to 0, or -1: /dev/null
	const struct drain *drain;   // NULL: stdout and stderr are inherited (--ungroup)
	uint64_t timeout;            // nanoseconds, 0: none
	const char *label;           // for listings; borrowed during the call
	bool own_group;              // own process group (all but the xargs personality)
	struct child_scratch *scratch; // of the calling worker
};

// What a worker keeps from child to child (the spawn stack, descriptors of /dev/null). NULL-safe fini.
struct child_scratch *child_scratch_create(void);
void child_scratch_destroy(struct child_scratch *scratch);

// Which step of the start failed, when outcome is OUTCOME_SPAWN_ERROR.
enum spawn_step { SPAWN_PIPE, SPAWN_CLONE, SPAWN_GROUP, SPAWN_CHDIR, SPAWN_LIMITS, SPAWN_STDIO, SPAWN_EXEC, SPAWN_NICE };
struct spawn_error {
	enum spawn_step step;
	int error;               // errno
};
// "cannot start: Resource temporarily unavailable" and its kin, as "STEP: CAUSE" in words; static or strerror text.
const char *spawn_step_name(enum spawn_step step);

// Runs one child from start to end on the calling thread. EAGAIN, ENOMEM, EMFILE and ENFILE from the start are waited
// out while other children run (retried when one ends, and by growing pauses otherwise; `children_terminate` ends the
// wait) and reported as OUTCOME_SPAWN_ERROR only if they last when no other child is running.
// Fills *ret_result, and *ret_error when its outcome is OUTCOME_SPAWN_ERROR. Leaves no descriptor and no child behind.
void child_run(struct children *children, const struct child_config *config, struct result *ret_result,
               struct spawn_error *ret_error);

#endif
