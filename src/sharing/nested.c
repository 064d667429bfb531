// Lends slots of a run to the fairpars in its jobs.

#include "sharing/nested.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/random.h"
#include "process/child.h"
#include "slots/connections.h"
#include "slots/control.h"
#include "slots/pool_dir.h"
#include "slots/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The loan of a slot to a fairpar in a job, or to a fairpar in a job of that fairpar, and so on. A loan exists while its lease is in the table.
struct loan {
	struct list link;          // in nested->loans
	uint64_t number;           // number of the lease
	struct event_lent event;   // its strings `to` and id.batch are owned; id.batch is NULL if no job ran when the slot was lent
	uint64_t attempt;          // number of the attempt in which the borrower runs, or 0
};

struct nested {
	struct nested_source source;
	int wake_fd;               // wakes the event loop
	struct buf name;           // name of the socket, as in $FAIRPAR_SOCK
	uint64_t secret;           // random; nonces are hashes made with it
	unsigned most;             // the most slots that the run may have
	bool lends;                // the slots are the run's own
	atomic_uint_least64_t last_number;

	mutex lock;                // guards what follows
	cond changed;              // signalled when the slot of an attempt in `ended` has come back
	struct list attempts;      // attempts that run
	struct list ended;         // attempts that have ended, but whose slots are still lent
	struct sessions sessions;  // sessions of the fairpars in jobs; for the event loop
	struct connections connections;
	struct lease_client *own;  // the run itself as a client, which holds the leases of its jobs
	unsigned slots;            // number of slots in the table of leases: slots of jobs that are leases, and counted slots of `lendings`
	unsigned requested;        // number of slots that were requested from the owner, which has not answered yet
	struct list lendings;      // slots beyond those of the jobs (struct lending)
	struct list loans;
	bool is_abandoned;         // nested_end() does not wait for lent slots any more
};

// ---- attempts ----

void nested_add_variable(struct nested *nested, struct live_attempt *attempt, struct buf *vars) {
	attempt->number = atomic_fetch_add_explicit(&nested->last_number, 1, memory_order_relaxed) + 1;
	attempt->nonce = hash_bytes(&attempt->number, sizeof(attempt->number), nested->secret) | 1;
	const char *name = nested->lends && attempt->has_slot ? "FAIRPAR_SOCK" : "FAIRPAR_CONTROL";
	buf_printf(vars, "%s=%s:%" PRIx64 ":%" PRIx64, name, buf_str(&nested->name), attempt->number, attempt->nonce);
	buf_addc(vars, '\0');
}

void nested_begin(struct nested *nested, struct live_attempt *attempt) {
	if (nested) {
		attempt->since = now_ns();
		FP_HOLD(&nested->lock);
		list_push_back(&nested->attempts, &attempt->link);
	}
}

void nested_end(struct nested *nested, struct live_attempt *attempt) {
	if (!nested) {
		return;
	}
	FP_HOLD(&nested->lock);
	list_remove(&attempt->link);
	nested->requested -= attempt->requested;
	if (attempt->leased) { // the attempt ends only when its lent slot is back
		lease_release(nested->own, attempt->number, now_ns());
		list_push_back(&nested->ended, &attempt->link);
		wakeup_post(nested->wake_fd);
		while (attempt->leased && !nested->is_abandoned) {
			cond_wait(&nested->changed, &nested->lock);
		}
		list_remove(&attempt->link);
	}
}

void nested_abandon(struct nested *nested) {
	if (nested) {
		FP_HOLD(&nested->lock);
		nested->is_abandoned = true;
		cond_broadcast(&nested->changed);
	}
}

static struct live_attempt *find_in(const struct list *attempts, uint64_t number) {
	list_for_each_entry(attempts, struct live_attempt, attempt, link) {
		if (attempt->number == number) {
			return attempt;
		}
	}
	return NULL;
}

struct live_attempt *nested_find(const struct nested *nested, uint64_t number) {
	return find_in(&nested->attempts, number);
}

struct live_attempt *nested_next(const struct nested *nested, const struct live_attempt *attempt) {
	struct list *next = attempt ? attempt->link.next : nested->attempts.next;
	return next == &nested->attempts ? NULL : list_entry(next, struct live_attempt, link);
}

mutex *nested_mutex(struct nested *nested) {
	return &nested->lock;
}

static void set_slots(struct nested *nested, unsigned slots) {
	nested->slots = slots;
	lease_set_slots(nested->sessions.table, slots);
}

// sessions.find_lease: makes the slot of a job a lease in the table once a fairpar in the job connects.
static bool find_lease(void *arg, struct lease_id id) {
	struct nested *nested = arg;
	if (lease_is_known(nested->sessions.table, id)) {
		return true; // the lease of a job, or a lease that was granted, is in the table already
	}
	struct live_attempt *attempt = nested_find(nested, id.number);
	if (!attempt || id.nonce != attempt->nonce || !nested->lends || !attempt->has_slot) {
		return false;
	}
	attempt->leased = true;
	set_slots(nested, nested->slots + 1);
	bool held = lease_hold(nested->own, id, 1, /* lent */ false, now_ns());
	(void)lease_withhold(nested->own, id.number, attempt->slots > HELD_UP); // if waits.c lends the slot, fairpars in the job must not borrow it
	return held;
}

bool nested_withhold(struct nested *nested, struct live_attempt *attempt, bool withheld) {
	return !attempt->leased || lease_withhold(nested->own, attempt->number, withheld);
}

// Frees the slots of attempts that have ended, once nobody borrows these slots any more: nested_end() of the attempts then returns.
static void free_ended(struct nested *nested) {
	list_for_each_entry(&nested->ended, struct live_attempt, attempt, link) {
		if (attempt->leased && !lease_exists(nested->sessions.table, attempt->number)) {
			set_slots(nested, nested->slots - 1);
			attempt->leased = false;
			cond_broadcast(&nested->changed);
		}
	}
}

// ---- loans: which slot is lent to which client ----

static struct loan *find_loan(const struct nested *nested, uint64_t number) {
	list_for_each_entry(&nested->loans, struct loan, loan, link) {
		if (loan->number == number) {
			return loan;
		}
	}
	return NULL;
}

static void loan_free(struct loan *loan) {
	list_remove(&loan->link);
	free((char *)loan->event.id.batch);
	free((char *)loan->event.to);
	free(loan);
}

// Returns the slot of a granted lease: the slot of the loan or of the job from which the lease is lent; else a free slot of `lendings`.
static unsigned slot_of(struct nested *nested, const struct lease_grant *grant, const struct live_attempt *attempt) {
	const struct loan *lender = find_loan(nested, grant->lender);
	if (grant->lender) {
		return lender ? lender->event.id.slot : attempt ? attempt->id.slot : 0;
	}
	list_for_each_entry(&nested->lendings, struct lending, lending, link) {
		if (lending->lease == 0) {
			lending->lease = grant->id.number;
			return lending->slot;
		}
	}
	return 0;
}

// sessions.granted: notes the loan of a slot to the client that has got the lease.
static void begin_loan(void *arg, const struct lease_grant *grant, const char *label, uint32_t pid) {
	struct nested *nested = arg;
	struct loan *loan = NEW(struct loan);
	const struct loan *above = find_loan(nested, grant->below);
	loan->number = grant->id.number;
	loan->attempt = above ? above->attempt : grant->below;
	const struct live_attempt *attempt = nested_find(nested, loan->attempt);
	attempt = attempt ? attempt : find_in(&nested->ended, loan->attempt);
	if (attempt && attempt->id.batch) {
		loan->event.id = attempt->id;
		loan->event.id.batch = xstrdup(loan->event.id.batch);
	}
	loan->event.id.slot = slot_of(nested, grant, attempt);
	loan->event.to = xstrdup(label);
	loan->event.pid = (int)pid;
	loan->event.depth = above ? above->event.depth + 1 : 1;
	loan->event.own = grant->lender;
	loan->event.start = now_ns();
	list_push_front(&nested->loans, &loan->link); // if two loans end in the same step, the inner loan is reported first
}

static void end_loans(struct nested *nested, uint64_t now) {
	list_for_each_entry(&nested->lendings, struct lending, lending, link) {
		lending->lease = lease_takes_slots(nested->sessions.table, lending->lease) ? lending->lease : 0;
	}
	list_for_each_entry(&nested->loans, struct loan, loan, link) {
		if (lease_exists(nested->sessions.table, loan->number)) {
			continue;
		}
		if (loan->event.id.batch) {
			loan->event.end = now;
			nested->source.publish(nested->source.arg, &loan->event);
		}
		loan_free(loan);
	}
}

// ---- slots beyond those of the jobs ----

bool nested_lend(struct nested *nested, uint64_t number, struct lending *lending) {
	if (!nested) {
		return false;
	}
	FP_HOLD(&nested->lock);
	struct live_attempt *attempt = nested_find(nested, number);
	if (!attempt || attempt->requested == 0) {
		return false;
	}
	--attempt->requested;
	--nested->requested;
	if (lending) {
		list_push_back(&nested->lendings, &lending->link);
		wakeup_post(nested->wake_fd);
	}
	return true;
}

unsigned nested_lent(struct nested *nested) {
	if (!nested) {
		return 0;
	}
	FP_HOLD(&nested->lock);
	return (unsigned)list_length(&nested->lendings);
}

// Gives the slots of `lendings` that nobody uses back to the owner.
static void return_free(struct nested *nested) {
	struct lease_stat stat;
	lease_stat(nested->sessions.table, &stat);
	list_for_each_entry(&nested->lendings, struct lending, lending, link) {
		if (nested->slots > stat.taken && lending->lease == 0 && lending->counted) {
			set_slots(nested, nested->slots - 1);
			list_remove(&lending->link);
			nested->source.returned(nested->source.arg, lending);
		}
	}
}

// Requests slots until `most` are requested, on behalf of the attempt whose fairpar wants leases. `root`: as from lease_wanted().
static void request_slots(struct nested *nested, uint64_t root, uint32_t most) {
	const struct loan *loan = find_loan(nested, root);
	struct live_attempt *attempt = nested_find(nested, loan ? loan->attempt : root);
	while (attempt && nested->requested < most && nested->source.request(nested->source.arg, attempt)) {
		++attempt->requested;
		++nested->requested;
	}
}

// ---- the event loop ----

void nested_tell_slots(struct nested *nested, unsigned slots, enum controller_reason reason) {
	if (nested) {
		mutex_lock(&nested->lock);
		sessions_announce(&nested->sessions, slots, reason);
		mutex_unlock(&nested->lock);
		wakeup_post(nested->wake_fd);
	}
}

void nested_add_polls(struct nested *nested, struct polls *polls) {
	if (nested) {
		connections_add_polls(&nested->connections, polls);
	}
}

uint64_t nested_tick(struct nested *nested, const struct polls *polls) {
	uint64_t next = TIME_NEVER;
	FP_HOLD(&nested->lock);
	const uint64_t now = now_ns(); // read with the lock, so not before the time of any nested_end() whose effects are seen
	connections_serve(&nested->connections, polls, now);
	if (nested->sessions.n > 0 || !list_is_empty(&nested->ended) || !list_is_empty(&nested->lendings)) {
		free_ended(nested);
		end_loans(nested, now);
		if (!list_is_empty(&nested->lendings)) { // if other items wait, free slots go back to the owner, and are not granted
			nested->sessions.others_wait = nested->source.others_wait(nested->source.arg);
			if (nested->sessions.others_wait) {
				return_free(nested);
			}
		}
		list_for_each_entry(&nested->lendings, struct lending, lending, link) {
			set_slots(nested, nested->slots + !lending->counted);
			lending->counted = true;
		}
		next = sessions_step(&nested->sessions, /* quiet */ false, now);
		return_free(nested);
		uint32_t wanted = 0; // how many leases the sessions that were looked at so far want
		list_for_each_entry(&nested->sessions.list, const struct session, session, link) {
			uint64_t root;
			uint32_t more = session->client ? lease_wanted(session->client, &root) : 0;
			wanted += more;
			if (more > 0) {
				request_slots(nested, root, wanted < nested->most ? wanted : nested->most);
			}
		}
		next = time_earlier(next, connections_flush(&nested->connections));
		next = sessions_are_due(&nested->sessions) ? now : next;
	}
	return next;
}

// ---- opening and closing ----

// connections.take_over until nested_set_take_over() sets another: refuses requests to the run. A worker sets none: its jobs cannot reach the run.
static bool refuse_request(void *arg FP_UNUSED, const struct frame *frame, const char *text FP_UNUSED, int fd) {
	static const char why[] = "the run is on another machine, and cannot be reached from here";
	bool is_request = control_is_request(frame->type);
	if (is_request) {
		(void)!frame_send(fd, (struct frame){.type = CONTROL_REFUSED}, why, strlen(why), -1);
		close(fd);
	}
	return is_request;
}

// Names the socket, and listens on a socket file, for processes in another network namespace, and in the abstract namespace, for processes that do
// not see the file. The guardian of `children` removes the file if this process is killed. Returns 0, or -1 with errno if both are impossible.
static int listen_at(struct nested *nested, struct children *children) {
	struct pool_dir pool_dir;
	uint64_t random;
	FP_CLEANUP(buf_fini) struct buf file = BUF_INIT, ignored = BUF_INIT;
	random_bytes(&random, sizeof(random));
	buf_printf(&file, "%s%d-%" PRIx64, SOCKET_OF_RUN, (int)getpid(), random); // the file goes into the directory of the pools: no pool has this name
	int fd = -1;
	if (pool_dir_open(&pool_dir, buf_str(&file), &ignored) == 0) {
		fd = pool_dir_listen(&pool_dir);
		buf_adds(&nested->name, fd >= 0 ? pool_dir.address.sun_path : "");
	}
	if (fd >= 0) {
		guardian_unlink_if_killed(children_guardian(children), buf_str(&nested->name));
	} else {
		buf_printf(&nested->name, "@fairpar-%s", buf_str(&file));
	}
	int abstract_fd = abstract_listen(buf_str(&nested->name));
	nested->connections = (struct connections){
		.sessions = &nested->sessions,
		.listen_fds = {fd, abstract_fd, -1},
		.reserve_fd = -1,
		.take_over = refuse_request,
	};
	return fd >= 0 || abstract_fd >= 0 ? 0 : -1;
}

struct nested *nested_open(unsigned slots, struct slots_bounds bounds, bool lends, struct context *context, struct children *children) {
	struct nested *nested = NEW(struct nested);
	random_bytes(&nested->secret, sizeof(nested->secret));
	nested->most = bounds.most;
	nested->lends = lends;
	if (listen_at(nested, children) != 0) {
		buf_fini(&nested->name);
		free(nested);
		return NULL;
	}
	mutex_init(&nested->lock, LOCK_NESTED);
	cond_init(&nested->changed);
	list_init(&nested->attempts);
	list_init(&nested->ended);
	list_init(&nested->lendings);
	list_init(&nested->loans);
	uint64_t now = now_ns();
	sessions_init(&nested->sessions, &(struct sessions_config){
		.slots = slots,
		.bounds = bounds,
		.is_told = true,
		.epoch = UINT32_MAX,
	}, now);
	nested->sessions.find_lease = find_lease;
	nested->sessions.granted = begin_loan;
	nested->sessions.arg = nested;
	(void)sessions_step(&nested->sessions, /* quiet */ true, now); // opens the table of leases: there is nothing to recover
	nested->own = lease_join(nested->sessions.table, &(struct lease_client_config){.weight = 1}, NULL, now);
	set_slots(nested, 0);
	if (lends && getenv("FAIRPAR_POOL")) {
		context_set_env(context, "FAIRPAR_POOL", ""); // with --no-inherit: fairpars in jobs ask this run, not the pool
	}
	return nested;
}

void nested_listen(struct nested *nested, int fd) {
	nested->connections.listen_fds[2] = fd;
}

void nested_set_take_over(struct nested *nested, bool (*take_over)(void *arg, const struct frame *frame, const char *text, int fd), void *arg) {
	nested->connections.take_over = take_over;
	nested->connections.take_over_arg = arg;
}

void nested_attach(struct nested *nested, const struct nested_source *source, int wake_fd) {
	nested->source = *source;
	nested->wake_fd = wake_fd;
}

void nested_close(struct nested *nested) {
	if (nested) {
		uint64_t now = now_ns();
		if (buf_str(&nested->name)[0] == '/') {
			(void)!unlink(buf_str(&nested->name));
		}
		connections_fini(&nested->connections);
		lease_leave(nested->own, now);
		sessions_fini(&nested->sessions, now);
		list_for_each_entry(&nested->loans, struct loan, loan, link) {
			loan_free(loan);
		}
		cond_fini(&nested->changed);
		mutex_fini(&nested->lock);
		buf_fini(&nested->name);
		free(nested);
	}
}
