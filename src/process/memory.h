// Holds jobs back until there is memory for them. A job may declare its need (`memory` of a manifest): a cgroup v2 then limits it,
// where fairpar has a cgroup of its own. With --memory=auto the need of other jobs is learned from their batch.
//
// A job starts when the available memory holds its need and what the running jobs need and do not have yet; first come, first
// served. A job with a declared need may wait for other programs, too; if it needs more than the machine has, it runs alone.
//
// The learned need is the most that one of the last 50 jobs of the batch had, and an eighth more. Until three of them have ended, the
// batch runs one, two, then four jobs at once, and jobs of other batches pass. A part of the memory is left to other programs. A job
// always starts if no other one runs.

#pragma once

#include "base/atomic.h"
#include "base/attr.h"
#include "base/list.h"
#include "base/sync.h"
#include "process/cgroup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEMORY_NEED_MOST (UINT64_C(1) << 46) // bytes of a job, so that the sum of all is a number

enum { MEMORY_LAST = 50 };

// What the jobs of a batch had. Zeroed: nothing is known. Guarded by the lock of `struct memory`.
struct memory_learned {
	uint64_t last[MEMORY_LAST];     // bytes that the last jobs to end had, in a ring
	uint64_t ended;                 // jobs
	unsigned running, suspended;    // jobs that do not wait for others; jobs that do
	atomic_uint_least64_t most;     // the greatest of `last`. Read without a lock
};

enum memory_mode { MEMORY_UNKNOWN, MEMORY_CGROUP, MEMORY_ADMISSION };

struct memory {
	mutex lock;             // of all but what is set before the mode and constant after it
	cond changed;           // … `nchanges`
	uint64_t nchanges;      // so far, of what those that wait look at
	enum memory_mode mode;  // found out by the first claim that says what it needs
	bool proven;            // a job has entered a cgroup
	atomic_bool has_waited, has_exceeded, has_missed; // there was a message for these
	const char *meminfo;    // /proc/meminfo
	const char *asked_root; // $FAIRPAR_CGROUP_ROOT, or NULL
	const char *groups_root; // of memory_room_observe(), or NULL: the limits of cgroups do not count
	struct cgroup_root root;
	struct list waiting;    // claims; the first is decided first, by its own thread
	struct list admitted;   // claims of jobs that run, are about to start, or wait for other jobs
	size_t nadmitted, nsuspended; // of these: jobs that do not wait for others; jobs that do
	uint64_t alone_due;     // with nadmitted 0: from this time on (now_ns() time) also a job may start that nobody awaits
	struct memory_ledger *ledger; // of the fairpars that share slots, or NULL
	const struct memory_claim *tried; // is to start if there is room; counts in the ledger already
	uint64_t wants;         // bytes that the first of `waiting` did not find; 0 without a ledger
	uint64_t available, total; // bytes as read last; 0: never
	uint64_t fresh_until;   // now_ns() time: both are read again after it
	uint64_t kills;         // by the kernel in the own cgroups, as far as they are attributed to a job, or were there before
	bool counts_kills;      // `kills` is set: a claim that learns was opened
	uint64_t want_due;      // now_ns() time: the running jobs are not looked at before it
};

// What one job needs, in the memory of its child_run(). Zeroed, with bytes 0, it does nothing at all.
struct memory_claim {
	uint64_t bytes;     // that the job says; 0: what `learned` says
	struct memory_learned *learned; // of its batch, borrowed, or NULL: nothing is learned from it. Set by the caller
	uint64_t expected;  // the most that one of its batch had, when it started
	const char *label;  // of the job, for messages; borrowed
	const void *origin; // child_config.origin, for memory_set_waiting(). Set by the caller
	const atomic_bool *awaited; // true: another job waits for this one, and it goes before others; or NULL. Set by the caller
	// Called once if it has to wait, without a lock, with the bytes that it needs (0: not known yet); or NULL. By the caller
	void (*waits)(void *arg, uint64_t bytes);
	void *waits_arg;
	struct list link;
	bool is_open;       // between memory_claim_open() and memory_claim_close()
	bool starts_alone;  // whatever is available, if no other job runs
	bool is_admitted;   // in the list
	bool is_waiting;    // … and its job for others
	pid_t pid;          // 0 until it runs
	struct cgroup group;
};

// Nothing is read before the first claim but the environment (FAIRPAR_CGROUP_ROOT).
void memory_init(struct memory *memory);
// Gives back the cgroup. When no claim is open any more, and the guardian has gone.
void memory_fini(struct memory *memory);

// From now on what the jobs of other fairpars are to need counts, too: of all that name the same file (the ledger below). Before the first
// claim. Returns 0, or -1 with errno.
int memory_share(struct memory *memory, const char *path) FP_NODISCARD;

// Opens the claim for `bytes`, or if that is 0 for what `learned` says. The claim is zeroed, but for what the caller sets, or was
// closed. Waits, and returns true once the job may start; or false if `refusal` was set before that; the
// thread that sets it then calls memory_wake(). The claim is open in either case.
bool memory_claim_open(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label,
                       const atomic_bool *refusal) FP_NODISCARD;

// Opens the claim for `bytes` beside those of the other fairpars, without a cgroup, if there is room now. Returns false if there is not;
// *ret_again: when to try again (now_ns() time). For a process that has no other claim.
bool memory_claim_try(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label, uint64_t *ret_again) FP_NODISCARD;

// Makes the job's cgroup, if it is to have one and it was not made before. Returns 0, or -1 with errno: ENOTSUP if another job has
// renounced cgroups meanwhile.
int memory_claim_prepare(struct memory *memory, struct memory_claim *claim) FP_NODISCARD;

// To be called after a start that failed with `error` because of the cgroup. Returns true if the start is to be tried again: if no
// cgroup has ever worked, or if cgroups were given up before. From then on none is used (with one message), and the claim is
// closed, to be opened again.
bool memory_claim_renounce(struct memory *memory, struct memory_claim *claim, int error) FP_NODISCARD;

// The job runs.
void memory_claim_started(struct memory *memory, struct memory_claim *claim, pid_t pid);

// The job has ended, and its largest process had that many bytes (getrusage(2)); `is_killed`: by SIGKILL, and not by fairpar.
// Before memory_claim_close(). Returns whether that was the kernel, for want of memory: never for a job with a cgroup, of which
// memory_claim_close() says it, or without `learned`.
bool memory_claim_learn(struct memory *memory, struct memory_claim *claim, uint64_t resident, bool is_killed);

// The job has ended or did not start. Returns true if the kernel has killed one of its processes at the limit of its cgroup.
bool memory_claim_close(struct memory *memory, struct memory_claim *claim);

// The job with that origin begins (`waits`) or stops waiting for other jobs. While it waits, its declared memory is free for others;
// its learned need stays reserved, as the job still uses that. Meanwhile a job starts if it fits beside the waiting one. If no job
// runs, an awaited job starts in any case, and any other one if none has run for a while or the awaited one could not start.
void memory_set_waiting(struct memory *memory, const void *origin, bool waits);

// Prints on standard error how many jobs wait for memory, if any, and the need of the next one.
void memory_show_waiting(struct memory *memory);

// Makes the jobs that wait look at their `refusal`.
void memory_wake(struct memory *memory);

// The rule for a batch. True if its next job must wait until more is known, while `running` of its jobs run.
bool memory_learned_holds_back(const struct memory_learned *learned, unsigned running);
// The bytes that a job of the batch is expected to need; 0: nothing is known.
uint64_t memory_learned_need(const struct memory_learned *learned);
// Adds a job of the batch that has ended, and has had `bytes` bytes.
void memory_learned_end(struct memory_learned *learned, uint64_t bytes);

// ---- how much memory the cgroups of this process leave it

struct memory_room {
	uint64_t limit; // the lowest of the limits; UINT64_MAX: none is set
	uint64_t left;  // the least that is left below one of them, counting inactive file cache as free; UINT64_MAX: none is set
	uint64_t kills; // processes of the own group that the kernel has killed so far for want of memory; 0 where it does not tell
};

// Looks at the cgroup of this process and at those above it, of v2 (memory.max) and of v1 (memory.limit_in_bytes). `root` is put
// before /proc/self and the mounts found there: "" but in tests. What cannot be read sets no limit.
struct memory_room memory_room_observe(const char *root);

// ---- figures

// "1.5G", in one of two buffers of the thread.
const char *memory_show(uint64_t bytes);

// The bytes of the line "NAME N kB" in the text of /proc/meminfo, `name` with its colon; returns false if there is none.
bool meminfo_find(const char *text, const char *name, uint64_t *ret_bytes) FP_NODISCARD;

// ---- what the jobs of several fairpars that share slots are to need: a file that each of them maps, with an entry for each ----

struct memory_ledger;

// Opens the file, which is made if it is missing. Returns what memory_ledger_close() frees, or NULL with errno.
struct memory_ledger *memory_ledger_open(const char *path) FP_NODISCARD;
void memory_ledger_close(struct memory_ledger *ledger); // NULL-safe

// The jobs of this process, and what it may have begun to start.
struct memory_entry {
	uint64_t reserved;   // bytes, of jobs of whose batch one has ended
	uint64_t unknown;    // number of other jobs, whose need the reader estimates
	uint64_t need;       // bytes of the largest one
	uint64_t wants;      // bytes that it waits for: fairpars that came later leave them free
};
void memory_ledger_publish(struct memory_ledger *ledger, const struct memory_entry *entry);

struct memory_others {
	uint64_t bytes;      // that they are yet to need
	uint64_t need;       // the largest of their jobs
	bool has_jobs;       // a job starts that does not fit only if they have none; also true if one is to wait for them
};

// Sums up the entries of the others, except for those in whose jobs this process runs, since they only wait. `unknown`: bytes of a job of which nothing is known, or 0:
// the largest of all. With `samples` less what they have, which takes some system calls for each of their processes; else all that is
// reserved counts.
struct memory_others memory_ledger_look(struct memory_ledger *ledger, uint64_t unknown, bool samples);
