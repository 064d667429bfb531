// How many slots there are: the usable processors, -j in all its forms, and how busy the machine is.

#pragma once

#include "base/attr.h"
#include "process/sysload.h"
#include "slots/controller.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

// Returns how many processors this process may use by its affinity and its cgroup's CPU quota (v2 cpu.max, v1 cfs_quota); at least 1.
unsigned slots_usable_cpus(void);

// slots_cpus() returns the usable processors, as a fraction because a quota may be 1.5; slots_quota() returns how many processors the CPU quotas of
// this process's cgroups allow, UINT_MAX if none is set. `root` is put before /proc/self and the mount points found there: "" except in tests.
double slots_cpus(const char *root);
double slots_quota(const char *root);

// The greatest number of slots that makes sense with `nofile` descriptors, at least 1.
unsigned slots_limit(unsigned long nofile);

// The fewest and the most slots that there may be, at least 1; equal if the number is fixed.
struct slots_bounds {
	unsigned least, most;
};

// Parses N, +N, -N, N%, 0 (as many as possible: slots_limit(nofile)) or the name of a FILE that holds one of these, as
// GNU parallel's -j; or "auto" as slots_auto_parse() does, up to slots_limit(nofile). Bounds that were given may be more than slots_limit(nofile): the
// caller cuts them. Returns 0, or -1 with *ret_error, a whole message (caller frees).
int slots_parse(const char *text, unsigned long nofile, struct slots_bounds *ret_bounds, char **ret_error) FP_NODISCARD;

// Is the value "auto", or "auto:" and bounds?
bool slots_is_auto(const char *text);

// Parses "auto" (from 1 to `most`) or "auto:LEAST-MOST". Returns 0, or -1 with *ret_error, a whole message (caller frees) that
// names `option`.
int slots_auto_parse(const char *option, const char *text, unsigned most, struct slots_bounds *ret_bounds, char **ret_error) FP_NODISCARD;

// Parses the MAX of --load: as -j, but with decimals, and 0 has no special meaning. The result is at least 0.01, as in GNU
// parallel: with 0 any load would be too high. Returns 0, or -1 with *ret_error, a whole message (caller frees).
int load_parse(const char *text, double *ret_load, char **ret_error) FP_NODISCARD;

// An option's value that may be the name of a file: for an option that follows changes of the file during the run.
struct slots_watch {
	const char *path;  // borrowed; NULL: the value names no file
	struct stat seen;  // the file's state at the last look
};

// Finds out whether the value `text` names a file, and notes the file's state. To be called before the file is read, so
// that no change after the call is missed.
void slots_watch_open(struct slots_watch *watch, const char *text);

// True if the file has changed since the last look. One system call; none if the value names no file. A file that is missing
// counts as unchanged: it is being replaced.
bool slots_watch_changed(struct slots_watch *watch);

// ---- the machine, as -j auto sees it ----

struct machine {
	double cpus;             // the usable processors, as slots_cpus() returns them
	uint64_t cpus_read;      // when `cpus` was read
	struct pressure pressure;
};

// Begins to observe the machine; machine_close() ends it. `root` (borrowed) is put before /proc. `now` is in ns, of a clock
// that does not go back.
void machine_open(struct machine *machine, const char *root, uint64_t now);
void machine_close(struct machine *machine);

// Takes a sample at observation->now: fills in `cpus`, and `pressure` of the time since the last
// sample (or machine_open()).
void machine_observe(struct machine *machine, struct controller_observation *observation);
