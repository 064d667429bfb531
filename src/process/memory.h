// The memory that jobs say they need, or were seen to need: a limit of what is said where a cgroup v2 is fairpar's own, else a
// start that waits for it.
//
// Without a cgroup the rule is: a job starts when as much memory is available as it has declared and as those that run
// have declared and not yet used; first come, first served. One that needs more than the machine has starts when no
// other job with a declaration runs.
//
// The same rule holds for jobs without a declaration whose batch's need is learned (memory_learned.h), with cgroups too. Their
// cgroup sets no limit: it tells their peak (cgroup.h), and is made only for as many jobs as it costs little for. Of the other
// jobs /proc and getrusage(2) tell. A part of the memory is left to other programs, a job that would be the only one always
// starts, and a job that waits until more is known about its batch lets others pass.

#ifndef FAIRPAR_PROCESS_MEMORY_H
#define FAIRPAR_PROCESS_MEMORY_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/sync.h"
#include "process/cgroup.h"
#include "process/memory_ledger.h"
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
	bool is_unreported;     // there are none, and that was not reported yet
	atomic_bool has_waited, has_exceeded, has_missed; // there was a message for these
	const char *meminfo;    // /proc/meminfo
	const char *asked_root; // $FAIRPAR_CGROUP_ROOT, or NULL
	const char *groups_root; // of memory_room_observe(), or NULL: the limits of cgroups do not count
	struct cgroup_root root;
	struct list waiting;    // claims; the first is decided first, by its own thread
	struct list admitted;   // claims of jobs that run, are about to start, or wait for other jobs
	size_t nadmitted, nsuspended; // of these: jobs that do not wait for others; jobs that do
	uint64_t alone_due;     // with nadmitted 0: from this time on (now_ns() time) also a job may start that nobody awaits
	uint64_t nended;        // changes of the above so far, after which the first of `waiting` decides again
	struct memory_ledger *ledger; // of the fairpars that share slots, or NULL
	const struct memory_claim *tried; // is to start if there is room; counts in the ledger already
	uint64_t wants;         // bytes that the first of `waiting` did not find; 0 without a ledger
	uint64_t reserved;      // bytes for those admitted, without what suspended jobs have declared
	uint64_t available, total; // bytes as read last, less what is left to other programs
	uint64_t fresh_until;   // now_ns() time: both are read again after it
	uint64_t kills;         // by the kernel in the own cgroups, as far as they are attributed to a job, or were there before
	bool counts_kills;      // `kills` is set: a claim that is learned was opened
	uint64_t want_due;      // now_ns() time: no earlier sample of the jobs because memory is short,
	uint64_t sample_due;    // … or in order to learn
	uint64_t group_due;     // now_ns() time: no cgroup for a learned claim before it, as one has taken long or has failed
};

// The declaration of one job, in the memory of its child_run(). Zeroed, with bytes 0, it does nothing at all.
struct memory_claim {
	uint64_t bytes;     // declared; 0 for a learned claim
	struct memory_learned *learned; // of its batch, borrowed, or NULL. Set by the caller
	uint64_t began;     // its start (now_ns() time)
	uint64_t seen;      // the most bytes that the job was seen to have
	uint64_t used;      // bytes that it had at the sample that is being taken, or 0
	const char *label;  // of the job, for messages; borrowed
	const void *origin; // child_config.origin, for memory_set_waiting(). Set by the caller
	const atomic_bool *awaited; // true: another job waits for this one, and it goes before others; or NULL. Set by the caller
	// Called once if it has to wait, without a lock, with the bytes that it needs (0: not known yet); or NULL. By the caller
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

// Nothing is read before the first claim but the environment (FAIRPAR_CGROUP_ROOT).
void memory_init(struct memory *memory);
// Gives back the cgroup. When no claim is open any more, and the guardian has gone.
void memory_fini(struct memory *memory);

// From now on what the jobs of other fairpars are to need counts, too: of all that name the same file (memory_ledger.h). Before the first
// claim. Returns 0, or -1 with errno.
int memory_share(struct memory *memory, const char *path) FP_NODISCARD;

// Opens the claim for `bytes`, or if that is 0 for what `learned` says. Of the claim the caller has set `waits`, `waits_arg`,
// `origin`, `awaited` and `learned`. Waits, and returns true once the job may start; or false if `refusal` was set before that:
// whoever sets it calls memory_wake() behind it. The claim is open in either case.
bool memory_claim_open(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label,
                       const atomic_bool *refusal) FP_NODISCARD;

// Opens the claim for `bytes` beside those of the other fairpars, without a cgroup, if there is room now. Returns false if there is not;
// *ret_again: when to try again (now_ns() time). For a process that has no other claim.
bool memory_claim_try(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label, uint64_t *ret_again) FP_NODISCARD;

// Makes the job's cgroup, if cgroups are in use and it was not made before. Returns 0, or -1 with errno: ENOTSUP if another
// job has renounced cgroups meanwhile. A claim that is learned needs none: for it this never fails.
int memory_claim_prepare(struct memory *memory, struct memory_claim *claim) FP_NODISCARD;

// To be called after a start that failed with `error` because of the cgroup. Returns true if the start is to be tried again. For
// a learned claim it is always true: its cgroup is removed. For another claim it is true if no cgroup has ever worked, or if
// cgroups were given up before: from then on none is used (with one message), and the claim is closed, to be opened again.
bool memory_claim_renounce(struct memory *memory, struct memory_claim *claim, int error) FP_NODISCARD;

// The job runs.
void memory_claim_started(struct memory *memory, struct memory_claim *claim, pid_t pid);

// The job has ended, and its largest process had that many bytes (getrusage(2)); `is_killed`: by SIGKILL, and not by fairpar.
// Before memory_claim_close(). Returns whether that was the kernel, for want of memory.
bool memory_claim_learn(struct memory *memory, struct memory_claim *claim, uint64_t resident, bool is_killed);

// The job has ended or did not start. Returns true if the kernel has killed a process of it at its limit; never for a learned
// claim, of which memory_claim_learn() says it.
bool memory_claim_close(struct memory *memory, struct memory_claim *claim);

// The job with that origin begins (`waits`) or ends to wait for other jobs. While it waits, the bytes that it has declared are
// free for others; what it was learned to need stays reserved, as it still uses it. Meanwhile a job starts that fits beside it,
// or, if no job runs, one that is awaited; any other one only when none has run for a while, or when the awaited one could not
// start.
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
