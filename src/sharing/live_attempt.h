// An attempt at a job while it runs. Those of a run stand in the table of sharing/nested.h, from which --status, nested runs, waits and
// leases know them.

#pragma once

#include "base/atomic.h"
#include "base/list.h"
#include "job/event.h"
#include "slots/lease.h"

#include <stdbool.h>
#include <stdint.h>

struct job;
struct worker;

// In the memory of its worker, which makes it before its process is started: child_config.origin. What is not said to change is
// constant while it stands in the table.
struct live_attempt {
	struct list link;         // in the table
	uint64_t number, nonce;   // by which its processes name it, nested_add_variable(); 0: there is no table
	struct worker *worker;    // that runs it
	const struct job *job;
	struct event_job id;      // how events name it
	const char *command;      // its text
	uint64_t since;           // now_ns() time
	bool has_slot;            // it does not run beside the slots
	bool has_terminal;        // for itself (--tty)
	atomic_int pid;           // 0: it was not started yet
	atomic_bool awaited;      // child_config.awaited

	// of nested.c and, the last two, of waits.c; with nested_lock()
	bool waits;               // its slot is lent by waits.c, and not to be lent below it
	bool leased;              // a fairpar in it has come: its slot is a lease in the table of nested.c
	bool released, freed;     // that lease; and nobody uses its slot any more
	unsigned nwaits;          // waits that are under way
	enum {
		KEEPS_SLOTS,          // the first that can follow another is the next; each can be followed by this
		HELD_UP,              // it is to lend its slot, which is lent to a fairpar in it just now
		LENDS_SLOTS,
		WANTS_SLOTS,          // they are asked for
		WANTS_LEASE,          // it has its slots, and waits for a lease to use them
	} slots;

	// of leases.c, with its lock
	enum { HAS_NONE, HAS_LEASE, LENDS_LEASE, REGAINS_LEASE, YIELDS_LEASE } lease_state;
	struct lease_id lease;
	uint64_t lease_since;     // when the first job began on it
	char **env;               // of its process, which names the lease
};
