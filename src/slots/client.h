// A client of a pool: asks the slot server for leases, starts a server where there is none, and after the death of a server
// tells the next server which leases it holds.
//
// This process may be stopped at any moment, and the server may then revoke a lease (lease_revoke()). So a lease is used in three steps:
// client_use() tells the server, and checks that the lease was not revoked; only then the job is started; client_release() gives the lease back.
// Before client_release(), other jobs may run on the lease one after another, each after a client_use(), of which the server mostly is not told. If
// the server could lend the lease to a client below the present job, the server asks this client to make that job the last one on the lease.
//
// In this header and in the other headers of src/slots, a parameter `error` is a buffer to which a failing call appends its message.

#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/sync.h"
#include "slots/lease.h"
#include "slots/slots.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct client;
struct observation;

// How long a client waits before a message says what it waits for.
#define CLIENT_SLOW (3 * NS_PER_S)

struct client_config {
	const char *pool;      // the valid name (slots/pool_dir.h) of the pool; NULL: the slots come from a run
	const char *socket;    // if `pool` is NULL: the socket of the run (socket_connect())
	struct slots_bounds bounds; // bounds of the number of slots, if this client starts the server; most 0: as many slots as CPUs
	const char *batch;     // name of the client's batch; NULL: a batch of its own
	const char *label;     // what runs, for --status
	uint32_t weight;
	int32_t priority;
	struct lease_id below; // the lease that this process runs on; number 0: none
	bool shows_rank;       // the client gets CLIENT_RANK whenever its rank in the queue changes
	bool spare;            // the client gets only spare slots, which nobody else waits for, and gets no CLIENT_OBSERVE
	bool reuses;           // the client runs several jobs on a lease; if false, only the first client_use() of a lease returns true
	uint64_t deadline;     // now_ns() time until which the client waits for a server that does not answer, but at least for two seconds
	bool says;             // the client prints why it waits for the server, once after CLIENT_SLOW, and at each client_ask() while it waits
	bool starts;           // the client starts a server if none runs
};

enum client_event_type {
	CLIENT_NOTHING,        // no event now: the next may come when client_fd() is readable, or at client_due()
	CLIENT_GRANTED,        // this client has got a lease: `id`, `width`
	CLIENT_REVOKED,        // the lease `id` was taken back before it was in use; client_want() asks for another lease
	CLIENT_RENEWED,        // the client is connected to a new server, as the last server has ended: leases that were not in use are void
	CLIENT_RANK,           // the client's rank in the queue: `rank` of `waiting`; `text` says who holds the slots
	CLIENT_REPORT,         // what client_ask() asked for: `taken` slots, `waiting` clients, lines of `text`
	CLIENT_SLOTS,          // client_state.slots and client_state.why have changed
	CLIENT_OBSERVE,           // the server asks what this client sees of its jobs
	CLIENT_LOST,           // there is no server any more: `text` says why. No lease comes, and no server knows which leases are in use
};

struct client_event {
	enum client_event_type type;
	struct lease_id id;
	uint32_t width;
	unsigned rank, taken, waiting;
	const char *text;      // borrowed until the next client_next()
};

// Connects to the server of the pool or to the run; starts a server if there is none and config->starts. The strings of `config`, except `label`,
// are borrowed. Waits while another process starts or ends a server, and until the server has answered. Returns NULL with a whole message in
// *error, and *ret_error: EPERM if the directory or the server is not the user's own, EPROTO if the server refuses this client, ENOENT or
// ECONNREFUSED if there is no server and none was to be started, ETIMEDOUT after the deadline, or another errno.
struct client *client_open(const struct client_config *config, struct buf *error, int *ret_error) FP_NODISCARD;
void client_close(struct client *client); // NULL-safe. Gives back all leases of the client

// Returns a descriptor for poll(2), POLLIN; or -1 while the client looks for a server, and after CLIENT_LOST. The descriptor may
// change in client_next().
int client_fd(const struct client *client);

// Returns when (now_ns() time) to call client_next() even if client_fd() is not readable until then, or TIME_NEVER.
uint64_t client_due(const struct client *client);

// Returns the path of the file in which the clients of the pool tell each other how much memory their jobs need
// (process/memory.h), for the caller to free.
char *client_memory_path(const struct client *client);

// What the server has said last, and how many leases this client has asked it for.
struct client_state {
	unsigned slots;              // slots of the pool
	struct slots_bounds bounds;  // bounds of `slots`; equal: the number is fixed; least 0: they are not known
	const char *why;             // why `slots` was last changed, or NULL
	bool contended;              // another client waits for slots
	unsigned spare_limit;        // with config.spare: how many leases this client may keep (lease_spare_limit()); UINT_MAX: all
	unsigned wanted;             // how many more leases the server was asked for
};
const struct client_state *client_state(const struct client *client); // borrowed; client_next() and client_want() change the members

// Sets how many more leases, of `width` slots each, this client waits for: `n` replaces the earlier number, and the server is
// told if the two differ. Does not block: each lease comes as CLIENT_GRANTED.
void client_want(struct client *client, unsigned n, unsigned width);

// Asks for a CLIENT_REPORT, or for a CLIENT_RANK. The CLIENT_RANK comes after all leases that the server can grant the client
// at once; its `rank` is 0 if the client does not wait for further leases.
void client_ask(struct client *client, enum client_event_type type);

// Answers CLIENT_OBSERVE (slots/protocol.h).
void client_send_observation(struct client *client, const struct observation *observation);

// Returns the next event. To be called when client_fd() is readable, and at client_due(), until it returns CLIENT_NOTHING.
struct client_event client_next(struct client *client) FP_NODISCARD;

// To be called before a job is started on a lease, after the previous job on the lease, if any, has ended. Returns false if the job must not start:
//	before the first job on a lease: the lease was taken back or the connection to the server has ended; CLIENT_REVOKED, CLIENT_RENEWED
//	    or CLIENT_LOST follows
//	before another job: the lease is for one job only, its slots may be lent to a process that the previous job left behind, or the
//	    connection to the server has ended. The lease is then no longer this client's, and client_release() must not be called.
// `nonce`: the job's nonce, if the job has run on another lease before; else 0: the first job on a lease gets the nonce that came with the lease,
// each later job a new nonce, of which the server is not told. *ret_id: number and nonce for the job's environment.
bool client_use(struct client *client, uint64_t number, uint64_t nonce, struct lease_id *ret_id) FP_NODISCARD;

// True if there may be an event for client_next(), though client_fd() is not readable any more.
bool client_has_input(const struct client *client);

// Tells the server which process the job on the lease is: --status shows `pid`, and the lease stays in use until that process ends, even
// if this client dies. `pidfd` stays the caller's, who keeps it open until client_release().
void client_set_process(struct client *client, uint64_t number, pid_t pid, int pidfd);

// Gives the lease back, when its last job has ended.
void client_release(struct client *client, uint64_t number);

// Does client_release() and client_want() by one frame. The `n` wanted leases have the width of the last client_want().
void client_release_and_want(struct client *client, uint64_t number, unsigned n);

// ---- the slot server of a pool: a small process that says who may use which slot, and executes nothing ----
//
// A client that finds no server starts one. The server serves all clients of the pool, in one thread, and ends when it had no
// client for some seconds. When the server dies, the clients start another server and tell it which leases they hold.
//
// A server lives as long as it has the lock of the file NAME.lock, which the client that starts it hands over. The file has the server's epoch
// and the number of its clients, for the next server. With --pool-slots auto the next server begins with at least as many slots as are taken.

// Starts a server for the pool pool_dir->name. The server inherits `lock_fd`, the descriptor of NAME.lock, which is locked. With equal
// bounds the number of slots is fixed. Returns 0, or an errno.
struct pool_dir;
int server_start(const struct pool_dir *pool_dir, int lock_fd, struct slots_bounds bounds) FP_NODISCARD;

// If the first argument of the program is POOL_SERVER_ARG, main() calls server_main() before anything else. server_main() serves until
// there are no clients, and returns the exit status.
#define POOL_SERVER_ARG "--internal-slot-server"
int server_main(int argc, char *argv[]);
