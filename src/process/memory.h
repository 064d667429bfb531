// The memory that jobs say they need, or were seen to need: a limit of what is said where a cgroup v2 is fairpar's own, else a
// start that waits for it.
//
// Without a cgroup the rule is: a job starts when as much memory is available as it has declared and as those that run
// have declared and not yet used; first come, first served. One that needs more than the machine has starts when no
// other job with a declaration runs.
//
// The same rule holds for jobs of whose batch it is learned what they need (memory_learned.h), in a cgroup, too: that is no
// limit for them, but tells their peak (cgroup.h), of as many as it costs little for. Of the others, and where there is none, /proc
// and getrusage(2) tell. A part of the memory is left to others, a job that would be the only one always starts, and those that
// wait until more is known are passed by.

#ifndef FAIRPAR_PROCESS_MEMORY_H
#define FAIRPAR_PROCESS_MEMORY_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/sync.h"
#include "process/cgroup.h"
#include "process/memory_learned.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum memory_mode { MEMORY_UNKNOWN, MEMORY_FINDING, MEMORY_CGROUP, MEMORY_ADMISSION };

struct memory {
	mutex lock;             // of all but what is set before the mode and constant after it
	cond found;             // the mode is known
	enum memory_mode mode;  // found out by the first claim
	bool proven;            // a job has entered a cgroup with a limit
	bool is_untold;         // there are none, and nobody has been told so
	atomic_bool has_waited, has_exceeded, has_missed; // there was a message for these
	const char *meminfo;    // /proc/meminfo
	const char *asked_root; // $FAIRPAR_CGROUP_ROOT, or NULL
	const char *groups_root; // of memory_room_observe(), or NULL: the limits of cgroups do not count
	struct cgroup_root root;
	struct list waiting;    // claims; the first is the one to be looked at, by its own thread
	struct list admitted;   // those of jobs that run, or are about to, or wait for others:
	size_t nadmitted, nsuspended; // the latter are not counted among the former
	uint64_t alone_due;     // when none is left but those: what they do not wait for may start then
	uint64_t nended;
	uint64_t reserved;      // bytes, for those admitted, but not what those have declared that wait for others
	uint64_t available, total; // as read last, less what is left to others
	uint64_t fresh_until;   // these figures are (now_ns() time)
	uint64_t kills;         // by the kernel, of which it is known whose they were or that they are nobody's
	bool counts_kills;      // … since the first job of which is learned what it needs
	uint64_t look_due;      // no look at the jobs before that for want of memory,
	uint64_t sample_due;    // … or to learn
	uint64_t group_due;     // no cgroup for a job without a limit before that
};

// The declaration of one job, in the memory of its child_run(). Zeroed, with bytes 0, it does nothing at all.
struct memory_claim {
	uint64_t bytes;     // 0 with the next one
	struct memory_learned *learned; // of its batch, borrowed, or NULL. By who opens it
	uint64_t began;     // its start (now_ns() time)
	uint64_t seen;      // the most that the job was seen to have
	uint64_t used;      // what it had at the look that goes on, or 0
	const char *label;  // of the job, for messages
	const void *origin; // child_config.origin, for memory_set_waiting(); by who opens it
	const atomic_bool *awaited; // another job waits for this one, and it goes before others; or NULL. By who opens it
	// Called once if it has to wait, with no lock held, with what it needs: bytes, 0: not known yet; or NULL. By who opens it
	void (*waits)(void *arg, uint64_t bytes);
	void *waits_arg;
	struct list link;
	cond turn;
	bool is_open;       // between memory_claim_open() and memory_claim_close()
	bool is_admitted;   // in the list
	bool is_waiting;    // … and its job for others
	pid_t pid;          // 0 until it runs
	struct cgroup group;
};

// Nothing is looked at before the first claim but the environment (FAIRPAR_CGROUP_ROOT).
void memory_init(struct memory *memory);
// Gives back the cgroup. When no claim is open any more, and the guardian has gone.
void memory_fini(struct memory *memory);

// Opens the claim, of which only `waits`, its argument, `origin`, `awaited` and `learned` are set, for `bytes` (> 0), or for what is
// learned (`bytes` is 0): returns true once the job may start, or false when `refusal` was set before that and memory_wake() called behind it. The claim is open in either case.
bool memory_claim_open(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label,
                       const atomic_bool *refusal) FP_NODISCARD;

// Makes the job's cgroup, if there are any and it was not made before. Returns 0, or -1 with errno; a learned one does without it.
int memory_claim_prepare(struct memory *memory, struct memory_claim *claim) FP_NODISCARD;

// After a start that failed with `error` because of the cgroup: true if it is to be tried without. That of a learned claim is
// removed. Else it is true if none has ever worked: then there are no cgroups any more, with one message, and the claim is closed, to
// be opened again.
bool memory_claim_renounce(struct memory *memory, struct memory_claim *claim, int error) FP_NODISCARD;

// The job runs.
void memory_claim_started(struct memory *memory, struct memory_claim *claim, pid_t pid);

// The job has ended, and its largest process had that many bytes (getrusage(2)); `is_killed`: by SIGKILL, and not by fairpar.
// Before memory_claim_close(). Returns whether that was the kernel, for want of memory.
bool memory_claim_learn(struct memory *memory, struct memory_claim *claim, uint64_t resident, bool is_killed);

// The job has ended or did not start. Returns whether the kernel killed of it for want of memory.
bool memory_claim_close(struct memory *memory, struct memory_claim *claim);

// The job with that origin waits for others, and what it has declared is theirs; or does no longer: then it counts at once.
// What it was learned to need stays reserved: it has it still. Of the others one that fits beside it may start, or one that is awaited
// when none runs; any other only when none has run for a while, or what is awaited had nothing left to start with.
void memory_set_waiting(struct memory *memory, const void *origin, bool waits);

// Says on standard error how many jobs wait for memory, if any, and how much the next one is to need.
void memory_show_waiting(struct memory *memory);

// Makes those who wait look at their `refusal`.
void memory_wake(struct memory *memory);

// The rule: whether `need` bytes and all of `unused`, of `n` elements, are available.
bool memory_fits(uint64_t need, const uint64_t *unused, size_t n, uint64_t available);

// "1.5G", in one of two buffers of the thread.
const char *memory_show(uint64_t bytes);

// The bytes of the line "NAME N kB" in the text of /proc/meminfo, `name` with its colon; returns false if there is none.
bool meminfo_find(const char *text, const char *name, uint64_t *ret_bytes) FP_NODISCARD;

#endif
