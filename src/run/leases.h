// The slots of a run that come from a pool (--pool): as many as it holds leases.
//
// A lease is held while there is work for it. It is used for one job after the other as long as nobody else waits; else
// it is given back at the end of each job, and asked for anew. A job begins when its lease is in use, as the server
// knows it, and not before (slots/client.h).
//
// The worker pool's slots follow: one more after a lease has come, one less before it goes. So there is a lease for
// each item that runs.
//
// It stands between the run and its executor: an attempt waits for its lease there.

#ifndef FAIRPAR_RUN_LEASES_H
#define FAIRPAR_RUN_LEASES_H

#include "base/attr.h"
#include "process/executor.h"

#include <stdbool.h>

struct leases;
struct options;
struct pool;
struct context;

// What leases_tick() has heard.
struct leases_changes {
	bool renewed;        // leases_fd() is the connection to another server now
	bool look;           // leases_send_observation() is wanted
	unsigned slots;      // of the pool, or of the run above, if their number has changed; else 0
	const char *why;     // it has; or NULL
};

struct observation;

// Connects to the pool that options->pool names, or starts its server; if none is named, to the fairpar in whose job
// this one runs. While there is one thread. *slots: those that the run may have at most, by -j, or 0: as many as there
// are; it is cut to these. *ret_most: the same where their number is found, whatever becomes of it; else 0. Tells jobs, by the context's environment. Returns 0 with *ret_leases, or -1 after a message.
// *ret_leases is NULL if the slots are the run's own; or for want of a server, after a warning: then *slots is 1.
int leases_open(const struct options *options, struct context *context, unsigned *slots, unsigned *ret_most, struct leases **ret_leases)
	FP_NODISCARD;

// The run has so many slots, by leases_open(): is that only the most that there can be, since nobody knows how many there are? NULL-safe.
bool leases_are_uncounted(const struct leases *leases, unsigned slots);

// The executor that waits for a lease and then lets `inner` execute the attempt.
struct executor leases_executor(struct leases *leases, const struct executor *inner);

// The worker pool whose slots they are; it has `slots` of them, which are taken away. `wake` wakes the event loop.
void leases_attach(struct leases *leases, struct pool *pool, unsigned slots, void (*wake)(void *arg), void *arg);

// The attempt with that child_config.origin waits for others: its lease is for the next job. And it wants one again, for its slot:
// returns whether it has one, else it is to be called again behind leases_tick(). The job keeps the nonce, by which what runs below it
// finds its lease. From the event loop.
void leases_lend(struct leases *leases, const void *origin);
bool leases_regain(struct leases *leases, const void *origin) FP_NODISCARD;

// hooks.starving and hooks.surplus of that pool: asks for more, and gives back what is of no use.
void leases_ask(struct leases *leases);
void leases_return_surplus(struct leases *leases);

// Asks what place the run has among those that wait for slots; leases_tick() writes it to stderr when the answer has come.
void leases_ask_place(struct leases *leases);

// For the event loop: what to poll for POLLIN, or -1; and what is to be done when it has come, or the loop was woken.
int leases_fd(const struct leases *leases);
void leases_tick(struct leases *leases, struct leases_changes *ret_news);
void leases_send_observation(struct leases *leases, const struct observation *observation);

// Gives all of them back. When no job runs any more. NULL-safe.
void leases_close(struct leases *leases);

#endif
