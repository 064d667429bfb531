// The slot server of a pool: a small process that says who may use which slot, and executes nothing.
//
// A client that finds no server starts one (slots/client.c). The server has one thread for all clients of the pool, and ends when
// there has been no client for some seconds. When it dies, the clients start another one and report their leases to it.
//
// The server locks NAME.lock as long as it lives, and writes its epoch and its number of clients into it for its successor. If the
// number of slots is found (auto), the successor begins to find it anew, with as many slots as are held.

#ifndef FAIRPAR_SLOTS_SERVER_H
#define FAIRPAR_SLOTS_SERVER_H

#include "slots/slots.h"

#include <stdbool.h>

struct server_config {
	int lock_fd, listen_fd;  // NAME.lock, locked, and the socket that listens; the server's from here on
	const char *dir, *name;  // see slots/place.h
	unsigned slots;          // at least 1; not looked at where they are found:
	struct slots_bounds bounds; // of --pool-slots auto; most is 0 if the number is fixed
	const char *root;        // machine_root() of who starts it
	bool fair_time;          // clients get as much time on the slots each, else as many turns
};

// Serves until nobody needs it. The exit status of the process that does nothing else.
int server_run(const struct server_config *config);

#endif
