// The slots of a run that come from a pool, or from the outer run (in whose job this run was started): one slot for each lease.

#include "sharing/leases.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "cli/options.h"
#include "engine/pool.h"
#include "process/child.h"
#include "process/guardian.h"
#include "sharing/pool_client.h"
#include "sharing/nested.h"
#include "slots/client.h"

#include <errno.h>

// While other clients wait, a lease is used for further jobs until the run has held the lease for QUANTUM, and is given back at the next end of a
// job. If each job needed a new lease, a job of 0.95 ms (/bin/true) would cost 0.12 ms more (tests/bench/run slots).
#define QUANTUM (5 * NS_PER_MS)

struct leases {
	struct pool *pool;
	bool in_pool;              // the leases come from a pool; false: from the run in whose job this process runs
	char *source;              // name of the pool, or of the socket
	int wake_fd;               // wakes the event loop
	mutex lock;                // guards what follows, and the client
	cond came;                 // signalled when a lease comes, when the run ends, and when there is no server any more
	struct client *client;
	unsigned most;             // the most leases that the run may hold at once
	unsigned held;             // how many leases the run holds, in use or free
	struct run_lease *free;    // held leases on which no job runs
	size_t nfree, free_cap;
	unsigned nwaiting;         // attempts that wait for a lease though they have a slot
	unsigned yielding;         // attempts that have given their lease back until their output is read
	unsigned unbacked;         // slots that have lost their lease: the next leases that come are for these slots and add no new slots, because
	                           // on a new slot a later item could start before the item that waits on a slot without a lease
	uint64_t slow;             // when a message says that the run waits for its first lease; 0: the run does not wait yet
	bool lost;                 // there is no server any more: one job at a time runs without a lease
	bool terminating;          // leases_terminate() was called
};

// ---- asking the server for leases ----

// Returns how many more leases there is work for. With the lock.
static unsigned count_wanted(const struct leases *leases) {
	unsigned most = leases->most > leases->held ? leases->most - leases->held : 0;
	unsigned wanted = (leases->yielding > 0 ? 0 : pool_demand(leases->pool, most)) + leases->nwaiting;
	return wanted < most ? wanted : most;
}

// Tells the server how many more leases are wanted, if that number has changed. With the lock.
static void ask(struct leases *leases) {
	if (!leases->lost) {
		client_want(leases->client, count_wanted(leases), 1);
	}
	if (leases->slow == 0 && client_state(leases->client)->wanted > 0) {
		leases->slow = now_ns() + CLIENT_SLOW;
		wakeup_post(leases->wake_fd);
	}
}

void leases_ask_rank(struct leases *leases) {
	FP_HOLD(&leases->lock);
	if (!leases->lost) {
		client_ask(leases->client, CLIENT_RANK);
	}
}

const char *leases_awaited_pool(struct leases *leases) {
	FP_HOLD(&leases->lock);
	bool waits = leases->in_pool && !leases->lost && leases->held == 0 && client_state(leases->client)->wanted > 0;
	return waits ? leases->source : NULL;
}

void leases_ask(struct leases *leases) {
	FP_HOLD(&leases->lock);
	ask(leases);
}

static void push_free(struct leases *leases, struct run_lease lease) {
	*NEW_ELEMENT(leases->free, leases->nfree, leases->free_cap) = lease;
	cond_signal(&leases->came);
}

void leases_return_surplus(struct leases *leases) {
	FP_HOLD(&leases->lock);
	unsigned n = leases->lost ? 0 : pool_drop_surplus(leases->pool);
	for (; n > 0 && leases->nfree > 0; --n) {
		client_release(leases->client, leases->free[--leases->nfree].id.number);
		--leases->held;
	}
	ask(leases);
}

// ---- a job's lease ----

// Takes a free lease into use for a job. `nonce`: the nonce that the job has already, or 0: the job gets a new one. Returns false if
// the lease cannot be used.
static bool use(struct leases *leases, struct run_lease *lease, uint64_t nonce) {
	bool works = client_use(leases->client, lease->id.number, nonce, &lease->id);
	lease->since = lease->since > 0 ? lease->since : now_ns();
	if (client_has_input(leases->client)) {
		wakeup_post(leases->wake_fd);
	}
	return works;
}

// Takes any free lease into use for the attempt, which keeps its nonce, or gets one if it has none. Returns false if there is no usable
// lease; leases that turn out to be unusable are not held any more. With the lock.
static bool take_free(struct leases *leases, struct live_attempt *attempt) {
	while (leases->nfree > 0) {
		struct run_lease lease = leases->free[--leases->nfree];
		if (use(leases, &lease, attempt->lease.id.nonce)) {
			attempt->lease = lease;
			attempt->lease_state = HAS_LEASE;
			return true;
		}
		--leases->held;
		++leases->unbacked;
	}
	return false;
}

// As take_free(), but waits until there is a lease, the run ends, or there is no server any more. With the lock.
static void take(struct leases *leases, struct live_attempt *attempt) {
	while (!leases->lost && !leases->terminating && !take_free(leases, attempt)) {
		++leases->nwaiting;
		ask(leases);
		cond_wait(&leases->came, &leases->lock);
		--leases->nwaiting;
	}
}

// Returns whether the run keeps the lease of a job that has ended for its next job. `since`: run_lease.since. With the lock.
static bool keeps_lease(const struct leases *leases, uint64_t since) {
	if (leases->lost) {
		return leases->held == 1;
	}
	return leases->nwaiting == 0 && (!client_state(leases->client)->contended || now_ns() < since + QUANTUM);
}

// Gives a lease back, and at once asks for another one, if there is work. Returns whether the slot of the lease stays: if there is no
// server any more, the run's last slot stays. With the lock.
static bool release(struct leases *leases, struct lease_id id) {
	--leases->held;
	if (leases->lost) {
		bool is_last = leases->held == 0;
		leases->held += is_last;
		return is_last;
	}
	client_release_and_want(leases->client, id.number, count_wanted(leases));
	return false;
}

// Called when the attempt has ended: keeps its lease for the run's next job if keeps_lease() says so, else gives the lease back.
static void give(struct leases *leases, const struct live_attempt *attempt) {
	{
		FP_HOLD(&leases->lock);
		if (keeps_lease(leases, attempt->lease.since)) {
			push_free(leases, attempt->lease);
			return;
		}
	}
	// The slot is removed first: else the next lease would add a slot, and start an item beside this attempt, whose output is not written yet.
	pool_add_slots(leases->pool, -1);
	mutex_lock(&leases->lock);
	bool remains = release(leases, attempt->lease.id);
	mutex_unlock(&leases->lock);
	if (remains) {
		pool_add_slots(leases->pool, 1);
	}
}

void leases_lend(struct leases *leases, struct live_attempt *attempt) {
	FP_HOLD(&leases->lock);
	if (attempt->lease_state == REGAINS_LEASE) {
		--leases->nwaiting;
		attempt->lease_state = LENDS_LEASE;
	} else if (attempt->lease_state == HAS_LEASE) {
		attempt->lease_state = LENDS_LEASE;
		if (!leases->lost) {
			push_free(leases, attempt->lease);
		}
	}
}

bool leases_regain(struct leases *leases, struct live_attempt *attempt) {
	FP_HOLD(&leases->lock);
	if ((attempt->lease_state != LENDS_LEASE && attempt->lease_state != REGAINS_LEASE) || leases->terminating) {
		return true;
	}
	leases->nwaiting -= attempt->lease_state == REGAINS_LEASE;
	bool has = leases->lost || take_free(leases, attempt);
	attempt->lease_state = has ? HAS_LEASE : REGAINS_LEASE;
	if (!has) {
		++leases->nwaiting;
		ask(leases);
	}
	return has;
}

void leases_yield(struct leases *leases, struct live_attempt *attempt) {
	FP_HOLD(&leases->lock);
	if (attempt->lease_state == HAS_LEASE && !leases->lost) {
		attempt->lease_state = YIELDS_LEASE;
		++leases->yielding;
		(void)release(leases, attempt->lease.id);
	}
}

void leases_take_back(struct leases *leases, struct live_attempt *attempt) {
	FP_HOLD(&leases->lock);
	if (attempt->lease_state == YIELDS_LEASE && !leases->lost) {
		--leases->yielding;
		++leases->unbacked; // the attempt has a slot already: the next lease brings none
		ask(leases);
		take(leases, attempt);
	}
}

bool leases_begin(struct leases *leases, struct child_config *config, struct live_attempt *attempt) {
	if (!leases || !attempt->has_slot) {
		return true;
	}
	FP_HOLD(&leases->lock);
	attempt->lease.id.nonce = 0;
	take(leases, attempt);
	bool has = attempt->lease_state == HAS_LEASE, cancelled = !has && leases->terminating && !config->cleanup;
	if (has) {
		FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
		lease_id_add(&name, leases->source, attempt->lease.id);
		config->env = attempt->env = env_with(config->env, leases->in_pool ? "FAIRPAR_LEASE" : "FAIRPAR_SOCK", buf_str(&name));
		config->forks = true; // starts the guardian, which keeps the connection of a killed run, and so the lease, while it kills the run's jobs
	}
	return !cancelled;
}

void leases_end(struct leases *leases, struct live_attempt *attempt) {
	if (!leases) {
		return;
	}
	mutex_lock(&leases->lock);
	bool has = attempt->lease_state == HAS_LEASE; // else the attempt has got no lease, or has lent it
	leases->nwaiting -= attempt->lease_state == REGAINS_LEASE;
	attempt->lease_state = HAS_NONE;
	mutex_unlock(&leases->lock);
	if (has) {
		give(leases, attempt);
	}
	free(attempt->env);
}

void leases_terminate(struct leases *leases) {
	if (leases) {
		FP_HOLD(&leases->lock);
		leases->terminating = true;
		cond_broadcast(&leases->came);
	}
}

// ---- what the server says ----

// Forgets the free lease of that number; 0: all free leases that no job has used yet. Returns how many.
static unsigned forget_free(struct leases *leases, uint64_t number) {
	size_t kept = 0;
	for (size_t i = 0; i < leases->nfree; ++i) {
		const struct run_lease *lease = &leases->free[i];
		if (number ? lease->id.number != number : lease->since > 0) {
			leases->free[kept++] = *lease;
		}
	}
	unsigned gone = (unsigned)(leases->nfree - kept);
	leases->nfree = kept;
	leases->held -= gone;
	return gone;
}

// Goes on without a server, with one job at a time. Returns by how many slots the run grows (negative: shrinks).
static int lose(struct leases *leases, const char *why) {
	diag_warn("%s: one job runs at a time", why);
	leases->lost = true;
	cond_broadcast(&leases->came);
	unsigned gone = (unsigned)leases->nfree, busy = leases->held - gone;
	leases->nfree = 0;
	leases->held = busy > 0 ? busy : 1;
	gone += leases->unbacked + leases->yielding;
	leases->unbacked = leases->yielding = 0;
	return (int)leases->held - (int)(busy + gone);
}

void leases_tick(struct leases *leases, struct leases_changes *ret_changes) {
	int more = 0;
	struct client_event event;
	*ret_changes = (struct leases_changes){.renewed = false};
	mutex_lock(&leases->lock);
	while (!leases->lost && (event = client_next(leases->client)).type != CLIENT_NOTHING) {
		switch (event.type) {
		case CLIENT_GRANTED:
			leases->slow = TIME_NEVER;
			++leases->held;
			push_free(leases, (struct run_lease){.id = event.id});
			more += leases->unbacked == 0;
			leases->unbacked -= leases->unbacked > 0;
			break;
		case CLIENT_REVOKED: more -= (int)forget_free(leases, event.id.number); break;
		case CLIENT_RENEWED:
			more -= (int)forget_free(leases, 0);
			ret_changes->renewed = true;
			// fall through
		case CLIENT_SLOTS:
			ret_changes->slots = client_state(leases->client)->slots;
			ret_changes->why = client_state(leases->client)->why;
			break;
		case CLIENT_OBSERVE: ret_changes->observe = true; break;
		case CLIENT_RANK:
			if (event.rank > 0) {
				pool_client_say_rank(leases->in_pool ? leases->source : NULL, &event);
			}
			break;
		case CLIENT_LOST: more += lose(leases, event.text); break;
		default: break;
		}
	}
	bool is_slow = leases->slow > 0 && now_ns() >= leases->slow;
	leases->slow = is_slow ? TIME_NEVER : leases->slow;
	mutex_unlock(&leases->lock);
	if (is_slow) {
		leases_ask_rank(leases);
	}
	if (more != 0) {
		pool_add_slots(leases->pool, more);
	}
	leases_ask(leases);
}

uint64_t leases_due(struct leases *leases) {
	FP_HOLD(&leases->lock);
	return time_earlier(leases->slow > 0 ? leases->slow : TIME_NEVER, client_due(leases->client));
}

void leases_send_observation(struct leases *leases, const struct observation *observation) {
	FP_HOLD(&leases->lock);
	client_send_observation(leases->client, observation);
}

int leases_fd(const struct leases *leases) {
	return client_fd(leases->client);
}

// ---- opening and closing ----

bool leases_adapt(const struct leases *leases) {
	const struct slots_bounds bounds = client_state(leases->client)->bounds;
	return bounds.least > 0 && bounds.least < bounds.most;
}

// Sets *ret_slots to the number of slots that the run has now. `said`: the limit of -j, or 0. Returns the fewest and the most slots it may have.
static struct slots_bounds bound_slots(const struct leases *leases, const struct options *options, unsigned said, unsigned *ret_slots) {
	unsigned now = client_state(leases->client)->slots, most = said > 0 && said < MOST_POOL_SLOTS ? said : MOST_POOL_SLOTS;
	unsigned slots = *ret_slots = now < most ? now : most;
	if (leases_adapt(leases)) {
		return (struct slots_bounds){1, options->pipe == PIPE_NOT ? most : slots}; // --pipe has blocks for no more jobs than at first
	}
	return (struct slots_bounds){client_state(leases->client)->bounds.least == 0 && slots == now ? 0 : slots, slots};
}

// Connects to the outer run, which $FAIRPAR_SOCK names. Returns -1 after a message; or 0, with leases->client NULL if there is no outer
// run or the outer run cannot be reached.
static int open_parent(struct leases *leases, const struct options *options) {
	FP_CLEANUP(free_later) char *label = pool_client_label(options->argv + 1);
	struct client_config config = {
		.label = label,
		.weight = 1,
		.reuses = true,
		.deadline = TIME_NEVER,
		.says = !options->quiet,
	};
	FP_CLEANUP(buf_fini) struct buf error = BUF_INIT;
	const char *value = options->pool.no_inherit ? NULL : getenv("FAIRPAR_SOCK");
	size_t len = lease_id_parse(value, &config.below);
	int reason;
	if (len == 0) {
		return 0;
	}
	config.socket = leases->source = xmemdup(value, len);
	leases->client = client_open(&config, &error, &reason);
	if (!leases->client && reason == ETIMEDOUT) {
		diag_warn("%s; this run has slots of its own", buf_str(&error));
	}
	return leases->client || reason != EPROTO ? 0 : diag_error("%s", buf_str(&error));
}

int leases_open(const struct options *options, struct context *context, unsigned *slots, struct slots_bounds *ret_bounds,
                struct leases **ret_leases) {
	struct leases *leases = NEW(struct leases);
	const char *pool = options->pool.name;
	int status;
	mutex_init(&leases->lock, LOCK_LEASES);
	cond_init(&leases->came);
	leases->in_pool = pool;
	if (pool) {
		leases->source = xstrdup(pool);
		leases->client = pool_client_open(options, &status);
	} else {
		status = open_parent(leases, options);
	}
	if (!leases->client) {
		leases_close(leases);
		*ret_leases = NULL;
		*slots = 1;
		*ret_bounds = (struct slots_bounds){1, 1};
		return status ? -1 : 0;
	}
	context_set_env(context, "FAIRPAR_POOL", pool ? leases->source : ""); // the pool that fairpars in jobs ask for slots
	guardian_keep(GUARDIAN_SLOTS, client_fd(leases->client));
	*ret_bounds = bound_slots(leases, options, *slots, slots);
	leases->most = ret_bounds->most; // not the present number of slots: the server raises that only while somebody waits for slots
	*ret_leases = leases;
	return 0;
}

void leases_share_memory(const struct leases *leases, struct children *children) {
	if (leases->in_pool) {
		pool_client_share_memory(leases->client, leases->source, children_memory(children));
	}
}

void leases_attach(struct leases *leases, struct pool *pool, unsigned slots, bool says, int wake_fd) {
	leases->pool = pool;
	leases->slow = says ? 0 : TIME_NEVER;
	leases->wake_fd = wake_fd;
	pool_add_slots(pool, -(int)slots);
	leases_ask(leases);
}

void leases_return(struct leases *leases) {
	if (leases) { // no lock: no other thread runs now
		client_want(leases->client, 0, 1);
		while (leases->nfree > 0) {
			client_release(leases->client, leases->free[--leases->nfree].id.number);
		}
	}
}

void leases_close(struct leases *leases) {
	if (leases) {
		client_close(leases->client);
		cond_fini(&leases->came);
		mutex_fini(&leases->lock);
		free(leases->free);
		free(leases->source);
		free(leases);
	}
}
