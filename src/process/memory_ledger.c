// The memory that is reserved for the jobs of several fairpars that share slots: a file that each of them maps.

#include "process/memory_ledger.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/temp_file.h"
#include "process/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ENTRIES = 4096, ANCESTORS = 64, PID_BITS = 22 }; // PID_MAX_LIMIT is 2^22 (proc(5))

struct shared_entry {
	atomic_uint_least64_t key;   // the process: its start, in ticks, and its number; 0: never used
	atomic_uint_least64_t reserved, unknown, need, wants;
	atomic_uint_least64_t since; // it waits: now_ns() time, which is that of all processes
};

struct shared_ledger {
	atomic_uint_least64_t used;  // entries from here on were never used
	struct shared_entry entries[ENTRIES];
};

struct memory_ledger {
	struct shared_ledger *shared;
	struct shared_entry *own;
	pid_t ancestors[ANCESTORS];
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
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct memory_ledger *ledger = NEW(struct memory_ledger);
	bool has_file = fd >= 0 && ftruncate(fd, sizeof(struct shared_ledger)) == 0;
	ledger->shared = has_file ? shared_memory_map(fd, sizeof(struct shared_ledger)) : NULL;
	if (!ledger->shared || !take_entry(ledger)) {
		int error = errno;
		memory_ledger_close(ledger);
		ledger = NULL;
		errno = error;
	} else {
		uint64_t start;
		pid_t pid = getpid();
		while (ledger->nancestors < ANCESTORS && (pid = proctree_parent(pid, &start)) > 0) {
			ledger->ancestors[ledger->nancestors++] = pid;
		}
	}
	fd_close(&fd);
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

static bool is_ancestor(const struct memory_ledger *ledger, pid_t pid) {
	for (unsigned i = 0; i < ledger->nancestors; ++i) {
		if (ledger->ancestors[i] == pid) {
			return true;
		}
	}
	return false;
}

// Does this process wait behind the other one?
static bool is_behind(const struct shared_entry *own, const struct shared_entry *other) {
	uint64_t since = atomic_load(&own->since), theirs = atomic_load(&other->since);
	return atomic_load(&other->wants) > 0 && (atomic_load(&own->wants) == 0 || theirs < since || (theirs == since && other < own));
}

// Is it that of another process that has jobs, or waits for them before this one does?
static bool counts(const struct memory_ledger *ledger, const struct shared_entry *entry, bool *ret_is_below) {
	uint64_t key = atomic_load(&entry->key);
	bool has_jobs = atomic_load(&entry->reserved) > 0 || atomic_load(&entry->unknown) > 0;
	if (entry == ledger->own || (!has_jobs && !is_behind(ledger->own, entry)) || is_free(key)) {
		return false;
	}
	bool is_above = is_ancestor(ledger, pid_of(key));
	*ret_is_below |= is_above;
	return !is_above;
}

struct memory_others memory_ledger_look(struct memory_ledger *ledger, uint64_t unknown, bool samples) {
	struct memory_others others = {0};
	uint64_t used = atomic_load(&ledger->shared->used);
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
		uint64_t has = samples ? proctree_memory(pid_of(atomic_load(&entry->key))) : 0;
		others.bytes += (needs > has ? needs - has : 0) + (is_behind(ledger->own, entry) ? atomic_load(&entry->wants) : 0);
		others.has_jobs = true;
	}
	others.has_jobs = others.has_jobs && !is_below; // else the job that this process is in waits for it, and holds up the others
	return others;
}
