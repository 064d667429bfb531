// Jobs that wait for other jobs (--wait).

#include "core/waits.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "base/text.h"
#include "core/dag_node.h"
#include "core/job_state.h"
#include "core/run.h"
#include "core/terminal.h"
#include "process/child.h"
#include "sharing/leases.h"
#include "sharing/nested.h"

#include <inttypes.h>
#include <string.h>

// A job that can be waited for.
struct known_job {
	uint64_t id;           // the first member, for ids_find()
	uint64_t number;
	struct queue *queue;   // until it has ended: it is there as long
	uint64_t ended;        // 0, or how many had ended with it
	bool is_awaited;       // it was brought forward, and is again when it is queued again
	uint64_t seen;         // number of the last search that came by,
	bool leads;            // and whether it is on the way to the waiter
};

// waits_attempt.state. The first that can follow another is the next; each can be followed by KEEPS_SLOTS.
enum attempt_state {
	KEEPS_SLOTS,
	HELD_UP,               // it is to lend its slot, which is lent to a fairpar in it just now
	LENDS_SLOTS,
	WANTS_SLOTS,           // they are asked for
	WANTS_LEASE,           // it has its slots, and waits for a lease to use them
};

enum wait_state {
	WAITS,                 // for jobs
	RETURNS,               // for its slots
	IS_OVER,               // `done` is due
};

struct wait {
	struct list link;      // of waits->list
	struct waits *waits;
	struct waits_attempt *attempt; // NULL: of an outsider, or its attempt has ended
	enum wait_state state;
	bool any;
	uint64_t *ids;         // that have not ended yet
	size_t n;
	uint64_t last;         // that ended
	waits_done_fn *done;
	void *arg;
};

struct waits {
	struct run *run;
	mutex lock;            // guards what follows
	struct known_job *jobs; // by id
	size_t njobs, jobs_cap;
	struct list attempts;
	struct list list;      // of waits
	uint64_t nsearches, nended;
	atomic_uint n;         // waits; without the lock it spares taking that
};

struct waits *waits_open(struct run *run) {
	struct waits *waits = NEW(struct waits);
	waits->run = run;
	mutex_init(&waits->lock, LOCK_WAITS);
	list_init(&waits->attempts);
	list_init(&waits->list);
	return waits;
}

static void wait_free(struct wait *wait) {
	list_remove(&wait->link);
	(void)atomic_fetch_sub(&wait->waits->n, 1);
	free(wait->ids);
	free(wait);
}

void waits_close(struct waits *waits) {
	if (waits) {
		list_for_each(&waits->list, at) {
			wait_free(list_entry(at, struct wait, link));
		}
		mutex_fini(&waits->lock);
		free(waits->jobs);
		free(waits);
	}
}

// ---- known jobs; with the lock ----

static struct known_job *find_job(const struct waits *waits, uint64_t id) {
	return ids_find(waits->jobs, waits->njobs, sizeof(*waits->jobs), id);
}

void waits_add_job(struct waits *waits, uint64_t id, struct queue *queue, uint64_t number) {
	if (!waits) {
		return;
	}
	mutex_lock(&waits->lock);
	struct known_job *job = ids_add(&waits->jobs, &waits->jobs_cap, &waits->njobs, sizeof(*job), id);
	job->queue = queue;
	job->number = number;
	mutex_unlock(&waits->lock);
}

// ---- attempts; with the lock but for the calls ----

void waits_attempt_begin(struct waits *waits, struct waits_attempt *attempt, const struct attempt_origin *origin, const struct job *job,
                         bool has_terminal) {
	*attempt = (struct waits_attempt){.origin = origin, .job = job, .has_terminal = has_terminal};
	list_init(&attempt->link);
	if (waits && origin->worker) {
		mutex_lock(&waits->lock);
		const struct known_job *known = find_job(waits, job->item.seq);
		atomic_store_relaxed(&attempt->awaited, known && known->is_awaited);
		list_push_back(&waits->attempts, &attempt->link);
		mutex_unlock(&waits->lock);
	}
}

void waits_attempt_started(struct waits *waits, struct waits_attempt *attempt, pid_t pid) {
	if (waits) {
		mutex_lock(&waits->lock);
		attempt->pid = pid;
		mutex_unlock(&waits->lock);
	}
}

static struct waits_attempt *find_attempt(const struct waits *waits, uint64_t number) {
	list_for_each_entry(&waits->attempts, struct waits_attempt, attempt, link) {
		if (attempt->origin->number == number) {
			return attempt;
		}
	}
	return NULL;
}

// What it has is for others from now on, unless a fairpar in it uses its slot: then it is tried again.
static void attempt_lend(struct waits *waits, struct waits_attempt *attempt) {
	const struct run *run = waits->run;
	const struct attempt_origin *origin = attempt->origin;
	bool may = attempt->state > HELD_UP || !run->nested || nested_withhold(run->nested, origin->number, true);
	attempt->state = may ? LENDS_SLOTS : HELD_UP;
	if (may) {
		children_set_waiting(run->children, origin, true);
		if (attempt->has_terminal) {
			terminal_lend(waits->run);
		}
		if (run->leases) {
			leases_lend(run->leases, origin);
		}
		pool_lend(run->pool, origin->worker);
	}
}

// It begins to wait for something more.
static void attempt_wait(struct waits *waits, struct waits_attempt *attempt) {
	++attempt->nwaits;
	if (attempt->state == KEEPS_SLOTS) {
		attempt_lend(waits, attempt);
	} else if (attempt->state >= WANTS_SLOTS) { // it was about to go on
		if (waits->run->leases) {
			leases_lend(waits->run->leases, attempt->origin);
		}
		pool_lend(waits->run->pool, attempt->origin->worker);
		attempt->state = LENDS_SLOTS;
	}
}

static void attempt_keep(struct waits *waits, struct waits_attempt *attempt) {
	struct run *run = waits->run;
	children_set_waiting(run->children, attempt->origin, false);
	if (attempt->has_terminal) {
		terminal_return(run, attempt->pid);
	}
	if (run->nested) {
		(void)nested_withhold(run->nested, attempt->origin->number, false);
	}
	attempt->state = KEEPS_SLOTS;
}

// It waits for nothing more: it is first in line for its slots.
static void attempt_want(struct waits *waits, struct waits_attempt *attempt) {
	if (attempt->state == LENDS_SLOTS) {
		pool_reclaim(waits->run->pool, attempt->origin->worker, /* waits */ true);
		attempt->state = WANTS_SLOTS;
	} else if (attempt->state == HELD_UP) {
		attempt->state = KEEPS_SLOTS;
	}
}

// It goes on, whatever there is: who waited has gone.
static void attempt_go_on(struct waits *waits, struct waits_attempt *attempt) {
	if (attempt->state == LENDS_SLOTS || attempt->state == WANTS_SLOTS) {
		pool_reclaim(waits->run->pool, attempt->origin->worker, /* waits */ false);
		attempt->state = WANTS_LEASE;
	}
}

// The end of its item gives back what it has, and takes it out of the line.
bool waits_attempt_end(struct waits *waits, struct waits_attempt *attempt) {
	if (!waits) {
		return true;
	}
	mutex_lock(&waits->lock);
	list_remove(&attempt->link);
	list_for_each_entry(&waits->list, struct wait, wait, link) {
		if (wait->attempt == attempt) {
			wait->attempt = NULL;
			wait->state = wait->state == RETURNS ? IS_OVER : wait->state;
		}
	}
	mutex_unlock(&waits->lock);
	return attempt->state < LENDS_SLOTS;
}

// ---- circles; with the lock ----

static void add_name(struct buf *buf, const char *batch, uint64_t number) {
	buf_add_escaped(buf, batch, strlen(batch), 80);
	buf_printf(buf, "#%" PRIu64, number);
}

// A search over all that must have ended before a job can.
struct search {
	struct waits *waits;
	const struct waits_attempt *waiter; // who is not to be found
	struct buf path;       // the names on the way to it, once it was found, the last first
	bool forward;          // what is found on the way is brought forward
};

static bool search_job(struct search *search, uint64_t id);

static void search_name(struct search *search, const char *name, uint64_t number, bool is_batch) {
	struct buf text = BUF_INIT;
	if (is_batch) {
		buf_adds(&text, "batch ");
		buf_add_escaped(&text, name, strlen(name), 80);
	} else {
		add_name(&text, name, number);
	}
	buf_printf(&text, "%s%s", search->path.len > 0 ? ", which waits for " : "", buf_str(&search->path));
	buf_fini(&search->path);
	search->path = text;
}

// Does that attempt go on only after the waiter?
static bool search_attempt(struct search *search, const struct waits_attempt *attempt) {
	bool found = attempt == search->waiter;
	list_for_each_entry(&search->waits->list, struct wait, wait, link) {
		bool blocked = !found && wait->attempt == attempt && wait->state == WAITS;
		size_t n = 0;
		for (size_t i = 0; i < wait->n && blocked; ++i) {
			n += search_job(search, wait->ids[i]);
		}
		found = found || (n > 0 && (!wait->any || n == wait->n));
	}
	if (found) {
		search_name(search, attempt->job->batch->name, attempt->job->item.number, /* is_batch */ false);
	}
	return found;
}

static bool search_batch(struct search *search, struct dag_node *node);

// Does that batch begin only after the waiter? By what it needs, and what emits into it.
static bool search_needs(struct search *search, const struct dag_node *node) {
	const struct run *run = search->waits->run;
	bool found = false;
	for (size_t i = 0; i < node->plan->nneeds && dag_node_state(node) == NODE_WAITING && !found; ++i) {
		found = search_batch(search, dag_node_of(run, node->plan->needs[i]));
	}
	for (size_t i = 0; i < node->plan->nfeeders && !found; ++i) {
		found = search_batch(search, dag_node_of(run, node->plan->feeders[i]));
	}
	return found;
}

// Does that batch end only after the waiter? By its own jobs that wait, and by what it needs.
static bool search_batch(struct search *search, struct dag_node *node) {
	struct waits *waits = search->waits;
	bool found = false;
	if (!node->plan || dag_node_state(node) >= NODE_ENDED || node->searched / 2 == waits->nsearches) {
		return node->searched == waits->nsearches * 2 + 1;
	}
	node->searched = waits->nsearches * 2;
	list_for_each_entry(&waits->attempts, struct waits_attempt, attempt, link) {
		found = found || (attempt->job->batch->node == node && search_attempt(search, attempt));
	}
	found = found || search_needs(search, node);
	node->searched += found;
	if (found) {
		search_name(search, node->plan->name, 0, /* is_batch */ true);
	}
	return found;
}

// Does that job end only after the waiter?
static bool search_job(struct search *search, uint64_t id) {
	struct waits *waits = search->waits;
	struct known_job *job = find_job(waits, id);
	bool found = false, runs = false;
	if (!job || job->ended || job->seen == waits->nsearches) {
		return job && !job->ended && job->leads;
	}
	job->seen = waits->nsearches;
	job->leads = false;
	list_for_each_entry(&waits->attempts, struct waits_attempt, attempt, link) {
		if (!found && attempt->job->item.seq == id) {
			runs = true;
			if (search->forward) {
				children_set_awaited(waits->run->children, &attempt->awaited); // it may be waiting for memory
			}
			found = search_attempt(search, attempt);
		}
	}
	const struct batch *batch = queue_user(job->queue);
	if (!runs && batch->node && dag_node_state(batch->node) == NODE_WAITING) {
		found = search_needs(search, batch->node);
		if (found) {
			search_name(search, batch->name, job->number, /* is_batch */ false);
		}
	}
	if (search->forward) {
		job->is_awaited = true;
		(void)(!runs && pool_bring_forward(waits->run->pool, job->queue, job->number));
	}
	job->leads = found;
	return found;
}

// Says in `why`, with the names of the circle, that the attempt would wait for itself, if it would.
static void check_circle(struct waits *waits, const struct waits_attempt *attempt, const uint64_t *ids, size_t n, bool any, struct buf *why) {
	size_t nblocked = 0, needed = any ? n : 1;
	for (size_t i = 0; i < n && attempt && nblocked < needed; ++i) {
		struct search search = {.waits = waits, .waiter = attempt, .path = BUF_INIT};
		++waits->nsearches;
		nblocked += search_job(&search, ids[i]);
		if (nblocked == needed) {
			buf_adds(why, "a circle: ");
			add_name(why, attempt->job->batch->name, attempt->job->item.number);
			buf_printf(why, " waits for %s", buf_str(&search.path));
		}
		buf_fini(&search.path);
	}
}

// What is waited for, and what that waits for, comes to the front of the line.
static void bring_forward(struct waits *waits, const uint64_t *ids, size_t n) {
	struct search search = {.waits = waits, .path = BUF_INIT, .forward = true};
	++waits->nsearches;
	for (size_t i = 0; i < n; ++i) {
		(void)search_job(&search, ids[i]);
	}
	buf_fini(&search.path);
}

// ---- waiting ----

// What it waited for has ended; with the lock.
static void wait_end(struct wait *wait) {
	struct waits *waits = wait->waits;
	struct waits_attempt *attempt = wait->attempt;
	if (attempt && --attempt->nwaits == 0) {
		attempt_want(waits, attempt);
	}
	wait->state = attempt && attempt->nwaits == 0 && attempt->state != KEEPS_SLOTS ? RETURNS : IS_OVER;
	run_wake(waits->run);
}

// The job has ended: with the lock.
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

// Its jobs that had ended before it began, or with `any` the first of them; with the lock.
static void forget_ended(struct wait *wait) {
	const struct known_job *first = NULL;
	for (size_t i = 0; i < wait->n;) {
		const struct known_job *job = find_job(wait->waits, wait->ids[i]);
		if (job->ended && !wait->any) {
			wait_forget(wait, job->id); // another takes its place
			continue;
		}
		first = job->ended && (!first || job->ended < first->ended) ? job : first;
		++i;
	}
	if (first) {
		wait_forget(wait, first->id);
	}
}

void waits_job_ended(struct waits *waits, uint64_t id) {
	if (!waits) {
		return;
	}
	mutex_lock(&waits->lock);
	struct known_job *job = find_job(waits, id);
	if (job && !job->ended) {
		job->ended = ++waits->nended;
		list_for_each_entry(&waits->list, struct wait, wait, link) {
			wait_forget(wait, id);
		}
	}
	mutex_unlock(&waits->lock);
}

void waits_requeued(struct waits *waits, uint64_t id) {
	if (!waits || atomic_load_relaxed(&waits->n) == 0) {
		return;
	}
	mutex_lock(&waits->lock);
	const struct known_job *job = find_job(waits, id);
	if (job && job->is_awaited && !job->ended) {
		(void)pool_bring_forward(waits->run->pool, job->queue, job->number);
	}
	mutex_unlock(&waits->lock);
}

// Why nobody can wait for these, in `why`; with the lock.
static void check_wait(struct waits *waits, uint64_t waiter, const struct waits_attempt *attempt, const uint64_t *ids, size_t n, bool any,
                       struct buf *why) {
	for (size_t i = 0; i < n && why->len == 0; ++i) {
		if (!find_job(waits, ids[i])) {
			buf_printf(why, "there is no job %" PRIu64, ids[i]);
		}
	}
	if (waiter > 0 && !attempt && why->len == 0) {
		buf_adds(why, "the job that waits has ended");
	}
	if (why->len == 0) {
		check_circle(waits, attempt, ids, n, any, why);
	}
}

struct wait *waits_begin(struct waits *waits, uint64_t waiter, const uint64_t *ids, size_t n, bool any, waits_done_fn *done,
                         void *arg, struct buf *why) {
	mutex_lock(&waits->lock);
	struct waits_attempt *attempt = waiter > 0 ? find_attempt(waits, waiter) : NULL;
	struct wait *wait = NULL;
	check_wait(waits, waiter, attempt, ids, n, any, why);
	if (why->len == 0) {
		wait = NEW(struct wait);
		*wait = (struct wait){.waits = waits, .any = any, .n = n, .done = done, .arg = arg};
		wait->ids = xmemdup(ids, n * sizeof(*ids));
		list_push_back(&waits->list, &wait->link);
		atomic_add_relaxed(&waits->n, 1);
		forget_ended(wait);
	}
	if (wait && wait->state == WAITS) {
		bring_forward(waits, wait->ids, wait->n); // first: what they stand in front of takes the slot
		wait->attempt = attempt;
		if (attempt) {
			attempt_wait(waits, attempt);
		}
	}
	mutex_unlock(&waits->lock);
	return wait;
}

void waits_cancel(struct wait *wait) {
	struct waits *waits = wait->waits;
	mutex_lock(&waits->lock);
	struct waits_attempt *attempt = wait->attempt;
	if (attempt && wait->state == WAITS && --attempt->nwaits == 0) {
		attempt_want(waits, attempt);
	}
	if (attempt && attempt->nwaits == 0) {
		attempt_go_on(waits, attempt);
	}
	wait_free(wait);
	mutex_unlock(&waits->lock);
	run_wake(waits->run);
}

// Goes on with attempts that may lend their slots now, or have all that they need; with the lock.
static void attempts_advance(struct waits *waits) {
	struct leases *leases = waits->run->leases;
	list_for_each_entry(&waits->attempts, struct waits_attempt, attempt, link) {
		if (attempt->state == HELD_UP) {
			attempt_lend(waits, attempt);
		}
		if (attempt->state == WANTS_SLOTS && worker_keeps_slots(attempt->origin->worker)) {
			attempt->state = WANTS_LEASE;
		}
		if (attempt->state == WANTS_LEASE && (!leases || leases_regain(leases, attempt->origin))) {
			attempt_keep(waits, attempt);
		}
	}
}

// One that is over, or NULL.
static struct wait *take_over(struct waits *waits) {
	struct wait *found = NULL;
	mutex_lock(&waits->lock);
	attempts_advance(waits);
	list_for_each_entry(&waits->list, struct wait, wait, link) {
		bool returned = wait->state == RETURNS && (wait->attempt->state == KEEPS_SLOTS || wait->attempt->nwaits > 0);
		if (wait->state == IS_OVER || returned) {
			list_remove(&wait->link);
			found = wait;
			break;
		}
	}
	mutex_unlock(&waits->lock);
	return found;
}

void waits_tick(struct waits *waits) {
	struct wait *wait;
	while (waits && (wait = take_over(waits))) {
		wait->done(wait->arg, wait->last);
		wait_free(wait);
	}
}

// ---- to be shown ----

void waits_each(struct waits *waits, void (*fn)(void *arg, const struct wait_view *view), void *arg) {
	mutex_lock(&waits->lock);
	list_for_each_entry(&waits->list, struct wait, wait, link) {
		FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
		if (wait->attempt) {
			add_name(&name, wait->attempt->job->batch->name, wait->attempt->job->item.number);
		}
		fn(arg, &(struct wait_view){.waiter = buf_str(&name), .ids = wait->ids, .n = wait->n, .returns = wait->state == RETURNS});
	}
	mutex_unlock(&waits->lock);
}
