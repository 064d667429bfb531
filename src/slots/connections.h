// Carries frames between the sockets of clients and their sessions: for the server of a pool, and for a run in whose jobs the
// clients are.

#pragma once

#include "base/io.h"
#include "base/sync.h"
#include "slots/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How long a client has to say who it is (HELLO). A client that is silent for longer is disconnected, as the number of clients is
// limited. If the client was only stopped (SIGSTOP), it connects again later.
#define CONNECTIONS_SILENT (5 * NS_PER_S)

enum { LISTENERS = 3 };        // a socket file, a name in the abstract namespace, and for a run with a name (--run) its socket

struct connections {
	struct sessions *sessions;
	int listen_fds[LISTENERS]; // the sockets that listen; -1: none
	int reserve_fd;            // a descriptor to close when no more descriptors can be opened (accept_next()); -1 at first
	size_t first_poll;         // index in polls->at of the first descriptor that connections_add_polls() has added
	// For the owner to set, or NULL: called with a client's first frame. Returns true if the owner takes the client over, with `fd`.
	bool (*take_over)(void *arg, const struct frame *frame, const char *text, int fd);
	void *take_over_arg;
};

// connections_add_polls() adds to `polls` the descriptors that are to be polled. After poll(2), connections_serve() handles what poll(2) has
// found: new clients, frames of clients, and processes that have ended. Between the two calls no connection or session may change:
// connections_serve() reads `polls` in the order in which it was filled.
void connections_add_polls(struct connections *connections, struct polls *polls);
void connections_serve(struct connections *connections, const struct polls *polls, uint64_t now);

// Sends what sessions have to send, as far as the sockets take it, without waiting. To be called after sessions_step(). Returns when
// connections_serve() is to be called even if poll(2) finds nothing, or TIME_NEVER.
uint64_t connections_flush(struct connections *connections);

// Closes the sockets that listen, and the reserve.
void connections_fini(struct connections *connections);
