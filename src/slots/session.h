// The slot server without its sockets: each frame of a client changes the table of leases, and frames go to the clients that
// the change concerns.
//
// Frames in, frames out: no sockets, no clock. The server (slots/server.c) moves the frames and calls sessions_step()
// after each round of them.
//
// Life of a session: opened -HELLO-> joined -end of file-> closed -the processes that use its leases (FRAME_PROCESS) end-> freed.
// The successor of a server that died grants nothing until RECOVERY has passed and all frames that came until then are read:
// only then does it know what the clients hold.
//
// With --pool-slots auto the controller finds the number of slots. While a client waits for its turn, the server samples: it asks
// clients on whose leases jobs run what they observe of these jobs. A client that does not answer in time counts as busy with all
// of its leases. While no client waits, none is asked.

#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/list.h"
#include "slots/controller.h"
#include "slots/lease.h"
#include "slots/protocol.h"
#include "slots/slots.h"

#include <stdbool.h>
#include <stdint.h>

enum { SESSIONS_MAX = 4096, WANTED_MAX = 4096, OUTPUT_MAX = 1024 * 1024 };
#define RECOVERY UINT64_C(1000000000)

// A process that uses a lease.
struct process {
	uint64_t number;           // number of the lease
	uint32_t pid;              // pid of the process, to show
	int fd;                    // pidfd
};

// A client. The owner (slots/connections.c) reads these fields, removes from `out` what it has sent, and may take the socket away.
struct session {
	struct list link;
	struct sessions *all;
	struct lease_client *client; // NULL before HELLO
	int fd;                    // socket of the client, or -1
	struct buf out;            // frames to be sent to it
	struct process *processes; // the processes that use its leases
	unsigned nprocesses;
	size_t processes_cap;
	char *dir, *label;
	uint32_t pid;
	int peer;                  // pid of the client, as the kernel says, or 0
	uint64_t since;            // when the client connected; after its HELLO has come: when the HELLO came
	bool has_lost_lease;       // the client has named no lease that it runs on, but a process above it may have one
	bool closed;               // the client has gone, and the session waits for the end of its processes
	bool shows_rank;
	bool asks_rank;            // the client has asked for its rank, and gets the answer once all free slots are granted
	// what the client was told last:
	struct frame state;
	unsigned rank, waiting;    // rank of the client in the queue, and how many clients wait
	bool observes;             // the client can be asked for observations
	bool asked;                // the client was asked for the present sample, and has not answered
	struct observation observation; // the answer; until it comes: all slots of the client are busy
};

struct sessions_config {
	unsigned slots;          // at least 1; if the controller finds the number: that of the processors, cut to `bounds`
	struct slots_bounds bounds; // bounds of `slots`; equal if the number is fixed; least 0: they are not known
	bool is_told;            // the owner finds the number, announces it by sessions_announce(), and sets it in the table
	bool fair_time;          // see lease_table_create()
	uint64_t epoch;          // tells this server from others of the pool: a number above theirs, below 2^32
	bool recovers;           // the last server died while it had clients: these may hold leases
};

struct sessions {
	struct sessions_config config;
	struct lease_table *table;
	struct list list;        // of sessions
	unsigned n;
	bool recovering;
	uint64_t recovery_end;
	bool others_wait;        // set by the owner: something other than a client waits for the slots
	// For the owner to set, or NULL: called with the lease that a client says it runs on. If the table does not have
	// the lease, puts the lease there by lease_hold(); or returns false: the client is refused.
	bool (*find_lease)(void *arg, struct lease_id id);
	// For the owner to set, or NULL: finds the processes above a client that has named no lease. Returns the parent of process
	// `pid`, or 0: it has none, or none is known; *ret_start: when process `pid` was started, on the clock of `now`.
	int (*parent_of)(void *arg, int pid, uint64_t *ret_start);
	// Set if parent_of is: returns the lease that the environment of the process names, or number 0.
	struct lease_id (*named_lease)(void *arg, int pid);
	// For the owner to set, or NULL: called when a client of that label and process was granted a lease.
	void (*granted)(void *arg, const struct lease_grant *grant, const char *label, uint32_t pid);
	// Set if the controller finds the number of slots: observes the machine, at observation->now (machine_observe()).
	void (*observe_machine)(void *arg, struct controller_observation *observation);
	void *arg;
	struct controller controller;
	// IDLE: nobody waits for a turn. WAITS: the next sample is at sample_due. ASKS: clients have until sample_due to answer.
	enum { SAMPLING_IDLE, SAMPLING_WAITS, SAMPLING_ASKS } sampling;
	uint64_t sample_due;
	unsigned unanswered;     // number of sessions that were asked, and have not answered
	struct session *revoking; // its client was told that the lease `revoked` is taken back; or NULL
	uint64_t revoked;
};

// sessions_fini() closes what is open.
void sessions_init(struct sessions *sessions, const struct sessions_config *config, uint64_t now);
void sessions_fini(struct sessions *sessions, uint64_t now);

// Tells the clients the number of slots and the reason of its change. With config.is_told.
void sessions_announce(struct sessions *sessions, unsigned slots, enum controller_reason reason);

// To be called when a client has connected by the socket `fd`, which is the session's from now on; -1 in tests. `peer` is the pid of
// the client, as the kernel says, or 0. Returns NULL if there are too many sessions.
struct session *session_open(struct sessions *sessions, int fd, int peer, uint64_t now) FP_NODISCARD;

// Handles a frame of the client. `fd`: a descriptor that came with the frame, which is the session's from now on, or -1. Returns
// false if the session is to be closed: the client does not speak the protocol, was refused (send its `out` first), or does not
// read (OUTPUT_MAX bytes of `out`).
bool session_input(struct session *session, const struct frame *frame, const char *text, int fd, uint64_t now) FP_NODISCARD;

// To be called when the client has gone: closes its socket. Its leases come back, except those whose processes still run.
// Returns true when the session was freed.
bool session_close(struct session *session, uint64_t now) FP_NODISCARD;

// To be called when the i-th process of the session has ended (its pidfd is readable): its lease comes back. Returns true if the session was freed.
bool session_process_ended(struct session *session, unsigned i, uint64_t now) FP_NODISCARD;

// Does what follows from the frames: grants leases, takes them back, and tells the clients. `quiet`: no client had
// sent anything. Returns when to call it again, or TIME_NEVER. To be called only when all frames that had come were
// read, and the frames of the last call were sent, as far as clients read.
uint64_t sessions_step(struct sessions *sessions, bool quiet, uint64_t now);

// True if sessions_step() is to be called again at once, as the frame that it waited for has been sent.
bool sessions_are_due(const struct sessions *sessions);
