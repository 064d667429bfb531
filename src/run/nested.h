// The slots of a run, lent to the fairpars that its jobs start: so these share them and do not multiply them.
//
// A fairpar in a job finds $FAIRPAR_SOCK and connects (run/leases.c is that side). It is lent the slot of its job
// first, which only waits for it; what it wants beyond are items in the queue of its job's batch that take a slot, when
// their turn comes, and lend it until it is given back (WORK_LENT).
//
// It stands between the run and its executor: that way it knows which jobs run.

#ifndef FAIRPAR_RUN_NESTED_H
#define FAIRPAR_RUN_NESTED_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/polls.h"
#include "process/executor.h"
#include "slots/controller.h"
#include "slots/slots.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct job;
struct nested;
struct pool;
struct start_order;
struct worker;
struct worker_state;

// Where an attempt comes from: child_config.origin.
struct attempt_origin {
	uint64_t number;         // of the attempt
	struct worker *worker;   // that runs it
	const struct worker_state *state; // of that
	const struct job *job;
	const char *command;     // its text
};

// Opens the socket. NULL: there can be none, and fairpars in jobs have slots of their own. `inner` executes the
// attempts. The run has `slots` now, and always as many as `bounds` say; equal ones: the number is fixed, and 0 for the least: nobody
// knows it. Unless it `lends`, the slots are somebody else's, and the socket is only for nested_claim().
struct nested *nested_open(const struct executor *inner, unsigned slots, struct slots_bounds bounds, bool lends, struct context *context);
struct executor nested_executor(struct nested *nested);

// `claim` takes over the connections of those who do not want slots: struct connections.
void nested_claim(struct nested *nested, bool (*claim)(void *arg, uint32_t type, int fd), void *arg);

// The worker pool whose slots are lent. `wake` wakes the event loop.
void nested_attach(struct nested *nested, struct pool *pool, struct start_order *start_order, void (*wake)(void *arg), void *arg);

// A number for an attempt, and "FAIRPAR_SOCK=..." for its environment, with NUL behind it, by which fairpars in it find both its
// slot and the run; or FAIRPAR_CONTROL, for the run alone, if it has no slot that can be lent. Any thread.
uint64_t nested_add_variable(struct nested *nested, bool has_slot, struct buf *vars);

// The attempt of that number waits and lends its slot: it is not to be lent to fairpars in it until it is the attempt's again.
// Returns false if it is lent to one just now, and nothing has changed. From the event loop.
bool nested_withhold(struct nested *nested, uint64_t number, bool withheld);

// The run has so many slots now, because of `reason`: its fairpars in jobs are told. From the event loop. NULL-safe.
void nested_tell_slots(struct nested *nested, unsigned slots, enum controller_reason reason);

// How many slots items of the run have that lend them. From any thread. NULL-safe.
unsigned nested_lent(struct nested *nested);

// hooks.starving of the worker pool.
void nested_starving(struct nested *nested);

// For the event loop: adds what to poll; and does what is to be done then, or when the loop was woken. Returns when it is to be
// called again (now_ns() time), or TIME_NEVER.
void nested_add_polls(struct nested *nested, struct polls *polls);
uint64_t nested_tick(struct nested *nested, const struct polls *polls);

// The attempts that run. Between nested_lock() and nested_unlock() they do not end, and may be asked for what was known when
// they began; their workers may be named to pool_submit().
void nested_lock(struct nested *nested);
void nested_unlock(struct nested *nested);

struct attempt_view {
	const struct attempt_origin *origin;
	uint64_t since;          // now_ns() time
};

// The attempt of that number, if the nonce is its own; or false.
bool nested_find(const struct nested *nested, uint64_t number, uint64_t nonce, struct attempt_view *ret_view);

// The next one, from *at = NULL on; false behind the last.
bool nested_next(const struct nested *nested, const struct list **at, struct attempt_view *ret_view);

// When no job runs any more, and the pool is gone. NULL-safe.
void nested_close(struct nested *nested);

#endif
