// Warm shells: a shell that many jobs need is started once, as a server, and cloned for each of these jobs.
//
// A cloned job is a process like any other, and a child of fairpar. Where cloning is impossible or fails, the shell is executed.

#pragma once

#include "process/child.h"

enum warm_mode {
	WARM_OFF,
	WARM_AUTO, // a shell is cloned once a worker has executed it several times
	WARM_SH,   // a shell is cloned from its first job on
};

// The servers of one worker.
struct warm;

// Makes the struct for the servers of the calling worker, for its thread alone. `children` is borrowed until warm_destroy(). Returns NULL
// with WARM_OFF, and with WARM_AUTO in a build without servers. The other calls accept that NULL.
struct warm *warm_create(enum warm_mode mode, struct children *children);

// Ends the servers. NULL-safe.
void warm_destroy(struct warm *warm);

// Returns the child_config.starter of the worker's next job whose program is a shell; or NULL.
const struct starter *warm_starter(struct warm *warm);

// Says whether the last job with that starter was started by a server: "yes" or "no, REASON"; NULL if no server was asked, as
// with WARM_AUTO before the shell was executed often enough. Valid until the next call.
const char *warm_report(struct warm *warm);

// ---- whether a shell can be cloned ----

// The shared object of server.c, as bytes: see Makefile. Empty if it cannot be built: another C library, a static build.
extern const char server_so[];
extern const size_t server_so_size;

// Returns why the shell at `path` cannot be cloned, in words (static text); NULL if its file shows no reason against it.
const char *fitness_refusal(const char *path);

// Returns why a job with this environment cannot be a clone, in words (static text); or NULL if it can. It cannot if a variable is meant for the
// dynamic linker or the allocator: both have read their variables before the cloning.
const char *fitness_refusal_env(char *const *env);
