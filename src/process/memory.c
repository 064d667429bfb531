// The memory that jobs say they need, or were seen to need: a cgroup v2 counts or limits it where one is fairpar's own, else a
// start waits for it, and /proc tells what there is.

#include "process/memory.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/text.h"
#include "process/memory_room.h"
#include "process/proc.h"
#include "process/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

enum {
	OTHERS_PART = 20,    // of the memory is left to others, where it is learned what jobs need
	FRESH_MS = 250,      // a reading holds then, and what starts meanwhile counts as if it had used nothing
	WANT_SAMPLE_MS = 10, // at least between two samples of the jobs, for want of memory; they take no more than a
	SAMPLE_PART = 50,      // … part of the time of one processor
	SAMPLE_MS = 1000,    // between samples of some jobs where there is no want
	SAMPLE_MOST = 16,
	ALONE_MS = 5000,     // no job starts before that only because the others wait: what they wait for is to come first
};

void memory_init(struct memory *memory) {
	*memory = (struct memory){.meminfo = "/proc/meminfo", .groups_root = "", .root = {.fd = -1}};
	mutex_init(&memory->lock, LOCK_MEMORY);
	cond_init(&memory->found);
	list_init(&memory->waiting);
	list_init(&memory->admitted);
	const char *root = getenv("FAIRPAR_CGROUP_ROOT");
	memory->asked_root = root && *root ? root : NULL;
#ifdef FAIRPAR_FAULTS
	const char *meminfo = getenv("FAIRPAR_MEMINFO");
	memory->groups_root = meminfo ? NULL : memory->groups_root; // what is made up is all there is
	memory->groups_root = getenv("FAIRPAR_ROOT") ? getenv("FAIRPAR_ROOT") : memory->groups_root;
	memory->meminfo = meminfo ? meminfo : memory->meminfo;
#endif
}

void memory_fini(struct memory *memory) {
	verify(list_is_empty(&memory->waiting) && list_is_empty(&memory->admitted));
	cgroup_root_close(&memory->root);
	memory_ledger_close(memory->ledger);
	cond_fini(&memory->found);
	mutex_fini(&memory->lock);
}

int memory_share(struct memory *memory, const char *path) {
	memory->ledger = memory_ledger_open(path);
	return memory->ledger ? 0 : -1;
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
	if (known && memory->groups_root) {
		struct memory_room room = memory_room_observe(memory->groups_root);
		*ret_available = room.left < *ret_available ? room.left : *ret_available;
		*ret_total = room.limit < *ret_total ? room.limit : *ret_total;
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

// What it takes, with the lock.
static uint64_t bytes_of(const struct memory_claim *claim) {
	if (claim->learned) {
		return memory_learned_need(claim->learned);
	}
	return claim->bytes < MEMORY_NEED_MOST ? claim->bytes : MEMORY_NEED_MOST;
}

// Copies of what the admitted ones take, and of their pids.
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
		if (!claim->is_waiting) {
			admitted.bytes[admitted.n] = bytes_of(claim);
			admitted.pids[admitted.n++] = claim->pid;
		}
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

// ---- the rule where it is learned what jobs need ----

static uint64_t reserved_for(const struct memory_learned *learned) {
	return memory_learned_reserve(learned, learned->running);
}

// What would be reserved more if the claim were admitted, with the lock.
static uint64_t more_for(const struct memory_claim *claim) {
	const struct memory_learned *learned = claim->learned;
	return learned ? memory_learned_reserve(learned, learned->running + 1) - reserved_for(learned) : bytes_of(claim);
}

// Reserves what the claim takes, or no longer; with the lock.
static void reserve(struct memory *memory, const struct memory_claim *claim, bool is_reserved) {
	if (claim->learned && !is_reserved) {
		--claim->learned->running;
	}
	memory->reserved += is_reserved ? more_for(claim) : -more_for(claim);
	if (claim->learned && is_reserved) {
		++claim->learned->running;
	}
}

// ---- what other fairpars are told ----

static bool is_unknown(const struct memory_claim *claim) {
	return claim->learned && claim->learned->samples == 0;
}

static void add_to_entry(struct memory_entry *entry, const struct memory_claim *claim) {
	uint64_t need = bytes_of(claim);
	entry->unknown += is_unknown(claim);
	entry->need = need > entry->need ? need : entry->need;
}

// To be called when what is reserved has changed, with the lock.
static void publish(struct memory *memory) {
	if (!memory->ledger) {
		return;
	}
	struct memory_entry entry = {.reserved = memory->reserved, .wants = memory->wants};
	list_for_each_entry(&memory->admitted, const struct memory_claim, claim, link) {
		add_to_entry(&entry, claim);
	}
	if (memory->tried) {
		entry.reserved += more_for(memory->tried);
		add_to_entry(&entry, memory->tried);
	}
	memory_ledger_publish(memory->ledger, &entry);
}

// Without the lock; `need` is that of the job that is to start, or 0.
static struct memory_others look_at_others(const struct memory *memory, uint64_t need, bool samples) {
	return memory->ledger ? memory_ledger_look(memory->ledger, need, samples) : (struct memory_others){0};
}

// Counts a job that runs, or no longer does; with the lock.
static void count_running(struct memory *memory, bool runs) {
	memory->nadmitted += runs ? 1 : (size_t)-1;
	if (memory->nadmitted == 0) {
		memory->alone_due = now_ns() + ALONE_MS * (uint64_t)NS_PER_MS;
	}
}

// The claim's job waits for others, or no longer does; with the lock.
static void set_waiting(struct memory *memory, struct memory_claim *claim, bool waits) {
	claim->is_waiting = waits;
	memory->nsuspended += waits ? 1 : (size_t)-1;
	if (!claim->learned) {
		reserve(memory, claim, !waits);
	}
	count_running(memory, !waits);
}

static bool is_awaited(const struct memory_claim *claim) {
	return claim->awaited && atomic_load_relaxed(claim->awaited);
}

// Whether it may start whatever it needs, or else none ever would; with the lock.
static bool may_be_alone(const struct memory *memory, const struct memory_claim *claim) {
	return memory->nadmitted == 0 && (memory->nsuspended == 0 || is_awaited(claim) || now_ns() >= memory->alone_due);
}

// A running job that is sampled.
struct seen_job {
	const struct memory_claim *claim; // which may have gone meanwhile
	pid_t pid;
	unsigned group; // the number of its cgroup, or 0
	uint64_t used;
};

// Gets up to `most` jobs that run, of the batch or of all (NULL), with the lock. The caller frees the list.
static struct seen_job *jobs_to_observe(const struct memory *memory, const struct memory_learned *learned, size_t most, size_t *ret_n) {
	size_t n = memory->nadmitted + memory->nsuspended;
	struct seen_job *jobs = xcalloc((n < most ? n : most) + 1, sizeof(*jobs));
	n = 0;
	list_for_each_entry(&memory->admitted, struct memory_claim, claim, link) {
		if (n < most && claim->pid > 0 && (!learned || claim->learned == learned)) {
			jobs[n++] = (struct seen_job){.claim = claim, .pid = claim->pid, .group = claim->group.number};
		}
	}
	*ret_n = n;
	return jobs;
}

// Notes what a job was seen to have, with the lock. Returns whether it has grown.
static bool note_used(struct memory *memory, struct memory_claim *claim, uint64_t used) {
	uint64_t before = claim->seen;
	bool grown = memory_learned_has_grown(before, used, memory->available);
	claim->seen = used > before ? used : before;
	claim->used = used;
	if (claim->learned) {
		claim->learned->used += used;
		memory->reserved -= reserved_for(claim->learned);
		memory_learned_note(claim->learned, before, used);
		memory->reserved += reserved_for(claim->learned);
		publish(memory);
	}
	return grown;
}

// What those that run have of what is reserved for them, with the lock: no batch has of another's.
static uint64_t used_of_reserved(const struct memory *memory) {
	uint64_t sum = 0;
	list_for_each_entry(&memory->admitted, struct memory_claim, claim, link) {
		uint64_t *used = claim->learned ? &claim->learned->used : &claim->used;
		uint64_t most = claim->learned ? reserved_for(claim->learned) : claim->is_waiting ? 0 : bytes_of(claim);
		sum += *used < most ? *used : most;
		*used = 0; // it counts once
	}
	return sum;
}

// Looks at up to `most` running jobs of the batch, or of all (NULL), with the lock, which is given back meanwhile. Returns the
// bytes that they have, as far as they are reserved; *ret_grown: one has grown, or has never been sampled.
static uint64_t sample_jobs(struct memory *memory, const struct memory_learned *learned, size_t most, bool *ret_grown) {
	size_t n, at = 0;
	struct seen_job *jobs = jobs_to_observe(memory, learned, most, &n);
	mutex_unlock(&memory->lock);
	for (size_t i = 0; i < n; ++i) {
		if (jobs[i].group == 0 || !cgroup_memory(&memory->root, jobs[i].group, &jobs[i].used)) {
			jobs[i].used = proctree_memory(jobs[i].pid); // 0 when it has ended; it may be another's by now, and wrong once
		}
	}
	mutex_lock(&memory->lock);
	*ret_grown = false;
	// in the order that they had, but for those that are new: these are behind
	list_for_each_entry(&memory->admitted, struct memory_claim, claim, link) {
		size_t i = at;
		while (i < n && (jobs[i].claim != claim || jobs[i].pid != claim->pid)) {
			++i;
		}
		if (i < n) {
			*ret_grown |= note_used(memory, claim, jobs[i].used);
			at = i + 1;
		}
	}
	free(jobs);
	return used_of_reserved(memory);
}

// Reads what there is, with the lock, which is given back meanwhile. Returns false if it is not known.
static bool read_available(struct memory *memory, uint64_t now) {
	uint64_t available, total;
	mutex_unlock(&memory->lock);
	bool known = measure(memory, &available, &total);
	mutex_lock(&memory->lock);
	if (known) {
		uint64_t others = total / OTHERS_PART;
		memory->total = total - others;
		memory->available = available > others ? available - others : 0;
	} else {
		memory->total = memory->available = UINT64_MAX;
	}
	memory->fresh_until = now + FRESH_MS * (uint64_t)NS_PER_MS;
	return known;
}

// With the lock, which is given back meanwhile.
static void report_excess(struct memory *memory, const struct memory_claim *claim, uint64_t need) {
	uint64_t total = memory->total;
	if (!atomic_exchange(&memory->has_exceeded, true)) {
		mutex_unlock(&memory->lock);
		diag_warn("memory: '%s' is to need %s%s, and there is %s for jobs; such jobs run alone", text_shows(claim->label),
		          memory_show(need), claim->learned ? ", as others of its batch" : "", memory_show(total));
		mutex_lock(&memory->lock);
	}
}

// The rule for a job of which is learned what it needs, with the lock, which is given back meanwhile; *ret_again: when to try again.
static bool has_room(struct memory *memory, const struct memory_claim *claim, uint64_t *ret_again) {
	struct memory_others others = look_at_others(memory, bytes_of(claim), /* samples */ false);
	uint64_t now = now_ns(), need = bytes_of(claim), more = need > 0 ? more_for(claim) : others.need;
	bool grown;
	*ret_again = now + (others.has_jobs ? (uint64_t)FRESH_MS * NS_PER_MS : NS_PER_S);
	if (more == 0) {
		return true; // nothing is known: it is to be found out
	}
	if (now >= memory->fresh_until) {
		read_available(memory, now);
	}
	if ((claim->learned ? atomic_load_relaxed(&claim->learned->peak) : need) > memory->total) {
		report_excess(memory, claim, need);
	}
	if (!others.has_jobs && may_be_alone(memory, claim)) {
		return true;
	}
	if (memory->reserved + others.bytes <= memory->available && more <= memory->available - memory->reserved - others.bytes) {
		if (now >= memory->sample_due) {
			memory->sample_due = now + SAMPLE_MS * (uint64_t)NS_PER_MS;
			sample_jobs(memory, NULL, SAMPLE_MOST, &grown);
		}
		return true; // as if those that run had used nothing: so most need not be asked
	}
	if (now < memory->want_due) {
		*ret_again = memory->want_due;
		return false;
	}
	uint64_t used = sample_jobs(memory, NULL, SIZE_MAX, &grown);
	mutex_unlock(&memory->lock);
	others = look_at_others(memory, need, /* samples */ true);
	mutex_lock(&memory->lock);
	uint64_t sampled = now_ns(), pause = (sampled - now) * SAMPLE_PART, least = WANT_SAMPLE_MS * (uint64_t)NS_PER_MS;
	memory->want_due = sampled + (pause > least ? pause : least);
	read_available(memory, sampled); // after it: what was used meanwhile counts twice and not never
	uint64_t unused = (memory->reserved > used ? memory->reserved - used : 0) + others.bytes;
	more = need > 0 ? more_for(claim) : others.need;
	return (!others.has_jobs && may_be_alone(memory, claim)) || (unused <= memory->available && more <= memory->available - unused);
}

// Whether it may start now. First the others are told of it, and then looked at.
static bool consider_learned(struct memory *memory, const struct memory_claim *claim, uint64_t *ret_again) {
	memory->tried = claim;
	publish(memory);
	bool may = has_room(memory, claim, ret_again);
	memory->tried = may ? claim : NULL; // until it is admitted
	memory->wants = may || !memory->ledger ? 0 : more_for(claim);
	publish(memory);
	return may;
}

// ---- the wait ----

// Must it wait until more is known of its batch?
static bool is_held_back(const struct memory *memory, const struct memory_claim *claim) {
	return claim->learned && memory_learned_holds_back(claim->learned) && !may_be_alone(memory, claim);
}

// The first of those who wait but are not held back, or with `learned` of those of that batch, and of these the first that is
// awaited, if any; or NULL. With the lock.
static struct memory_claim *first_of(const struct memory *memory, const struct memory_learned *learned) {
	struct memory_claim *first = NULL;
	list_for_each_entry(&memory->waiting, struct memory_claim, claim, link) {
		if (learned ? claim->learned == learned : !is_held_back(memory, claim)) {
			if (memory->nsuspended == 0 || is_awaited(claim)) {
				return claim;
			}
			first = first ? first : claim;
		}
	}
	return first;
}

static void wake(struct memory_claim *claim) {
	if (claim) {
		cond_signal(&claim->turn);
	}
}

// Wakes the first of those who wait, under the lock: the others could not go before it.
static void wake_first(struct memory *memory) {
	wake(first_of(memory, NULL));
}

// Sleeps until there may be more, with the lock: until a job with a declaration ends; where none runs no signal comes.
static void wait_more(struct memory *memory, struct memory_claim *claim, uint64_t available, uint64_t again) {
	if (claim->learned) {
		cond_wait_until(&claim->turn, &memory->lock, again); // jobs may have come to need less, and others, too
		return;
	}
	if (memory->nadmitted > 0) {
		cond_wait(&claim->turn, &memory->lock);
		return;
	}
	if (!atomic_exchange(&memory->has_waited, true)) {
		mutex_unlock(&memory->lock);
		diag_note("memory: '%s' waits for %s; %s is available", text_shows(claim->label), memory_show(claim->bytes),
		          memory_show(available));
		mutex_lock(&memory->lock);
		return; // and try again: what happened meanwhile has woken nobody
	}
	cond_wait_until(&claim->turn, &memory->lock, now_ns() + NS_PER_S);
}

// Sleeps until more is known of the batch, with the lock: until one of its jobs ends, or is found to grow no more.
static void wait_known(struct memory *memory, struct memory_claim *claim) {
	struct memory_learned *learned = claim->learned;
	bool grown;
	if (first_of(memory, learned) != claim) {
		cond_wait(&claim->turn, &memory->lock);
	} else if (now_ns() < learned->due) {
		cond_wait_until(&claim->turn, &memory->lock, learned->due);
	} else {
		if (now_ns() >= memory->fresh_until) {
			read_available(memory, now_ns());
		}
		sample_jobs(memory, learned, SAMPLE_MOST, &grown);
		memory_learned_sampled(learned, grown, now_ns());
	}
}

// Whether the claim may start now, with the lock, which is given back meanwhile; *ret_ended counts the ends before it. If
// not, *ret_available is what there is, and *ret_again, of a learned one, when to try again.
static bool consider(struct memory *memory, struct memory_claim *claim, uint64_t *ret_ended, uint64_t *ret_available,
                     uint64_t *ret_again) {
	if (claim->learned) {
		*ret_ended = memory->nended;
		return consider_learned(memory, claim, ret_again);
	}
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
	void (*waits)(void *, uint64_t) = claim->waits;
	claim->waits = NULL;
	uint64_t bytes = bytes_of(claim);
	mutex_unlock(&memory->lock);
	waits(claim->waits_arg, bytes);
	mutex_lock(&memory->lock);
}

// The claim's job is about to start, with the lock.
static void begin(struct memory *memory, struct memory_claim *claim) {
	list_push_back(&memory->admitted, &claim->link);
	reserve(memory, claim, true);
	count_running(memory, true);
	if (claim->learned) {
		memory_learned_begin(claim->learned, now_ns());
	}
}

// Waits for its turn and for its memory, with the lock. Returns false if refused.
static bool admit(struct memory *memory, struct memory_claim *claim, const atomic_bool *refusal) {
	list_push_back(&memory->waiting, &claim->link);
	while (!claim->is_admitted && !atomic_load_acquire(refusal)) { // pairs with the store of begin_termination()
		uint64_t ended, available = 0, again = 0;
		bool held_back = is_held_back(memory, claim), first = !held_back && first_of(memory, NULL) == claim;
		if (first && consider(memory, claim, &ended, &available, &again)) {
			claim->is_admitted = !is_held_back(memory, claim); // else one of its batch has come back from waiting for others
			memory->tried = claim->is_admitted ? memory->tried : NULL;
		} else if (claim->waits) {
			report_wait(memory, claim); // and try again
		} else if (held_back) {
			wait_known(memory, claim);
		} else if (!first) {
			cond_wait(&claim->turn, &memory->lock);
		} else if (ended == memory->nended && !atomic_load_acquire(refusal)) {
			wait_more(memory, claim, available, again);
		}
	}
	list_remove(&claim->link);
	memory->tried = memory->tried == claim ? NULL : memory->tried;
	if (claim->is_admitted) {
		begin(memory, claim);
	}
	memory->wants = list_is_empty(&memory->waiting) ? 0 : memory->wants;
	publish(memory);
	if (claim->learned) {
		wake(first_of(memory, claim->learned)); // it samples from now on
	}
	wake_first(memory);
	return claim->is_admitted;
}

void memory_show_waiting(struct memory *memory) {
	mutex_lock(&memory->lock);
	const struct memory_claim *first = first_of(memory, NULL);
	uint64_t need = first ? bytes_of(first) : 0;
	size_t n = 0;
	list_for_each(&memory->waiting, at) {
		++n;
	}
	mutex_unlock(&memory->lock);
	if (n > 0) {
		diag_note("memory: %zu job%s until there is enough%s%s%s", n, n == 1 ? " waits" : "s wait", need ? ": " : "",
		          need ? memory_show(need) : "", need ? " for the next" : "");
	}
}

void memory_wake(struct memory *memory) {
	mutex_lock(&memory->lock);
	list_for_each_entry(&memory->waiting, struct memory_claim, claim, link) {
		cond_signal(&claim->turn);
	}
	mutex_unlock(&memory->lock);
}

// ---- the way ----

// No cgroups: `cause` (where the user asked for them). Whether a job is limited, or watched: what is lost is not the same.
static void report_admission(const struct memory *memory, const char *cause, bool is_limited) {
	const char *loss = is_limited ? "jobs only wait until that much memory is available" : "/proc tells what jobs have";
	if (memory->asked_root) {
		diag_warn("memory: cannot use FAIRPAR_CGROUP_ROOT '%s': %s; %s", text_shows(memory->asked_root), cause, loss);
	} else if (is_limited) {
		diag_note("memory: no cgroup v2 is delegated to fairpar; %s", loss);
	}
}

// Finds out, once, what there is, with the lock, which is given back meanwhile. `is_limited`: for a job that declares what it needs.
static void find_mode(struct memory *memory, bool is_limited) {
	const char *cause = NULL;
	while (memory->mode == MEMORY_FINDING) {
		cond_wait(&memory->found, &memory->lock);
	}
	bool finds = memory->mode == MEMORY_UNKNOWN, reports = is_limited && memory->is_unreported;
	if (!finds && !reports) {
		return;
	}
	memory->mode = finds ? MEMORY_FINDING : memory->mode;
	memory->is_unreported = false;
	mutex_unlock(&memory->lock);
	cause = finds ? cgroup_root_open(&memory->root, memory->asked_root, memory->groups_root ? memory->groups_root : "") : NULL;
	if (cause || reports) {
		report_admission(memory, cause, is_limited);
	}
	mutex_lock(&memory->lock);
	if (finds) {
		memory->mode = cause ? MEMORY_ADMISSION : MEMORY_CGROUP;
		memory->is_unreported = cause && !is_limited && !memory->asked_root;
		cond_broadcast(&memory->found);
	}
}

bool memory_claim_open(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label,
                       const atomic_bool *refusal) {
	*claim = (struct memory_claim){
		.bytes = bytes,
		.label = label ? label : "",
		.waits = claim->waits,
		.waits_arg = claim->waits_arg,
		.origin = claim->origin,
		.awaited = claim->awaited,
		.learned = claim->learned,
		.is_open = true,
		.group = CGROUP_NONE,
	};
	cond_init(&claim->turn);
	mutex_lock(&memory->lock);
	find_mode(memory, !claim->learned);
	if (claim->learned && !memory->counts_kills) {
		memory->counts_kills = true;
		memory->kills = memory->groups_root ? memory_room_kills(memory->groups_root) : 0;
	}
	bool may = !claim->learned && memory->mode == MEMORY_CGROUP ? !atomic_load_acquire(refusal) : admit(memory, claim, refusal);
	mutex_unlock(&memory->lock);
	return may;
}

bool memory_claim_try(struct memory *memory, struct memory_claim *claim, uint64_t bytes, const char *label, uint64_t *ret_again) {
	*claim = (struct memory_claim){.bytes = bytes, .label = label, .group = CGROUP_NONE};
	mutex_lock(&memory->lock);
	if (consider_learned(memory, claim, ret_again)) {
		claim->is_open = claim->is_admitted = true;
		cond_init(&claim->turn);
		begin(memory, claim);
	}
	memory->tried = NULL;
	publish(memory);
	mutex_unlock(&memory->lock);
	return claim->is_open;
}

// No groups to watch jobs in for a while, after one could not be made or entered.
static void pause_groups(struct memory *memory) {
	mutex_lock(&memory->lock);
	memory->group_due = now_ns() + NS_PER_S;
	mutex_unlock(&memory->lock);
}

int memory_claim_prepare(struct memory *memory, struct memory_claim *claim) {
	uint64_t now = claim->began = now_ns();
	mutex_lock(&memory->lock);
	bool renounced = memory->mode != MEMORY_CGROUP, is_due = now >= memory->group_due;
	mutex_unlock(&memory->lock);
	if (claim->group.number > 0) {
		return 0;
	}
	if (claim->learned && is_due && !renounced && cgroup_create(&memory->root, /* limit */ 0, &claim->group) != 0) {
		pause_groups(memory);
	}
	if (claim->is_admitted) {
		return 0;
	}
	if (renounced) { // by another job, since this claim was opened
		errno = ENOTSUP;
		return -1;
	}
	return cgroup_create(&memory->root, claim->bytes, &claim->group);
}

bool memory_claim_renounce(struct memory *memory, struct memory_claim *claim, int error) {
	if (claim->learned) {
		cgroup_release(&memory->root, &claim->group);
		pause_groups(memory);
		return true;
	}
	mutex_lock(&memory->lock);
	bool first = !memory->proven && memory->mode == MEMORY_CGROUP;
	bool renounced = first || memory->mode == MEMORY_ADMISSION;
	if (first) {
		memory->mode = MEMORY_ADMISSION;
	}
	mutex_unlock(&memory->lock);
	if (first) {
		report_admission(memory, strerror(error), /* is_limited */ true);
	}
	if (renounced) {
		memory_claim_close(memory, claim);
	}
	return renounced;
}

// A job has gone into a group to be watched, with the lock. The move waits for a lock of all processes (in Linux 6.18 some 1.5 ms),
// so no more is done than takes a part of the time of one processor, saved up for a second.
static void note_group(struct memory *memory, const struct memory_claim *claim) {
	uint64_t now = now_ns(), earliest = now - NS_PER_S, due = memory->group_due;
	memory->group_due = (due > earliest ? due : earliest) + (now - claim->began) * SAMPLE_PART;
}

void memory_claim_started(struct memory *memory, struct memory_claim *claim, pid_t pid) {
	if (!claim->is_open) {
		return;
	}
	cgroup_close_procs(&claim->group);
	mutex_lock(&memory->lock);
	claim->pid = pid;
	memory->proven = memory->proven || (claim->group.number > 0 && !claim->learned);
	if (claim->group.number > 0 && claim->learned) {
		note_group(memory, claim);
	}
	mutex_unlock(&memory->lock);
}

void memory_set_waiting(struct memory *memory, const void *origin, bool waits) {
	mutex_lock(&memory->lock);
	list_for_each_entry(&memory->admitted, struct memory_claim, claim, link) {
		if (claim->origin == origin && claim->is_waiting != waits) {
			set_waiting(memory, claim, waits);
			++memory->nended;
			wake_first(memory);
		}
	}
	mutex_unlock(&memory->lock);
}

// Whether the kernel has killed a process that no other job has missed, with the lock.
static bool take_kill(struct memory *memory) {
	if (!memory->groups_root || memory_room_kills(memory->groups_root) <= memory->kills) {
		return false;
	}
	++memory->kills;
	return true;
}

// What a job needs that was killed with `bytes`: twice as much, if there is that much at all.
static uint64_t need_of_killed(const struct memory *memory, uint64_t bytes) {
	uint64_t most = memory->total > bytes ? memory->total : bytes;
	return bytes < most / 2 ? 2 * bytes : most;
}

bool memory_claim_learn(struct memory *memory, struct memory_claim *claim, uint64_t resident, bool is_killed) {
	struct memory_learned *learned = claim->learned;
	if (!claim->is_open || !learned) {
		return false;
	}
	uint64_t peak = claim->group.number > 0 ? cgroup_peak(&memory->root, &claim->group) : 0;
	// what it read may have taken the place of what it had in the group's peak
	peak = peak > resident ? peak : resident;
	mutex_lock(&memory->lock);
	peak = peak > claim->seen ? peak : claim->seen;
	bool ran_out = is_killed && (claim->group.number > 0 ? cgroup_ran_out(&memory->root, &claim->group) : take_kill(memory));
	memory->reserved -= reserved_for(learned);
	memory_learned_end(learned, ran_out ? need_of_killed(memory, peak) : peak);
	memory->reserved += reserved_for(learned);
	publish(memory);
	mutex_unlock(&memory->lock);
	return ran_out;
}

bool memory_claim_close(struct memory *memory, struct memory_claim *claim) {
	if (!claim->is_open) {
		return false;
	}
	bool ran_out = false;
	if (claim->group.number > 0 && !claim->learned) {
		ran_out = cgroup_ran_out(&memory->root, &claim->group);
		cgroup_kill(&memory->root, &claim->group);
	}
	mutex_lock(&memory->lock);
	if (claim->is_admitted) {
		list_remove(&claim->link);
		if (claim->is_waiting) {
			set_waiting(memory, claim, false);
		}
		reserve(memory, claim, false);
		count_running(memory, false);
		publish(memory);
		++memory->nended;
		wake_first(memory);
	}
	mutex_unlock(&memory->lock);
	if (claim->group.number > 0) { // a learned one's, which nobody samples any more
		cgroup_release(&memory->root, &claim->group);
	}
	cond_fini(&claim->turn);
	claim->is_open = claim->is_admitted = false;
	return ran_out;
}
