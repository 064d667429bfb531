// The slots of a run that come from a pool (--pool), or from the outer run, in one of whose jobs this run was started: the run has one
// slot for each lease that it holds. The server of the leases is that of the pool, or the outer run.
//
// The run holds a lease while it has work for the lease. While no other client waits, the run uses the lease for one job after the
// other; else it releases the lease at the end of a job, once it has held the lease for 5 ms, and asks for another one. A job
// starts only after the server knows that the job's lease is in use (slots/client.h).
//
// The worker pool gets a slot after a lease has come, and loses one before a lease is released: so each item that runs has a lease.

#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

struct child_config;
struct children;
struct context;
struct leases;
struct options;
struct pool;
struct slots_bounds;
struct live_attempt;

// What the server has said since the last leases_tick().
struct leases_changes {
	bool renewed;        // leases_fd() is the connection to another server now
	bool observe;        // the server asks for leases_send_observation()
	unsigned slots;      // the new number of slots of the pool, or of the outer run; 0: the number has not changed
	const char *why;     // why `slots` was changed, or NULL
};

struct observation;

// Connects to the pool options->pool.name, and starts the pool's server if there is none; or, if no pool is named, connects to the outer run.
// Called while the process has one thread. Names the pool in the context's environment, for jobs.
//
// *slots: the limit of -j, or 0; set to the number of slots that this run has now. *ret_bounds: the fewest and the most slots that this run may
// have; the fewest is 0 if the number is not known, as the outer run is a client of make's jobserver: *slots is only an upper bound.
//
// Returns -1 after a message, or 0. The caller frees *ret_leases with leases_close(). If there is no server, sets *ret_leases to NULL and *slots
// to 1. If a pool is named, a warning says so, and this run has the one slot. If no pool is named, the caller gives this run slots of its own and
// ignores *slots; a warning was printed only if the outer run exists and does not answer.
int leases_open(const struct options *options, struct context *context, unsigned *slots, struct slots_bounds *ret_bounds,
                struct leases **ret_leases) FP_NODISCARD;

// Returns whether the server adapts its number of slots (auto) to the machine and the jobs.
bool leases_adapt(const struct leases *leases);

// With a pool: makes `children` count the memory that jobs of the pool's other runs need, and tell these runs how much this run's jobs need.
// Called before the first child of `children`.
void leases_share_memory(const struct leases *leases, struct children *children);

// leases_begin() waits for a lease for an attempt with a slot, and sets config->env to a copy that also names the lease. Returns false if
// leases_terminate() was called before a lease came: the attempt is cancelled. leases_end() gives the lease back, if the attempt has
// one, and frees the copy of the environment. On the attempt's thread; `leases` may be NULL.
bool leases_begin(struct leases *leases, struct child_config *config, struct live_attempt *attempt) FP_NODISCARD;
void leases_end(struct leases *leases, struct live_attempt *attempt);

// From now on no attempt gets a lease, and clean-up commands (child_config.cleanup) run without a lease. NULL-safe.
void leases_terminate(struct leases *leases);

// Sets the worker pool (borrowed), which was created with `slots` slots, and removes these slots: each lease that comes adds a slot. `wake_fd`
// wakes the event loop (wakeup_post()), from any thread. `says`: a message is printed if the run waits long for its first lease.
void leases_attach(struct leases *leases, struct pool *pool, unsigned slots, bool says, int wake_fd);

// leases_lend(): the attempt waits for other jobs, so its lease becomes free for another job of this run.
// leases_regain() gets a lease for the attempt again. Returns true if the attempt has one, or needs none any more; false: call it again
// after leases_tick(). The attempt keeps its nonce, by which fairpars in it find its lease. From the event loop.
void leases_lend(struct leases *leases, struct live_attempt *attempt);
bool leases_regain(struct leases *leases, struct live_attempt *attempt) FP_NODISCARD;

// leases_yield(): the attempt waits for the program that reads its output, which may itself be waiting for a slot. The
// lease of the attempt goes back to the server, and until leases_take_back() no other lease is requested in its place.
// leases_take_back() waits until the attempt has a lease again, or the run ends. Both on the attempt's thread.
void leases_yield(struct leases *leases, struct live_attempt *attempt);
void leases_take_back(struct leases *leases, struct live_attempt *attempt);

// For hooks.starving of the worker pool: asks the server for as many leases as there is work for. For hooks.surplus: releases the
// leases for which there is no work. Any thread.
void leases_ask(struct leases *leases);
void leases_return_surplus(struct leases *leases);

// Asks the server for the run's rank among the waiting clients; leases_tick() prints the answer on stderr.
void leases_ask_rank(struct leases *leases);

// Returns the name of the pool if the run waits for a lease of a pool and has no lease; else NULL.
const char *leases_awaited_pool(struct leases *leases);

// For the event loop: leases_fd() returns the descriptor to poll for POLLIN, or -1. leases_tick() handles what the server has
// sent; called whenever the loop wakes, and at the time of leases_due() (as now_ns()) at the latest.
int leases_fd(const struct leases *leases);
void leases_tick(struct leases *leases, struct leases_changes *ret_changes);
uint64_t leases_due(struct leases *leases);
void leases_send_observation(struct leases *leases, const struct observation *observation);

// Releases all leases. Called when no job runs any more and the worker pool is gone, but before all output is written, because the
// reader of the output may be waiting for a slot. NULL-safe.
void leases_return(struct leases *leases);

// Closes the connection, and frees the struct. Called when no job runs any more. NULL-safe.
void leases_close(struct leases *leases);
