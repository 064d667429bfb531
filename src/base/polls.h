// The descriptors that one poll(2) looks at, in an array that is kept from call to call.

#ifndef FAIRPAR_BASE_POLLS_H
#define FAIRPAR_BASE_POLLS_H

#include "base/alloc.h"

#include <poll.h>
#include <stddef.h>

// Zeroed at first, freed by free(at). Before each poll() the owner sets n to 0.
struct polls {
	struct pollfd *at;
	size_t n, cap;
};

// A descriptor of -1 has its place and is not looked at.
static inline void polls_add(struct polls *polls, int fd, short events) {
	grow_array(&polls->at, &polls->cap, polls->n + 1, sizeof(*polls->at));
	polls->at[polls->n++] = (struct pollfd){.fd = fd, .events = events};
}

#endif
