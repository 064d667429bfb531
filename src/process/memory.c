// The memory that jobs say they need: a limit where a cgroup v2 is fairpar's own, else a start that waits for it.

#include "process/memory.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/text.h"
#include "process/proc.h"
#include "process/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

void memory_init(struct memory *memory) {
	*memory = (struct memory){.meminfo = "/proc/meminfo", .root = {.fd = -1}};
	mutex_init(&memory->lock, LOCK_MEMORY);
	cond_init(&memory->found);
	list_init(&memory->waiting);
	list_init(&memory->admitted);
	list_init(&memory->suspended);
	const char *root = getenv("FAIRPAR_CGROUP_ROOT");
	memory->asked_root = root && *root ? root : NULL;
#ifdef FAIRPAR_FAULTS
	const char *meminfo = getenv("FAIRPAR_MEMINFO");
	memory->meminfo = meminfo ? meminfo : memory->meminfo;
#endif
}

void memory_fini(struct memory *memory) {
	verify(list_is_empty(&memory->waiting) && list_is_empty(&memory->admitted));
	cgroup_root_close(&memory->root);
	cond_fini(&memory->found);
	mutex_fini(&memory->lock);
}

// ---- what there is ----

bool meminfo_find(const char *text, const char *name, uint64_t *ret_bytes) {
	uint64_t kb;
	if (!proc_find_number(text, name, &kb)) {
		return false;
	}
	*ret_bytes = kb > UINT64_MAX / 1024 ? UINT64_MAX : kb * 1024;
	return true;
}

// Without a lock. Returns false, with one message, if it is not known.
static bool measure(struct memory *memory, uint64_t *ret_available, uint64_t *ret_total) {
	struct buf text = BUF_INIT;
	errno = 0;
	bool known = proc_read(AT_FDCWD, memory->meminfo, &text) == 0
		&& meminfo_find(buf_str(&text), "MemAvailable:", ret_available)
		&& meminfo_find(buf_str(&text), "MemTotal:", ret_total);
	int error = errno;
	buf_fini(&text);
	if (!known && !atomic_exchange(&memory->has_missed, true)) {
		diag_warn("memory: no figures in '%s'%s%s; jobs do not wait for memory", memory->meminfo, error ? ": " : "",
		          error ? strerror(error) : "");
	}
	return known;
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

// ---- the rule ----

bool memory_fits(uint64_t need, const uint64_t *unused, size_t n, uint64_t available) {
	for (size_t i = 0; i < n; ++i) {
		if (unused[i] > available) {
			return false;
		}
		available -= unused[i];
	}
	return need <= available;
}

// Copies of what the admitted ones have declared, and of their pids.
struct admitted_claims {
	uint64_t *bytes;
	pid_t *pids;
	size_t n;
};

static struct admitted_claims admitted_copy(const struct memory *memory) {
	struct admitted_claims admitted = {.n = 0};
	admitted.bytes = xcalloc(memory->nadmitted + 1, sizeof(*admitted.bytes));
	admitted.pids = xcalloc(memory->nadmitted + 1, sizeof(*admitted.pids));
	list_for_each_entry(&memory->admitted, struct memory_claim, claim, link) {
		admitted.bytes[admitted.n] = claim->bytes;
		admitted.pids[admitted.n++] = claim->pid;
	}
	return admitted;
}

// Whether the claim may start beside those admitted, whose figures are adapted. Without the lock.
static bool may_start(struct memory *memory, const struct memory_claim *claim, struct admitted_claims *admitted,
                      uint64_t *ret_available) {
	uint64_t total;
	if (!measure(memory, ret_available, &total)) {
		return true;
	}
	if (claim->bytes > total) {
		if (!atomic_exchange(&memory->has_exceeded, true)) {
			diag_warn("memory: '%s' needs %s, and there is %s in all; such jobs run one at a time", text_shows(claim->label),
			          memory_show(claim->bytes), memory_show(total));
		}
		return admitted->n == 0;
	}
	if (memory_fits(claim->bytes, admitted->bytes, admitted->n, *ret_available)) {
		return true; // as if they had used nothing: so most need not be asked
	}
	for (size_t i = 0; i < admitted->n; ++i) {
		// its pid may be another's by now: that is an estimate that is wrong once
		uint64_t used = admitted->pids[i] ? proctree_memory(admitted->pids[i]) : 0;
		admitted->bytes[i] -= used < admitted->bytes[i] ? used : admitted->bytes[i];
	}
	// measured after it: what was used meanwhile counts twice and not never
	return admitted->n > 0 && (!measure(memory, ret_available, &total)
	                         || memory_fits(claim->bytes, admitted->bytes, admitted->n, *ret_available));
}

// ---- the wait ----

// Wakes the first of those who wait, under the lock: the others could not go before it.
static void wake_first(struct memory *memory) {
	if (!list_is_empty(&memory->waiting)) {
		cond_signal(&list_entry(memory->waiting.next, struct memory_claim, link)->turn);
	}
}

// Sleeps until there may be more, with the lock: until a job with a declaration ends; where none runs no signal comes.
static void wait_more(struct memory *memory, struct memory_claim *claim, uint64_t available) {
	if (memory->nadmitted > 0) {
		cond_wait(&claim->turn, &memory->lock);
		return;
	}
	if (!atomic_exchange(&memory->has_waited, true)) {
		mutex_unlock(&memory->lock);
		diag_note("memory: '%s' waits for %s; %s is available", text_shows(claim->label), memory_show(claim->bytes),
		          memory_show(available));
		mutex_lock(&memory->lock);
		return; // and look again: what happened meanwhile has woken nobody
	}
	cond_wait_until(&claim->turn, &memory->lock, now_ns() + NS_PER_S);
}

// Whether the claim may start now, with the lock, which is given back meanwhile; *ret_ended counts the ends before it.
static bool consider(struct memory *memory, struct memory_claim *claim, uint64_t *ret_ended, uint64_t *ret_available) {
	struct admitted_claims admitted = admitted_copy(memory);
	*ret_ended = memory->nended;
	mutex_unlock(&memory->lock);
	bool may = may_start(memory, claim, &admitted, ret_available);
	free(admitted.bytes);
	free(admitted.pids);
	mutex_lock(&memory->lock);
	return may;
}

// With the lock, which is given back meanwhile.
static void report_wait(struct memory *memory, struct memory_claim *claim) {
	void (*waits)(void *) = claim->waits;
	claim->waits = NULL;
	mutex_unlock(&memory->lock);
	waits(claim->waits_arg);
	mutex_lock(&memory->lock);
}

// Waits for its turn and for its memory, with the lock. Returns false if refused.
static bool admit(struct memory *memory, struct memory_claim *claim, const atomic_bool *refusal) {
	list_push_back(&memory->waiting, &claim->link);
	while (!claim->is_admitted && !atomic_load_acquire(refusal)) { // pairs with the store of begin_termination()
		uint64_t ended, available;
		bool first = memory->waiting.next == &claim->link;
		if (first && consider(memory, claim, &ended, &available)) {
			claim->is_admitted = true; // nobody else can have been admitted meanwhile: this one is the first
		} else if (claim->waits) {
			report_wait(memory, claim); // and look again
		} else if (!first) {
			cond_wait(&claim->turn, &memory->lock);
		} else if (ended == memory->nended && !atomic_load_acquire(refusal)) {
			wait_more(memory, claim, available);
		}
	}
	list_remove(&claim->link);
	if (claim->is_admitted) {
		list_push_back(&memory->admitted, &claim->link);
		++memory->nadmitted;
	}
	wake_first(memory);
	return claim->is_admitted;
}

void memory_wake(struct memory *memory) {
	mutex_lock(&memory->lock);
	list_for_each_entry(&memory->waiting, struct memory_claim, claim, link) {
		cond_signal(&claim->turn);
	}
	mutex_unlock(&memory->lock);
}

// ---- the way ----

// No cgroups: `cause` (NULL: the user did not ask for them).
static void report_admission(const struct memory *memory, const char *cause) {
	if (memory->asked_root) {
		diag_warn("memory: cannot use FAIRPAR_CGROUP_ROOT '%s': %s; jobs only wait until that much memory is available",
		          text_shows(memory->asked_root), cause);
	} else {
		diag_note("memory: no cgroup v2 is delegated to fairpar; jobs only wait until that much memory is available");
	}
}

// Finds out, once, what there is, with the lock, which is given back meanwhile.
static void find_mode(struct memory *memory) {
	while (memory->mode == MEMORY_FINDING) {
		cond_wait(&memory->found, &memory->lock);
	}
	if (memory->mode != MEMORY_UNKNOWN) {
		return;
	}
	memory->mode = MEMORY_FINDING;
	mutex_unlock(&memory->lock);
	const char *cause = cgroup_root_open(&memory->root, memory->asked_root);
	if (cause) {
		report_admission(memory, cause);
	}
	mutex_lock(&memory->lock);
	memory->mode = cause ? MEMORY_ADMISSION : MEMORY_CGROUP;
	cond_broadcast(&memory->found);
}

bool memory_claim_open(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label,
                       const atomic_bool *refusal) {
	*claim = (struct memory_claim){
		.bytes = bytes,
		.label = label ? label : "",
		.waits = claim->waits,
		.waits_arg = claim->waits_arg,
		.origin = claim->origin,
		.is_open = true,
		.group = CGROUP_NONE,
	};
	cond_init(&claim->turn);
	mutex_lock(&memory->lock);
	find_mode(memory);
	bool may = memory->mode == MEMORY_CGROUP ? !atomic_load_acquire(refusal) : admit(memory, claim, refusal);
	mutex_unlock(&memory->lock);
	return may;
}

int memory_claim_prepare(struct memory *memory, struct memory_claim *claim) {
	mutex_lock(&memory->lock);
	bool renounced = memory->mode != MEMORY_CGROUP;
	mutex_unlock(&memory->lock);
	if (claim->is_admitted || claim->group.number > 0) {
		return 0;
	}
	if (renounced) { // by another job, since this claim was opened
		errno = ENOTSUP;
		return -1;
	}
	return cgroup_create(&memory->root, claim->bytes, &claim->group);
}

bool memory_claim_renounce(struct memory *memory, struct memory_claim *claim, int error) {
	mutex_lock(&memory->lock);
	bool first = !memory->proven && memory->mode == MEMORY_CGROUP;
	bool renounced = first || memory->mode == MEMORY_ADMISSION;
	if (first) {
		memory->mode = MEMORY_ADMISSION;
	}
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
	if (!claim->is_open) {
		return;
	}
	cgroup_close(&claim->group);
	mutex_lock(&memory->lock);
	claim->pid = pid;
	memory->proven = memory->proven || claim->group.number > 0;
	mutex_unlock(&memory->lock);
}

void memory_set_waiting(struct memory *memory, const void *origin, bool waits) {
	mutex_lock(&memory->lock);
	list_for_each_entry(waits ? &memory->admitted : &memory->suspended, struct memory_claim, claim, link) {
		if (claim->origin == origin) {
			list_remove(&claim->link);
			list_push_back(waits ? &memory->suspended : &memory->admitted, &claim->link);
			claim->is_waiting = waits;
			memory->nadmitted += waits ? (size_t)-1 : 1;
			++memory->nended;
			wake_first(memory);
		}
	}
	mutex_unlock(&memory->lock);
}

bool memory_claim_close(struct memory *memory, struct memory_claim *claim) {
	if (!claim->is_open) {
		return false;
	}
	bool ran_out = false;
	if (claim->group.number > 0) {
		ran_out = cgroup_ran_out(&memory->root, &claim->group);
		cgroup_remove(&memory->root, &claim->group);
	}
	mutex_lock(&memory->lock);
	if (claim->is_admitted) {
		list_remove(&claim->link);
		memory->nadmitted -= !claim->is_waiting;
		++memory->nended;
		wake_first(memory);
	}
	mutex_unlock(&memory->lock);
	cond_fini(&claim->turn);
	claim->is_open = claim->is_admitted = false;
	return ran_out;
}
