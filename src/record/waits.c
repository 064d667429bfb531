// Jobs that wait for other jobs (--wait).

#include "record/added_jobs.h"

#include "base/alloc.h"
#include "base/text.h"
#include "state/dag_node.h"
#include "process/child.h"
#include "process/memory.h"
#include "sharing/leases.h"
#include "sharing/nested.h"

enum wait_state {
	WAITS,                 // the jobs that the wait is for have not ended yet
	RETURNS,               // these jobs have ended, and the waiting attempt waits for its own slots
	IS_OVER,               // the wait is over: waits_end_next() returns it
};

struct wait {
	struct list link;      // link in jobs->waits
	struct added_jobs *jobs;
	struct live_attempt *attempt; // the attempt that waits; NULL: a process outside the run waits, or the attempt has ended
	enum wait_state state;
	bool any;              // the wait is over when the first of the jobs has ended
	uint64_t *ids;         // the ids of the jobs that the wait is for and that have not ended yet
	size_t n;
	uint64_t last;         // the id of the job that ended last, of those that the wait is for
	void *arg;             // of waits_begin()
};

static void wait_free(struct wait *wait) {
	list_remove(&wait->link);
	free(wait->ids);
	free(wait);
}

// ---- attempts; all with nested_mutex(), except waits_attempt_begin() and waits_attempt_end() ----

void waits_attempt_begin(struct added_jobs *jobs, struct live_attempt *attempt) {
	if (jobs && attempt->job->added) {
		FP_HOLD(nested_mutex(jobs->run->nested));
		atomic_store_relaxed(&attempt->awaited, added_jobs_find(jobs, attempt->job->item.seq)->is_awaited);
	}
}

static void lend_place(const struct run *run, const struct live_attempt *attempt, bool lends) {
	if (attempt->place) {
		hosts_lend_place(run->hosts, attempt->place, lends);
	}
}

static void lend_slots(struct run *run, struct live_attempt *attempt) {
	attempt->slots = LENDS_SLOTS;
	if (run->leases) {
		leases_lend(run->leases, attempt);
	}
	pool_lend(run->pool, attempt->worker);
}

// Lends the slots, memory and terminal of the attempt to other jobs; if a fairpar in the attempt uses the slot now, attempts_advance() tries later.
static void attempt_lend(struct added_jobs *jobs, struct live_attempt *attempt) {
	struct run *run = jobs->run;
	if (!nested_withhold(run->nested, attempt, true)) {
		attempt->slots = HELD_UP;
		return;
	}
	children_set_waiting(run->children, attempt, true);
	lend_place(run, attempt, true);
	if (attempt->has_terminal) {
		terminal_lend(run);
	}
	lend_slots(run, attempt);
}

// Notes that the attempt has one more wait, and lends its slots.
static void attempt_wait(struct added_jobs *jobs, struct live_attempt *attempt) {
	++attempt->nwaits;
	if (attempt->slots == KEEPS_SLOTS) {
		attempt_lend(jobs, attempt);
	} else if (attempt->slots >= WANTS_SLOTS) { // the attempt was waiting for its slots, to go on
		lend_slots(jobs->run, attempt);
	}
}

static void attempt_keep(struct added_jobs *jobs, struct live_attempt *attempt) {
	struct run *run = jobs->run;
	children_set_waiting(run->children, attempt, false);
	lend_place(run, attempt, false);
	if (attempt->has_terminal) {
		terminal_return(run, atomic_load_relaxed(&attempt->pid));
	}
	(void)nested_withhold(run->nested, attempt, false);
	attempt->slots = KEEPS_SLOTS;
}

// Notes that all waits of the attempt are over: the attempt becomes the first in line for its slots.
static void attempt_want(struct added_jobs *jobs, struct live_attempt *attempt) {
	if (attempt->slots == LENDS_SLOTS) {
		pool_reclaim(jobs->run->pool, attempt->worker, /* waits */ true);
		attempt->slots = WANTS_SLOTS;
	} else if (attempt->slots == HELD_UP) {
		attempt->slots = KEEPS_SLOTS;
	}
}

// Does not touch the slots of the attempt: when its item ends, the pool takes the slots back, and removes the attempt from the line for slots.
bool waits_attempt_end(struct added_jobs *jobs, struct live_attempt *attempt) {
	if (!jobs) {
		return true;
	}
	FP_HOLD(nested_mutex(jobs->run->nested));
	if (attempt->slots >= LENDS_SLOTS) {
		lend_place(jobs->run, attempt, false);
	}
	list_remove(&attempt->link);
	list_for_each_entry(&jobs->waits, struct wait, wait, link) {
		if (wait->attempt == attempt) {
			wait->attempt = NULL;
			wait->state = wait->state == RETURNS ? IS_OVER : wait->state;
		}
	}
	return attempt->slots < LENDS_SLOTS;
}

// ---- circles; with the lock ----

// Appends "BATCH#7"; or the name of the batch, if `number` is 0.
static void add_name(struct buf *buf, const char *batch, uint64_t number) {
	text_add_job(buf, batch, number, /* seq */ 0, TEXT_BATCH_COLUMNS);
}

// A search through all jobs and batches that must end before a certain job can end.
struct search {
	struct added_jobs *jobs;
	const struct live_attempt *waiter; // the attempt that the search looks for, or NULL
	struct buf path;       // once the waiter was found: the names of the jobs and batches on the way to it
	bool forward;          // the search brings forward the jobs that it finds (pool_bring_forward())
};

static bool search_job(struct search *search, uint64_t id);

// Puts the name of a job, or of a batch if `number` is 0, in front of the path.
static void search_name(struct search *search, const char *name, uint64_t number) {
	struct buf text = BUF_INIT;
	buf_adds(&text, number == 0 ? "batch " : "");
	add_name(&text, name, number);
	buf_printf(&text, "%s%s", search->path.len > 0 ? ", which waits for " : "", buf_str(&search->path));
	buf_fini(&search->path);
	search->path = text;
}

// True if that attempt is the waiter, or can go on only after the waiter has ended.
static bool search_attempt(struct search *search, const struct live_attempt *attempt) {
	bool found = attempt == search->waiter;
	list_for_each_entry(&search->jobs->waits, struct wait, wait, link) {
		bool blocked = !found && wait->attempt == attempt && wait->state == WAITS;
		size_t n = 0;
		for (size_t i = 0; i < wait->n && blocked; ++i) {
			n += search_job(search, wait->ids[i]);
		}
		found = found || (n > 0 && (!wait->any || n == wait->n));
	}
	if (found) {
		search_name(search, attempt->job->batch->name, attempt->job->item.number);
	}
	return found;
}

static bool search_batch(struct search *search, struct dag_node *node);

// True if that batch can begin or end only after the waiter has ended. Searches the batches that the batch needs, or that emit into the batch.
static bool search_needs(struct search *search, const struct dag_node *node) {
	const struct run *run = search->jobs->run;
	bool found = false;
	for (size_t i = 0; i < node->plan->nneeds && dag_node_state(node) == NODE_WAITING && !found; ++i) {
		found = search_batch(search, dag_node_of(run, node->plan->needs[i]));
	}
	for (const struct manifest_batch *feeder = node->plan->feeders; feeder && !found; feeder = feeder->next_feeder) {
		found = search_batch(search, dag_node_of(run, feeder));
	}
	return found;
}

// True if that batch ends only after the waiter has ended. Searches the batch's own jobs that wait, and the batches that search_needs() names.
static bool search_batch(struct search *search, struct dag_node *node) {
	struct added_jobs *jobs = search->jobs;
	bool found = false;
	if (!node->plan || dag_node_state(node) >= NODE_ENDED || node->seen == jobs->nsearches) {
		return node->seen == jobs->nsearches && node->leads;
	}
	node->seen = jobs->nsearches;
	node->leads = false;
	for (struct live_attempt *attempt = NULL; !found && (attempt = nested_next(jobs->run->nested, attempt));) {
		found = attempt->job->batch->node == node && search_attempt(search, attempt);
	}
	found = found || search_needs(search, node);
	node->leads = found;
	if (found) {
		search_name(search, node->plan->name, /* number */ 0);
	}
	return found;
}

// True if that job ends only after the waiter has ended.
static bool search_job(struct search *search, uint64_t id) {
	struct added_jobs *jobs = search->jobs;
	struct added_entry *job = added_jobs_find(jobs, id);
	bool found = false, runs = false;
	if (!job || job->ended || job->seen == jobs->nsearches) {
		return job && !job->ended && job->leads;
	}
	job->seen = jobs->nsearches;
	job->leads = false;
	for (struct live_attempt *attempt = NULL; !found && (attempt = nested_next(jobs->run->nested, attempt));) {
		if (attempt->job->item.seq == id) {
			runs = true;
			if (search->forward && !atomic_exchange(&attempt->awaited, true)) {
				memory_wake(children_memory(jobs->run->children)); // the attempt may be waiting for memory
			}
			found = search_attempt(search, attempt);
		}
	}
	const struct batch *batch = queue_user(job->queue);
	if (!runs && batch->node && dag_node_state(batch->node) == NODE_WAITING) {
		found = search_needs(search, batch->node);
		if (found) {
			search_name(search, batch->name, job->number);
		}
	}
	if (search->forward) {
		job->is_awaited = true;
		(void)(!runs && pool_bring_forward(jobs->run->pool, job->queue, job->number));
	}
	job->leads = found;
	return found;
}

// If the wait would make the attempt wait for its own end, writes the reason to `why`, with the names of the jobs in the circle.
static void check_circle(struct added_jobs *jobs, const struct live_attempt *attempt, const uint64_t *ids, size_t n, bool any,
                         struct buf *why) {
	size_t nblocked = 0, needed = any ? n : 1;
	for (size_t i = 0; i < n && attempt && nblocked < needed; ++i) {
		struct search search = {.jobs = jobs, .waiter = attempt, .path = BUF_INIT};
		++jobs->nsearches;
		nblocked += search_job(&search, ids[i]);
		if (nblocked == needed) {
			buf_adds(why, "a circle: ");
			add_name(why, attempt->job->batch->name, attempt->job->item.number);
			buf_printf(why, " waits for %s", buf_str(&search.path));
		}
		buf_fini(&search.path);
	}
}

// Brings forward the jobs, and all added jobs that these wait for: they start before the turn of any queue (pool_bring_forward()).
static void bring_forward(struct added_jobs *jobs, const uint64_t *ids, size_t n) {
	struct search search = {.jobs = jobs, .path = BUF_INIT, .forward = true};
	++jobs->nsearches;
	for (size_t i = 0; i < n; ++i) {
		(void)search_job(&search, ids[i]);
	}
	buf_fini(&search.path);
}

// ---- waiting ----

// Called when the jobs of the wait (with `any`, the first of them) have ended; with the lock.
static void wait_end(struct wait *wait) {
	struct added_jobs *jobs = wait->jobs;
	struct live_attempt *attempt = wait->attempt;
	if (attempt && --attempt->nwaits == 0) {
		attempt_want(jobs, attempt);
	}
	wait->state = attempt && attempt->nwaits == 0 && attempt->slots != KEEPS_SLOTS ? RETURNS : IS_OVER;
	run_wake(jobs->run);
}

// Removes a job that has ended from the wait, which may end the wait; with the lock.
static void wait_forget(struct wait *wait, uint64_t id) {
	bool found = false;
	for (size_t i = 0; i < wait->n; ++i) {
		if (wait->ids[i] == id) {
			wait->ids[i--] = wait->ids[--wait->n];
			found = true;
		}
	}
	if (found && wait->state == WAITS) {
		wait->last = id;
		if (wait->n == 0 || wait->any) {
			wait_end(wait);
		}
	}
}

// Removes from the wait the jobs that had ended before the wait began (with `any`, only the job that ended first); with the lock.
static void forget_ended(struct wait *wait) {
	const struct added_entry *first = NULL;
	for (size_t i = 0; i < wait->n;) {
		const struct added_entry *job = added_jobs_find(wait->jobs, wait->ids[i]);
		if (job->ended && !wait->any) {
			wait_forget(wait, job->id); // another id moves to index `i`
			continue;
		}
		first = job->ended && (!first || job->ended < first->ended) ? job : first;
		++i;
	}
	if (first) {
		wait_forget(wait, first->id);
	}
}

void waits_note_end(struct added_jobs *jobs, struct added_entry *entry) {
	entry->ended = ++jobs->nended;
	list_for_each_entry(&jobs->waits, struct wait, wait, link) {
		wait_forget(wait, entry->id);
	}
}

void waits_requeued(struct added_jobs *jobs, uint64_t id) {
	if (!jobs || !atomic_load_relaxed(&jobs->has_waits)) {
		return;
	}
	FP_HOLD(nested_mutex(jobs->run->nested));
	const struct added_entry *job = added_jobs_find(jobs, id);
	if (job && job->is_awaited && !job->ended) {
		(void)pool_bring_forward(jobs->run->pool, job->queue, job->number);
	}
}

struct wait *waits_begin(struct added_jobs *jobs, uint64_t waiter, const uint64_t *ids, size_t n, bool any, void *arg, struct buf *why) {
	FP_HOLD(nested_mutex(jobs->run->nested));
	struct live_attempt *attempt = waiter > 0 ? nested_find(jobs->run->nested, waiter) : NULL;
	struct wait *wait = NULL;
	if (waiter > 0 && !attempt) {
		buf_adds(why, "the job that waits has ended");
	} else {
		check_circle(jobs, attempt, ids, n, any, why);
	}
	if (why->len == 0) {
		wait = NEW(struct wait);
		*wait = (struct wait){.jobs = jobs, .any = any, .n = n, .arg = arg};
		wait->ids = xmemdup(ids, n * sizeof(*ids));
		list_push_back(&jobs->waits, &wait->link);
		atomic_store_relaxed(&jobs->has_waits, true);
		forget_ended(wait);
	}
	if (wait && wait->state == WAITS) {
		bring_forward(jobs, wait->ids, wait->n); // before the attempt lends its slots: so these jobs take the slots
		wait->attempt = attempt;
		if (attempt) {
			attempt_wait(jobs, attempt);
		}
	}
	return wait;
}

void waits_cancel(struct wait *wait) {
	struct added_jobs *jobs = wait->jobs;
	FP_HOLD(nested_mutex(jobs->run->nested));
	struct live_attempt *attempt = wait->attempt;
	if (attempt && wait->state == WAITS && --attempt->nwaits == 0) {
		attempt_want(jobs, attempt);
	}
	if (attempt && attempt->nwaits == 0 && (attempt->slots == LENDS_SLOTS || attempt->slots == WANTS_SLOTS)) { // the job goes on
		pool_reclaim(jobs->run->pool, attempt->worker, /* waits */ false);
		attempt->slots = WANTS_LEASE;
	}
	wait_free(wait);
	run_wake(jobs->run);
}

// Lends the slots of attempts that may lend them now, and lets attempts go on that have all their slots; with the lock.
static void attempts_advance(struct added_jobs *jobs) {
	struct leases *leases = jobs->run->leases;
	for (struct live_attempt *attempt = NULL; jobs->has_waits && (attempt = nested_next(jobs->run->nested, attempt));) {
		if (attempt->slots == HELD_UP) {
			attempt_lend(jobs, attempt);
		}
		if (attempt->slots == WANTS_SLOTS && worker_keeps_slots(attempt->worker)) {
			attempt->slots = WANTS_LEASE;
		}
		if (attempt->slots == WANTS_LEASE && (!leases || leases_regain(leases, attempt))) {
			attempt_keep(jobs, attempt);
		}
	}
}

void *waits_end_next(struct added_jobs *jobs, uint64_t *ret_id) {
	void *arg = NULL;
	FP_HOLD(nested_mutex(jobs->run->nested));
	attempts_advance(jobs);
	list_for_each_entry(&jobs->waits, struct wait, wait, link) {
		bool returned = wait->state == RETURNS && (wait->attempt->slots == KEEPS_SLOTS || wait->attempt->nwaits > 0);
		if (wait->state == IS_OVER || returned) {
			if (wait->any) {
				added_jobs_find(jobs, wait->last)->reported = true;
			}
			arg = wait->arg;
			*ret_id = wait->last;
			wait_free(wait);
			break;
		}
	}
	return arg;
}

// ---- to be shown ----

void waits_each(struct added_jobs *jobs, void (*fn)(void *arg, const struct wait_view *view), void *arg) {
	list_for_each_entry(&jobs->waits, struct wait, wait, link) {
		FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
		if (wait->attempt) {
			add_name(&name, wait->attempt->job->batch->name, wait->attempt->job->item.number);
		}
		fn(arg, &(struct wait_view){.waiter = buf_str(&name), .ids = wait->ids, .n = wait->n, .returns = wait->state == RETURNS});
	}
}
