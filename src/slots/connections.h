// Carries frames between the sockets of clients and their sessions: for the server of a pool, and for a run in whose jobs the
// clients are.

#pragma once

#include "base/io.h"
#include "base/sync.h"
#include "slots/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How long a client has to say who it is (HELLO). After that time a silent client is disconnected, because it takes up the
// place of another one; a client that was stopped meanwhile (SIGSTOP) connects again.
#define CONNECTIONS_SILENT (5 * NS_PER_S)

enum { LISTENERS = 3 };        // a socket file, a name in the abstract namespace, and for a run the socket of its name

struct connections {
	struct sessions *sessions;
	int listen_fds[LISTENERS]; // the sockets that listen; -1: none
	int reserve_fd;            // kept open, to be closed when descriptors have run out (accept_next()); -1 at first
	size_t first_poll;         // index of the first descriptor that connections_add_polls() has added
	// For the owner to set, or NULL: called with a client's first frame. Returns true if the owner takes the client over, with `fd`.
	bool (*take_over)(void *arg, const struct frame *frame, const char *text, int fd);
	void *take_over_arg;
};

// connections_add_polls() adds all descriptors to poll. After poll(2), connections_serve() handles what it has found: new
// clients, what clients say, and processes that have ended. In between no connection or session may change: `polls` is read in
// the order in which it was filled.
void connections_add_polls(struct connections *connections, struct polls *polls);
void connections_serve(struct connections *connections, const struct polls *polls, uint64_t now);

// Sends what sessions have to send, as far as the sockets take it, without waiting. To be called after sessions_step(). Returns when
// connections_serve() is to be called even if poll(2) finds nothing, or TIME_NEVER.
uint64_t connections_flush(struct connections *connections, uint64_t now);

// Closes the sockets that listen.
void connections_fini(struct connections *connections);
