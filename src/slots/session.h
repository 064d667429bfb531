// What the slot server does with frames: each frame of a client changes the table of leases, and frames go to the clients that
// the change concerns.
//
// The sessions read and write no socket, and read no clock: slots/connections.c moves the frames, and the server (slots/server.c) passes in
// the time, and calls sessions_step() after each round of frames.
//
// Life of a session: opened -HELLO-> joined -the client disconnects-> closed -the processes that use its leases (FRAME_PROCESS) end-> freed.
// The successor of a server that died grants nothing until RECOVERY has passed and all frames that came until then are read:
// only then does the successor know which leases the clients hold.
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

// The connection of a client. slots/connections.c reads these fields, removes from `out` what it has sent, and may take the socket away.
struct session {
	struct list link;
	struct sessions *all;
	struct lease_client *client; // NULL before HELLO
	int fd;                    // socket of the client, or -1
	struct buf out;            // frames to be sent to the client
	struct process *processes; // the processes that use leases of the client
	unsigned nprocesses;
	size_t processes_cap;
	char *dir, *label;
	uint32_t pid;
	int peer;                  // pid of the client, as the kernel says, or 0
	uint64_t since;            // when the client connected; after its HELLO has come: when the HELLO came
	bool has_lost_lease;       // the client has named no lease that it runs on, but a process above it may have one
	bool closed;               // the client has gone, and the session waits until `processes` have ended
	bool shows_rank;
	bool asks_rank;            // the client has asked for its rank, and gets the answer once all free slots are granted
	// what the client was told last:
	struct frame state;
	unsigned rank, waiting;    // rank of the client in the queue, and how many clients wait
	bool observes;             // the client can be asked for observations
	bool asked;                // the client was asked for the present sample, and has not answered
	struct observation observation; // the client's answer; until it comes, this says that all slots of the client are busy
};

struct sessions_config {
	unsigned slots;          // number of slots, at least 1; if the controller finds the number: that of the processors, to begin with
	struct slots_bounds bounds; // bounds of `slots`; equal if the number is fixed; least 0: they are not known
	bool is_told;            // the owner finds the number for clients (sessions_announce()), and calls lease_set_slots() itself
	bool fair_time;          // see lease_table_create()
	uint64_t epoch;          // tells this server from others of the pool: a number above theirs, below 2^32
	bool recovers;           // the last server died while it had clients, which may still hold leases
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
	// `pid`, or 0: there is no parent, or it is not known; *ret_start: when process `pid` was started, on the clock of `now`.
	int (*parent_of)(int pid, uint64_t *ret_start);
	// Set if parent_of is: returns the lease that the environment of the process names, or number 0.
	struct lease_id (*named_lease)(void *arg, int pid);
	// For the owner to set, or NULL: called when a lease was granted to the client that has that label and pid.
	void (*granted)(void *arg, const struct lease_grant *grant, const char *label, uint32_t pid);
	// For the owner to set if the controller finds the number of slots: as machine_observe().
	void (*observe_machine)(void *arg, struct controller_observation *observation);
	void *arg;
	struct controller controller;
	// IDLE: nobody waits for a turn. WAITS: the next sample is at sample_due. ASKS: clients have until sample_due to answer.
	enum { SAMPLING_IDLE, SAMPLING_WAITS, SAMPLING_ASKS } sampling;
	uint64_t sample_due;
	unsigned unanswered;     // number of sessions that were asked, and have not answered
	struct session *revoking; // the session whose client was told that the lease `revoked` is taken back; or NULL
	uint64_t revoked;        // number of that lease
};

// sessions_fini() closes and frees all sessions, and frees the table of leases.
void sessions_init(struct sessions *sessions, const struct sessions_config *config, uint64_t now);
void sessions_fini(struct sessions *sessions, uint64_t now);

// Sets the number of slots, and the reason of its change, that sessions_step() tells the clients. Only with config.is_told.
void sessions_announce(struct sessions *sessions, unsigned slots, enum controller_reason reason);

// To be called when a client has connected by the socket `fd` (-1 in tests). `peer` is the pid of the client, as the kernel says, or
// 0. Returns the session, which owns `fd` from now on; or NULL if there are too many sessions.
struct session *session_open(struct sessions *sessions, int fd, int peer, uint64_t now) FP_NODISCARD;

// Handles a frame of the client. `fd`: a descriptor that came with the frame, which is the session's from now on, or -1. Returns
// false if the session is to be closed: the client does not speak the protocol, was refused (send its `out` first), or does not
// read (OUTPUT_MAX bytes of `out`).
bool session_input(struct session *session, const struct frame *frame, const char *text, int fd, uint64_t now) FP_NODISCARD;

// To be called when the client has gone: closes its socket, and gives back its leases, except those whose processes still run.
// Returns true if the session was freed.
bool session_close(struct session *session, uint64_t now) FP_NODISCARD;

// To be called when session->processes[i] has ended (its pidfd is readable): gives back the process's lease. Returns true if the session was freed.
bool session_process_ended(struct session *session, unsigned i, uint64_t now) FP_NODISCARD;

// Does what follows from the frames: grants leases, takes them back, and tells the clients. `quiet`: no client had
// sent anything. Returns when to call it again, or TIME_NEVER. To be called only when all frames that had come were
// read, and the frames of the last call were sent, as far as clients read.
uint64_t sessions_step(struct sessions *sessions, bool quiet, uint64_t now);

// True if sessions_step() is to be called again at once, as the frame that it waited for has been sent.
bool sessions_are_due(const struct sessions *sessions);
