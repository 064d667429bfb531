// The part of looking for the server of a pool that may take long, in a thread of its own: the wait for the lock NAME.start, which
// whoever starts or ends a server holds, and then for NAME.lock, which a server holds that nobody can reach, since it ends or its
// socket was removed. It lasts as long as the holders live, stopped ones too; the kernel gives up the locks of dead ones.

#ifndef FAIRPAR_SLOTS_SEARCH_H
#define FAIRPAR_SLOTS_SEARCH_H

#include "base/attr.h"
#include "slots/place.h"

struct server_search;

// What was found: a connection (`fd`) to the server, or else the locks that whoever starts one has to have. The caller closes them.
struct search_result {
	int error;               // 0, or the errno that tells why there is neither; descriptors are -1 where there is none
	int fd;
	int lock_fd;             // NAME.lock
	int start_fds[2];        // NAME.start
	struct pool_place place; // where; for place_fini()
};

// Begins. `name` is copied. Returns NULL with errno if there is no thread or descriptor.
struct server_search *search_begin(const char *name) FP_NODISCARD;

// Readable when search_end() does not wait.
int search_fd(const struct server_search *search);

// Waits until something was found, and frees the search.
void search_end(struct server_search *search, struct search_result *ret_result);

// Gives up. What is found nevertheless is closed. NULL-safe.
void search_abandon(struct server_search *search);

#endif
