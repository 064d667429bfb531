// Texts of Slurm: the nodes of an allocation, times, the command lines by which srun starts workers, the names of a run's pilots, and the
// reasons and errors that Slurm gives.
//
// Pure: takes and returns texts of Slurm's variables and commands. Reads lists of nodes itself, not by `scontrol show hostnames`: no
// program has to be run, and the grammar is small. Nothing depends on the exit status of srun, which is 0 even after a node has failed.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slurm_node {
	char *name;                // letters, digits, '.', '_' and '-'; the first is not '-'
	unsigned cpus;             // CPUs that the allocation has on the node; at least 1
};

// The nodes of an allocation, in Slurm's order.
struct slurm_nodes {
	struct slurm_node *nodes;
	size_t n;
};

#define SLURM_NODES_INIT {NULL, 0}

void slurm_nodes_fini(struct slurm_nodes *nodes);

// Whether the name is valid as slurm_node.name: safe as a word of sh and of command lines.
bool slurm_is_node(const char *name);

// Reads the nodes: `list` is $SLURM_JOB_NODELIST, such as "n[1-3,08-10],big"; `cpus` is $SLURM_JOB_CPUS_PER_NODE, such as "4(x3),2".
// Returns 0, or -1 with *ret_error, a whole message (caller frees): a text is not of that form, or the two differ in the number of nodes.
int slurm_nodes_read(struct slurm_nodes *nodes, const char *list, const char *cpus, char **ret_error) FP_NODISCARD;

enum { SLURM_UNLIMITED = -1 };

// Reads a time that squeue prints for %L or %l, "D-HH:MM:SS" without leading parts that are 0. *ret_seconds is SLURM_UNLIMITED if there
// is no limit or none is known. Returns 0, or -1 if the text is no such time.
int slurm_seconds(const char *text, int64_t *ret_seconds) FP_NODISCARD;

// Appends a command for --launch that starts a worker on that node of the allocation: srun, with a step that has all CPUs which the
// allocation has there, and shares them with the steps that jobs start. When the command runs, it asks how much time the allocation has left.
void slurm_add_step(struct buf *text, const struct slurm_node *node);

// ---- pilots: jobs of Slurm with a worker in them ----

// Appends the command for --launch that asks Slurm for a job of `cpus` CPUs, named `name`, and starts a worker in it. In the job, the
// command asks Slurm how much time the job has left. `options` are the user's own options for srun, as words of sh, or "".
void slurm_add_pilot(struct buf *text, const char *name, unsigned cpus, const char *options);

// Returns how many CPUs for each task the options for srun ask for (-c, --cpus-per-task); 0: the options do not say.
unsigned slurm_cpus(const char *options);

// The parts of the name of a run's pilots. By such a name a later run finds the pilots of a killed run.
struct slurm_run {
	char host[64];             // letters, digits, '.' and '_'
	uint64_t pid, start;       // the process of fairpar, and when it started, in the kernel's ticks
	uint32_t mark;             // random
};

// Sets the host's name, with '_' for characters other than letters, digits and '.'.
void slurm_run_set_host(struct slurm_run *run, const char *host);

// Appends the name of the run's pilots. slurm_run_read() returns 0, or -1 if the text is no such name.
void slurm_run_add_name(struct buf *text, const struct slurm_run *run);
int slurm_run_read(struct slurm_run *run, const char *name) FP_NODISCARD;

// Whether a job that waits for that reason (squeue's %r) can never start as it was requested.
bool slurm_is_impossible(const char *reason);

// Whether that error text of srun means that the allocation has ended.
bool slurm_is_over(const char *said);

// Whether that error text of srun means that Slurm cannot be reached now or is busy, so that the same request may
// succeed later.
bool slurm_is_transient(const char *said);
