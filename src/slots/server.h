// The slot server of a pool: a small process that says who may use which slot, and executes nothing.
//
// Whoever finds none starts one (slots/client.c). It serves all clients of the pool, in one thread, and ends when none
// was there for some seconds. When it dies, the clients start another and tell it what they hold.
//
// NAME.lock is its life: it has the lock as long as it lives, and in the file stand its epoch and how many clients it
// has, for who comes after it. A successor begins to find the number of slots anew, with as many as are held.

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
