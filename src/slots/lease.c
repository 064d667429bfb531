// Who holds the slots of a pool, and who is next: leases, granted in turns among batches.

#include "slots/lease.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/random.h"
#include "base/sync.h"
#include "engine/fair.h"

#include <stdlib.h>
#include <string.h>

// The highest number of a lease that a client may report: so there are numbers left for new leases.
#define LAST_HELD (UINT64_MAX - UINT32_MAX)

enum table_state { RECOVERING, OPEN };

// A batch. It is kept while it has clients or leases; a named batch is kept longer, until its tag has no effect (fair_has_passed()).
struct lease_batch {
	struct list link;           // in the table's list of batches
	struct fair_queue fair;     // the batch in the fair choice: each lease for which a client waits is a waiting item
	struct fair_tag tag;        // while `refs` is 0: the place of the batch in virtual time, for fair_add() when it gets a client again
	char *name;                 // its name, or NULL
	unsigned refs;              // number of clients and leases; 0: the batch takes no turns (fair_remove() was called)
	struct list waiting;        // clients that wait for a lease, in the order of their turns
};

struct lease {
	struct list all;            // in the table's list of leases
	struct list own;            // in the holder's list of leases
	struct lease_id id;
	uint32_t width;
	uint64_t granted;           // when the lease was granted, or reported by lease_hold()
	struct lease_client *holder; // NULL: the lease was given back, but slots of it are still lent
	struct lease *lender;       // the lease out of which this one is lent; NULL: the lease has its own slots, counted in table->taken
	struct lease_batch *batch;  // the batch that is charged for the slots of the lease, or NULL
	bool lender_unknown;        // while RECOVERING: the lease is lent, and lease_open() looks for its lender
	struct lease_client *borrower; // the client to which `lent` slots of the lease are lent; NULL: none are lent
	uint32_t lent;
	enum {
		USE_UNKNOWN,            // the lease is not in use: its holder has not called lease_use() yet
		USED_AGAIN,             // the lease is in use; any job of the holder may run on it, not only the job that has id.nonce
		ASKED,                  // the lease is in use, and the holder was asked to make the present job the last one and to say its nonce
		USED_LAST,              // the lease is in use; the job that has id.nonce is the last one on it
	} use;
	bool withheld;              // nothing is lent out of the lease
};

struct lease_client {
	struct list link;           // in the table's list of clients
	struct list waiting;        // in its batch's list of waiting clients
	struct list leases;
	struct lease_table *table;
	struct lease_batch *batch;
	struct lease *lender;       // the lease that the client runs on, or NULL
	struct lease_id lender_id;  // the lease that the client says it runs on; number 0: none
	uint32_t wanted, width;     // number of leases for which the client waits, and the slots of each
	uint64_t since;             // table->nwaits when the client began to wait for its next lease: lower for a client that has waited longer
	uint64_t waits_since;       // the time at which the client began to wait for its next lease
	bool spare;                 // the client wants spare slots only: it is not in its batch's `waiting`, and gets no turn
	void *user;
};

struct lease_table {
	enum table_state state;
	struct fair fair;
	unsigned slots, taken;
	uint64_t last_number;       // the highest number of a lease so far
	uint64_t nwaits;            // how often clients have begun to wait for a lease
	struct list clients, batches;
	struct list leases;         // in the order in which the leases were granted or reported
	struct lease_client *gathering; // the client whose turn it is, while it needs more slots than are free
	uint64_t gathers_since;     // when the turn of `gathering` came
	uint64_t nonces;            // state of random_next(), which makes the nonces
};

// ---- batches ----

static void batch_free(struct lease_batch *batch) {
	list_remove(&batch->link);
	free(batch->name);
	free(batch);
}

// Frees the batches without clients and leases whose tags have no effect any more.
static void forget_batches(struct lease_table *table) {
	list_for_each_entry(&table->batches, struct lease_batch, batch, link) {
		if (batch->refs == 0 && (!batch->name || fair_has_passed(&table->fair, batch->tag))) {
			batch_free(batch);
		}
	}
}

// Finds or makes the batch of a client with this config. Returns the batch with a reference, for batch_unref().
static struct lease_batch *batch_get(struct lease_table *table, const struct lease_client_config *config) {
	forget_batches(table);
	struct lease_batch *batch = NULL;
	list_for_each_entry(&table->batches, struct lease_batch, known, link) {
		batch = config->batch && known->name && strcmp(known->name, config->batch) == 0 ? known : batch;
	}
	if (!batch) {
		batch = xcalloc(1, sizeof(*batch));
		batch->name = config->batch ? xstrdup(config->batch) : NULL;
		list_init(&batch->waiting);
		list_push_back(&table->batches, &batch->link);
	}
	if (batch->refs++ == 0) {
		fair_add(&table->fair, &batch->fair, config->weight, config->priority, /* limit */ 0, &batch->tag);
	}
	return batch;
}

static void batch_unref(struct lease_table *table, struct lease_batch *batch, uint64_t now) {
	if (--batch->refs == 0) {
		batch->tag = fair_remove(&table->fair, &batch->fair, now);
		forget_batches(table);
	}
}

// ---- leases ----

static struct lease *lease_find(const struct lease_table *table, uint64_t number) {
	list_for_each_entry(&table->leases, struct lease, lease, all) {
		if (lease->id.number == number) {
			return lease;
		}
	}
	return NULL;
}

static struct lease *lease_of(const struct lease_client *client, uint64_t number) {
	struct lease *lease = lease_find(client->table, number);
	return lease && lease->holder == client ? lease : NULL;
}

// May the holder run other jobs on the lease without a call of lease_use()?
static bool changes_jobs(const struct lease *lease) {
	return lease->use == USED_AGAIN || lease->use == ASKED;
}

// Notes that the job of that nonce runs on the lease now. From now on nothing is lent out of the lease to clients that run below another job.
static void begin_job(struct lease *lease, uint64_t nonce) {
	lease->id.nonce = nonce;
	list_for_each_entry(&lease->holder->table->clients, struct lease_client, client, link) {
		if (client->lender == lease && client->lender_id.nonce == 0) {
			client->lender_id.nonce = nonce;
		} else if (client->lender == lease && client->lender_id.nonce != nonce) {
			client->lender = NULL;
		}
	}
}

// Returns a lease with the nonce of `id`; of several such leases, the one that has the number of `id`, too. (The number may be that of another lease:
// a job that lends its lease and gets another lease keeps only its nonce.) Else returns the lease of that number, if any job may run on it; or NULL.
static struct lease *lease_of_id(const struct lease_table *table, struct lease_id id) {
	struct lease *same = NULL, *numbered = NULL;
	if (id.number == 0) {
		return NULL;
	}
	list_for_each_entry(&table->leases, struct lease, lease, all) {
		bool has_number = lease->id.number == id.number;
		same = lease->id.nonce == id.nonce && (has_number || !same) ? lease : same;
		numbered = has_number && changes_jobs(lease) ? lease : numbered;
	}
	return same ? same : numbered;
}

struct lease_id lease_of_client(const struct lease_client *client) {
	struct lease_id id = {0};
	list_for_each_entry(&client->leases, const struct lease, lease, own) {
		bool may_run = lease->use != USE_UNKNOWN && !client->spare;
		if (may_run && (id.number == 0 || lease->lent == 0)) {
			id = (struct lease_id){lease->id.number, changes_jobs(lease) ? 0 : lease->id.nonce};
		}
	}
	return id;
}

static struct lease *lease_add(struct lease_client *client, struct lease_id id, uint32_t width) {
	struct lease *lease = xcalloc(1, sizeof(*lease));
	lease->id = id;
	lease->width = width;
	lease->holder = client;
	lease->use = client->user ? USE_UNKNOWN : USED_LAST;
	list_push_back(&client->table->leases, &lease->all);
	list_push_back(&client->leases, &lease->own);
	return lease;
}

// Charges the slots of a lease to the batch that fair_pick() has just picked.
static void lease_charge(struct lease_table *table, struct lease *lease, struct lease_batch *batch, uint64_t now) {
	lease->batch = batch;
	++batch->refs;
	table->taken += lease->width;
	if (lease->width > 1) {
		fair_charge(&table->fair, &batch->fair, lease->width - 1, lease->width - 1, now);
	}
}

static void lease_uncharge(struct lease_table *table, struct lease *lease, uint64_t now) {
	table->taken -= lease->width;
	if (!lease->batch) {
		return;
	}
	fair_done(&table->fair, &lease->batch->fair, lease->width - 1, now);
	batch_unref(table, lease->batch, now);
}

static void lease_lend(struct lease *lender, struct lease *lease) {
	lease->lender = lender;
	lender->borrower = lease->holder;
	lender->lent += lease->width;
}

// Returns how many leases are in the chain that begins with `lease`, and in which each lease is lent out of the next one.
static unsigned chain_length(const struct lease *lease) {
	unsigned n = 0;
	for (; lease; lease = lease->lender) {
		++n;
	}
	return n;
}

static const struct lease *root_of(const struct lease *lease) {
	while (lease->lender) {
		lease = lease->lender;
	}
	return lease;
}

// Returns how many slots of `lender` can be lent to the client now: `width`, or all slots of `lender` if it has fewer than
// `width`; 0: none can be lent.
static uint32_t lendable(const struct lease *lender, const struct lease_client *client, uint32_t width) {
	if (!lender || lender->withheld || (lender->borrower && lender->borrower != client) || chain_length(lender) >= LEASE_DEPTH) {
		return 0;
	}
	width = width < lender->width ? width : lender->width;
	return lender->width - lender->lent >= width ? width : 0;
}

// Can all slots of `lease` be lent out of `lender`?
static bool can_be_lent(const struct lease *lender, const struct lease *lease) {
	const struct lease *above = lender;
	while (above && above != lease) {
		above = above->lender;
	}
	return !above && lendable(lender, lease->holder, lease->width) == lease->width;
}

// Called when a lease that was lent out of `lender` was given back. If a client that runs on `lender` has a lease with slots of
// its own, that lease is lent out of `lender` from now on, and its own slots become free. Without this the slots of `lender` that came
// back would be idle until that client wants more leases, while other clients wait.
static void lend_instead(struct lease_table *table, struct lease *lender, uint64_t now) {
	list_for_each_entry(&table->leases, struct lease, lease, all) {
		bool is_beyond = lease->holder && lease->holder->lender == lender && !lease->lender;
		if (is_beyond && can_be_lent(lender, lease)) {
			lease_uncharge(table, lease, now);
			lease->batch = NULL;
			lease_lend(lender, lease);
			return;
		}
	}
}

// Frees a lease if it has no holder and no slots of it are lent, and gives back its slots; then does the same for its lender.
static void lease_end(struct lease_table *table, struct lease *lease, uint64_t now) {
	while (lease && !lease->holder && lease->lent == 0) {
		struct lease *lender = lease->lender;
		if (lender) {
			lender->lent -= lease->width;
			lender->borrower = lender->lent > 0 ? lender->borrower : NULL;
			if (lender->holder && table->state == OPEN) {
				lend_instead(table, lender, now);
			}
		} else if (!lease->lender_unknown) {
			lease_uncharge(table, lease, now);
		}
		list_for_each_entry(&table->clients, struct lease_client, client, link) { // clients that run on the lease
			client->lender = client->lender == lease ? NULL : client->lender;
		}
		list_remove(&lease->all);
		free(lease);
		lease = lender;
	}
}

static void lease_drop(struct lease_table *table, struct lease *lease, uint64_t now) {
	list_remove(&lease->own);
	lease->holder = NULL;
	lease->use = USED_LAST; // no other job comes; while slots are lent, the last job, or a process that it left behind, may still run
	lease_end(table, lease, now);
}

// ---- the table ----

struct lease_table *lease_table_create(unsigned slots, bool fair_time, uint64_t first) {
	struct lease_table *table = xcalloc(1, sizeof(*table));
	table->slots = slots;
	table->last_number = first;
	random_bytes(&table->nonces, sizeof(table->nonces)); // so that a nonce of another table finds no lease here
	fair_init(&table->fair, fair_time);
	table->fair.slots = slots;
	list_init(&table->clients);
	list_init(&table->batches);
	list_init(&table->leases);
	return table;
}

void lease_table_destroy(struct lease_table *table) {
	list_for_each_entry(&table->batches, struct lease_batch, batch, link) {
		batch_free(batch);
	}
	fair_fini(&table->fair);
	free(table);
}

// Charges the lease to the batch as if it were the batch's turn. While RECOVERING no other batch has items, so fair_pick() takes this batch.
static void charge_held(struct lease_table *table, struct lease *lease, struct lease_batch *batch, uint64_t now) {
	fair_arrive(&table->fair, &batch->fair, 1, now);
	(void)fair_pick(&table->fair, now);
	lease_charge(table, lease, batch, now);
}

// Notes that the client runs on the lease `lender`, and moves the client to the batch that is charged for the outermost lease of the chain.
static void client_set_lender(struct lease_client *client, struct lease *lender, uint64_t now) {
	const struct lease *root = root_of(lender);
	client->lender = lender;
	struct lease_batch *old = client->batch;
	if (!root->batch || old == root->batch) {
		return;
	}
	client->batch = root->batch;
	++client->batch->refs;
	batch_unref(client->table, old, now);
}

// Looks up the leases on which clients say that they run, now that all clients have reported the leases that they hold.
static void resolve_lenders(struct lease_table *table, uint64_t now) {
	list_for_each_entry(&table->leases, struct lease, lease, all) {
		struct lease *lender = lease->lender_unknown ? lease_of_id(table, lease->holder->lender_id) : NULL;
		if (can_be_lent(lender, lease)) {
			lease_lend(lender, lease);
		} else if (lease->lender_unknown) {
			charge_held(table, lease, lease->holder->batch, now);
		}
		lease->lender_unknown = false;
	}
	list_for_each_entry(&table->clients, struct lease_client, client, link) {
		struct lease *lender = lease_of_id(table, client->lender_id);
		if (lender && lender->holder != client) {
			client_set_lender(client, lender, now);
		}
	}
}

void lease_open(struct lease_table *table, uint64_t now) {
	resolve_lenders(table, now);
	table->state = OPEN;
	list_for_each_entry(&table->clients, struct lease_client, client, link) {
		uint32_t wanted = client->wanted;
		client->wanted = 0;
		lease_want(client, wanted, client->width, now);
	}
}

// ---- clients ----

struct lease_client *lease_join(struct lease_table *table, const struct lease_client_config *config, void *user, uint64_t now) {
	struct lease_client *client = NEW(struct lease_client);
	client->table = table;
	client->user = user;
	client->lender_id = config->spare ? (struct lease_id){0} : config->below;
	client->spare = config->spare;
	client->width = 1;
	list_init(&client->waiting);
	list_init(&client->leases);
	list_push_back(&table->clients, &client->link);
	client->batch = batch_get(table, config);
	struct lease *lender = table->state == RECOVERING ? NULL : lease_of_id(table, client->lender_id);
	if (lender) {
		client_set_lender(client, lender, now);
	}
	return client;
}

void lease_set_below(struct lease_client *client, struct lease_id below) {
	client->lender_id = below;
}

void *lease_user(const struct lease_client *client) {
	return client->user;
}

void lease_keep_only(struct lease_client *client, bool (*keep)(void *arg, uint64_t number), void *arg, uint64_t now) {
	lease_want(client, 0, client->width, now);
	list_for_each_entry(&client->leases, struct lease, lease, own) {
		if (!keep || !keep(arg, lease->id.number)) {
			lease_drop(client->table, lease, now);
		} else if (changes_jobs(lease)) {
			lease->use = USED_LAST;
		}
	}
}

void lease_leave(struct lease_client *client, uint64_t now) {
	lease_keep_only(client, /* keep */ NULL, NULL, now);
	list_remove(&client->link);
	batch_unref(client->table, client->batch, now);
	free(client);
}

static void give_turn_back(struct lease_table *table, uint64_t now) {
	fair_give_back(&table->fair, &table->gathering->batch->fair, /* items */ 1, /* extra */ 0, table->gathers_since, now);
	table->gathering = NULL;
}

// Notes that the client begins to wait for its next lease, behind all others.
static void begin_wait(struct lease_client *client, uint64_t now) {
	client->since = ++client->table->nwaits;
	client->waits_since = now;
}

void lease_want(struct lease_client *client, uint32_t n, uint32_t width, uint64_t now) {
	struct lease_table *table = client->table;
	struct fair_queue *queue = &client->batch->fair;
	uint32_t before = client->wanted;
	client->wanted = n;
	client->width = width > 0 ? width : 1;
	if (before == 0 && n > 0) {
		begin_wait(client, now);
	}
	if (table->state == RECOVERING || client->spare) {
		return;
	}
	if (table->gathering == client && n == 0) {
		give_turn_back(table, now);
		--before;
	}
	if (n > before) {
		fair_arrive(&table->fair, queue, n - before, now);
	} else if (n < before) {
		fair_withdraw(&table->fair, queue, before - n, now);
	}
	if (n == 0) {
		list_remove(&client->waiting);
	} else if (list_is_empty(&client->waiting)) {
		list_push_back(&client->batch->waiting, &client->waiting);
	}
}

// ---- granting ----

static void grant(struct lease_client *client, struct lease *lender, uint32_t width, uint64_t now, struct lease_grant *ret_grant) {
	struct lease_table *table = client->table;
	struct lease_id id = {.number = ++table->last_number, .nonce = random_next(&table->nonces) | 1};
	struct lease *lease = lease_add(client, id, width);
	lease->granted = now;
	if (lender) {
		lease_lend(lender, lease);
	} else if (client->spare) {
		table->taken += width; // charged to no batch, as a spare client has no turn
	} else {
		lease_charge(table, lease, client->batch, now);
	}
	--client->wanted;
	list_remove(&client->waiting);
	if (client->wanted > 0 && !client->spare) {
		list_push_back(&client->batch->waiting, &client->waiting);
		begin_wait(client, now);
	}
	*ret_grant = (struct lease_grant){
		.client = client,
		.id = id,
		.width = width,
		.lender = lender ? lender->id.number : 0,
		.below = client->lender ? client->lender->id.number : 0,
	};
}

static bool grant_lent(struct lease_table *table, uint64_t now, struct lease_grant *ret_grant) {
	list_for_each_entry(&table->clients, struct lease_client, client, link) {
		// the lender is looked up again: the job above the client may have got its lease, or another lease, after the client joined
		struct lease *lender = client->lender || client->wanted == 0 ? client->lender : lease_of_id(table, client->lender_id);
		if (lender != client->lender && lender->holder != client) {
			uint32_t wanted = client->wanted;
			lease_want(client, 0, client->width, now);
			client_set_lender(client, lender, now);
			lease_want(client, wanted, client->width, now);
		}
		uint32_t width = lendable(client->lender, client, client->width);
		if (client->wanted > 0 && width > 0 && client->lender->use == USED_LAST) {
			if (client == table->gathering) { // the lent lease takes the place of the lease for which slots were kept
				give_turn_back(table, now);
			} else {
				fair_withdraw(&table->fair, &client->batch->fair, 1, now);
			}
			grant(client, client->lender, width, now, ret_grant);
			return true;
		}
	}
	return false;
}

// Returns the width of the client's next lease: as the client wants, but no more slots than can be free while the lease above the client is held.
static uint32_t attainable(const struct lease_client *client) {
	uint32_t slots = client->table->slots, held = client->lender ? root_of(client->lender)->width : 0;
	uint32_t most = held < slots ? slots - held : 1;
	return client->width < most ? client->width : most;
}

// Returns, of the clients that wait for spare slots and want leases of at most that width, the one with the fewest leases; or NULL.
static struct lease_client *neediest_spare(const struct lease_table *table, uint32_t width) {
	struct lease_client *neediest = NULL;
	size_t least = SIZE_MAX;
	list_for_each_entry(&table->clients, struct lease_client, client, link) {
		size_t n = client->spare && client->wanted > 0 && client->width <= width ? list_length(&client->leases) : SIZE_MAX;
		if (n < least) {
			neediest = client;
			least = n;
		}
	}
	return neediest;
}

bool lease_next(struct lease_table *table, uint64_t now, struct lease_grant *ret_grant) {
	if (table->state == RECOVERING) {
		return false;
	}
	if (grant_lent(table, now, ret_grant)) {
		return true;
	}
	if (table->taken >= table->slots) {
		return false;
	}
	if (!table->gathering) {
		struct fair_queue *queue = fair_pick(&table->fair, now);
		if (!queue) {
			struct lease_client *spare = neediest_spare(table, table->slots - table->taken); // no client waits for a turn: the free slots are spare
			if (spare) {
				grant(spare, /* lender */ NULL, spare->width, now, ret_grant);
				list_remove(&spare->link); // moves the client to the end: next time, other clients with as few leases are first
				list_push_back(&table->clients, &spare->link);
			}
			return spare;
		}
		const struct lease_batch *batch = list_entry(queue, struct lease_batch, fair);
		table->gathering = list_entry(batch->waiting.next, struct lease_client, waiting);
		table->gathers_since = now;
	}
	struct lease_client *client = table->gathering;
	uint32_t width = attainable(client);
	if (table->slots - table->taken < width) {
		return false;
	}
	table->gathering = NULL;
	grant(client, /* lender */ NULL, width, now, ret_grant);
	return true;
}

struct lease_client *lease_ask_last(struct lease_table *table, uint64_t *ret_number) {
	list_for_each_entry(&table->clients, const struct lease_client, client, link) {
		struct lease *lender = client->lender;
		if (client->wanted > 0 && lendable(lender, client, client->width) > 0 && lender->use == USED_AGAIN) {
			lender->use = ASKED;
			*ret_number = lender->id.number;
			return lender->holder;
		}
	}
	return NULL;
}

bool lease_use(struct lease_client *client, uint64_t number, uint64_t nonce, bool last) {
	struct lease *lease = lease_of(client, number);
	if (!lease) {
		return false;
	}
	lease->use = last ? USED_LAST : USED_AGAIN;
	begin_job(lease, nonce ? nonce : lease->id.nonce);
	return true;
}

bool lease_release(struct lease_client *client, uint64_t number, uint64_t now) {
	struct lease *lease = lease_of(client, number);
	if (lease) {
		lease_drop(client->table, lease, now);
	}
	return lease;
}

bool lease_hold(struct lease_client *client, struct lease_id id, uint32_t width, bool lent, uint64_t now) {
	struct lease_table *table = client->table;
	if (id.number == 0 || id.number > LAST_HELD || lease_find(table, id.number)) {
		return false;
	}
	table->last_number = id.number > table->last_number ? id.number : table->last_number;
	struct lease *lease = lease_add(client, id, width > 0 ? width : 1);
	lease->granted = now;
	lease->lender_unknown = lent && table->state == RECOVERING;
	if (table->state != RECOVERING) { // a late report: the lease is charged to no batch, as it had no turn
		table->taken += lease->width;
	} else if (!lent) {
		charge_held(table, lease, client->batch, now);
	}
	return true;
}

// Does a client wait that could get the slots of the lease if the lease were taken back?
static bool is_missed(const struct lease_table *table, const struct lease *lease) {
	if (!lease->lender) {
		return lease_is_contended(table);
	}
	list_for_each_entry(&table->clients, const struct lease_client, client, link) {
		if (client->lender == lease->lender && client != lease->holder && client->wanted > 0) {
			return true;
		}
	}
	return false;
}

uint64_t lease_unused(const struct lease_table *table, struct lease_client **ret_holder, uint64_t *ret_number) {
	list_for_each_entry(&table->leases, const struct lease, lease, all) {
		if (lease->use == USE_UNKNOWN && is_missed(table, lease)) {
			*ret_holder = lease->holder;
			*ret_number = lease->id.number;
			return lease->granted + LEASE_UNUSED;
		}
	}
	return TIME_NEVER;
}

bool lease_revoke(struct lease_client *client, uint64_t number, uint64_t now) {
	struct lease *lease = lease_of(client, number);
	bool unused = lease && lease->use == USE_UNKNOWN;
	if (unused) {
		lease_drop(client->table, lease, now);
	}
	return unused;
}

void lease_set_slots(struct lease_table *table, unsigned slots) {
	table->slots = table->fair.slots = slots;
}

bool lease_is_held(const struct lease_client *client, uint64_t number) {
	return lease_of(client, number);
}

bool lease_exists(const struct lease_table *table, uint64_t number) {
	return lease_find(table, number);
}

bool lease_takes_slots(const struct lease_table *table, uint64_t number) {
	const struct lease *lease = lease_find(table, number);
	return lease && !lease->lender;
}

bool lease_is_known(const struct lease_table *table, struct lease_id id) {
	return lease_exists(table, id.number) || lease_of_id(table, id);
}

bool lease_withhold(struct lease_client *holder, uint64_t number, bool withheld) {
	struct lease *lease = lease_of(holder, number);
	bool may = lease && !(withheld && lease->lent > 0);
	if (may) {
		lease->withheld = withheld;
	}
	return may;
}

bool lease_is_too_deep(const struct lease_client *client) {
	return chain_length(client->lender) >= LEASE_DEPTH;
}

uint32_t lease_wanted(const struct lease_client *client, uint64_t *ret_root) {
	*ret_root = client->lender ? root_of(client->lender)->id.number : 0;
	return client->spare ? 0 : client->wanted;
}

// ---- what callers may ask about ----

bool lease_is_awaited(const struct lease_table *table) {
	return table->state == OPEN && (table->gathering || fair_is_eligible(&table->fair));
}

bool lease_is_contended(const struct lease_table *table) {
	return lease_is_awaited(table) || (table->state == OPEN && table->taken > table->slots);
}

bool lease_waits(const struct lease_client *client) {
	return client->wanted > 0 && !client->spare;
}

const struct lease_client *lease_only_waiter(const struct lease_table *table) {
	const struct lease_client *waiter = NULL;
	if (table->state != OPEN || table->taken > table->slots) {
		return NULL;
	}
	list_for_each_entry(&table->clients, const struct lease_client, client, link) {
		if (lease_waits(client) && waiter) {
			return NULL;
		}
		waiter = lease_waits(client) ? client : waiter;
	}
	return waiter;
}

uint32_t lease_working(const struct lease_client *client) {
	uint32_t slots = 0;
	list_for_each_entry(&client->leases, const struct lease, lease, own) {
		slots += lease->width - lease->lent;
	}
	return slots;
}

uint32_t lease_spare_limit(const struct lease_client *client) {
	const struct lease_client *other = client->spare && client->table->state == OPEN ? neediest_spare(client->table, UINT32_MAX) : NULL;
	size_t n = other ? list_length(&client->leases) : 0;
	return n > 1 && list_length(&other->leases) < n - 1 ? (uint32_t)n - 1 : 0;
}

unsigned lease_rank(const struct lease_client *client, unsigned *ret_waiting) {
	unsigned before = 0, waiting = 0;
	list_for_each_entry(&client->table->clients, const struct lease_client, other, link) {
		waiting += lease_waits(other);
		before += lease_waits(other) && other->since < client->since;
	}
	*ret_waiting = waiting;
	return lease_waits(client) ? before + 1 : 0;
}

void lease_stat(const struct lease_table *table, struct lease_stat *ret_stat) {
	*ret_stat = (struct lease_stat){.slots = table->slots, .taken = table->taken};
	list_for_each_entry(&table->leases, const struct lease, lease, all) {
		ret_stat->held += lease->holder != NULL;
	}
	list_for_each_entry(&table->clients, const struct lease_client, client, link) {
		ret_stat->waiting += lease_waits(client);
	}
}

void lease_client_stat(const struct lease_client *client, uint64_t now, struct lease_client_stat *ret_stat) {
	const struct fair *fair = &client->table->fair;
	unsigned waiting;
	uint64_t since = TIME_NEVER;
	*ret_stat = (struct lease_client_stat){
		.batch = client->batch->name,
		.wanted = client->wanted > 0 ? client->wanted * attainable(client) : 0,
		.rank = lease_rank(client, &waiting),
		.gathers = client->table->gathering == client ? attainable(client) : 0,
		.virt = fair_virt(fair, &client->batch->fair, now),
	};
	list_for_each_entry(&client->leases, const struct lease, lease, own) {
		++ret_stat->held;
		ret_stat->lent += lease->lender ? lease->width : 0;
		ret_stat->slots += lease->lender ? 0 : lease->width;
		since = lease->granted < since ? lease->granted : since;
	}
	since = since == TIME_NEVER && lease_waits(client) ? client->waits_since : since;
	ret_stat->seconds = since < now ? (double)(now - since) / (double)NS_PER_S : 0;
}

// ---- what a job finds in its environment ----

void lease_id_add(struct buf *buf, const char *name, struct lease_id id) {
	buf_printf(buf, "%s:%llx:%llx", name, ull(id.number), ull(id.nonce));
}

size_t lease_id_parse(const char *value, struct lease_id *ret_id) {
	const char *nonce = value ? strrchr(value, ':') : NULL, *number = nonce ? memrchr(value, ':', (size_t)(nonce - value)) : NULL;
	char *number_end, *nonce_end;
	if (!number) {
		return 0;
	}
	*ret_id = (struct lease_id){strtoull(number + 1, &number_end, 16), strtoull(nonce + 1, &nonce_end, 16)};
	return number_end == nonce && *nonce_end == '\0' && nonce[1] ? (size_t)(number - value) : 0;
}

struct lease_id lease_id_named(const char *value, const char *name) {
	struct lease_id id;
	size_t len = lease_id_parse(value, &id);
	bool same = len > 0 && strlen(name) == len && strncmp(value, name, len) == 0;
	return same ? id : (struct lease_id){0};
}
