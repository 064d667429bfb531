// The part of looking for the server of a pool that may take long, in a thread of its own. It waits for the lock NAME.start, which a
// process holds while it starts or ends a server; then for NAME.lock, held by a server that cannot be reached, because it is ending or
// its socket was removed. It waits as long as the holders live, even stopped ones; the kernel gives up the locks of dead ones.

#ifndef FAIRPAR_SLOTS_SEARCH_H
#define FAIRPAR_SLOTS_SEARCH_H

#include "base/attr.h"
#include "slots/place.h"

struct server_search;

// What was found: a connection (`fd`) to the server, or else the locks that the caller needs to start one. The caller closes them.
struct search_result {
	int error;               // 0, or the errno that tells why neither was found; a descriptor that was not found is -1
	int fd;
	int lock_fd;             // NAME.lock
	int start_fds[2];        // NAME.start
	struct pool_place place; // where it was found; for place_fini()
};

// Begins the search. `name` is copied. Returns NULL with errno if there is no thread or descriptor.
struct server_search *search_begin(const char *name) FP_NODISCARD;

// Readable when search_end() does not wait.
int search_fd(const struct server_search *search);

// Waits until something was found, and frees the search.
void search_end(struct server_search *search, struct search_result *ret_result);

// Gives up the search, and closes what it still finds. NULL-safe.
void search_abandon(struct server_search *search);

#endif
