// Who holds the slots of a pool, and who is next: leases, granted in turns among batches.
//
// A state machine without threads, clock and I/O. Times are passed in, in nanoseconds that never go back.
//
// A client asks for leases (lease_want), gets them one by one (lease_next) and gives each back (lease_release; lease_leave gives
// all back). A client belongs to the batch that it names, or to a batch of its own. Batches take turns on the slots (engine/fair.h); within
// a batch the client that has waited longest for its next lease is first. A lease may take several slots: when its turn comes,
// slots that become free are kept for it, so that narrow leases cannot starve it.
//
// A client may run below the job of a lease: in a process that this job has started. If the client says so (config.below), the slots of
// that lease can be lent to the client, but to one such client at a time. The client gets a lent lease for them, which takes no further slot.
// For further leases, which take slots of their own, the client waits in the batch of the lease that it runs on. If the client gives its lent
// lease back while it has a further lease, the further lease becomes the lent one, and its own slots become free: so no slot is kept idle
// for the client. If a lease is given back while its slots are lent, it keeps its slots until the client below gives them back, too.
//
// A client may want spare slots only: those that nobody else waits for. Such a spare client has no turn and no rank in the queue. When
// another client begins to wait (lease_is_contended), the spare client is expected to give back what it can. Of several spare clients the
// one with the fewest leases is first; a spare client gives a lease back if it has at least two more than another one that waits (lease_spare_limit).
//
// Life of a lease: granted -lease_use-> in use -lease_release-> gone
//                  granted -lease_revoke: it was not used for a second, while another client waited (lease_unused)-> gone
// Life of a table: RECOVERING -lease_open-> OPEN
//                  RECOVERING: the clients of a server that died report their leases (lease_hold); nothing is granted

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct lease_table;
struct lease_client;

enum { LEASE_DEPTH = 32 }; // the most leases in a chain in which each lease is lent out of the one before

// Names a lease. No other lease of the pool has the number, not even after a new server has started. A process that knows the nonce is
// the holder of the lease, or runs below a job on the lease.
struct lease_id {
	uint64_t number, nonce;
};

struct lease_client_config {
	const char *batch;     // name of the client's batch; NULL: a batch of its own
	uint32_t weight;       // weight of the batch, 1 to FAIR_MOST_WEIGHT; set by the first client of the batch
	int32_t priority;      // priority of the batch; set by its first client
	struct lease_id below; // the lease of the job in which the client runs; number 0: none
	bool spare;            // the client gets spare slots only, and nothing is lent to it
};

struct lease_grant {
	struct lease_client *client;
	struct lease_id id;
	uint32_t width;        // slots of the lease: as many as the client wanted, or fewer if it could never get that many
	uint64_t lender;       // number of the lease out of which this one is lent, or 0
	uint64_t below;        // number of the lease that the client runs on, or 0
};

// Returns a RECOVERING table of `slots` (at least 1) slots. `fair_time`: batches of the same weight get the same time on the slots; else the same
// number of turns. The leases have numbers above `first`, and random nonces. The caller frees the table with lease_table_destroy(), when all
// clients have left. lease_open() is to be called when clients have had time to report their leases: from then on leases are granted.
struct lease_table *lease_table_create(unsigned slots, bool fair_time, uint64_t first);
void lease_table_destroy(struct lease_table *table);
void lease_open(struct lease_table *table, uint64_t now);

// Adds a client, which the table owns until lease_leave(). lease_user() returns `user`.
struct lease_client *lease_join(struct lease_table *table, const struct lease_client_config *config, void *user, uint64_t now);
void *lease_user(const struct lease_client *client);

// Gives all leases of the client back, and removes the client.
void lease_leave(struct lease_client *client, uint64_t now);

// For a client that has died: gives back its leases, except those for which `keep` returns true because jobs still run on them (`keep`
// NULL: gives back all). The client waits for no more leases.
void lease_keep_only(struct lease_client *client, bool (*keep)(void *arg, uint64_t number), void *arg, uint64_t now);

// The client waits for `n` more leases of `width` slots each; `n` replaces the earlier number.
void lease_want(struct lease_client *client, uint32_t n, uint32_t width, uint64_t now);

// Grants the next lease. Returns false if the table is not OPEN, no client waits, or not enough slots are free. After each call that changes the
// table, lease_next() is to be called until it returns false.
bool lease_next(struct lease_table *table, uint64_t now, struct lease_grant *ret_grant) FP_NODISCARD;

// lease_use() notes that the client uses the lease from now on, so that the lease is not revoked. `nonce`: the nonce of the job that runs on the
// lease; 0: the lease keeps its nonce. `last`: this job is the last one on the lease; else the client may run other jobs on it without another
// call. Slots of a lease are lent only once its holder has called lease_use() with `last`; or from the start, if lease_user() of the holder is NULL.
// lease_release() gives the lease back. Both return false if the client has no such lease.
bool lease_use(struct lease_client *client, uint64_t number, uint64_t nonce, bool last) FP_NODISCARD;
bool lease_release(struct lease_client *client, uint64_t number, uint64_t now);

// Finds a lease that a waiting client may run on, but whose slots cannot be lent yet, as its holder may still run other jobs on the lease. Returns
// the holder and the number of the lease. The caller asks the holder to make the present job the last one on the lease, and to say the job's nonce;
// the answer goes to lease_use(). Returns NULL if there is no such lease whose holder was not asked before. To be called after lease_next().
struct lease_client *lease_ask_last(struct lease_table *table, uint64_t *ret_number);

// Adds a lease that the client has already, for example from the table of a server that died. `lent`: that lease was lent out of the lease that
// the client runs on (config.below). After lease_open() the lease is accepted, too, even if more slots are then taken than there are. Returns
// false if another lease has the number, or if no lease can have that number.
bool lease_hold(struct lease_client *client, struct lease_id id, uint32_t width, bool lent, uint64_t now) FP_NODISCARD;

// Finds the lease to take back: of the leases that are not in use, and whose slots another client waits for, the one that was granted first.
// Returns when that lease is to be taken back (LEASE_UNUSED ns after its grant), its holder and its number; or TIME_NEVER if there is no such lease.
#define LEASE_UNUSED UINT64_C(1000000000)
uint64_t lease_unused(const struct lease_table *table, struct lease_client **ret_holder, uint64_t *ret_number) FP_NODISCARD;

// Takes back the lease that lease_unused() found; returns false if the lease is in use by now. Between lease_unused() and lease_revoke() the
// caller tells the client that the lease is taken back, and reads all that the client has sent until then. A client says that it uses a lease, then
// checks that the lease was not taken back, and only then starts a job: so no client starts a job on a lease that was taken back.
bool lease_revoke(struct lease_client *client, uint64_t number, uint64_t now);

// True if any client waits for its turn.
bool lease_is_awaited(const struct lease_table *table);

// True if a client that gives a lease back helps another one: a client waits, or more slots are taken than there are.
bool lease_is_contended(const struct lease_table *table);

// Returns the client that waits for its turn, if only one client waits: a lease that this client gives back would be granted to it again. Returns
// NULL if no client waits, if several wait, if the table is not OPEN, or if more slots are taken than there are.
const struct lease_client *lease_only_waiter(const struct lease_table *table);

// Returns how many leases the client may keep; 0: all. The number is one less than the client has, if the client wants spare slots only and another
// such client waits that has at least two leases fewer; else 0.
uint32_t lease_spare_limit(const struct lease_client *client);

// The position of the client among those that wait, in the order in which they began to wait, from 1; 0: it does not wait.
// *ret_waiting: how many clients wait.
unsigned lease_rank(const struct lease_client *client, unsigned *ret_waiting);

// Sets the number of slots, which may be 0. While at least this many slots are taken, only leases are granted that are lent out of
// other leases.
void lease_set_slots(struct lease_table *table, unsigned slots);

// lease_waits(): does the client wait for its turn? lease_working(): on how many slots do its own jobs run, not counting slots that it has lent?
bool lease_waits(const struct lease_client *client);
uint32_t lease_working(const struct lease_client *client);

// Does the client hold that lease?
bool lease_is_held(const struct lease_client *client, uint64_t number);

// Is there a lease of that number? A lease whose slots are lent exists even after its holder has given it back.
bool lease_exists(const struct lease_table *table, uint64_t number);

// Is there a lease of that number that takes slots of its own, because it is not lent out of another lease?
bool lease_takes_slots(const struct lease_table *table, uint64_t number);

// Is there a lease of that number, or of that nonce?
bool lease_is_known(const struct lease_table *table, struct lease_id id);

// `withheld` true: from now on no slots of the lease are lent to clients below; false: they may be lent again. Changes nothing and returns false
// if the holder has no such lease, or if `withheld` is true and slots of the lease are lent now.
bool lease_withhold(struct lease_client *holder, uint64_t number, bool withheld);

// Returns a lease of the client on which a job may run, if possible a lease whose slots are not lent; or number 0: the client has none. If it is
// not known which job runs on the lease, the nonce is 0, which is allowed in config.below.
struct lease_id lease_of_client(const struct lease_client *client);

// Sets the lease that the client runs on. Only while RECOVERING: lease_open() looks that lease up.
void lease_set_below(struct lease_client *client, struct lease_id below);

// Does the client run on a lease at the end of a chain of LEASE_DEPTH leases, each lent out of the one before?
bool lease_is_too_deep(const struct lease_client *client);

// Returns how many leases the client waits for. *ret_root: the number of the outermost lease of the chain that the client runs on, or 0.
uint32_t lease_wanted(const struct lease_client *client, uint64_t *ret_root);

// The numbers of the pool, and those of a client, for --status.
struct lease_stat {
	unsigned slots, taken;     // `taken` may be more than `slots`, if the number of slots was lowered, or a new server has fewer
	unsigned held;             // number of leases that clients hold
	unsigned waiting;          // number of clients that wait for their turn
};
struct lease_client_stat {
	const char *batch;         // name of the client's batch, or NULL
	unsigned held, slots, lent; // numbers of the client's leases, of the slots that they take, and of the slots that were lent to it
	uint32_t wanted;           // slots of the leases for which the client waits
	unsigned rank;             // lease_rank()
	uint32_t gathers;          // the width of the client's next lease, while free slots are kept for it; 0: no slots are kept
	double seconds;            // time since the client got the oldest of its leases; if the client has none, since it began to wait
	double virt;               // service of its batch divided by the batch's weight, in seconds or turns
};
void lease_stat(const struct lease_table *table, struct lease_stat *ret_stat);
void lease_client_stat(const struct lease_client *client, uint64_t now, struct lease_client_stat *ret_stat);

// ---- what a job finds in its environment ----

// Appends "NAME:NUMBER:NONCE", by which a process below a job on that lease can borrow the lease. It is the value of
// $FAIRPAR_LEASE if NAME is the name of a pool, and of $FAIRPAR_SOCK if NAME is the name of a socket.
void lease_id_add(struct buf *buf, const char *name, struct lease_id id);

// Reads a value of lease_id_add(). Returns the length of the name, or 0 if `value` is NULL or does not have that form.
size_t lease_id_parse(const char *value, struct lease_id *ret_id);

// Returns the lease that the value names, if NAME in it is `name`; else, or if `value` is NULL, number 0.
struct lease_id lease_id_named(const char *value, const char *name);
