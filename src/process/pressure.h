// The spare capacity of the machine between two samples: how much of the processors was idle, and for how much of the time all tasks
// waited for memory or for a disk.

#ifndef FAIRPAR_PROCESS_PRESSURE_H
#define FAIRPAR_PROCESS_PRESSURE_H

#include <stdint.h>

// Counters that only grow; 0 where the system does not have them.
struct pressure_totals {
	double idle, all;      // ticks of the usable processors
	double used_us;        // microseconds of processor time that this process's cgroup has used
	double memory_us, disk_us; // microseconds in which all tasks waited for memory, or for a disk
};

struct pressure {
	const char *root;      // borrowed
	char *group;           // directory of this process's cgroup v2, or NULL; owned
	char *accounts;        // directory of its cgroup v1 with cpuacct.usage, or NULL; owned
	uint64_t sampled;       // now_ns() time
	struct pressure_totals before;
};

// Shares, 0 to 1, since the last sample.
struct pressure_observation {
	double idle;           // of the usable processors, or of the quota, whichever is less
	double memory_full;    // of the time: PSI "full" of this process's cgroup, else of the host
	double disk_full;      // the same for I/O
};

// Takes the first sample, at time `now` (now_ns()); pressure_close() frees what it holds. `root` is put in front of /proc and of the
// mount points found there; it is "" except in tests.
void pressure_open(struct pressure *pressure, const char *root, uint64_t now);
void pressure_close(struct pressure *pressure);

// Takes a sample, and fills *ret_observation with what has happened since the last one. `quota` is the number of processors that the
// cgroup may use, which may be more than there are.
void pressure_observe(struct pressure *pressure, double quota, uint64_t now, struct pressure_observation *ret_observation);

#endif
