// Whether a shell can be a server (client.h): by its file, and by what it would inherit from the thread that starts it. What
// is inherited may change while fairpar runs (prlimit(1), renice(1) …), so it is read again.

#ifndef FAIRPAR_WARM_FITNESS_H
#define FAIRPAR_WARM_FITNESS_H

#include <stdint.h>

// Returns why the shell at `path` cannot, in words (static text), or NULL: nothing speaks against a try.
const char *fitness_refusal(const char *path);

// Returns why a job with such an environment cannot be started by a server, or NULL: it says something to the linker or the
// allocator, who have done their work in the server.
const char *fitness_refusal_env(char *const *env);

struct inherited {
	uint64_t hash;       // of all that is inherited: two that differ have another hash, with near certainty
	const char *refusal; // why a server that inherits this must not be started; static text, or NULL
};

// Reads what a process would inherit that the calling thread started now. That takes some 30 system calls.
void inherited_read(struct inherited *ret);

#endif
