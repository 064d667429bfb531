// The machine as the controller of -j auto and --pool-slots auto sees it: how many processors there are, and how busy they,
// the memory and the disks are.

#ifndef FAIRPAR_SLOTS_MACHINE_H
#define FAIRPAR_SLOTS_MACHINE_H

#include "process/pressure.h"
#include "slots/controller.h"

#include <stdint.h>

struct machine {
	const char *root;        // borrowed
	double cpus;             // as slots_cpus()
	uint64_t cpus_read;
	struct pressure pressure;
};

// What stands before /proc and the mounts found there: "", or, in a build that takes FAIRPAR_FAULT, $FAIRPAR_ROOT.
const char *machine_root(void);

// Begins to observe; machine_close() frees what it holds. `root` is put before /proc, and borrowed. `now` is in ns, of a clock
// that does not go back.
void machine_open(struct machine *machine, const char *root, uint64_t now);
void machine_close(struct machine *machine);

// Takes a sample at observation->now: fills in cpus, and of the time since the last sample (or machine_open()) idle,
// memory_full and disk_full.
void machine_observe(struct machine *machine, struct controller_observation *observation);

#endif
