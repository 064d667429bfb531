// Whether a program can be a server (server.h), by what its file says.

#ifndef FAIRPAR_WARM_FITNESS_H
#define FAIRPAR_WARM_FITNESS_H

// Returns why the program cannot, in words (static text), or NULL: nothing speaks against a try.
const char *fitness_refusal(const char *path);

// Returns why a job with such an environment cannot be started by a server, or NULL: it says something to the linker or the
// allocator, who have done their work in the server.
const char *fitness_refusal_env(char *const *env);

#endif
