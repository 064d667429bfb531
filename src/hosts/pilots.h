// The pilots of a run: jobs of Slurm with a worker in them, requested while there is work and released when there is none.
//
// A thread does what pilot_policy.h decides, and runs Slurm's own commands: squeue for the reason why pilots wait; scancel for the jobs that
// this run has left at its end, and at the start for those of runs on this machine that were killed.

#ifndef FAIRPAR_HOSTS_PILOTS_H
#define FAIRPAR_HOSTS_PILOTS_H

#include "base/attr.h"
#include "process/context.h"

#include <stdbool.h>
#include <stdint.h>

struct pilots;

// Callbacks of the thread. None is called with the lock of pilots.
struct pilots_calls {
	unsigned (*demand)(void *arg, unsigned most);         // how many slots could be used now in addition to those there are, at most `most`
	uint64_t (*idle_since)(void *arg, unsigned pilot);    // since when a connected pilot has no job; TIME_NEVER: it has one
	void (*request)(void *arg, unsigned pilot);              // starts its srun, which requests it
	bool (*release)(void *arg, unsigned pilot);           // releases it, or cancels its srun; false: it has a job now
	void (*wake)(void *arg);                              // pilots_are_lost() may have changed
	void *arg;
};

struct pilots_config {
	const char *name;              // of their jobs in Slurm
	unsigned n, slots;             // the most pilots, and the slots of each
	char *const *env;              // for Slurm's commands; borrowed, as the context
	const struct context *context;
	struct pilots_calls calls;
};

// Starts the thread, which waits for pilots_check(). `config` is copied. Returns the pilots, which pilots_close() frees, or NULL with errno.
struct pilots *pilots_open(const struct pilots_config *config) FP_NODISCARD;

// Wakes the thread, because there may be more work, or less. Any thread, with any lock.
void pilots_check(struct pilots *pilots);

// What has happened to the connection of a pilot, as link_calls has it; from the threads of links.
void pilots_on_up(struct pilots *pilots, unsigned pilot);
void pilots_on_down(struct pilots *pilots, unsigned pilot, const char *why, bool was_up, bool bye);
void pilots_on_closed(struct pilots *pilots, unsigned pilot);

// Whether no pilot has ever come, and none will.
bool pilots_are_lost(struct pilots *pilots);

// pilots_stop() ends the thread: no further pilot is requested. pilots_close(), once the links are closed, cancels the jobs that Slurm still
// has of this run, and frees.
void pilots_stop(struct pilots *pilots);
void pilots_close(struct pilots *pilots);

#endif
