// The table of running children, for the files of this room; its public part is in process/child.h.
//
// [C1] An entry is listed from before its child executes until just before the child is reaped. So the child's pid, and the
//      number of its group, are nobody else's while they are listed, and every program that runs is listed. The child itself
//      writes the number by which kill(2) reaches it into its reserved entry (spawn_config.listed). child_run() keeps to this
//      rule: it unlists the child, and only then calls wait4().
// [C2] Only groups of listed entries are signalled: under the lock, or by the child's own worker, as no other thread unlists
//      the child. The guardian and children_kill_unlocked() read the table without the lock; for them [C1] is enough.
// [C3] Once termination has begun, every child is ended: those listed by then at once, and children_list() ends those listed later.
//      For clean-up commands termination begins with children_kill().

#pragma once

#include "base/atomic.h"
#include "base/list.h"
#include "base/sync.h"
#include "process/child.h"
#include "process/guardian.h"
#include "process/memory.h"
#include "process/proctree.h"

// Why a child is being ended. The first reason stays; only MARKED_FOR_MEMORY becomes MARKED_FOR_CANCEL when termination begins.
enum kill_mark { NOT_MARKED, MARKED_FOR_MEMORY, MARKED_FOR_TIME, MARKED_FOR_CANCEL };

// An entry of the table; it is a local variable of the child_run() that runs the child.
struct running_child {
	struct list link;  // in children.starting; once the child runs, in children.list
	uint64_t number;   // the number of this start, counted from 0 in the run
	pid_t pid;         // set once the child runs
	const struct child_config *config;
	unsigned slot;     // the index of the child's entry in the guardian's table
	enum kill_mark marked; // why the child is being ended; not set after its end. `marked` to `left_group`: under the lock
	unsigned step;     // if the child is marked: the step of the sequence that was sent last
	uint64_t step_due; // if the child is marked: when the next step is due
	struct pidfd_set left_group; // if the child's timeout has passed: its descendants outside of its process group
	bool suspended;    // children_suspend_young() has stopped the child; under the lock
	bool waits;        // the child's job waits for other jobs (children_set_waiting()); under the lock
	uint64_t stopped;  // the value of children.stopped when this child was listed
	uint64_t start;    // when the child was started (now_ns() time)
};

struct children {
	mutex lock;              // guards all down to has_killed
	cond ended;              // signalled when a child has ended, for threads in children_wait_room()
	uint64_t nended;         // how many children have ended so far
	struct list starting;    // the children that are being started (since children_reserve()), in the order of their numbers
	uint64_t nstarts;        // how many starts children_reserve() has numbered so far
	cond started;            // broadcast when a child leaves `starting`, for children_await_starts(), and for threads in children_time_out()
	struct list list;        // the children that run
	unsigned nrunning;
	uint64_t stopped_at;     // when children_signal() stopped the children, if they are still stopped; else 0
	uint64_t stopped;        // nanoseconds for which earlier calls of children_signal() had stopped the children
	unsigned *free_slots;    // the free entries of the guardian's table that were used before
	size_t nfree, free_cap;
	bool has_killed;         // since termination began, the last step of the sequence was sent to a child
	atomic_uint nmarked;     // how many listed children are marked; set under the lock

	// for children_reap_orphans(), and so for the event loop's thread alone
	bool sees_sigchld;       // the descriptor of signals_open() reports SIGCHLD (signals_watch_children())
	uint64_t rest_until;     // until when SIGCHLD is not to be reported (children_note_sigchld())

	atomic_bool terminating; // children except clean-up commands are ended and refused; set under the lock, read without the lock
	atomic_bool killing;     // clean-up commands are ended and refused, too; set and read as `terminating` is
	struct term_seq seq;
	struct guardian guardian;
	struct memory memory;
	struct spawn_world world;
	int null_fd;             // /dev/null for the children's stdin, or -1
	int wake_fd;             // wakes the event loop, or -1
	bool has_terminal;       // there is a terminal, which stops jobs that use it without --tty
	atomic_bool has_reported; // a message has said that nothing runs because nothing can be started
	atomic_bool has_stopped; // a message has said that the terminal stopped a job
};

// children_reserve() reserves an entry of the guardian's table, for spawn_config.listed. children_release() gives the entry back
// if the child did not start.
atomic_int *children_reserve(struct children *children, struct running_child *running);
void children_release(struct children *children, struct running_child *running);

// Lists a child that was just started. If termination has begun, the child is signalled at once.
void children_list(struct children *children, struct running_child *running);

// Unlists a child that has ended and was not reaped yet. If the child is marked, what is left of its group is killed. After this call
// the child's mark does not change.
void children_unlist(struct children *children, struct running_child *running);

// Warns, once in a run, if the child was stopped because it used the terminal, which only a job with --tty gets.
void children_note_stopped(struct children *children, const struct running_child *running);

// Called by the child's worker. Begins to end the child when its time is up, and sends the signals of the sequence that are due. The time
// is up at `deadline`, plus the time for which children_signal() has kept the child stopped. While the child is stopped, waits until it
// is continued or being ended. Returns when to call this again (now_ns() time), or TIME_NEVER.
uint64_t children_time_out(struct children *children, struct running_child *running, uint64_t deadline);

// Whether the child is being ended.
bool children_is_marked(struct children *children, const struct running_child *running);

// How long the start of a child, which fails again and again for lack of processes, memory or descriptors, has waited so far.
struct start_backoff {
	uint64_t pause;       // the last pause between two tries, in nanoseconds
	uint64_t alone_since; // the time since which no other child has been running; 0: another child runs
};

// Waits, after a start that failed with `error`, until another child has ended, or for a while. Returns false if another try is
// useless: `refusal` is set, or there was no other child for too long.
bool children_wait_room(struct children *children, struct start_backoff *backoff, int error, const atomic_bool *refusal);
