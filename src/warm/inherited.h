// What a process inherits of the thread that starts it, where others can change it in one that runs: prlimit(1), renice(1) …

#ifndef FAIRPAR_WARM_INHERITED_H
#define FAIRPAR_WARM_INHERITED_H

#include "process/context.h"

#include <stdint.h>

struct inherited {
	struct rlimit limits[RLIM_NLIMITS]; // by resource (getrlimit(2)); 0 where that cannot be asked
	uint64_t hash;                      // of these and of all else, in which it differs with near certainty
};

// Reads what a process would inherit that the calling thread started now. That takes some 30 system calls.
void inherited_read(struct inherited *ret);

// Returns why no server is to be that inherits this, or why it cannot start a job with such a context, whose limits are others, in
// words (static text); or NULL.
const char *inherited_refusal(const struct inherited *inherited, const struct context *context);

#endif
