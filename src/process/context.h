// The execution context that a job gets from whoever submitted it: directory, environment, umask, limits, niceness.
// Captured in the parent, applied only in the child.

#pragma once

#include "base/atomic.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

// Converts the number of a limit to the type that getrlimit() takes: an enum in glibc, an int in POSIX.
#ifdef __GLIBC__
#define RLIMIT_OF(number) ((__rlimit_resource_t)(number))
#else
#define RLIMIT_OF(number) ((int)(number))
#endif

struct context {
	atomic_int refs;           // see context_ref(); 1 at first
	char *cwd;                 // directory of the job, owned, or NULL: that of the process
	char **env;                // NULL-terminated, owned: array and strings are one allocation; NULL after context_derive()
	mode_t umask;              // umask of the job; (mode_t)-1: that of the process
	struct rlimit nofile;      // the limit of descriptors with which fairpar was started, before fairpar raised its own soft limit
	struct rlimit *limits;     // the job's limits, by resource, owned; NULL: the job has those of the process
	unsigned nlimits;
	int closed;                // the standard streams that were closed when fairpar began, as a bit set (fds_sanitize())
	int nice;                  // added to the niceness of the process (--nice)
	sigset_t mask;             // the signal mask with which fairpar was started
	sigset_t ignored;          // signals that were ignored when fairpar was started: they stay ignored in jobs
};

// Returns the context of this process, for jobs. Called once, early in main(), before this process changes anything that a
// context holds. The caller owns the one reference.
struct context *context_capture(void);

// Environments are lists of "NAME=VALUE" with NULL at their end.

// Returns how many strings the NULL-terminated list has; 0 if `list` is NULL.
size_t argv_length(char *const *list);

// Returns the entry of `list` (NULL: empty) for the variable `name`, of `len` bytes; or NULL. An entry may be a name without "=VALUE".
const char *env_find(char *const *list, const char *name, size_t len);

// Returns the environment `base` without the variables that `unset` names, and with the variables of `set`, which replace
// variables of the same name. `set` and `unset` may be NULL. The caller frees the array; its strings are borrowed.
char **env_merge(char *const *base, char *const *set, char *const *unset);

// A copy of the environment with NAME=VALUE in it. The caller frees it, array and strings, with one free().
char **env_with(char *const *env, const char *name, const char *value);

// Sets a variable in the context's environment. To be called before anybody else has the context or borrows its environment.
void context_set_env(struct context *context, const char *name, const char *value);

// Returns a copy of `from`, of which the caller owns the one reference, but with the directory `cwd` (copied; NULL: that of
// `from`), with `umask` (-1: that of `from`), with `nice` added to the niceness, and without `limits` and `closed`. The `env` of the
// copy is NULL: a child gets its environment from child_config.env.
struct context *context_derive(const struct context *from, const char *cwd, int umask, int nice);

// Sets the limits of the first `n` resources (getrlimit(2)), which may include RLIMIT_NOFILE; they are copied. To be called before anybody
// else has the context. The limits that a job gets are cut to the hard limits of this process.
void context_set_limits(struct context *context, const struct rlimit *limits, unsigned n);

// Add and drop a reference, from any thread; the last context_unref() frees the context.
struct context *context_ref(struct context *context);
void context_unref(struct context *context);

// Gets RLIMIT_NOFILE of this process; a usual value if getrlimit() fails.
void context_get_nofile(struct rlimit *ret_limit);

// Raises the soft limit of descriptors of this process to the hard limit; jobs get the limit of the context. Returns the new soft
// limit.
rlim_t context_raise_nofile(const struct context *context);
