// What fairpar needs of Slurm: the nodes of the allocation that it runs in, the time that is left, the command lines by which
// srun starts workers, the name by which the pilots of a run are known, and what Slurm's answers mean.
//
// All is pure: texts of Slurm's variables and commands in, texts out. A list of nodes is read here, not by `scontrol show hostnames`:
// no program has to be run, and the grammar is a small one. The exit status of srun says nothing (it is 0 after a
// node has failed): only the worker's own words count.

#ifndef FAIRPAR_REMOTE_SLURM_H
#define FAIRPAR_REMOTE_SLURM_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slurm_node {
	char *name;                // letters, digits, '.', '_' and '-', and not that in front
	unsigned cpus;             // that the allocation has there; at least 1
};

// The nodes of an allocation, in Slurm's order.
struct slurm_nodes {
	struct slurm_node *nodes;
	size_t n;
};

#define SLURM_NODES_INIT {NULL, 0}

void slurm_nodes_fini(struct slurm_nodes *nodes);

// Reads them: `list` is $SLURM_JOB_NODELIST, such as "n[1-3,08-10],big"; `cpus` is $SLURM_JOB_CPUS_PER_NODE, such as "4(x3),2".
// Returns 0, or -1 with *ret_error, a whole message (caller frees): one of them is not that, or they are not as many.
int slurm_nodes_read(struct slurm_nodes *nodes, const char *list, const char *cpus, char **ret_error) FP_NODISCARD;

enum { SLURM_UNLIMITED = -1 };

// The seconds of a time that squeue's %L or %l gives, "D-HH:MM:SS" with what is 0 left out in front; SLURM_UNLIMITED where there is
// no limit or none is known. Returns 0, or -1 if the text is not that.
int slurm_seconds(const char *text, int64_t *ret_seconds) FP_NODISCARD;

// Appends a command, as --launch takes one, that starts a worker on that node of the allocation: srun with a step that has all CPUs which
// the allocation has there, and shares them with the steps that jobs start. The step itself asks how much time the allocation has left.
void slurm_add_step(struct buf *text, const struct slurm_node *node);

// ---- pilots: jobs of Slurm with a worker in them ----

// Appends the command, as one of --launch, that asks for a job of `cpus` CPUs with a worker in it, which asks Slurm how much time it
// has. `name` is the job's, `options` are the user's own for srun, as words of sh, or "".
void slurm_add_pilot(struct buf *text, const char *name, unsigned cpus, const char *options);

// The CPUs for each task that such options ask for (-c, --cpus-per-task), or 0.
unsigned slurm_cpus(const char *options);

// A run, as the name of its pilots has it: they are all that is left of it when it was killed.
struct slurm_run {
	char host[64];             // letters, digits, '.' and '_'
	uint64_t pid, start;       // the process, and when it has started, in the kernel's ticks
	uint32_t mark;             // random
};

// Sets the host's name, without what a name of a job had better not have.
void slurm_run_set_host(struct slurm_run *run, const char *host);

// Appends the name of the run's pilots. slurm_run_read() returns 0, or -1 if the text is no such name.
void slurm_run_add_name(struct buf *text, const struct slurm_run *run);
int slurm_run_read(struct slurm_run *run, const char *name) FP_NODISCARD;

// Can a job that waits for that reason (squeue's %r) never start, as it was asked for?
bool slurm_is_impossible(const char *reason);

// Whether srun says that the allocation which a step was to be in is no more.
bool slurm_is_over(const char *said);

// Does what srun has said mean that Slurm cannot be reached now, or is too busy, so that the same may succeed later?
bool slurm_is_transient(const char *said);

#endif
