// What is left of the machine: how much of the processors is idle, and how long all tasks waited for memory or a disk, between
// two samples.

#ifndef FAIRPAR_PROCESS_PRESSURE_H
#define FAIRPAR_PROCESS_PRESSURE_H

#include <stdint.h>

// What grows from sample to sample; 0 where the system does not tell.
struct pressure_totals {
	double idle, all;      // ticks of the usable processors
	double used_us;        // by the own cgroup
	double memory_us, disk_us; // in which all tasks waited
};

struct pressure {
	const char *root;      // borrowed
	char *group;           // directory of the own cgroup v2, or NULL
	char *accounts;        // that of v1 with cpuacct.usage, or NULL
	uint64_t sampled;       // now_ns() time
	struct pressure_totals before;
};

// Since the sample before. Shares are 0 to 1.
struct pressure_observation {
	double idle;           // of the processors that may be used, and of the quota
	double memory_full;    // of the time: PSI "full" of the own cgroup, else of the host
	double disk_full;
};

// Begins to sample. `root` is put before /proc and the mounts found there: "" but in tests.
void pressure_open(struct pressure *pressure, const char *root, uint64_t now);
void pressure_close(struct pressure *pressure);

// Takes a sample: what happened since the last one, or since pressure_open(). `quota`: the processors that the cgroup may use; it
// may be more than there are.
void pressure_observe(struct pressure *pressure, double quota, uint64_t now, struct pressure_observation *ret_observation);

#endif
