// Holds jobs back until there is memory for them: for the need that they declare, or that the earlier jobs of their batch have shown.

#include "process/memory.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/text.h"
#include "process/proc.h"
#include "process/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	KNOWN = 3,           // how many jobs of a batch must have ended before the need of its other jobs is known
	OTHERS_PART = 20,    // one part in 20 of the memory is left to other programs by jobs that do not declare their need
	FRESH_MS = 250,      // how long a reading is used; jobs that start meanwhile count as if they had used nothing yet
	WANT_SAMPLE_MS = 10, // the least pause between two looks at the running jobs
	SAMPLE_PART = 50,    // the pause after a look is at least this many times as long as the look took
	ALONE_MS = 5000,     // for so long after the last running job has ended or begun to wait, only an awaited job may start alone
};

void memory_init(struct memory *memory) {
	*memory = (struct memory){.proc_root = proc_root(), .root = {.fd = -1}};
	mutex_init(&memory->lock, LOCK_MEMORY);
	cond_init(&memory->changed);
	list_init(&memory->waiting);
	list_init(&memory->admitted);
	const char *root = getenv("FAIRPAR_CGROUP_ROOT");
	memory->asked_root = root && *root ? root : NULL;
}

void memory_fini(struct memory *memory) {
	verify(list_is_empty(&memory->waiting) && list_is_empty(&memory->admitted));
	cgroup_root_close(&memory->root);
	memory_ledger_close(memory->ledger);
	cond_fini(&memory->changed);
	mutex_fini(&memory->lock);
}

// ---- how much memory is available ----

bool meminfo_find(const char *text, const char *name, uint64_t *ret_bytes) {
	uint64_t kb;
	if (!proc_find_number(text, name, &kb)) {
		return false;
	}
	*ret_bytes = kb > UINT64_MAX / 1024 ? UINT64_MAX : kb * 1024;
	return true;
}

// Reads how much memory is available. If that is not known, says so once, and jobs do not wait. With the lock, which is given back meanwhile.
static void read_available(struct memory *memory, uint64_t now) {
	uint64_t available, total;
	mutex_unlock(&memory->lock);
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	errno = 0;
	bool known = proc_read_joined(memory->proc_root, "/proc/meminfo", &text) == 0
		&& meminfo_find(buf_str(&text), "MemAvailable:", &available)
		&& meminfo_find(buf_str(&text), "MemTotal:", &total);
	int error = errno;
	if (!known && !atomic_exchange(&memory->has_missed, true)) {
		diag_warn("memory: '%s/proc/meminfo' does not say how much is available%s%s; jobs do not wait for memory", memory->proc_root, error ? ": " : "",
		          error ? strerror(error) : "");
	}
	struct memory_room room = memory_room_observe(memory->proc_root);
	mutex_lock(&memory->lock);
	memory->available = !known ? UINT64_MAX : available < room.left ? available : room.left;
	memory->total = !known ? UINT64_MAX : total < room.limit ? total : room.limit;
	memory->fresh_until = now + FRESH_MS * (uint64_t)NS_PER_MS;
}

const char *memory_show(uint64_t bytes) {
	static _Thread_local char texts[2][24];
	static _Thread_local unsigned turn;
	char *text = texts[turn++ % 2];
	double amount = (double)bytes;
	const char *unit = "BKMGTPE";
	for (; amount >= 1024 && unit[1]; ++unit) {
		amount /= 1024;
	}
	snprintf(text, sizeof(texts[0]), "%.4g%c", amount, *unit);
	return text;
}

// ---- how much memory a job is expected to need ----

bool memory_learned_holds_back(const struct memory_learned *learned, unsigned running) {
	return learned->ended < KNOWN && running >> learned->ended > 0;
}

uint64_t memory_learned_need(const struct memory_learned *learned) {
	uint64_t most = atomic_load_relaxed(&learned->most);
	return most < MEMORY_NEED_MOST / 2 ? most + most / 8 : MEMORY_NEED_MOST;
}

void memory_learned_end(struct memory_learned *learned, uint64_t bytes) {
	uint64_t most = 0;
	learned->last[learned->ended++ % MEMORY_LAST] = bytes;
	for (unsigned i = 0; i < MEMORY_LAST; ++i) {
		most = learned->last[i] > most ? learned->last[i] : most;
	}
	atomic_store_relaxed(&learned->most, most);
}

// Returns the bytes that the claim's job is expected to need; 0: nothing is known. With the lock, as the functions below.
static uint64_t need_of(const struct memory_claim *claim) {
	if (claim->bytes == 0) {
		return memory_learned_need(claim->learned);
	}
	return claim->bytes < MEMORY_NEED_MOST ? claim->bytes : MEMORY_NEED_MOST;
}

// Returns the bytes that are reserved for the job of an admitted claim.
static uint64_t reserved_for(const struct memory_claim *claim) {
	return claim->is_waiting && claim->bytes > 0 ? 0 : need_of(claim);
}

static uint64_t reserved_for_all(const struct memory *memory) {
	uint64_t sum = 0;
	list_for_each_entry(&memory->admitted, const struct memory_claim, claim, link) {
		sum += reserved_for(claim);
	}
	return sum;
}

// ---- what other fairpars are told ----

static void add_to_entry(struct memory_entry *entry, const struct memory_claim *claim) {
	uint64_t need = need_of(claim);
	entry->unknown += need == 0;
	entry->need = need > entry->need ? need : entry->need;
}

// Tells the other fairpars what is reserved. To be called when that has changed.
static void publish(struct memory *memory) {
	if (!memory->ledger) {
		return;
	}
	struct memory_entry entry = {.reserved = reserved_for_all(memory), .wants = memory->wants};
	list_for_each_entry(&memory->admitted, const struct memory_claim, claim, link) {
		add_to_entry(&entry, claim);
	}
	if (memory->tried) {
		entry.reserved += need_of(memory->tried);
		add_to_entry(&entry, memory->tried);
	}
	memory_ledger_publish(memory->ledger, &entry);
}

// ---- whether a job may start ----

// Adds the claim's job to the number of admitted jobs that do not wait (`change` is 1), or subtracts it (-1).
static void count(struct memory *memory, const struct memory_claim *claim, int change) {
	memory->nadmitted += (size_t)change;
	if (claim->learned) {
		claim->learned->running += (unsigned)change;
	}
	if (memory->nadmitted == 0) {
		memory->alone_due = now_ns() + ALONE_MS * (uint64_t)NS_PER_MS;
	}
}

// Notes that the claim's job waits for other jobs, or no longer does.
static void set_waiting(struct memory *memory, struct memory_claim *claim, bool waits) {
	claim->is_waiting = waits;
	memory->nsuspended += waits ? 1 : (size_t)-1;
	if (claim->learned) {
		claim->learned->suspended += waits ? 1 : -1U;
	}
	count(memory, claim, waits ? -1 : 1);
}

static bool is_awaited(const struct memory_claim *claim) {
	return claim->awaited && atomic_load_relaxed(claim->awaited);
}

// Returns whether no job has run for ALONE_MS: then a job may start alone even if no other job awaits it.
static bool is_due(const struct memory *memory) {
	return memory->nadmitted == 0 && now_ns() >= memory->alone_due;
}

// Returns whether the claim's job would be the only job that runs, and may therefore start even if it does not fit.
static bool is_alone(const struct memory *memory, const struct memory_claim *claim, const struct memory_others *others) {
	return !others->has_jobs && memory->nadmitted == 0
		&& (memory->nsuspended == 0 || is_awaited(claim) || is_due(memory));
}

// Returns how many bytes the running jobs, and those of other fairpars, need and do not have yet. It gives the lock back meanwhile,
// and reads the free memory last: so the memory that a job takes in between is counted twice, rather than not at all.
static uint64_t sample_unused(struct memory *memory, uint64_t need, struct memory_others *ret_others) {
	struct sample {
		pid_t pid; // the pid may be another process's by now: then one estimate is wrong
		uint64_t need;
	} *samples = xcalloc(memory->nadmitted + memory->nsuspended + 1, sizeof(*samples));
	size_t n = 0;
	uint64_t began = now_ns(), unused = 0;
	list_for_each_entry(&memory->admitted, const struct memory_claim, claim, link) {
		samples[n++] = (struct sample){.pid = claim->pid, .need = reserved_for(claim)};
	}
	mutex_unlock(&memory->lock);
	for (size_t i = 0; i < n; ++i) {
		uint64_t used = samples[i].pid && samples[i].need ? proctree_memory(samples[i].pid, false) : 0;
		unused += used < samples[i].need ? samples[i].need - used : 0;
	}
	free(samples);
	*ret_others = memory_ledger_look(memory->ledger, need, /* samples */ true);
	mutex_lock(&memory->lock);
	uint64_t now = now_ns(), pause = (now - began) * SAMPLE_PART, least = WANT_SAMPLE_MS * (uint64_t)NS_PER_MS;
	memory->want_due = now + (pause > least ? pause : least);
	read_available(memory, now);
	return unused + ret_others->bytes;
}

static bool fits(const struct memory *memory, uint64_t need, uint64_t unused, uint64_t left_to_others) {
	return unused + need + left_to_others <= memory->available;
}

// Returns whether there is room for the claim's job; if there is none, *ret_again: when to try again. The lock is given back meanwhile.
static bool has_room(struct memory *memory, const struct memory_claim *claim, uint64_t *ret_again) {
	uint64_t now = now_ns(), need = need_of(claim);
	struct memory_others others = memory_ledger_look(memory->ledger, need, /* samples */ false);
	*ret_again = now + (others.has_jobs ? (uint64_t)FRESH_MS * NS_PER_MS : NS_PER_S);
	need = need > 0 ? need : others.need;
	if (need == 0) {
		return true; // nothing is known of the need: this job is to show it
	}
	if (now >= memory->fresh_until) {
		read_available(memory, now);
	}
	uint64_t left = claim->bytes > 0 ? 0 : memory->total / OTHERS_PART, total = memory->total - left;
	if (need_of(claim) > total && !atomic_exchange(&memory->has_exceeded, true)) {
		mutex_unlock(&memory->lock);
		diag_warn("memory: '%s' needs %s%s, but all jobs together can have only %s; such jobs run alone", text_shows(claim->label), memory_show(need),
		          claim->bytes > 0 ? "" : ", like other jobs of its batch", memory_show(total));
		mutex_lock(&memory->lock);
	}
	bool starts_alone = claim->starts_alone || need > total;
	if ((starts_alone && is_alone(memory, claim, &others)) || fits(memory, need, reserved_for_all(memory) + others.bytes, left)) {
		return true; // mostly the job fits even if the running jobs have used nothing of their need yet: then these are not sampled
	}
	if (now < memory->want_due) {
		*ret_again = memory->want_due;
		return false;
	}
	uint64_t unused = sample_unused(memory, need, &others);
	return (starts_alone && is_alone(memory, claim, &others)) || fits(memory, need, unused, left);
}

// Returns whether the claim's job may start now. Tells the other fairpars of this job before it looks at what their jobs need.
static bool consider(struct memory *memory, const struct memory_claim *claim, uint64_t *ret_again) {
	memory->tried = claim;
	publish(memory);
	bool may = has_room(memory, claim, ret_again);
	memory->tried = may ? claim : NULL; // publish() counts the claim as `tried` until it is admitted
	memory->wants = may || !memory->ledger ? 0 : need_of(claim);
	publish(memory);
	return may;
}

// ---- waiting for memory ----

// Must the claim wait until more is known of its batch? Jobs of the batch that wait for other jobs count as running, unless the claim is awaited.
static bool is_held_back(const struct memory *memory, const struct memory_claim *claim) {
	const struct memory_learned *learned = claim->learned;
	return claim->bytes == 0 && memory_learned_holds_back(learned, learned->running + (is_awaited(claim) ? 0 : learned->suspended))
		&& !is_due(memory);
}

// Returns the first waiting claim that is awaited and not held back; if none is awaited, the first that is not held back; or NULL.
static struct memory_claim *first_of(const struct memory *memory) {
	struct memory_claim *first = NULL;
	list_for_each_entry(&memory->waiting, struct memory_claim, claim, link) {
		if (!is_held_back(memory, claim)) {
			if (memory->nsuspended == 0 || is_awaited(claim)) {
				return claim;
			}
			first = first ? first : claim;
		}
	}
	return first;
}

// Wakes the claims that wait, as something has changed for them.
static void note_change(struct memory *memory) {
	++memory->nchanges;
	cond_broadcast(&memory->changed);
}

// Admits the claim, as its job is about to start.
static void begin(struct memory *memory, struct memory_claim *claim) {
	list_push_back(&memory->admitted, &claim->link);
	claim->expected = claim->learned ? atomic_load_relaxed(&claim->learned->most) : 0;
	count(memory, claim, 1);
}

// Waits for the claim's turn and for its memory. Returns false if `refusal` is set.
static bool admit(struct memory *memory, struct memory_claim *claim, const atomic_bool *refusal) {
	list_push_back(&memory->waiting, &claim->link);
	while (!claim->is_admitted && !atomic_load_acquire(refusal)) { // pairs with the store of begin_termination()
		bool first = first_of(memory) == claim;
		uint64_t seen = memory->nchanges, again = memory->nadmitted == 0 && now_ns() < memory->alone_due ? memory->alone_due : TIME_NEVER;
		if (first && consider(memory, claim, &again)) {
			claim->is_admitted = !is_held_back(memory, claim); // held back if another job of its batch has just stopped waiting
			memory->tried = claim->is_admitted ? memory->tried : NULL;
		} else if (claim->waits) {
			void (*waits)(void *, uint64_t) = claim->waits;
			claim->waits = NULL;
			uint64_t bytes = need_of(claim);
			mutex_unlock(&memory->lock);
			waits(claim->waits_arg, bytes);
			mutex_lock(&memory->lock); // then the loop tries again
		} else if (!first || claim->starts_alone || memory->nadmitted > 0 || seen != memory->nchanges
		           || atomic_exchange(&memory->has_waited, true)) {
			while (seen == memory->nchanges && cond_wait_until(&memory->changed, &memory->lock, again)) { // the loop also goes on at the time `again`
			}
		} else {
			uint64_t available = memory->available;
			mutex_unlock(&memory->lock);
			diag_note("memory: '%s' waits for %s; %s is available", text_shows(claim->label), memory_show(claim->bytes),
			          memory_show(available));
			mutex_lock(&memory->lock);
		}
	}
	list_remove(&claim->link);
	memory->tried = memory->tried == claim ? NULL : memory->tried;
	if (claim->is_admitted) {
		begin(memory, claim);
	}
	memory->wants = list_is_empty(&memory->waiting) ? 0 : memory->wants;
	publish(memory);
	note_change(memory);
	return claim->is_admitted;
}

void memory_show_waiting(struct memory *memory) {
	mutex_lock(&memory->lock);
	const struct memory_claim *first = first_of(memory);
	uint64_t need = first ? need_of(first) : 0;
	size_t n = list_length(&memory->waiting);
	mutex_unlock(&memory->lock);
	if (n > 0) {
		diag_note("memory: %zu job%s for memory%s%s", n, n == 1 ? " waits" : "s wait", need ? "; the next job needs " : "",
		          need ? memory_show(need) : "");
	}
}

void memory_wake(struct memory *memory) {
	FP_HOLD(&memory->lock);
	note_change(memory);
}

// ---- whether a need is enforced by a cgroup, or jobs only wait ----

// Says that jobs get no cgroups, and the cause if the user asked for them.
static void report_admission(const struct memory *memory, const char *cause) {
	const char *loss = "jobs wait until the memory that they declare is available, but may take more";
	if (memory->asked_root) {
		diag_warn("memory: cannot use FAIRPAR_CGROUP_ROOT '%s': %s; %s", text_shows(memory->asked_root), cause, loss);
	} else {
		diag_note("memory: no cgroup v2 is delegated to fairpar; %s", loss);
	}
}

// Finds out, once, whether jobs can have cgroups.
static void find_mode(struct memory *memory) {
	if (memory->mode != MEMORY_UNKNOWN) {
		return;
	}
	const char *cause = cgroup_root_open(&memory->root, memory->asked_root, memory->proc_root);
	memory->mode = cause ? MEMORY_ADMISSION : MEMORY_CGROUP;
	if (cause) {
		mutex_unlock(&memory->lock);
		report_admission(memory, cause);
		mutex_lock(&memory->lock);
	}
}

bool memory_claim_open(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label,
                       const atomic_bool *refusal) {
	claim->bytes = bytes;
	claim->label = label ? label : "";
	claim->is_open = true;
	claim->starts_alone = bytes == 0;
	claim->group = (struct cgroup)CGROUP_NONE;
	FP_HOLD(&memory->lock);
	if (bytes > 0) {
		find_mode(memory);
	}
	if (claim->learned && !memory->counts_kills) {
		memory->counts_kills = true;
		memory->kills = memory_room_observe(memory->proc_root).kills;
	}
	bool is_limited = bytes > 0 && memory->mode == MEMORY_CGROUP;
	return is_limited ? !atomic_load_acquire(refusal) : admit(memory, claim, refusal);
}

bool memory_claim_try(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label, uint64_t *ret_again) {
	*claim = (struct memory_claim){.bytes = bytes, .label = label, .starts_alone = true, .group = CGROUP_NONE};
	FP_HOLD(&memory->lock);
	if (consider(memory, claim, ret_again)) {
		claim->is_open = claim->is_admitted = true;
		begin(memory, claim);
	}
	memory->tried = NULL;
	publish(memory);
	return claim->is_open;
}

int memory_claim_prepare(struct memory *memory, struct memory_claim *claim) {
	return claim->is_admitted || claim->group.number > 0 ? 0 : cgroup_create(&memory->root, claim->bytes, &claim->group);
}

bool memory_claim_renounce(struct memory *memory, struct memory_claim *claim, int error) {
	mutex_lock(&memory->lock);
	bool first = !memory->proven && memory->mode == MEMORY_CGROUP;
	memory->mode = first ? MEMORY_ADMISSION : memory->mode;
	bool renounced = memory->mode == MEMORY_ADMISSION;
	mutex_unlock(&memory->lock);
	if (first) {
		report_admission(memory, strerror(error));
	}
	if (renounced) {
		memory_claim_close(memory, claim);
	}
	return renounced;
}

void memory_claim_started(struct memory *memory, struct memory_claim *claim, pid_t pid) {
	if (!claim || !claim->is_open) {
		return;
	}
	fd_close(&claim->group.procs_fd);
	FP_HOLD(&memory->lock);
	claim->pid = pid;
	memory->proven = memory->proven || claim->group.number > 0;
}

void memory_set_waiting(struct memory *memory, const void *origin, bool waits) {
	FP_HOLD(&memory->lock);
	list_for_each_entry(&memory->admitted, struct memory_claim, claim, link) {
		if (claim->origin == origin && claim->is_waiting != waits) {
			set_waiting(memory, claim, waits);
			publish(memory);
			note_change(memory);
		}
	}
}

bool memory_claim_learn(struct memory *memory, struct memory_claim *claim, uint64_t resident, bool is_killed) {
	if (!claim || !claim->is_open || !claim->learned) {
		return false;
	}
	bool has_group = claim->group.number > 0;
	uint64_t peak = has_group ? cgroup_peak(&memory->root, &claim->group) : 0;
	peak = peak > resident ? peak : resident; // cgroup_peak() subtracts the present file cache, some of which may have come after the peak
	FP_HOLD(&memory->lock);
	bool ran_out = is_killed && !has_group && memory_room_observe(memory->proc_root).kills > memory->kills;
	if (ran_out) { // the job needs more than it had, or was expected to need: the double is taken as its need, at most the whole memory
		uint64_t most = memory->total > 0 ? memory->total : MEMORY_NEED_MOST;
		++memory->kills; // so that no other job counts the same kill
		peak = peak > claim->expected ? peak : claim->expected;
		peak = peak < most / 2 ? 2 * peak : peak < most ? most : peak;
	}
	memory_learned_end(claim->learned, peak);
	return ran_out;
}

bool memory_claim_close(struct memory *memory, struct memory_claim *claim) {
	if (!claim || !claim->is_open) {
		return false;
	}
	bool ran_out = false;
	if (claim->group.number > 0) {
		ran_out = cgroup_ran_out(&memory->root, &claim->group);
		cgroup_kill(&memory->root, &claim->group);
	}
	mutex_lock(&memory->lock);
	if (claim->is_admitted) {
		list_remove(&claim->link);
		if (claim->is_waiting) {
			set_waiting(memory, claim, false);
		}
		count(memory, claim, -1);
		publish(memory);
		note_change(memory);
	}
	mutex_unlock(&memory->lock);
	claim->is_open = claim->is_admitted = false;
	return ran_out;
}

// ---- how much memory the cgroups of this process leave it ----

// Facts are from the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst. The file of a v1 limit that is not set
// holds nearly 2^63, which is more than any machine has: a number from NO_LIMIT on is no limit.

#define NO_LIMIT (UINT64_C(1) << 60)

// The files in which one version of cgroups shows its figures.
static const struct memory_files {
	const char *controller;           // the controller of v1; NULL: the version is v2
	const char *limit, *used, *cache; // `limit` and `used` are files, `cache` is the name of a line of memory.stat
	const char *kills;                // the file with the line oom_kill
} versions[] = {
	{NULL, "/memory.max", "/memory.current", "inactive_file", "/memory.events"},
	{"memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file", "/memory.oom_control"},
};

struct look {
	const struct memory_files *files;
	struct memory_room *room;
	uint64_t kills;        // kills in this process's cgroup of that version
	bool is_own;           // `kills` was read in that cgroup itself, and not just at a mount point
};

static void look_at(void *arg, const char *dir, bool is_own) {
	struct look *look = arg;
	if (!look->is_own) { // the group may be mounted at several places: its kills count once
		look->kills = proc_number(dir, look->files->kills, "oom_kill", 0);
		look->is_own = is_own;
	}
	uint64_t limit = proc_number(dir, look->files->limit, NULL, UINT64_MAX);
	if (limit >= NO_LIMIT) {
		return;
	}
	uint64_t used = proc_number(dir, look->files->used, NULL, 0), cache = proc_number(dir, "/memory.stat", look->files->cache, 0);
	used -= cache < used ? cache : used;
	uint64_t left = limit > used ? limit - used : 0;
	look->room->limit = limit < look->room->limit ? limit : look->room->limit;
	look->room->left = left < look->room->left ? left : look->room->left;
}

struct memory_room memory_room_observe(const char *root) {
	struct memory_room room = {.limit = UINT64_MAX, .left = UINT64_MAX};
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); ++i) { // a hybrid machine has both versions, and the limits of both hold
		struct look look = {.files = &versions[i], .room = &room};
		cgroup_each_dir(root, versions[i].controller, look_at, &look);
		room.kills += look.kills; // the memory of a process is counted in one version alone
	}
	return room;
}

// ---- the ledger ----

enum { ENTRIES = 4096, ANCESTORS = 64, PID_BITS = 22 }; // PID_MAX_LIMIT is 2^22 (proc(5))

struct shared_entry {
	atomic_uint_least64_t key;   // names the process, by its start in ticks and its pid; 0: no process
	atomic_uint_least64_t reserved, unknown, need, wants;
	atomic_uint_least64_t since; // now_ns() time when the process began to wait; all processes have the same clock
};

struct shared_ledger {
	atomic_uint_least64_t used;  // index of the first entry that was never used
	struct shared_entry entries[ENTRIES];
};

struct memory_ledger {
	struct shared_ledger *shared;
	struct shared_entry *own;   // this process's entry
	pid_t ancestors[ANCESTORS]; // the pids of this process's parent, of that process's parent, and so on
	unsigned nancestors;
};

static uint64_t key_of(pid_t pid) {
	return (uint64_t)proctree_start_time(pid) << PID_BITS | (uint64_t)pid;
}

static pid_t pid_of(uint64_t key) {
	return (pid_t)(key & ((UINT64_C(1) << PID_BITS) - 1));
}

static bool is_free(uint64_t key) {
	return key == 0 || key_of(pid_of(key)) != key;
}

// Takes a free entry of the file for this process. Returns false with errno ENOSPC if none is free.
static bool take_entry(struct memory_ledger *ledger) {
	uint64_t own = key_of(getpid());
	for (uint64_t i = 0; i < ENTRIES; ++i) {
		struct shared_entry *entry = &ledger->shared->entries[i];
		uint64_t key = atomic_load(&entry->key);
		if (is_free(key) && atomic_compare_exchange_strong(&entry->key, &key, own)) {
			uint64_t used = atomic_load(&ledger->shared->used);
			while (used <= i && !atomic_compare_exchange_weak(&ledger->shared->used, &used, i + 1)) {
			}
			ledger->own = entry;
			memory_ledger_publish(ledger, &(struct memory_entry){0});
			return true;
		}
	}
	errno = ENOSPC;
	return false;
}

struct memory_ledger *memory_ledger_open(const char *path) {
	FP_CLEANUP(fd_close) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct memory_ledger *ledger = NEW(struct memory_ledger);
	bool has_file = fd >= 0 && ftruncate(fd, sizeof(struct shared_ledger)) == 0;
	ledger->shared = has_file ? shared_memory_map(fd, sizeof(struct shared_ledger)) : NULL;
	if (!ledger->shared || !take_entry(ledger)) {
		FP_KEEP_ERRNO;
		memory_ledger_close(ledger);
		return NULL;
	}
	uint64_t start;
	pid_t pid = getpid();
	while (ledger->nancestors < ANCESTORS && (pid = proctree_parent(pid, &start)) > 0) {
		ledger->ancestors[ledger->nancestors++] = pid;
	}
	return ledger;
}

void memory_ledger_close(struct memory_ledger *ledger) {
	if (ledger) {
		if (ledger->own) {
			atomic_store(&ledger->own->key, 0);
		}
		if (ledger->shared) {
			munmap(ledger->shared, sizeof(*ledger->shared));
		}
		free(ledger);
	}
}

void memory_ledger_publish(struct memory_ledger *ledger, const struct memory_entry *entry) {
	struct shared_entry *own = ledger->own;
	if (entry->wants > 0 && atomic_load(&own->wants) == 0) {
		atomic_store(&own->since, now_ns());
	}
	atomic_store(&own->wants, entry->wants);
	atomic_store(&own->need, entry->need);
	atomic_store(&own->unknown, entry->unknown);
	atomic_store(&own->reserved, entry->reserved);
}

// Returns whether the other process waits for memory, and this one does not wait, or began to wait later.
static bool is_behind(const struct shared_entry *own, const struct shared_entry *other) {
	uint64_t since = atomic_load(&own->since), theirs = atomic_load(&other->since);
	return atomic_load(&other->wants) > 0 && (atomic_load(&own->wants) == 0 || theirs < since || (theirs == since && other < own));
}

// Returns whether the entry counts: its process is not this one, and has jobs or waits before this process. An entry of a process in whose
// job this process runs does not count, and sets *ret_is_below.
static bool counts(const struct memory_ledger *ledger, const struct shared_entry *entry, bool *ret_is_below) {
	uint64_t key = atomic_load(&entry->key);
	bool has_jobs = atomic_load(&entry->reserved) > 0 || atomic_load(&entry->unknown) > 0;
	if (entry == ledger->own || (!has_jobs && !is_behind(ledger->own, entry)) || is_free(key)) {
		return false;
	}
	bool is_above = false;
	for (unsigned i = 0; i < ledger->nancestors; ++i) {
		is_above = is_above || ledger->ancestors[i] == pid_of(key);
	}
	*ret_is_below |= is_above;
	return !is_above;
}

struct memory_others memory_ledger_look(struct memory_ledger *ledger, uint64_t unknown, bool samples) {
	struct memory_others others = {0};
	uint64_t used = ledger ? atomic_load(&ledger->shared->used) : 0;
	bool is_below = false;
	for (uint64_t i = 0; i < used; ++i) {
		const struct shared_entry *entry = &ledger->shared->entries[i];
		uint64_t need = counts(ledger, entry, &is_below) ? atomic_load(&entry->need) : 0;
		others.need = need > others.need ? need : others.need;
	}
	unknown = unknown > 0 ? unknown : others.need;
	for (uint64_t i = 0; i < used; ++i) {
		const struct shared_entry *entry = &ledger->shared->entries[i];
		if (!counts(ledger, entry, &is_below)) {
			continue;
		}
		uint64_t needs = atomic_load(&entry->reserved) + atomic_load(&entry->unknown) * unknown;
		uint64_t has = samples ? proctree_memory(pid_of(atomic_load(&entry->key)), /* below */ true) : 0;
		others.bytes += (needs > has ? needs - has : 0) + (is_behind(ledger->own, entry) ? atomic_load(&entry->wants) : 0);
		others.has_jobs = true;
	}
	others.has_jobs = others.has_jobs && !is_below; // in a job of another fairpar a job may start alone, as the outer job only waits for it
	return others;
}
