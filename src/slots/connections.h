// The sockets of clients: bytes between them and their sessions. For the server of a pool, and for a run whose jobs are
// clients.

#ifndef FAIRPAR_SLOTS_CONNECTIONS_H
#define FAIRPAR_SLOTS_CONNECTIONS_H

#include "base/attr.h"
#include "base/polls.h"
#include "slots/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection {
	int fd;                    // -1: its client has gone, or is not ours
	bool is_known;             // something of it was read
	struct session *session;
};

struct connections {
	struct sessions *sessions;
	int listen_fd;
	int spare_fd;              // -1 at first; is given up when there are no more descriptors
	struct connection *list;
	size_t n, cap;
	size_t first_poll;         // of connections_add_polls()
	// For the owner to set, or NULL: the first frame of a client, which is still to be read, is of that type. Returns true if
	// the client is the owner's, with its descriptor.
	bool (*claim)(void *arg, uint32_t type, int fd);
	void *claim_arg;
};

// Adds what to poll. Then connections_serve() answers what poll(2) has found: new clients, what clients say, and processes that
// have ended.
void connections_add_polls(struct connections *connections, struct polls *polls);
void connections_serve(struct connections *connections, const struct polls *polls, uint64_t now);

// Sends what is to be sent, as far as clients read. After sessions_settle().
void connections_flush(struct connections *connections, uint64_t now);

// Closes all, and the socket that listens.
void connections_fini(struct connections *connections);

#endif
