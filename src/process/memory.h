// Holds jobs back until there is memory for them. A job may declare its need (`memory` of a manifest): a cgroup v2 then limits it,
// where fairpar has a cgroup of its own. With --memory=auto the need of other jobs is learned from their batch.
//
// A job starts when the available memory is enough for its need and for what the running jobs need and do not have yet; first come, first
// served. A job with a declared need may also wait for memory that other programs use; if it needs more than the machine has, it runs
// alone.
//
// The learned need is the most memory that any of the last 50 jobs of the batch had, and an eighth more. Before the first job of a batch has ended,
// only one of its jobs runs; before the second has ended, at most two; before the third, at most four. Jobs of other batches may start meanwhile.
// A part of the memory is left to other programs. A job with a learned need always starts if no other job runs.

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

#define MEMORY_NEED_MOST (UINT64_C(1) << 46) // a job's need counts as no more than this, so that sums of needs do not overflow

enum { MEMORY_LAST = 50 };

// How much memory the jobs of a batch had. Zeroed: nothing is known. Guarded by the lock of `struct memory`.
struct memory_learned {
	uint64_t last[MEMORY_LAST];     // bytes that each of the jobs that ended last had, in a ring
	uint64_t ended;                 // how many jobs have ended
	unsigned running, suspended;    // how many admitted jobs of the batch do not wait for other jobs; how many wait for other jobs
	atomic_uint_least64_t most;     // the greatest of `last`. Read without a lock
};

enum memory_mode { MEMORY_UNKNOWN, MEMORY_CGROUP, MEMORY_ADMISSION }; // not found out; cgroups limit jobs; jobs only wait for memory

struct memory {
	mutex lock;             // guards all but constants (proc_root, asked_root, ledger) and `root`, which is constant once `mode` is set
	cond changed;           // signalled when `nchanges` grows
	uint64_t nchanges;      // counts the changes after which a waiting claim may be admitted
	enum memory_mode mode;  // found out by the first claim with a declared need
	bool proven;            // a job has entered a cgroup
	atomic_bool has_waited, has_exceeded, has_missed; // a message has said that a job waits; that a job needs too much; that figures are missing
	const char *proc_root;  // proc_root(), or another directory in tests
	const char *asked_root; // $FAIRPAR_CGROUP_ROOT, or NULL
	struct cgroup_root root;
	struct list waiting;    // claims that wait, in the order in which they came; the thread that opened a claim decides whether it is admitted
	struct list admitted;   // claims of jobs that run, are about to start, or wait for other jobs
	size_t nadmitted, nsuspended; // how many admitted jobs do not wait for other jobs; how many wait for other jobs
	uint64_t alone_due;     // if nadmitted is 0: from this time on (now_ns()) a job may start alone even if no other job waits for it
	struct memory_ledger *ledger; // makes the needs of other fairpars' jobs count, too; or NULL. May be set by the caller before the first claim
	const struct memory_claim *tried; // the claim that is being decided, or NULL; this process's entry in the ledger includes that claim
	uint64_t wants;         // if the claim that was decided last must wait: the bytes that it needs; else 0. Always 0 without a ledger
	uint64_t available, total; // bytes as read last; 0: not read yet
	uint64_t fresh_until;   // now_ns() time: `available` and `total` are read again after it
	uint64_t kills;         // how many of memory_room.kills came before the first claim with `learned`, or were ascribed to a job since
	bool counts_kills;      // `kills` is set, as a claim with `learned` was opened
	uint64_t want_due;      // now_ns() time before which the memory of the running jobs is not sampled again
};

// What one job needs: child_config.claim. A zeroed claim is closed.
struct memory_claim {
	uint64_t bytes;     // the need that the job declares; 0: the need is the one that `learned` shows
	struct memory_learned *learned; // what was learned of the job's batch, borrowed; NULL: nothing is learned from the job. Set by the caller
	uint64_t expected;  // the most bytes that any job of the batch had used before this job started
	const char *label;  // the job's label, for messages; borrowed
	const void *origin; // child_config.origin, for memory_set_waiting(). Set by the caller
	const atomic_bool *awaited; // set while another job waits for this job: then this job starts before others. NULL: no job waits. Set by the caller
	// Called once, without a lock, if the claim has to wait, with the bytes that it needs (0: not known yet); or NULL. Set by the caller
	void (*waits)(void *arg, uint64_t bytes);
	void *waits_arg;
	struct list link;   // in memory.waiting or memory.admitted
	bool is_open;       // between memory_claim_open() and memory_claim_close()
	bool starts_alone;  // the job may start if no other job runs, however little is available
	bool is_admitted;   // the claim is in memory.admitted, or about to be
	bool is_waiting;    // the claim is admitted, and its job waits for other jobs
	pid_t pid;          // pid of the job's process; 0 until it runs
	struct cgroup group; // the cgroup of the job, if the job has one
};

// Initializes the struct. Reads only the environment (FAIRPAR_CGROUP_ROOT); all else is read for the first claim.
void memory_init(struct memory *memory);
// Gives up the cgroup (cgroup_root_close()) and closes the ledger. To be called when no claim is open any more and the guardian has ended.
void memory_fini(struct memory *memory);

// Opens the claim for `bytes`, or, if `bytes` is 0, for the need that `learned` shows. The claim must be closed, or zeroed except for the
// members that the caller sets. Waits until the job may start, and returns true; or returns false once `refusal` is set (the thread that
// sets `refusal` then calls memory_wake()). The claim is open in either case.
bool memory_claim_open(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label,
                       const atomic_bool *refusal) FP_NODISCARD;

// Opens the claim if there is room for `bytes` now, beside the claims of the other fairpars; the job gets no cgroup. Returns false if there
// is no room, with *ret_again: when to try again (now_ns() time). For a process that has no other claim.
bool memory_claim_try(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label, uint64_t *ret_again) FP_NODISCARD;

// Makes the job's cgroup, if the job is to have one and has none yet. Returns 0, or -1 with errno.
int memory_claim_prepare(struct memory *memory, struct memory_claim *claim) FP_NODISCARD;

// To be called after a start that failed with `error` because of the cgroup. If no cgroup has ever worked, gives cgroups up for all jobs,
// with a message. If cgroups are given up, now or before, closes the claim and returns true: the caller opens the claim again and tries
// the start again. Else returns false.
bool memory_claim_renounce(struct memory *memory, struct memory_claim *claim, int error) FP_NODISCARD;

// Says that the claim's job runs, as process `pid`. This call and the next two do nothing for a claim that is NULL or closed.
void memory_claim_started(struct memory *memory, struct memory_claim *claim, pid_t pid);

// Says that the job has ended, that its largest process had `resident` bytes (getrusage(2)), and whether it was killed by SIGKILL
// that fairpar did not send (`is_killed`). To be called before memory_claim_close(). Returns true if the kernel killed the job for want
// of memory. Returns false without `learned`, and for a job with a cgroup: there memory_claim_close() tells whether the kernel did so.
bool memory_claim_learn(struct memory *memory, struct memory_claim *claim, uint64_t resident, bool is_killed);

// Closes the claim: its job has ended or did not start. Returns true if the kernel killed one of the job's processes at the limit of its cgroup.
bool memory_claim_close(struct memory *memory, struct memory_claim *claim);

// Says that the job with that origin begins to wait for other jobs (`waits` is true), or stops waiting. While the job waits, its declared
// memory is free for other jobs, but its learned need stays reserved, as the job still uses that memory. If all jobs that run wait, a
// job that may start alone (memory_claim.starts_alone) does so even if it does not fit: at once if it is awaited, else after five seconds.
void memory_set_waiting(struct memory *memory, const void *origin, bool waits);

// Prints on standard error how many jobs wait for memory, if any, and the need of the next one.
void memory_show_waiting(struct memory *memory);

// Makes the jobs that wait look at their `refusal` again.
void memory_wake(struct memory *memory);

// The rule for a batch whose need is learned. Returns true if its next job must wait until more is known, while `running` of its jobs run.
bool memory_learned_holds_back(const struct memory_learned *learned, unsigned running);
// The bytes that a job of the batch is expected to need; 0: nothing is known.
uint64_t memory_learned_need(const struct memory_learned *learned);
// Adds a job of the batch that has ended, and has had `bytes` bytes.
void memory_learned_end(struct memory_learned *learned, uint64_t bytes);

// ---- how much memory the cgroups of this process leave it

struct memory_room {
	uint64_t limit; // the lowest of the limits; UINT64_MAX: none is set
	uint64_t left;  // the least that is left below any of the limits, counting inactive file cache as free; UINT64_MAX: none is set
	uint64_t kills; // processes in this process's cgroup that the kernel has killed so far for want of memory; 0 if the kernel does not tell
};

// Looks at the cgroup of this process and at those above it, of v2 (memory.max) and of v1 (memory.limit_in_bytes). `root` is put
// before /proc/self and the mounts found there: "" except in tests. What cannot be read sets no limit.
struct memory_room memory_room_observe(const char *root);

// ---- reading and showing numbers of bytes

// Returns the number of bytes in the form "1.5G". The text stays valid during one further call on this thread.
const char *memory_show(uint64_t bytes);

// Gets N, in bytes, from the line "NAME N kB" in the text of /proc/meminfo; `name` has the colon. Returns false if there is no such line.
bool meminfo_find(const char *text, const char *name, uint64_t *ret_bytes) FP_NODISCARD;

// ---- the ledger: a file that all fairpars which share slots map; each has an entry there, which says how much memory its jobs need ----

struct memory_ledger;

// Opens the file, which is made if it is missing. Returns what memory_ledger_close() frees, or NULL with errno.
struct memory_ledger *memory_ledger_open(const char *path) FP_NODISCARD;
void memory_ledger_close(struct memory_ledger *ledger); // NULL-safe

// What a process tells the other fairpars about its jobs, and about the job that it may be about to start.
struct memory_entry {
	uint64_t reserved;   // bytes that its jobs of known need may use
	uint64_t unknown;    // number of its other jobs: the reader of the ledger estimates their need
	uint64_t need;       // bytes that the largest of its jobs needs
	uint64_t wants;      // bytes that the process waits for; fairpars that began to wait later leave them free
};
void memory_ledger_publish(struct memory_ledger *ledger, const struct memory_entry *entry);

struct memory_others {
	uint64_t bytes;      // bytes that the jobs of the other fairpars need and do not have yet
	uint64_t need;       // bytes that the largest of their jobs needs
	bool has_jobs;       // other fairpars have jobs, or wait before this process: so only a job that fits starts. False in a job of one of them
};

// Sums up the entries of the other fairpars, but not of those in whose jobs this process runs, as these jobs only wait. `unknown`: the bytes counted
// for each job of unknown need; 0: as many as their largest job needs. With `samples` subtracts the memory that their jobs have already, which takes
// some system calls for each process; else counts all that they have reserved. Returns zeros if `ledger` is NULL.
struct memory_others memory_ledger_look(struct memory_ledger *ledger, uint64_t unknown, bool samples);
