// Lends slots of a run to the fairpars in its jobs (nested runs): together they use no more slots than the run has.
//
// A fairpar in a job connects to $FAIRPAR_SOCK (by sharing/leases.c). First it borrows the slot of its own job, because this job only waits for
// the fairpar. nested.c requests each further slot from its owner (struct nested_source). An owner that is a run queues an item in the job's
// batch, and this item takes a slot in its turn (exec/loan.c). An owner that is a worker on another machine asks its run (modes/worker.c).

#pragma once

#include "base/atomic.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/list.h"
#include "base/sync.h"
#include "job/event.h"
#include "slots/controller.h"
#include "slots/lease.h"
#include "slots/slots.h"

#include <stdbool.h>
#include <stdint.h>

struct children;
struct context;
struct frame;
struct hosts_place;
struct job;
struct live_attempt;
struct nested;
struct worker;

// A slot that can be lent and is not that of a job. The owner sets `slot`; nested.c uses the struct from nested_lend() to nested_source.returned().
struct lending {
	struct list link;         // in a list of nested.c
	unsigned slot;            // number of the slot, for events
	uint64_t lease;           // number of the lease that takes the slot; 0: the slot is free
	bool counted;             // the slot is one of the slots of the table of leases (lease_set_slots())
};

// The owner of the slots: gives slots beyond those of the jobs. The functions are called on the event loop's thread, with nested_mutex() locked.
struct nested_source {
	// Requests a slot for the fairpars in that attempt: the owner calls nested_lend() later. Returns false if no slot will come.
	bool (*request)(void *arg, const struct live_attempt *attempt);
	bool (*others_wait)(void *arg); // returns whether other items wait for slots: then fairpars give lent slots back after each job
	void (*returned)(void *arg, struct lending *lending); // nobody uses the slot any more; nested.c has forgotten the struct
	void (*publish)(void *arg, const struct event_lent *lent); // a lent slot has come back
	void *arg;
};

// A lease that this run holds (sharing/leases.c).
struct run_lease {
	struct lease_id id;
	uint64_t since;           // when the first job began on the lease; 0: the lease is not in use yet
};

// An attempt at a job while it runs. It is in the memory of its worker, which makes it before the process is started
// (child_config.origin). The attempts of a run stand in a table, where --status, nested runs, waits and leases find them. While an
// attempt is in the table, its fields are constant, except for those below "these change".
struct live_attempt {
	struct list link;         // in the table
	uint64_t number, nonce;   // name the attempt in its processes' environment, see nested_add_variable(); 0: there is no table
	struct worker *worker;    // runs the attempt
	const struct job *job;
	const struct hosts_place *place; // in a run on several machines, else NULL
	struct event_job id;      // how events name the attempt
	const char *command;      // text of the attempt's command
	uint64_t since;           // when the attempt began, now_ns() time
	bool has_slot;            // false: the attempt takes no slot, as its batch is long-running
	bool has_terminal;        // the attempt has the terminal for itself (--tty)
	atomic_int pid;           // pid of the attempt's process; 0: not started yet
	atomic_bool awaited;      // another job waits for the attempt's job (memory_claim.awaited)

	// these change: `requested` and `leased` by nested.c, `nwaits` and `slots` by record/waits.c; with nested_mutex() locked
	unsigned requested;       // slots that were requested for the fairpars in the attempt, and have not come
	bool leased;              // the attempt's slot is a lease in the table of nested.c: since a fairpar in it connected, until nobody uses the slot
	unsigned nwaits;          // number of waits for added jobs that go on in the attempt (--wait)
	enum {
		KEEPS_SLOTS,          // the attempt has its slots
		HELD_UP,              // the attempt waits and should lend its slot, but a fairpar in it borrows the slot just now
		LENDS_SLOTS,          // other jobs may use the attempt's slots while it waits
		WANTS_SLOTS,          // the wait of the attempt is over, and it waits for its slots
		WANTS_LEASE,          // the attempt has its slots, and waits for a lease to use them
	} slots;

	// these change: by leases.c, with the lock of struct leases
	enum { HAS_NONE, HAS_LEASE, LENDS_LEASE, REGAINS_LEASE, YIELDS_LEASE } lease_state; // set by the functions of leases.h
	struct run_lease lease;   // the attempt's lease, or the last one that it had
	char **env;               // environment of the attempt's process; FAIRPAR_LEASE or FAIRPAR_SOCK in it names the lease
};

// Opens the socket. Returns the state, which nested_close() frees; or NULL if no socket can be made: then fairpars in jobs have slots
// of their own. `slots`: how many slots the run has now. `bounds`: the fewest and the most slots that the run may have; equal if the number
// of slots is fixed; least 0 if the number is not known. Without `lends` the slots belong to another run or a pool and are not lent, and
// the socket is only for nested_set_take_over().
struct nested *nested_open(unsigned slots, struct slots_bounds bounds, bool lends, struct context *context, struct children *children);

// nested_begin() puts an attempt, whose process is about to start, into the table. nested_end() removes the attempt, and waits until the
// attempt's slot is back, if the slot is lent. Both on the thread of the attempt's worker. NULL-safe.
void nested_begin(struct nested *nested, struct live_attempt *attempt);
void nested_end(struct nested *nested, struct live_attempt *attempt);

// From now on nested_end() does not wait for slots that are still lent: the fairpars that use these slots are about to be killed. NULL-safe.
void nested_abandon(struct nested *nested);

// Sets the function that takes over the connections of clients that request anything but slots (struct connections.take_over). Until then such
// requests are refused, with the message that the run is on another machine.
void nested_set_take_over(struct nested *nested, bool (*take_over)(void *arg, const struct frame *frame, const char *text, int fd), void *arg);

// Accepts clients on this listening socket, too, and closes it in nested_close(); does nothing for -1.
void nested_listen(struct nested *nested, int fd);

// Sets where slots beyond those of the jobs come from, and the descriptor that wakes the event loop (wakeup_post()).
void nested_attach(struct nested *nested, const struct nested_source *source, int wake_fd);

// Lends a slot that was requested for the attempt of that number; `lending` NULL: says that no slot comes. Returns false if the slot is not needed,
// because the attempt has ended. Any thread. NULL-safe.
bool nested_lend(struct nested *nested, uint64_t attempt, struct lending *lending);

// Gives the attempt its number and nonce, and appends a variable for its environment, with a NUL behind it: FAIRPAR_SOCK, by which
// fairpars in it find the run and borrow slots; or FAIRPAR_CONTROL, by which they only find the run, if nothing can be lent to
// them. Any thread.
void nested_add_variable(struct nested *nested, struct live_attempt *attempt, struct buf *vars);

// `withheld` true: the slot of that attempt is not lent to fairpars in it any more, because the attempt waits for other jobs, which
// use the slot meanwhile. False: the slot may be lent again. Returns false, and changes nothing, if a fairpar borrows the slot just
// now. With the lock.
bool nested_withhold(struct nested *nested, struct live_attempt *attempt, bool withheld);

// Tells the fairpars in jobs that the run has `slots` slots now, because of `reason`. From the event loop. NULL-safe.
void nested_tell_slots(struct nested *nested, unsigned slots, enum controller_reason reason);

// Returns how many slots beyond those of the jobs are lent to fairpars. Any thread. NULL-safe.
unsigned nested_lent(struct nested *nested);

// For the event loop: nested_add_polls() adds its descriptors; NULL-safe. nested_tick() serves the connections, called whenever the loop
// wakes; returns when to call it again (now_ns() time), or TIME_NEVER.
void nested_add_polls(struct nested *nested, struct polls *polls);
uint64_t nested_tick(struct nested *nested, const struct polls *polls);

// Returns the mutex of the table of the attempts that run. While it is locked no attempt leaves the table, so the worker of any
// attempt in the table may be passed to pool_submit().
mutex *nested_mutex(struct nested *nested);

// Returns the attempt of that number, or NULL if it does not run. With the lock.
struct live_attempt *nested_find(const struct nested *nested, uint64_t number);

// Returns the attempt that follows `attempt` in the table (for NULL the first one), or NULL after the last. With the lock.
struct live_attempt *nested_next(const struct nested *nested, const struct live_attempt *attempt);

// Closes the socket and frees the struct. Called when no job runs any more and the worker pool is gone. NULL-safe.
void nested_close(struct nested *nested);
