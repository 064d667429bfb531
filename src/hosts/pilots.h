// The pilots of a run: jobs of Slurm with a worker in them, asked for while there is work and released when there is none.
//
// A thread does what pilot_policy.h decides, and asks Slurm by its own commands: squeue for why pilots wait, scancel for what is
// left of this run, and at the start of runs on this machine that were killed.

#ifndef FAIRPAR_HOSTS_PILOTS_H
#define FAIRPAR_HOSTS_PILOTS_H

#include "base/attr.h"
#include "process/context.h"

#include <stdbool.h>
#include <stdint.h>

struct pilots;

// What the thread asks of the run; none of these is called with the lock of pilots.
struct pilots_calls {
	unsigned (*demand)(void *arg, unsigned most);         // slots that could be used now beside those there are
	uint64_t (*idle_since)(void *arg, unsigned pilot);    // of one that is up; TIME_NEVER: it has a job
	void (*call)(void *arg, unsigned pilot);              // asks Slurm for it
	bool (*dismiss)(void *arg, unsigned pilot);           // lets it go; false: it has a job now
	void (*wake)(void *arg);                              // pilots_are_lost() may have changed
	void *arg;
};

struct pilots_config {
	const char *name;              // of their jobs
	unsigned n, slots;             // at most so many, with so many slots each
	char *const *env;              // for Slurm's commands; borrowed, as the context
	const struct context *context;
	struct pilots_calls calls;
};

// Starts the thread, which waits for pilots_check(). Returns NULL with errno.
struct pilots *pilots_open(const struct pilots_config *config) FP_NODISCARD;

// There may be more work, or less. Any thread, with any lock.
void pilots_check(struct pilots *pilots);

// What has become of a pilot's line; from the threads of links.
void pilots_on_up(struct pilots *pilots, unsigned pilot);
void pilots_on_down(struct pilots *pilots, unsigned pilot, const char *why, bool was_up, bool bye);
void pilots_on_gone(struct pilots *pilots, unsigned pilot);

// No pilot was ever there, and none will be.
bool pilots_are_lost(struct pilots *pilots);

// Ends the thread: no further pilot is asked for. Then, when the lines have gone, cancels what Slurm still has of this run, and frees.
void pilots_stop(struct pilots *pilots);
void pilots_close(struct pilots *pilots);

#endif
