// A running child: started, read from, timed out, and waited for by its worker; any thread may signal its group.
//
// Its states:
//   STARTING -> RUNNING | SPAWN_ERROR       RUNNING -> ENDING (timeout, cancel, want of memory) | EXITED
//   ENDING -> EXITED                        EXITED -> DRAINED (DRAIN_GRACE_MS later at most)
// A worker runs one child at a time, from start to end, in child_run(), and waits for exactly that pid. Other threads only see
// the table of running children, under its lock. A child leaves the table just before its pid is reaped: so no signal ever
// reaches another process that has got the pid since.

#pragma once

#include "base/buf.h"
#include "base/io.h"
#include "job/job.h"
#include "process/context.h"
#include "process/guardian.h"
#include "process/spawn.h"

#include <poll.h>
#include <stddef.h>
#include <sys/types.h>

// The signals to end a job with and the pauses after them, as in --term-seq; the default is GNU parallel's.
#define TERM_SEQ_DEFAULT "TERM,200,TERM,100,TERM,50,KILL,25"
struct term_seq {
	struct { int signal; unsigned pause_ms; } steps[16];
	unsigned nsteps;
};

// Parses SIGNAL[,MS[,SIGNAL…]] (names with or without SIG, or numbers; the last pause may be missing). A sequence that does not
// end in KILL gets KILL as its last signal, so that every job ends. Returns 0, or -1 with *ret_error a static text.
int term_seq_parse(const char *text, struct term_seq *ret_seq, const char **ret_error) FP_NODISCARD;

// Appends the sequence to `buf` as term_seq_parse() reads it, with signals as numbers.
void term_seq_write(const struct term_seq *seq, struct buf *buf);

// Returns when the step after step `sent` is due, if step `sent` was sent at `now`; TIME_NEVER if `sent` is the last step.
uint64_t term_seq_due(const struct term_seq *seq, unsigned sent, uint64_t now);

// Returns the sum of the pauses of the sequence, in nanoseconds: the time that it gives a job to end.
uint64_t term_seq_length(const struct term_seq *seq);

// ---- the table of running children; each run has one ----

// Makes the table, and makes this process the subreaper of its descendants (prctl(2)). Called after signals_open() and
// context_raise_nofile(). Copies `seq`; NULL: TERM_SEQ_DEFAULT. `context` (or NULL): its environment, which all jobs inherit, gets a
// variable with a random value, the cookie, by which fairpar finds the processes that jobs have left behind (process/guardian.h). `wake_fd` (or -1)
// wakes the event loop (wakeup_post()) when guardian_fd() has changed, or when the end of a child begins. If this process ends by diag_die(), the
// children are killed. The caller owns the table.
struct children *children_create(const struct term_seq *seq, struct context *context, int wake_fd);

// Frees the table, which may be NULL, when no child_run() is running any more. Waits for the end of the guardian, if one was started. With
// `kills_orphans`, as an interrupted run needs it, calls children_kill_orphans() first.
void children_destroy(struct children *children, bool kills_orphans);

// The event loop of the process polls these descriptors: children_begin_polls() empties the list, and adds `signal_fd` (signals_open()), `wake_fd` and
// guardian_fd(), in this order; the loop adds others behind them. children_poll() waits by poll(2) until `until` (now_ns() time), clears the wake-up,
// and starts the guardian again if it has died.
enum { POLL_SIGNAL, POLL_WAKE, POLL_GUARDIAN, CHILDREN_POLLS };
void children_begin_polls(struct children *children, struct polls *polls, int signal_fd);
void children_poll(struct children *children, struct polls *polls, uint64_t until);

// Return the guardian of the children, and the struct that holds children back until there is memory (process/memory.h); both borrowed.
struct guardian *children_guardian(struct children *children);
struct memory *children_memory(struct children *children);

// Starts the guardian, unless there is one or guardian_forgo() was called. From any thread.
void children_start_guardian(struct children *children);

// Waits until every child that is being started at the time of the call is listed (or has failed to start), so that the calls
// below find it. At most five seconds: execve() of a file on a network server that is down may block for ever.
void children_await_starts(struct children *children);

// ---- signals to all running children ----

// Sends `signal` to the group of every running child (SIGSTOP in place of SIGTSTP).
void children_signal(struct children *children, int signal);

// Begins to end all running children except clean-up commands (child_config.cleanup), and refuses new children from now on. Sends the
// first signal of the sequence before it returns; the event loop sends the other signals by children_term_step().
void children_terminate(struct children *children);

// Sends SIGKILL to all running children, clean-up commands too, and refuses new children.
void children_kill(struct children *children);

// Sends each child that is being ended the signals of the sequence that are due by now. Returns when to call this again, or TIME_NEVER.
uint64_t children_term_step(struct children *children, uint64_t now);

// Sends SIGKILL to the groups of all running children. Takes no lock, and is async-signal-safe.
void children_kill_unlocked(void);

// ---- orphans ----

// Reaps the orphans that this process got as the subreaper. Called by the main thread whenever it wakes. Returns when to call
// it again (now_ns() time), or TIME_NEVER.
//
// Nothing polls for orphans. The descriptor of signals_open() reports SIGCHLD when a job or an orphan ends; after each report the
// descriptor is silent for a while (children_note_sigchld()), so that many short jobs cost few wake-ups.
uint64_t children_reap_orphans(struct children *children, int signal_fd);

// To be called when SIGCHLD was reported, before children_reap_orphans().
void children_note_sigchld(struct children *children);

// Sends SIGKILL to the processes that the jobs have left behind, also to those that have left the group of their job (setsid, daemons): when the
// parent of such a process dies, the process becomes a child of this one. If a job was sent the last step of the sequence, sends SIGKILL to all
// processes with the run's cookie (children_create()), too. Called at the end of an interrupted run, after the last child was reaped.
void children_kill_orphans(struct children *children);

// Sends SIGKILL to all processes with that cookie, running jobs too. Called last, right before this process dies.
void children_kill_with_cookie(struct children *children);

// ---- looking at the running children ----

// One running child as seen by children_each().
struct child_view {
	pid_t pid;
	const char *host;    // the machine on which the child runs, valid during the call; NULL: this machine
	uint64_t start;      // when the child was started (now_ns() time)
	const char *label;   // job label given to child_run(), valid during the call
	const char *last;    // the last line of its output, valid during the call, or NULL; see output_reader.last_line
	int stop_signal;     // with `stopped_only`: the signal that has stopped the child
};

// Calls fn for each running child, outside of all locks. With `stopped_only`: only for each child that was stopped since the last call
// with `stopped_only`, unless children_suspend_young() has stopped the child.
void children_each(struct children *children, bool stopped_only, void (*fn)(void *arg, const struct child_view *), void *arg);

// ---- ending, stopping and counting running children; called from the event loop unless a comment says otherwise ----

// For want of memory, begins to end the youngest running child that is neither a clean-up command nor being ended already: the
// child's result is OUTCOME_SIGNAL with out_of_memory. Returns its label (the caller frees), or NULL if there is no such child.
char *children_evict_youngest(struct children *children);

// Begins to end every running child, except clean-up commands, that has run for `limit` nanoseconds: its outcome is OUTCOME_TIMEOUT.
// Returns when (now_ns() time) to call this again if no child starts until then, or TIME_NEVER.
uint64_t children_expire(struct children *children, uint64_t limit, uint64_t now);

// Sends the signal to the group of the running child whose child_config.origin is `origin`, if there is one.
void children_signal_one(struct children *children, const void *origin, int signal);

// Begins to end the running child whose child_config.origin is `origin`, if there is one: its outcome is OUTCOME_CANCELLED. Wakes the
// event loop. From any thread.
void children_cancel(struct children *children, const void *origin, uint64_t now);

// Says that the child whose child_config.origin is `origin` begins to wait for other jobs (`waits` is true), or stops waiting. While the
// child waits, the memory that it has declared is free for other jobs, and children_suspend_young() neither stops nor counts it.
void children_set_waiting(struct children *children, const void *origin, bool waits);

// Stops all running children except the `most` oldest, and continues any of the oldest that an earlier call has stopped. Returns how
// many children are stopped. Leaves clean-up commands, and children that wait or are being ended, alone.
unsigned children_suspend_young(struct children *children, unsigned most);

// Returns how many children run, stopped ones included.
unsigned children_count(struct children *children);

// Puts the pids of a sample of the running children into ret_pids: at most `most` pids, spread over all children but those
// that children_suspend_young() has stopped; `random` selects them. Returns the number of pids. *ret_running: how many children run, stopped or not.
size_t children_sample(struct children *children, uint64_t random, pid_t *ret_pids, size_t most, unsigned *ret_running);

// True if all children have ended. A child counts as ended even if its worker, still busy with output, has not noticed that yet.
bool children_have_ended(struct children *children);

enum child_stream { STREAM_OUT, STREAM_ERR };

// Takes a child's output: `readable` reads what there is from the (non-blocking) pipe and returns the bytes taken (> 0), 0 at end of file, or -1
// with errno (EAGAIN: nothing now). A read error ends that stream. ENODATA: there is no room for more output until more_fd is readable; `readable`
// empties more_fd. Until then the pipe is not read, but the child is waited for. `take` is called instead of `readable` for output from another
// machine, which comes without a pipe.
struct output_reader {
	ssize_t (*readable)(void *arg, enum child_stream stream, int fd);
	void (*take)(void *arg, enum child_stream stream, const char *bytes, size_t n);
	// Called on another thread, while `readable` may run: puts the last line so far into `text` of `size` bytes, without its
	// newline. Returns its length, cut to the size, or 0 if there is no line or it cannot be had now. Must not block. May be NULL.
	size_t (*last_line)(void *arg, char *text, size_t size);
	int more_fd;
	void *arg;
};

// Returns a copy of the last line that the reader has read, for the caller to free; NULL if there is no line, or `reader` is NULL.
char *output_reader_last_line(const struct output_reader *reader);

// Calls fn for each of the `n` views, and frees the array with the labels and last lines.
void child_views_take(struct child_view *views, size_t n, void (*fn)(void *arg, const struct child_view *), void *arg);

struct memory_claim;
struct child_config {
	const char *path;            // path of the program's file; $PATH is not searched
	char *const *argv;           // NULL-terminated
	char *const *env;            // NULL-terminated
	const struct context *context;
	int stdin_fd;                // becomes the child's descriptor 0; -1: /dev/null becomes it
	const struct stdin_writer *stdin_writer; // fills a pipe that is the child's stdin in place of stdin_fd; or NULL
	const struct output_reader *output_reader; // NULL: stdout and stderr are those of fairpar (--ungroup)
	uint64_t timeout;            // nanoseconds, 0: none
	uint64_t memory;             // bytes that the child needs (process/memory.h): its cgroup's limit, or what must be available at the start; 0: none
	struct memory_claim *claim;  // the child's claim on memory, or NULL. child_run() opens the claim, unless it is open already, and closes it
	const char *label;           // for listings; borrowed during the call
	const void *origin;          // tells this child from others in children_cancel() and similar calls; only compared, never dereferenced
	bool cleanup;                // a clean-up command: children_terminate() neither ends nor refuses it, but children_kill() does both
	const char *unlink_path;     // absolute path of a file that the child makes, to be unlinked if fairpar is killed before the child's end; or NULL
	bool forks;                  // the child is likely to have children of its own, as a shell has: the guardian is started before it
	bool own_group;              // the child gets a process group of its own; jobs of `fairpar --xargs` get none
	bool foreground;             // the child's process group becomes the foreground group of the terminal stdin_fd
	void *stack_top;             // the stack of the calling worker, from spawn_stack_create()
	const struct starter *starter; // the calling worker's starter, which starts the child; NULL: spawn() starts it
	// `started` is called on the calling thread once the child runs, with the time of its start (now_ns()); or it is NULL.
	void (*started)(void *arg, pid_t pid, uint64_t start);
	void *started_arg;
};

// Returns the flag (borrowed) that is set when no more children may start: with `cleanup` no more clean-up commands, else no more other children.
const atomic_bool *children_refusal(const struct children *children, bool cleanup);

// Runs one child from start to end on the calling thread, in which all signals must be blocked. If the start fails for lack of
// processes, memory or descriptors (EAGAIN, ENOMEM, EMFILE, ENFILE), tries again when another child ends, and after growing pauses;
// gives up, with OUTCOME_SPAWN_ERROR, after up to 10 s in which no other child has run. At its timeout, or after children_terminate(),
// the child's whole group gets the signals of the sequence, one after another; processes of the group that outlive the child also get the
// signals that are still to be sent. Once the first of these signals was sent, the outcome is OUTCOME_TIMEOUT or OUTCOME_CANCELLED, whatever the
// child's exit status. A child that needs `memory` may have to wait for it before the start. children_terminate() ends this wait, and
// the wait for another try; a child that is refused in this way has the outcome OUTCOME_CANCELLED, and start and end 0. Fills
// *ret_result, and *ret_error when the outcome is OUTCOME_SPAWN_ERROR. Leaves no descriptor and no child behind.
void child_run(struct children *children, const struct child_config *config, struct result *ret_result,
               struct spawn_error *ret_error);

// ---- the pipe that is a job's standard input, also on another machine ----

// Gives a child its stdin through a pipe, instead of a descriptor: `writable` writes what it can into the (non-blocking) pipe and
// returns the bytes written (> 0), 0 when there is no more, or -1 with errno (EAGAIN: the pipe is full). Any other error, EPIPE
// above all, ends the stream: a child need not read what it is given. ENODATA: there is nothing to write until more_fd is
// readable; `writable` empties more_fd. `closed`, unless it is NULL, is called once, when the pipe was closed.
struct stdin_writer {
	ssize_t (*writable)(void *arg, int fd);
	void (*closed)(void *arg);
	int more_fd;
	void *arg;
};

// To be called after poll(): writes what can be written. `to` is our end of the pipe, with events POLLOUT at first; our end is closed
// when the writer has no more, or when the other end is closed. `more`->fd becomes more_fd while the writer has nothing to write now
// and poll() has to wait for more, else -1.
void stdin_pipe_fill(const struct stdin_writer *writer, struct pollfd *to, struct pollfd *more);

// Closes the pipe, if it is open. more_fd stays open: it is the writer's.
void stdin_pipe_close(const struct stdin_writer *writer, struct pollfd *to, struct pollfd *more);
